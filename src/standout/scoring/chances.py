"""Probabilities of known values and times, given the entry behind a fact: for the exact likelihood."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from standout.arrays import Array
from standout.data.index import Rows, Shard
from standout.data.item_codes import ItemCodes
from standout.data.row_copies import rows_of
from standout.data.tasks import Range, Sums, Task
from standout.scoring.plan import ExactTables
from standout.scoring.postings import Postings, jit, jit_bare, jit_inline, postings


@jit
def seek(local: Array, lo: int, hi: int, record: int) -> int:
    """First position from `lo` on in a sorted run whose record is at least `record`."""
    step = np.int64(1)
    at = lo
    while at + step < hi and local[at + step] < record:
        at += step
        step *= 2
    hi = min(at + step, hi)
    while at < hi:
        middle = (at + hi) >> 1
        if local[middle] < record:
            at = middle + 1
        else:
            hi = middle
    return at


@jit_inline
def event_chances(
    p: int, f: int, post: Postings, known_tick: Array, t: ExactTables
) -> tuple[float, float, bool]:
    """Probabilities of the known value and tick if posting `p` is the entry behind fact `f`: as a right fact, as a wrong one.

    The third result says whether the entry can give a wrong fact: it has a known value or tick, and
    for each of them some other value lies outside the tolerance.
    """
    right, wrong, says, fine = 1.0, 1.0, False, True
    if t.use_value:
        at = t.row_start[t.value_row[f]] + np.int64(post.code[p])
        right, wrong = t.right_value[at], t.wrong_value[at]
        if t.level_fine[at] >= 0:
            says, fine = True, t.level_fine[at] == 1
    if t.use_time:
        tick = np.int64(post.tick[p])
        has_tick = tick != post.no_tick
        if has_tick:
            says = True
            fine = fine and max(tick, t.tick_span - tick) > t.reach
        if has_tick and t.has_tick[f]:
            right_tick, wrong_tick = tick_chances(known_tick[f], tick, t.reach, t.tick_span)
            right, wrong = right * right_tick, wrong * wrong_tick
        elif has_tick or t.has_tick[f]:
            # an entry without a tick gives a fact without one, and no other entry does
            right, wrong = 0.0, 0.0
    fine = fine and says
    return right, wrong if fine else 0.0, fine


@jit
def tick_chances(known: int, tick: int, reach: int, span: int) -> tuple[float, float]:
    """Probability of the known tick if the entry's tick is `tick`: uniform within ±reach; uniform over the rest of 0 … span."""
    if abs(known - tick) <= reach:
        return 1.0 / (2 * reach + 1), 0.0
    outside = max(0, tick - reach) + max(0, span - tick - reach)
    return 0.0, 1.0 / max(outside, 1) if 0 <= known <= span else 0.0


@jit_inline
def pair_chances(
    p: int, hi: int, f: int, post: Postings, known_tick: Array, t: ExactTables
) -> tuple[float, float, int]:
    """Mean probabilities over the events of the (record, item) pair that starts at posting `p`, and where the next one starts.

    A right fact comes from any of the events, a wrong one from those that can give a wrong fact.
    """
    right, wrong, fine = event_chances(p, f, post, known_tick, t)
    n, n_fine = np.int64(1), np.int64(fine)
    if post.repeats:
        record = post.local[p]
        while p + n < hi and post.local[p + n] == record:
            more_right, more_wrong, fine = event_chances(p + n, f, post, known_tick, t)
            right, wrong, n_fine = right + more_right, wrong + more_wrong, n_fine + np.int64(fine)
            n += 1
        right, wrong = right / n, wrong / max(n_fine, 1)
    return right, wrong, p + n


@jit_inline
def fine_events(
    p: int, stop: int, f: int, post: Postings, known_tick: Array, t: ExactTables
) -> int:
    """Events among postings `p … stop-1` that can give a wrong fact."""
    n = np.int64(0)
    for k in range(p, stop):
        n += np.int64(event_chances(k, f, post, known_tick, t)[2])
    return n


@jit
def _sum_right(
    lo: int,
    hi: int,
    code: Array,
    tick: Array,
    units: Array,
    start: int,
    use_value: bool,
    use_time: bool,
    known: int,
    has_tick: bool,
    no_tick: int,
    reach: int,
) -> int:
    """Sum the units (by value code) of postings `lo … hi-1` whose tick may be the known one."""
    total = np.int64(0)
    if not use_time:
        for p in range(lo, hi):
            total += units[start + np.int64(code[p])] if use_value else units[start]
        return total
    low, width = known - reach, np.uint64(2 * reach)
    for p in range(lo, hi):
        at = np.int64(tick[p])
        if has_tick:
            possible = np.uint64(at - low) <= width and at != no_tick
        else:
            possible = at == no_tick
        if possible:
            total += units[start + np.int64(code[p])] if use_value else units[start]
    return total


