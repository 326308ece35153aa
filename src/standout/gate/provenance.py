"""What a verdict was made of: data, policy, seed, versions."""

from __future__ import annotations

import platform
import sys
from datetime import UTC, datetime
from typing import Any

from standout.audit.audit import Audit
from standout.experiment.subject import describe_data
from standout.gate.policy import Policy
from standout.versions import version_of

PACKAGES = ("standout", "numpy", "numba", "scipy", "duckdb")


def provenance(
    job: Audit, policy: Policy, seconds: float, columns: dict[str, Any]
) -> dict[str, Any]:
    """Plain data: counts, hashes and names of columns."""
    made: dict[str, Any] = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data_sha256": job.release.fingerprint,
        "data": {k: describe_data(job.release)[k] for k in ("n_records", "n_items", "n_entries")},
        "not_measured": job.source.not_measured,
        "policy_sha256": policy.sha256,
        "seed": job.seed,
        "targets": "all" if job.targets is None else job.targets,
        "engine": job.engine.name,
        "wall_seconds": round(seconds, 3),
        "versions": {
            "python": platform.python_version(),
            **{name: version_of(name) for name in PACKAGES},
        },
        "platform": f"{sys.platform} {platform.machine()}",
    }
    if job.experiment.place is not None:
        made["source_sha256"] = job.source.fingerprint
    made |= columns
    if (defense := job.defense or job.release.defense) is not None:
        made["defense"] = str(getattr(defense, "name", type(defense).__name__))
    return made
