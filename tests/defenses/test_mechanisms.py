"""Each defense does what it says: against brute force on small data, against its published chances on larger data."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Table
from settings import distinct_days, distinct_pairs, rows
from strategies import dataset, tables

import standout as so
from standout.data.mechanism import Mechanism, TimeMap
from standout.data.writing import FileLayout
from standout.defenses.manifest import manifest_of
from standout.defenses.suppress import anonymous_items
from standout.errors import InputError, ParameterError

EPOCH = date(1970, 1, 1)


def published(release: so.Dataset) -> Mechanism:
    assert release.mechanism is not None
    return release.mechanism


def big(n_records: int = 3000, values: tuple[float, ...] = (1, 2, 3, 4, 5)) -> so.Dataset:
    """Each record holds five of ten items, with one value and one day each."""
    rng = np.random.default_rng(1)
    record = np.repeat(np.arange(n_records), 5)
    item = np.concatenate([rng.choice(10, 5, replace=False) for _ in range(n_records)])
    return so.Dataset.from_arrays(
        record, item, rng.choice(values, record.size), rng.integers(9_000, 10_000, record.size)
    )


def within_error(count: float, n: int, p: float) -> bool:
    """Whether a count is within five standard deviations of n·p."""
    return abs(count - n * p) <= 5 * np.sqrt(max(n * p * (1 - p), 1))


# Removal


def test_entries_are_dropped_with_the_published_probability() -> None:
    ds = big()
    release = so.defense("drop-entries", share=0.3).apply(ds, seed=3)
    assert within_error(release.n_entries, ds.n_entries, 0.7)
    assert published(release).lost == 0.3


def test_items_with_several_events_are_lost_and_events_hidden_with_the_published_probabilities() -> (
    None
):
    ds = distinct_days(200, n_items=12, n=6000)
    share = 0.6
    mechanism = published(so.defense("drop-entries", share=share).apply(ds, seed=3))
    events = Counter(row[:2] for row in rows(ds))
    lost, shown, held = 0, 0.0, 0
    for seed in range(3):
        left = Counter(
            row[:2] for row in rows(so.defense("drop-entries", share=share).apply(ds, seed=seed))
        )
        lost += sum(pair not in left for pair in events)
        # a fact about a held item is about one of its events in the source
        shown += sum(left[pair] / n for pair, n in events.items() if pair in left)
        held += sum(pair in left for pair in events)
    assert lost / (3 * len(events)) == pytest.approx(mechanism.lost, abs=0.02)
    assert 1 - shown / held == pytest.approx(mechanism.hidden, abs=0.02)
    assert mechanism.lost < 0.5 and mechanism.hidden > 0.1


def test_rare_items_are_those_that_few_records_hold() -> None:
    ds = so.Dataset.from_arrays([0, 0, 0, 1, 1, 2], [7, 7, 8, 8, 9, 9])
    release = so.defense("drop-rare-items", min_support=2).apply(ds)
    assert release.item_labels.tolist() == [8, 9]
    assert published(release).kept_pairs == 4 / 5


def test_the_top_items_are_those_that_most_records_hold() -> None:
    ds = so.Dataset.from_arrays([0, 1, 2, 0, 1, 0], [5, 5, 5, 3, 3, 4])
    release = so.defense("keep-top-items", k=2).apply(ds)
    assert release.item_labels.tolist() == [3, 5]
    assert published(release).kept_pairs == 5 / 6


@given(
    table=tables(values=False, days=True, repeats=True),
    most=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_a_capped_record_keeps_whole_items(table: Table, most: int, seed: int) -> None:
    ds = dataset(table)
    release = so.defense("cap-entries", most=most).apply(ds, seed=seed)
    assert release.lengths.tolist() == np.minimum(ds.lengths, most).tolist()
    kept = {(r, i) for r, i, _, _ in rows(release)}
    assert rows(release) == [row for row in rows(ds) if row[:2] in kept]
    assert published(release).cap == most
    assert published(release).source_lengths.tolist() == np.bincount(ds.lengths).tolist()


def test_a_capped_record_keeps_each_item_with_the_same_probability() -> None:
    ds = big()
    release = so.defense("cap-entries", most=2).apply(ds, seed=1)
    for before, after in zip(ds.supports, release.supports, strict=True):
        assert within_error(after, before, 2 / 5)


def test_records_are_sampled_with_the_published_probability() -> None:
    ds = big()
    release = so.defense("sample-records", share=0.4).apply(ds, seed=2)
    assert within_error(release.n_records, ds.n_records, 0.4)
    held = set(release.record_labels.tolist())
    assert rows(release) == [row for row in rows(ds) if row[0] in held]
    assert published(release).sampled == 0.4


# Values


def test_values_are_rounded_to_multiples_and_half_way_values_go_up() -> None:
    ds = so.Dataset.from_arrays(range(6), [0] * 6, [0.5, 1.0, 1.5, 2.5, 4.0, 5.0])
    release = so.defense("round-values", step=1).apply(ds)
    assert [v for _, _, v, _ in rows(release)] == [1, 1, 2, 3, 4, 5]
    tenth = so.Dataset.from_arrays(range(3), [0] * 3, [0.31, 0.14, 0.72])
    assert so.defense("round-values", step=0.1).apply(tenth).levels.tolist() == [0.1, 0.3, 0.7]


def test_values_are_rounded_to_the_nearest_level() -> None:
    ds = so.Dataset.from_arrays(range(6), [0] * 6, [1, 2, 3, 4, 5, np.nan])
    release = so.defense("round-values", levels=[5, 1]).apply(ds)
    assert [v for _, _, v, _ in rows(release)] == [1, 1, 5, 5, 5, None]
    assert published(release).value.chance.toarray().tolist() == [
        [1, 0],
        [1, 0],
        [0, 1],
        [0, 1],
        [0, 1],
    ]


@pytest.mark.parametrize("values", [(1, 2, 3, 4, 5), (0.5, 1, 2, 3.5), (1, 2, 3.7, 11, 200)])
@pytest.mark.parametrize(
    "text", ["noise-values(within=1.5)", "geometric-values(a=0.4)", "round-values(step=2)"]
)
def test_values_change_with_the_published_probabilities(
    text: str, values: tuple[float, ...]
) -> None:
    ds = big(values=values)
    release = so.parse_defense(text).apply(ds, seed=4)
    change = published(release).value
    np.testing.assert_allclose(change.chance.sum(axis=1), 1, atol=1e-12)
    assert change.source.tolist() == list(values)
    assert release.levels.tolist() == change.release.tolist()
    before = {row[:2]: row[2] for row in rows(ds)}
    seen = Counter((before[r, i], v) for r, i, v, _ in rows(release))
    table = change.chance.toarray()
    for a, old in enumerate(change.source):
        n = sum(seen[old, new] for new in change.release)
        for b, new in enumerate(change.release):
            assert within_error(seen[old, new], n, table[a, b])
            assert seen[old, new] == 0 or table[a, b] > 0


def test_noise_is_clipped_to_the_scale_and_may_give_values_between() -> None:
    ds = big(values=(1, 2, 4, 5))
    change = published(so.defense("noise-values", within=1).apply(ds)).value
    assert change.release.tolist() == [1, 2, 3, 4, 5]
    third = 1 / 3
    np.testing.assert_allclose(
        change.chance.toarray(),
        [
            [2 * third, third, 0, 0, 0],
            [third, third, third, 0, 0],
            [0, 0, third, third, third],
            [0, 0, 0, third, 2 * third],
        ],
    )


def test_geometric_noise_falls_by_the_same_factor_with_each_step() -> None:
    change = published(so.defense("geometric-values", a=0.5).apply(big())).value.chance.toarray()
    np.testing.assert_allclose(
        change[2], np.array([1 / 4, 1 / 4, 1 / 2, 1 / 4, 1 / 4]) * (2 / 3), atol=1e-9
    )
    # the factor between neighbors is what the privacy loss of one step follows from
    assert (change[1:] <= change[:-1] / 0.5 + 1e-12).all() and (
        change[:-1] <= change[1:] / 0.5 + 1e-12
    ).all()


def test_thousands_of_values_can_be_changed() -> None:
    rng = np.random.default_rng(0)
    ds = so.Dataset.from_arrays(
        np.arange(9000) % 300, np.arange(9000) % 70, rng.normal(50, 20, 9000)
    )
    assert ds.n_levels == 9000
    release = so.defense("round-values", step=10).apply(ds)
    assert set(release.levels % 10) == {0}
    noisy = so.defense("noise-values", within=1).apply(ds)
    np.testing.assert_allclose(published(noisy).value.chance.sum(axis=1), 1)


def test_dropped_channels_are_gone() -> None:
    ds = distinct_days()
    release = so.parse_defense("drop-values | drop-time").apply(ds)
    assert not release.has_value and not release.has_time and release.n_levels == 0
    assert published(release).dropped == {"value", "time"}
    assert Counter(row[:2] for row in rows(release)) == Counter(row[:2] for row in rows(ds))


# Times


def first_day_of_period(day: int, period: str) -> int:
    d = EPOCH + timedelta(days=day)
    month = {"year": 1, "quarter": 3 * ((d.month - 1) // 3) + 1, "month": d.month}.get(period)
    start = d - timedelta(days=d.weekday()) if period == "week" else date(d.year, month or 1, 1)
    return (start - EPOCH).days


@pytest.mark.parametrize("period", ["week", "month", "quarter", "year"])
@given(
    days=st.lists(st.one_of(st.integers(-2000, 30_000), st.none()), min_size=1).filter(
        lambda x: any(d is not None for d in x)
    )
)
def test_times_become_the_first_day_of_their_period(period: str, days: list[int | None]) -> None:
    ds = so.Dataset.from_arrays(
        range(len(days)), [0] * len(days), time=[np.nan if d is None else d for d in days]
    )
    release = so.defense("coarsen-time", to=period).apply(ds)
    assert [d for *_, d in rows(release)] == [
        None if d is None else first_day_of_period(d, period) for d in days
    ]
    assert published(release).time == TimeMap(period=period)


def test_one_shift_per_person_uniform_in_the_published_range() -> None:
    ds = big()
    release = so.defense("shift-time", days=3).apply(ds, seed=5)
    before = {row[:2]: row[3] for row in rows(ds)}
    shifts: dict[int, set[int]] = {}
    for r, i, _, d in rows(release):
        shifts.setdefault(r, set()).add(d - before[r, i])
    assert all(len(x) == 1 for x in shifts.values())
    count = Counter(x.pop() for x in shifts.values())
    assert set(count) == set(range(-3, 4))
    assert all(within_error(n, ds.n_records, 1 / 7) for n in count.values())
    assert published(release).time == TimeMap(shift=3)


# Swaps


def test_swapped_entries_move_whole_and_with_the_published_probability() -> None:
    ds = distinct_days(200, n=4000)
    release = so.defense("swap-entries", share=0.4).apply(ds, seed=1)
    assert Counter(row[1:] for row in rows(release)) == Counter(row[1:] for row in rows(ds))
    stayed = (Counter(rows(release)) & Counter(rows(ds))).total()
    assert within_error(stayed, ds.n_entries, 1 - 0.4 * (1 - 1 / 200))
    # an exchange moves two entries
    assert np.diff(release.record_ptr).tolist() == np.diff(ds.record_ptr).tolist()
    assert published(release).moved == pytest.approx(0.4 * (1 - 1 / 200), abs=2e-4)


@pytest.mark.parametrize("share", [0.2, 0.7, 1.0])
def test_attributes_are_exchanged_within_an_item_as_often_as_the_formula_says(share: float) -> None:
    """The adaptive attacker assumes x - (1 - (1-x)^n) / n, n = number of entries of the item."""
    n_items, n = 3000, 4
    ds = so.Dataset.from_arrays(
        np.tile(np.arange(n), n_items),
        np.repeat(np.arange(n_items), n),
        None,
        np.arange(n * n_items),
    )
    release = so.defense("swap-attributes", share=share).apply(ds, seed=2)
    assert Counter((i, d) for _, i, _, d in rows(release)) == Counter(
        (i, d) for _, i, _, d in rows(ds)
    )
    changed = ds.n_entries - (Counter(rows(release)) & Counter(rows(ds))).total()
    assert within_error(changed, ds.n_entries, share - (1 - (1 - share) ** n) / n)
    assert published(release).attributes == share


def test_value_and_time_stay_together_when_they_are_exchanged() -> None:
    ds = distinct_days()
    release = so.defense("swap-attributes", share=1).apply(ds, seed=2)
    assert Counter(row[1:] for row in rows(release)) == Counter(row[1:] for row in rows(ds))
    assert Counter(row[:2] for row in rows(release)) == Counter(row[:2] for row in rows(ds))


# Items


@given(table=tables(values=True, days=True), data=st.data())
def test_groups_replace_their_items_and_the_latest_entry_stays(
    table: Table, data: st.DataObject
) -> None:
    ds = dataset(table)
    labels = ds.item_labels.tolist()
    named = data.draw(st.lists(st.sampled_from(labels), min_size=1, unique=True))
    groups = {label: data.draw(st.sampled_from([-5, labels[0]])) for label in named}
    release = so.defense("group-items", groups=groups).apply(ds)
    moved = [(r, groups.get(i, i), v, d) for r, i, v, d in rows(ds)]
    if not ds.has_repeats:
        last = lambda x: (-1 if x[3] is None else x[3], -1 if x[2] is None else x[2])  # noqa: E731
        best: dict = {}
        for row in moved:
            best[row[:2]] = max(best.get(row[:2], row), row, key=last)
        moved = list(best.values())
    assert Counter(rows(release)) == Counter(moved)
    items = published(release).items
    if items is not None:
        assert dict(zip(items.source.tolist(), items.release.tolist(), strict=True)) == {
            i: groups.get(i, i) for i in labels
        }
        assert (items.chance == 1).all()


def test_a_number_of_groups_joins_items_of_similar_popularity() -> None:
    ds = so.Dataset.from_arrays(
        [0, 1, 2, 3, 0, 1, 2, 0, 1, 0], ["a"] * 4 + ["b"] * 3 + ["c"] * 2 + ["d"]
    )
    release = so.defense("group-items", groups=2).apply(ds)
    assert release.item_labels.tolist() == ["a", "c"]
    assert release.supports.tolist() == [4, 2]
    assert so.defense("group-items", groups=1).apply(ds).item_labels.tolist() == ["a"]
    assert so.defense("group-items", groups=3).apply(ds).item_labels.tolist() == ["a", "c", "d"]
    many = so.Dataset.from_arrays([0] * 4985, range(4985))
    assert so.defense("group-items", groups=500).apply(many).n_items == 500


def test_groups_are_read_from_a_file(tmp_path: Path) -> None:
    ds = so.Dataset.from_arrays([0, 0, 1, 1], [17, 18, 17, 19])
    (tmp_path / "g.json").write_text(json.dumps({"17": "x", "18": "x"}))
    (tmp_path / "g.csv").write_text("item,group\n17,x\n18,x\n")
    for file in ("g.json", "g.csv"):
        release = so.parse_defense(f"group-items(groups={tmp_path / file})").apply(ds)
        assert release.item_labels.tolist() == ["19", "x"]
    (tmp_path / "bad.json").write_text("{17: ")
    (tmp_path / "bad.csv").write_text("17\n")
    for file, says in (
        ("none.csv", "cannot read"),
        ("bad.json", "JSON"),
        ("bad.csv", "two columns"),
    ):
        with pytest.raises(InputError, match=says):
            so.defense("group-items", groups=str(tmp_path / file))
    with pytest.raises(ParameterError, match="none of the 1 items"):
        so.defense("group-items", groups={"zz": 1}).apply(ds)
    with pytest.raises(ParameterError, match="empty group label"):
        so.defense("group-items", groups={17: None}).apply(ds)


def test_opaque_labels_are_matched_as_often_as_the_mechanism_says() -> None:
    ds = so.Dataset.from_arrays(
        [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 1], ["a"] * 3 + ["b"] * 3 + ["c"] * 3 + ["d"] * 2 + ["e"] * 2,
        [1, 2, 3, 3, 1, 2, 1, 2, 2, 5, 5, 5, 5],
    )  # fmt: skip
    # a and b have the same values, d and e too; c is alone
    right, n = Counter(), 400
    for seed in range(n):
        release = so.defense("opaque-items").apply(ds, seed=seed)
        assert release.item_labels.tolist() == [1, 2, 3, 4, 5]
        items = published(release).items
        chance = dict(zip(items.source.tolist(), items.chance.tolist(), strict=True))
        assert chance == {"a": 0.5, "b": 0.5, "c": 1.0, "d": 0.5, "e": 0.5}
        held = {i: frozenset(r for r, j, _, _ in rows(release) if j == i) for i in items.release}
        values = {
            i: sorted((r, v) for r, j, v, _ in rows(release) if j == i) for i in items.release
        }
        for label, number in zip(items.source, items.release, strict=True):
            truth = sorted((r, v) for r, j, v, _ in rows(ds) if j == label)
            right[label] += values[number] == truth
        assert len(held) == 5
    assert right["c"] == n
    # d and e are the same in every respect: they cannot be told apart, nor need they
    assert right["d"] == right["e"] == n
    assert within_error(right["a"], n, 0.5) and within_error(right["b"], n, 0.5)


def test_opaque_labels_in_a_chain_are_matched_on_the_final_release() -> None:
    ds = distinct_days(300, n=6000)
    chain = so.parse_defense("opaque-items | drop-entries(share=0.5)")
    items = published(chain.apply(ds, seed=1)).items
    alone = published(so.defense("opaque-items").apply(ds, seed=1)).items
    assert (alone.chance == 1).mean() > 0.9
    assert items.chance.mean() < 0.9
    assert items.chance.min() > 0


def brute_force_violations(ds: so.Dataset, k: int, m: int) -> list[frozenset]:
    held: dict = {}
    for r, i, _, _ in rows(ds):
        held.setdefault(r, set()).add(i)
    count = Counter(
        frozenset(c)
        for items in held.values()
        for size in range(1, m + 1)
        for c in combinations(sorted(items), size)
    )
    return [c for c, n in count.items() if n < k]


@pytest.mark.parametrize("m", [1, 2, 3])
@given(
    seed=st.integers(0, 10**9), density=st.sampled_from([0.3, 0.5, 0.7, 0.9]), k=st.integers(2, 4)
)
def test_no_small_set_of_items_is_held_by_fewer_than_k_records(
    m: int, seed: int, density: float, k: int
) -> None:
    held = np.argwhere(np.random.default_rng(seed).random((12, 6)) < density)
    held = np.concatenate([[[0, 0]], held, held[:5]])  # some pairs have two events
    ds = so.Dataset.from_arrays(held[:, 0], held[:, 1])
    kept = anonymous_items(ds, k, m)
    left = ds.select(kept)
    assert brute_force_violations(left, k, m) == []
    for i in np.flatnonzero(~kept):
        more = kept.copy()
        more[i] = True
        assert brute_force_violations(ds.select(more), k, m), "an item was removed without need"


def test_many_items_fit_the_tables_of_suppression() -> None:
    """More than 64 kept items make the table of pairs grow."""
    record, item = np.repeat(np.arange(6), 90), np.tile(np.arange(90), 6)
    ds = so.Dataset.from_arrays(record, item)
    assert anonymous_items(ds, 6, 3).all()
    ds = so.Dataset.from_arrays([*record, 0, 0], [*item, 90, 91])
    assert anonymous_items(ds, 2, 3).tolist() == [True] * 90 + [False] * 2


# Randomized response


def test_items_are_replaced_with_the_published_probability_and_uniformly() -> None:
    ds = big(4000)
    epsilon = 2.0
    release = so.defense("randomized-response", epsilon=epsilon).apply(ds, seed=1)
    keep = np.exp(epsilon) / (np.exp(epsilon) + ds.n_items - 1)
    assert published(release).replaced == pytest.approx(1 - keep)
    # without repeats an entry may be merged with another one: look at records of one entry
    one = so.Dataset.from_arrays(np.arange(20_000), np.arange(20_000) % 10)
    changed = so.defense("randomized-response", epsilon=epsilon).apply(one, seed=1)
    seen = Counter((r % 10, i) for r, i, _, _ in rows(changed))
    for a in range(10):
        for b in range(10):
            assert within_error(seen[a, b], 2000, keep if a == b else (1 - keep) / 9)
    worst = keep / ((1 - keep) / 9)
    assert np.log(worst) == pytest.approx(epsilon)


def test_a_replaced_entry_has_a_value_and_a_day_of_its_new_item() -> None:
    rng = np.random.default_rng(3)
    item = rng.integers(0, 5, 3000)
    ds = so.Dataset.from_arrays(
        np.arange(3000), item, item + 1, 10_000 + 10 * item + rng.integers(0, 3, 3000)
    )
    release = so.defense("randomized-response", epsilon=0.5).apply(ds)
    assert all(v == i + 1 and 0 <= d - 10_000 - 10 * i < 3 for _, i, v, d in rows(release))
    days = Counter(d - 10_000 for *_, d in rows(release))
    assert all(within_error(days[10 * i + k], 3000, 1 / 15) for i in range(5) for k in range(3))


def test_a_catalog_of_one_item_cannot_be_randomized() -> None:
    ds = so.Dataset.from_arrays([0, 1], [3, 3])
    assert so.defense("randomized-response", epsilon=0).apply(ds).fingerprint == ds.fingerprint


def test_entries_that_meet_on_an_item_stay_events_only_in_data_with_repeats() -> None:
    for text in ("swap-entries(share=0.9)", "randomized-response(epsilon=0)"):
        apart, repeated = distinct_pairs(), distinct_days()
        merged, kept = so.parse_defense(text).apply(apart), so.parse_defense(text).apply(repeated)
        assert not merged.has_repeats and merged.n_entries < apart.n_entries
        assert kept.n_entries == repeated.n_entries


@pytest.mark.parametrize("unit", [1.0, 1e-12])
def test_noise_far_wider_than_the_scale_goes_to_its_ends(unit):
    """Each step was a column of a table: a tolerance in another unit than the values needed more memory than there is."""
    source = so.Dataset.from_arrays(
        np.arange(50), np.arange(50) % 7, (1 + np.arange(50) % 5) * unit
    )
    released = so.defense("noise-values", within=1e9).apply(source, seed=1)
    ends = np.isin(released.levels[released.record_code], [unit, 5 * unit])
    assert ends.all()
    chance = released.mechanism.value.chance.toarray()
    assert (
        chance.sum(axis=1).tolist() == pytest.approx([1.0] * 5)
        and chance[:, [0, -1]].sum(axis=1).min() > 0.999
    )


def test_noise_within_the_scale_is_uniform_and_clipped():
    source = so.Dataset.from_arrays(np.arange(5), np.arange(5), np.arange(1, 6))
    chance = (
        so.defense("noise-values", within=6).apply(source, seed=1).mechanism.value.chance.toarray()
        * 13
    )
    assert chance.round(9).tolist() == [
        [7, 1, 1, 1, 3],
        [6, 1, 1, 1, 4],
        [5, 1, 1, 1, 5],
        [4, 1, 1, 1, 6],
        [3, 1, 1, 1, 7],
    ]


@pytest.mark.parametrize(
    ("name", "options"),
    [("swap-entries", {"share": 0.6}), ("randomized-response", {"epsilon": 1.0})],
)
def test_entries_that_a_collision_loses_are_counted_and_published(name, options):
    rng = np.random.default_rng(1)
    item = np.concatenate([rng.choice(25, 10, replace=False) for _ in range(60)])
    source = so.Dataset.from_arrays(np.repeat(np.arange(60), 10), item)
    release = so.defense(name, **options).apply(source, seed=3)
    lost = source.n_entries - release.n_entries
    assert lost > 50
    assert release.mechanism.n_collided == lost
    assert release.mechanism.collided == pytest.approx(lost / source.n_entries)
    assert (
        manifest_of(release, FileLayout("text", {"record": "who", "item": "what"}))[
            "lost_to_collisions"
        ]
        == lost
    )
    # data with repeats keeps both entries as events
    repeated = so.Dataset.from_arrays(
        np.append(np.repeat(np.arange(60), 10), 0), np.append(item, item[0])
    )
    assert so.defense(name, **options).apply(repeated, seed=3).mechanism.n_collided == 0
