"""Which records can be targets, and which of them are drawn: decided where the records lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.counts import ItemCount
from standout.adversary.grouping import GroupSize
from standout.adversary.splitmix import start
from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.content import content_digest
from standout.data.index import Rows, Shard
from standout.data.purposes import PURPOSE_TARGETS
from standout.data.tasks import Range, Task
from standout.errors import ParameterError
from standout.jit import njit

DRAWS_KEPT, MOST_KEPT = 64, 20_000
"""Draws that are cached on a dataset, and records of a draw that is cached: adversaries often have the same conditions."""


@dataclass(frozen=True, eq=False, repr=False)
class Condition:
    """Bounds of a number of items: a record is eligible if every condition holds."""

    count: ItemCount | GroupSize
    least: int
    most: int | None = None

    def holds(self, part: Shard | Rows) -> Array:
        """bool: whether each record satisfies the condition."""
        n = self.count.of(part)
        return (n >= self.least) if self.most is None else (n >= self.least) & (n <= self.most)


def satisfied(conditions: tuple[Condition, ...], part: Shard | Rows) -> Array:
    """bool: whether each record satisfies all conditions."""
    out = np.ones(part.lengths.size, np.bool_)
    for condition in conditions:
        out &= condition.holds(part)
    return out


class Chosen(NamedTuple):
    """Eligible records: how many there are, and those with the lowest random numbers."""

    n: int
    most: int
    """Largest number of records to keep, -1 = all."""
    order: Array
    """uint64: random numbers, ascending; equal ones are ordered by record."""
    record: Array

    def merge(self, other: Chosen) -> Chosen:
        """Eligible records of both sets."""
        order, record = (
            np.concatenate([self.order, other.order]),
            np.concatenate([self.record, other.record]),
        )
        return Chosen(self.n + other.n, self.most, order, record).cut()

    def cut(self) -> Chosen:
        """The same records in order, those beyond the limit left out."""
        by_order = np.lexsort((self.record, self.order))[: None if self.most < 0 else self.most]
        return Chosen(self.n, self.most, self.order[by_order], self.record[by_order])


@dataclass(frozen=True, eq=False, repr=False)
class ChooseRecords(Task[Chosen]):
    """Count the eligible records and draw some of them; the draw depends on (seed, contents of the record)."""

    conditions: tuple[Condition, ...]
    most: int
    """Records to draw, -1 = all."""
    seed: int

    def empty(self) -> Chosen:
        """No records."""
        return Chosen(0, self.most, np.empty(0, np.uint64), np.empty(0, np.int64))

    def run(self, shard: Shard, into: Chosen | None = None, queries: Range | None = None) -> Chosen:
        """Eligible records of the shard."""
        fits = np.flatnonzero(satisfied(self.conditions, shard))
        if self.most:
            order = starts(self.seed, PURPOSE_TARGETS, shard.keys[fits])
            found = Chosen(fits.size, self.most, order, shard.first_record + fits).cut()
        else:
            found = self.empty()._replace(n=fits.size)
        return found if into is None else into.merge(found)


def count_eligible(data: Catalog, conditions: tuple[Condition, ...]) -> int:
    """Number of records that satisfy all conditions; counts and draws are cached on the dataset."""
    return once(
        data,
        "n_eligible",
        content_digest(conditions),
        lambda: data.map(ChooseRecords(conditions, 0, 0)).n,
    )


def draw_records(
    data: Catalog, conditions: tuple[Condition, ...], n: int | None, seed: int
) -> tuple[int, Array]:
    """Number of eligible records, and `n` of them (all if None) in random order: the first of them are a smaller draw."""
    task = ChooseRecords(conditions, -1 if n is None else n, seed)
    digest = content_digest(conditions)
    most = data.n_records if n is None else min(n, data.n_records)
    if most <= MOST_KEPT:
        found = once(data, "drawn", (digest, n, seed), lambda: data.map(task), DRAWS_KEPT)
    else:
        found = data.map(task)
    once(data, "n_eligible", digest, lambda: found.n)
    return found.n, found.record.copy()


def choose_records(
    data: Catalog, conditions: tuple[Condition, ...], n: int | None, seed: int
) -> tuple[int, Array]:
    """As `draw_records`, but in ascending order if all eligible records are drawn."""
    n_eligible, records = draw_records(data, conditions, n, seed)
    return n_eligible, np.sort(records) if n is None or n >= n_eligible else records


def record_indices(targets: Any, n_records: int) -> Array:
    """Record indices; labels, booleans and fractions are refused, not converted."""
    array = np.asarray(targets).reshape(-1)
    whole = array.dtype.kind in "iu" or (
        array.dtype.kind == "f" and bool(np.all(array == np.floor(array)))
    )
    if not whole or (array.size and not 0 <= array.min() <= array.max() < n_records):
        raise ParameterError(
            f"targets are record indices from 0 to {n_records - 1}, as whole numbers; for labels use "
            "np.flatnonzero(np.isin(dataset.record_labels, labels))"
        )
    return array.astype(np.int64)


def draw_order(keys: Array, seed: int) -> Array:
    """uint64: random number of each record in a draw of targets, from its key; the lowest are drawn."""
    return starts(seed, PURPOSE_TARGETS, keys)


def starts(seed: int, purpose: int, targets: Array) -> Array:
    """uint64: random number of each target, which its draws start from; `targets` are their keys."""
    return np.asarray(_starts(np.uint64(int(seed) % 2**64), int(purpose), targets))


def uniforms(bits: Array) -> Array:
    """Uniform numbers in [0, 1) from 64 random bits each.

    >>> uniforms(np.array([0, 2**63], np.uint64)).tolist()
    [0.0, 0.5]
    """
    return np.asarray((bits >> np.uint64(11)).astype(np.float64) / 2.0**53)


def key_uniforms(seed: int, purpose: int, keys: Array) -> Array:
    """Uniform number in [0, 1) per key."""
    return uniforms(starts(seed, purpose, keys))


@njit(nogil=True, cache=True)
def _starts(seed: int, purpose: int, targets: Array) -> Array:
    out = np.empty(targets.size, np.uint64)
    for k in range(targets.size):
        out[k] = start(seed, purpose, np.uint64(targets[k]))
    return out


def seed_of_turn(seed: int, purpose: int, turn: int) -> int:
    """Random seed of one of several turns; turn 0 uses the seed itself.

    >>> seed_of_turn(7, 80, 0), seed_of_turn(7, 80, 1) != seed_of_turn(7, 80, 2)
    (7, True)
    """
    if turn == 0:
        return seed
    return int(start(np.uint64(int(seed) % 2**64), purpose, np.uint64(turn)))
