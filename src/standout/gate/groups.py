"""Groups of people by risk: cut by the whole source, not by the targets, so that a small group gets targets of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import Condition
from standout.adversary.counts import ItemCount, records_by_count
from standout.arrays import Array
from standout.data.catalog import Catalog

SMALLEST_SHARE = 0.02
"""Smallest share of the eligible people that is a group of its own. The verdict says nothing about smaller groups."""
CUTS, LATE_CUTS = (0.02, 0.05, 0.25, 0.5), (0.75, 0.95, 0.98)
"""Shares of people at which groups by length end: the shortest and the longest records are tested alone."""
RARE = (0.02, 0.1, 0.5)
"""Shares of people with rare items at which groups by rarity end."""
CROWD = 0.25
"""A length that this share of people has is a group of its own, so that a few people beside a crowd are not counted with it."""
LADDER = tuple(m * 10**e for e in range(9) for m in (1, 2, 5))
"""Numbers of holders at which an item may be called rare."""


@dataclass(frozen=True)
class Group:
    """People whose number of items lies in a range, or who hold rare items."""

    by: str
    """"length" or "rarity"."""
    low: int | None = None
    """length: fewest items. rarity: those who hold items of at most this many holders are in an earlier group."""
    high: int | None = None
    """length: most items. rarity: most holders of a rare item."""
    items: int = 0
    """rarity: number of rare items that a record holds."""

    def conditions(self, source: Catalog) -> tuple[Condition, ...]:
        """What a record must satisfy beside the adversary's own conditions."""
        if self.by == "length":
            return (Condition(ItemCount(), self.low or 0, self.high),)
        made = []
        if self.low is not None:
            made.append(Condition(ItemCount(source.supports <= self.low), 0, self.items - 1))
        if self.high is not None:
            made.append(Condition(ItemCount(source.supports <= self.high), self.items))
        return tuple(made)

    @property
    def words(self) -> str:
        """The group in words.

        >>> Group("length", 3, 9).words, Group("length", 10).words, Group("length", None, 2).words, Group("length").words
        ('records of 3 to 9 items', 'records of at least 10 items', 'records of at most 2 items', 'all records')
        >>> Group("rarity", None, 5, 2).words
        'records with at least 2 items held by at most 5 people'
        >>> Group("rarity", 5, None, 2).words
        'records with fewer than 2 items held by at most 5 people'
        """
        if self.by == "length":
            if self.low is None and self.high is None:
                return "all records"
            if self.high is None:
                return f"records of at least {self.low} items"
            least = "at most" if self.low is None else f"{self.low} to"
            return f"records of {least} {self.high} items"
        if self.high is None:
            return f"records with fewer than {self.items} items held by at most {self.low} people"
        few = "" if self.low is None else f", but not by at most {self.low}"
        return f"records with at least {self.items} items held by at most {self.high} people{few}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `Group(**…)` without the words makes an equal group."""
        return {**asdict(self), "words": self.words}


def groups(by: str, who: Adversary, source: Catalog) -> list[Group]:
    """Groups of the people whom an adversary can attack.

    Parameters
    ----------
    by
        "length", "rarity", or "risk" for both.
    who
        The adversary.
    source
        The true data of the people.
    """
    made: list[Group] = []
    if by in ("length", "risk"):
        made += _by_length(source.length_counts, who.n_right_items)
    if by in ("rarity", "risk"):
        made += _by_rarity(source, max(1, -(-who.n_right_items // 2)), who.n_right_items)
    return made or [Group("length")]


def too_short(who: Adversary, source: Catalog) -> Iterator[tuple[Adversary, Group]]:
    """People who hold fewer items than an adversary knows, each with the adversary who knows as much as they hold.

    The number of known items is halved again and again. Each step is about those whose records are
    long enough for it, but not for the step before: an adversary with 8 facts of a person who holds 7
    knows all of them. Nothing follows for an adversary for whom nobody holds enough items: her
    limit cannot be kept anyway.

    Parameters
    ----------
    who
        The adversary.
    source
        The true data of the people.
    """
    less = who
    while less.knows > 1 and who.n_right_items <= source.longest:
        end, knows = less.n_right_items, less.knows // 2
        less = replace(
            who,
            knows=knows,
            wrong=who.wrong if who.wrong_varies else who.wrong * knows // who.knows,
        )
        n = source.length_counts[less.n_right_items : end].sum()
        if n and n >= SMALLEST_SHARE * source.n_records:
            yield less, Group("length", less.n_right_items, end - 1)


def _by_length(counts: Array, fewest: int) -> Iterator[Group]:
    ends = cut_counts(np.where(np.arange(counts.size) >= fewest, counts, 0))
    for k, end in enumerate(ends):
        yield Group("length", ends[k - 1] + 1 if k else None, end if k < len(ends) - 1 else None)


def cut_counts(counts: Array) -> list[int]:
    """Largest length of each group, from the number of records of each length.

    >>> cut_counts(np.bincount([3] * 3000 + [9] * 200)), cut_counts(np.bincount([3] * 3000 + [9] * 20))
    ([3, 9], [9])
    >>> cut_counts(np.bincount(np.arange(1, 101)))
    [2, 5, 25, 50, 75, 95, 98, 100]
    """
    total, lengths = int(counts.sum()), np.flatnonzero(counts).tolist()
    ends: list[int] = []
    done, begin = 0, 0
    for length, longer in pairwise(lengths):
        here, following = int(counts[length]), int(counts[longer])
        done += here
        if min(done - begin, total - done) < SMALLEST_SHARE * total:
            continue
        crowd = max(here, following) >= CROWD * total
        reached = any(begin < share * total <= done for share in CUTS)
        next_passes = any(done <= share * total < done + following for share in LATE_CUTS)
        if crowd or reached or next_passes:
            ends.append(length)
            begin = done
    return [*ends, *lengths[-1:]]


def _by_rarity(source: Catalog, items: int, fewest: int) -> Iterator[Group]:
    """Those with the rarest items first; the last group is everybody else."""
    total = int(source.length_counts[fewest:].sum())
    low, done = None, 0
    for share in RARE:
        for held in LADDER:
            if held >= source.n_records or total == 0:
                break
            n = int(records_by_count(source, source.supports <= held)[items:].sum())
            if n >= max(share * total, done + SMALLEST_SHARE * total):
                if n <= (1 - SMALLEST_SHARE) * total:
                    yield Group("rarity", low, held, items)
                    low, done = held, n
                break
    if low is not None:
        yield Group("rarity", low, None, items)
