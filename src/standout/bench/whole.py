"""Time of a whole audit, compared with the C loop on the same queries."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from standout.adversary.sampling import sample_targets
from standout.attacks.attack import attack
from standout.audit.audit import Audit
from standout.audit.defaults import TARGETS
from standout.bench import reference
from standout.bench.case import SEED, BenchCase
from standout.bench.clock import shortest, timed
from standout.data.cache import forget
from standout.engines.memory import MemoryEngine
from standout.errors import EngineError
from standout.scoring.plan import Plan


def default_audit(case: BenchCase, targets: int = TARGETS) -> dict[str, Any]:
    """Core seconds of an audit with the default sweep and attacks, and what the C loop takes for as many queries.

    The C loop scores the knowledge of each target once, with the tables of scoreboard-rh. The audit
    asks each query six times: three attacks, with the target in the release and without. Its time
    includes drawing, fitting and judging.
    """
    audit = Audit(
        case.data, targets=2, seed=SEED, engine=MemoryEngine(case.threads), describe=False
    )
    audit.run(progress=False)
    # knowledge for calibration is part of the audit
    forget(case.data, "presence")
    audit.targets = targets
    took, _ = timed(lambda: audit.run(progress=False))
    line = {
        "what": "default audit",
        "seconds": took.wall,
        "core_seconds": took.core,
        "kinds": len(audit.adversaries),
        "targets": targets,
    }
    try:
        lib = reference.build()
    except EngineError as error:
        return {**line, "skipped": str(error)}
    n_runs = 2 * len(audit.attacks)
    theirs = 0.0
    for who in audit.adversaries:
        run = partial(reference.run, lib, _plan(case, who, targets), case.data.index, case.threads)
        theirs += shortest(run)[0].core
    return {
        **line,
        "c_core_seconds": n_runs * theirs,
        "ours_over_theirs": took.core / (n_runs * theirs),
    }


def _plan(case: BenchCase, who: Any, n: int) -> Plan:
    """Plan of scoreboard-rh with tables for values and times, as the C loop reads both, also where neither is known."""
    data = case.data
    chosen = sample_targets(data, who.eligible(data), n, SEED)
    facts = who.sample(data, chosen, SEED).bind(data)
    plan = attack("scoreboard-rh").compile(data, facts, np.full(facts.n_queries, -1, np.int64))
    value, time = plan.tables.fact.value, plan.tables.row.time
    n, width = plan.tables.fact.item.size, data.n_levels + 1
    value = np.ascontiguousarray(np.broadcast_to(value.reshape(n, -1), (n, width))).reshape(-1)
    time = np.ascontiguousarray(np.broadcast_to(time, (time.shape[0], max(time.shape[1], 3))))
    return plan.replace_tables(value=value, value_start=width * np.arange(n), time=time)
