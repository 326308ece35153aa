"""Partials merge: empty is neutral, and neither the cut nor the order matters."""

from __future__ import annotations

from functools import reduce

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from standout.scoring.partials import LOWEST, NO_RECORD, RANDOM_KEY, Partials

scores = st.integers(-3, 3)
keys = st.sampled_from([0, 1, 2, RANDOM_KEY, RANDOM_KEY + 1])


@st.composite
def crowds(draw: st.DrawFn, n_queries: int = 3) -> list[tuple[int, list[int], list[int]]]:
    """Records with distinct indices, each with a score and a tie key per query."""
    records = draw(st.lists(st.integers(0, 50), unique=True, max_size=9))
    row = st.lists(scores, min_size=n_queries, max_size=n_queries)
    key = st.lists(keys, min_size=n_queries, max_size=n_queries)
    return [(r, draw(row), draw(key)) for r in records]


K = 3


def one(record: int, score: list[int], key: list[int]) -> Partials:
    """Partials of a single record."""
    n = len(score)
    s = np.array(score, np.int64)
    p = Partials.empty(n, K)
    p.top_score[:, 0], p.top_key[:, 0], p.top[:, 0] = s, np.array(key, np.uint64), record
    return p._replace(
        n_top=np.ones(n, np.int64),
        n=np.ones(n, np.int64),
        total=s,
        squares=(s * s).astype(float),
        n_watch=(s >= 0).astype(np.int64),
        n_cut=(s >= 2).astype(np.int64),
    )


def merged(crowd: list[tuple[int, list[int], list[int]]]) -> Partials:
    return reduce(Partials.merge, [one(*x) for x in crowd], Partials.empty(3, K))


def assert_same(a: Partials, b: Partials) -> None:
    for name, x, y in zip(Partials._fields, a, b, strict=True):
        assert x.tolist() == y.tolist(), name
        assert x.dtype == y.dtype, name


@given(crowd=crowds())
def test_merged_records_give_the_top_k_the_ties_and_the_sums_of_all(crowd):
    p = merged(crowd)
    for q in range(3):
        order = sorted((-s[q], k[q], r) for r, s, k in crowd)
        ranked = [(-s, k, r) for s, k, r in order]
        for place in range(K):
            got = p.top_score[q, place], p.top_key[q, place], p.top[q, place]
            if place < len(ranked):
                assert tuple(map(int, got)) == ranked[place]
            else:
                assert got[0] == LOWEST
                assert got[2] == NO_RECORD
        assert (p.best[q], p.second[q]) == (p.top[q, 0], p.top[q, 1])
        first = ranked[:1] and ranked[0]
        assert p.n_top[q] == sum(
            s == first[0] and (k == first[1] or min(k, first[1]) >= RANDOM_KEY)
            for s, k, _ in ranked
        )
        column = np.array([s[q] for _, s, _ in crowd])
        assert p.n[q] == column.size
        assert p.total[q] == column.sum()
        assert p.n_watch[q] == (column >= 0).sum()
        assert p.n_cut[q] == (column >= 2).sum()
        assert np.isclose(p.sigma()[q], column.std() if column.size else 0.0)


@given(crowd=crowds())
def test_empty_is_neutral_on_either_side(crowd):
    p, nothing = merged(crowd), Partials.empty(3, K)
    assert_same(p.merge(nothing), p)
    assert_same(nothing.merge(p), p)


def test_empty_with_itself_is_empty_and_has_no_spread():
    nothing = Partials.empty(2)
    both = nothing.merge(nothing)
    assert_same(both, nothing)
    assert both.sigma().tolist() == [0.0, 0.0]
    assert_same(Partials.empty(0).merge(Partials.empty(0)), Partials.empty(0))


@given(crowd=crowds(), data=st.data())
def test_any_cut_merged_in_any_order_gives_the_same(crowd, data):
    whole = merged(crowd)
    shuffled = data.draw(st.permutations(crowd))
    edges = sorted(data.draw(st.lists(st.integers(0, len(crowd)), max_size=4)))
    runs = [shuffled[lo:hi] for lo, hi in zip([0, *edges], [*edges, len(crowd)], strict=True)]
    assert_same(reduce(Partials.merge, [merged(run) for run in runs]), whole)
    right_to_left = reduce(lambda b, a: a.merge(b), [merged(run) for run in reversed(runs)])
    assert_same(right_to_left, whole)


def test_a_record_that_scores_lowest_still_comes_before_nobody():
    lowest = one(4, [LOWEST], [2**64 - 1])
    assert lowest.merge(Partials.empty(1, K)).best.tolist() == [4]
    assert Partials.empty(1, K).merge(lowest).best.tolist() == [4]
    assert lowest.merge(Partials.empty(1, K)).n_top.tolist() == [1]


@given(first=crowds(), second=crowds())
def test_batches_of_queries_stand_one_after_the_other(first, second):
    both = Partials(*map(np.concatenate, zip(merged(first), merged(second), strict=True)))
    for name, x, y, z in zip(Partials._fields, both, merged(first), merged(second), strict=True):
        assert x.tolist() == [*y.tolist(), *z.tolist()], name
