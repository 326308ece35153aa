"""The adaptive likelihood: the production kernel against a dense reference, on every mechanism."""

from dataclasses import replace

import numpy as np
import pytest
from adaptive_reference import Reference
from scipy import sparse

import standout as so
from standout.attacks.adaptive import compile_adaptive
from standout.data.mechanism import ItemMap, Mechanism, Origin, TimeMap
from standout.engines.memory import MemoryEngine
from standout.kernels.levels import Table
from standout.kernels.moments import Periods
from standout.scoring.partials import LOWEST
from standout.scoring.tasks import AllScores, Mass, Score

LEVELS = np.arange(1.0, 6.0)
LENGTHS = np.bincount([3, 4, 5, 5, 6, 8, 9])


def random_data(seed, n_records=10, n_items=7, repeats=False, period=None):
    rng = np.random.default_rng(seed)
    record, item, value, day = [], [], [], []
    for r in range(n_records):
        for i in rng.choice(n_items, rng.integers(2, n_items), replace=False):
            for _ in range(rng.integers(1, 3) if repeats else 1):
                record.append(r)
                item.append(int(i))
                value.append(float(rng.integers(1, 6)))
                day.append(float(rng.integers(11_000, 11_150)))
    if period:
        day = Periods(period).draw(np.array(day, np.int64)).astype(float)
    # every level occurs, so that the scale is the same
    return so.Dataset.from_arrays(
        [*record, *[99] * 5], [*item, *range(5)], [*value, *LEVELS], [*day, *day[:5]]
    )


def thirds():
    """Each value moves one step down or up with a probability of a quarter each, clipped."""
    chance = 0.5 * np.eye(5) + 0.25 * np.eye(5, k=1) + 0.25 * np.eye(5, k=-1)
    chance[0, 0] += 0.25
    chance[4, 4] += 0.25
    return Table(LEVELS, LEVELS, sparse.csr_array(chance))


CHANNELS = {
    "nothing": Mechanism(),
    "drop": Mechanism(lost=0.4),
    "drop events": Mechanism(lost=0.3, hidden=0.2),
    "withheld": Mechanism(kept_pairs=0.7),
    "sample": Mechanism(sampled=0.5),
    "cap": Mechanism(cap=4, source_lengths=LENGTHS),
    "swap": Mechanism(moved=0.3),
    "replace": Mechanism(replaced=0.2),
    "attributes": Mechanism(attributes=0.5),
    "values": Mechanism(value=thirds()),
    "month": Mechanism(time=TimeMap(period="month")),
    "shift": Mechanism(time=TimeMap(shift=12)),
    "shift then week": Mechanism(time=TimeMap(shift=10, period="week")),
    "week then shift": Mechanism(time=TimeMap(shift=9, period="week", period_first=True)),
    "all": Mechanism(
        lost=0.2,
        kept_pairs=0.8,
        cap=5,
        source_lengths=LENGTHS,
        moved=0.1,
        attributes=0.2,
        value=thirds(),
        time=TimeMap(shift=5),
    ),
}
ADVERSARIES = {
    "exact": so.Adversary(knows=3, time_within=0),
    "rough": so.Adversary(knows=3, value_within=1, time_within=14),
    "one wrong value": so.Adversary(knows=3, wrong=1, value_within=1, time_within=14),
    "one wrong item": so.Adversary(
        knows=3, wrong=1, wrong_kind="item", value_within=1, time_within=14
    ),
    "a third wrong": so.Adversary(knows=3, wrong=0.3, value_within=1, time_within=14),
    "a third wrong items": so.Adversary(
        knows=3, wrong=0.3, wrong_kind="item", value_within=1, time_within=14
    ),
    "items alone": so.Adversary(knows=2, value_within=None),
}


def released(seed, mechanism, repeats=False):
    period = mechanism.time.period if mechanism.time else None
    release = random_data(seed + 1000, repeats=repeats, period=period)
    return replace(release, origin=Origin(random_data(seed, repeats=repeats), None, mechanism))


