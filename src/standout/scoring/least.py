"""The Numba kernel for `Combine.MIN`: the least similarity over all known items.

Only a record that holds every known item can score above 0, and it is in the shortest of the items'
runs. The kernel searches for the records of that run in the others. All other records score 0, and
are counted without being read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.tasks import Range
from standout.scoring import cpu
from standout.scoring.chances import seek
from standout.scoring.fill import contribution
from standout.scoring.partials import NO_RECORD, Partials
from standout.scoring.plan import VETO, Tables, Tie
from standout.scoring.postings import (
    KernelVariant,
    Postings,
    jit,
    jit_bare,
    jit_inline,
)
from standout.scoring.rules import key_of
from standout.scoring.summarize import add_candidate, insert

_SHORT = int(Tie.SHORT)


class First(NamedTuple):
    """The records of a block that come first among equal scores."""

    key: Array
    """uint64: their tie keys, ascending."""
    local: Array
    """int64: their offsets in the block."""
    n: Array
    """int64 (2): how many are listed; how many records of the block have the smallest key."""


@jit
def _find_first(start: int, size: int, post: Postings, tie: int, first: First) -> None:
    """List the first records of the block, by key and offset."""
    n: Any = np.int64(0)
    n_smallest: Any = np.int64(0)
    for k in range(size):
        key = key_of(start + k, post.first_record, tie, 0, post.lengths)
        if n == 0 or key < first.key[0]:
            n_smallest = 0
        n_smallest += n == 0 or key <= first.key[0]
        if n == first.key.size and key >= first.key[n - 1]:
            continue
        n = min(n + 1, first.key.size)
        at = n - 1
        while at > 0 and key < first.key[at - 1]:
            first.key[at], first.local[at] = first.key[at - 1], first.local[at - 1]
            at -= 1
        first.key[at], first.local[at] = key, k
    first.n[0], first.n[1] = n, n_smallest


@jit_inline
def _least(
    k: int, b: int, q: int, post: Postings, plan: Tables, how: KernelVariant, cursor: Array
) -> np.int64:
    """Least contribution over the facts of query `q` for record `k` of block `b`; 0 without one. Call with ascending `k`."""
    lo = plan.query.ptr[q]
    score, j, n = np.int64(0), np.int64(0), plan.query.ptr[q + 1] - lo
    while j < n and (j == 0 or score > 0):
        f = lo + j
        stop = np.int64(post.ptr[b, plan.fact.item[f] + 1])
        p = seek(post.local, cursor[j], stop, k)
        cursor[j] = p
        best = np.int64(VETO)
        while p < stop and np.int64(post.local[p]) == k:
            x = contribution(
                np.uint64(p),
                post.code,
                post.tick,
                plan.fact.value,
                np.uint64(plan.fact.value_start[f]),
                plan.row.time,
                np.uint64(plan.fact.time_row[f]),
                plan.fact.known_tick[f],
                how.gap_shift,
                post.no_tick,
                how.use_value,
                how.use_time,
            )
            best = max(best, x)
            p += 1
        best = max(best, np.int64(0))
        score = best if j == 0 else min(score, best)
        j += 1
    return np.int64(min(score, plan.query.cap[q]))


@jit_inline
def _shortest(b: int, q: int, post: Postings, plan: Tables) -> np.int64:
    """The fact of query `q` whose item has the shortest run in block `b`; -1 if a known item is not in the release."""
    lo, hi = plan.query.ptr[q], plan.query.ptr[q + 1]
    if hi - lo < plan.query.n_known[q]:
        return np.int64(-1)
    least, shortest = np.int64(2**62), np.int64(-1)
    for f in range(lo, hi):
        run = np.int64(post.ptr[b, plan.fact.item[f] + 1]) - np.int64(
            post.ptr[b, plan.fact.item[f]]
        )
        if run < least:
            least, shortest = run, np.int64(f)
    return shortest


@jit_inline
def _add_zeros(
    n: int,
    b: int,
    q: int,
    post: Postings,
    how: KernelVariant,
    plan: Tables,
    first: First,
    scored: Array,
    n_scored: int,
    was: tuple[int, int, int],
    out: Partials,
) -> None:
    """Add the `n` candidates of the block with a score of 0 to the top k and to the ties."""
    start, last = b * post.block_size, out.top.shape[1] - 1
    if out.top[q, last] != NO_RECORD and out.top_score[q, last] > 0:
        return
    hole = plan.query.exclude[q] - post.first_record - start
    # of the first records at most one is excluded, and fewer than k score above 0
    for c in range(first.n[0]):
        k, taken = first.local[c], False
        for j in range(n_scored):
            taken = taken or scored[j] == k
        if k != hole and not taken:
            insert(np.int64(0), first.key[c], post.first_record + start + k, q, out)
    if out.top[q, 0] == NO_RECORD or out.top_score[q, 0] > 0:
        return
    key = out.top_key[q, 0]
    if was[2] == NO_RECORD or (how.tie == _SHORT and key != was[1]):
        out.n_top[q] = 0
    if how.tie != _SHORT:
        out.n_top[q] += n
        return
    size = min(post.block_size, post.n_records - start)
    if key == first.key[0]:
        out.n_top[q] += first.n[1] - (
            0 <= hole < size and np.uint64(post.lengths[np.uint64(start + hole)]) == key
        )
    elif key > first.key[0]:
        for k in range(size):
            out.n_top[q] += k != hole and np.uint64(post.lengths[np.uint64(start + k)]) == key


@jit_bare
def _run_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    watch: Array,
    cursor: Array,
    first: First,
    scored: Array,
    out: Partials,
) -> None:
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        size = min(post.block_size, post.n_records - start)
        _find_first(start, size, post, how.tie, first)
        for q in range(queries[0], queries[1]):
            was = (out.top_score[q, 0], out.top_key[q, 0], out.top[q, 0])
            hole = plan.query.exclude[q] - post.first_record - start
            shortest, n_scored = _shortest(b, q, post, plan), np.int64(0)
            if shortest >= 0:
                for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
                    cursor[f - plan.query.ptr[q]] = post.ptr[b, plan.fact.item[f]]
                before = np.int64(-1)
                for p in range(
                    post.ptr[b, plan.fact.item[shortest]], post.ptr[b, plan.fact.item[shortest] + 1]
                ):
                    k = np.int64(post.local[p])
                    s = (
                        _least(k, b, q, post, plan, how, cursor)
                        if k != before and k != hole
                        else np.int64(0)
                    )
                    before = k
                    if s > 0:
                        out.total[q] += s
                        out.squares[q] += np.float64(s) * np.float64(s)
                        out.n_watch[q] += s >= watch[q]
                        out.n_cut[q] += s >= plan.query.cut[q]
                        key = key_of(start + k, post.first_record, how.tie, 0, post.lengths)
                        add_candidate(s, key, post.first_record + start + k, q, how.tie, out)
                        if n_scored < scored.size:
                            scored[n_scored] = k
                        n_scored += 1
            n = size - (0 <= hole < size)
            out.n[q] += n
            if watch[q] <= 0:
                out.n_watch[q] += n - n_scored
            if plan.query.cut[q] <= 0:
                out.n_cut[q] += n - n_scored
            if n > n_scored:
                _add_zeros(
                    n - n_scored,
                    b,
                    q,
                    post,
                    how,
                    plan,
                    first,
                    scored,
                    min(n_scored, scored.size),
                    was,
                    out,
                )


@jit
def run_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    watch: Array,
    out: Partials,
) -> None:
    """Add all blocks to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    most = np.int64(1)
    for q in range(queries[0], queries[1]):
        most = max(most, plan.query.ptr[q + 1] - plan.query.ptr[q])
    kept = out.top.shape[1]
    first = First(
        np.empty(2 * kept + 1, np.uint64), np.empty(2 * kept + 1, np.int64), np.zeros(2, np.int64)
    )
    _run_blocks(
        queries,
        post,
        plan,
        how,
        watch,
        np.empty(most, np.int64),
        first,
        np.empty(kept, np.int64),
        out,
    )


def score_blocks(
    queries: Range,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    watch: Array,
    out: Partials,
) -> None:
    """Add all records to the partials, by `run_blocks` where it can."""
    special = how.filtered or how.tie == Tie.HASH or out.beta.size
    run = cpu.run_blocks if special else run_blocks
    run(queries, post, plan, how, watch, out)


KERNEL = replace(cpu.KERNEL, run_blocks=score_blocks)
