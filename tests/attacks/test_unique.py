"""Unique: the target's record is the only one that could have produced what is known, by brute force."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Query, Table
from strategies import adversaries, dataset, fitted, queries_of, random_table, tables

import standout as so
from standout.attacks.unique import is_unique, why_not_unique


@dataclass(frozen=True)
class Brute:
    """What an adversary's facts exclude, record by record and fact by fact."""

    table: Table
    who: so.Adversary

    @cached_property
    def span(self) -> float:
        scale = self.table.scale()
        return scale[-1] - scale[0] if scale else 0.0

    def inside(self, fact: Fact, event: Entry) -> bool:
        """Whether the event has a value within the tolerance of the known one."""
        within = self.who.value_within if self.who.gamma is None else self.who.gamma * self.span
        if isinstance(within, str):
            within = float(within.rstrip("%")) / 100 * abs(event.value)
        return abs(event.value - fact.value) <= (within or 0.0) + 1e-9

    def near(self, fact: Fact, event: Entry) -> bool:
        return abs(event.day - fact.day) <= (self.who.time_within or 0)

    def right(self, fact: Fact, event: Entry) -> bool:
        """Whether the event agrees with the fact in every known channel."""
        value, day = oracle.knows_value(self.table, fact), oracle.knows_day(self.table, fact)
        return (not value or self.inside(fact, event)) and (not day or self.near(fact, event))

    def off(self, fact: Fact, event: Entry) -> bool:
        """Whether the event disagrees with the fact in every known channel, of which there is at least one."""
        value, day = oracle.knows_value(self.table, fact), oracle.knows_day(self.table, fact)
        if value and (math.isnan(event.value) or self.inside(fact, event)):
            return False
        if day and (math.isnan(event.day) or self.near(fact, event)):
            return False
        return value or day

    def told_alike(self, fact: Fact, event: Entry) -> bool:
        """Whether the event has the channels that the fact tells."""
        value = self.who.value_within is not None or self.who.gamma is not None
        same_value = not (self.table.values and value) or math.isnan(event.value) == math.isnan(
            fact.value
        )
        same_day = not (self.table.days and self.who.time_within is not None) or math.isnan(
            event.day
        ) == math.isnan(fact.day)
        return same_value and same_day

    def could_be(self, facts: Query, record: int) -> bool:
        """Whether the record could have produced the facts with exactly `who.wrong` of them wrong."""
        fine, bad = [], []
        for fact in facts:
            events = self.table.events(record, fact.item)
            told = [e for e in events if self.told_alike(fact, e)]
            fine.append(any(self.right(fact, e) for e in told))
            bad.append(
                not events
                if self.who.wrong_kind == "item"
                else any(self.off(fact, e) for e in told)
            )
        places = range(len(facts))
        return any(
            all(bad[k] if k in chosen else fine[k] for k in places)
            for chosen in combinations(places, int(self.who.wrong))
        )

    def records(self, facts: Query, length: float = NAN) -> list[int]:
        """Indices of the records that could have produced the facts."""
        able = [r for r, record in enumerate(self.table.records) if self.could_be(facts, record)]
        if self.who.length_within is None or math.isnan(length):
            return able
        fits = oracle.passes_length(self.table, length, self.who.length_within)
        return [r for r in able if fits[r]]


def check(table: Table, who: so.Adversary, seed: int, most: int = 25) -> np.ndarray:
    """Compare `is_unique` with brute force; the answers."""
    data, brute = dataset(table), Brute(table, who)
    targets = who.eligible(data)[:most]
    if not targets.size:
        return np.empty(0, np.bool_)
    aux = who.sample(data, targets, seed)
    got = is_unique(data, aux, targets)
    for q, facts in enumerate(queries_of(aux)):
        able = brute.records(facts, aux.length[q])
        assert targets[q] in able, "the target itself could not have produced its facts"
        assert got[q] == (able == [targets[q]])
    return got


