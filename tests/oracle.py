"""Dense oracles: PAPERS.md in plain Python, one loop per sum, written to be obviously right and never fast.

Nothing here imports standout. A release is a `Table` of raw entries; the oracles walk those entries
and nothing else, so an error in coding, indexing, blocking or rounding cannot hide in both places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

NAN = float("nan")


class Entry(NamedTuple):
    """One event: a record holds an item, perhaps with a value, perhaps on a day (NaN = it has none)."""

    record: int
    item: int
    value: float = NAN
    day: float = NAN


class Fact(NamedTuple):
    """What is known of one item of a target; NaN = that channel is unknown."""

    item: int
    value: float = NAN
    day: float = NAN


Query = Sequence[Fact]


@dataclass(frozen=True)
class Table:
    """A release as raw entries; records and items are numbered by their sorted labels."""

    entries: tuple[Entry, ...]
    values: bool = True
    """Whether the release has a value channel at all."""
    days: bool = True
    """Whether the release has a time channel at all."""

    @cached_property
    def records(self) -> list[int]:
        return sorted({e.record for e in self.entries})

    @cached_property
    def items(self) -> list[int]:
        return sorted({e.item for e in self.entries})

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], list[Entry]]:
        pairs: dict[tuple[int, int], list[Entry]] = {}
        for e in self.entries:
            pairs.setdefault((e.record, e.item), []).append(e)
        return pairs

    def events(self, record: int, item: int) -> list[Entry]:
        return self._pairs.get((record, item), [])

    def support(self, item: int) -> int:
        """Records that hold the item, events counted once."""
        return sum(i == item for _, i in self._pairs)

    def length(self, record: int) -> int:
        """Items that the record holds, events counted once."""
        return sum(r == record for r, _ in self._pairs)

    def without(self, record: int) -> Table:
        """The release as if that record had never been in it."""
        return Table(tuple(e for e in self.entries if e.record != record), self.values, self.days)

    def scale(self) -> list[float]:
        """Value levels, rising."""
        return sorted({e.value for e in self.entries if not math.isnan(e.value)})


def knows_value(table: Table, fact: Fact) -> bool:
    """A channel that the release does not have cannot be compared: it counts as unknown."""
    return table.values and not math.isnan(fact.value)


def knows_day(table: Table, fact: Fact) -> bool:
    return table.days and not math.isnan(fact.day)


def wt(support: int) -> float:
    """1/ln|supp(i)|, |supp| below 2 counts as 2."""
    return 1.0 / math.log(max(support, 2))


def agrees(
    table: Table, fact: Fact, event: Entry, value_within: float | str, time_within: float
) -> bool:
    """The indicator "value within tolerance and time within tolerance"; a missing value or day never agrees."""
    if isinstance(value_within, str):  # "10%": of the value itself
        value_within = float(value_within.rstrip("%")) / 100 * abs(event.value)
    if knows_value(table, fact) and not abs(event.value - fact.value) <= value_within + 1e-9:
        return False
    return not (knows_day(table, fact) and not abs(event.day - fact.day) <= time_within + 1e-9)


def closeness(table: Table, fact: Fact, event: Entry, rho0: float, d0: float) -> float:
    """e^(-|Δvalue|/ρ0) + e^(-|Δdays|/d0): an unknown channel drops its term, no known channel counts 1."""
    if not knows_value(table, fact) and not knows_day(table, fact):
        return 1.0
    sim = 0.0
    if knows_value(table, fact) and not math.isnan(event.value):
        sim += math.exp(-abs(event.value - fact.value) / rho0)
    if knows_day(table, fact) and not math.isnan(event.day):
        sim += math.exp(-abs(event.day - fact.day) / d0)
    return sim


def scoreboard(
    table: Table, queries: Sequence[Query], value_within: float, time_within: float
) -> np.ndarray:
    """Score = min over the known items of Sim(aux_i, r_i), an item that r lacks has Sim 0."""
    scores = np.zeros((len(queries), len(table.records)))
    for q, facts in enumerate(queries):
        for r, record in enumerate(table.records):
            scores[q, r] = min(
                float(
                    any(
                        agrees(table, f, e, value_within, time_within)
                        for e in table.events(record, f.item)
                    )
                )
                for f in facts
            )
    return scores


def scoreboard_rh(
    table: Table,
    queries: Sequence[Query],
    *,
    similarity: str = "exponential",
    rho0: float = 1.5,
    d0: float = 30.0,
    value_within: float = 1.0,
    time_within: float = 14.0,
    length: str | None = None,
) -> np.ndarray:
    """Score = Σ wt(i)·Sim(aux_i, r_i); of several events of one item the best counts."""
    scores = np.zeros((len(queries), len(table.records)))
    for q, facts in enumerate(queries):
        weights = [wt(table.support(f.item)) for f in facts]
        for r, record in enumerate(table.records):
            total = 0.0
            for f, weight in zip(facts, weights, strict=True):
                if similarity == "exponential":
                    sims = [closeness(table, f, e, rho0, d0) for e in table.events(record, f.item)]
                else:
                    sims = [
                        float(agrees(table, f, e, value_within, time_within))
                        for e in table.events(record, f.item)
                    ]
                total += weight * max(sims, default=0.0)
            scores[q, r] = total / math.sqrt(table.length(record)) if length == "sqrt" else total
    return scores


def passes_length(table: Table, known_length: float, share: float) -> np.ndarray:
    """Records whose length L could have been told as `known_length`: |known - L| ≤ share·L."""
    lengths = np.array([table.length(r) for r in table.records], dtype=float)
    return np.abs(known_length - lengths) <= share * lengths + 1e-9


def sigma(scores: np.ndarray) -> np.ndarray:
    """Population standard deviation over the candidates (-inf = not a candidate), zeros included."""
    return np.array(
        [row[np.isfinite(row)].std() if np.isfinite(row).any() else 0.0 for row in scores]
    )


def sigma_slack(row: np.ndarray) -> float:
    """How far σ may be off: 1e-9 of it, and what √(Σs²/n - (Σs/n)²) loses in doubles when the scores are nearly equal."""
    here = row[np.isfinite(row)]
    sd, mean_square = float(here.std()), float((here * here).mean())
    lost = 3e-8 * math.sqrt(mean_square)
    return 1e-9 * sd + (min(lost, 1e-15 * mean_square / sd) if sd > 0 else lost)


def second(scores: np.ndarray) -> np.ndarray:
    """Second order statistic: a tie at the top gives the top itself."""
    rows = [np.sort(row[np.isfinite(row)]) for row in scores]
    return np.array([row[-2] if row.size > 1 else np.nan for row in rows])


def rank(scores: np.ndarray, watched: np.ndarray) -> np.ndarray:
    """Records that score at least what the watched one scores, itself included."""
    return np.array([int((row >= row[w]).sum()) for row, w in zip(scores, watched, strict=True)])


def lineup(scores: np.ndarray) -> np.ndarray:
    """Π(r) ∝ e^(Score(r)/σ) over all candidates; uniform where σ is 0."""
    out = np.zeros(scores.shape)
    for q, sd in enumerate(sigma(scores)):
        here = np.isfinite(scores[q])
        x = scores[q, here] / sd if sd > 0 else np.zeros(here.sum())
        p = np.exp(x - x.max())
        out[q, here] = p / p.sum()
    return out
