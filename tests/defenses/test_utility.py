"""Utility of a release: the split, the recommender, predicted values, counts. Each against an independent reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse
from tastes import grouped_tastes

import standout as so
from standout.data.mechanism import ItemMap, Mechanism, Origin
from standout.defenses import utility_counts
from standout.defenses.utility import Settings, UtilityTest, rating_loss
from standout.defenses.utility_models import (
    ErrorUnits,
    RankingSettings,
    RatingSettings,
    constant_error,
    fit_ratings,
    rank,
    rating_error,
    recommend,
    tune_ranking,
)
from standout.defenses.utility_release import hold_out, matrix_of, people_to_test

RANKING = RankingSettings(factors=8, alpha=5.0, regularization=1.0, iterations=8)
SETTINGS = Settings(RANKING, RatingSettings(4, 0.1, 5))


@pytest.fixture(scope="module")
def data() -> so.Dataset:
    return grouped_tastes()


@pytest.fixture(scope="module")
def bench(data: so.Dataset) -> UtilityTest:
    return UtilityTest(data, 3, SETTINGS)


def pairs_of(dataset: so.Dataset) -> set[tuple[object, object]]:
    record = np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))
    return set(
        zip(
            dataset.record_labels[record].tolist(),
            dataset.item_labels[dataset.record_item].tolist(),
            strict=True,
        )
    )


def relabeled(dataset: so.Dataset, name: np.ndarray) -> so.Dataset:
    """The same entries under other record labels."""
    record = np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))
    value = dataset.levels[dataset.record_code] if dataset.has_value else None
    return so.Dataset.from_arrays(name[record], dataset.item_labels[dataset.record_item], value)


# The split


def test_a_fifth_of_each_person_is_held_out_and_nothing_of_it_stays_in_training(data):
    split = hold_out(data, 5)
    held = set(
        zip(
            data.record_labels[split.record].tolist(),
            data.item_labels[split.item].tolist(),
            strict=True,
        )
    )
    assert held.isdisjoint(pairs_of(split.train))
    assert held | pairs_of(split.train) == pairs_of(data)
    n = np.bincount(split.record, minlength=data.n_records)
    assert np.array_equal(n, np.floor(0.2 * data.lengths + 0.5))


def test_all_events_of_a_repeated_item_go_the_same_way():
    rng = np.random.default_rng(0)
    ds = so.Dataset.from_arrays(
        rng.integers(0, 30, 3000), rng.integers(0, 15, 3000), rng.integers(1, 6, 3000)
    )
    split = hold_out(ds, 1)
    held = set(zip(split.record.tolist(), split.item.tolist(), strict=True))
    record = np.repeat(np.arange(ds.n_records), np.diff(split.train.record_ptr))
    assert held.isdisjoint(zip(record.tolist(), split.train.record_item.tolist(), strict=True))
    r, i = next(iter(held))
    rows = (np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr)) == r) & (ds.record_item == i)
    at = np.flatnonzero((split.record == r) & (split.item == i))[0]
    assert split.value[at] == pytest.approx(ds.levels[ds.record_code[rows]].mean())


def test_the_split_does_not_depend_on_the_names_of_the_people(data):
    name = np.random.default_rng(3).permutation(data.n_records) + 1000
    other = relabeled(data, name)
    plain = so.Dataset.from_arrays(
        np.repeat(data.record_labels, np.diff(data.record_ptr)),
        data.item_labels[data.record_item],
        data.levels[data.record_code],
    )
    one, two = hold_out(plain, 9), hold_out(other, 9)
    first = {(int(name[r]), int(i)) for r, i in zip(one.record, one.item, strict=True)}
    assert first == {
        (int(other.record_labels[r]), int(i)) for r, i in zip(two.record, two.item, strict=True)
    }


def test_data_without_anything_to_hold_out_is_refused():
    with pytest.raises(so.StandoutError, match="hold out"):
        hold_out(so.Dataset.from_arrays([1, 2, 3], [1, 2, 3]), 0)


# Recommendations


def plain_ndcg(listed: list[int], relevant: set[int], k: int) -> float:
    """NDCG@k as in a textbook, with lists."""
    gain = sum(1 / math.log2(rank + 2) for rank, item in enumerate(listed[:k]) if item in relevant)
    best = sum(1 / math.log2(rank + 2) for rank in range(min(k, len(relevant))))
    return gain / best


def test_numbers_agree_with_implicit_used_by_hand(data, bench):
    import implicit
    from threadpoolctl import threadpool_limits

    split = bench.split
    # rows in the order of the contents of the records, as documented
    order = np.argsort(split.train.record_keys, kind="stable")
    dense = np.zeros((data.n_records, data.n_items), np.float32)
    record = np.repeat(np.arange(data.n_records), np.diff(split.train.record_ptr))
    dense[record, split.train.record_item] = 1
    matrix = sparse.csr_matrix(dense[order])
    with threadpool_limits(1, user_api="blas"):
        model = implicit.als.AlternatingLeastSquares(
            factors=8, alpha=5.0, regularization=1.0, iterations=8, num_threads=2, random_state=3
        )
        model.fit(matrix, show_progress=False)
        listed, scores = model.recommend(
            np.arange(data.n_records), matrix, N=20, filter_already_liked_items=True
        )
    quality, recalled = [], []
    for row, r in enumerate(order):
        relevant = set(split.item[split.record == r].tolist())
        if relevant:
            mine = [int(i) for i, s in zip(listed[row], scores[row], strict=True) if s > -1e38]
            quality.append(plain_ndcg(mine, relevant, 10))
            recalled.append(len(relevant & set(mine[:20])) / len(relevant))
    assert bench.undefended.ndcg == pytest.approx(np.mean(quality), abs=1e-12)
    assert bench.undefended.recall == pytest.approx(np.mean(recalled), abs=1e-12)
    assert bench.undefended.ndcg > 0.3


def test_a_release_equal_to_the_source_costs_nothing(bench):
    same = bench.split.train.with_entries()
    losses = bench.losses(bench.of(same))
    assert losses == dict.fromkeys(losses, 0.0)


def test_a_release_with_shuffled_people_is_not_better_than_popularity(data, bench):
    train = bench.split.train
    shuffled = relabeled(train, np.random.default_rng(8).permutation(train.n_records))
    found = bench.of(shuffled)
    popular = np.argsort(-train.supports, kind="stable").tolist()
    by_popularity = []
    for r in bench.split.people:
        own = set(train.record_item[train.record_ptr[r] : train.record_ptr[r + 1]].tolist())
        relevant = set(bench.split.item[bench.split.record == r].tolist())
        by_popularity.append(plain_ndcg([i for i in popular if i not in own], relevant, 10))
    assert found.ndcg < np.mean(by_popularity) + 0.08
    assert found.ndcg < 0.6 * bench.undefended.ndcg


def test_people_whom_the_release_lost_count_as_misses(bench):
    train = bench.split.train
    half = train.take(np.arange(train.n_records) % 2 == 0, drop_empty=False)
    found = bench.of(half)
    matrix = matrix_of(train, half)
    people = people_to_test(bench.split, 5000)
    lost = matrix.row_of[people] < 0
    each = rank(bench.split, matrix, RANKING, 3)[0]
    assert lost.sum() > 40
    assert (each[lost] == 0).all()
    assert found.ndcg == pytest.approx(each.sum() / people.size)
    assert found.people == pytest.approx(0.5, abs=0.01)


def test_items_that_the_release_lost_are_never_recommended_and_the_others_keep_their_names(bench):
    train = bench.split.train
    release = train.select(np.arange(train.n_items) % 3 != 0)
    top = recommend(
        bench.split, matrix_of(train, release), people_to_test(bench.split, 5000), RANKING, 3
    )
    assert (top[top >= 0] % 3 != 0).all()
    assert (top >= 0).any()
    losses = bench.losses(bench.of(release))
    assert losses["ndcg"] > 0.1


def test_items_of_the_persons_training_data_are_not_recommended_even_if_the_release_hides_them(
    bench,
):
    train = bench.split.train
    keep = np.random.default_rng(4).random(train.n_entries) < 0.5
    people = people_to_test(bench.split, 5000)
    top = recommend(bench.split, matrix_of(train, train.with_entries(keep)), people, RANKING, 3)
    for r, row in zip(people, top, strict=True):
        own = train.record_item[train.record_ptr[r] : train.record_ptr[r + 1]]
        assert not np.isin(row[row >= 0], own).any()


def test_renaming_the_people_changes_no_number(data):
    plain = relabeled(data, data.record_labels)
    other = relabeled(data, np.random.default_rng(3).permutation(data.n_records) + 1000)
    # far from convergence, where the start of the model matters
    rough = Settings(RankingSettings(8, 5.0, 1.0, 1), SETTINGS.rating)
    one, two = UtilityTest(plain, 2, rough), UtilityTest(other, 2, rough)
    assert one.undefended == two.undefended


def test_an_empty_release_loses_everything(bench):
    train = bench.split.train
    losses = bench.losses(bench.of(train.with_entries(np.zeros(train.n_entries, np.bool_))))
    assert losses == dict.fromkeys(losses, 1.0)


def renamed_release(train: so.Dataset, group: np.ndarray) -> so.Dataset:
    """A release whose items are groups, with the published map."""
    from dataclasses import replace

    record = np.repeat(train.record_labels, np.diff(train.record_ptr))
    made = so.Dataset.from_arrays(
        record, group[train.record_item], train.levels[train.record_code], repeats="last"
    )
    items = ItemMap(train.item_labels, group, np.ones(train.n_items))
    return replace(made, origin=Origin(train, None, Mechanism(items=items)))


def test_renamed_items_cost_nothing_if_the_map_is_published(bench):
    train = bench.split.train
    name = np.random.default_rng(0).permutation(train.n_items) + 500
    found = bench.of(renamed_release(train, name))
    losses = bench.losses(found)
    assert losses["ndcg"] == pytest.approx(0, abs=0.03)
    assert [losses[m] for m in ("popularity", "pairs", "entries")] == pytest.approx(
        [0, 0, 0], abs=1e-12
    )


def test_a_group_recommends_its_members_by_popularity_and_counts_evenly(bench):
    train = bench.split.train
    group = np.arange(train.n_items) % 20 + 900
    matrix = matrix_of(train, renamed_release(train, group))
    assert (matrix.members == 3).all()
    for g in range(20):
        mine = np.flatnonzero(group == g + 900)
        assert matrix.weight[mine] == pytest.approx(
            train.supports[mine] / train.supports[mine].sum()
        )
    counts = np.bincount(matrix.pairs.indices, minlength=20)
    shares = counts[np.arange(train.n_items) % 20] / 3 / counts.sum()
    expected = np.abs(train.supports / train.supports.sum() - shares).sum() / 2
    assert utility_counts.popularity_error(matrix_of(train, train), matrix) == pytest.approx(
        expected
    )


def test_tuning_uses_no_held_out_pair(data, monkeypatch):
    split = hold_out(data, 3)
    grid = (RankingSettings(1, 1.0, 1000.0, 1), RANKING)
    assert tune_ranking(split, 3, grid) == RANKING
    emptied = type(split)(split.train, split.record[:1], split.item[:1], split.value[:1])
    assert tune_ranking(emptied, 3, grid) == tune_ranking(split, 3, grid)


def test_records_too_short_for_a_second_split_get_the_default_settings():
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.choice(8, 3, replace=False) for _ in range(40)])
    ds = so.Dataset.from_arrays(np.repeat(np.arange(40), 3), item, rng.integers(1, 6, 120))
    assert UtilityTest(ds, 0).settings == Settings(RankingSettings(), RatingSettings())


# Predicted values


def dense_ratings(matrix, height: np.ndarray, settings: RatingSettings, seed: int) -> np.ndarray:
    """Prediction of every pair by the same model, written with dense matrices."""
    n, m = matrix.pairs.shape
    there = np.zeros((n, m), np.bool_)
    y = np.zeros((n, m))
    row = np.repeat(np.arange(n), np.diff(matrix.pairs.indptr))
    there[row, matrix.pairs.indices], y[row, matrix.pairs.indices] = True, height
    mean = y[there].mean()
    bu, bi = np.zeros(n), np.zeros(m)
    for _ in range(10):
        bi = np.where(there, y - mean - bu[:, None], 0).sum(0) / (there.sum(0) + 5)
        bu = np.where(there, y - mean - bi[None], 0).sum(1) / (there.sum(1) + 5)
    rest = np.where(there, y - mean - bu[:, None] - bi[None], 0)
    q = np.random.default_rng([seed, 74]).normal(0, 0.1, (m, settings.factors))
    p = np.zeros((n, settings.factors))
    unit = np.eye(settings.factors)
    for _ in range(settings.iterations):
        for u in range(n):
            mine = q[there[u]]
            p[u] = np.linalg.solve(
                mine.T @ mine + settings.penalty * max(len(mine), 1) * unit,
                mine.T @ rest[u, there[u]],
            )
        for i in range(m):
            mine = p[there[:, i]]
            q[i] = np.linalg.solve(
                mine.T @ mine + settings.penalty * max(len(mine), 1) * unit,
                mine.T @ rest[there[:, i], i],
            )
    return mean + bu[:, None] + bi[None] + p @ q.T


def test_predicted_values_agree_with_a_dense_model(bench):
    split, settings = bench.split, RatingSettings(4, 0.1, 5)
    matrix = matrix_of(split.train, split.train)
    whole = dense_ratings(matrix, matrix.value, settings, 3)
    model = fit_ratings(matrix, ErrorUnits.of(split.train), settings, 3)
    n, m = whole.shape
    seen = model.predict(np.repeat(np.arange(n), m), np.tile(np.arange(m), n)).reshape(n, m)
    assert np.abs(seen - whole).max() < 1e-8
    guess = np.clip(whole[matrix.row_of[split.record], matrix.column_of[split.item]], 1, 5)
    expected = math.sqrt(np.mean((guess - split.value) ** 2))
    assert rating_error(split, matrix, settings, 3) == pytest.approx(expected, abs=1e-9)
    assert expected < 0.8 * constant_error(split)


def test_held_out_values_of_lost_people_and_items_still_count(bench):
    train = bench.split.train
    release = train.take(np.arange(train.n_records) < 80, drop_empty=False).select(
        np.arange(train.n_items) % 2 == 0
    )
    matrix = matrix_of(train, release)
    model = fit_ratings(matrix, ErrorUnits.of(train), SETTINGS.rating, 3)
    assert model.predict(np.array([-1]), np.array([-1]))[0] == pytest.approx(model.mean)
    error = rating_error(bench.split, matrix, SETTINGS.rating, 3)
    assert error > bench.undefended.rmse
    assert error == pytest.approx(constant_error(bench.split), rel=0.25)


def test_a_release_without_values_loses_all_of_the_rating_and_data_without_values_has_none(bench):
    train = bench.split.train
    record = np.repeat(train.record_labels, np.diff(train.record_ptr))
    bare = so.Dataset.from_arrays(record, train.item_labels[train.record_item])
    assert bench.losses(bench.of(bare))["rating"] == 1.0
    other = UtilityTest(grouped_tastes(values=False), 3, Settings(RANKING, None))
    assert other.losses(other.undefended)["rating"] is None
    assert other.losses(other.undefended)["time"] is None
    assert rating_loss(0.9, 1.0, 0.8) is None


def test_extreme_amounts_do_not_decide_the_rating_error():
    rng = np.random.default_rng(2)
    value = np.where(rng.random(4000) < 0.001, 80_000, rng.integers(1, 200, 4000) * 1.37)
    ds = so.Dataset.from_arrays(
        rng.integers(0, 100, 4000), rng.integers(0, 200, 4000), value, repeats="last"
    )
    scale = ErrorUnits.of(ds)
    assert scale.height is not scale.levels
    assert 0 <= scale(np.array([80_000.0]))[0] <= 1
    assert scale(np.array([1.37, 90.0, 270.0])).tolist() == sorted(
        scale(np.array([1.37, 90.0, 270.0])).tolist()
    )


# Counts


def test_counts_agree_with_sets_of_pairs(data, bench):
    train = bench.split.train
    rng = np.random.default_rng(6)
    release = train.with_entries(rng.random(train.n_entries) < 0.6).take(
        rng.random(train.n_records) < 0.8
    )
    found = bench.of(release)
    before, after = pairs_of(train), pairs_of(release)
    assert found.entries == pytest.approx(len(before & after) / len(before))
    assert found.false_entries == 0
    assert found.people == pytest.approx(len({r for r, _ in after}) / len({r for r, _ in before}))
    assert found.items == pytest.approx(len({i for _, i in after}) / len({i for _, i in before}))
    counted = [
        {i: sum(1 for _, j in p if j == i) / len(p) for i in range(data.n_items)}
        for p in (before, after)
    ]
    assert found.popularity_error == pytest.approx(
        sum(abs(counted[0][i] - counted[1][i]) for i in counted[0]) / 2
    )


def test_frequent_pairs_agree_with_a_dense_count(bench):
    train = bench.split.train
    release = train.with_entries(np.random.default_rng(6).random(train.n_entries) < 0.7)

    def together(dataset: so.Dataset) -> np.ndarray:
        dense = np.zeros((dataset.n_records, dataset.n_items))
        dense[
            np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr)),
            dataset.record_item,
        ] = 1
        return np.triu(dense.T @ dense, 1) / (dense.sum(1) > 0).sum()

    before, after = together(train), together(release)
    order = sorted(zip(*np.nonzero(before), strict=True), key=lambda ij: (-before[ij], *ij))[:100]
    expected = sum(abs(before[ij] - after[ij]) for ij in order) / sum(before[ij] for ij in order)
    top = utility_counts.top_pairs(matrix_of(train, train))
    assert utility_counts.pairs_error(top, matrix_of(train, release)) == pytest.approx(expected)


def test_false_entries_are_counted(bench):
    train = bench.split.train
    shuffled = relabeled(train, np.roll(np.arange(train.n_records), 1))
    found = bench.of(shuffled)
    before, after = pairs_of(train), pairs_of(shuffled)
    assert found.false_entries == pytest.approx(len(after - before) / len(after))
    assert found.entries == pytest.approx(len(after & before) / len(before))


def test_a_release_without_times_loses_all_months_and_shifted_times_lose_some(bench):
    train = bench.split.train
    record = np.repeat(train.record_labels, np.diff(train.record_ptr))
    bare = so.Dataset.from_arrays(
        record, train.item_labels[train.record_item], train.levels[train.record_code]
    )
    assert utility_counts.time_error(train, bare) == 1.0
    assert utility_counts.time_error(train, train) == 0.0
    late = so.defense("shift-time", days=300).apply(train, seed=1)
    assert 0.2 < utility_counts.time_error(train, late) < 1.0
    month = so.defense("coarsen-time", to="month").apply(train, seed=1)
    assert utility_counts.time_error(train, month) == 0.0


def test_a_missing_recommender_library_is_named(monkeypatch):
    import sys

    from standout.defenses.utility_models import library

    monkeypatch.setitem(sys.modules, "implicit", None)
    monkeypatch.setitem(sys.modules, "implicit.als", None)
    with pytest.raises(so.StandoutError, match=r"standout\[utility\]"):
        library()
