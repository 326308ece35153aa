"""Views that add a channel: hour of day, weekday, count and total, against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

import standout as so
from standout.audit.sweep import Axes, default_sweep
from standout.errors import ParameterError
from standout.extend import Channel, with_channels
from standout.views.view import parse_view, see

START = datetime(2024, 3, 25, tzinfo=UTC)
"""A Monday; clocks in Berlin change on Sunday, March 31."""


def visits(seed=0, n=40, per=9, places=8, hours=24 * 14):
    """Visits (person, place, time, price), several of them to the same place; some have no time or no price."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), per)
    when = rng.integers(0, hours, person.size).astype(float)
    when[rng.random(person.size) < 0.05] = np.nan
    price = rng.choice([0.1, 0.2, 0.3, 2.5], person.size)
    price[rng.random(person.size) < 0.1] = np.nan
    first = (START - datetime(1970, 1, 1, tzinfo=UTC)).days
    return {
        "person": person,
        "place": rng.integers(0, places, person.size),
        "time": first + when / 24,
        "when": [None if math.isnan(h) else START + timedelta(hours=h) for h in when],
        "price": price,
    }


def read(columns, **more):
    return so.Dataset.from_arrays(
        columns["person"],
        columns["place"],
        time=columns["time"],
        channels={"price": columns["price"]},
        **more,
    )


def held_by_hand(columns, level):
    """Per person and place: the level of each visit; None where there is none."""
    held = defaultdict(lambda: defaultdict(list))
    for k in range(columns["person"].size):
        own = held[int(columns["person"][k])]
        own[int(columns["place"][k])].append(level(columns, k))
    return held


def count_by_hand(columns, k):
    same = (columns["person"] == columns["person"][k]) & (columns["place"] == columns["place"][k])
    return float(same.sum())


def total_by_hand(columns, k):
    same = (columns["person"] == columns["person"][k]) & (columns["place"] == columns["place"][k])
    prices = [p for p in columns["price"][same] if not math.isnan(p)]
    return round(math.fsum(prices), 9) if prices else None


def clock(zone, read_it):
    def level(columns, k):
        when = columns["when"][k]
        return None if when is None else float(read_it(when.astimezone(zone)))

    return level


BERLIN = ZoneInfo("Europe/Berlin")
VIEWS = {
    "hour-of-day": ("hour", clock(UTC, lambda t: t.hour), 24),
    "hour-of-day:Europe/Berlin": ("hour", clock(BERLIN, lambda t: t.hour), 24),
    "weekday": ("weekday", clock(UTC, lambda t: t.weekday()), 7),
    "weekday:Europe/Berlin": ("weekday", clock(BERLIN, lambda t: t.weekday()), 7),
    "counts": ("count", count_by_hand, 0),
    "totals:price": ("total", total_by_hand, 0),
}


def shown_levels(shown, name):
    """Per person and place: the levels of the shown data."""
    at = shown.further.named(name)
    levels = [*shown.further.channels[at].levels.tolist(), None]
    held = defaultdict(lambda: defaultdict(list))
    for r in range(shown.n_records):
        for k in range(shown.record_ptr[r], shown.record_ptr[r + 1]):
            place = int(shown.item_labels[shown.record_item[k]])
            level = levels[shown.further.columns()[at][k]]
            held[int(shown.record_labels[r])][place].append(level)
    return held


def plain(held):
    return {r: {i: sorted(v, key=str) for i, v in own.items()} for r, own in held.items()}


@pytest.mark.parametrize("view", VIEWS)
def test_the_channel_that_a_view_adds_is_what_is_computed_by_hand(view):
    columns = visits()
    name, level, _ = VIEWS[view]
    shown = see(read(columns), parse_view(view))
    assert plain(shown_levels(shown, name)) == plain(held_by_hand(columns, level))
    assert [c.name for c in shown.channels] == ["price", name]
    assert shown.n_entries == columns["person"].size


