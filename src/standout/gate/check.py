"""`check`: measure what the policy limits, until every limit is shown to be kept or one is shown to be exceeded."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from standout.engines.engine import Engine
from standout.experiment.progress import Progress as Reporter
from standout.experiment.progress import reporting
from standout.experiment.subject import Data, Protection
from standout.gate.policy import Policy
from standout.gate.run import GateRun
from standout.gate.verdict import GateVerdict, overall


def check(
    source: Data,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    release: Data | None = None,
    defense: Protection | None = None,
    targets: int | str | None = None,
    seed: int = 0,
    engine: str | Engine = "memory",
    progress: Reporter | bool | None = None,
) -> GateVerdict:
    """Decide whether a release keeps a policy.

    The verdict is "pass" if every rate that the policy limits is shown to be below its limit,
    "fail" if one is shown to be above it, and "unclear" otherwise. Each of the two statements is
    wrong with a probability of at most 1 - confidence.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a frame whose columns can be guessed. A dataset
        that a defense made is taken as the release, and its source as the source.
    policy
        Path of a TOML file, a dict with the same keys, or a `Policy`.
    release
        What is published, if it differs from the source. Records are matched by label.
    defense
        What makes the release: an object with `apply(source, seed)`; called when no release is
        given.
    targets
        Number of records to attack per adversary, or "all", in place of the policy's.
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    progress
        True for a bar on standard error, False for none, None for a bar if standard error is a
        terminal, or a function that is called with (what, queries done, queries in all).
    """
    began = time.perf_counter()
    rules = Policy.of(policy)
    run = GateRun.of(
        source, rules, release=release, defense=defense, targets=targets, seed=seed, engine=engine
    )
    with reporting(progress) as report:
        run.measure(report)
    table, tests = run.decide()
    return GateVerdict(
        verdict=overall([row["verdict"] for row in table]),
        table=tuple(table),
        tests=tuple(tests),
        cells=tuple(run.cells()),
        policy=rules.given,
        provenance=run.provenance(time.perf_counter() - began),
    )
