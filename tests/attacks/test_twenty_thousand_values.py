"""20,000 distinct amounts are kept exactly: answers equal a dense NumPy oracle, wherever the records lie."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import standout as so
from standout.attacks import bayes, table_rows
from standout.attacks.unique import is_unique
from standout.data import background

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from spark_here import on_spark

PEOPLE, HELD, ITEMS, AMOUNTS = 300, 100, 200, 20_000
RHO_0 = 1.5
TARGETS = np.arange(0, PEOPLE, 7)

Columns = tuple[np.ndarray, np.ndarray, np.ndarray]


def columns() -> Columns:
    """Record, item and amount of each entry; 1 in 50 entries has no amount, and amounts depend a little on the item."""
    rng = np.random.default_rng(3)
    record = np.repeat(np.arange(PEOPLE), HELD)
    item = np.argsort(rng.random((PEOPLE, ITEMS)), axis=1)[:, :HELD].ravel()
    amount = np.unique(np.round(np.exp(rng.normal(3, 1, 10 * AMOUNTS)), 4))
    amount = np.sort(rng.choice(amount, AMOUNTS, replace=False))
    value = np.empty(record.size)
    # items are cheap or dear, and every amount occurs
    by_price = np.argsort(item + 60 * rng.random(item.size))
    value[by_price] = amount[(np.arange(item.size) * AMOUNTS) // item.size]
    again = np.flatnonzero(np.diff(np.sort(value), prepend=-1) == 0)
    value[np.argsort(value)[again[: item.size // 50]]] = np.nan
    return record, item, value


@pytest.fixture(scope="module")
def entries() -> Columns:
    return columns()


@pytest.fixture(scope="module")
def release(entries: Columns) -> so.Dataset:
    return so.Dataset.from_arrays(*entries)


@pytest.fixture(
    scope="module",
    params=["memory", "chunked", pytest.param("spark", marks=pytest.mark.integration)],
)
def somewhere(
    request: Any, entries: Columns, release: so.Dataset, tmp_path_factory: Any
) -> Iterator[Any]:
    """The release in memory, in a folder and on Spark."""
    if request.param == "memory":
        yield release
        return
    table = pa.table(dict(zip(("user", "item", "amount"), entries, strict=True)))
    table = table.set_column(2, "amount", pa.array(entries[2], from_pandas=True))
    if request.param == "spark":
        yield on_spark(table, record="user", item="item", value="amount", time=None)
        return
    folder = tmp_path_factory.mktemp("chunked")
    release.save(folder / "saved")
    yield so.ChunkedDataset.open(folder / "saved", work=folder / "work")


def dense(entries: Columns) -> tuple[np.ndarray, np.ndarray]:
    """(people, items): whether the person holds the item, and the amount (NaN = none)."""
    record, item, value = entries
    held, amount = np.zeros((PEOPLE, ITEMS), bool), np.full((PEOPLE, ITEMS), np.nan)
    held[record, item], amount[record, item] = True, value
    return held, amount


def told(release: so.Dataset, **options: Any) -> tuple[so.Knowledge, np.ndarray, np.ndarray]:
    """Knowledge of the targets, and its items and values, a row per target."""
    who = so.Adversary(knows=4, **options)
    aux = who.sample(release, TARGETS, seed=5)
    return aux, aux.item.reshape(-1, 4).astype(int), aux.value.reshape(-1, 4)


def agreeing(entries: Columns, item: np.ndarray, value: np.ndarray, share: float) -> np.ndarray:
    """(people, facts): whether the person's amount is within the share of itself of the known one; NaN knows nothing."""
    held, amount = dense(entries)
    here = amount[:, item]
    near = np.abs(here - value) <= share * np.abs(here) * (1 + 1e-12)
    return held[:, item] & (near | np.isnan(value))


def test_every_amount_is_a_level(somewhere, entries):
    assert somewhere.n_levels == AMOUNTS
    np.testing.assert_array_equal(somewhere.levels, np.unique(entries[2][~np.isnan(entries[2])]))


def test_scores_of_scoreboard_rh_are_those_of_the_oracle(somewhere, entries, release):
    aux, item, value = told(release)
    held, amount = dense(entries)
    weight = 1 / np.log(held.sum(axis=0))
    expected = np.array(
        [
            (
                weight[i]
                * np.where(
                    np.isnan(v),
                    held[:, i],
                    np.nan_to_num(np.exp(-np.abs(amount[:, i] - v) / RHO_0)),
                )
            ).sum(axis=1)
            for i, v in zip(item, value, strict=True)
        ]
    )
    attack = so.attack("scoreboard-rh")
    np.testing.assert_allclose(attack.scores(somewhere, aux), expected, atol=1e-7)
    assert (attack.run(somewhere, aux).best == expected.argmax(axis=1)).all()


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_unicity_counts_the_people_who_agree(somewhere, entries, release, share):
    aux, item, value = told(release, value_within=f"{100 * share:g}%" if share else 0)
    alone = np.array(
        [
            agreeing(entries, i, v, share).all(axis=1).sum() == 1
            for i, v in zip(item, value, strict=True)
        ]
    )
    assert share == 0 or 0 < alone.sum() < alone.size
    np.testing.assert_array_equal(so.attack("unicity").run(somewhere, aux).matched, alone)


