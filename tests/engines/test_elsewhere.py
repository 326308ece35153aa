"""Everything that an audit does works on a catalog, fetched rows and tasks: the records may lie anywhere."""

import numpy as np
import pytest
from elsewhere import Elsewhere
from same_findings import assert_same_findings

import standout as so
from standout.data.synthetic import twin_dataset
from standout.data.totals import ON_SPARK, unordered_fingerprint

WHO = {
    "exact": so.Adversary(knows=3),
    "dated": so.Adversary(knows=2, value_within=1, time_within=14),
    "wrong value": so.Adversary(knows=4, wrong=1, value_within=1, time_within=14),
    "wrong item": so.Adversary(knows=4, wrong=1, wrong_kind="item", value_within=1, time_within=14),
    "sometimes wrong": so.Adversary(knows=4, wrong=0.25, wrong_kind="item", value_within=0),
    "unpopular": so.Adversary(knows=3, choose="outside-top:20", value_within=1),
    "rare": so.Adversary(knows=3, choose="rare:0.5@0.2", value_within=1),
    "length": so.Adversary(knows=3, length_within=0.3, value_within=None),
}


@pytest.fixture(scope="module")
def here():
    return twin_dataset(300, 90, seed=5, mean_length=14)


@pytest.fixture(scope="module")
def repeated():
    rng = np.random.default_rng(3)
    record, item = rng.integers(0, 200, 5000), (90 * rng.random(5000) ** 4).astype(int)
    value = rng.integers(1, 6, 5000).astype(float)
    value[rng.random(5000) < 0.1] = np.nan
    return so.Dataset.from_arrays(record, item, value, rng.integers(0, 400, 5000))


@pytest.fixture(scope="module", params=["here", "repeated"])
def pair(request):
    data = request.getfixturevalue(request.param)
    return data, Elsewhere(data, [0, 37, 150, data.n_records])


@pytest.mark.parametrize("who", WHO.values(), ids=WHO)
def test_targets_and_knowledge_are_the_same_wherever_the_records_lie(pair, who):
    here, there = pair
    n, targets = who.choose_targets(here, 15, seed=3)
    n_there, targets_there = who.choose_targets(there, 15, seed=3)
    assert (n, targets.tolist()) == (n_there, targets_there.tolist())
    assert n == who.n_eligible(there) == who.eligible(here).size > 15
    one, other = (who.sample(data, targets, seed=3) for data in (here, there))
    for name in ("item", "value", "time", "length"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_knowledge_drawn_in_memory_is_recognized_on_the_same_data_on_a_cluster(pair):
    here, there = pair
    far = Elsewhere(here, [0, 50, here.n_records])
    far._fingerprint = unordered_fingerprint(there)
    assert far.fingerprint.startswith(ON_SPARK)
    others = here.with_entries(value=np.roll(here.levels[np.minimum(here.record_code, 4)], 1))
    for source, expected in ((here, True), (there, True), (far, True), (others, False)):
        aux = WHO["dated"].sample(source, np.arange(10), seed=3)
        assert aux.bind(far).from_release == expected


@pytest.mark.parametrize("name", so.attack_names())
@pytest.mark.parametrize("who", ["dated", "wrong value", "wrong item", "unpopular"])
def test_every_attack_gives_the_same_answers_wherever_the_records_lie(pair, who, name):
    targets = WHO[who].choose_targets(pair[0], 30, seed=3)[1]
    found = []
    for data in pair:
        knowledge = WHO[who].sample(data, targets, seed=3)
        found.append(so.attack(name).run_both(data, knowledge, targets))
    for one, other in zip(*found, strict=True):
        for exact in ("best", "n_tied", "rank", "matched", "n_candidates"):
            np.testing.assert_array_equal(getattr(one, exact), getattr(other, exact), err_msg=exact)
        for close in ("sigma", "posterior", "absent", "bits", "share"):
            np.testing.assert_allclose(
                getattr(one, close), getattr(other, close), rtol=1e-9, atol=1e-12, err_msg=close
            )


@pytest.mark.parametrize("shift", [0, 1], ids=["the watched record", "another record"])
def test_a_record_that_is_left_out_has_no_score_of_its_own_wherever_the_records_lie(pair, shift):
    who = WHO["dated"]
    targets = who.choose_targets(pair[0], 30, seed=3)[1]
    one, other = (
        so.attack("scoreboard-rh").run(
            data, who.sample(data, targets, seed=3), watch=targets, exclude=np.roll(targets, shift)
        )
        for data in pair
    )
    np.testing.assert_array_equal(one.rank, other.rank)
    np.testing.assert_allclose(one.bits, other.bits, rtol=1e-9)


def test_noise_is_fitted_the_same_wherever_the_records_lie(pair):
    who = WHO["sometimes wrong"]
    targets = who.choose_targets(pair[0], 60, seed=4)[1]
    outside = [who.sample(data, targets, seed=4) for data in pair]
    fits = [
        so.attack("likelihood", noise="fit").fit(d, k)._noise
        for d, k in zip(pair, outside, strict=True)
    ]
    assert fits[0].e == pytest.approx(fits[1].e, rel=1e-9)
    assert fits[0].h == pytest.approx(fits[1].h, rel=1e-9)


def test_a_whole_audit_gives_the_same_findings_wherever_the_records_lie(here):
    there = Elsewhere(here, [0, 100, 300])
    adversaries = [WHO["dated"], WHO["wrong item"]]
    one, other = (
        so.Audit(data, adversaries, targets=30, seed=2, describe=False) for data in (here, there)
    )
    assert_same_findings(one.run(progress=False), other.run(progress=False))


def test_the_default_sweep_is_chosen_from_the_catalog(here):
    there = Elsewhere(here, [0, 100, 300])
    assert so.Audit(there, targets=20).adversaries == so.Audit(here, targets=20).adversaries