def scores(release, knowledge, exclude, floor):
    """Production scores of all records, and the plan's rounding unit."""
    facts = knowledge.bind(release)
    plan = compile_adaptive(release, facts, exclude, floor)
    whole = (
        MemoryEngine().map(AllScores(plan, release.n_records), [release.index]).score.astype(float)
    )
    return np.where(whole == LOWEST, -np.inf, whole / plan.scale[:, None]), plan


def compare(release, who, seed, floor=1e-6, n=3, exclude=None, within=1e-7):
    knowledge = who.sample(release.source, seed=seed)
    few = np.arange(min(n, knowledge.n_queries))
    knowledge = who.sample(release.source, who.eligible(release.source)[few], seed)
    gone = np.full(few.size, -1) if exclude is None else np.asarray(exclude)[few]
    found, plan = scores(release, knowledge, gone, floor)
    facts = knowledge.bind(release)
    assert facts.from_source and not facts.from_release
    for q in few:
        at = slice(facts.query_ptr[q], facts.query_ptr[q + 1])
        here = facts.item[at] >= 0
        day = facts.day[at] - release.first_tick
        told = list(
            zip(
                facts.item[at][here].tolist(),
                facts.value[at][here].tolist(),
                day[here].tolist(),
                strict=True,
            )
        )
        reference = Reference(release, who, floor, gone[q])
        chance = None if facts.chance is None else facts.chance[at][here]
        for r in range(release.n_records):
            wanted = -np.inf if r == gone[q] else reference.llr(r, told, int((~here).sum()), chance)
            if np.isinf(wanted):
                assert found[q, r] == wanted
            else:
                assert found[q, r] == pytest.approx(wanted, abs=within + 1.0 / plan.scale[q])


@pytest.mark.parametrize("name", CHANNELS)
@pytest.mark.parametrize("who", ["rough", "one wrong value"])
def test_the_kernel_equals_the_dense_reference_on_every_mechanism(name, who):
    compare(released(3, CHANNELS[name]), ADVERSARIES[who], seed=5, n=2)


@pytest.mark.parametrize("who", ADVERSARIES)
def test_the_kernel_equals_the_dense_reference_for_every_kind_of_knowledge(who):
    compare(released(4, CHANNELS["all"]), ADVERSARIES[who], seed=6, n=1)
    compare(released(4, CHANNELS["drop"]), ADVERSARIES[who], seed=6, n=2)


@pytest.mark.parametrize("wrong", [0, 1])
def test_products_of_many_facts_far_beyond_1e100_and_below_1e_minus_100_equal_the_dense_reference(
    wrong,
):
    # the release lost a person, and is else as the source
    release, source = (random_data(4, n_records=n, n_items=60) for n in (4, 5))
    release = replace(release, origin=Origin(source, None, CHANNELS["drop"]))
    who = so.Adversary(knows=40, wrong=wrong, time_within=0)
    found, _ = scores(
        release, who.sample(source, seed=3), np.full(who.eligible(source).size, -1), 1e-6
    )
    assert found.max() > np.log(1e100) and found.min() < np.log(1e-100)
    compare(release, who, seed=3, n=2)


def test_attributes_that_only_two_holders_could_swap_equal_the_dense_reference():
    # the release lost a person, so that the facts fit entries of it
    source, release = (random_data(3, n_records=n, n_items=20) for n in (5, 4))
    release = replace(release, origin=Origin(source, None, CHANNELS["attributes"]))
    knowledge = ADVERSARIES["rough"].sample(source, np.arange(3), 5).bind(release)
    assert (release.supports[knowledge.item[knowledge.item >= 0]] == 2).any()
    compare(release, ADVERSARIES["rough"], seed=5)


@pytest.mark.parametrize("name", ["drop events", "attributes", "shift"])
def test_repeated_events_count_as_one_pair_with_a_random_event(name):
    compare(released(7, CHANNELS[name], repeats=True), ADVERSARIES["rough"], seed=5, n=2)


