"""How many people wrong labels, added records or a false claim could hide in a release."""

from __future__ import annotations

import numpy as np
import pytest
from defenses.settings import STRONG, WEAK

import standout as so
from standout.audit.matching import MOST_HIDDEN, match
from standout.experiment.subject import places

N = 900


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(10, 25, N)
    record = np.repeat(np.arange(N), lengths)
    popular = np.arange(1, 301) ** -0.8
    item = rng.choice(300, record.size, p=popular / popular.sum())
    return record, item, rng.integers(1, 6, record.size), rng.integers(0, 700, record.size)


@pytest.fixture(scope="module")
def source():
    return so.Dataset.from_arrays(*arrays())


def matched(source, release, seed=0):
    return match(source, release, places(source, release), seed)


def rotated(who):
    to = np.arange(N)
    to[who] = np.roll(who, 1)
    record, *rest = arrays()
    return so.Dataset.from_arrays(to[record], *rest)


def test_the_share_of_wrong_labels_is_estimated(source):
    for share in (0.0, 0.1, 0.5, 1.0):
        seen = matched(source, rotated(np.arange(int(share * N))))
        assert seen.hidden == pytest.approx(share, abs=0.06)
        assert seen.is_shown == (share == 0)


def test_labels_that_are_right_for_200_evenly_spaced_people_do_not_hide_the_others(source):
    kept = np.unique(np.linspace(0, N - 1, 200).astype(int))
    seen = matched(source, rotated(np.setdiff1d(np.arange(N), kept)))
    assert seen.is_wrong
    assert seen.hidden > 0.6


def test_the_people_who_are_compared_depend_on_the_content_of_the_release(source):
    from standout.audit.same_labels import _drawn

    one, other = (_drawn(np.arange(N), 200, source, rotated(np.arange(k))) for k in (10, 20))
    assert one.size == other.size == 200
    assert not np.array_equal(one, other)
    assert np.array_equal(one, _drawn(np.arange(N), 200, source, rotated(np.arange(10))))


def test_new_pseudonyms_count_as_wrong_labels_and_a_sample_does_not(source):
    record, *rest = arrays()
    renamed = so.Dataset.from_arrays(np.where(record % 50, record + 10_000, record), *rest)
    seen = matched(source, renamed)
    assert seen.hidden > 0.9
    assert not seen.is_shown
    sample = so.defense("sample-records", share=0.1).apply(source, seed=3)
    assert matched(source, sample).is_shown


@pytest.mark.parametrize(
    "made",
    [
        "drop-entries(share=0.5)",
        "shift-time(days=30)",
        "noise-values(within=1)",
        "swap-entries(share=0.4)",
        "cap-entries(most=6)",
        "coarsen-time(to=month)",
        "drop-values | drop-time",
    ],
)
def test_a_release_of_a_stated_defense_is_shown_to_be_one(source, made):
    from standout.defenses.parse import parse_defense

    seen = matched(source, parse_defense(made).apply(source, seed=77))
    assert seen.is_shown, seen


@pytest.mark.parametrize(
    ("claim", "change"),
    [
        ("shift-time(days=30)", {"day": 400}),
        ("drop-entries(share=0.9)", {}),
        ("swap-entries(share=0.5)", {}),
        ("noise-values(within=1)", {"value": True}),
    ],
)
def test_a_false_claim_is_noticed(source, claim, change):
    from standout.defenses.parse import parse_defense

    record, item, value, day = arrays()
    value = 6 - value if "value" in change else value
    release = so.Dataset.from_arrays(record, item, value, day + change.get("day", 0))
    seen = matched(source, parse_defense(claim).describe(source, release))
    assert not seen.is_shown
    assert "another run of" in seen.doubts[0]


@pytest.mark.parametrize("channel", ["values", "times"])
def test_a_rotation_of_everything_does_not_pass_as_swapped_attributes(channel):
    """The mean change is that of the claim, but whoever knows the one shift finds everybody."""
    from standout.defenses.parse import parse_defense

    record, item, _, day = arrays()
    source, release = (
        so.Dataset.from_arrays(
            record, item, x if channel == "values" else None, x if channel == "times" else None
        )
        for x in (day, (day + 148) % 700)
    )
    claim = parse_defense("swap-attributes(share=1)")
    seen = matched(source, claim.describe(source, release))
    assert seen.doubts == (
        f"differences of {channel} are not distributed as another run of {claim} leaves them",
    )
    assert not seen.is_shown


@pytest.mark.parametrize("name", sorted(WEAK))
def test_no_honest_run_of_a_defense_is_in_doubt(name):
    size = 1000 if name == "suppress-km" else 4000
    for settings in (WEAK, STRONG):
        for seed in range(4) if name in settings else ():
            data = so.Dataset.from_arrays(*(x[:size] for x in arrays(seed)))
            release = so.defense(name, **settings[name]).apply(data, seed=70 + seed)
            assert matched(data, release, seed).doubts == ()


@pytest.mark.parametrize(("column", "by"), [(2, 10), (3, 400)])
def test_other_scales_and_times_without_a_stated_defense_are_in_doubt(source, column, by):
    columns = list(arrays())
    columns[column] = columns[column] * by if column == 2 else columns[column] + by
    seen = matched(source, so.Dataset.from_arrays(*columns))
    assert seen.hidden_upper <= MOST_HIDDEN
    assert not seen.is_shown


def test_records_that_are_all_alike_show_nothing():
    record, item = np.repeat(np.arange(50), 5), np.tile(np.arange(5), 50)
    source = so.Dataset.from_arrays(record, item)
    seen = matched(source, so.Dataset.from_arrays(49 - record, item))
    assert seen.hidden_upper == 1
    assert not seen.is_shown
