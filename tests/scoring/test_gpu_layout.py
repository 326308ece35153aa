"""How postings and tables lie in a GPU's memory, as far as it can be tested without a GPU."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standout.scoring import gpu
from standout.scoring.gpu_layout import (
    PLAN_POINTERS,
    PostingLayout,
    device_tables,
    pack,
    shape_of,
    spaced,
    time_table,
    widths,
)
from standout.scoring.plan import Combine

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from plans import IDS, KINDS, case


@pytest.mark.parametrize(("shared", "whole"), [(8_000, False), (11_000, False), (200_000, True)])
def test_tables_that_do_not_fit_into_shared_memory_are_staged_in_turns(shared, whole):
    c = case("missing", "scoreboard-rh", {})
    n_facts = int(np.diff(c.plan.tables.query.ptr).max())
    shape = shape_of(c.plan, 64, 64, 2, shared)
    assert (shape.tables_shared and shape.facts_at_once == n_facts) == whole
    assert shape.shared_bytes * shape.per_sm <= max(shared, 4 * 64)


@pytest.mark.parametrize(("kind", "fixed"), [("sum", 0), ("odds", 8 * 1024)])
def test_shared_memory_holds_the_accumulator_and_a_row_of_both_tables_per_fact(kind, fixed):
    name, options = KINDS[IDS.index(kind)]
    plan = case("missing", name, options).plan
    shape = shape_of(plan, 64, 64, 1, 200_000)
    size = (plan.tables.fact.odds_value if kind == "odds" else plan.tables.fact.value).itemsize
    n_values, n_times = widths(plan)
    assert shape.shared_bytes == 4 * 64 + fixed + shape.facts_at_once * size * (
        n_values + spaced(n_times, size)
    )


def unpacked(layout: PostingLayout, words: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(local, code, tick) of words, as the kernel reads them."""
    w = words.astype(np.uint64)
    local = w & np.uint64((1 << layout.local_bits) - 1)
    code = (w >> np.uint64(layout.local_bits)) & np.uint64((1 << layout.code_bits) - 1)
    tick = w >> np.uint64(layout.tick_shift) if layout.tick_bits else np.zeros_like(w)
    return local.astype(np.int64), code.astype(np.int64), tick.astype(np.int64)


@given(
    data=st.data(),
    block=st.integers(1, 65_536),
    levels=st.integers(1, 60_000),
    span=st.integers(0, 40_000),
)
def test_packed_postings_come_back_as_they_were(data, block, levels, span):
    layout = PostingLayout.of(block, levels, span, True, True)
    n = data.draw(st.integers(0, 20))
    column = lambda most: np.array(  # noqa: E731
        data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n)), dtype=np.int64
    )
    local, code, day = (
        column(block - 1).astype(np.uint16),
        column(levels).astype(np.uint16),
        column(span),
    )
    day = np.where(column(3) == 0, 65_535, day).astype(np.uint16)
    got = unpacked(layout, pack(layout, local, code, day, 65_535))
    assert got[0].tolist() == local.tolist()
    assert got[1].tolist() == code.tolist()
    assert np.where(got[2] == layout.missing_tick, 65_535, got[2]).tolist() == day.tolist()


def test_the_joined_source_holds_every_part_once_in_a_stated_order():
    folder = Path(gpu.__file__).with_name("gpu_source")
    assert sorted(path.name for path in folder.iterdir()) == sorted(gpu.PARTS)
    text, place = gpu.source(), -1
    for name in gpu.PARTS:
        part = (folder / name).read_text(encoding="utf-8")
        assert text.count(part) == 1 and text.index(part) > place
        place = text.index(part)
        assert len(part.splitlines()) < 400
    # a kernel that Python launches by name, and the logarithm that it calls, which must come before
    # it
    assert -1 < text.index("fixed_log(double x") < text.index("peek_record(")


def test_the_package_ships_every_part_of_the_source():
    import tomllib

    settings = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )
    shipped = settings["tool"]["setuptools"]["package-data"]["standout"]
    package = Path(gpu.__file__).parents[1]
    found = {path.name for pattern in shipped for path in package.glob(pattern)}
    assert found >= set(gpu.PARTS)


@pytest.mark.parametrize(("kind", "folded"), [("sum", True), ("odds", True), ("late", False)])
def test_only_symmetric_time_tables_are_folded_and_keep_every_number(kind, folded):
    name, options = KINDS[IDS.index(kind)]
    plan = case("missing", name, options).plan
    time = plan.tables.row.odds_time if plan.combine == Combine.ODDS else plan.tables.row.time
    seen = time_table(plan)
    assert seen.folded == folded
    reach = time.shape[1] // 2 - 1
    gap = np.arange(-reach, reach + 1)
    again = seen.table[:, np.abs(gap) if folded else gap + reach]
    assert np.array_equal(np.column_stack([again, seen.table[:, -1]]), time)


def _fields(struct: str, kind: str) -> list[str]:
    """Names of the pointers, or of the 64-bit integers, of a struct in gpu_source."""
    body = re.search(rf"struct {struct} {{(.*?)}};", gpu.source(), re.DOTALL)
    assert body
    pointers, numbers = [], []
    for line in body[1].split(";"):
        names = re.findall(r"(\*?)(\w+)\s*(?:,|$)", line.strip())
        for star, name in names:
            (pointers if star else numbers).append(name)
    return pointers if kind == "pointers" else numbers


@pytest.mark.parametrize("kind", IDS)
def test_the_tables_of_a_plan_have_the_names_and_the_order_of_the_device_struct(kind):
    name, options = KINDS[IDS.index(kind)]
    made = device_tables(case("missing", name, options).plan)
    assert _fields("Plan", "pointers") == list(PLAN_POINTERS)
    assert _fields("Plan", "numbers") == [
        "n_queries",
        "n_values",
        "n_times",
        "times_apart",
        "facts_at_once",
    ]
    assert set(PLAN_POINTERS) - set(made) == {
        "factor",
        "posting_factor",
        "lengths",
        "log_table",
        "head",
    }
