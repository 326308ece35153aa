"""Unicity: a target is matched iff exactly one record agrees with everything that is known."""

from __future__ import annotations

import math

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Query, Table
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


def agreeing(table: Table, facts: Query, value_within: float, time_within: float) -> list[int]:
    """Records that agree with every fact."""
    return [
        r
        for r, record in enumerate(table.records)
        if all(
            any(
                oracle.agrees(table, f, e, value_within, time_within)
                for e in table.events(record, f.item)
            )
            for f in facts
        )
    ]


def check(
    table: Table, queries: list[list[Fact]], value: float, time: float, watch: np.ndarray
) -> None:
    attack = so.attack("unicity", value_within=value, time_within=time)
    v = attack.run(dataset(table), knowledge(queries), watch=watch)
    scores = attack.scores(dataset(table), knowledge(queries))
    for q, facts in enumerate(queries):
        inside = agreeing(table, facts, value, time)
        assert scores[q].tolist() == [float(r in inside) for r in range(len(table.records))]
        assert v.n_matching[q] == len(inside)
        assert v.matched[q] == (len(inside) == 1)
        assert v.statistic[q] == (1 / len(inside) if inside else 0)
        assert v.best[q] == min(inside, default=0)
        assert v.answer[q] == (inside[0] if len(inside) == 1 else -1)
        assert v.rank[q] == (len(inside) if watch[q] in inside else len(table.records))
        left = len(inside) if watch[q] in inside else len(table.records)
        assert v.bits[q] == pytest.approx(math.log2(left))


