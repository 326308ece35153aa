"""What an adversary draws: right where it must be right, wrong where it must be wrong, and hers alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Table
from strategies import (
    adversaries,
    dataset,
    fitted,
    queries_of,
    random_table,
    tables,
    value_tolerance,
)

import standout as so
from standout.adversary.sampling import sample_targets
from standout.errors import EligibilityError, ParameterError

seeds = st.integers(0, 2**40)


def is_true(fact: Fact, event: Entry, who: so.Adversary, table: Table) -> bool:
    """Whether every channel she knows lies within her tolerance of this event; a channel it lacks is unknown."""
    within = None if math.isnan(event.value) else value_tolerance(who, table, event.value)
    for known, real, tolerance in [
        (fact.value, event.value, within),
        (fact.day, event.day, who.time_within),
    ]:
        if tolerance is None or math.isnan(real):
            if not math.isnan(known):
                return False
        elif not abs(known - real) <= tolerance + 1e-9:
            return False
    return True


def drawn(
    table: Table, who: so.Adversary, seed: int
) -> tuple[list[int], list[list[Fact]], so.Knowledge]:
    """Target labels, their facts, and the knowledge."""
    data = dataset(table)
    who = fitted(who, table)
    targets = who.eligible(data)
    if targets.size == 0:
        reject()
    aux = who.sample(data, seed=seed)
    return [table.records[t] for t in targets], queries_of(aux), aux


# --- a draw is a function of (seed, target)
# ------------------------------------------------------------------------


# some tables have nobody whom a drawn adversary can know so much of
@settings(suppress_health_check=[HealthCheck.filter_too_much])
@given(table=tables(), who=adversaries(), seed=seeds, data=st.data())
def test_a_draw_depends_on_the_seed_and_the_target_alone(table, who, seed, data):
    release = dataset(table)
    who = fitted(who, table)
    everyone = who.eligible(release)
    assume(everyone.size > 0)
    whole = who.sample(release, everyone, seed)
    some = data.draw(st.lists(st.sampled_from(everyone.tolist()), min_size=1, max_size=12))
    part = who.sample(release, some, seed)
    at = np.searchsorted(everyone, some)
    for name in ["item", "value", "time"]:
        by_query = getattr(whole, name).reshape(everyone.size, who.knows)
        np.testing.assert_array_equal(getattr(part, name).reshape(-1, who.knows), by_query[at])
    np.testing.assert_array_equal(part.length, whole.length[at])


def test_another_seed_gives_other_facts():
    data = dataset(random_table(80, 30, 8, seed=1))
    who = so.Adversary(knows=3, value_within=1, time_within=14)
    a, b = who.sample(data, seed=1), who.sample(data, seed=2)
    assert (a.item != b.item).mean() > 0.5
    assert not np.array_equal(a.item, who.sample(data, seed=-1).item)
    np.testing.assert_array_equal(a.item, who.sample(data, seed=1).item)


def test_targets_left_out_means_every_eligible_record_in_order():
    data = dataset(random_table(40, 12, 4, seed=1))
    who = so.Adversary(knows=4)
    np.testing.assert_array_equal(
        who.sample(data, seed=3).item, who.sample(data, who.eligible(data), seed=3).item
    )


ALIKE = so.Dataset.from_arrays(np.repeat(np.arange(100), 3), np.tile([1, 2, 3], 100))
"""A hundred records that hold the same: their keys differ all the same."""


@given(n=st.integers(1, 60), more=st.integers(0, 60), seed=seeds)
def test_asking_for_more_targets_keeps_the_ones_already_drawn(n, more, seed):
    eligible = np.arange(10, 90, 2)
    few, many = (
        sample_targets(ALIKE, eligible, n, seed),
        sample_targets(ALIKE, eligible, n + more, seed),
    )
    assert few.size == min(n, eligible.size)
    assert len(set(few.tolist())) == few.size
    assert set(few.tolist()) <= set(many.tolist()) <= set(eligible.tolist())


def test_whether_a_record_becomes_a_target_does_not_depend_on_who_else_is_eligible():
    all_of_them = sample_targets(ALIKE, np.arange(100), 50, seed=5)
    without_others = sample_targets(ALIKE, np.arange(0, 100, 2), 50, seed=5)
    order = [t for t in all_of_them if t % 2 == 0]
    assert sample_targets(ALIKE, np.arange(0, 100, 2), len(order), seed=5).tolist() == order
    assert without_others.tolist() == list(range(0, 100, 2))


# --- what is right is right, what is wrong is wrong
# ----------------------------------------------------------------


@given(table=tables(), who=adversaries(), seed=seeds)
def test_right_facts_are_within_the_tolerances_of_one_event_and_clipped_to_the_scale(
    table, who, seed
):
    who = fitted(who, table)
    labels, queries, _ = drawn(table, who, seed)
    for record, facts in zip(labels, queries, strict=True):
        assert len(facts) == who.knows
        assert len({f.item for f in facts}) == who.knows, "an item is known twice"
        right = [
            f for f in facts if any(is_true(f, e, who, table) for e in table.events(record, f.item))
        ]
        assert len(right) >= who.knows - who.most_wrong
        for f in facts:
            if not math.isnan(f.value):
                assert table.scale()[0] <= f.value <= table.scale()[-1]


@given(table=tables(repeats=False), who=adversaries(), seed=seeds)
def test_exactly_as_many_facts_are_wrong_as_she_is_told(table, who, seed):
    who = fitted(who, table)
    labels, queries, _ = drawn(table, who, seed)
    for record, facts in zip(labels, queries, strict=True):
        wrong = [
            f
            for f in facts
            if not any(is_true(f, e, who, table) for e in table.events(record, f.item))
        ]
        lacking = [f for f in facts if not table.events(record, f.item)]
        assert lacking == (wrong if who.wrong_kind == "item" else [])
        if not who.wrong_varies:
            # also where some entries have no value, no day, or no level outside the tolerance:
            # another entry is drawn
            assert len(wrong) == who.wrong


@given(table=tables(values=True, days=True, missing=False, repeats=False), seed=seeds)
def test_a_wrong_value_is_outside_the_tolerance_in_value_and_in_day(table, seed):
    who = fitted(so.Adversary(knows=1, wrong=1, value_within=1, time_within=3), table)
    assume(who.wrong_kind == "value")
    labels, queries, _ = drawn(table, who, seed)
    first, last = min(x.day for x in table.entries), max(x.day for x in table.entries)
    for record, (f,) in zip(labels, queries, strict=True):
        (e,) = table.events(record, f.item)
        assert f.value in table.scale()
        assert first <= f.day <= last
        assert abs(f.value - e.value) > 1
        assert abs(f.day - e.day) > 3


def test_a_wrong_value_is_outside_the_tolerance_also_where_binary_fractions_lie():
    levels = [x / 10 for x in range(1, 11)]
    table = Table(tuple(Entry(r, r % 7, levels[r % 10]) for r in range(400)), days=False)
    who = so.Adversary(knows=1, wrong=1, value_within=0.1)
    labels, queries, _ = drawn(table, who, 3)
    gaps = [
        abs(f.value - table.events(r, f.item)[0].value)
        for r, (f,) in zip(labels, queries, strict=True)
    ]
    assert min(gaps) > 0.15


@given(table=tables(), seed=seeds, wrong=st.integers(1, 3))
def test_wrong_items_are_not_the_targets_and_differ_from_each_other(table, seed, wrong):
    who = fitted(
        so.Adversary(
            knows=wrong + 1, wrong=wrong, wrong_kind="item", value_within=0, time_within=0
        ),
        table,
    )
    labels, queries, _ = drawn(table, who, seed)
    for record, facts in zip(labels, queries, strict=True):
        lacking = {f.item for f in facts if not table.events(record, f.item)}
        assert len(lacking) == wrong
        assert lacking <= set(table.items)


def test_whole_steps_in_value_and_whole_days_are_added():
    table = random_table(300, 20, 5, seed=2)
    who = so.Adversary(knows=2, value_within=1, time_within=14)
    labels, queries, _ = drawn(table, who, 1)
    for record, facts in zip(labels, queries, strict=True):
        for f in facts:
            (e,) = table.events(record, f.item)
            assert f.value in {min(max(e.value + x, 1.0), 5.0) for x in (-1, -0.5, 0, 0.5, 1)}
            assert f.day == int(f.day)


def test_exact_knowledge_is_exact():
    table = random_table(100, 20, 5, seed=2)
    labels, queries, _ = drawn(table, so.Adversary(knows=2, value_within=0, time_within=0), 1)
    for record, facts in zip(labels, queries, strict=True):
        for f in facts:
            assert (f.value, f.day) in {(e.value, e.day) for e in table.events(record, f.item)}


@given(table=tables(), seed=seeds, wrong=st.integers(0, 2), kind=st.sampled_from(["value", "item"]))
def test_a_channel_she_does_not_know_is_nan(table, seed, wrong, kind):
    kind = "item" if wrong else kind
    who = so.Adversary(knows=2, wrong=wrong, wrong_kind=kind, value_within=None, time_within=None)
    _, _, aux = drawn(table, who, seed)
    assert np.isnan(aux.value).all()
    assert np.isnan(aux.time).all()


def test_values_left_out_are_exact_where_there_are_values_and_unknown_where_there_are_none():
    with_values, without = (
        random_table(50, 9, 4, seed=1),
        random_table(50, 9, 4, seed=1, values=False, days=False),
    )
    assert not np.isnan(so.Adversary(knows=1).sample(dataset(with_values), seed=1).value).any()
    assert np.isnan(so.Adversary(knows=1).sample(dataset(without), seed=1).value).all()
    assert so.Adversary(knows=1) == so.Adversary(knows=1, value_within=0)
    assert type(so.Adversary(knows=1).to_dict()["value_within"]) is int


@pytest.mark.parametrize(
    "options", [{"value_within": 0}, {"value_within": "10%"}, {"time_within": 3}], ids=str
)
def test_knowledge_that_the_data_lacks_is_refused(options):
    data = dataset(random_table(50, 9, 4, seed=1, values=False, days=False))
    with pytest.raises(ParameterError, match=f"{next(iter(options))}=.*the data has no"):
        so.Adversary(knows=1, **options).sample(data)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"value_within": None}, "no value and no time is known"),
        ({"value_within": 4}, "all values of the data lie within the tolerance"),
        ({"gamma": 1.0}, "all values of the data lie within the tolerance"),
        ({"value_within": "400%"}, "all values of the data lie within the tolerance"),
        ({"value_within": 0, "time_within": 1000}, "spans .* days"),
    ],
    ids=str,
)
def test_wrong_values_that_cannot_be_drawn_are_refused(options, why):
    data = dataset(random_table(50, 9, 4, seed=1))
    with pytest.raises(ParameterError, match=why):
        so.Adversary(knows=2, wrong=1, **options).sample(data)
    so.Adversary(knows=2, wrong=1, wrong_kind="item", **options).sample(data)


def test_a_wrong_value_of_data_without_channels_is_refused_by_default():
    data = dataset(random_table(50, 9, 4, seed=1, values=False, days=False))
    with pytest.raises(ParameterError, match="use wrong_kind='item'"):
        so.Adversary(knows=2, wrong=1).sample(data)


def test_of_several_events_she_knows_one_as_it_was():
    days = (10.0, 200.0, 300.0)
    events = list(zip((1.0, 2.0, 5.0), days, strict=True))
    entries = [Entry(r, i, *event) for r in range(300) for i in (1, 2) for event in events]
    labels, queries, _ = drawn(
        Table(tuple(entries)), so.Adversary(knows=2, value_within=0, time_within=3), 4
    )
    seen = [(f.value, min(days, key=lambda d: abs(d - f.day))) for facts in queries for f in facts]
    assert set(seen) == set(events)
    assert even([seen.count(event) for event in events])
    assert len(labels) == 300


# --- which items
# ---------------------------------------------------------------------------------------------------


@given(
    table=tables(max_items=9),
    top=st.integers(0, 5),
    seed=seeds,
    kind=st.sampled_from(["value", "item"]),
)
def test_outside_top_never_picks_one_of_the_most_held_items(table, top, seed, kind):
    who = fitted(
        so.Adversary(knows=2, wrong=1, wrong_kind=kind, choose=f"outside-top:{top}"), table
    )
    _, queries, _ = drawn(table, who, seed)
    by_popularity = sorted(table.items, key=lambda i: (-table.support(i), i))
    assert not {f.item for facts in queries for f in facts} & set(by_popularity[:top])


def can_be_wrong(e: Entry, table: Table, who: so.Adversary) -> bool:
    """Whether a channel of this event is told, and every one that is told has a value or a day outside the tolerance."""
    told_value = not math.isnan(e.value) and value_tolerance(who, table, e.value) is not None
    told_day = not math.isnan(e.day) and who.time_within is not None
    days = [x.day for x in table.entries if not math.isnan(x.day)]
    if told_value and not any(
        abs(x - e.value) > value_tolerance(who, table, e.value) + 1e-9 for x in table.scale()
    ):
        return False
    if told_day and max(e.day - min(days), max(days) - e.day) <= who.time_within:
        return False
    return told_value or told_day


@settings(max_examples=300)
@given(table=tables(max_items=9, max_records=6), who=adversaries())
def test_eligible_are_those_who_hold_enough_items(table, who):
    who = fitted(who, table)
    by_popularity = sorted(table.items, key=lambda i: (-table.support(i), i))
    top = who.choice.top if who.choice.name == "outside-top" else 0
    pickable = set(by_popularity[top:])
    expected = []
    for at, record in enumerate(table.records):
        mine = {e.item for e in table.entries if e.record == record}
        fine = {e.item for e in table.entries if e.record == record and can_be_wrong(e, table, who)}
        if who.choice.name == "rare":
            rare = {i for i in mine if 1 / math.log2(max(table.support(i), 2)) >= who.choice.rarity}
            delta_m = who.choice.share * who.knows
            enough = len(rare) > delta_m and len(mine - rare) >= who.knows - delta_m
            n_rare = math.ceil(delta_m)
            pools = [(rare, n_rare), (mine - rare, who.knows - n_rare)]
        else:
            enough = len(mine & pickable) >= who.n_right_items
            pools = [(mine & pickable, who.knows)]
        if who.wrong_kind == "item":
            enough = enough and len(pickable - mine) >= who.most_wrong
        elif who.wrong:
            enough = enough and all(len(pool & fine) >= min(n, who.most_wrong) for pool, n in pools)
        if enough:
            expected.append(at)
    assert who.eligible(dataset(table)).tolist() == expected


def test_rare_takes_the_stated_share_of_rare_items_rounded_up():
    table = random_table(400, 60, 12, seed=6)
    rare = {i for i in table.items if 1 / math.log2(max(table.support(i), 2)) >= 0.16}
    assert 10 < len(rare) < len(table.items) - 5
    for knows, share, n_rare in [(4, 0.75, 3), (5, 0.5, 3), (3, 0.75, 3), (4, 0.25, 1)]:
        who = so.Adversary(knows=knows, choose=f"rare:{share}@0.16")
        labels, queries, _ = drawn(table, who, 2)
        assert len(labels) > 20
        assert {sum(f.item in rare for f in facts) for facts in queries} == {n_rare}


def test_the_share_of_rare_items_is_reckoned_in_decimals():
    # 0.29 × 100 is 28.999… in binary: a record with exactly 29 rare items does not hold *more than*
    # 29
    entries = [Entry(r, i) for r in (0, 1) for i in range(29 + r)]
    entries += [Entry(r, 1000 + i) for r in range(50) for i in range(90)]
    data = dataset(Table(tuple(entries), values=False, days=False))
    assert so.Adversary(knows=100, choose="rare:0.29@0.9", value_within=None).eligible(
        data
    ).tolist() == [1]


# --- noise of DSS12 and lengths
# ------------------------------------------------------------------------------------


def test_gamma_noise_is_real_valued_within_gamma_of_the_scale():
    table = random_table(400, 20, 5, seed=2)
    labels, queries, _ = drawn(table, so.Adversary(knows=2, gamma=0.1, time_within=None), 1)
    gaps = []
    for record, facts in zip(labels, queries, strict=True):
        for f in facts:
            assert 1 <= f.value <= 5
            gaps.append(f.value - table.events(record, f.item)[0].value)
    assert max(np.abs(gaps)) <= 0.4 + 1e-12
    assert len({round(x, 9) for x in gaps}) > len(gaps) / 3
    assert max(gaps) > 0.35
    assert min(gaps) < -0.35


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0, 2.0])
def test_a_target_always_passes_its_own_length_filter(share):
    table = random_table(200, 40, 9, seed=3)
    data = dataset(table)
    who = so.Adversary(knows=1, length_within=share, value_within=None)
    targets = who.eligible(data)
    aux = who.sample(data, targets, seed=5)
    lengths = data.lengths[targets]
    assert (np.abs(aux.length - lengths) <= share * lengths + 1e-9).all()
    scores = so.attack("scoreboard-rh").scores(data, aux)
    assert np.isfinite(scores[np.arange(targets.size), targets]).all()
    if 0 < share < 1:
        assert np.isneginf(scores).any()


# --- uniform where it says uniform
# ---------------------------------------------------------------------------------


def even(counts: list[int], p: float = 1e-4) -> bool:
    """Chi-square test of equal chances; the seeds are fixed, so that it fails once or never."""
    from scipy.stats import chisquare

    return chisquare(counts).pvalue > p


@pytest.fixture(scope="module")
def alike() -> so.Dataset:
    """Six thousand records with the same ten items, value 3 in the middle of a scale of five, days in the middle."""
    n = 6000
    record, item = np.repeat(np.arange(n), 10), np.tile(np.arange(10), n)
    value, day = np.full(record.size, 3.0), np.full(record.size, 500.0)
    ends = [(n, 0, 1.0, 0.0), (n, 1, 2.0, 1000.0), (n, 2, 4.0, 1.0), (n, 3, 5.0, 2.0)]
    extra = np.array(ends)
    return so.Dataset.from_arrays(
        np.append(record, extra[:, 0].astype(int)),
        np.append(item, extra[:, 1].astype(int)),
        np.append(value, extra[:, 2]),
        np.append(day, extra[:, 3]),
    )


def test_each_item_and_each_pair_of_items_is_picked_equally_often(alike):
    one = so.Adversary(knows=1).sample(alike, np.arange(6000), seed=1)
    assert even(np.bincount(one.item, minlength=10).tolist())
    two = so.Adversary(knows=2).sample(alike, np.arange(6000), seed=1).item.reshape(-1, 2)
    pair = np.bincount(two.min(axis=1) * 10 + two.max(axis=1), minlength=100)
    assert even([int(pair[10 * a + b]) for a in range(10) for b in range(a + 1, 10)])


def test_value_steps_days_and_lengths_are_evenly_spread(alike):
    who = so.Adversary(knows=1, value_within=1, time_within=3, length_within=0.5)
    aux = who.sample(alike, np.arange(6000), seed=1)
    assert even([int((aux.value == v).sum()) for v in (2, 3, 4)])
    assert even([int((aux.time == d).sum()) for d in range(497, 504)])
    assert even(np.histogram(aux.length, bins=10, range=(5, 15))[0].tolist())


def test_value_and_day_are_moved_independently(alike):
    aux = so.Adversary(knows=1, value_within=1, time_within=1).sample(
        alike, np.arange(6000), seed=2
    )
    assert even(
        [
            int(((aux.value == v) & (aux.time == d)).sum())
            for v in (2, 3, 4)
            for d in (499, 500, 501)
        ]
    )


def test_gamma_noise_is_evenly_spread(alike):
    aux = so.Adversary(knows=1, gamma=0.25).sample(alike, np.arange(6000), seed=1)
    assert even(np.histogram(aux.value, bins=20, range=(2, 4))[0].tolist())


def test_wrong_values_and_days_are_evenly_spread_over_what_is_outside(alike):
    aux = so.Adversary(knows=1, wrong=1, value_within=0, time_within=100).sample(
        alike, np.arange(6000), seed=1
    )
    assert even([int((aux.value == v).sum()) for v in (1, 2, 4, 5)])
    assert not ((aux.time >= 400) & (aux.time <= 600)).any()
    assert even(
        np.histogram(aux.time, bins=10, range=(0, 1000))[0][[0, 1, 2, 3, 6, 7, 8, 9]].tolist()
    )


def test_which_of_the_known_items_is_wrong_is_any_of_them(alike):
    who = so.Adversary(knows=3, wrong=1, value_within=0)
    aux = who.sample(alike, np.arange(6000), seed=1)
    wrong = aux.item[aux.value != 3]
    assert wrong.size == 6000
    assert even(np.bincount(wrong, minlength=10).tolist())


def test_every_eligible_record_is_equally_likely_to_be_a_target():
    hits = np.zeros(40, np.int64)
    for seed in range(600):
        hits[sample_targets(ALIKE, np.arange(40), 10, seed)] += 1
    assert even(hits.tolist())


# --- what makes no sense
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"knows": 0},
        {"knows": 2.5},
        {"knows": "8"},
        {"knows": True},
        {"knows": NAN},
        {"knows": 2, "wrong": 3},
        {"wrong": -1},
        {"wrong": 1.5},
        {"wrong": -0.25},
        {"wrong": True},
        {"wrong": "0.25"},
        {"wrong": NAN},
        {"time_within": 0.04},
        {"time_within": 2.5},
        {"time_within": "2 weeks"},
        {"time_within": True},
        {"value_within": "10"},
        {"value_within": "-5%"},
        {"value_within": "ten %"},
        {"value_within": True},
        {"length_within": "half"},
        {"gamma": "10%"},
        {"choose": 5},
        {"wrong_kind": "both"},
        {"value_within": -1},
        {"time_within": math.inf},
        {"gamma": NAN},
        {"length_within": -0.5},
        {"choose": "outside-top"},
        {"choose": "outside-top:-3"},
        {"choose": "rare:0@0.1"},
        {"choose": "rare:1.5@0.1"},
        {"choose": "rare:0.5@0"},
        {"choose": "rare:0.5.1@0.1"},
        {"choose": "popular:3"},
    ],
    ids=str,
)
def test_an_adversary_who_makes_no_sense_is_refused(options):
    with pytest.raises(ParameterError, match=list(options)[-1]):
        so.Adversary(**options)


def test_nobody_eligible_is_an_error_and_never_an_empty_measurement():
    data = dataset(random_table(10, 5, 2, seed=0))
    with pytest.raises(EligibilityError, match="knows=50"):
        so.Adversary(knows=50).sample(data)
    with pytest.raises(EligibilityError):
        so.Adversary(knows=1).sample(data, targets=[])


def test_a_target_that_holds_too_little_is_an_error_that_counts_them():
    data = dataset(Table((Entry(0, 1), Entry(1, 1), Entry(1, 2)), values=False, days=False))
    with pytest.raises(EligibilityError, match="1 of 2 targets"):
        so.Adversary(knows=2, value_within=None).sample(data, [0, 1])


@pytest.mark.parametrize(
    "targets",
    [[-1], [10], [0, 10], [9, -1], ["7"], [1.5], [True, False], [np.nan], [None]],
    ids=str,
)
def test_a_target_that_is_no_record_index_is_an_error(targets):
    with pytest.raises(ParameterError, match="record indices"):
        so.Adversary(knows=1).sample(dataset(random_table(10, 5, 2, seed=0)), targets)


@given(who=adversaries())
def test_an_adversary_can_be_rebuilt_from_her_plain_data_and_says_who_she_is(who):
    assert so.Adversary(**who.to_dict()) == who
    assert who.describe().startswith(f"{who.knows} item")


@pytest.mark.parametrize("seed", [1.5, "7", None, NAN], ids=str)
def test_a_seed_is_never_cut_to_a_whole_number(seed):
    with pytest.raises(ParameterError, match="seed="):
        so.Adversary(knows=1).sample(dataset(random_table(10, 5, 2, seed=0)), [1], seed)


def test_who_holds_none_of_the_items_that_may_be_known_can_be_a_target_if_all_facts_are_wrong_items():
    # item 0 is the most popular one, and all that record 3 holds
    data = so.Dataset.from_arrays([0, 0, 1, 1, 2, 2, 3], [0, 1, 0, 2, 0, 3, 0])
    who = so.Adversary(knows=2, wrong=2, wrong_kind="item", choose="outside-top:1")
    assert who.eligible(data).tolist() == [0, 1, 2, 3]
    assert so.Adversary(knows=2, wrong=1, wrong_kind="item", choose="outside-top:1").eligible(
        data
    ).tolist() == [
        0,
        1,
        2,
    ]
    told = who.sample(data, [3], seed=1).bind(data).item
    assert sorted(told.tolist()) in ([1, 2], [1, 3], [2, 3])


def test_a_tolerance_below_one_step_of_the_scale_leaves_values_as_they_are():
    rng = np.random.default_rng(0)
    value = rng.integers(1, 6, 40).astype(float)
    data = so.Dataset.from_arrays(np.arange(40), np.arange(40) % 7, value)
    aux = so.Adversary(knows=1, value_within=0.4).sample(data, np.arange(40), seed=2)
    assert aux.value.tolist() == value.tolist()
