"""Histograms of values and days per item."""

from __future__ import annotations

import numpy as np

import standout as so
from standout.data.background import MOST_BINS, background


def test_days_that_span_ten_thousand_years_do_not_make_a_hundred_thousand_bins():
    rng = np.random.default_rng(0)
    far = rng.integers(-700_000, 2_900_000, 300)
    ds = so.Dataset.from_arrays(rng.integers(0, 20, 300), rng.integers(0, 30, 300), time=far)
    back = background(ds)
    assert back.all_days.size <= MOST_BINS
    assert back.all_days.sum() == 300


def test_bins_of_ordinary_data_are_thirty_days():
    ds = so.Dataset.from_arrays([0, 0, 1], [1, 2, 1], time=[0, 100, 2000])
    assert background(ds).bin_ticks == 30
