"""The kernel of the least similarity reads only records that can score, and gives what reading all records gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, cuts, dataset, knowledge

import standout as so
from standout.scoring import cpu, least
from standout.scoring.kernels import kernel_of
from standout.scoring.partials import Partials
from standout.scoring.plan import Tie


def assert_same_partials(plan, shards, watch, k: int) -> None:
    listed, read = Partials.empty(plan.n_queries, k), Partials.empty(plan.n_queries, k)
    for shard in shards:
        least.KERNEL.score(shard, plan, (0, plan.n_queries), watch, listed)
        cpu.KERNEL.score(shard, plan, (0, plan.n_queries), watch, read)
    for name, mine, other in zip(listed._fields, listed, read, strict=True):
        np.testing.assert_array_equal(mine, other, err_msg=name)


@pytest.mark.parametrize("name", ["scoreboard", "unicity"])
@given(case=cases(), data=st.data())
def test_records_that_are_not_read_count_as_zeros(name, case, data):
    table, queries = case
    release = dataset(table)
    facts = knowledge(queries).bind(release)
    draw = data.draw(
        st.lists(
            st.integers(-1, release.n_records - 1),
            min_size=facts.n_queries,
            max_size=facts.n_queries,
        )
    )
    watch = np.array(
        data.draw(
            st.lists(
                st.sampled_from([-5, 0, 1, 2**29, 2**31]), min_size=len(draw), max_size=len(draw)
            )
        )
    )
    plan = so.attack(name).compile(release, facts, np.array(draw, np.int64))
    assert kernel_of(plan) is least.KERNEL
    shards = release.shards_at(*data.draw(cuts(release.n_records)))
    assert_same_partials(plan, shards, watch, data.draw(st.sampled_from([1, 2, 5])))


@pytest.mark.parametrize("wrong", [0, 1])
def test_many_records_with_equal_lengths_tie_as_they_do_when_all_are_read(wrong):
    rng = np.random.default_rng(3)
    record = np.repeat(np.arange(600), rng.choice([3, 3, 3, 8], 600))
    release = so.Dataset.from_arrays(
        record, rng.integers(0, 12, record.size), rng.integers(1, 3, record.size).astype(float)
    )
    who = so.Adversary(knows=2, wrong=wrong, value_within=0)
    targets = who.eligible(release)[::3]
    facts = who.sample(release, targets, seed=1).bind(release)
    for exclude in (targets, np.full(targets.size, -1)):
        plan = so.attack("scoreboard").compile(release, facts, exclude)
        assert_same_partials(
            plan, release.shards_at([0, 250, 600], 64), np.zeros(targets.size, np.int64), 3
        )


def test_plans_that_it_cannot_run_are_left_to_the_kernel_that_reads_all_records():
    """Ties broken at random, and sums of exponentials, need every record."""
    rng = np.random.default_rng(4)
    record = np.repeat(np.arange(80), 5)
    release = so.Dataset.from_arrays(record, rng.integers(0, 9, record.size))
    targets = np.arange(0, 80, 8)
    facts = so.Adversary(knows=2, value_within=None).sample(release, targets, seed=1).bind(release)
    plan = so.attack("scoreboard").compile(release, facts, facts.nobody)
    watch = np.zeros(targets.size, np.int64)
    assert_same_partials(replace(plan, tie=Tie.HASH), [release.index], watch, 3)
    listed, read = (Partials.empty(targets.size, 3, np.full(targets.size, 1e-6)) for _ in range(2))
    least.KERNEL.score(release.index, plan, (0, targets.size), watch, listed)
    cpu.KERNEL.score(release.index, plan, (0, targets.size), watch, read)
    assert read.mass.min() > 0
    np.testing.assert_array_equal(listed.mass, read.mass)
