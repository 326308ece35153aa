"""Changes of data and knowledge whose effect on the hits is known without computing any score, for every attack."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import standout as so

N_RECORDS, N_ITEMS = 80, 40
NAMES = so.attack_names()
EVERYONE = np.arange(N_RECORDS)


class Rows(NamedTuple):
    record: np.ndarray
    item: np.ndarray
    value: np.ndarray
    day: np.ndarray

    def dataset(self, which: str) -> so.Dataset:
        return so.Dataset.from_arrays(
            self.record,
            self.item,
            self.value if "v" in which else None,
            self.day if "t" in which else None,
        )

    def and_rows(self, other: Rows) -> Rows:
        return Rows(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


@pytest.fixture(scope="module")
def rows() -> Rows:
    """80 people with 4 to 11 items; some items are held by many."""
    rng = np.random.default_rng(3)
    popular = 1 / np.arange(1, N_ITEMS + 1) ** 0.7
    held = [
        rng.choice(N_ITEMS, rng.integers(4, 12), replace=False, p=popular / popular.sum())
        for _ in EVERYONE
    ]
    record, item = np.repeat(EVERYONE, [len(h) for h in held]), np.concatenate(held)
    return Rows(record, item, rng.integers(1, 6, item.size), rng.integers(0, 60, item.size))


class Case(NamedTuple):
    channels: str
    who: so.Adversary


CASES = {
    "items": Case("", so.Adversary(knows=4, value_within=None)),
    "exact": Case("vt", so.Adversary(knows=4, time_within=0)),
    "rough": Case("vt", so.Adversary(knows=4, wrong=1, value_within=1, time_within=7)),
    "values": Case("v", so.Adversary(knows=3, value_within=1)),
}


def told(knowledge, item=None, shift=0.0):
    """The same facts as arrays, for data with other labels of items or with shifted days."""
    query = np.repeat(knowledge.queries, np.diff(knowledge.query_ptr))
    labels = np.asarray(knowledge.item)
    value, day = (None if np.isnan(x).all() else x for x in (knowledge.value, knowledge.time))
    return so.Knowledge.from_arrays(
        query,
        labels if item is None else item[labels.astype(int)],
        value,
        None if day is None else day + shift,
    )


def credit(name, dataset, knowledge, watch=EVERYONE):
    return so.attack(name).run(dataset, knowledge, watch=watch, lineup=False).credit


@pytest.fixture(params=CASES)
def case(request, rows):
    it = CASES[request.param]
    data = rows.dataset(it.channels)
    return it, data, it.who.sample(data, EVERYONE, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_renaming_all_records_and_items_changes_no_hit(name, case, rows):
    it, data, known = case
    rng = np.random.default_rng(7)
    record, item = rng.permutation(N_RECORDS) + 1000, rng.permutation(N_ITEMS) + 500
    renamed = rows._replace(record=record[rows.record], item=item[rows.item]).dataset(it.channels)
    there = np.searchsorted(renamed.record_labels, record)
    np.testing.assert_array_equal(
        credit(name, renamed, told(known, item), there), credit(name, data, told(known))
    )


@pytest.mark.parametrize("name", NAMES)
def test_reordering_the_rows_and_the_queries_changes_no_hit(name, case, rows):
    it, data, known = case
    rng = np.random.default_rng(8)
    order = rng.permutation(rows.item.size)
    moved = Rows(*(column[order] for column in rows)).dataset(it.channels)
    turn = rng.permutation(N_RECORDS)
    again = it.who.sample(data, turn, seed=1)
    np.testing.assert_array_equal(
        credit(name, moved, told(again), turn), credit(name, data, told(known))[turn]
    )


@pytest.mark.parametrize("name", NAMES)
def test_shifting_all_days_changes_no_hit(name, case, rows):
    it, data, known = case
    later = rows._replace(day=rows.day + 777).dataset(it.channels)
    np.testing.assert_array_equal(
        credit(name, later, told(known, shift=777)), credit(name, data, told(known))
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_second_copy_of_every_record_halves_every_hit(name, case, rows):
    it, data, known = case
    twice = rows.and_rows(rows._replace(record=rows.record + N_RECORDS)).dataset(it.channels)
    np.testing.assert_allclose(
        credit(name, twice, told(known)), credit(name, data, told(known)) / 2, rtol=1e-12
    )


@pytest.mark.parametrize(
    "name", [name for name in NAMES if name != "tf-idf"]
)  # its weights depend on the number of records
def test_records_of_other_items_change_no_hit(name, case, rows):
    it, data, known = case
    rng = np.random.default_rng(9)
    n = 50
    others = Rows(
        np.repeat(N_RECORDS + np.arange(n), 5),
        np.tile(N_ITEMS + np.arange(5), n),
        rng.integers(1, 6, 5 * n),
        rng.integers(0, 60, 5 * n),
    )
    before = credit(name, data, told(known))
    after = credit(name, rows.and_rows(others).dataset(it.channels), told(known))
    # where no record fits at all, everybody ties, and more people share the hit
    ties = before <= 1 / N_RECORDS
    np.testing.assert_array_equal(after[~ties], before[~ties])
    assert (after[ties] <= before[ties]).all()


def prefix(known, k):
    """The first k facts of every query."""
    at = known.query_ptr[:-1, None] + np.arange(k)
    pick = at.reshape(-1)
    day = None if np.isnan(known.time).all() else known.time[pick]
    value = None if np.isnan(known.value).all() else known.value[pick]
    return so.Knowledge.from_arrays(
        np.repeat(known.queries, k), np.asarray(known.item)[pick], value, day
    )


def test_another_exact_fact_never_lowers_the_chance_to_guess_among_those_who_fit(rows):
    data = rows.dataset("vt")
    known = so.Adversary(knows=4, time_within=0).sample(data, EVERYONE, seed=2)
    rates = np.array([credit("unicity", data, prefix(known, k)) for k in (1, 2, 3, 4)])
    assert (np.diff(rates, axis=0) >= 0).all()
    assert rates[0].mean() < rates[-1].mean()


@pytest.mark.parametrize("within", [None, 0, 1])
def test_more_knowledge_never_lowers_the_bayes_rate(within):
    """The likelihood attack is the Bayes rule: on average over 500 people each further fact helps."""
    rng = np.random.default_rng(5)
    popular = 1 / np.arange(1, 61) ** 0.7
    held = [rng.choice(60, 8, replace=False, p=popular / popular.sum()) for _ in range(500)]
    data = so.Dataset.from_arrays(
        np.repeat(np.arange(500), 8), np.concatenate(held), rng.integers(1, 6, 4000)
    )
    everyone = np.arange(500)
    rates = []
    for k in (1, 2, 3, 4, 6, 8):
        known = so.Adversary(knows=k, value_within=within).sample(data, everyone, seed=3)
        rates.append(credit("likelihood", data, known, everyone).mean())
    # 2 points: the standard error of the difference of two rates on the same 500 people
    assert (np.diff(rates) > -0.02).all(), rates
    assert rates[-1] > rates[0] + 0.3
