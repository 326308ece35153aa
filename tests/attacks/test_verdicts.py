"""Verdicts as frames and in notebooks."""

from __future__ import annotations

import numpy as np
from strategies import dataset, random_table

import standout as so


def _verdicts():
    ds = dataset(random_table(60, 20, 6, seed=3))
    targets = np.arange(10)
    knowledge = so.Adversary(knows=3).sample(ds, targets, seed=1)
    return so.attack("likelihood").run(ds, knowledge, watch=targets)


def test_a_frame_holds_every_field_with_one_row_per_query():
    v = _verdicts()
    frame = v.to_frame()
    assert len(frame) == 10
    assert frame["credit"].tolist() == v.credit.tolist()
    assert {"best", "posterior", "absent", "n_tied", "spacing"} <= set(frame.columns)


def test_a_notebook_shows_counts_and_no_record():
    html = _verdicts()._repr_html_()
    assert "<th>queries</th><td>10</td>" in html
    assert "mean posterior" in html
