"""Attributes of a person (age, postcode) beside the items, against counts and enumeration in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

import standout as so

N = 60


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(2)
    age = rng.integers(20, 40, N).astype(float)
    age[:3] = np.nan
    return age, rng.choice(["N1", "N2", "S9"], N)


@pytest.fixture(scope="module")
def events():
    """Events of 60 people; each has at least two items."""
    rng = np.random.default_rng(4)
    record = np.concatenate([np.arange(N), np.arange(N), rng.integers(0, N, 700)])
    item = np.concatenate([np.zeros(N, int), np.ones(N, int), rng.integers(2, 15, 700)])
    return record, item, rng.integers(0, 30, record.size).astype(float)


@pytest.fixture(scope="module")
def release(people, events):
    record, item, time = events
    age, postcode = people
    return so.Dataset.from_arrays(
        record, item, time=time, attributes={"age": age[record], "postcode": postcode[record]}
    )


def test_attributes_are_no_entries(release, events):
    record, item, time = events
    bare = so.Dataset.from_arrays(record, item, time=time)
    for name in ("n_records", "n_items", "n_entries", "n_pairs", "longest"):
        assert getattr(release, name) == getattr(bare, name)
    assert (release.supports == bare.supports).all() and (release.lengths == bare.lengths).all()
    who = so.Adversary(knows=2, time_within=3)
    one, other = (who.sample(ds, np.arange(10), seed=1) for ds in (release, bare))
    assert (one.item == other.item).all()
    assert (
        so.attack("likelihood").scores(release, one) == so.attack("likelihood").scores(bare, other)
    ).all()


def test_attributes_alone_are_unique_where_their_class_holds_one_person(release, people):
    age, postcode = people
    classes = Counter(zip(np.nan_to_num(age, nan=-1), postcode, strict=True))
    alone = np.array(
        [classes[key] == 1 for key in zip(np.nan_to_num(age, nan=-1), postcode, strict=True)]
    )
    who = so.Adversary(knows=0, within={"age": 0, "postcode": 0})
    aux = who.sample(release, np.arange(N), seed=1)
    risk = so.risk(release, who).to_frame()
    assert risk["unique"].tolist() == alone.astype(float).tolist()
    found = so.attack("likelihood").run(release, aux, watch=np.arange(N))
    size = np.array(
        [classes[key] for key in zip(np.nan_to_num(age, nan=-1), postcode, strict=True)]
    )
    np.testing.assert_allclose(found.credit, 1 / size)


def log_chance(held, facts, own, known) -> float:
    """Log P(facts, attributes | record), up to a constant: ages ±2 are uniform steps, clipped to 20 … 39."""
    age, postcode = own
    seen_age, seen_postcode = known
    out = -math.log(math.perm(len(held), len(facts)))
    if math.isnan(seen_age) != math.isnan(age):
        return -math.inf
    if not math.isnan(age):
        landed = [min(max(age + step, 20), 39) for step in range(-2, 3)]
        if seen_age not in landed:
            return -math.inf
        out += math.log(landed.count(seen_age) / 5)
    if seen_postcode != postcode:
        return -math.inf
    for item, day in facts:
        chance = (
            sum(abs(day - d) <= 3 for d in held.get(item, [])) / max(len(held.get(item, [])), 1) / 7
        )
        if chance == 0:
            return -math.inf
        out += math.log(chance)
    return out


def test_the_likelihood_with_attributes_is_that_of_an_enumeration(release, people, events):
    held = defaultdict(lambda: defaultdict(list))
    for r, i, t in zip(*events, strict=True):
        held[r][i].append(t)
    who = so.Adversary(knows=2, within={"age": 2, "postcode": 0, "time": 3})
    aux = who.sample(release, np.arange(N), seed=6)
    scores = so.attack("likelihood").scores(release, aux)
    for q in range(N):
        facts = range(aux.query_ptr[q], aux.query_ptr[q + 1])
        items = [(aux.item[f], aux.time[f]) for f in facts if aux.attribute[f] == ""]
        (age,) = [aux.channels["age"][f] for f in facts if aux.attribute[f] == "age"]
        (postcode,) = [aux.channels["postcode"][f] for f in facts if aux.attribute[f] == "postcode"]
        expected = np.array(
            [
                log_chance(held[r], items, (people[0][r], people[1][r]), (age, postcode))
                for r in range(N)
            ]
        )
        possible = np.isfinite(expected)
        assert possible[q]
        assert (np.isfinite(scores[q]) == possible).all()
        assert np.ptp(scores[q][possible] - expected[possible]) < 1e-6


@pytest.mark.parametrize("wrong", [0, 1, 0.3])
@pytest.mark.parametrize("kind", ["value", "item"])
def test_attributes_are_never_wrong_and_help_whatever_is_wrong_in_the_items(release, wrong, kind):
    bare = so.Adversary(knows=2, wrong=wrong, wrong_kind=kind, time_within=3)
    more = so.Adversary(
        knows=2, wrong=wrong, wrong_kind=kind, within={"time": 3, "age": 0, "postcode": 0}
    )
    rates = []
    for who in (bare, more):
        targets = who.eligible(release)
        aux = who.sample(release, targets, seed=2)
        rates.append(so.attack("likelihood").run(release, aux, watch=targets).credit.mean())
    age = release.attributes["age"]
    seen = aux.channels["age"][aux.attribute == "age"]
    np.testing.assert_array_equal(seen, np.append(age.channel.levels, np.nan)[age.code[targets]])
    assert rates[1] > rates[0]


def test_scoreboard_weighs_an_attribute_by_how_many_share_it(release, people):
    who = so.Adversary(knows=0, within={"postcode": 0})
    aux = who.sample(release, np.arange(5), seed=1)
    scores = so.attack("scoreboard-rh").scores(release, aux)
    for q in range(5):
        n = (people[1] == people[1][q]).sum()
        np.testing.assert_allclose(
            scores[q], np.where(people[1] == people[1][q], 1 / math.log(n), 0), atol=1e-6
        )


def test_attacks_of_the_papers_leave_attributes_out(release):
    who = so.Adversary(knows=2, within={"age": 0, "time": 3})
    bare = so.Adversary(knows=2, value_within=None, time_within=3)
    one, other = (w.sample(release, np.arange(10), seed=1) for w in (who, bare))
    for name in ("tf-idf", "set-intersection", "generic", "exact-rating"):
        assert (
            so.attack(name).scores(release, one) == so.attack(name).scores(release, other)
        ).all()


def test_the_order_and_the_names_of_records_change_no_answer(people, events, release):
    record, item, time = events
    age, postcode = people
    other = so.Dataset.from_arrays(
        N - record, item, time=time, attributes={"age": age[record], "postcode": postcode[record]}
    )
    who = so.Adversary(knows=1, within={"age": 2, "postcode": 0, "time": 3})
    one = so.attack("likelihood").run(
        release, who.sample(release, np.arange(N), seed=1), watch=np.arange(N)
    )
    targets = N - 1 - np.arange(N)
    two = so.attack("likelihood").run(other, who.sample(other, targets, seed=1), watch=targets)
    assert one.credit.tolist() == two.credit.tolist()


def test_attributes_stay_with_their_records(release, people):
    part = release.take([5, 9, 30])
    channel, code = part.attributes["postcode"].channel, part.attributes["postcode"].code
    assert channel.labels[code].tolist() == people[1][[5, 9, 30]].tolist()


def test_a_defended_release_keeps_the_attributes_and_is_attacked_with_them(release):
    defended = so.defense("drop-entries", share=0.5).apply(release, seed=3)
    who = so.Adversary(knows=2, within={"age": 0, "postcode": 0, "time": 3})
    bare = so.Adversary(knows=2, value_within=None, time_within=3)
    rates = []
    for adversary in (bare, who):
        aux = adversary.sample(release, np.arange(N), seed=3)
        rates.append(so.attack("likelihood").run(defended, aux, watch=np.arange(N)).credit.mean())
    assert rates[1] > rates[0]


def test_an_attribute_that_differs_within_a_record_is_refused():
    with pytest.raises(so.InputError, match="attribute age differs within 1 of 2 records"):
        so.Dataset.from_arrays([1, 1, 2], [1, 2, 1], attributes={"age": [30, 31, 40]})


def test_attributes_alone_need_an_attribute(release):
    with pytest.raises(so.ParameterError, match="knows=0"):
        so.Adversary(knows=0)
    ds = so.Dataset.from_arrays([1, 1, 2], [1, 2, 1], channels={"price": [1, 2, 3]})
    with pytest.raises(so.ParameterError, match="no attribute of the person is known"):
        so.Adversary(knows=0, within={"price": 0}).sample(ds, [0])


def test_one_name_is_a_channel_or_an_attribute():
    with pytest.raises(so.ParameterError, match="name it once"):
        so.Dataset.from_arrays([1], [1], channels={"age": [1]}, attributes={"age": [1]})


def test_a_saved_dataset_keeps_its_attributes(release, tmp_path):
    release.save(tmp_path / "saved")
    opened = so.Dataset.open(tmp_path / "saved")
    assert opened.fingerprint == release.fingerprint
    assert list(opened.attributes) == ["age", "postcode"]


@pytest.mark.parametrize("choose", ["popular", "event"])
@pytest.mark.parametrize("wrong", [0, 1])
def test_attributes_beside_weighted_items_add_the_same_to_every_record(
    release, people, choose, wrong
):
    """Of the records with the same postcode, scores differ as they do without it."""
    bare = so.Adversary(knows=2, wrong=wrong, time_within=3, choose=choose)
    more = so.Adversary(knows=2, wrong=wrong, choose=choose, within={"time": 3, "postcode": 0})
    targets = bare.eligible(release)[:20]
    one, other = (w.sample(release, targets, seed=2) for w in (bare, more))
    for without, beside, q in zip(
        so.attack("likelihood").scores(release, one),
        so.attack("likelihood").scores(release, other),
        targets,
        strict=True,
    ):
        same = people[1] == people[1][q]
        assert (beside[~same] == -np.inf).all()
        possible = same & np.isfinite(without)
        assert (np.isfinite(beside) == possible).all() and possible[q]
        assert np.ptp(beside[possible] - without[possible]) < 1e-6
