"""The Numba kernel for `Combine.EXACT`: log P(knowledge | record) of an adversary with exactly w wrong facts.

Few records can be the target at all: those that hold all known items, or all but w of them. The kernel lists them block by
block and evaluates each once, in floating point, by the formulas of `formulas.likelihood`. The result is rounded to an
integer once. Every other record is barred: it is no candidate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.formulas.likelihood import MOST_ORDERED, log_wrong_items, log_wrong_values
from standout.scoring.cpu import exponential
from standout.scoring.fill import Manner, Postings, jit, jit_bare, jit_inline
from standout.scoring.look import allowed, enter, key_of
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import ROOM, ExactTables, Tables

Array = npt.NDArray[Any]


class Desk(NamedTuple):
    """Scratch memory of one thread."""

    n_held: Array
    """uint16 (block): known items that each record holds."""
    local: Array
    """int64 (block): candidates, as offsets in the block, rising."""
    score: Array
    """int64 (block): their scores."""
    cursor: Array
    """int64 (facts of a query): where the search in each item's run goes on."""
    right: Array
    wrong: Array
    held: Array
    supports: Array
    sums: Array


@jit  # type: ignore[untyped-decorator]
def make_desk(block_size: int, most_facts: int, most_wrong: int) -> Desk:
    """Scratch memory for blocks of that size and queries of that many facts."""
    n = max(1 << min(most_wrong, MOST_ORDERED), most_wrong + 1)
    return Desk(np.zeros(block_size, np.uint16), np.empty(block_size, np.int64), np.empty(block_size, np.int64),
                np.empty(most_facts, np.int64), np.empty(most_facts), np.empty(most_facts),
                np.empty(most_facts, np.bool_), np.empty(most_facts), np.empty(n))  # fmt: skip


@jit  # type: ignore[untyped-decorator]
def seek(local: Array, lo: int, hi: int, record: int) -> int:
    """First place from `lo` on in a sorted run whose record is at least `record`."""
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


@jit_inline  # type: ignore[untyped-decorator]
def event_chances(p: int, f: int, post: Postings, known_day: Array, t: ExactTables) -> tuple[float, float, bool]:
    """Chances of the told value and day if posting `p` is the entry behind fact `f`: told rightly, told wrongly.

    The third says whether the entry can be told wrongly at all: it has a value or a day that is told, and each of them has
    room outside its tolerance.
    """
    right, wrong, says, fine = 1.0, 1.0, False, True
    if t.use_value:
        code = min(np.int64(post.code[p]), t.right_value.shape[1] - 1)
        right, wrong = t.right_value[t.value_row[f], code], t.wrong_value[t.value_row[f], code]
        if code < t.level_fine.size:
            says, fine = True, t.level_fine[code]
    if t.use_time:
        day = np.int64(post.day[p])
        has_day = day != post.no_day
        if has_day:
            says = True
            fine = fine and max(day, t.day_span - day) > t.reach
        if has_day and t.has_day[f]:
            right_day, wrong_day = day_chances(known_day[f], day, t.reach, t.day_span)
            right, wrong = right * right_day, wrong * wrong_day
        elif has_day or t.has_day[f]:
            # an entry without a day is told without one, and no other is
            right, wrong = 0.0, 0.0
    fine = fine and says
    return right, wrong if fine else 0.0, fine


@jit  # type: ignore[untyped-decorator]
def day_chances(known: int, day: int, reach: int, span: int) -> tuple[float, float]:
    """Chance of the known day if the entry's is `day`: even within ±reach, or even over the rest of 0 … span."""
    if abs(known - day) <= reach:
        return 1.0 / (2 * reach + 1), 0.0
    outside = max(0, day - reach) + max(0, span - day - reach)
    return 0.0, 1.0 / max(outside, 1) if 0 <= known <= span else 0.0


@jit_inline  # type: ignore[untyped-decorator]
def pair_chances(p: int, hi: int, f: int, post: Postings, known_day: Array, t: ExactTables) -> tuple[float, float, int]:
    """Mean chances over the events of the (record, item) pair that starts at posting `p`, and where the next pair starts.

    A right fact comes from any of the events, a wrong one from those that can be told wrongly.
    """
    right, wrong, fine = event_chances(p, f, post, known_day, t)
    n, n_fine = np.int64(1), np.int64(fine)
    if post.repeats:
        record = post.local[p]
        while p + n < hi and post.local[p + n] == record:
            more_right, more_wrong, fine = event_chances(p + n, f, post, known_day, t)
            right, wrong, n_fine = right + more_right, wrong + more_wrong, n_fine + np.int64(fine)
            n += 1
        right, wrong = right / n, wrong / max(n_fine, 1)
    return right, wrong, p + n