@pytest.mark.parametrize("kind", ["value", "item"])
def test_unique_people_are_those_the_oracle_leaves_alone(somewhere, entries, release, kind):
    aux, item, value = told(release, value_within="20%", wrong=1, wrong_kind=kind)
    held, _ = dense(entries)
    alone = []
    for t, i, v in zip(TARGETS, item, value, strict=True):
        right = agreeing(entries, i, v, 0.2)
        # a wrong value contradicts an entry that has one; a wrong item is not held
        _, amount = dense(entries)
        no_value = np.isnan(amount[:, i])
        right &= ~(no_value ^ np.isnan(v)) | ~held[:, i]
        off = held[:, i] & ~right & ~no_value & ~np.isnan(v) if kind == "value" else ~held[:, i]
        could = (right.sum(axis=1) == 3) & (off.sum(axis=1) == 1)
        assert could[t]
        alone.append(could.sum() == 1)
    assert 0 < sum(alone) <= len(alone)
    np.testing.assert_array_equal(is_unique(somewhere, aux, TARGETS), alone)


def test_the_likelihood_ranks_people_as_bayes_does(somewhere, entries, release):
    aux, item, value = told(release, value_within="20%")
    held, amount = dense(entries)
    scores = so.attack("likelihood").scores(somewhere, aux)
    seen = so.attack("likelihood").run(somewhere, aux, watch=TARGETS)
    low, high = np.nanmin(amount), np.nanmax(amount)
    n_ranked = 0
    for q, (i, v) in enumerate(zip(item, value, strict=True)):
        inside = (v > low) & (v < high) | np.isnan(v)
        assert inside.all()
        here = amount[:, i]
        # uniform within ±20 % of the amount; a fact without an amount comes from an entry without one
        chance = np.where(
            np.isnan(v),
            np.isnan(here) & held[:, i],
            np.nan_to_num((np.abs(here - v) <= 0.2 * here) / (0.4 * here)),
        )
        expected = chance.prod(axis=1)
        assert ((scores[q] > -np.inf) == (expected > 0)).all()
        may = expected > 0
        np.testing.assert_allclose(
            scores[q][may] - scores[q][may].max(),
            np.log(expected[may]) - np.log(expected[may].max()),
            atol=1e-5,
        )
        n_ranked += may.sum() > 1
        assert seen.rank[q] == (expected > expected[TARGETS[q]] * (1 + 1e-9)).sum() + 1
    assert n_ranked > 5


@pytest.mark.parametrize(
    ("name", "knows"),
    [
        ("generic", {"value_within": 0.5}),
        ("weighted", {"gamma": 0.01}),
        ("fuzzy-rating", {"value_within": 1}),
        ("likelihood", {"value_within": "10%", "wrong": 0.25}),
        ("likelihood", {"value_within": 2, "wrong": 1}),
        ("likelihood", {"value_within": 0, "wrong": 1, "wrong_kind": "item"}),
    ],
)
def test_tables_of_an_items_amounts_give_what_tables_of_all_amounts_give(
    release, entries, monkeypatch, name, knows
):
    targets = TARGETS[:12]
    aux = so.Adversary(knows=4, **knows).sample(release, targets, seed=5)
    # calibration would attack hundreds of canaries with tables of all amounts
    attack = so.attack(name, **({"calibrate": False} if name == "likelihood" else {}))
    narrow = [attack.scores(release, aux, exclude=x) for x in (None, targets)]
    assert attack.compile(release, aux.bind(release), np.full(targets.size, -1)).places is not None
    for module in (table_rows, bayes, background):
        monkeypatch.setattr(module, "MOST_DENSE", 2**31)
    again = so.Dataset.from_arrays(*entries)
    wide = [attack.scores(again, aux, exclude=x) for x in (None, targets)]
    np.testing.assert_allclose(narrow, wide, atol=1e-6)


def test_a_fitted_attacker_gives_the_same_with_tables_of_all_amounts(release, entries, monkeypatch):
    targets = TARGETS[:12]
    drawn = so.Adversary(knows=6, value_within="10%").sample(release, targets, seed=5)
    aux = so.Knowledge.from_arrays(drawn.query, drawn.item, drawn.value)
    narrow = so.attack("likelihood").scores(release, aux)
    for module in (table_rows, bayes, background):
        monkeypatch.setattr(module, "MOST_DENSE", 2**31)
    wide = so.attack("likelihood").scores(so.Dataset.from_arrays(*entries), aux)
    np.testing.assert_allclose(narrow, wide, rtol=1e-6, atol=1e-5)
    assert (wide.argmax(axis=1) == targets).mean() > 0.5