@pytest.mark.parametrize("within", [0, 1])
@pytest.mark.parametrize("view", VIEWS)
def test_who_agrees_with_an_added_channel_is_enumerated(view, within):
    columns = visits(seed=1)
    name, level, period = VIEWS[view]
    data, held = read(columns), held_by_hand(columns, level)
    who = so.Adversary(knows=2, within={name: within}, view=view)
    targets = who.eligible(data)
    known = who.sample(data, targets, seed=3)
    seen = so.attack("likelihood", calibrate=False).run(data, known, watch=targets)
    unique = so.attack("unicity").run(data, known, watch=targets)

    some = {x for own in held.values() for v in own.values() for x in v if x is not None}
    low, high = min(some), max(some)
    for q in range(targets.size):
        facts = range(*known.query_ptr[q : q + 2])

        def agrees(r, f):
            told = known.channels[name][f]
            own = held[r].get(int(known.item[f]), [])
            if math.isnan(told):
                return bool(own)
            gaps = [abs(told - x) for x in own if x is not None]
            gaps = [min(g, period - g) if period else g for g in gaps]
            return any(g <= within + 1e-9 for g in gaps)

        n = sum(all(agrees(r, f) for f in facts) for r in range(data.n_records))
        assert n >= 1 and unique.matched[q] == (n == 1)
        if name == "total" and within:
            continue  # the error is a number of steps of 0.1, which the enumeration below does not have
        scale = (low, high)
        p = np.array(
            [
                chance(held[r], facts, known, name, within, period, scale)
                for r in range(data.n_records)
            ]
        )
        assert p[targets[q]] > 0
        assert seen.n_candidates[q] == (p > 0).sum()
        assert p[seen.best[q]] == pytest.approx(p.max(), rel=1e-6)
        assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)


def chance(own, facts, known, name, within, period, scale):
    """P(facts | person), up to a constant: random places, then a random visit to each, then whole steps of error."""
    low, high = scale
    out = 1 / math.perm(len(own), len(facts)) if len(own) >= len(facts) else 0.0
    for f in facts:
        told, visits_there = known.channels[name][f], own.get(int(known.item[f]), [])
        if not visits_there:
            return 0.0
        p = 0.0
        for x in visits_there:
            if math.isnan(told) or x is None:
                p += math.isnan(told) and x is None
                continue
            steps = [x + s for s in range(-within, within + 1)]
            landed = [s % period if period else min(max(s, low), high) for s in steps]
            p += landed.count(told) / len(landed)
        out *= p / len(visits_there)
    return out


def test_each_hour_of_tolerance_leaves_at_least_as_many_people():
    data = read(visits(seed=2))
    left = []
    for within in (0, 2, 6):
        who = so.Adversary(knows=1, within={"hour": within}, view="hour-of-day")
        known = who.sample(data, np.arange(40), seed=1)
        left.append(so.attack("likelihood").run(data, known).n_candidates.mean())
    assert left[0] < left[1] < left[2]


def test_coarse_and_exact_facts_are_mixed():
    """The hour exactly and the day roughly say more than either of them."""
    data = read(visits(seed=3))

    def unique(**within):
        view = "hour-of-day" if "hour" in within else None
        who = so.Adversary(knows=1, within=within, view=view)
        known = who.sample(data, np.arange(40), seed=1)
        return so.attack("unicity").run(data, known).matched.mean()

    both = unique(hour=0, time=2)
    assert both > unique(hour=0) and both > unique(time=2)


def test_a_planted_night_worker_is_found_by_the_hour_alone():
    columns = visits(seed=4)
    nights = np.array([t is not None and t.hour in (2, 3) for t in columns["when"]])
    kept = (columns["person"] == 7) | ~nights
    one = {k: np.asarray(v, object if k == "when" else None)[kept] for k, v in columns.items()}
    at = np.flatnonzero(one["person"] == 7)
    one["time"][at] = np.floor(np.nanmin(one["time"])) + 2 / 24
    data = read(one)
    who = so.Adversary(knows=1, within={"hour": 0}, view="hour-of-day")
    found = so.attack("likelihood").run(data, who.sample(data, np.array([7]), seed=1))
    assert found.best[0] == 7 and found.n_candidates[0] == 1


def test_a_view_that_adds_a_channel_changes_neither_targets_nor_draws_of_items():
    data = read(visits(seed=5))
    one = so.Adversary(knows=2, within={"price": 0})
    within = {"price": 0, "count": 0, "weekday": 0}
    other = so.Adversary(knows=2, within=within, view="counts | weekday")
    targets = one.choose_targets(data, 20, 5)[1]
    np.testing.assert_array_equal(targets, other.choose_targets(data, 20, 5)[1])
    np.testing.assert_array_equal(
        one.sample(data, targets, 1).item, other.sample(data, targets, 1).item
    )