@jit  # type: ignore[untyped-decorator]
def shared_weight(first: int, second: int, t: ExactTables) -> int:
    """Pickable items that both records hold."""
    n = np.int64(0)
    k, k_end = t.record_ptr[first], t.record_ptr[first + 1]
    j, j_end = t.record_ptr[second], t.record_ptr[second + 1]
    last = np.int64(-1)
    while k < k_end and j < j_end:
        a, b = np.int64(t.record_item[k]), np.int64(t.record_item[j])
        if a < b:
            k += 1
        elif b < a:
            j += 1
        else:
            if a != last and t.pickable[a]:
                n += 1
            last = a
            k += 1
            j += 1
    return n


@jit_inline  # type: ignore[untyped-decorator]
def log_chance(k: int, record: int, b: int, q: int, post: Postings, plan: Tables, t: ExactTables, desk: Desk) -> float:
    """Log P(knowledge of query `q` | record), -inf where the record cannot be the target. Records must come rising."""
    lo, hi = plan.query_ptr[q], plan.query_ptr[q + 1]
    m = hi - lo
    missing, n_marked = np.int64(0), np.int64(0)
    possible = t.log_pick[record] < np.inf
    most_missing = t.wrong[q] if t.wrong_items else np.int64(0)
    j = np.int64(0)
    while possible and j < m:
        f = lo + j
        stop = np.int64(post.ptr[b, plan.item[f] + 1])
        at = seek(post.local, desk.cursor[j], stop, k)
        desk.cursor[j] = at
        desk.held[j] = at < stop and post.local[at] == k
        if desk.held[j]:
            right, wrong, _ = pair_chances(at, stop, f, post, plan.known_day, t)
            desk.right[j], desk.wrong[j] = right, wrong
            possible = right > 0.0 or (not t.wrong_items and wrong > 0.0)
            n_marked += t.marked[f]
        else:
            missing += 1
            possible = missing <= most_missing
        j += 1
    if not possible or missing != most_missing or (t.n_marked >= 0 and n_marked != t.n_marked):
        return -np.inf
    if not t.wrong_items:
        return log_wrong_values(
            desk.right[:m], desk.wrong[:m], t.wrong[q], t.log_pick[record], t.log_ways[q], desk.sums
        )
    rest = t.total[q] - t.weight[record]
    if plan.exclude[q] >= 0 and missing > 0:
        rest += shared_weight(record, plan.exclude[q], t)
    return log_wrong_items(desk.right[:m], desk.held[:m], t.support[lo:hi], t.mean_right[lo:hi], float(rest),
                           t.log_pick[record], t.log_ways[q], desk.supports, desk.sums)  # fmt: skip


@jit_inline  # type: ignore[untyped-decorator]
def start_search(b: int, q: int, post: Postings, plan: Tables, desk: Desk) -> None:
    """Set the cursors to the starts of the runs of query `q`."""
    for f in range(plan.query_ptr[q], plan.query_ptr[q + 1]):
        desk.cursor[f - plan.query_ptr[q]] = post.ptr[b, plan.item[f]]


@jit_inline  # type: ignore[untyped-decorator]
def list_holders(b: int, size: int, q: int, post: Postings, plan: Tables, t: ExactTables, desk: Desk) -> int:
    """Put into `desk.local`, rising, every record of the block that holds enough of the items; others may be among them."""
    lo, hi = plan.query_ptr[q], plan.query_ptr[q + 1]
    need = hi - lo - (t.wrong[q] if t.wrong_items else 0)
    some, least, smallest = np.int64(0), np.int64(2**62), lo
    for f in range(lo, hi):
        run = np.int64(post.ptr[b, plan.item[f] + 1]) - np.int64(post.ptr[b, plan.item[f]])
        some += run > 0
        if run < least:
            least, smallest = run, f
    n = np.int64(0)
    if some < need:
        return n
    if need == hi - lo:
        # whoever holds all of the items stands in the shortest run
        for p in range(post.ptr[b, plan.item[smallest]], post.ptr[b, plan.item[smallest] + 1]):
            k = np.int64(post.local[p])
            if n == 0 or desk.local[n - 1] != k:
                desk.local[n] = k
                n += 1
        return n
    desk.n_held[:size] = 0
    for f in range(lo, hi):
        last = np.int64(-1)
        for p in range(post.ptr[b, plan.item[f]], post.ptr[b, plan.item[f] + 1]):
            k = np.int64(post.local[p])
            desk.n_held[k] += k != last
            last = k
    for k in range(size):
        desk.local[n] = k
        n += desk.n_held[k] == need
    return n


@jit_inline  # type: ignore[untyped-decorator]
def score_block(b: int, q: int, post: Postings, plan: Tables, how: Manner, t: ExactTables, desk: Desk) -> int:
    """Put the candidates of the block and their integer scores into `desk`; gives their number."""
    offset = b * post.block_size
    size = min(post.block_size, post.n_records - offset)
    n = list_holders(b, size, q, post, plan, t, desk)
    start_search(b, q, post, plan, desk)
    kept = np.int64(0)
    for c in range(n):
        k = desk.local[c]
        record = post.first_record + offset + k
        if allowed(record, q, plan, how):
            x = log_chance(k, record, b, q, post, plan, t, desk)
            if x > -np.inf:
                desk.local[kept] = k
                desk.score[kept] = to_integer(x, t.scale[q])
                kept += 1
    return kept


