"""Plans of every kind for engine tests: all ways to combine, tie rules, filters, exclusions, repeats, missing channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

import standout as so
from standout.attacks.noise import Noise
from standout.kernels.levels import Steps
from standout.kernels.moments import Window
from standout.scoring.partials import Partials
from standout.scoring.plan import Plan, Tie


@dataclass(frozen=True)
class Late:
    """A kernel of one side: facts are up to 40 days later than the entry, never earlier."""

    reach: int = 41

    def table(self, gaps: np.ndarray) -> np.ndarray:
        """Probability of each signed gap."""
        return np.where((gaps >= 0) & (gaps < self.reach), 1 / self.reach, 0.0)


ODDS = Noise(0.2, 0.1, Steps(1), Window(14), even_wrong=1.0)
LATE = Noise(0.2, 0.1, Steps(1), Late(), even_wrong=1.0)
KINDS = [
    ("scoreboard", {}),
    ("scoreboard-rh", {}),
    ("scoreboard-rh", {"length": "sqrt"}),
    ("scoreboard-rh", {"similarity": "threshold"}),
    ("likelihood", {"noise": ODDS}),
    ("likelihood", {"noise": LATE}),
    ("likelihood", {}),
]
IDS = ["min", "sum", "factor", "veto", "odds", "late", "exact"]
SHAPES = ["plain", "repeats", "missing", "no-days", "no-values", "presence", "wide"]


class Case(NamedTuple):
    """A release, plans for it, and what to watch."""

    data: so.Dataset
    plan: Plan
    watch: np.ndarray
    record: np.ndarray


def release(shape: str, n_records: int = 700, n_items: int = 40, seed: int = 3) -> so.Dataset:
    """A small release with a popular head."""
    rng = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, n_items + 1)
    length = rng.integers(5, 14, n_records)
    record = np.repeat(np.arange(n_records), length)
    again = shape == "repeats"
    item = np.concatenate(
        [rng.choice(n_items, n, replace=again, p=odds / odds.sum()) for n in length]
    )
    value = rng.integers(1, 6, item.size).astype(float)
    day = rng.integers(10_000, 10_400, item.size).astype(float)
    if shape == "missing":
        value[rng.random(item.size) < 0.1] = np.nan
        day[rng.random(item.size) < 0.1] = np.nan
    if shape == "wide":  # more levels than one byte holds
        value = rng.integers(1, 1500, item.size) / 4
    has_value, has_day = (
        shape not in ("no-values", "presence"),
        shape not in ("no-days", "presence"),
    )
    return so.Dataset.from_arrays(
        record, item, value if has_value else None, day if has_day else None
    )


def case(
    shape: str,
    name: str,
    options: dict[str, object],
    *,
    filtered: bool = False,
    tie: Tie | None = None,
) -> Case:
    """Sixty queries; every third excludes a record, and each watches one."""
    data = release(shape)
    who = so.Adversary(
        knows=4,
        wrong=1,
        wrong_kind="value" if data.has_value or data.has_time else "item",
        value_within=1 if data.has_value else None,
        time_within=14 if data.has_time else None,
        length_within=0.3 if filtered else None,
    )
    targets = who.eligible(data)[::7][:60]
    facts = who.sample(data, targets, seed=5).bind(data)
    attack = so.attack(name, **options).fit(data, facts)
    gone = np.where(np.arange(targets.size) % 3 == 0, np.roll(targets, 1), -1)
    if attack.alone:
        gone[:] = -1
    plan = attack.compile(data, facts, gone)
    if tie is not None:
        plan = replace(plan, tie=tie).replace_tables(
            salt=np.arange(targets.size, dtype=np.uint64) * np.uint64(77)
        )
    rng = np.random.default_rng(1)
    watch = np.where(rng.random(targets.size) < 0.2, 2**31, rng.integers(-5, 2**29, targets.size))
    record = np.where(np.arange(targets.size) % 5 == 0, -1, targets)
    return Case(data, plan, watch, record)


def assert_same_partials(a: Partials, b: Partials) -> None:
    """Identical to the bit, but for the sum of squares: it is a float, and its order of summation is free."""
    for name, x, y in zip(Partials._fields, a, b, strict=True):
        if name == "squares":
            np.testing.assert_allclose(x, y, rtol=1e-12)
        else:
            assert x.tolist() == y.tolist(), name
