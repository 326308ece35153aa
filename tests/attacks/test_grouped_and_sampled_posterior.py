"""Posteriors on releases with grouped items or sampled records are as often right as they say."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.attacks.defended_canaries import canaries_of
from standout.attacks.ungrouped import ungrouped
from standout.data.export import entry_days, entry_records
from standout.experiment.subject import places


def people_with_sessions(n=900, n_items=800, seed=5, repeats=False):
    """Records of 8 to 120 items by popularity, in one to three sessions of a few days; with `repeats`, some items twice."""
    rng = np.random.default_rng(seed)
    popular = rng.permutation(1 / np.arange(1, n_items + 1) ** 0.7)
    columns = [[], [], [], []]
    for r in range(n):
        length = int(np.clip(rng.lognormal(np.log(30), 0.8), 8, 120))
        item = rng.choice(n_items, length, replace=False, p=popular / popular.sum())
        item = np.concatenate([item, item[: length // 3]]) if repeats else item
        session = rng.integers(0, 1_000, rng.integers(1, 4))
        day = 12_000 + rng.choice(session, item.size) + rng.integers(0, 3, item.size)
        value = rng.integers(1, 6, item.size)
        for column, x in zip(columns, (np.full(item.size, r), item, value, day), strict=True):
            column.append(x)
    record, item, value, day = map(np.concatenate, columns)
    keep = {"repeats": "keep"} if repeats else {}
    return so.Dataset.from_arrays(record, item, value, day.astype(float), **keep)


@pytest.fixture(scope="module")
def source():
    return people_with_sessions()


def stated_and_right(source, text, who, seeds=(1, 2)):
    """Posterior and credit of people who are not canaries, and again with their records removed; unsampled people are absent."""
    said, true = [], []
    for seed in seeds:
        release = so.parse_defense(text).apply(source, seed=seed)
        place = places(source, release)
        people = np.random.default_rng(seed).permutation(who.eligible(source))
        there = people[place[people] >= 0]
        there = there[~np.isin(place[there], canaries_of(release, who)[1])]
        sampled = release.mechanism.sampled
        away = people[place[people] < 0][: round(there.size * (1 - sampled) / sampled)]
        people = np.concatenate([there, away])
        here, gone = so.attack("likelihood").run_both(
            release, who.sample(source, people, seed), place[people]
        )
        said.append(np.concatenate([here.posterior, gone.posterior]))
        true.append(np.concatenate([np.nan_to_num(here.credit), np.zeros(people.size)]))
    return np.concatenate(said), np.concatenate(true)


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("group-items(groups=100)", so.Adversary(knows=3, value_within=1, time_within=14)),
        (
            "group-items(groups=100)",
            so.Adversary(knows=6, wrong=1, wrong_kind="item", value_within=1, time_within=None),
        ),
        ("sample-records(share=0.5)", so.Adversary(knows=3, value_within=None, time_within=None)),
    ],
)
def test_groups_and_sampling_do_not_make_the_posterior_over_or_underconfident(source, text, who):
    said, true = stated_and_right(source, text, who)
    assert said.size > 1_000
    # the standard error of the observed share is about 1 point, that of the calibration as well
    assert said.mean() == pytest.approx(true.mean(), abs=0.04)


@pytest.mark.parametrize("repeats", [False, True])
def test_grouping_the_source_that_canaries_come_from_gives_the_release(repeats):
    source = people_with_sessions(n=200, repeats=repeats)
    release = so.defense("group-items", groups=50).apply(source)
    made = ungrouped(release)
    assert made.has_repeats == repeats
    names = release.mechanism.items
    groups = dict(zip(names.source.tolist(), names.release.tolist(), strict=True))
    again = so.defense("group-items", groups=groups).apply(made)
    for one, other in (
        (again.item_labels, release.item_labels),
        (entry_records(again), entry_records(release)),
        (again.record_item, release.record_item),
        (entry_days(again), entry_days(release)),
    ):
        np.testing.assert_array_equal(one, other)


def test_as_many_items_are_believed_behind_the_groups_as_there_are(source):
    release = so.defense("group-items", groups=50).apply(source)
    assert release.n_pairs < 0.7 * source.n_pairs
    assert ungrouped(release).n_pairs == pytest.approx(source.n_pairs, rel=0.1)
