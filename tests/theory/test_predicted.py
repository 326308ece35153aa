"""What Theorem 2 predicts must hold: compared with every choice of known items on small data."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import standout as so
from standout.formulas.ns08 import theorem_2_found


def small(seed, value=False):
    g = np.random.default_rng(seed)
    pairs = np.unique(np.stack([g.integers(0, 25, 300), g.integers(0, 60, 300)]), axis=1)
    return so.Dataset.from_arrays(
        pairs[0], pairs[1], g.integers(1, 3, pairs.shape[1]) if value else None
    )


def held(ds, r):
    return ds.record_item[ds.record_ptr[r] : ds.record_ptr[r + 1]].tolist()


def alone(ds, m):
    """Per record: share of its m-item sets that no other record holds; NaN where it has fewer items."""
    sets = [set(held(ds, r)) for r in range(ds.n_records)]
    out = []
    for r, own in enumerate(sets):
        known = list(combinations(sorted(own), m))
        others = sets[:r] + sets[r + 1 :]
        out.append(
            np.mean([not any(set(k) <= o for o in others) for k in known]) if known else np.nan
        )
    return np.array(out)


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("seed", [0, 1])
def test_nobody_is_promised_more_than_what_every_choice_of_items_finds(m, seed):
    ds = small(seed)
    sets = [set(held(ds, r)) for r in range(ds.n_records)]
    agree = [max(len(s & o) for k, o in enumerate(sets) if k != r) for r, s in enumerate(sets)]
    promised, true = theorem_2_found(agree, ds.lengths, m, ds.n_records), alone(ds, m)
    assert np.array_equal(np.isnan(promised), np.isnan(true))
    assert (promised[~np.isnan(true)] <= true[~np.isnan(true)] + 1e-12).all()
    row = (
        next(p for p in so.describe(ds).theorem[0]["found"] if p["knows"] == m) if m != 3 else None
    )
    if row:
        assert row["at_least"] == pytest.approx(np.nanmean(promised), abs=1e-12)
        assert row["at_least"] <= np.nanmean(true)


def test_the_promise_is_more_than_nothing_where_records_overlap_little():
    assert so.describe(small(0)).theorem[0]["found"][2]["at_least"] > 0.1


def test_a_sample_of_records_promises_less_than_all_of_them():
    whole, part = (
        so.describe(small(0), records=n).theorem[0]["found"][2]["at_least"] for n in (25, 24)
    )
    assert part < whole


def test_nothing_is_predicted_about_values_where_some_are_missing():
    ds = small(0, value=True)
    assert [t["similarity"] for t in so.describe(ds).theorem] == ["items", "items, values ±1"]
    value = np.where(np.arange(ds.n_entries) == 3, np.nan, 2.0)
    record = np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))
    holes = so.Dataset.from_arrays(record, ds.record_item, value)
    assert [t["similarity"] for t in so.describe(holes).theorem] == ["items"]


def test_a_description_has_a_frame_and_shows_itself():
    found = so.describe(small(0, value=True))
    frame = found.to_frame().set_index(["part", "measure"])["value"]
    assert frame["n_records", ""] == 25 and frame["items_per_record", "most"] == max(
        np.diff(small(0, value=True).record_ptr)
    )
    html = found._repr_html_()
    assert "25 records" in html and html.count("<svg") == 2 and "<script" not in html