def test_added_channels_need_what_they_are_made_of():
    columns = visits()
    plain = so.Dataset.from_arrays(columns["person"], columns["place"])
    days = so.Dataset.from_arrays(
        columns["person"], columns["place"], time=np.floor(columns["time"])
    )
    labels = so.Dataset.from_arrays(
        columns["person"],
        columns["place"],
        channels={"shop": np.array(["a", "b"])[columns["place"] % 2]},
    )
    for view, data, message in (
        ("hour-of-day", plain, "needs times"),
        ("hour-of-day", days, "resolution='hour'"),
        ("weekday:Europe/Berlin", days, "resolution='hour'"),
        ("totals", plain, "no channel 'value'"),
        ("totals:shop", labels, "which have no sum"),
        ("counts | counts", plain, "has a channel 'count' already"),
    ):
        with pytest.raises(ParameterError, match=message):
            see(data, parse_view(view))
    with pytest.raises(ParameterError, match="no time zone is named 'Atlantis/North'"):
        so.Adversary(knows=1, view="weekday:Atlantis/North")
    assert see(days, parse_view("weekday")).channels[0].n_levels == 7


@pytest.mark.parametrize(
    ("view", "missing"),
    [
        ("hour-of-day", "hour"),
        ("weekday:Europe/Berlin", "weekday"),
        ("counts", "count"),
        ("totals:price", "total"),
        ("counts | hour-of-day", "hour"),
    ],
)
def test_a_view_whose_channel_is_not_known_is_refused(view, missing):
    """Its words would say that the hour is known, and the rates would be those of an adversary who does not know it."""
    within = {"count": 0} if missing == "hour" else {"price": 0}
    message = f"adds the channel {missing}, which is not known: give its tolerance"
    with pytest.raises(ParameterError, match=message):
        so.Adversary(knows=1, view=view, within=within)
    with pytest.raises(ParameterError, match=message):
        so.Adversary(knows=1, view=view, within={**within, missing: None})
    with pytest.raises(ParameterError, match=message):
        default_sweep(read(visits()), asked=Axes(view=parse_view(view), within=within))
    asked = Axes(knows=(1,), view=parse_view(view), within={**within, missing: 0})
    assert all(missing in who.within for who in default_sweep(read(visits()), asked=asked))


def test_the_notes_do_not_say_that_the_release_lacks_what_the_view_adds():
    who = so.Adversary(knows=1, view="hour-of-day", within={"hour": 0, "price": 0})
    found = so.Audit(read(visits()), [who], ["unicity"], 20, seed=1).run(progress=False)
    assert not [note for note in found.warnings if "not compared" in note]
    without = so.Dataset.from_arrays(
        *(visits()[k] for k in ("person", "place")), None, visits()["time"]
    )
    found = so.Audit(read(visits()), [who], ["unicity"], 20, seed=1, release=without).run(
        progress=False
    )
    assert [note for note in found.warnings if note.startswith("The release has no price:")]


def test_totals_are_amounts_and_not_their_rounding_errors():
    data = so.Dataset.from_arrays(
        [0, 0, 1], ["a"] * 3, channels={"price": np.array([0.1, 0.2, 0.3])}
    )
    assert see(data, parse_view("totals:price")).channels[1].levels.tolist() == [0.3]


def test_with_channels_refuses_levels_that_the_channel_lacks_and_sorts_the_entries():
    data = so.Dataset.from_arrays([0, 0, 1], ["a", "a", "a"], [3.0, 3.0, 3.0])
    channel = Channel("size", np.array([1.0, 2.0]))
    with pytest.raises(ParameterError, match="whole numbers from 0 to 2"):
        with_channels(data, [(channel, np.array([0, 3, 0]))])
    made = with_channels(data, [(channel, np.array([2, 0, 1]))])
    assert made.further.columns()[1].tolist() == [0, 2, 1]


def test_after_a_defense_the_fitted_attacker_runs_and_nobody_is_called_unique():
    data = read(visits(seed=6, n=80))
    release = so.defense("drop-entries", share=0.2).apply(data, seed=7)
    who = so.Adversary(knows=2, within={"count": 1}, view="counts")
    found = so.Audit(data, who, ["likelihood"], 40, seed=1, release=release).run()
    assert found.results[0]["unique"] is None
    assert any("cannot be stated after the view" in note for note in found.warnings)


def test_a_channel_that_the_view_adds_is_not_said_to_be_missing():
    data = read(visits())
    knows = {"count": 0, "price": 0}
    who = so.Adversary(knows=1, value_within=None, view="counts", within=knows)
    found = so.Audit(data, [who], attacks=["scoreboard-rh"], targets=10, describe=False)
    notes = " ".join(found.run(progress=False).warnings)
    assert "The release has no" not in notes
