"""Scoreboard and Scoreboard-RH equal the dense oracles, whatever the data lacks and whatever the options say."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Table
from strategies import (
    STRANGER,
    adversaries,
    cases,
    dataset,
    fitted,
    knowledge,
    queries_of,
    random_table,
    tables,
)

import standout as so
from standout.errors import ParameterError

CLOSE = 1e-6

RH_OPTIONS = [
    {},
    {"rho0": 0.4, "d0": 2.0},
    {"rho0": 10.0, "d0": 400.0},
    {"length": "sqrt"},
    {"similarity": "threshold"},
    {"similarity": "threshold", "value_within": 0.5, "time_within": 3},
    {"similarity": "threshold", "value_within": 0, "time_within": 0, "length": "sqrt"},
]
SB_OPTIONS = [
    {},
    {"value_within": 0.5, "time_within": 3},
    {"value_within": 0, "time_within": 0, "alpha": 0.5},
]


def say(options: dict[str, object]) -> str:
    return ",".join(f"{k}={v}" for k, v in options.items()) or "default"


def check_order(
    verdicts: so.Verdicts, scores: np.ndarray, length: np.ndarray | None = None
) -> None:
    """best, score, second, sigma and eccentricity are exactly the order statistics of the fixed-point scores."""
    tie = np.zeros(scores.shape[1]) if length is None else length
    for q, row in enumerate(scores):
        order = np.lexsort((np.arange(row.size), tie, -row))
        order = order[np.isfinite(row[order])]
        if order.size == 0:
            assert verdicts.best[q] == -1
            continue
        assert verdicts.best[q] == order[0]
        assert verdicts.score[q] == row[order[0]]
        assert verdicts.n_candidates[q] == order.size
        if order.size == 1:
            assert np.isnan(verdicts.second[q])
            assert verdicts.runner_up[q] == -1
            assert verdicts.eccentricity[q] == 0
            continue
        assert verdicts.runner_up[q] == order[1]
        assert verdicts.second[q] == row[order[1]]
        sd, slack = oracle.sigma(row[None, :])[0], oracle.sigma_slack(row)
        assert verdicts.sigma[q] == pytest.approx(sd, rel=0, abs=slack)
        if row[order[0]] == row[order[1]]:
            assert verdicts.eccentricity[q] == 0
        elif sd > 2 * slack:
            ecc = (row[order[0]] - row[order[1]]) / sd
            assert verdicts.eccentricity[q] == pytest.approx(ecc, rel=2 * slack / sd)


def check_watched(
    verdicts: so.Verdicts, exact: np.ndarray, scores: np.ndarray, watch: np.ndarray
) -> None:
    """rank is the count in the fixed-point scores, and the oracle's but for what is within a rounding of the watched."""
    assert verdicts.rank.tolist() == oracle.rank(scores, watch).tolist()
    mine = exact[np.arange(watch.size), watch][:, None]
    assert ((exact > mine + CLOSE).sum(axis=1) < verdicts.rank).all()
    assert (verdicts.rank <= (exact > mine - CLOSE).sum(axis=1)).all()


def same_scores(got: np.ndarray, exact: np.ndarray) -> None:
    assert got.shape == exact.shape
    assert np.array_equal(np.isfinite(got), np.isfinite(exact))
    here = np.isfinite(exact)
    np.testing.assert_allclose(got[here], exact[here], rtol=0, atol=CLOSE)


def check_rh(
    table: Table, queries: list[list[Fact]], options: dict[str, object], watch: np.ndarray
) -> None:
    data, aux, rh = dataset(table), knowledge(queries), so.attack("scoreboard-rh", **options)
    exact = oracle.scoreboard_rh(table, queries, **options)
    scores = rh.scores(data, aux)
    same_scores(scores, exact)
    v = rh.run(data, aux, watch=watch)
    check_order(v, scores)
    check_watched(v, exact, scores, watch)
    clear = np.abs(v.eccentricity - 1.5) > CLOSE
    assert v.matched[clear].tolist() == (v.eccentricity >= 1.5)[clear].tolist()
    spread = oracle.sigma(scores) > 1e-4 * np.abs(scores).max(axis=1) + 1e-6
    share = oracle.lineup(scores)
    np.testing.assert_allclose(v.share[spread], share.max(axis=1)[spread], rtol=1e-6)
    mine = share[np.arange(len(queries)), watch]
    np.testing.assert_allclose(v.bits[spread], -np.log2(mine)[spread], rtol=1e-6, atol=1e-6)
    assert (v.n_matching == 0).all()


