"""Known vulnerabilities of the pinned dependencies, asked of a public service with pip-audit.

    python docs/scripts/audit_dependencies.py

Exit 0: asked, none known. 1: some are known. 2: not all were checked, because pip-audit is missing,
the service does not answer, or it does not know a version. `make audit-dependencies` calls it. It
is the only command of this repository that uses the network, and it is no part of the package.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

PINS = Path(__file__).resolve().parents[2] / "constraints.txt"


def main() -> int:
    if find_spec("pip_audit") is None:
        print("not checked: pip-audit is not installed (pip install pip-audit)", file=sys.stderr)
        return 2
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--requirement",
        str(PINS),
        "--no-deps",
        "--disable-pip",
        "--format",
        "json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        print(f"not checked: pip-audit got no answer: {last[:300]}", file=sys.stderr)
        return 2
    known = [(one["name"], one["version"], v["id"]) for one in found for v in one.get("vulns", ())]
    for name, version, what in known:
        print(f"{name} {version}: {what}")
    skipped = [one["name"] for one in found if "skip_reason" in one]
    print(
        f"{len(found) - len(skipped)} of {len(found)} packages checked, {len(known)} known vulnerabilities"
    )
    if known:
        return 1
    if skipped or not found:
        print(
            f"not checked: {len(skipped)} packages, which the service does not know in these versions",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
