"""Published parameters of a release: how those of two defenses combine, and who carries them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from standout.data.dataset import Dataset
from standout.data.mechanism import ItemMap, Mechanism, Origin, TimeMap
from standout.errors import ParameterError
from standout.kernels.levels import Table


def test_an_entry_must_survive_both_defenses() -> None:
    both = Mechanism(lost=0.5, sampled=0.5).then(Mechanism(lost=0.2, kept_pairs=0.9))
    assert both.lost == pytest.approx(0.6)
    assert (both.sampled, both.kept_pairs) == (0.5, 0.9)


def test_value_changes_multiply_in_order() -> None:
    two, one = np.array([1.0, 2.0]), np.array([1.5])
    blur = Table(two, two, sparse.csr_array(np.array([[0.75, 0.25], [0.25, 0.75]])))
    merge = Table(two, one, sparse.csr_array(np.ones((2, 1))))
    assert Mechanism(value=blur).then(Mechanism(value=merge)).value.chance.toarray().tolist() == [
        [1.0],
        [1.0],
    ]  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="levels"):
        merge.then(blur)


def test_a_dropped_channel_stays_dropped() -> None:
    both = Mechanism(time=TimeMap(shift=3)).then(Mechanism(dropped=frozenset({"time"})))
    assert both.time is None
    assert both.dropped == {"time"}


@pytest.mark.parametrize(
    ("first", "second", "period_first"), [("shift", "month", False), ("month", "shift", True)]
)
def test_the_order_of_shift_and_rounding_is_kept(
    first: str, second: str, period_first: bool
) -> None:
    parts = {"shift": TimeMap(shift=7), "month": TimeMap(period="month")}
    assert parts[first].then(parts[second]) == TimeMap(7, "month", period_first)


def test_names_that_change_twice_are_followed() -> None:
    first = ItemMap(np.array(["a", "b", "c"]), np.array(["x", "x", "y"]), np.array([1.0, 1.0, 0.5]))
    second = ItemMap(np.array(["x"]), np.array(["1"]), np.array([0.5]))
    both = Mechanism(items=first).then(Mechanism(items=second)).items
    assert both is not None
    assert both.source.tolist() == ["a", "b"]
    assert both.release.tolist() == ["1", "1"]
    assert both.chance.tolist() == [0.5, 0.5]


def test_a_part_of_a_release_does_not_claim_to_be_the_release() -> None:
    source = Dataset.from_arrays([1, 1, 2, 3], [1, 2, 1, 2])
    release = replace(source, origin=Origin(source, None, Mechanism(lost=0.5)))
    assert release.source is source
    assert release.mechanism is not None
    assert source.mechanism is None
    assert release.take([0, 1]).mechanism is None
    assert release.with_entries(np.array([True, True, True, False])).mechanism is None