def check_scoreboard(
    table: Table, queries: list[list[Fact]], options: dict[str, float], watch: np.ndarray
) -> None:
    data, aux, sb = dataset(table), knowledge(queries), so.attack("scoreboard", **options)
    exact = oracle.scoreboard(
        table, queries, options.get("value_within", 1), options.get("time_within", 14)
    )
    scores = sb.scores(data, aux)
    same_scores(scores, exact)
    v = sb.run(data, aux, watch=watch)
    check_order(v, scores, np.array([table.length(r) for r in table.records]))
    check_watched(v, exact, scores, watch)
    inside = exact > options.get("alpha", 0.0)
    assert v.n_matching.tolist() == inside.sum(axis=1).tolist()
    assert v.matched.tolist() == inside.any(axis=1).tolist()
    for q, w in enumerate(watch):
        left = math.log2(inside[q].sum()) if inside[q, w] else math.log2(len(table.records))
        assert v.bits[q] == pytest.approx(left)
        assert v.share[q] == (1 / inside[q].sum() if inside[q].any() else 0)


@pytest.mark.parametrize("options", RH_OPTIONS, ids=say)
@given(case=cases(), data=st.data())
def test_scoreboard_rh_equals_the_dense_oracle(options, case, data):
    table, queries = case
    watch = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    check_rh(table, queries, options, np.array(watch))


