"""The kernel of the least similarity reads only records that can score, and gives what reading all records gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, cuts, dataset, knowledge

import standout as so
from standout.scoring.cpu import TableKernel
from standout.scoring.kernels import kernel_of
from standout.scoring.least import LeastKernel
from standout.scoring.partials import Partials


def assert_same_partials(plan, shards, watch, k: int) -> None:
    listed, read = Partials.empty(plan.n_queries, k), Partials.empty(plan.n_queries, k)
    for shard in shards:
        LeastKernel().score(shard, plan, (0, plan.n_queries), watch, listed)
        TableKernel().score(shard, plan, (0, plan.n_queries), watch, read)
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
    assert isinstance(kernel_of(plan), LeastKernel)
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
