"""Defenses on MovieLens ratings: what is promised holds there too, counted by other code."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import standout as so

DATA = Path(os.environ.get("STANDOUT_DATA", ""), "ml-latest-small", "ratings.csv.gz")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.is_file(), reason="ml-latest-small is not in STANDOUT_DATA"),
]


@pytest.fixture(scope="module")
def ratings() -> so.Dataset:
    return so.Dataset.read(DATA)


def pair_counts(ds: so.Dataset) -> np.ndarray:
    held = sparse.csr_array(
        (np.ones(ds.n_entries), ds.record_item, ds.record_ptr), shape=(ds.n_records, ds.n_items)
    )
    return (held.T @ held).toarray()


def test_suppression_leaves_no_rare_pair_of_movies(ratings: so.Dataset) -> None:
    release = so.defense("suppress-km", k=5, m=2).apply(ratings)
    counts = pair_counts(release)
    assert counts[counts > 0].min() >= 5
    assert (release.n_items, release.n_entries) == (522, 43_312)


def test_the_inferred_names_of_opaque_movies_are_right_as_often_as_the_mechanism_says(
    ratings: so.Dataset,
) -> None:
    release = so.defense("opaque-items").apply(ratings, seed=3)
    items = release.mechanism.items  # type: ignore[union-attr]
    held = {label: frozenset(zip(*part, strict=True)) for label, part in _entries(ratings).items()}
    named = {label: frozenset(zip(*part, strict=True)) for label, part in _entries(release).items()}
    right = np.array(
        [held[a] == named[b] for a, b in zip(items.source, items.release, strict=True)]
    )
    # 9,724 movies, most of them with a few ratings and the same values as others
    assert abs(right.mean() - items.chance.mean()) < 0.03
    assert right[items.chance == 1].all() and 0.1 < (items.chance == 1).mean() < 0.9


def _entries(ds: so.Dataset) -> dict:
    """Item label → (records, values, days) of its entries."""
    frame = ds.to_frame()
    return {
        label: (part["record"], part["value"], part["time"])
        for label, part in frame.groupby("item")
    }
