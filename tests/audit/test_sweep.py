"""The sweep: what is tried by default, and that no weak corner of it is taken for an all-clear."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.audit.sweep import Axes, default_sweep, rough_days, rough_value
from standout.errors import ParameterError
from standout.report.sentences import judge_level, write_statements
from standout.report.view import view


def release(n=200, m=60, per=12, values=None, span=900, seed=0):
    rng = np.random.default_rng(seed)
    record = np.repeat(np.arange(n), per)
    item = np.concatenate([rng.choice(m, per, replace=False) for _ in range(n)])
    value = None if values is None else rng.choice(values, record.size)
    return so.Dataset.from_arrays(
        record, item, value, None if span is None else rng.integers(0, span + 1, record.size)
    )


def cells(sweep):
    return {(a.knows, a.wrong, a.value_within, a.time_within) for a in sweep}


def test_eight_right_facts_are_tried_before_anything_is_called_safe():
    """3,000 people with 20 of 60 equally likely items: 8 right items find 93 %, whatever few items or wrong ones find."""
    data = release(n=3000, per=20, span=None)
    found = so.Audit(data, targets=200, attacks=["scoreboard"], describe=False).run()
    seen = view(found)
    level, case = judge_level(seen)
    assert level == "most" and case.knows == 8 and not case.adversary["wrong"]
    assert 0.8 < case.hit["rate"] < 1.0
    assert "No attack" not in write_statements(seen)[0]


@pytest.mark.parametrize(
    ("values", "span"), [(None, None), ([1, 2, 3, 4, 5], None), (None, 900), ([1, 2, 3, 4, 5], 900)]
)
@pytest.mark.parametrize("per", [12, 20])
def test_the_strongest_and_the_weakest_corner_are_always_tried(values, span, per):
    data = release(values=values, span=span, per=per)
    sweep = default_sweep(data)
    most = 16 if per == 20 else 8
    exact = (0 if values else None, 0 if span else None)
    assert {(1, 0, None, None), (most, 0, None, None), (most, 0, *exact), (8, 2, *exact)} <= cells(
        sweep
    )
    assert len(sweep) <= 33 and len(cells(sweep)) == len(sweep)
    assert cells(sweep) <= cells(default_sweep(data, "full"))


def test_every_amount_is_tried_with_right_facts_and_from_four_on_with_a_quarter_wrong():
    tried = {(a.knows, a.wrong) for a in default_sweep(release(per=20, span=None))}
    assert tried == {(1, 0), (2, 0), (4, 0), (4, 1), (8, 0), (8, 2), (16, 0), (16, 4)}


def test_the_full_sweep_crosses_every_channel():
    full = cells(default_sweep(release(values=[1, 2, 3, 4, 5], per=20), "full"))
    assert len(full) == 8 * 9 and (16, 4, 1, 0) in full and (2, 0, 0, 14) in full


def test_wrong_facts_without_values_and_days_are_wrong_items():
    for who in default_sweep(release(values=[1, 2, 3]), "full"):
        blind = who.value_within is None and who.time_within is None
        assert not (who.wrong and blind and who.wrong_kind == "value")


def test_items_that_few_people_hold_are_not_tried_and_that_is_noted():
    rng = np.random.default_rng(0)
    rows = [(r, i) for r in range(400) for i in rng.choice(40, 9 if r < 5 else 4, replace=False)]
    data = so.Dataset.from_arrays(*np.array(rows).T)
    audit = so.Audit(data, attacks="scoreboard", targets=50, describe=False)
    assert max(a.knows for a in audit.adversaries) == 4
    assert (
        "Too few records (5) hold 8 items or more: the sweep stops at 4 known items."
        in audit.run().warnings
    )


@pytest.mark.parametrize(
    ("levels", "rough"),
    [
        (np.arange(1, 6), 1),
        (np.arange(0.5, 5.5, 0.5), 0.5),
        (np.arange(64), "10%"),
        (np.arange(21), 1),
        (np.array([0.0, 1.0]), None),
        (np.array([1.0]), None),
        (np.array([1.0, 2.0, 3.5, 120.0]), "10%"),
        (np.arange(100), "10%"),
        (np.arange(-10, 10, 0.01), 0.8),
    ],
)
def test_roughly_fits_the_scale(levels, rough):
    assert rough_value(levels.astype(float)) == rough


def test_a_few_returns_do_not_make_amounts_a_scale_around_zero():
    levels = np.array([-80_995.0, -3.0, 1.0, 2.0, 12.0, 80_995.0])
    assert rough_value(levels, np.array([1, 20, 500, 300, 200, 1])) == "10%"
    assert rough_value(levels, np.array([1, 400, 500, 300, 200, 1])) == 0.75


def test_rough_days_fit_the_span():
    assert [rough_days(s) for s in (3000, 140, 60, 5)] == [14, 14, 6, 1]
    one_day = release(span=0)
    assert {a.time_within for a in default_sweep(one_day)} == {None}


def test_an_option_replaces_its_part_of_the_sweep_and_leaves_the_rest():
    data = release(values=[1, 2, 3, 4, 5])
    loose = default_sweep(data, asked=Axes(time_within=(365,)))
    assert {a.time_within for a in loose} == {365} and {a.value_within for a in loose} == {
        None,
        1,
        0,
    }
    assert {a.knows for a in loose} == {1, 2, 4, 8} and {a.wrong for a in loose} == {0, 1, 2}
    few = default_sweep(data, asked=Axes(knows=(3,)))
    assert {a.knows for a in few} == {3} and {(a.value_within, a.time_within) for a in few} >= {
        (None, None),
        (0, 0),
    }
    rare = default_sweep(data, asked=Axes(choose="outside-top:5"))
    assert {a.choose for a in rare} == {"outside-top:5"} and len(rare) > 20
    wrong = default_sweep(data, asked=Axes(wrong=(2,), wrong_kind="item"))
    assert {(a.wrong, a.wrong_kind) for a in wrong} == {(2, "item")} and 1 not in {
        a.knows for a in wrong
    }


@pytest.mark.parametrize(
    "asked",
    [
        Axes(wrong=(9,), knows=(4,)),
        Axes(wrong=(1,), wrong_kind="value", value_within=(None,), time_within=(None,)),
        Axes(wrong_kind="nothing"),
        Axes(choose="foo"),
        Axes(knows=(0,)),
    ],
)
def test_an_option_that_cannot_shape_the_sweep_is_refused(asked):
    with pytest.raises(ParameterError):
        default_sweep(release(values=[1, 2, 3]), asked=asked)


@pytest.mark.parametrize("asked", [Axes(value_within=(1,)), Axes(time_within=(3,))])
def test_an_option_for_a_channel_that_the_data_lacks_is_refused(asked):
    with pytest.raises(ParameterError, match="the data has no"):
        default_sweep(release(span=None), asked=asked)


def test_an_unknown_sweep_is_refused():
    with pytest.raises(ParameterError, match="'default' or 'full'"):
        so.Audit(release(), sweep="huge")


def test_a_tolerance_wider_than_the_data_leaves_wrong_items_instead_of_wrong_days():
    sweep = default_sweep(release(span=100), asked=Axes(time_within=(365,)))
    assert {a.wrong_kind for a in sweep if a.wrong} == {"item"}
    with pytest.raises(ParameterError, match="no day lies more than"):
        default_sweep(release(span=100), asked=Axes(time_within=(365,), wrong_kind="value"))


def test_amounts_are_known_roughly_to_within_a_share_of_the_value():
    rng = np.random.default_rng(0)
    data = release(values=np.round(rng.lognormal(3, 1, 500), 2))
    sweep = default_sweep(data)
    assert {a.value_within for a in sweep} == {None, "10%", 0}
    found = so.Audit(data, sweep[-6:], "scoreboard", targets=30, describe=False).run()
    assert str(found).startswith("Knowing")


@pytest.mark.parametrize(("resolution", "fine"), [("hour", "2h"), ("minute", "30min")])
def test_data_read_to_the_hour_is_also_tried_with_a_tolerance_below_a_day(resolution, fine):
    rng = np.random.default_rng(4)
    record, item = np.divmod(np.arange(200 * 10), 10)
    data = so.Dataset.from_arrays(
        record, item, rng.integers(1, 6, 2000), rng.random(2000) * 900, resolution=resolution
    )
    tried = default_sweep(data)
    assert {a.time_within for a in tried} == {None, 14, "12h", fine, 0}
    assert {a.value_within for a in tried if a.time_within == fine} == {None}
    short = so.Dataset.from_arrays(
        record, item, None, rng.random(2000) / 100, resolution=resolution
    )
    assert fine not in {a.time_within for a in default_sweep(short)}
