"""gpu_kernels.cu step by step in NumPy: packed words, stretches dealt to warps, warp maxima, the goal, promotion.

Slow, and meant to be read beside the kernel. Names are the kernel's.
"""

from __future__ import annotations

import numpy as np

from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.scoring.cpu import allowed, manner, tie_key
from standout.scoring.fill import LN2, LOG_TABLE
from standout.scoring.gpu_layout import Layout, pack, shape_of, unpack
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import VETO, Combine, Plan

HALF_VETO = VETO // 2
DEPTH = 4
STRETCH = 32 * DEPTH
NOBODY = (LOWEST, 0, -1)


def entry(plan: Plan, f: int, code: int, day: int, missing: int):
    t = plan.tables
    odds = plan.combine == Combine.ODDS
    value, time = (t.odds_value, t.odds_time) if odds else (t.value, t.time)
    x = value[f, code if plan.use_value else 0]
    if plan.use_time:
        last = time.shape[1] - 2
        y = time[t.time_row[f], last + 1 if day == missing else min(abs(day - int(t.known_day[f])), last)]
        x = x * y if odds else int(x) + int(y)
    return float(x) if odds else int(x)


def pair(plan: Plan, f: int, p: int, run, missing: int):
    """Contribution of the (record, item) pair whose first posting is p."""
    local, code, day = run
    events = [entry(plan, f, code[p], day[p], missing)]
    while p + len(events) < local.size and local[p + len(events)] == local[p]:
        k = p + len(events)
        events.append(entry(plan, f, code[k], day[k], missing))
    if plan.combine == Combine.ODDS:
        total = 0.0
        for x in events:
            total += x
        return total / len(events) if len(events) > 1 else total
    return max(x if x > HALF_VETO else 2 * HALF_VETO for x in events)


def short_log(x: float, shift: int) -> int:
    """log_odds() where LONG_LOG is 0: everything in 32 bits."""
    bits = int(np.float64(x).view(np.int64))
    high, low = bits >> 32, bits & 0xFFFFFFFF
    piece = int(LOG_TABLE[(high >> 10) & 1023])
    e, rest, rise, first = (high >> 20) - 1023, ((high << 6) | (low >> 26)) & 0xFFFF, piece & 0xFFFFFFFF, piece >> 32
    inner = rise * rest + ((e * (LN2 & 0xFFFFF) + (1 << 19)) % 2**32 >> 4)
    whole = e * (LN2 >> 20) + first + (inner % 2**32 >> 16) + (1 << shift >> 1)
    return whole % 2**32 >> shift


def first_two(entrants: list) -> tuple:
    """The first of a list of entrants and the next, nobody where there is none."""
    best = second = NOBODY
    for e in entrants:
        if before(e, best):
            best, second = e, best
        elif before(e, second):
            second = e
    return best, second