@jit_inline
def _sum_run(
    p: int,
    hi: int,
    f: int,
    post: Postings,
    known_tick: Array,
    t: ExactTables,
    units: Array,
    scale: Array,
) -> tuple[int, int]:
    """Probabilities of fact `f`, right and wrong, summed over the pairs of postings `p … hi-1`.

    Sums are integers, in units of 1/`scale` of the fact's row, so that they do not depend on the
    order.
    """
    row = t.value_row[f]
    if not post.repeats and (t.most_wrong == 0 or t.wrong_items):
        # no fact can have a wrong value
        return _sum_right(
            p,
            hi,
            post.code,
            post.tick,
            units,
            t.row_start[row],
            t.use_value,
            t.use_time,
            known_tick[f],
            t.has_tick[f],
            post.no_tick,
            t.reach,
        ), np.int64(0)
    right, wrong = np.int64(0), np.int64(0)
    while p < hi:
        one_right, one_wrong, p = pair_chances(p, hi, f, post, known_tick, t)
        right += np.int64(np.rint(one_right * scale[row]))
        wrong += np.int64(np.rint(one_wrong * scale[row]))
    return right, wrong


@jit_bare
def sum_chances(
    first: int,
    stop: int,
    post: Postings,
    item: Array,
    known_tick: Array,
    t: ExactTables,
    units: Array,
    scale: Array,
    right: Array,
    wrong: Array,
) -> None:
    """Add the sums of facts `first … stop-1` over all pairs of their items to `right` and `wrong`."""
    for f in range(first, stop):
        for b in range(post.ptr.shape[0]):
            lo, hi = np.int64(post.ptr[b, item[f]]), np.int64(post.ptr[b, item[f] + 1])
            one_right, one_wrong = _sum_run(lo, hi, f, post, known_tick, t, units, scale)
            right[f] += one_right
            wrong[f] += one_wrong


@dataclass(frozen=True, eq=False, repr=False)
class SumChances(Task[Sums]):
    """Probability of each fact's value and time if an entry of its item is behind it, summed over the (record, item) pairs."""

    item: Array
    """int64 (facts)."""
    tick: Array
    """int64 (facts): the known tick; not used where there is none."""
    tables: ExactTables
    n_pairs: int
    """No item has more pairs than this."""
    places: ItemCodes | None = None
    """As in the plan."""

    @property
    def n_queries(self) -> int:
        """Number of facts."""
        return int(self.item.size)

    @property
    def scale(self) -> Array:
        """float64 (rows of the value tables): units per probability; no sum overflows."""
        t = self.tables
        most = np.maximum(
            np.maximum.reduceat(np.maximum(t.right_value, t.wrong_value), t.row_start), 2.0**-200
        )
        return np.asarray(2.0 ** np.floor(61 - np.log2(max(self.n_pairs, 1)) - np.log2(most)))

    def empty(self) -> Sums:
        """Zeros (2, facts), in integer units: of right facts, of wrong ones."""
        return Sums(np.zeros((2, self.item.size), np.int64))

    def run(self, shard: Shard, into: Sums | None = None, queries: Range | None = None) -> Sums:
        """Sums over the shard's pairs."""
        out = self.empty() if into is None else into
        lo, hi = queries or (0, self.item.size)
        t = self.tables
        width = np.diff(t.row_start, append=t.right_value.size)
        units = np.rint(t.right_value * np.repeat(self.scale, width)).astype(np.int64)
        sum_chances(
            lo,
            hi,
            postings(shard, places=self.places),
            self.item,
            self.tick,
            self.tables,
            units,
            self.scale,
            *out.total,
        )
        return out

    def of_records(self, rows: Rows, place: Array, has_repeats: bool) -> Sums:
        """Sums over the pairs of one record per fact: the row at each place, -1 = none."""
        n_items = int(max(rows.item.max(initial=0), self.item.max(initial=0))) + 1
        pair = np.repeat(np.arange(rows.record.size), np.diff(rows.ptr)) * n_items + rows.item
        # no pair has a negative number, so that a fact without a record has an empty run
        wanted = np.where(place >= 0, place * n_items + self.item, -1)
        ends = np.column_stack(
            [np.searchsorted(pair, wanted), np.searchsorted(pair, wanted, "right")]
        )
        starts, at = rows_of(ends.reshape(-1), 2 * np.arange(wanted.size))
        # the pair of each fact becomes the run of an item of its own
        code, tick = (
            entries[at] if entries.size else entries for entries in (rows.code, rows.tick)
        )
        if self.places is not None and code.size:
            code = self.places.find(rows.item[at], code)
        own = Shard(
            0,
            1,
            1,
            starts[None, :].astype(np.uint32),
            np.zeros(at.size, np.uint16),
            code,
            tick,
            has_repeats,
        )
        return replace(self, item=np.arange(self.item.size), places=None).run(own)

    def probabilities(self, sums: Sums, repeats: bool) -> tuple[Array, Array]:
        """float64 (facts): the sums as probabilities, of right and of wrong facts."""
        t = self.tables
        scale = self.scale[t.value_row]
        right, wrong = sums.total / scale
        if not repeats and (t.most_wrong == 0 or t.wrong_items) and t.use_time:
            right = np.where(t.has_tick, right / (2 * t.reach + 1), right)
        return right, wrong