@pytest.mark.parametrize("options", SB_OPTIONS, ids=say)
@given(case=cases(), data=st.data())
def test_scoreboard_equals_the_dense_oracle(options, case, data):
    table, queries = case
    watch = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    check_scoreboard(table, queries, options, np.array(watch))


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(
    ("values", "days"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_both_equal_the_oracle_on_a_release_of_several_blocks(values, days, repeats):
    table = random_table(301, 23, 4, seed=5, values=values, days=days, missing=0.1, repeats=repeats)
    who = fitted(so.Adversary(knows=2, wrong=1, value_within=1, time_within=14), table)
    data = dataset(table)
    targets = who.eligible(data)[:12]
    queries = queries_of(who.sample(data, targets, seed=3))
    for options in RH_OPTIONS:
        check_rh(table, queries, options, targets)
    check_scoreboard(table, queries, {}, targets)


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
@given(case=cases(min_records=2), data=st.data())
def test_an_excluded_record_is_as_if_it_had_never_been_there(name, case, data):
    table, queries = case
    gone = [data.draw(st.integers(-1, len(table.records) - 1)) for _ in queries]
    stay = [
        data.draw(st.sampled_from([r for r in range(len(table.records)) if r != g])) for g in gone
    ]
    options = {"value_within": 1, "time_within": 14}
    run = {"scoreboard": oracle.scoreboard, "scoreboard-rh": oracle.scoreboard_rh}[name]
    attack = so.attack(name, **options)
    release, aux = dataset(table), knowledge(queries)
    scores = attack.scores(release, aux, exclude=gone)
    v = attack.run(release, aux, exclude=gone, watch=stay)
    lengths = np.array([table.length(r) for r in table.records])
    check_order(v, scores, lengths if name == "scoreboard" else None)
    for q, (g, w) in enumerate(zip(gone, stay, strict=True)):
        rest = table if g < 0 else table.without(table.records[g])
        kept = [r for r in range(len(table.records)) if r != g]
        exact = run(rest, [queries[q]], **options)
        same_scores(scores[q : q + 1, kept], exact)
        assert g < 0 or scores[q, g] == -np.inf
        assert v.n_candidates[q] == len(kept)
        if name == "scoreboard":
            inside = exact[0] > 0
            left = math.log2(inside.sum()) if inside[kept.index(w)] else math.log2(len(kept))
            assert v.bits[q] == pytest.approx(left)
            assert v.n_matching[q] == inside.sum()


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
@given(case=cases(min_records=2), data=st.data())
def test_excluding_a_record_gives_the_verdicts_of_a_release_built_without_it(name, case, data):
    table, queries = case
    g = data.draw(st.integers(0, len(table.records) - 1))
    rest = table.without(table.records[g])
    # a query none of whose items is left cannot be bound to the smaller release alone
    kept = [facts for facts in queries if any(f.item in rest.items for f in facts)]
    if not kept or not all(any(not math.isnan(x) for x in column) for column in channels(rest)):
        return
    attack = so.attack(name)
    w = data.draw(st.integers(0, len(rest.records) - 1))
    old = attack.run(
        dataset(table), knowledge(kept), exclude=[g] * len(kept), watch=[w + (w >= g)] * len(kept)
    )
    new = attack.run(dataset(rest), knowledge(kept), watch=[w] * len(kept))
    moved = np.where(old.best > g, old.best - 1, old.best)
    # 2/ln 4 and 1/ln 2 are one number, but may differ in the last bit once they are rounded, either
    # way
    scores = attack.scores(dataset(rest), knowledge(kept))
    np.testing.assert_allclose(scores[np.arange(len(kept)), moved], new.score, atol=CLOSE)
    if name == "scoreboard":
        assert moved.tolist() == new.best.tolist()
    np.testing.assert_allclose(old.score, new.score, atol=CLOSE)
    np.testing.assert_allclose(old.second, new.second, atol=CLOSE)
    np.testing.assert_allclose(old.sigma, new.sigma, atol=CLOSE)
    assert old.n_candidates.tolist() == new.n_candidates.tolist()
    assert old.n_matching.tolist() == new.n_matching.tolist()
    wide = new.sigma > 1e-3
    np.testing.assert_allclose(old.bits[wide], new.bits[wide], atol=1e-3)


def channels(table: Table) -> list[list[float]]:
    """The columns that the release claims to have."""
    return [
        *([[e.value for e in table.entries]] if table.values else []),
        *([[e.day for e in table.entries]] if table.days else []),
    ]


@given(table=tables(min_records=3), who=adversaries(plain=True), seed=st.integers(0, 99))
def test_a_known_length_leaves_only_records_of_about_that_length(table, who, seed):
    data = dataset(table)
    who = fitted(who, table)
    targets = who.eligible(data)
    if targets.size == 0 or who.length_within is None:
        return
    aux = who.sample(data, targets, seed)
    queries = queries_of(aux)
    allowed = np.stack([oracle.passes_length(table, x, who.length_within) for x in aux.length])
    assert allowed[np.arange(targets.size), targets].all()
    tolerances = {
        "value_within": 1 if who.value_within is None else who.value_within,
        "time_within": 14 if who.time_within is None else who.time_within,
    }
    lengths = np.array([table.length(r) for r in table.records])
    for name, exact in [
        ("scoreboard-rh", oracle.scoreboard_rh(table, queries)),
        ("scoreboard", oracle.scoreboard(table, queries, **tolerances)),
    ]:
        exact = np.where(allowed, exact, -np.inf)
        attack = so.attack(name)
        scores = attack.scores(data, aux)
        same_scores(scores, exact)
        v = attack.run(data, aux, watch=targets)
        check_order(v, scores, lengths if name == "scoreboard" else None)
        check_watched(v, exact, scores, targets)
        assert v.n_candidates.tolist() == allowed.sum(axis=1).tolist()


# --- one sentence of PAPERS.md each, by hand
# -----------------------------------------------------------------------


def one_query(*facts: Fact) -> so.Knowledge:
    return knowledge([list(facts)])


def test_a_known_value_never_agrees_with_an_entry_that_has_none():
    table = Table((Entry(0, 1, NAN, 10.0), Entry(1, 1, 3.0, 10.0), Entry(2, 2, 3.0, 10.0)))
    data = dataset(table)
    w = 1 / math.log(2)
    rh = so.attack("scoreboard-rh").scores(data, one_query(Fact(1, 3.0, 10.0)))
    np.testing.assert_allclose(rh, [[w, 2 * w, 0]], atol=CLOSE)
    strict = so.attack("scoreboard-rh", similarity="threshold").scores(
        data, one_query(Fact(1, 3.0, 10.0))
    )
    np.testing.assert_allclose(strict, [[0, w, 0]], atol=CLOSE)
    assert so.attack("scoreboard").scores(data, one_query(Fact(1, 3.0, 10.0))).tolist() == [
        [0, 1, 0]
    ]


def test_a_known_day_never_agrees_with_an_entry_that_has_none():
    table = Table((Entry(0, 1, 3.0, NAN), Entry(1, 1, 3.0, 10.0), Entry(2, 2, 3.0, 10.0)))
    data = dataset(table)
    w = 1 / math.log(2)
    rh = so.attack("scoreboard-rh").scores(data, one_query(Fact(1, 3.0, 10.0)))
    np.testing.assert_allclose(rh, [[w, 2 * w, 0]], atol=CLOSE)
    strict = so.attack("scoreboard-rh", similarity="threshold").scores(
        data, one_query(Fact(1, NAN, 10.0))
    )
    np.testing.assert_allclose(strict, [[0, w, 0]], atol=CLOSE)
    assert so.attack("scoreboard").scores(data, one_query(Fact(1, 3.0, 10.0))).tolist() == [
        [0, 1, 0]
    ]


def test_of_several_events_the_best_one_counts_and_both_channels_must_come_from_the_same_event():
    table = Table(
        (
            Entry(0, 1, 5.0, 100.0),
            Entry(0, 1, 1.0, 10.0),
            Entry(1, 1, 5.0, 10.0),
            Entry(2, 2, 3.0, 50.0),
        )
    )
    data = dataset(table)
    fact = Fact(1, 5.0, 10.0)
    assert so.attack("scoreboard").scores(data, one_query(fact)).tolist() == [[0, 1, 0]]
    w = 1 / math.log(2)
    best = w * max(1 + math.exp(-90 / 30), math.exp(-4 / 1.5) + 1)
    rh = so.attack("scoreboard-rh").scores(data, one_query(fact))
    np.testing.assert_allclose(rh, [[best, 2 * w, 0]], atol=CLOSE)


def test_supports_and_lengths_count_an_item_once_however_often_it_was_bought():
    table = Table(
        (
            *(Entry(0, 1, 1.0, d) for d in (1.0, 2.0, 3.0)),
            Entry(0, 2, 1.0, 1.0),
            Entry(1, 1, 1.0, 1.0),
            Entry(2, 1, 1.0, 1.0),
        )
    )
    rh = so.attack("scoreboard-rh", length="sqrt").scores(dataset(table), one_query(Fact(1)))
    w = 1 / math.log(3)
    np.testing.assert_allclose(rh, [[w / math.sqrt(2), w, w]], atol=CLOSE)


@pytest.mark.parametrize(
    "day", [-1e12, 10_500.0 - 2**32, -40_000.0, 75_000.0, 10_500.0 + 2**32, 1e12]
)
def test_a_known_day_however_far_away_agrees_with_nothing(day):
    table = random_table(60, 4, 3, seed=6, missing=0.2)
    data = dataset(table)
    queries = [[Fact(1, 3.5, day), Fact(2, NAN, 10_500.0)]]
    exact = oracle.scoreboard_rh(table, queries)
    same_scores(so.attack("scoreboard-rh").scores(data, knowledge(queries)), exact)
    assert not so.attack("scoreboard").run(data, knowledge(queries)).matched.any()


@pytest.mark.parametrize("attack", ["scoreboard", "scoreboard-rh"])
def test_no_known_day_is_taken_for_the_day_that_an_entry_lacks(attack):
    data = dataset(Table((Entry(0, 1, 3.0, NAN), Entry(1, 1, 3.0, 10.0), Entry(2, 2, 3.0, 20.0))))
    for day in (10.0 + data.no_tick, data.no_tick, -1.0, 0.0):
        assert so.attack(attack).scores(data, one_query(Fact(1, NAN, day)))[0, 0] == 0


def test_an_item_outside_the_catalogue_adds_nothing_to_a_sum_and_empties_the_matching_set():
    table = random_table(40, 8, 3, seed=1)
    data = dataset(table)
    item = table.items[0]
    rh = so.attack("scoreboard-rh")
    alone = rh.scores(data, one_query(Fact(item)))
    np.testing.assert_allclose(
        rh.scores(data, one_query(Fact(item), Fact(STRANGER))), alone, atol=CLOSE
    )
    v = so.attack("scoreboard").run(data, one_query(Fact(item), Fact(STRANGER)))
    assert not v.matched[0]
    assert v.n_matching[0] == 0
    assert v.answer[0] == -1


def test_a_query_of_strangers_alone_scores_zero_and_is_not_matched():
    table = random_table(40, 8, 3, seed=1)
    aux = knowledge([[Fact(table.items[0])], [Fact(STRANGER)]])
    for name in ["scoreboard", "scoreboard-rh"]:
        v = so.attack(name).run(dataset(table), aux, watch=[0, 0])
        assert v.score[1] == 0
        assert v.second[1] == 0
        assert v.sigma[1] == 0
        assert not v.matched[1]
        assert v.rank[1] == 40
        assert v.bits[1] == pytest.approx(math.log2(40))


def test_ties_go_to_the_lower_index_and_for_scoreboard_to_the_shorter_record_first():
    entries = (
        [Entry(r, 1) for r in range(5)]
        + [Entry(r, 10 + r) for r in (0, 1)]
        + [Entry(3, 20), Entry(3, 21)]
    )
    data = dataset(Table(tuple(entries), values=False, days=False))
    rh = so.attack("scoreboard-rh").run(data, one_query(Fact(1)))
    assert (rh.best[0], rh.runner_up[0]) == (0, 1)
    sb = so.attack("scoreboard").run(data, one_query(Fact(1)))
    assert (sb.best[0], sb.runner_up[0]) == (2, 4)


def test_the_worked_numbers_of_the_exponential_similarity():
    table = Table(
        (
            Entry(0, 1, 3.0, 100.0),
            Entry(1, 1, 4.5, 130.0),
            Entry(2, 1, 3.0, 160.0),
            Entry(3, 2, 3.0, 1.0),
        )
    )
    rh = so.attack("scoreboard-rh").scores(dataset(table), one_query(Fact(1, 3.0, 100.0)))
    w = 1 / math.log(3)
    np.testing.assert_allclose(rh, [[2 * w, w * 2 / math.e, w * (1 + math.exp(-2)), 0]], atol=CLOSE)


def test_the_tolerances_left_out_are_those_of_the_adversary_who_drew_the_knowledge():
    table = random_table(120, 10, 4, seed=8)
    data = dataset(table)
    for who in [
        so.Adversary(knows=3, value_within=2, time_within=40),
        so.Adversary(knows=3, value_within=0, time_within=0),
        so.Adversary(knows=3, gamma=0.2, time_within=None),
    ]:
        targets = who.eligible(data)
        aux = who.sample(data, targets, seed=1)
        scores = so.attack("scoreboard").scores(data, aux)
        fails = scores[np.arange(targets.size), targets] < 1
        assert not fails.any(), f"{who.describe()}: {fails.sum()} targets fail their own facts"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scoreboard", {"alpha": 1.0}),
        ("scoreboard", {"alpha": -0.1}),
        ("scoreboard-rh", {"similarity": "cosine"}),
        ("scoreboard-rh", {"length": "log"}),
        ("scoreboard-rh", {"rho0": 0}),
        ("scoreboard-rh", {"d0": -1}),
        ("scoreboard-rh", {"phi": -1}),
        ("scoreboard-rh", {"colour": 1}),
        ("scoreboard-hr", {}),
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused_by_name(name, options):
    with pytest.raises(ParameterError, match=next(iter(options), "scoreboard-rh")):
        so.attack(name, **options)


@pytest.mark.parametrize("argument", ["exclude", "watch"])
@pytest.mark.parametrize("records", [[0], [0, 40], [0, -2]], ids=str)
def test_exclude_and_watch_take_one_record_index_per_query(argument, records):
    table = random_table(40, 8, 3, seed=1)
    aux = knowledge([[Fact(table.items[0])], [Fact(table.items[1])]])
    with pytest.raises(ParameterError, match=argument):
        so.attack("scoreboard-rh").run(dataset(table), aux, **{argument: records})
