"""The entries of chosen records are the same from rows and from posting lists, in one part or in several at once."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import standout as so
from standout.data import row_copies
from standout.data.row_copies import gather_rows, rows_of


@given(
    size=st.lists(st.integers(0, 6), min_size=1, max_size=30),
    chosen=st.lists(st.integers(0, 29), max_size=40),
    part=st.integers(1, 20),
)
def test_rows_gathered_in_parts_are_those_gathered_at_once(size, chosen, part):
    ptr = np.concatenate([[0], np.cumsum(size)])
    row = np.array([k % len(size) for k in chosen], np.int64)
    entries = np.arange(ptr[-1], dtype=np.uint16), np.arange(ptr[-1]) * 3
    starts, at = rows_of(ptr, row)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_copies, "ENTRIES_PER_PART", part)
        patch.setattr(row_copies.os, "cpu_count", lambda: 3)
        found, got = gather_rows(ptr, row, *entries, np.empty(0, np.int32))
    assert found.tolist() == starts.tolist()
    assert [x.tolist() for x in got] == [*(e[at].tolist() for e in entries), []]
    assert [x.dtype for x in got] == [np.uint16, np.int64, np.int32]


@pytest.fixture
def release():
    rng = np.random.default_rng(5)
    n = 4000
    time = np.datetime64("2020-01-01") + rng.integers(0, 90, n)
    return so.Dataset.from_arrays(
        rng.integers(0, 300, n), rng.integers(0, 40, n), rng.integers(1, 6, n), time
    )


def test_posting_lists_give_the_same_rows_as_the_release(release, monkeypatch):
    monkeypatch.setattr(row_copies, "ENTRIES_PER_PART", 50)
    monkeypatch.setattr(row_copies.os, "cpu_count", lambda: 3)
    some = np.flatnonzero(np.random.default_rng(1).random(release.n_records) < 0.6)
    by_row, by_item = release.rows(some), release.index.with_blocks(64).rows(some)
    for field in fields(by_row):
        assert np.array_equal(getattr(by_row, field.name), getattr(by_item, field.name)), field.name


def test_a_slice_of_blocks_gives_the_rows_of_its_own_records(release):
    part = release.index.with_blocks(64).slice(1, 3)
    rows = part.rows(np.array([0, 5, 127]))
    expected = release.rows([64, 69, 191])
    for field in fields(rows):
        assert np.array_equal(getattr(rows, field.name), getattr(expected, field.name)), field.name
