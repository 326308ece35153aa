"""Hypothesis strategies: small odd releases, knowledge of them, adversaries; and how to make them standout's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Query, Table

import standout as so

STRANGER = 7_777
"""An item label that no release of ours holds."""

LEVELS = (1.0, 2.0, 3.5, 4.0, 5.0)


class CutEngine(so.MemoryEngine):
    """The memory engine on other shards of the release than the dataset's own."""

    def __init__(self, shards: Sequence[so.Shard], threads: int | None = None) -> None:
        super().__init__(threads)
        self.shards = shards

    def map(self, task: so.Task, shards: Sequence[so.Shard]):
        """Result of the other shards, which hold the same records."""
        assert sum(s.n_records for s in shards) == sum(s.n_records for s in self.shards)
        return super().map(task, self.shards)


def dataset(table: Table) -> so.Dataset:
    """The same release, as standout sees it."""
    columns = np.array(table.entries, dtype=float).reshape(-1, 4)
    return so.Dataset.from_arrays(
        columns[:, 0].astype(np.int64),
        columns[:, 1].astype(np.int64),
        columns[:, 2] if table.values else None,
        columns[:, 3] if table.days else None,
    )


def knowledge(queries: Sequence[Query]) -> so.Knowledge:
    """The same facts, as standout sees them."""
    rows = [(q, *fact) for q, facts in enumerate(queries) for fact in facts]
    columns = np.array(rows, dtype=float)
    return so.Knowledge.from_arrays(
        columns[:, 0].astype(np.int64), columns[:, 1].astype(np.int64), columns[:, 2], columns[:, 3]
    )


def queries_of(aux: so.Knowledge) -> list[list[Fact]]:
    """Facts of each query of a sampled knowledge, as the oracle sees them."""
    facts = [
        Fact(int(i), float(v), float(t))
        for i, v, t in zip(aux.item, aux.value, aux.time, strict=True)
    ]
    return [facts[lo:hi] for lo, hi in zip(aux.query_ptr[:-1], aux.query_ptr[1:], strict=True)]


@st.composite
def tables(
    draw: st.DrawFn,
    values: bool | None = None,
    days: bool | None = None,
    missing: bool | None = None,
    repeats: bool | None = None,
    max_records: int = 9,
    max_items: int = 7,
    min_records: int = 1,
) -> Table:
    """A small release: channels there or not, missing in some entries or not, events repeated or not."""
    has_value = draw(st.booleans()) if values is None else values
    has_day = draw(st.booleans()) if days is None else days
    gaps = draw(st.booleans()) if missing is None else missing
    again = draw(st.booleans()) if repeats is None else repeats
    n_records = draw(st.integers(min_records, max_records))
    n_items = draw(st.integers(1, max_items))
    value = st.sampled_from([*LEVELS, NAN] if gaps else LEVELS) if has_value else st.just(NAN)
    day = st.integers(10_000, 10_090).map(float) if has_day else st.just(NAN)
    if has_day and gaps:
        day = st.one_of(day, day, day, st.just(NAN))
    pair = st.tuples(st.integers(0, n_records - 1), st.integers(0, n_items - 1))
    pairs = draw(st.lists(pair, max_size=40, unique=not again))
    # every record stands in the release, and each channel has at least one number in it
    pairs += [(r, r % n_items) for r in range(n_records) if all(p[0] != r for p in pairs)]
    entries = [Entry(5 * r - 12, 3 * i + 1, draw(value), draw(day)) for r, i in pairs]
    entries[0] = entries[0]._replace(
        value=LEVELS[draw(st.integers(0, 4))] if has_value else NAN,
        day=10_040.0 if has_day else NAN,
    )
    return Table(tuple(entries), has_value, has_day)


@st.composite
def facts_about(
    draw: st.DrawFn, table: Table, max_facts: int = 5, strangers: bool = True
) -> list[Fact]:
    """Facts of one query: near an entry or not, channels known or not, items known twice or not at all."""
    near = st.sampled_from(table.entries)
    facts = []
    for _ in range(draw(st.integers(1, max_facts))):
        e = draw(near)
        value = draw(st.sampled_from([NAN, e.value, e.value + 1, e.value - 0.5, 2.0]))
        day = draw(st.sampled_from([NAN, e.day, e.day + 3, e.day - 20, 9_000.0, 10_050.0]))
        item = draw(st.sampled_from([e.item, e.item, e.item, STRANGER])) if strangers else e.item
        facts.append(Fact(item, value, day))
    return facts


