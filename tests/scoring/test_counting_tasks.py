"""Tasks that choose targets, find holders and count entries: any cut of the records, merged in any order, is the whole."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, cuts, dataset, random_table

import standout as so
from standout.adversary.choosing import ChooseRecords, Condition
from standout.adversary.counts import CountRecords, EntryTest, ItemCount
from standout.adversary.holders import PickHolders
from standout.attacks.tables import Known
from standout.data.background import _CountEntries
from standout.data.item_codes import _CountCodes
from standout.data.tasks import Sums, Task
from standout.scoring.chances import SumChances

KINDS = [
    "choose",
    "choose all",
    "count eligible",
    "lengths",
    "passing",
    "holders",
    "entries",
    "values",
]


def task_of(kind: str, data: so.Dataset, rng: np.random.Generator) -> Task:
    marked = rng.random(data.n_items) < 0.6
    test = EntryTest(
        rng.random(data.n_levels) < 0.5,
        2 if data.has_time else -1,
        int(data.tick_span),
        int(data.no_tick),
    )
    if "choose" in kind or kind == "count eligible":
        able = (Condition(ItemCount(marked), 1, 3), Condition(ItemCount(None, test), 0))
        return ChooseRecords(
            able, {"choose": 2, "choose all": -1}.get(kind, 0), int(rng.integers(0, 99))
        )
    if kind in ("lengths", "passing"):
        return CountRecords(ItemCount(marked, test if kind == "passing" else None), data.longest)
    if kind == "holders":
        return PickHolders(
            rng.integers(0, data.n_items, 5), rng.integers(0, 2**63, 5).astype(np.uint64)
        )
    if kind == "values":
        return _CountCodes(data.n_levels)
    return _CountEntries((data.n_items, data.n_levels), (data.n_items, data.tick_span // 4 + 1), 4)


def assert_same(a, b) -> None:
    for name, x, y in zip(a._fields, a, b, strict=True):
        np.testing.assert_array_equal(x, y, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(), data=st.data())
def test_any_cut_merged_in_any_order_gives_the_result_of_the_whole(kind, case, data):
    release = dataset(case[0])
    task = task_of(kind, release, np.random.default_rng(data.draw(st.integers(0, 99))))
    whole = task.run(release.index)
    edges, block = data.draw(cuts(release.n_records))
    pieces = [piece for shard in release.shards_at(edges, block) for piece in shard.slices(2)]
    parts = data.draw(st.permutations([task.run(piece) for piece in pieces]))
    assert_same(reduce(lambda a, b: a.merge(b), parts), whole)
    assert_same(reduce(lambda a, b: a.merge(b), [task.empty(), *parts, task.empty()]), whole)
    assert_same(reduce(lambda out, piece: task.run(piece, out), pieces, task.empty()), whole)


@pytest.fixture(scope="module", params=[False, True], ids=["single", "repeats"])
def release(request) -> so.Dataset:
    return dataset(random_table(300, 12, 6, seed=4, missing=0.1, repeats=request.param))


@pytest.mark.parametrize("wrong", [0, 1])
def test_means_over_the_holders_are_the_same_bits_for_every_cut(release, wrong):
    who = so.Adversary(knows=3, wrong=wrong, value_within=1, time_within=14)
    targets = who.eligible(release)[::4]
    facts = who.sample(release, targets, seed=1).bind(release)
    plan = so.attack("likelihood").fit(release, facts).compile(release, facts, targets)
    known = Known.of(release, facts, targets)
    tick = np.nan_to_num(known.tick).astype(np.int64)
    task = SumChances(known.item.astype(np.int64), tick, plan.exact, release.n_records)
    whole = task.run(release.index)
    assert (whole.total[0] > 2**40).any(), "the units are too coarse"
    for edges in ([0, 1, 300], [0, 100, 170, 300]):
        parts = [task.run(shard) for shard in release.shards_at(edges, 16)]
        assert_same(reduce(lambda a, b: a.merge(b), parts[::-1]), whole)
    own = task.of_records(known.gone, known.gone_at[known.query], release.has_repeats)
    others = release.take(np.delete(np.arange(release.n_records), targets[0]), drop_empty=False)
    first = known.query == 0
    np.testing.assert_array_equal(
        (whole.total - own.total)[:, first], task.run(others.index).total[:, first]
    )
    even = known.query % 2 == 0
    some = task.of_records(
        known.gone, np.where(even, known.gone_at[known.query], -1), release.has_repeats
    )
    np.testing.assert_array_equal(some.total, np.where(even, own.total, 0))
    assert (own.total > 0).any(axis=0).all()
    without = Sums(whole.total - own.total)
    np.testing.assert_allclose(
        task.probabilities(without, release.has_repeats)[0] / np.maximum(known.support, 1),
        plan.exact.mean_right,
        rtol=1e-9,
    )


def test_every_holder_of_an_item_is_equally_likely():
    data = so.Dataset.from_arrays(
        np.repeat(np.arange(40), 2), np.tile([0, 1], 40), np.tile([1.0, 2.0], 40)
    )
    draws = PickHolders(
        np.zeros(8000, np.int64),
        np.random.default_rng(1).integers(0, 2**63, 8000).astype(np.uint64),
    )
    drawn = np.bincount(data.map(draws).record, minlength=40)
    assert drawn.min() > 130 and drawn.max() < 275, (
        "200 are expected, and 5 standard deviations are 70"
    )


def test_every_event_of_a_holder_is_equally_likely():
    data = so.Dataset.from_arrays([1, 1, 1, 1, 2], [7, 7, 7, 7, 8], [1.0, 2.0, 3.0, 4.0, 5.0])
    draws = PickHolders(
        np.zeros(4000, np.int64),
        np.random.default_rng(1).integers(0, 2**63, 4000).astype(np.uint64),
    )
    drawn = np.bincount(data.map(draws).code, minlength=5)
    assert drawn[4] == 0 and drawn[:4].min() > 860 and drawn.max() < 1140


def test_every_draw_of_a_task_that_runs_whole_finds_a_holder():
    data = so.Dataset.from_arrays([0, 0, 1, 2], [0, 1, 1, 2])
    draws = PickHolders(np.array([0, 1, 2, 0]), np.arange(4, dtype=np.uint64))
    whole, parts = draws.run(data.index), draws.empty()
    for part in ((0, 1), (1, 4)):
        draws.run(data.index, parts, part)
    assert whole.record.tolist() == parts.record.tolist()
    assert (whole.record[0], whole.record[2], whole.record[3]) == (0, 2, 0) and whole.record[1] in (
        0,
        1,
    )