@jit  # type: ignore[untyped-decorator]
def to_integer(x: float, scale: float) -> int:
    """Round a log-probability to fixed point; what no 30 bits can hold is as likely as what they just hold."""
    return np.int64(min(max(np.rint(x * scale), -float(ROOM)), float(ROOM)))


@jit  # type: ignore[untyped-decorator]
def run_blocks(first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: Manner, t: ExactTables,
               watch: Array, out: Partials) -> None:  # fmt: skip
    """Add blocks `first … stop-1` to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    desk = make_desk(post.block_size, t.most_facts, t.most_wrong)
    _run_blocks(desk, first, stop, queries, post, plan, how, t, watch, out)


@jit_bare  # type: ignore[untyped-decorator]
def _run_blocks(desk: Desk, first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: Manner,
                t: ExactTables, watch: Array, out: Partials) -> None:  # fmt: skip
    for b in range(first, stop):
        start = post.first_record + b * post.block_size
        for q in range(queries[0], queries[1]):
            n = score_block(b, q, post, plan, how, t, desk)
            out.n[q] += n
            for c in range(n):
                s = desk.score[c]
                out.total[q] += s
                out.squares[q] += np.float64(s) * np.float64(s)
                out.n_watch[q] += s >= watch[q]
                out.n_cut[q] += s >= plan.cut[q]
                if s >= out.top_score[q, out.top.shape[1] - 1]:
                    record = start + desk.local[c]
                    enter(s, key_of(record, how.tie, plan.salt[q], plan.lengths), record, q, how.tie, out)


@jit  # type: ignore[untyped-decorator]
def mass_blocks(first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: Manner, t: ExactTables,
                top: Array, beta: Array, out: Array) -> None:  # fmt: skip
    """Add Σ exp(beta · (score - top)) over the candidates of blocks `first … stop-1` to `out`, for the queries named."""
    desk = make_desk(post.block_size, t.most_facts, t.most_wrong)
    _mass_blocks(desk, first, stop, queries, post, plan, how, t, top, beta, out)


@jit_bare  # type: ignore[untyped-decorator]
def _mass_blocks(desk: Desk, first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: Manner,
                 t: ExactTables, top: Array, beta: Array, out: Array) -> None:  # fmt: skip
    for b in range(first, stop):
        for q in range(queries[0], queries[1]):
            for c in range(score_block(b, q, post, plan, how, t, desk)):
                out[q] += exponential(beta[q] * np.float64(desk.score[c] - top[q]))


@jit  # type: ignore[untyped-decorator]
def peek(post: Postings, plan: Tables, how: Manner, t: ExactTables, record: Array, out: Array) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    desk = make_desk(1, t.most_facts, t.most_wrong)
    for q in range(plan.query_ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records and allowed(record[q], q, plan, how):
            b = local // post.block_size
            start_search(b, q, post, plan, desk)
            x = log_chance(local - b * post.block_size, record[q], b, q, post, plan, t, desk)
            if x > -np.inf:
                out[q] = to_integer(x, t.scale[q])


@jit  # type: ignore[untyped-decorator]
def dump(post: Postings, plan: Tables, how: Manner, t: ExactTables, out: Array) -> None:
    """Put every score into `out` (queries, records), barred records as `LOWEST`."""
    desk = make_desk(post.block_size, t.most_facts, t.most_wrong)
    for b in range(post.ptr.shape[0]):
        start = post.first_record + b * post.block_size
        size = min(post.block_size, post.n_records - b * post.block_size)
        for q in range(plan.query_ptr.size - 1):
            out[q, start : start + size] = LOWEST
            for c in range(score_block(b, q, post, plan, how, t, desk)):
                out[q, start + desk.local[c]] = desk.score[c]


@jit_bare  # type: ignore[untyped-decorator]
def mean_chances(first: int, stop: int, post: Postings, item: Array, known_day: Array, gone: Array, t: ExactTables,
                 right: Array, wrong: Array) -> None:  # fmt: skip
    """Sums over each item's (record, item) pairs of the chances of facts `first … stop-1`, record `gone[fact]` left out."""
    for f in range(first, stop):
        for b in range(post.ptr.shape[0]):
            start = post.first_record + b * post.block_size
            p, hi = np.int64(post.ptr[b, item[f]]), np.int64(post.ptr[b, item[f] + 1])
            while p < hi:
                record = start + np.int64(post.local[p])
                one_right, one_wrong, p = pair_chances(p, hi, f, post, known_day, t)
                if record != gone[f]:
                    right[f] += one_right
                    wrong[f] += one_wrong
