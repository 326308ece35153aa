"""Labels: which texts are integers, how wide ones are kept, how one is found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standout.data import labels as module
from standout.data.labels import find_labels, index_labels, integers_of, text_labels


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, unique=True))
def test_plain_integers_are_read_from_text(numbers):
    found = integers_of([str(n) for n in numbers])
    assert found is not None
    assert found.tolist() == numbers


@pytest.mark.parametrize(
    "text", ["007", "+1", "1e3", "-0", "1.5", "0x1", " 1", "١", "1_0", "", "1.00"]
)
def test_anything_else_stays_text(text):
    assert integers_of(["1", text]) is None


def test_whole_floats_in_text_are_integers():
    found = integers_of(["17850.0", "17851"])
    assert found is not None
    assert found.tolist() == [17850, 17851]


def test_one_long_label_does_not_make_all_of_them_wide(monkeypatch):
    monkeypatch.setattr(module, "WIDEST_TABLE", 1000)
    assert text_labels(["a", "b"]).dtype.kind == "U"
    long = text_labels(["a", "b" * 300])
    assert long.dtype == object
    assert long.tolist() == ["a", "b" * 300]


def test_a_label_that_ends_in_nul_keeps_it():
    assert text_labels(["a", "a\0"]).tolist() == ["a", "a\0"]


@pytest.mark.parametrize(
    ("labels", "wanted", "places"),
    [
        (np.array([-3, 5, 9]), [9, 4, -3], [2, -1, 0]),
        (np.array([-3, 5, 9]), [5.0, np.nan, 5.5], [1, -1, -1]),
        (np.array([3, 17]), ["17", "017", "x"], [1, -1, -1]),
        (np.array(["17", "b"]), [17, 3], [0, -1]),
        (np.array(["a", "b"]), ["b", None, "c"], [1, -1, -1]),
        (np.array([1.5, 2.0]), [2, 1], [1, -1]),
        (np.array([2**63 + 1], np.uint64), [2**63 + 1, 2**63, 1], [0, -1, -1]),
        (np.array(["a", "bb"], object), ["bb"], [1]),
        (np.array([], np.int64), [1], [-1]),
    ],
)
def test_labels_are_found_again(labels, wanted, places):
    assert find_labels(labels, wanted).tolist() == places


@pytest.mark.parametrize("spread", [1, 2**40], ids=["by table", "by hash"])
@given(numbers=st.lists(st.integers(-1000, 1000), min_size=1, max_size=50))
def test_numbers_are_indexed_as_by_sorting_all_of_them(spread, numbers):
    array = np.array(numbers, np.int64) * spread
    labels, index, note = index_labels(array, "item")
    expected, place = np.unique(array, return_inverse=True)
    assert labels.dtype == np.int64
    assert np.array_equal(labels, expected)
    assert np.array_equal(index, place)
    assert note is None


@given(st.lists(st.one_of(st.none(), st.text(max_size=4)), max_size=30))
def test_texts_are_indexed_as_by_sorting_all_of_them(texts):
    labels, index, note = index_labels(np.array([*texts, None, "b"], object)[:-1], "item")
    expected = sorted({x for x in texts if x})
    assert labels.tolist() == expected
    assert index.tolist() == [expected.index(x) if x else -1 for x in texts] + [-1]
    assert note is None