def stretches_of_warps(lengths: list[int], warps: int):
    """(warp, fact, first posting) in the order in which the kernel's warps take stretches."""
    for warp in range(warps):
        mine = warp
        for k, length in enumerate(lengths):
            stretches = -(-length // STRETCH)
            while mine < stretches:
                yield warp, k, mine * STRETCH
                mine += warps
            mine -= stretches


def fill(plan: Plan, shard: Shard, layout: Layout, words, b: int, q: int, warps: int, at_once: int):
    t = plan.tables
    acc, held = np.zeros(layout.block_size, np.int64), np.zeros(layout.block_size, np.int64)
    start = shard.first_record + b * layout.block_size
    first, stop = int(t.query_ptr[q]), int(t.query_ptr[q + 1])
    for f0 in range(first, stop, at_once):
        facts = range(f0, min(f0 + at_once, stop))
        runs = [unpack(layout, words[int(shard.ptr[b, t.item[f]]) : int(shard.ptr[b, t.item[f] + 1])]) for f in facts]
        if plan.combine == Combine.MIN:
            for f, run in zip(facts, runs, strict=True):
                for p in heads(run):
                    x = max(pair(plan, f, p, run, layout.missing_day), 0)
                    r = run[0][p]
                    if held[r] == f - first:
                        held[r] += 1
                        acc[r] = x if f == first else min(acc[r], x)
            continue
        for _, k, p0 in stretches_of_warps([run[0].size for run in runs], warps):
            f, run = f0 + k, runs[k]
            for p in heads(run):
                if not p0 <= p < p0 + STRETCH:
                    continue
                x, r = pair(plan, f, p, run, layout.missing_day), run[0][p]
                if plan.combine == Combine.ODDS:
                    acc[r] += short_log(1.0 + t.factor[start + r] * (x + t.odds_floor[f]), int(t.shift[q]))
                elif x > HALF_VETO:
                    acc[r] += x
    return acc, held


def heads(run) -> list[int]:
    """Postings that are the first of their record in a run."""
    local = run[0]
    return [p for p in range(local.size) if p == 0 or local[p - 1] != local[p]]


def finish(plan: Plan, acc, held, start: int, q: int):
    t = plan.tables
    if plan.combine == Combine.MIN:
        acc = np.where(held < t.n_known[q], 0, acc)
    elif plan.combine == Combine.SUM and t.factor.size:
        here = np.abs(t.factor[start : start + acc.size])
        acc[: here.size] = np.rint(acc[: here.size] * here).astype(np.int64)
    return np.minimum(acc, t.cap[q])


def before(a, b) -> bool:
    if a[2] < 0 or b[2] < 0:
        return a[2] >= 0
    return (-a[0], a[1], a[2]) < (-b[0], b[1], b[2])


def insert(e, q: int, out: Partials) -> None:
    if e[2] < 0:
        return
    best = (int(out.best_score[q]), int(out.best_key[q]), int(out.best[q]))
    second = (int(out.second_score[q]), int(out.second_key[q]), int(out.second[q]))
    if before(e, best):
        out.second_score[q], out.second_key[q], out.second[q] = best
        out.best_score[q], out.best_key[q], out.best[q] = e
    elif before(e, second):
        out.second_score[q], out.second_key[q], out.second[q] = e


def run(plan: Plan, data: Dataset, shard: Shard, watch, threads: int, shared: int) -> Partials:
    """What Device.run gives."""
    layout = Layout.of(shard.block_size, data.n_levels, data.day_span, data.has_value, data.has_time)
    words = pack(layout, shard.local, shard.code, shard.day, data.no_day)
    shape = shape_of(plan, shard.block_size, threads, 2, shared)
    how, out, warps = manner(plan), Partials.empty(plan.n_queries), threads // 32
    for b in range(shard.n_blocks):
        start = shard.first_record + b * shard.block_size
        size = min(shard.block_size, shard.n_records - b * shard.block_size)
        for q in range(plan.n_queries):
            acc, held = fill(plan, shard, layout, words, b, q, warps, shape.facts_at_once)
            scores = finish(plan, acc, held, start, q)
            here = [k for k in range(size) if allowed(start + k, q, plan.tables, how)]
            # a thread looks at four neighbors, then at the four that lie `threads` fours further
            warp_of = [(k // 4 % threads) // 32 for k in here]
            tops = [max((int(scores[k]) for k, w in zip(here, warp_of, strict=True) if w == warp), default=LOWEST)
                    for warp in range(warps)]  # fmt: skip
            x = scores[here]
            out.n[q] += len(here)
            out.total[q] += int(x.sum())
            out.squares[q] += float((x.astype(float) ** 2).sum())
            out.n_watch[q] += int((x >= watch[q]).sum())
            out.n_cut[q] += int((x >= plan.tables.cut[q]).sum())
            high = max(tops)
            leader = tops.index(high)
            following = max((t for w, t in enumerate(tops) if w != leader), default=LOWEST)
            nobody, second = out.second[q] < 0, int(out.second_score[q])
            if not here or not (nobody or high > second or (int(plan.tie) != 0 and high == second)):
                continue
            goal = following if nobody else max(following, second)
            # promote(): each warp finds its first two; enlist(): one warp finds the first two of those
            entrants: list[list] = [[] for _ in range(warps)]
            for k, w in zip(here, warp_of, strict=True):
                if scores[k] >= goal:
                    entrants[w].append((int(scores[k]), int(tie_key(start + k, q, plan.tables, how)), start + k))
            pairs = [first_two(mine) for mine in entrants]
            first = first_two([one for one, _ in pairs])[0]
            following_one = first_two([two if one[2] == first[2] else one for one, two in pairs])[0]
            insert(first, q, out)
            insert(following_one, q, out)
    return out
