"""Thirteen shapes of data, from file to headline, against an independent count of who is unique."""

from __future__ import annotations

import pytest
from shapes import SHAPES, Shape, table, unique_rate

import standout as so
from standout.report.sentences import judge_level, write_statements
from standout.report.view import view

NAMES = [shape.name for shape in SHAPES]


def _used(ds: so.Dataset) -> dict[str, str]:
    return {
        use.role: use.name
        for use in ds.cleaning.columns
        if use.role in ("record", "item", "value", "time")
    }


@pytest.mark.parametrize("shape", SHAPES, ids=NAMES)
def test_every_shape_is_read_whole_and_gets_its_headline(shape: Shape, tmp_path):
    path = shape.write(tmp_path)
    held = table(shape, path)
    ds = so.Dataset.read(path, **shape.options)
    assert ds.n_records == len(held)
    assert ds.n_entries == sum(len(events) for items in held.values() for events in items.values())
    if not shape.options.get("wide"):
        assert _used(ds) == {role: name for role, name in shape.roles.items() if name is not None}
    findings = so.Audit(ds, targets=100, seed=1).run(progress=False)
    seen = view(findings)
    said = write_statements(seen)
    level, about = judge_level(seen)
    assert level == ("some" if shape.most_from is None else "most"), said[0]
    if shape.most_from is not None:
        finding = [case.knows for case in view(findings).cases if case.hit["low"] > 0.5]
        assert min(finding) == shape.most_from <= about.knows, said[0]
    frame = findings.to_frame()
    right = frame[frame.wrong == 0]
    for knows in sorted(set(right.knows)):
        # Bayes is never below the share of people whom exact facts make unique; 0.12 is three
        # standard errors of both samples
        best = right[right.knows == knows].hit.max()
        assert best >= unique_rate(held, knows) - 0.12, f"{knows} facts"


def test_a_table_of_twins_never_finds_more_than_half():
    """Everybody has a double: no knowledge can tell the two apart."""
    shape = next(s for s in SHAPES if s.name == "ratings on a grid")
    import numpy as np

    rows = [line.split(",") for line in shape.lines(np.random.default_rng(11))[1:]]
    record, item, value, time = (
        np.array(column, dtype=float) for column in zip(*rows, strict=True)
    )
    twice = [np.concatenate([x, x]) for x in (item, value, np.floor(time / 86_400))]
    ds = so.Dataset.from_arrays(np.concatenate([record, record + 10_000]), *twice)
    frame = so.Audit(ds, targets=100, seed=1).run(progress=False).to_frame()
    assert frame.hit.max() <= 0.5
    assert frame.hit.max() > 0.45
