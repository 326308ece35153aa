"""Comparison of two records: Sim of NS08, S of DSS12, and what a matched record reveals beyond what was known.

What is learned from a match is compared with guesses without it. The theorems and the amplification
of DSS12 use both.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.engines.engine import Engine
from standout.formulas import dss12, ns08
from standout.formulas.rates import Z_95
from standout.scoring.postings import jit
from standout.theory.nearest import Agreement, events_agree

_closeness = jit(dss12.closeness)


@dataclass(frozen=True, eq=False, repr=False)
class Learned:
    """Per query: how similar the matched record is, how much it reveals, and two controls."""

    hit: Array
    """Credit of the answer: 1/n where the target is one of n records tied at the top, else 0."""
    similarity: Array
    """S(y, o)."""
    known_similarity: Array
    """S(aux, o)."""
    unknown: Array
    """Entries of the target that were not known."""
    told: Array
    """Entries of the matched record beyond the known ones."""
    right: Array
    """How many of those the target has, with the same value if there are values."""
    popular: Array
    """How many are right if the same number of most held items is guessed, with their most frequent values."""
    neighbor: Array
    """How many are right if the best record other than the target is read."""
    neighbor_similarity: Array
    """S(y, o') of that record."""

    @property
    def gain(self) -> Array:
        """Entries learned right beyond the better of the two guesses."""
        return self.right - np.maximum(self.popular, self.neighbor)

    @classmethod
    def concatenate(cls, parts: list[Learned]) -> Learned:
        """Several batches, concatenated."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))

    def to_dict(self) -> dict[str, Any]:
        """Means over the queries, with the interval of the gain."""
        means = {name: float(x.mean()) for name, x in vars(self).items()}
        mean, half = (
            float(self.gain.mean()),
            Z_95 * float(self.gain.std() / np.sqrt(self.gain.size)),
        )
        gain = {"gain": mean, "gain_low": mean - half, "gain_high": mean + half}
        return {"n": int(self.hit.size), **means, **gain}

    def __repr__(self) -> str:
        return f"<Learned from {self.hit.size:,} matches>"


@jit
def _end_of_item(item: Array, k: int, end: int) -> int:
    """Where the events of the item at `k` end."""
    stop = k + 1
    while stop < end and item[stop] == item[k]:
        stop += 1
    return stop


@jit
def _events(item: Array, k: int, end: int, i: int) -> tuple[int, int]:
    """Where the events of an item begin and end, in a sorted row of which those before `k` have smaller items."""
    while k < end and item[k] < i:
        k += 1
    if k == end or item[k] != i:
        return k, k
    return k, _end_of_item(item, k, end)


@jit
def _find_events(item: Array, ptr: Array, record: int, i: int) -> tuple[int, int]:
    """Where the events of an item in a record begin and end."""
    first, end = ptr[record], ptr[record + 1]
    at = first + np.searchsorted(item[first:end], i)
    found: tuple[int, int] = _events(item, at, end, i)
    return found


@jit
def _any_agrees(first: int, stop: int, other: int, other_stop: int, how: Agreement) -> bool:
    """Whether any of the events `first … stop-1` agrees with any of the others."""
    for e in range(other, other_stop):
        code = np.int64(how.code[e]) if how.use_value else np.int64(0)
        tick = np.int64(how.tick[e]) if how.use_time else np.int64(0)
        if events_agree(first, stop, code, tick, how):
            return True
    return False


@jit
def _agreeing(first: Array, second: Array, how: Agreement, shared: Array, agree: Array) -> None:
    """Items in common and items that agree, pair by pair."""
    for p in range(first.size):
        k, k_end = how.ptr[first[p]], how.ptr[first[p] + 1]
        j, j_end = how.ptr[second[p]], how.ptr[second[p] + 1]
        while j < j_end and k < k_end:
            j_stop = _end_of_item(how.item, j, j_end)
            k, k_stop = _events(how.item, k, k_end, how.item[j])
            if k < k_stop:
                shared[p] += 1
                agree[p] += _any_agrees(k, k_stop, j, j_stop, how)
            k, j = k_stop, j_stop


def pair_similarity(
    dataset: Dataset,
    first: Any,
    second: Any,
    value_within: float | None = None,
    time_within: float | str | None = None,
) -> Array:
    """Sim of each pair of records."""
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    shared, agree = np.zeros(a.size, np.int64), np.zeros(a.size, np.int64)
    _agreeing(a, b, Agreement.of(dataset, value_within, time_within), shared, agree)
    return ns08.sim(agree, dataset.lengths[a], dataset.lengths[b], shared)


@jit
def _value_closeness(known: int, candidate: int, levels: Array, span: float) -> float:
    """T by value codes.

    An entry without a value counts by its presence if it is the known one, and T = 0 if only the
    candidate's lacks a value.
    """
    if known == levels.size:
        return 1.0
    return _closeness(levels[known], levels[candidate], span) if candidate < levels.size else 0.0


@jit
def _similarities(
    y: Array, r: Array, how: Agreement, levels: Array, span: float, out: Array
) -> None:
    for p in range(y.size):
        k, k_end = how.ptr[y[p]], how.ptr[y[p] + 1]
        j, j_end = how.ptr[r[p]], how.ptr[r[p] + 1]
        total, n = 0.0, 0
        while k < k_end:
            k_stop = _end_of_item(how.item, k, k_end)
            best = 0.0
            first, j = _events(how.item, j, j_end, how.item[k])
            for e in range(first, j):
                for x in range(k, k_stop):
                    # without values at all, every held item has T = 1
                    t = (
                        _value_closeness(how.code[x], how.code[e], levels, span)
                        if how.use_value
                        else 1.0
                    )
                    best = max(best, t)
            total += best
            n += 1
            k = k_stop
        out[p] = total / n


def pair_s(dataset: Dataset, y: Any, r: Any) -> Array:
    """S(y, r) = Σ_{i ∈ supp(y)} T(y_i, r_i) / |supp(y)| of each pair; an item of several events counts with its best."""
    first, second = np.asarray(y, np.int64), np.asarray(r, np.int64)
    out = np.zeros(first.size)
    _similarities(first, second, _same_values(dataset), dataset.levels, dataset.value_range, out)
    return out


def _same_values(dataset: Dataset) -> Agreement:
    return Agreement.of(dataset, 0.0 if dataset.has_value else None, None)


@jit
def _is_among(numbers: Array, i: int) -> bool:
    """Whether a sorted array holds a number."""
    at = np.searchsorted(numbers, i)
    return bool(at < numbers.size and numbers[at] == i)


@jit
def _learned(
    y: Array, r: Array, known_ptr: Array, known: Array, how: Agreement, told: Array, right: Array
) -> None:
    """Count what record `r` tells beyond the known items of target `y`, and how much of it is right."""
    for p in range(y.size):
        mine = known[known_ptr[p] : known_ptr[p + 1]]
        j, end = how.ptr[r[p]], how.ptr[r[p] + 1]
        while j < end:
            j_stop = _end_of_item(how.item, j, end)
            if not _is_among(mine, how.item[j]):
                told[p] += 1
                k, k_stop = _find_events(how.item, how.ptr, y[p], how.item[j])
                right[p] += _any_agrees(k, k_stop, j, j_stop, how)
            j = j_stop


@jit
def _popular(
    y: Array,
    n_guesses: Array,
    known_ptr: Array,
    known: Array,
    by_popularity: Array,
    commonest: Array,
    how: Agreement,
    out: Array,
) -> None:
    """Right guesses if the most held items outside the known ones are guessed with their most frequent values."""
    for q in range(y.size):
        mine = known[known_ptr[q] : known_ptr[q + 1]]
        guessed = 0
        for i in by_popularity:
            if guessed == n_guesses[q]:
                break
            if _is_among(mine, i):
                continue
            guessed += 1
            first, stop = _find_events(how.item, how.ptr, y[q], i)
            for k in range(first, stop):
                if not how.use_value or how.code[k] == commonest[i]:
                    out[q] += 1
                    break


def learn(dataset: Dataset, y: Array, aux: Knowledge, engine: str | Engine = "memory") -> Learned:
    """Match with the weighted algorithm (no threshold), read the best record, and count what is right."""
    from standout.attacks.datta import Weighted

    attack = Weighted(threshold=0.0)
    facts, how = aux.bind(dataset), _same_values(dataset)
    # known items ascending within each query
    known = facts.item[np.lexsort((facts.item, facts.query))].astype(np.int64)

    def read(record: Array) -> tuple[Array, Array, Array]:
        """S(y, r); number of entries beyond the known items; how many of these y has, with the same value."""
        told, right = np.zeros(y.size, np.int64), np.zeros(y.size, np.int64)
        _learned(y, record, facts.query_ptr, known, how, told, right)
        return pair_s(dataset, y, record), told, right

    seen = attack.run(dataset, aux, engine=engine, watch=y)
    similarity, told, right = read(seen.best)
    near, neighbor, popular = np.zeros(y.size), np.zeros_like(right), np.zeros_like(right)
    if dataset.n_records > 1:
        near, _, neighbor = read(attack.run(dataset, aux, engine=engine, exclude=y).best)
    by_popularity, codes = np.argsort(dataset.popularity_rank), commonest_codes(dataset)
    _popular(y, told, facts.query_ptr, known, by_popularity, codes, how, popular)
    return Learned(
        hit=seen.credit,
        similarity=similarity,
        known_similarity=known_s(dataset, aux, seen.best),
        unknown=dataset.lengths[y] - np.diff(facts.query_ptr),
        told=told,
        right=right,
        popular=popular,
        neighbor=neighbor,
        neighbor_similarity=near,
    )


def known_s(dataset: Dataset, aux: Knowledge, record: Array) -> Array:
    """S(aux, r) of one record per query."""
    from standout.attacks.datta import similarity_table
    from standout.attacks.events import events_of
    from standout.attacks.tables import Known

    facts = aux.bind(dataset)
    known = Known.of(dataset, facts, facts.nobody)
    best, table = np.zeros(known.item.size), similarity_table(known)
    found = events_of(dataset, known, record[:, None])
    fact = at = found.fact[found.cell]
    if table.size > best.size:
        code = found.rows.code[found.at]
        if known.cells.places is not None:
            code = known.cells.places.find(known.item[fact], code)
        at = known.cells.start[fact] + code
    # an item of several events counts with its best, one that the record lacks with 0
    np.maximum.at(best, fact, table[at])
    return known.sum_over_facts(best) / np.diff(aux.query_ptr)


def commonest_codes(dataset: Dataset) -> Array:
    """Most frequent value code of each item, the lower of equals; all 0 without values."""
    out = np.zeros(dataset.n_items, np.int64)
    if dataset.has_value:
        shard = dataset.index
        _commonest(shard.ptr, shard.code, dataset.n_levels, out)
    return out


@jit
def _commonest(ptr: Array, code: Array, n_levels: int, out: Array) -> None:
    count = np.zeros(n_levels + 1, np.int64)
    for i in range(out.size):
        count[:] = 0
        for b in range(ptr.shape[0]):
            for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                count[code[p]] += 1
        # a missing value is guessed only if no entry has one
        out[i] = np.argmax(count[:n_levels]) if count[:n_levels].max() > 0 else n_levels