@given(table=tables(min_records=2), who=adversaries(), seed=st.integers(0, 99))
def test_unique_equals_brute_force(table, who, seed):
    who = fitted(who, table)
    if not why_not_unique(who):
        check(table, who, seed)


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"knows": 3, "value_within": 0, "time_within": 0},
        {"knows": 3, "value_within": 1, "time_within": 14},
        {"knows": 4, "wrong": 1, "wrong_kind": "value", "value_within": 1, "time_within": 14},
        {"knows": 4, "wrong": 2, "wrong_kind": "value", "value_within": 0},
        {"knows": 3, "wrong": 1, "wrong_kind": "value", "value_within": None, "time_within": 30},
        {"knows": 4, "wrong": 1, "wrong_kind": "item", "value_within": 1, "time_within": 14},
        {"knows": 5, "wrong": 2, "wrong_kind": "item", "value_within": None},
        {"knows": 3, "value_within": "20%"},
        {"knows": 3, "gamma": 0.2},
        {"knows": 3, "wrong": 1, "gamma": 0.1},
        {"knows": 2, "value_within": 1, "length_within": 0.5},
        {"knows": 3, "wrong": 1, "wrong_kind": "item", "value_within": None, "length_within": 0.2},
        {"knows": 2, "value_within": None, "choose": "outside-top:3"},
    ],
)
def test_unique_equals_brute_force_on_a_release_of_several_blocks(options, repeats):
    for missing in (0.0, 0.1):
        table = random_table(201, 23, 5, seed=5, missing=missing, repeats=repeats)
        assert check(table, so.Adversary(**options), seed=3, most=10).size


def test_twins_are_not_unique_and_a_planted_record_is():
    twins = [Entry(r, i, 3.0) for r in (0, 1) for i in (1, 2, 3)]
    others = [Entry(r, i, 3.0) for r in range(2, 30) for i in (1 + r % 3, 4, 5)]
    planted = [Entry(30, i, 3.0) for i in (1, 2, 5)]
    data = dataset(Table((*twins, *others, *planted), days=False))
    for wrong, kind in ((0, "value"), (1, "item")):
        who = so.Adversary(knows=3 + wrong, wrong=wrong, wrong_kind=kind)
        targets = np.array([0, 1, 30])
        assert is_unique(data, who.sample(data, targets, 1), targets).tolist()[:2] == [False, False]
    who = so.Adversary(knows=3)
    assert is_unique(data, who.sample(data, targets, 1), targets).tolist() == [False, False, True]


def test_a_person_who_is_not_released_is_not_unique():
    data = dataset(random_table(60, 12, 4, seed=2))
    who = so.Adversary(knows=3)
    targets = who.eligible(data)[:8]
    assert not is_unique(data, who.sample(data, targets, 1), np.full(targets.size, -1)).any()


@pytest.mark.parametrize(
    "options",
    [
        {"knows": 3},
        {"knows": 4, "wrong": 1, "wrong_kind": "item", "value_within": None},
        {"knows": 3, "wrong": 1},
    ],
)
def test_in_another_release_agreement_with_what_is_released_counts(options):
    table = random_table(120, 12, 4, seed=6, days=False)
    source, who = dataset(table), so.Adversary(**options)
    kept = tuple(e for k, e in enumerate(table.entries) if k % 4)
    release, less = dataset(Table(kept, days=False)), Table(kept, days=False)
    aux = who.sample(source, who.eligible(source)[:30], 3)
    target = np.array(
        [
            less.records.index(table.records[r]) if table.records[r] in less.records else -1
            for r in who.eligible(source)[:30]
        ]
    )
    got = is_unique(release, aux, target)
    for q, facts in enumerate(queries_of(aux)):
        assert got[q] == (Brute(less, who).records(facts) == [target[q]])


def test_facts_that_may_be_wrong_with_some_probability_make_nobody_unique_by_definition():
    assert why_not_unique(so.Adversary(knows=4, wrong=0.25))
    assert not why_not_unique(so.Adversary(knows=4, wrong=1))


def test_a_fact_without_a_value_comes_only_from_an_entry_without_one():
    table = Table((Entry(0, 1, NAN), *(Entry(r, 1, 3.0) for r in (1, 2))), days=False)
    assert check(table, so.Adversary(knows=1), seed=0).tolist() == [True, False, False]
    blank = dataset(table)
    filled = dataset(Table(tuple(Entry(r, 1, 3.0) for r in (0, 1, 2)), days=False))
    aux = so.Adversary(knows=1).sample(blank, [0], 0)
    assert not is_unique(filled, aux, np.array([0])).any()
