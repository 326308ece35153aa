"""Groups of people in findings: none is so small that its rate says something about one person."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standout.adversary.adversary import Adversary
from standout.audit.audit import Audit
from standout.audit.groups import SMALLEST, cut
from standout.data.dataset import Dataset


@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(1, 20))
def test_every_group_has_enough_people_or_is_everyone(sizes, fewest):
    size = np.array(sizes)
    ends = cut(size, fewest)
    inside = np.diff(np.searchsorted(np.sort(size), [0, *ends], side="right"))
    assert inside.sum() == size.size
    assert len(ends) == 1 or inside.min() >= fewest


@pytest.mark.parametrize("targets", [7, 12, 39, 60])
def test_no_group_of_an_audit_is_smaller_than_ten_people(targets):
    rng = np.random.default_rng(0)
    length = rng.integers(4, 20, 60)
    record = np.repeat(np.arange(60), length)
    item = np.concatenate([rng.choice(40, n, replace=False) for n in length])
    found = Audit(
        Dataset.from_arrays(record, item),
        Adversary(knows=2),
        "scoreboard-rh",
        targets,
        describe=False,
    ).run(False)
    for one in found.results[0]["attacks"]:
        for name in ("by_length", "by_rarity"):
            counts = [group["n"] for group in one.get(name, ())]
            assert sum(counts) == targets
            assert len(counts) == 1 or min(counts) >= SMALLEST
        assert targets != 60 or len(one["by_length"]) > 1
