"""How the time of an attack grows with records, entries, known items and targets: measured, fitted, drawn.

Part of `standout bench` (`cli/machine.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from standout.bench.case import BenchCase, best_of, twin_file
from standout.bench.measure import Line
from standout.data.dataset import Dataset
from standout.engines.memory import MemoryEngine
from standout.report.drawing import Spec, layer, quantity
from standout.scoring.tasks import Score

KNOWS = (2, 4, 8, 16, 32, 64)
TARGETS = (10, 30, 100, 300, 1000, 3000, 10_000)
ENOUGH = 20_000_000
"""Postings per point if targets do not grow: enough that the start of a run does not matter."""


def measure(size: float, rounds: int = 3) -> Iterator[Line]:
    """Time per run while one quantity grows. Records: more people of the same kind. Entries: the same people, longer records."""
    for what, x, case in _cases(Dataset.read(twin_file(size)), size):
        yield _point(what, x, case, rounds)


def _cases(largest: Dataset, size: float) -> Iterator[tuple[str, int, BenchCase]]:
    """What grows, how large it is, and the case."""
    for part in (1000, 316, 100, 31.6, 10, 3.16, 1):
        if size / part >= 0.001:
            n = round(largest.n_records / part)
            data = largest if part == 1 else largest.take(np.arange(n))
            yield "records", data.n_records, BenchCase.of(data, _targets(data), again=True)
    for share in (0.03, 0.1, 0.3, 1.0):
        data = _thinned(largest, share)
        yield "entries", data.n_entries, BenchCase.of(data, _targets(data))
    for n in KNOWS:
        yield "known items", n, BenchCase.of(largest, 100, n)
    for n in TARGETS:
        yield "targets", n, BenchCase.of(largest, n)


def _targets(data: Dataset) -> int:
    """Number of targets that together touch enough postings."""
    return int(np.clip(ENOUGH / (0.1 * max(data.n_records, 1)), 50, 10_000))


def _point(what: str, x: float, case: BenchCase, rounds: int) -> Line:
    engine, plan = MemoryEngine(case.threads), case.plan("scoreboard-rh")
    task, shards = Score(plan), [case.data.index]
    engine.map(task, shards)
    seconds = best_of(rounds, lambda: engine.map(task, shards))[0].core
    # time of one target, unless targets grow
    each = 1.0 if what == "targets" else 1.0 / plan.n_queries
    runs = plan.tables.fact.item.size * case.data.index.n_blocks
    return {
        "what": "growth",
        "by": what,
        "x": x,
        "seconds": seconds * each,
        "postings": case.postings(plan) * each,
        "records": case.data.n_records * plan.n_queries * each,
        "runs": runs * each,
    }


def _thinned(data: Dataset, share: float) -> Dataset:
    """Each entry kept with that probability; records without entries are dropped."""
    if share >= 1.0:
        return data
    thin = data.with_entries(np.random.default_rng(1).random(data.n_entries) < share)
    return thin.take(thin.lengths > 0)


def exponents(lines: list[Line]) -> dict[str, float]:
    """Slope of log time against the log of the growing quantity."""
    out = {}
    for by in dict.fromkeys(line["by"] for line in lines):
        mine = [line for line in lines if line["by"] == by]
        x, y = np.log([m["x"] for m in mine]), np.log([m["seconds"] for m in mine])
        out[by] = float(np.polyfit(x, y, 1)[0])
    return out


PARTS = ("postings", "records", "runs")
"""Terms of the time model: postings read, records read, and starts of an item's run in a block."""


def time_per_part(lines: list[Line]) -> dict[str, float]:
    """Nanoseconds per posting, record and run that fit all points best, none below 0, and the largest relative miss."""
    rows = np.array([[line[part] / line["seconds"] for part in PARTS] for line in lines]) * 1e-9
    best: tuple[float, Any] = (np.inf, np.zeros(len(PARTS)))
    # least squares without negative times: the best of the fits of each choice of terms
    for n in range(1, len(PARTS) + 1):
        for some in combinations(range(len(PARTS)), n):
            each = np.zeros(len(PARTS))
            each[list(some)] = np.linalg.lstsq(rows[:, some], np.ones(len(rows)), rcond=None)[0]
            miss = float(((rows @ each - 1) ** 2).sum())
            if (each >= 0).all() and miss < best[0]:
                best = miss, each
    return {
        **dict(zip((f"ns_per_{part[:-1]}" for part in PARTS), best[1].tolist(), strict=True)),
        "largest_miss": float(np.abs(rows @ best[1] - 1).max()),
    }


def chart(points: list[Line]) -> Spec:
    """Time against the growing quantity, both axes logarithmic, the exponent in each title."""
    panels = []
    for by, exponent in exponents(points).items():
        rows = [{"x": p["x"], "milliseconds": 1e3 * p["seconds"]} for p in points if p["by"] == by]
        axes = {
            "x": {"field": "x", **quantity(by, tickCount=5, format="~s")},
            "y": {
                "field": "milliseconds",
                **quantity(
                    "core ms" if by == "targets" else "core ms per target", tickCount=5, format="~g"
                ),
            },
        }
        log = {"scale": {"type": "log"}}
        panels.append(
            {
                "title": f"time grows as {by} to the power {exponent:.2f}",
                "width": 260,
                "height": 200,
                "data": {"values": rows},
                **layer("line", {"point": True}, **{axis: s | log for axis, s in axes.items()}),
            }
        )
    return {"concat": panels, "columns": 2}
