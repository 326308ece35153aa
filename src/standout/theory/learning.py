"""What a match reveals: entries learned correctly from the matched record, compared with guesses without it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.engines.engine import Engine
from standout.formulas.rates import Z_95
from standout.jit import njit
from standout.theory.pairs import learned as entries_learned
from standout.theory.pairs import pair_s

jit = njit(nogil=True, cache=True, error_model="numpy")


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
        names = [f.name for f in fields(self)]
        out: dict[str, Any] = {name: float(getattr(self, name).mean()) for name in names}
        half = Z_95 * float(self.gain.std() / np.sqrt(self.gain.size))
        mean = float(self.gain.mean())
        return {
            "n": int(self.hit.size),
            **out,
            "gain": mean,
            "gain_low": mean - half,
            "gain_high": mean + half,
        }

    def __repr__(self) -> str:
        return f"<Learned from {self.hit.size:,} matches>"


def learn(dataset: Dataset, y: Array, aux: Knowledge, engine: str | Engine = "memory") -> Learned:
    """Match with the weighted algorithm (no threshold), read the best record, and count what is right."""
    from standout.attacks.datta import Weighted

    attack = Weighted(threshold=0.0)
    facts = aux.bind(dataset)
    seen = attack.run(dataset, aux, engine=engine, watch=y)
    best = seen.best
    told, right = entries_learned(dataset, y, best, facts.query_ptr, facts.item)
    if dataset.n_records > 1:
        other = attack.run(dataset, aux, engine=engine, exclude=y).best
        neighbor = entries_learned(dataset, y, other, facts.query_ptr, facts.item)[1]
        near = pair_s(dataset, y, other)
    else:
        neighbor, near = np.zeros_like(right), np.zeros(right.size)
    order = np.argsort(facts.item + facts.query * np.int64(dataset.n_items), kind="stable")
    popular = np.zeros(y.size, np.int64)
    _popular(
        y,
        told,
        facts.query_ptr,
        facts.item[order],
        np.argsort(dataset.popularity_rank),
        commonest_codes(dataset),
        dataset.record_ptr,
        dataset.record_item,
        dataset.record_code,
        popular,
    )
    return Learned(
        hit=seen.credit,
        similarity=pair_s(dataset, y, best),
        known_similarity=known_s(dataset, aux, best),
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
    from standout.attacks.tables import Known

    known = Known.of(dataset, aux.bind(dataset), np.full(aux.n_queries, -1, np.int64))
    best, table, place = np.zeros(known.item.size), similarity_table(known), dataset.record_code
    start = np.arange(best.size)
    if table.size > best.size:
        start = known.cells.start
        if known.cells.places is not None:
            place = known.cells.places.find(dataset.record_item, place)
    else:
        place = place[:0]
    _best_closeness(
        record[known.query],
        known.item,
        table,
        start,
        dataset.record_ptr,
        dataset.record_item,
        place,
        best,
    )
    return known.sum_over_facts(best) / np.diff(aux.query_ptr)


@jit
def _best_closeness(
    record: Array,
    item: Array,
    table: Array,
    start: Array,
    ptr: Array,
    items: Array,
    place: Array,
    out: Array,
) -> None:
    """Best T of each fact over the record's events of that item, 0 if it holds none."""
    for f in range(record.size):
        lo, hi = ptr[record[f]], ptr[record[f] + 1]
        k = lo + np.searchsorted(items[lo:hi], item[f])
        while k < hi and items[k] == item[f]:
            out[f] = max(out[f], table[start[f] + (np.int64(place[k]) if place.size > 0 else 0)])
            k += 1


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


@jit
def _popular(
    y: Array,
    n_guesses: Array,
    known_ptr: Array,
    known: Array,
    by_popularity: Array,
    commonest: Array,
    ptr: Array,
    items: Array,
    code: Array,
    out: Array,
) -> None:
    """Right guesses if the most held items outside the known ones are guessed with their most frequent values."""
    has_code = code.size > 0
    for q in range(y.size):
        mine = known[known_ptr[q] : known_ptr[q + 1]]
        lo, hi = ptr[y[q]], ptr[y[q] + 1]
        guessed = 0
        for i in by_popularity:
            if guessed == n_guesses[q]:
                break
            at = np.searchsorted(mine, i)
            if at < mine.size and mine[at] == i:
                continue
            guessed += 1
            k = lo + np.searchsorted(items[lo:hi], i)
            while k < hi and items[k] == i:
                if not has_code or code[k] == commonest[i]:
                    out[q] += 1
                    break
                k += 1