@pytest.mark.parametrize("name", ["drop", "swap", "all"])
def test_an_excluded_record_counts_nowhere(name):
    release = released(8, CHANNELS[name])
    compare(release, ADVERSARIES["one wrong item"], seed=5, n=2, exclude=np.array([2, 5]))


def test_without_a_floor_records_that_contradict_are_no_candidates():
    compare(released(9, CHANNELS["nothing"]), ADVERSARIES["exact"], seed=5, floor=0.0)


def grouped(source, lost):
    names = ItemMap(source.item_labels, np.array([0, 0, 0, 1, 1, 2, 2]), np.ones(7))
    at = np.searchsorted(names.source, source.item_labels[source.record_item])
    record = np.repeat(np.arange(source.n_records), np.diff(source.record_ptr))
    keep = "keep" if source.has_repeats else "last"
    release = so.Dataset.from_arrays(
        record,
        names.release[at],
        source.levels[source.record_code],
        source.record_tick + float(source.first_tick),
        repeats=keep,
    )
    assert release.has_repeats == source.has_repeats
    return replace(release, origin=Origin(source, None, Mechanism(items=names, lost=lost)))


@pytest.mark.parametrize("who", ["rough", "a third wrong", "one wrong item"])
def test_two_facts_on_one_released_item_need_two_entries(who):
    source = random_data(11, repeats=True)
    for lost in (0.0, 0.3):
        compare(grouped(source, lost), ADVERSARIES[who], seed=2, n=2)


@pytest.mark.parametrize("who", ["rough", "one wrong item"])
def test_of_the_facts_on_a_merged_group_one_may_be_about_the_entry_that_is_shown(who):
    source = random_data(11)
    for lost in (0.0, 0.3):
        compare(grouped(source, lost), ADVERSARIES[who], seed=2, n=2, within=2e-3)


def test_an_unsure_match_of_names_counts_by_its_chance():
    source = random_data(12)
    release = random_data(1012)
    names = ItemMap(source.item_labels, source.item_labels[::-1].copy(), np.linspace(0.2, 1.0, 7))
    renamed = replace(release, origin=Origin(source, None, Mechanism(items=names)))
    knowledge = ADVERSARIES["rough"].sample(source, seed=5)
    facts = knowledge.bind(renamed)
    at = np.searchsorted(source.item_labels, knowledge.item)
    assert np.array_equal(facts.item, 6 - at)
    assert np.array_equal(facts.chance, names.chance[at])
    compare(renamed, ADVERSARIES["rough"], seed=5)


def test_facts_about_withheld_items_change_nothing():
    source = random_data(13)
    kept = source.item_labels[:4]
    release = random_data(1013)
    release = release.select(np.isin(release.item_labels, kept), drop_empty=False)
    release = replace(release, origin=Origin(source, None, Mechanism(kept_pairs=0.6)))
    for who in ("rough", "one wrong value", "a third wrong"):
        compare(release, ADVERSARIES[who], seed=5)


@pytest.mark.parametrize("name", ["drop", "swap", "all"])
def test_any_cut_into_shards_gives_the_same_scores_and_partials(name):
    release = released(21, CHANNELS[name])
    facts = ADVERSARIES["one wrong value"].sample(release.source, seed=3).bind(release)
    plan = compile_adaptive(release, facts, np.where(np.arange(facts.n_queries) % 2, 4, -1))
    one, many = [release.index], release.shards(4, block_size=2)
    for task in (AllScores(plan, release.n_records), Score(plan, k=3)):
        whole, parts = (MemoryEngine(threads=2).map(task, shards) for shards in (one, many))
        for a, b in zip(whole, parts, strict=True):
            assert np.asarray(a) == pytest.approx(np.asarray(b))
    top = MemoryEngine().map(Score(plan), one).best_score
    masses = [
        MemoryEngine().map(Mass(plan, top, 1.0 / plan.scale), shards).total
        for shards in (one, many)
    ]
    assert masses[0] == pytest.approx(masses[1], rel=1e-9)
