"""The GPU kernel's block logic, emulated in NumPy, gives the CPU kernel's partials; its packing loses nothing."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import gpu_emulation
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import standout as so
from standout.scoring.cpu import fixed_log
from standout.scoring.gpu_layout import Layout, pack, shape_of, unpack
from standout.scoring.plan import Tie

sys.path.insert(0, str(Path(__file__).parents[1] / "engines"))
from plans import IDS, KINDS, SHAPES, assert_same_partials, case


def emulate(c, block: int, threads: int = 64, shared: int = 200_000):
    shard = c.data.shards(1, block)[0]
    return gpu_emulation.run(c.plan, c.data, shard, c.watch, threads, shared)


def few(c, n: int = 12):
    """The same case with its first queries only: the emulation is slow."""
    t = c.plan.tables
    stop = int(t.query_ptr[n])
    by_query = ("shift", "n_known", "exclude", "low", "high", "cut", "cap", "salt")
    by_fact = ("item", "known_day", "time_row", "value", "odds_value", "odds_floor")
    changes = {name: getattr(t, name)[:n] for name in by_query} | {name: getattr(t, name)[:stop] for name in by_fact}
    return c._replace(plan=c.plan.replace_tables(query_ptr=t.query_ptr[: n + 1], **changes), watch=c.watch[:n])


@pytest.mark.parametrize(("name", "options"), KINDS, ids=IDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_emulated_kernel_gives_the_cpu_kernels_partials(shape, name, options):
    c = few(case(shape, name, options))
    assert_same_partials(emulate(c, 256), so.MemoryEngine(threads=1).run(c.plan, c.data, c.watch))


@pytest.mark.parametrize("tie", list(Tie))
@pytest.mark.parametrize("filtered", [False, True])
def test_the_emulated_kernel_breaks_ties_and_filters_alike(tie, filtered):
    c = few(case("presence", "scoreboard-rh", {}, tie=tie, filtered=filtered))
    assert_same_partials(emulate(c, 100, threads=96), so.MemoryEngine(threads=1).run(c.plan, c.data, c.watch))


@pytest.mark.parametrize("shared", [8_000, 11_000])
def test_tables_that_do_not_fit_at_once_come_in_turns(shared):
    c = few(case("missing", "scoreboard-rh", {}))
    n_facts = int(np.diff(c.plan.tables.query_ptr).max())
    shape = shape_of(c.plan, 64, 64, 2, shared)
    assert not shape.tables_shared or shape.facts_at_once < n_facts
    assert_same_partials(emulate(c, 64, shared=shared), so.MemoryEngine(threads=1).run(c.plan, c.data, c.watch))


@given(st.floats(1.0, 2.0**184, allow_nan=False), st.integers(0, 8))
def test_the_short_logarithm_is_the_cpu_kernels(x, shift):
    usual = (int(fixed_log(x)) + (1 << shift >> 1)) >> shift
    assert gpu_emulation.short_log(x, shift) == usual


@given(lengths=st.lists(st.integers(0, 1500), max_size=9), warps=st.integers(1, 32))
def test_every_stretch_of_every_run_is_taken_by_exactly_one_warp(lengths, warps):
    taken = Counter((k, p) for _, k, p in gpu_emulation.stretches_of_warps(lengths, warps))
    wanted = {(k, p) for k, n in enumerate(lengths) for p in range(0, n, gpu_emulation.STRETCH)}
    assert set(taken) == wanted
    assert set(taken.values()) <= {1}


@given(data=st.data(), block=st.integers(1, 65_536), levels=st.integers(1, 4095), span=st.integers(0, 40_000))
def test_packed_postings_come_back_as_they_were(data, block, levels, span):
    layout = Layout.of(block, levels, span, True, True)
    n = data.draw(st.integers(0, 20))
    column = lambda most: np.array(data.draw(st.lists(st.integers(0, most), min_size=n, max_size=n)), dtype=np.int64)  # noqa: E731
    local, code, day = column(block - 1).astype(np.uint16), column(levels).astype(np.uint16), column(span)
    day = np.where(column(3) == 0, 65_535, day).astype(np.uint16)
    got = unpack(layout, pack(layout, local, code, day, 65_535))
    assert got[0].tolist() == local.tolist()
    assert got[1].tolist() == code.tolist()
    assert np.where(got[2] == layout.missing_day, 65_535, got[2]).tolist() == day.tolist()
