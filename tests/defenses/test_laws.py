"""What holds for every defense, on any data."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import Table
from settings import (
    NEUTRAL,
    STRONG,
    WEAK,
    by_record,
    check_counts,
    distinct_days,
    distinct_pairs,
    rows,
)
from strategies import dataset, tables

import standout as so
from standout.data.mechanism import Mechanism
from standout.errors import ParameterError

NAMES = sorted(WEAK)
STREAMING = [name for name in NAMES if so.defense(name, **WEAK[name]).streaming]
seeds = st.integers(0, 2**64 - 1)
FEW = settings().max_examples * 5 // 12
"""Examples per defense of the laws that every defense is tested on: 25 by default."""


def release_of(defense: so.Defense, ds: so.Dataset, seed: int) -> so.Dataset | None:
    """The release; None where no entry is left."""
    try:
        return defense.apply(ds, seed=seed)
    except ParameterError as error:
        assert "leaves no entry" in str(error)
        return None


def test_the_settings_name_every_defense() -> None:
    assert sorted(n for n in so.defense_names() if not n.startswith("own-")) == NAMES
    assert set(NEUTRAL) == set(NAMES) - {"drop-values", "drop-time", "opaque-items"}
    not_streaming = {
        "drop-rare-items",
        "keep-top-items",
        "swap-entries",
        "swap-attributes",
        "group-items",
        "suppress-km",
    }
    assert set(NAMES) - set(STREAMING) == not_streaming | {"randomized-response"}


@pytest.mark.parametrize("name", sorted(NEUTRAL))
@given(table=tables(values=True, days=True), seed=seeds)
def test_strength_zero_changes_nothing(name: str, table: Table, seed: int) -> None:
    ds = dataset(table)
    release = so.defense(name, **NEUTRAL[name]).apply(ds, seed=seed)
    assert release.fingerprint == ds.fingerprint
    assert release.source is ds


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=FEW)
@given(table=tables(values=True, days=True), seed=seeds)
def test_a_release_is_a_sound_dataset_with_the_labels_of_its_source(
    name: str, table: Table, seed: int
) -> None:
    ds = dataset(table)
    before = ds.fingerprint
    defense = so.defense(name, **WEAK[name])
    release = release_of(defense, ds, seed)
    if release is None:
        return
    check_counts(release)
    assert set(release.record_labels.tolist()) <= set(ds.record_labels.tolist())
    assert (release.lengths > 0).all() and (release.supports > 0).all()
    assert (
        release.source is ds
        and release.defense is defense
        and isinstance(release.mechanism, Mechanism)
    )
    assert release.has_repeats <= ds.has_repeats or name in ("swap-attributes",)
    assert ds.fingerprint == before
    again = defense.apply(ds, seed=seed)
    assert again.fingerprint == release.fingerprint


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=FEW)
@given(table=tables(values=True, days=True, min_records=2), data=st.data(), seed=seeds)
def test_relabeling_the_records_relabels_the_release(
    name: str, table: Table, data: st.DataObject, seed: int
) -> None:
    ds = dataset(table)
    new = dict(
        zip(
            ds.record_labels.tolist(),
            data.draw(st.permutations(ds.record_labels.tolist())),
            strict=True,
        )
    )
    other = dataset(
        Table(
            tuple(e._replace(record=new[e.record]) for e in table.entries), table.values, table.days
        )
    )
    defense = so.defense(name, **WEAK[name])
    # records with equal contents cannot be told apart: compare (record in the source, record in the
    # release)
    found = []
    for source in (ds, other):
        release = release_of(defense, source, seed)
        after = by_record(release) if release is not None else {}
        before = by_record(source)
        found.append(
            Counter(
                (frozenset(before[r].items()), frozenset(after.get(r, Counter()).items()))
                for r in before
            )
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("name", STREAMING)
@settings(max_examples=FEW)
@given(table=tables(values=True, days=True, min_records=2), data=st.data(), seed=seeds)
def test_parts_of_the_records_give_the_parts_of_the_release(
    name: str, table: Table, data: st.DataObject, seed: int
) -> None:
    ds = dataset(table)
    contents = [frozenset(x.items()) for x in by_record(ds).values()]
    assume(len(set(contents)) == len(contents))
    defense = so.defense(name, **WEAK[name])
    cut = data.draw(st.integers(1, ds.n_records - 1))
    parts = [
        ds.take(np.arange(lo, hi), drop_empty=False) for lo, hi in ((0, cut), (cut, ds.n_records))
    ]
    # a part without any value or time is data of another kind
    assume(
        all(
            (p.record_code < p.n_levels).any() and (p.record_tick != p.no_tick).any() for p in parts
        )
    )
    releases = [release_of(defense, part, seed) for part in [*parts, ds]]
    first, second, whole = ([] if x is None else rows(x) for x in releases)
    assert [*first, *second] == whole


@pytest.mark.parametrize("name", NAMES)
def test_another_seed_gives_another_release_where_chance_decides(name: str) -> None:
    ds = distinct_days()
    defense = so.defense(name, **WEAK[name])
    one, other = (defense.apply(ds, seed=s).fingerprint for s in (1, 2))
    certain = {
        "drop-rare-items",
        "keep-top-items",
        "round-values",
        "drop-values",
        "coarsen-time",
        "drop-time",
        "group-items",
        "suppress-km",
    }
    assert (one == other) == (name in certain)


REMOVING = ["drop-entries", "drop-rare-items", "keep-top-items", "cap-entries", "sample-records"]


@pytest.mark.parametrize("name", REMOVING)
@given(table=tables(values=True, days=True), seed=seeds)
def test_a_stronger_setting_removes_all_that_a_weaker_one_removes(
    name: str, table: Table, seed: int
) -> None:
    ds = dataset(table)
    weak, strong = (release_of(so.defense(name, **p[name]), ds, seed) for p in (WEAK, STRONG))
    left = [Counter(rows(x)) if x is not None else Counter() for x in (strong, weak)]
    assert left[0] <= left[1]


@pytest.mark.parametrize("name", ["swap-entries", "swap-attributes", "randomized-response"])
@pytest.mark.parametrize("seed", range(5))
def test_an_entry_that_a_stronger_setting_leaves_is_left_by_a_weaker_one(
    name: str, seed: int
) -> None:
    ds = distinct_days(seed=seed)
    source = Counter(rows(ds))
    weak, strong = (
        Counter(rows(so.defense(name, **p[name]).apply(ds, seed=seed))) & source
        for p in (WEAK, STRONG)
    )
    # a chosen entry may get its own value and time back, a replaced one those of another entry of
    # its record
    by_chance = {"swap-entries": 0, "swap-attributes": 0.05, "randomized-response": 0.01}[name]
    assert (strong - weak).total() <= by_chance * source.total()
    assert 0 < strong.total() < weak.total() < source.total()


@pytest.mark.parametrize("name", ["noise-values", "geometric-values", "shift-time"])
@given(seed=seeds)
def test_noise_of_a_stronger_setting_goes_further_in_the_same_direction(
    name: str, seed: int
) -> None:
    ds = distinct_pairs(12, 8)
    moved = []
    column = 3 if name == "shift-time" else 2
    source = {(r, i): e for r, i, *e in rows(ds)}
    for setting in (WEAK, STRONG):
        release = {
            (r, i): e for r, i, *e in rows(so.defense(name, **setting[name]).apply(ds, seed=seed))
        }
        assert release.keys() == source.keys()
        moved.append(np.array([release[p][column - 2] - source[p][column - 2] for p in source]))
    assert (moved[0] * moved[1] >= 0).all()
    assert (np.abs(moved[0]) <= np.abs(moved[1])).all()
    assert np.abs(moved[1]).max() > 0


@pytest.mark.parametrize(
    "name", ["round-values", "noise-values", "geometric-values", "drop-values"]
)
def test_a_defense_of_values_refuses_data_without_values(name: str) -> None:
    ds = so.Dataset.from_arrays([0, 0, 1], [1, 2, 1], time=[5, 6, 7])
    with pytest.raises(ParameterError, match="values, and the data has none"):
        so.defense(name, **WEAK[name]).apply(ds)


@pytest.mark.parametrize("name", ["coarsen-time", "shift-time", "drop-time"])
def test_a_defense_of_times_refuses_data_without_times(name: str) -> None:
    ds = so.Dataset.from_arrays([0, 0, 1], [1, 2, 1], [5, 6, 7])
    with pytest.raises(ParameterError, match="times, and the data has none"):
        so.defense(name, **WEAK[name]).apply(ds)


@pytest.mark.parametrize(
    "name", [n for n in NAMES if "value" not in n and "time" not in n and n != "swap-attributes"]
)
def test_data_with_items_alone_can_be_defended(name: str) -> None:
    ds = so.Dataset.from_arrays([0, 0, 1, 1, 2, 2, 2], [1, 2, 1, 2, 1, 2, 3])
    check_counts(so.defense(name, **WEAK[name]).apply(ds))
    with pytest.raises(ParameterError, match="neither"):
        so.defense("swap-attributes", share=0.5).apply(ds)