@st.composite
def cases(draw: st.DrawFn, max_queries: int = 4, **shape: object) -> tuple[Table, list[list[Fact]]]:
    """A release and knowledge of it; the first query knows at least one of its items."""
    table = draw(tables(**shape))  # type: ignore[arg-type]
    n = draw(st.integers(1, max_queries))
    first = draw(facts_about(table, strangers=False))
    return table, [first, *(draw(facts_about(table)) for _ in range(n - 1))]


@st.composite
def adversaries(draw: st.DrawFn, max_knows: int = 4, plain: bool = False) -> so.Adversary:
    """Any adversary; a plain one chooses uniformly and has no gamma."""
    knows = draw(st.integers(1, max_knows))
    return so.Adversary(
        knows=knows,
        wrong=draw(st.one_of(st.integers(0, knows), st.just(0.3))),
        wrong_kind=draw(st.sampled_from(["value", "item"])),
        value_within=draw(st.sampled_from([None, 0, 0.5, 1, 2, "25%"])),
        time_within=draw(st.sampled_from([None, 0, 3, 14])),
        choose="uniform"
        if plain
        else draw(st.sampled_from(["uniform", "outside-top:1", "rare:0.5@0.6"])),
        gamma=None if plain else draw(st.sampled_from([None, None, 0.0, 0.1])),
        length_within=draw(st.sampled_from([None, 0.0, 0.3, 0.5, 1.5])),
    )


def value_tolerance(who: so.Adversary, table: Table, true: float) -> float | None:
    """Largest error of a known value if the true one is `true`; None where she knows none."""
    if who.gamma is not None:
        return who.gamma * (table.scale()[-1] - table.scale()[0])
    if isinstance(who.value_within, str):
        return float(who.value_within.rstrip("%")) / 100 * abs(true)
    return who.value_within


def fitted(who: so.Adversary, table: Table) -> so.Adversary:
    """The adversary without what this release cannot tell her; wrong items in place of wrong values that cannot be drawn."""
    told_value = table.values and (who.value_within is not None or who.gamma is not None)
    told_day = table.days and who.time_within is not None
    if not told_value:
        who = replace(who, value_within=None, gamma=None)
    if not told_day:
        who = replace(who, time_within=None)
    room = told_value or told_day
    if told_value:
        scale = table.scale()
        room = any(abs(x - y) > value_tolerance(who, table, y) + 1e-9 for x in scale for y in scale)
    if told_day:
        days = [e.day for e in table.entries if e.day == e.day]
        room = room and max(days) - min(days) > who.time_within
    return who if room else replace(who, wrong_kind="item")


@st.composite
def cuts(draw: st.DrawFn, n_records: int) -> tuple[list[int], int]:
    """Places to cut the records at, 0 and N included, and a block size."""
    inner = (
        draw(st.sets(st.integers(1, max(1, n_records - 1)), max_size=4)) if n_records > 1 else set()
    )
    return [0, *sorted(inner), n_records], draw(st.integers(1, n_records + 2))


def random_table(
    n_records: int,
    n_items: int,
    per_record: int,
    seed: int,
    *,
    values: bool = True,
    days: bool = True,
    missing: float = 0.0,
    repeats: bool = False,
) -> Table:
    """A larger release with a popular head: for odd sizes and statistics, where Hypothesis would be slow."""
    rng = np.random.default_rng(seed)
    odds = 1.0 / np.arange(1, n_items + 1)
    entries = []
    for r in range(n_records):
        n = int(rng.integers(1, 2 * per_record))
        items = rng.choice(
            n_items, size=n if repeats else min(n, n_items), replace=repeats, p=odds / odds.sum()
        )
        for i in items:
            v = float(rng.choice(LEVELS)) if values and rng.random() >= missing else NAN
            d = float(rng.integers(10_000, 11_000)) if days and rng.random() >= missing else NAN
            entries.append(Entry(r, int(i), v, d))
    return Table(tuple(entries), values, days)