@pytest.mark.parametrize(("value", "time"), [(0, 0), (1, 3), (0.5, 14)])
@given(case=cases(), data=st.data())
def test_unicity_equals_the_dense_oracle(value, time, case, data):
    table, queries = case
    watch = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    check(table, queries, value, time, np.array(watch))


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(
    ("values", "days"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_unicity_equals_the_oracle_on_a_release_of_several_blocks(values, days, repeats):
    table = random_table(301, 23, 4, seed=5, values=values, days=days, missing=0.1, repeats=repeats)
    data = dataset(table)
    who = so.Adversary(
        knows=2, value_within=1 if values else None, time_within=14 if days else None
    )
    targets = who.eligible(data)[:12]
    check(table, queries_of(who.sample(data, targets, seed=3)), 1, 14, targets)


@given(case=cases(min_records=2), data=st.data())
def test_an_excluded_record_is_as_if_the_release_had_been_built_without_it(case, data):
    table, queries = case
    gone = [data.draw(st.integers(-1, len(table.records) - 1)) for _ in queries]
    v = so.attack("unicity", value_within=1, time_within=3).run(
        dataset(table), knowledge(queries), exclude=gone
    )
    for q, g in enumerate(gone):
        rest = table if g < 0 else table.without(table.records[g])
        assert v.n_matching[q] == len(agreeing(rest, queries[q], 1, 3))


@given(table=tables(min_records=2), who=adversaries(), seed=st.integers(0, 99))
def test_right_knowledge_always_agrees_with_its_own_target(table, who, seed):
    data = dataset(table)
    if who.wrong:
        who = so.Adversary(**{**who.to_dict(), "wrong": 0})
    who = fitted(who, table)
    targets = who.eligible(data)
    if targets.size == 0:
        return
    v = so.attack("unicity").run(data, who.sample(data, targets, seed), watch=targets)
    assert (v.rank == v.n_matching).all()
    assert (v.n_matching > 0).all()
    assert (v.answer[v.matched] == targets[v.matched]).all()


def test_the_tolerance_is_the_option_else_the_adversarys_else_none_at_all():
    table = Table((*(Entry(r, 1, 3.0, 100.0 + 5 * r) for r in range(4)), Entry(4, 2, 1.0, 0.0)))
    data = dataset(table)
    outside = knowledge([[Fact(1, 3.0, 104.0)]])
    assert so.attack("unicity").run(data, outside).n_matching.tolist() == [0]
    assert so.attack("unicity", time_within=1).run(data, outside).matched.tolist() == [True]
    assert so.attack("unicity", time_within=4).run(data, outside).n_matching.tolist() == [2]
    who = so.Adversary(knows=1, value_within=0, time_within=6)
    for seed in range(20):
        aux = who.sample(data, [1], seed)
        days = abs(100.0 + 5 * np.arange(4) - aux.time[0])
        assert so.attack("unicity").run(data, aux).n_matching[0] == (days <= 6).sum()


def test_the_tolerance_of_a_gamma_is_its_share_of_the_scale():
    data = dataset(random_table(120, 10, 4, seed=8))
    who = so.Adversary(knows=3, gamma=0.2)
    targets = who.eligible(data)
    v = so.attack("unicity").run(data, who.sample(data, targets, seed=1), watch=targets)
    assert (v.rank == v.n_matching).all(), "some target fails its own facts"


def test_both_channels_must_agree_in_one_event():
    table = Table(
        (
            Entry(0, 1, 5.0, 100.0),
            Entry(0, 1, 1.0, 10.0),
            Entry(1, 1, 5.0, 10.0),
            Entry(2, 2, 3.0, 50.0),
        )
    )
    v = so.attack("unicity").run(
        dataset(table), knowledge([[Fact(1, 5.0, 10.0)], [Fact(1, 5.0)], [Fact(1)]])
    )
    assert v.n_matching.tolist() == [1, 2, 2]
    assert v.answer.tolist() == [1, -1, -1]


def test_an_item_outside_the_catalogue_is_nobodys():
    table = Table((Entry(0, 1), Entry(1, 2)), values=False, days=False)
    v = so.attack("unicity").run(dataset(table), knowledge([[Fact(1)], [Fact(1), Fact(STRANGER)]]))
    assert v.answer.tolist() == [0, -1]


@pytest.mark.parametrize(
    "options",
    [{"value_within": -1}, {"time_within": -1}, {"time_within": NAN}, {"colour": 1}],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused_by_name(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        so.attack("unicity", **options)


@pytest.mark.parametrize("unit", [1e-12, 1e12], ids=["tiny", "huge"])
@pytest.mark.parametrize("name", ["unicity", "scoreboard", "exact-rating"])
def test_the_unit_of_the_values_changes_no_exact_agreement(name, unit):
    """A fixed allowance for rounding made all values of a small unit equal, and the data look safe."""
    rng = np.random.default_rng(5)
    record, item = np.divmod(np.arange(30 * 20), 20)
    value = rng.integers(1, 30, record.size)
    keep = rng.random(record.size) < 0.4
    who = so.Adversary(knows=2, value_within=0)
    rank = {}
    for scale in (1.0, unit):
        ds = so.Dataset.from_arrays(record[keep], item[keep], value[keep] * scale)
        everyone = who.eligible(ds)
        rank[scale] = so.attack(name).run(ds, who.sample(ds, everyone, seed=1), watch=everyone).rank
    assert rank[unit].tolist() == rank[1.0].tolist()


def test_large_whole_numbers_are_told_apart():
    value = 2 * 10**15 + np.arange(20)
    ds = so.Dataset.from_arrays(
        np.repeat(np.arange(20), 2), np.tile([0, 1], 20), np.repeat(value, 2)
    )
    who = so.Adversary(knows=2, value_within=0)
    assert so.attack("unicity").run(ds, who.sample(ds, np.arange(20), seed=1)).matched.all()


def test_a_grid_of_large_fractions_keeps_its_neighbors_within_one_step():
    value = 5e8 + 0.1 * np.arange(20)
    ds = so.Dataset.from_arrays(
        np.repeat(np.arange(20), 2), np.tile([0, 1], 20), np.repeat(value, 2)
    )
    who = so.Adversary(knows=2, value_within=0.1)
    found = so.attack("unicity").run(ds, who.sample(ds, np.arange(20), seed=1), watch=np.arange(20))
    assert (found.rank <= found.n_matching).all()
