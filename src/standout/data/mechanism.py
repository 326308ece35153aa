"""`Mechanism`: how a defense changed the data, as far as its published parameters say; an adaptive attacker may assume it.

A defense states its mechanism, `Dataset.mechanism` carries it, and the adaptive likelihood reads it. A
field at its default says that the defense did not change that. Mechanisms of defenses that are
applied one after the other combine with `then`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.errors import ParameterError
from standout.kernels.levels import Table

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


@dataclass(frozen=True, eq=False, repr=False)
class ItemMap:
    """Names of the items: what an item of the source is called in the release. Several may share one name."""

    source: Array
    """Labels of items of the source."""
    release: Array
    """Label of each in the release. Items of the source that are not listed here were removed from all records."""
    chance: Array
    """float64: probability that the attacker's match of the two names is right; 1 where the names are published."""
    published: bool = True
    """Whether the owner publishes which name stands for which item; otherwise the attacker infers it."""


@dataclass(frozen=True)
class TimeMap:
    """Change of the times: first all times of a person are shifted, then each is rounded down to the start of its period."""

    shift: int = 0
    """Largest shift in days: one whole number of days per person, uniform in ±shift."""
    period: str | None = None
    """"day", "week", "month", "quarter" or "year": times are replaced by the first day of their period."""
    period_first: bool = False
    """Whether times are rounded before they are shifted."""

    def then(self, other: TimeMap) -> TimeMap:
        """Return this change followed by another one; two shifts or two periods of one kind do not combine."""
        if (self.shift and other.shift) or (self.period and other.period):
            raise ParameterError(
                "times can be shifted once and coarsened once: use one shift-time and one coarsen-time"
            )
        if self.shift and other.period:
            return TimeMap(self.shift, other.period)
        if self.period and other.shift:
            return TimeMap(other.shift, self.period, period_first=True)
        return self if self.shift or self.period else other


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism:
    """Published parameters of a release, in the order in which the fields are listed."""

    sampled: float = 1.0
    """Probability that a person of the source is in the release at all."""
    items: ItemMap | None = None
    """Names of the items, if they changed; None = as in the source."""
    kept_pairs: float = 1.0
    """Share of the source's (record, item) pairs whose item is still in the catalog of the release."""
    lost: float = 0.0
    """Probability that a (record, item) pair was removed with all its events, independently of all others."""
    hidden: float = 0.0
    """Probability that an event was removed, if the record still holds another event of the item; for data with repeats."""
    cap: int | None = None
    """Records with more items keep this many, chosen at random."""
    source_lengths: Array | None = None
    """int64: number of records of the source with 0, 1, 2, … items (before the cap)."""
    moved: float = 0.0
    """Probability that an entry was exchanged with an entry of another record."""
    replaced: float = 0.0
    """Probability that an entry's item was replaced by another one, uniform over the rest of the catalog."""
    collided: float = 0.0
    """Share of the entries that were lost because an exchanged or replaced entry met another one of its item in the record."""
    n_collided: int = 0
    """Number of these entries."""
    attributes: float = 0.0
    """Probability that value and time of an entry were exchanged among the holders of the item."""
    value: Table | None = None
    """Change of the values."""
    time: TimeMap | None = None
    """Change of the times."""
    dropped: frozenset[str] = frozenset()
    """Channels that were removed: "value", "time"."""

    @property
    def is_neutral(self) -> bool:
        """Whether no field says that anything changed."""
        numbers = (self.lost, self.hidden, self.moved, self.replaced, self.attributes)
        parts = (self.items, self.cap, self.value, self.time)
        return (
            self.sampled == self.kept_pairs == 1
            and not any(numbers)
            and not self.dropped
            and parts == (None,) * 4
        )

    def then(self, other: Mechanism) -> Mechanism:
        """Mechanism of two defenses, this one first."""
        dropped = self.dropped | other.dropped
        caps = [c.cap for c in (self, other) if c.cap is not None]
        return replace(
            self,
            sampled=self.sampled * other.sampled,
            items=_joined(self.items, other.items),
            kept_pairs=self.kept_pairs * other.kept_pairs,
            lost=_either(self.lost, other.lost),
            hidden=_either(self.hidden, other.hidden),
            cap=min(caps, default=None),
            source_lengths=self.source_lengths
            if self.source_lengths is not None
            else other.source_lengths,
            moved=_either(self.moved, other.moved),
            replaced=_either(self.replaced, other.replaced),
            collided=_either(self.collided, other.collided),
            n_collided=self.n_collided + other.n_collided,
            attributes=_either(self.attributes, other.attributes),
            value=None if "value" in dropped else _after(self.value, other.value),
            time=None if "time" in dropped else _after(self.time, other.time),
            dropped=dropped,
        )


@dataclass(frozen=True, eq=False, repr=False)
class Origin:
    """Where a release comes from."""

    source: Dataset
    defense: Any
    """The defense that made the release: an object with `apply`."""
    mechanism: Mechanism | None
    """Its published parameters; None where they cannot be stated for what a view shows of the release."""


def _either(p: float, q: float) -> float:
    """Probability of at least one of two independent events."""
    return p + q - p * q


def _after(first: Any, second: Any) -> Any:
    if first is None or second is None:
        return second if first is None else first
    return first.then(second)


def _joined(first: ItemMap | None, second: ItemMap | None) -> ItemMap | None:
    """Names of the source's items after two changes of names."""
    if first is None or second is None:
        return second if first is None else first
    at = {label: k for k, label in enumerate(second.source.tolist())}
    place = np.array([at.get(label, -1) for label in first.release.tolist()], np.int64)
    kept = place >= 0
    place = place[kept]
    return ItemMap(
        first.source[kept],
        second.release[place],
        first.chance[kept] * second.chance[place],
        first.published and second.published,
    )
