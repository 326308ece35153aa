"""Several level channels: price, quantity, country beside the time, against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

import standout as so

WITHIN = {"price": "10%", "quantity": 1, "country": 0, "time": 3}
NAMES = ("price", "quantity", "country")


def rows(seed: int = 0, n: int = 900):
    """Events of 40 people: few prices and days, so that tolerances matter; some prices and days are missing."""
    rng = np.random.default_rng(seed)
    price = rng.choice([1.0, 1.05, 1.2, 2.0, 2.1, 5.0, 5.4], n)
    time = rng.integers(0, 25, n).astype(float)
    price[rng.random(n) < 0.1] = np.nan
    time[rng.random(n) < 0.1] = np.nan
    return {
        "record": rng.integers(0, 40, n),
        "item": rng.integers(0, 12, n),
        "time": time,
        "price": price,
        "quantity": rng.integers(1, 5, n).astype(float),
        "country": rng.choice(["DE", "FR", "UK"], n),
    }


def dataset(columns, order=None):
    order = np.arange(columns["record"].size) if order is None else order
    return so.Dataset.from_arrays(
        columns["record"][order],
        columns["item"][order],
        time=columns["time"][order],
        channels={name: columns[name][order] for name in NAMES},
    )


@pytest.fixture(scope="module")
def columns():
    return rows()


@pytest.fixture(scope="module")
def release(columns):
    return dataset(columns)


def events_of(columns):
    """Events by record and item, as plain numbers."""
    held = defaultdict(lambda: defaultdict(list))
    for k in range(columns["record"].size):
        event = {name: columns[name][k] for name in ("time", *NAMES)}
        held[columns["record"][k]][columns["item"][k]].append(event)
    return held


def is_missing(x) -> bool:
    return x is None or (isinstance(x, float) and math.isnan(x))


def price_chance(seen: float, true: float) -> float:
    """Density of true + U(-w, w), clipped to 1 … 5.4; a probability at the ends."""
    low, high, w = 1.0, 5.4, 0.1 * true
    if seen <= low + 1e-9:
        return min(max((low - (true - w)) / (2 * w), 0.0), 1.0)
    if seen >= high - 1e-9:
        return min(max((true + w - high) / (2 * w), 0.0), 1.0)
    return 1 / (2 * w) if abs(seen - true) <= w + 1e-12 else 0.0


def quantity_chance(seen: float, true: float) -> float:
    landed = [min(max(true + step, 1), 4) for step in (-1, 0, 1)]
    return landed.count(seen) / 3


def event_chance(seen, event) -> float:
    """P(what is seen | event), exact: what is missing comes only from an event that lacks it."""
    out = 1.0
    for name, chance in (
        ("price", price_chance),
        ("quantity", quantity_chance),
        ("country", lambda a, b: float(a == b)),
        ("time", lambda a, b: float(abs(a - b) <= 3) / 7),
    ):
        a, b = seen[name], event[name]
        if is_missing(a) or is_missing(b):
            out *= float(is_missing(a) and is_missing(b))
        else:
            out *= chance(
                float(a) if name != "country" else a, float(b) if name != "country" else b
            )
    return out


def facts_of(aux, q):
    for f in range(aux.query_ptr[q], aux.query_ptr[q + 1]):
        seen = {name: aux.channels[name][f] for name in NAMES}
        yield aux.item[f], {**seen, "time": aux.time[f]}


def log_chance(held, facts) -> float:
    """Log P(facts | record) of an adversary without wrong facts, up to a constant."""
    out = 0.0
    for item, seen in facts:
        events = held.get(item, [])
        mean = sum(event_chance(seen, e) for e in events) / max(len(events), 1)
        if mean <= 0:
            return -math.inf
        out += math.log(mean)
    return out - math.log(math.perm(len(held), len(facts)))


def test_the_likelihood_of_four_channels_is_that_of_an_enumeration(columns, release):
    who = so.Adversary(knows=2, within=WITHIN)
    targets = np.arange(20)
    aux = who.sample(release, targets, seed=3)
    scores = so.attack("likelihood").scores(release, aux)
    held = events_of(columns)
    for q in range(targets.size):
        facts = list(facts_of(aux, q))
        expected = np.array([log_chance(held[r], facts) for r in release.record_labels])
        possible = np.isfinite(expected)
        assert possible[targets[q]]
        assert (np.isfinite(scores[q]) == possible).all()
        gap = scores[q][possible] - expected[possible]
        assert np.ptp(gap) < 1e-6


def agrees(seen, event) -> bool:
    """Whether the event lies within all tolerances; what is not known agrees with every event."""
    for name, near in (
        ("price", lambda a, b: abs(a - b) <= 0.1 * b + 1e-9),
        ("quantity", lambda a, b: abs(a - b) <= 1),
        ("country", lambda a, b: a == b),
        ("time", lambda a, b: abs(a - b) <= 3),
    ):
        if not is_missing(seen[name]) and (
            is_missing(event[name]) or not near(seen[name], event[name])
        ):
            return False
    return True


def test_unicity_of_four_channels_counts_the_records_that_agree(columns, release):
    who = so.Adversary(knows=2, within=WITHIN)
    aux = who.sample(release, np.arange(40), seed=5)
    seen = so.attack("unicity").run(release, aux, watch=np.arange(40))
    held = events_of(columns)
    n = [
        sum(
            all(any(agrees(s, e) for e in held[r].get(i, [])) for i, s in facts_of(aux, q))
            for r in release.record_labels
        )
        for q in range(40)
    ]
    assert (seen.matched == (np.array(n) == 1)).all()
    assert len({*n}) > 2


def test_each_tolerance_that_is_widened_leaves_more_records(release):
    def unique(**within):
        aux = so.Adversary(knows=1, within=within).sample(release, np.arange(40), seed=1)
        return so.attack("unicity").run(release, aux).matched.mean()

    exact = unique(price=0, quantity=0, country=0, time=0)
    assert exact > unique(price="10%", quantity=0, country=0, time=0)
    assert exact > unique(price=0, quantity=0, country=0, time=10)
    assert unique(price=0, quantity=0) < exact


def test_draws_stay_within_their_tolerances_and_wrong_facts_lie_outside_all_of_them(release):
    frame = release.to_frame()
    who = so.Adversary(knows=3, wrong=1, within=WITHIN)
    targets = who.eligible(release)
    aux = who.sample(release, targets, seed=2)
    n_right = n_wrong = 0
    for q, target in enumerate(targets):
        own = frame[frame.record == release.record_labels[target]]
        wrong = 0
        for item, seen in facts_of(aux, q):
            events = own[own["item"] == item].to_dict("records")
            day = [e["time"] for e in events]
            for e, d in zip(events, day, strict=True):
                e["time"] = (
                    math.nan if d != d or d is None else (d - np.datetime64("1970-01-01")).days
                )
            if any(agrees(seen, e) for e in events):
                n_right += 1
            else:
                wrong += 1
        n_wrong += wrong
        assert wrong <= 1
    assert n_right >= 2 * len(targets) and n_wrong > len(targets) / 2


def test_a_further_channel_changes_no_draw_of_the_others(release, columns):
    targets = np.arange(20)
    two = so.Adversary(knows=3, within={"price": "10%", "time": 3}).sample(release, targets, seed=9)
    four = so.Adversary(knows=3, within=WITHIN).sample(release, targets, seed=9)
    assert (two.item == four.item).all()
    np.testing.assert_array_equal(two.time, four.time)
    np.testing.assert_array_equal(two.channels["price"], four.channels["price"])


def test_value_and_time_are_drawn_as_without_further_channels(columns):
    """The same entries, the quantity as the value: known beside the price, its draws are those of the value alone."""
    ds = so.Dataset.from_arrays(
        columns["record"],
        columns["item"],
        columns["quantity"],
        columns["time"],
        channels={"price": columns["price"]},
    )
    alone = so.Adversary(knows=3, value_within=1, time_within=3).sample(ds, np.arange(30), seed=4)
    beside = so.Adversary(knows=3, within={"value": 1, "time": 3, "price": 0})
    both = beside.sample(ds, np.arange(30), seed=4)
    np.testing.assert_array_equal(alone.value, both.value)
    np.testing.assert_array_equal(alone.time, both.time)
    found = [
        so.attack("likelihood").run(ds, aux, watch=np.arange(30)).credit.mean()
        for aux in (alone, both)
    ]
    assert found[1] > found[0]


def test_the_order_of_rows_and_the_names_of_records_change_no_answer(columns, release):
    order = np.random.default_rng(1).permutation(columns["record"].size)
    renamed = {**columns, "record": 1000 - columns["record"]}
    other = dataset(renamed, order)
    who = so.Adversary(knows=2, wrong=1, within=WITHIN)
    at = other.n_records - 1 - np.arange(release.n_records)  # the same people
    rates = []
    for ds, targets in ((release, np.arange(40)), (other, at)):
        targets = targets[np.isin(targets, who.eligible(ds))]
        aux = who.sample(ds, targets, seed=8)
        seen = so.attack("likelihood").run(ds, aux, watch=targets)
        rates.append((seen.credit.tolist(), np.round(seen.posterior, 9).tolist()))
    assert rates[0] == rates[1]


@pytest.mark.parametrize("wrong", [0, 1, 0.25])
@pytest.mark.parametrize("kind", ["value", "item"])
def test_the_target_is_found_whatever_is_wrong(release, wrong, kind):
    who = so.Adversary(knows=5, wrong=wrong, wrong_kind=kind, within=WITHIN)
    targets = who.eligible(release)
    aux = who.sample(release, targets, seed=8)
    seen = so.attack("likelihood").run(release, aux, watch=targets)
    assert seen.credit.mean() > 0.9
    if not isinstance(wrong, float):
        assert np.isfinite(
            so.attack("likelihood").scores(release, aux)[np.arange(targets.size), targets]
        ).all()


def test_knowledge_from_outside_with_channels_finds_its_person(release):
    who = so.Adversary(knows=4, within=WITHIN)
    aux = who.sample(release, np.arange(30), seed=3)
    outside = so.Knowledge.from_arrays(aux.query, aux.item, None, aux.time, channels=aux.channels)
    seen = so.attack("likelihood").run(release, outside, watch=np.arange(30))
    assert seen.credit.mean() > 0.9


def test_attacks_of_the_papers_use_the_value_or_the_first_channel(release):
    who = so.Adversary(knows=3, within={"quantity": 0, "country": 0})
    first = so.Adversary(knows=3, within={"quantity": 0})
    both, alone = (w.sample(release, np.arange(30), seed=3) for w in (who, first))
    for name in ("generic", "weighted", "exact-rating"):
        assert (
            so.attack(name).scores(release, both).tolist()
            == so.attack(name).scores(release, alone).tolist()
        )


def test_derived_datasets_keep_their_channels(release, columns):
    frame = release.to_frame()
    kept = release.with_entries(frame["price"].to_numpy() > 1.5)
    part = kept.take(np.arange(10)).to_frame()
    expected = frame[(frame["price"] > 1.5) & (frame["record"] < 10)]
    key = ["record", "item", "time", *NAMES]
    left, right = (f.sort_values(key).reset_index(drop=True)[key] for f in (part, expected))
    assert left.equals(right)
    without = release.with_entries(drop=["price"])
    assert [c.name for c in without.channels] == ["quantity", "country"]


@pytest.mark.parametrize(
    ("within", "words"),
    [
        ({"prize": 0}, "no channel 'prize'"),
        ({"country": 1}, "known exactly"),
        ({"price": -1}, "use a number"),
        ({"price": True}, "use a number"),
        ("10%", "by channel"),
    ],
)
def test_a_wrong_channel_is_refused(release, within, words):
    with pytest.raises(so.ParameterError, match=words):
        so.Adversary(knows=1, within=within).sample(release, [0])


def test_a_channel_that_is_not_named_is_not_known():
    who = so.Adversary(within={"price": "10%"})
    assert who.value_within is None and who.time_within is None
    who = so.Adversary(within={"value": 1, "time": "2h"})
    assert (who.value_within, who.time_within, who.within) == (1, "2h", None)
    with pytest.raises(so.ParameterError, match="same channel"):
        so.Adversary(value_within=1, within={"value": 2})


@pytest.mark.parametrize("name", ["record", "time", "two words", 3])
def test_a_channel_needs_a_name_of_its_own(name):
    with pytest.raises(so.ParameterError, match="use a name"):
        so.Dataset.from_arrays([1], [1], channels={name: [1.0]})


def test_a_saved_dataset_keeps_its_channels(release, tmp_path):
    release.save(tmp_path / "saved")
    opened = so.Dataset.open(tmp_path / "saved")
    assert opened.fingerprint == release.fingerprint
    who = so.Adversary(knows=2, within=WITHIN)
    first, second = (who.sample(ds, np.arange(10), seed=1) for ds in (release, opened))
    assert (
        so.attack("likelihood").scores(release, first)
        == so.attack("likelihood").scores(opened, second)
    ).all()


def test_a_saved_channel_that_is_damaged_is_refused(release, tmp_path):
    release.save(tmp_path / "saved")
    points = np.load(tmp_path / "saved" / "channels_points.npy")
    np.save(tmp_path / "saved" / "channels_points.npy", points + 1000)
    with pytest.raises(so.InputError, match="damaged"):
        so.Dataset.open(tmp_path / "saved", verify=False)
