"""Laws of attackers on defended releases: who knows the defense does no worse, and no defense helps the attacker."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import standout as so
from standout.data.mechanism import Mechanism, Origin
from standout.defenses.parse import parse_defense
from standout.errors import ParameterError
from standout.experiment.subject import places

FAR = 3.3
"""Standard errors beyond which a difference is not sampling error."""

DEFENSES = (
    "drop-entries(share=0.5)",
    "drop-rare-items(min_support=8)",
    "keep-top-items(k=30)",
    "cap-entries(most=8)",
    "sample-records(share=0.5)",
    "round-values(step=3)",
    "noise-values(within=1)",
    "geometric-values(a=0.5)",
    "drop-values()",
    "coarsen-time(to=month)",
    "shift-time(days=60)",
    "drop-time()",
    "swap-entries(share=0.3)",
    "swap-attributes(share=0.5)",
    "opaque-items()",
    "suppress-km(k=3, m=2)",
    "randomized-response(epsilon=4)",
    "drop-entries(share=0.3) | coarsen-time(to=month)",
    "shift-time(days=30) | coarsen-time(to=week)",
)
KINDS = {
    "exact": so.Adversary(knows=2, time_within=0),
    "rough": so.Adversary(knows=2, value_within=1, time_within=14),
    "one wrong": so.Adversary(knows=4, wrong=1, value_within=1, time_within=14),
}


def people(seed=0, n=220, n_items=80):
    """Popularity falls with the item's number, records differ in length and taste, a person's days lie close together."""
    rng = np.random.default_rng(seed)
    weight = 1 / (1 + np.arange(n_items)) ** 0.7
    record, item, value, day = [], [], [], []
    for r in range(n):
        length = int(np.clip(rng.lognormal(2.4, 0.5), 5, 40))
        items = rng.choice(n_items, length, replace=False, p=weight / weight.sum())
        middle, taste = rng.uniform(11_000, 11_700), rng.normal(3.2, 0.6)
        for i in items:
            record.append(r)
            item.append(int(i))
            value.append(float(np.clip(np.rint(taste + rng.normal(0, 1)), 1, 5)))
            day.append(float(int(middle + rng.normal(0, 40))))
    return so.Dataset.from_arrays(record, item, value, day)


@pytest.fixture(scope="module")
def source():
    return people()


def credit(source, release, who, seed=1, **options):
    targets = who.eligible(source)
    knowledge = who.sample(source, targets, seed)
    place = targets if release is source else places(source, release)[targets]
    attack = so.attack("likelihood", calibrate=False, **options)
    return np.where(
        place >= 0, attack.run(release, knowledge, watch=place, lineup=False).credit, 0.0
    )


def below(first, second):
    """Whether the first rate is smaller than the second, beyond the error of the paired difference.

    A tie among k records is a hit with probability 1/k: its variance counts too.
    """
    gap = second - first
    ties = (first * (1 - first) + second * (1 - second)).mean()
    return gap.mean() > FAR * max(np.sqrt((gap.var() + ties) / gap.size), 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", DEFENSES)
def test_knowing_the_defense_is_no_disadvantage_and_no_defense_helps(source, text, kind):
    who, release = KINDS[kind], parse_defense(text).apply(source, seed=5)
    adaptive = credit(source, release, who)
    assert not below(adaptive, credit(source, release, who, adapt=False))
    assert not below(adaptive, credit(source, release, who, adapt="ignore"))
    assert not below(credit(source, source, who), adaptive)


@pytest.mark.parametrize(
    "chain",
    [
        (
            "drop-time()",
            "coarsen-time(to=year)",
            "coarsen-time(to=month)",
            "coarsen-time(to=week)",
            "",
        ),
        ("drop-values()", "round-values(step=3)", "round-values(step=2)", ""),
        ("drop-entries(share=0.9)", "drop-entries(share=0.6)", "drop-entries(share=0.3)", ""),
    ],
)
def test_a_weaker_defense_leaves_no_fewer_people_found(source, chain):
    who = KINDS["rough"]
    found = [
        credit(source, parse_defense(text).apply(source, seed=5) if text else source, who)
        for text in chain
    ]
    for stronger, weaker in pairwise(found):
        assert not below(weaker, stronger)


def test_a_naive_attacker_who_trusts_shifted_dates_defeats_herself(source):
    release = parse_defense("shift-time(days=365)").apply(source, seed=5)
    who = so.Adversary(knows=2, value_within=1, time_within=3)
    naive, ignored, adaptive = (
        credit(source, release, who, adapt=a) for a in (False, "ignore", True)
    )
    assert below(naive, ignored)
    assert below(ignored, adaptive)


def test_a_release_without_entries_gives_the_baseline(source):
    empty = source.with_entries(np.zeros(source.n_entries, np.bool_))
    release = replace(empty, origin=Origin(source, None, Mechanism(lost=1.0)))
    found = credit(source, release, KINDS["rough"])
    assert found == pytest.approx(1 / source.n_records)


def test_a_defense_of_strength_zero_is_attacked_as_the_source(source):
    who = KINDS["one wrong"]
    for text in ("drop-entries(share=0)", "shift-time(days=0)", "swap-entries(share=0)"):
        release = parse_defense(text).apply(source, seed=5)
        assert np.array_equal(credit(source, release, who), credit(source, source, who))


@settings(max_examples=5, deadline=None)
@given(
    share=st.floats(0.05, 0.9),
    seed=st.integers(0, 2**32),
    name=st.sampled_from(["drop-entries", "swap-entries", "swap-attributes"]),
)
def test_renaming_and_reordering_records_changes_no_adaptive_credit(share, seed, name):
    data = people(3, n=40, n_items=50)
    record = np.repeat(np.arange(data.n_records), np.diff(data.record_ptr))
    label = np.random.default_rng(seed).permutation(data.n_records)
    renamed = so.Dataset.from_arrays(
        label[record],
        data.item_labels[data.record_item],
        data.levels[data.record_code],
        data.record_tick + float(data.first_tick),
    )
    defense, who = so.defense(name, share=share), KINDS["rough"]
    one, other = (credit(d, defense.apply(d, seed=2), who) for d in (data, renamed))
    assert np.sort(one) == pytest.approx(np.sort(other))


def test_the_posterior_of_a_sampled_release_counts_people_who_are_not_in_it(source):
    who = so.Adversary(knows=2, value_within=1)
    release = parse_defense("sample-records(share=0.3)").apply(source, seed=5)
    knowledge = who.sample(source, who.eligible(source), 1)
    whole = replace(release, origin=replace(release.origin, mechanism=Mechanism(lost=1e-9)))
    attack = so.attack("likelihood", calibrate=False)
    assert (
        attack.run(release, knowledge).absent >= attack.run(whole, knowledge).absent - 1e-9
    ).all()
    assert (
        attack.run(release, knowledge).absent.mean()
        > attack.run(whole, knowledge).absent.mean() + 0.01
    )


@pytest.mark.parametrize(
    "text",
    [
        "drop-entries(share=0.5)",
        "keep-top-items(k=30)",
        "cap-entries(most=6)",
        "shift-time(days=60)",
        "drop-time()",
    ],
)
def test_calibration_on_the_release_of_the_release_brings_absent_nearer_to_the_truth(source, text):
    who, release = KINDS["one wrong"], parse_defense(text).apply(source, seed=5)
    targets = who.eligible(source)
    place = places(source, release)[targets]
    targets, place = targets[place >= 0], place[place >= 0]
    knowledge = who.sample(source, targets, 1)
    loss = []
    for calibrate in (True, False):
        attack = so.attack("likelihood", calibrate=calibrate)
        present, absent = (
            attack.run(release, knowledge, exclude=gone).absent for gone in (None, place)
        )
        loss.append(-np.log(np.clip(np.concatenate([1 - present, absent]), 1e-6, 1)).mean())
    assert attack.fit(release, knowledge).presence.n == 0
    # where the model's independence holds, as for lost entries of this data, there is little to
    # calibrate
    assert loss[0] < loss[1] + (0.05 if "time" not in text else 0.0)


def test_adapt_takes_three_words_only():
    with pytest.raises(ParameterError, match="adapt='no'"):
        so.attack("likelihood", adapt="no")


def test_naive_runs_on_a_release_that_was_made_elsewhere(source):
    record = np.repeat(np.arange(source.n_records), np.diff(source.record_ptr))
    release = source.take(np.arange(source.n_records) % 2 == 0)
    assert release.mechanism is None and record.size
    found = credit(source, release, KINDS["rough"], adapt=False)
    assert 0.2 < found.mean() <= 0.5 + 1e-9


def test_a_naive_attacker_does_not_know_which_secret_name_stands_for_which_item(source):
    # labels that no release of opaque items has
    named = source.with_entries(
        item=source.record_item,
        item_labels=np.array([f"item {i:03}" for i in range(source.n_items)]),
    )
    release = parse_defense("opaque-items()").apply(named, seed=5)
    naive, ignored, adaptive = (
        credit(named, release, KINDS["rough"], adapt=a) for a in (False, "ignore", True)
    )
    assert naive == pytest.approx(1 / named.n_records)
    assert below(naive, ignored) and not below(adaptive, ignored)
    grouped = parse_defense("group-items(groups=40)").apply(named, seed=5)
    assert credit(named, grouped, KINDS["rough"], adapt=False).mean() > 0.1


@pytest.mark.parametrize("text", DEFENSES)
def test_fitting_the_noise_is_no_disadvantage_to_an_attacker_who_does_not_know_the_defense(
    source, text
):
    release = parse_defense(text).apply(source, seed=5)
    fitted, naive = (
        credit(source, release, KINDS["rough"], **options)
        for options in ({"noise": "fit"}, {"adapt": False})
    )
    assert not below(fitted, naive)
