"""Which records hold all facts of a query within one group, one span of time, or one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.grouping import Grouping
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.data.times import to_ticks


@dataclass(frozen=True, eq=False, repr=False)
class Sorted:
    """Pairs (owner, place) in order, for looking up places of an owner."""

    key: Array
    span: int
    """Number that every place lies below."""

    @classmethod
    def of(cls, owner: Array, place: Array, span: int) -> Sorted:
        """Sort the pairs."""
        return cls(np.sort(owner * span + place), span)

    def following(self, owner: Array, least: Array) -> Array:
        """Smallest place of each owner that is at least `least`; `span` if it has none."""
        at = np.searchsorted(self.key, owner * self.span + least)
        found = np.append(self.key, -1)[at]
        return np.where(found // self.span == owner, found % self.span, self.span)

    def between(self, owner: Array, low: Array, high: Array) -> Array:
        """Number of places of each owner above `low` and below `high`."""
        first = np.searchsorted(self.key, owner * self.span + low, side="right")
        stop = np.searchsorted(self.key, owner * self.span + high)
        return np.asarray(np.maximum(stop - first, 0))


@dataclass(frozen=True, eq=False, repr=False)
class _Matches:
    """Entries of a candidate that have the item of a fact: (pair of query and candidate, fact, entry), as arrays."""

    pair: Array
    """Per fact of a pair: the pair."""
    is_given: Array
    """Per fact of a pair: whether it is about an attribute of the person."""
    owner: Array
    """Per match: the fact of a pair."""
    agrees: Array
    """Per match: whether the entry agrees with everything that is known."""
    place: Array
    """Per match: place of the entry, negative = none."""


def hold_related(
    dataset: Catalog, facts: Facts, grouping: Grouping, query: Array, record: Array
) -> Array:
    """Bool: whether each candidate of a query could have produced its facts, all right, with the relation among them.

    Parameters
    ----------
    dataset, facts
        The release as the attack reads it, and what is known of it by an adversary without wrong
        facts.
    grouping
        The relation, which the release can tell.
    query, record
        Pairs of a query and a candidate.
    """
    distinct, at = np.unique(record, return_inverse=True)
    rows, at = dataset.rows(distinct), at.reshape(-1)
    place = grouping.places(dataset, rows)
    found = _matches(dataset, facts, rows, place, query, at)
    n = np.bincount(found.pair, minlength=query.size)
    own = np.bincount(found.pair[~found.is_given], minlength=query.size)
    # attributes of the person agree or not, whatever the relation
    held = np.zeros(found.pair.size, np.bool_)
    held[found.owner[found.agrees]] = True
    out = np.bincount(found.pair[held & found.is_given], minlength=query.size) == n - own
    linked = _linked_in_order if grouping.in_order else _linked_in_window
    return np.asarray(out & ((own == 0) | linked(dataset, grouping, rows, place, found, at)))


def _matches(
    dataset: Catalog, facts: Facts, rows: Rows, place: Array, query: Array, at: Array
) -> _Matches:
    """Entries of the candidates with the items of the facts; `at` is the row of each candidate."""
    n_facts = np.diff(facts.query_ptr)[query]
    pair = np.repeat(np.arange(query.size), n_facts)
    turn = np.arange(pair.size) - np.repeat(np.cumsum(n_facts) - n_facts, n_facts)
    fact = facts.query_ptr[query][pair] + turn
    # one more than the items, so that an item that the release lacks (-1) is nobody's
    width = dataset.n_items + 1
    key = np.repeat(np.arange(rows.record.size), np.diff(rows.ptr)) * width + rows.item
    wanted = at[pair] * width + facts.item[fact]
    first, stop = np.searchsorted(key, wanted), np.searchsorted(key, wanted, side="right")
    n = stop - first
    owner = np.repeat(np.arange(pair.size), n)
    entry = np.repeat(first - (np.cumsum(n) - n), n) + np.arange(owner.size)
    agrees = _agree(dataset, facts, rows, fact[owner], entry)
    given = np.zeros(pair.size, np.bool_) if facts.given is None else facts.given[fact]
    return _Matches(pair, given, owner, agrees, place[entry])


def _agree(dataset: Catalog, facts: Facts, rows: Rows, fact: Array, entry: Array) -> Array:
    """Bool: whether entries agree with facts in every known channel, pair by pair.

    What a fact lacks agrees only with an entry that lacks it too, if the facts are of this release.
    """
    who = facts.adversary
    assert who is not None
    out, strict = np.ones(fact.size, np.bool_), facts.from_release
    errors = who.level_errors(dataset)
    if errors is not None:
        code = rows.code[entry].astype(np.int64)
        for part, told in zip(errors.parts, errors.columns(facts.value[fact]), strict=True):
            there = code < dataset.n_levels if part.level is None else part.of_code(code)[1]
            near = there & part.inside(np.nan_to_num(told), np.where(there, code, 0))
            out &= np.where(np.isnan(told), ~there | (not strict), near)
    if who.tells_time(dataset):
        told = to_ticks(facts.day[fact], dataset.time_resolution) - dataset.first_tick
        tick = rows.tick[entry].astype(np.int64)
        there = tick != dataset.no_tick
        near = there & (np.abs(np.nan_to_num(told) - tick) <= who.time_ticks(dataset))
        out &= np.where(np.isnan(told), ~there | (not strict), near)
    return out


def _linked_in_window(
    dataset: Catalog, grouping: Grouping, rows: Rows, place: Array, found: _Matches, at: Array
) -> Array:
    """Bool per pair: whether some window of places holds an entry for each of its facts."""
    width = grouping.width(dataset)
    span = int(place.max(initial=0)) + width + 1
    able = found.agrees & (found.place >= 0) & ~found.is_given[found.owner]
    where = Sorted.of(found.owner[able], found.place[able], span)
    start, pair, fact = _starts(found, able, span)
    reached = where.following(fact, start) < start + width
    return _all_facts(at.size, start, pair, reached)


def _linked_in_order(
    dataset: Catalog, grouping: Grouping, rows: Rows, place: Array, found: _Matches, at: Array
) -> Array:
    """Bool per pair: whether its facts can be the first events of the first distinct items from some event on.

    Events at the same time have any order. An event of the first time is skipped if it came before
    the start. So the known event of an item is one at the time of the start, or one at the next
    time of the item; and no other item occurs between the first and the last of these times.
    """
    span = int(place.max(initial=0)) + 2
    timed = (found.place >= 0) & ~found.is_given[found.owner]
    able = found.agrees & timed
    where = Sorted.of(found.owner[able], found.place[able], span)
    events = Sorted.of(found.owner[timed], found.place[timed], span)
    start, pair, fact = _starts(found, able, span)
    now = where.following(fact, start) == start
    later = events.following(fact, start + 1)
    known = now | ((later < span) & (where.following(fact, later) == later))
    last = np.where(now, start, later)
    # the last time of each start, and the events before it: those of the known items are all
    run = _runs(start, pair)
    ends = np.maximum.reduceat(last, run) if run.size else run
    each = np.repeat(ends, np.diff(np.append(run, last.size)))
    own = np.add.reduceat(events.between(fact, start, each), run) if run.size else run
    row = np.repeat(np.arange(rows.record.size), np.diff(rows.ptr))
    everything = Sorted.of(row[place >= 0], place[place >= 0], span)
    alone = everything.between(at[pair[run]], start[run], ends) == own
    return _all_facts(
        at.size, start, pair, known & np.repeat(alone, np.diff(np.append(run, last.size)))
    )


def _starts(found: _Matches, able: Array, span: int) -> tuple[Array, Array, Array]:
    """Places at which a window may begin, pair by pair: (place, pair, fact), one element for each fact of the pair."""
    key = np.unique(found.pair[found.owner[able]] * span + found.place[able])
    pair, start = key // span, key % span
    own = np.flatnonzero(~found.is_given)
    n = np.bincount(found.pair[own], minlength=int(pair.max(initial=0)) + 1)
    first = np.cumsum(n) - n
    each = np.repeat(np.arange(pair.size), n[pair])
    turn = np.arange(each.size) - np.repeat(np.cumsum(n[pair]) - n[pair], n[pair])
    return start[each], pair[each], own[first[pair[each]] + turn]


def _runs(start: Array, pair: Array) -> Array:
    """First element of each start in what `_starts` returns."""
    new = np.ones(pair.size, np.bool_)
    new[1:] = (np.diff(pair) != 0) | (np.diff(start) != 0)
    return np.flatnonzero(new)


def _all_facts(n_pairs: int, start: Array, pair: Array, good: Array) -> Array:
    """Bool per pair: whether all facts are good for one of its starts."""
    out = np.zeros(n_pairs, np.bool_)
    run = _runs(start, pair)
    if run.size:
        out[pair[run][np.logical_and.reduceat(good, run)]] = True
    return out
