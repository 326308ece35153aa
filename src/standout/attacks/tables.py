"""From facts to tables: shared by all attacks when they compile a plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from standout.adversary.knowledge import Facts
from standout.adversary.level_errors import channels_of, is_known
from standout.arrays import Array
from standout.attacks.table_rows import (
    Cells,
    cells_of,
    ends_without,
    even_starts,
    holds,
    numbered,
    row_bounds,
    sole_items,
    to_integers,
)
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.data.index import Rows
from standout.data.item_codes import ItemCodes
from standout.data.loading import in_memory
from standout.data.scale import ValueScale
from standout.data.times import to_ticks
from standout.errors import ParameterError
from standout.formulas import ns08
from standout.scoring.factors import RecordFactor
from standout.scoring.plan import (
    LOG_BITS,
    SCORE_LIMIT,
    Combine,
    FactTables,
    Plan,
    QueryTables,
    RowTables,
    Tables,
    Tie,
    fixed_point,
)

LONG_REACH = 4096
"""A time table that reaches further is cut at the longest gap that occurs."""

LONGEST_REACH = 2**24
"""Largest reach of a time table, in ticks: 194 days of seconds, 31 years of minutes."""


@dataclass(frozen=True, eq=False, repr=False)
class Known:
    """The facts about items that the release holds, with the quantities that attacks need."""

    dataset: Catalog
    facts: Facts
    exclude: Array
    query_ptr: Array
    query: Array
    item: Array
    value: Array
    """NaN = unknown, also when the release has no values; (facts, channels) where it has joint codes."""
    tick: Array
    """Ticks after the release's first tick; NaN = unknown, also when the release has no times."""
    support: Array
    """Records that hold the item, the excluded one not counted."""
    n_records: Array
    """Per query: records in the release, the excluded one not counted."""
    gone: Rows
    """Rows of the excluded records."""
    gone_at: Array
    """Per query: place of its excluded record in `gone`, -1 = none."""

    @classmethod
    def of(cls, dataset: Catalog, facts: Facts, exclude: Array) -> Known:
        """Leave out facts about items that the release does not hold, and recount supports."""
        here = facts.item >= 0
        query = facts.query[here]
        item = facts.item[here]
        ptr = np.zeros(facts.n_queries + 1, np.int64)
        np.cumsum(np.bincount(query, minlength=facts.n_queries), out=ptr[1:])
        gone = dataset.rows(np.unique(exclude[exclude >= 0]))
        gone_at = gone.places(exclude)
        nothing = np.full(item.size, np.nan)
        return cls(
            dataset,
            facts,
            exclude,
            ptr,
            query,
            item,
            value=facts.value[here] if dataset.has_value else nothing,
            tick=to_ticks(facts.day[here], dataset.time_resolution) - dataset.first_tick
            if dataset.has_time
            else nothing,
            support=dataset.supports[item] - holds(gone.ptr, gone.item, gone_at[query], item),
            n_records=dataset.n_records - (exclude >= 0),
            gone=gone,
            gone_at=gone_at,
        )

    @cached_property
    def given(self) -> Array:
        """Bool (facts): facts about attributes of the person."""
        if self.facts.given is None:
            return np.zeros(self.item.size, np.bool_)
        return np.asarray(self.facts.given[self.facts.item >= 0])

    @property
    def n_given(self) -> Array:
        """Per query: number of facts about attributes."""
        return np.bincount(self.query[self.given], minlength=self.facts.n_queries)

    @property
    def sharing(self) -> Array:
        """Per fact: records that hold the item; of an attribute, those that share its known level."""
        out = self.support.astype(np.float64)
        if self.given.any():
            cells = self.cells
            held = cells.entries
            if cells.places is None:
                counts = background(self.dataset).values_of(self.dataset, self.item)
                held = np.column_stack([counts, np.zeros(self.item.size)]).reshape(-1)
            agree = np.logical_and.reduce(self.agreeing(None))
            same = np.bincount(cells.row, weights=held * agree, minlength=self.item.size)
            out[self.given] = same[self.given]
        return out

    @property
    def has_value(self) -> Array:
        """Facts with a known value, or a known level of any channel."""
        return is_known(self.value)

    @cached_property
    def known_tick(self) -> Array:
        """int64 (facts): `tick` for kernels, which compute gaps in 32 bits; times farther away are in reach of no entry."""
        outside = 4.0 * LONGEST_REACH
        inside = np.clip(self.tick, -outside, self.dataset.tick_span + outside)
        return np.where(self.has_tick, inside, 0.0).astype(np.int64)

    @property
    def has_tick(self) -> Array:
        """Facts with a known time."""
        return ~np.isnan(self.tick)

    @property
    def in_memory(self) -> Dataset:
        """The dataset, for tables that read all of its records."""
        return in_memory(self.dataset, "this attack")

    def longest_gap(self) -> int:
        """No entry's time is further from a known one than this, in ticks."""
        ticks = self.tick[self.has_tick]
        far = max(
            np.abs(ticks).max(initial=0.0), np.abs(self.dataset.tick_span - ticks).max(initial=0.0)
        )
        return int(np.ceil(min(far, 2.0**30)))

    def useful_reach(self, reach: int) -> int:
        """The reach of a time table: cut at the longest gap that occurs where it would be long.

        Raises
        ------
        ParameterError
            If the table would still be too long.
        """
        if reach <= LONG_REACH:
            return reach
        reach = min(reach, self.longest_gap() + 1)
        if reach > LONGEST_REACH:
            data = self.dataset
            days = LONGEST_REACH // data.ticks_per_day
            raise ParameterError(
                f"a tolerance of more than {days:,} days of times that are read to the {data.time_resolution} is too wide: "
                "lower it, or read the data with a coarser resolution"
            )
        return reach

    @cached_property
    def cells(self) -> Cells:
        """Cells of the value tables, a row per fact."""
        return cells_of(self.dataset, self.item)

    def value_gaps(self) -> Array:
        """(cells): distance of the level from the known value, NaN where one of the two is unknown."""
        return next(self._levels())[4]

    def _levels(self) -> Iterator[tuple[str, ValueScale, Array, Array, Array]]:
        """Per level channel: name, scale, known level by fact, and by cell the level and its distance from the known one.

        A level that is the number of all levels means none; its distance is NaN.
        """
        columns = [self.value] if self.value.ndim == 1 else list(self.value.T)
        code = self.cells.code
        for column, (name, scale, level_of) in zip(columns, channels_of(self.dataset), strict=True):
            level = code if level_of is None else level_of[code]
            gap = scale.gap(column[self.cells.row], np.append(scale.levels, np.nan)[level])
            yield name, scale, column, level, gap

    def agreeing(self, value_within: float | str | None, outside: float = 0.0) -> list[Array]:
        """Bool (cells), per level channel: whether the level is within the tolerance of the known one, or that is not known.

        An entry without a level never agrees with a known one.

        Parameters
        ----------
        value_within
            Tolerance of the value; None = the adversary's. That of other channels is the
            adversary's.
        outside
            Tolerance of the value in knowledge from outside, where none is given.
        """
        who, out = self.facts.adversary, []
        for name, scale, column, level, gap in self._levels():
            if name == "value" and value_within is not None:
                tolerance = scale.tolerance(value_within)
            elif who is not None:
                tolerance = who.tolerance(name, scale)
            else:
                tolerance = scale.tolerance(outside if name == "value" else 0.0)
            reach = np.append(scale.reach(tolerance), -1.0)[level]
            inside = ns08.within(np.nan_to_num(gap, nan=0.0), reach) > 0
            out.append(inside | np.isnan(column)[self.cells.row])
        return out

    def by_cell(self, x: Array, table: Array) -> Array:
        """A number per fact, for each cell of a table that has cells, or one number per fact."""
        return x if table.size == x.size else x[self.cells.row]

    @property
    def n_known(self) -> Array:
        """Per query: number of facts, including items that the release does not hold."""
        return np.diff(self.facts.query_ptr).astype(np.int64)

    @property
    def n_items(self) -> Array:
        """Per query: items of the release, those that only the excluded record holds not counted."""
        data = self.dataset
        return data.n_items - np.asarray(
            sole_items(self.gone.ptr, self.gone.item, data.supports, self.gone_at)
        )

    @property
    def gone_lengths(self) -> Array:
        """Per query: distinct items of the excluded record, 0 = none is excluded."""
        return np.append(self.gone.lengths, 0)[self.gone_at]

    @property
    def value_range(self) -> Array:
        """Per query: range of the value scale (DSS12's p) without the excluded record."""
        data = self.dataset
        if not data.has_value or not data.n_levels:
            return np.zeros(self.facts.n_queries)
        ends = ends_without(data, self.gone, self.gone_at)
        some = ends[:, 1] >= ends[:, 0]
        inside = np.clip(ends, 0, data.n_levels - 1)
        low, high = data.levels[inside].T
        return np.where(some, high - low, 0.0)

    def sum_over_facts(self, x: Array) -> Array:
        """Sum of a number per fact, by query."""
        return np.bincount(self.query, weights=x, minlength=self.facts.n_queries)

    def largest_fact(self, x: Array) -> Array:
        """Largest of a number per fact, by query; at least 0."""
        out = np.zeros(self.facts.n_queries)
        np.maximum.at(out, self.query, x)
        return out

    def plan(self, combine: Combine, value: Array, time: Array, **more: Any) -> Plan:
        """Round contributions to fixed point and pack them.

        Parameters
        ----------
        combine
            How contributions become a score.
        value, time
            float64 (`cells`, or facts × levels + 1) and (rows, 2·reach + 2): contributions by value
            code and by signed gap (`scoring.plan`), each row with a last cell for entries without
            one; one number per fact where values play no role. For sums, -inf vetoes the entry.
        more
            `tie`, `base`, `factor` (a `RecordFactor`), `cut`, `cap` (scores per query), `salt`,
            `longest` (most items a candidate may hold, per query), `threshold` (per query, for the
            criterion), `time_row` (per fact: its row of `time`, where facts share rows),
            `gap_shift` (columns of `time` stand for 2^gap_shift gaps).
        """
        time_row = more.get("time_row", np.arange(self.item.size))
        start, value, places = self._rows(value)
        if combine == Combine.SUM and (value.size == self.item.size or time.shape[1] == 1):
            value, time, time_row = self._merge_lone_channel(
                value, start, time, np.asarray(time_row)
            )
        time = np.ascontiguousarray(time, np.float64)
        n_rows, gaps = time.shape
        time_start, time = even_starts(n_rows, gaps), time.reshape(-1)
        bound = row_bounds(value, start) + row_bounds(time, time_start)[time_row]
        n = self.facts.n_queries
        # a minimum is at most its largest part: it can use all bits
        scale = fixed_point(
            self.largest_fact(bound) if combine == Combine.MIN else self.sum_over_facts(bound)
        )
        # facts still share a row if their queries have the same scale
        rounding, power = np.unique(scale, return_inverse=True)
        rows, time_row = numbered(
            time_row * rounding.size + power[self.query], n_rows * rounding.size
        )
        tables = self.tables(
            value=to_integers(value, start, np.arange(self.item.size), scale[self.query]),
            value_start=start[:-1],
            time_row=time_row,
            time=to_integers(
                time, time_start, rows // rounding.size, rounding[rows % rounding.size]
            ).reshape(-1, gaps),
        )
        longest = more.get("longest")
        if longest is not None and (longest < self.dataset.longest).any():
            tables = tables.replaced(high=np.minimum(tables.query.high, longest))
        plan = self._wrap(
            combine,
            tables,
            scale,
            more.get("base", np.zeros(n)),
            more.get("tie", Tie.INDEX),
            more.get("factor"),
            places,
        )
        if more.get("threshold") is not None:
            plan = replace(plan, threshold=np.broadcast_to(more["threshold"], n))
        if more.get("gap_shift"):
            plan = replace(plan, gap_shift=int(more["gap_shift"]))
        changes: dict[str, Array] = {}
        for name in ("cut", "cap"):
            if more.get(name) is not None:
                changes[name] = plan.integer(np.broadcast_to(more[name], n))
        if more.get("salt") is not None:
            changes["salt"] = more["salt"]
        return plan.replace_tables(**changes) if changes else plan

    def _merge_lone_channel(
        self, value: Array, start: Array, time: Array, time_row: Array
    ) -> tuple[Array, Array, Array]:
        """Put the whole contribution into the one table in use: with one channel, a kernel reads only that one."""
        if time.shape[1] > 1:
            # facts with the same contribution by their item still share a row
            pairs, row = np.unique(np.column_stack([value, time_row]), axis=0, return_inverse=True)
            whole, row = pairs[:, :1] + time[pairs[:, 1].astype(np.int64)], row.reshape(-1)
        else:
            whole = value + np.repeat(time[time_row, 0], np.diff(start))
            row = np.arange(self.item.size)
        nothing = np.zeros((self.item.size, 1))
        # a veto is then a zero, unless another event of the same pair can have a negative
        # contribution
        if not (self.dataset.has_repeats and (np.where(np.isfinite(whole), whole, 0.0) < 0).any()):
            whole = np.where(np.isneginf(whole), 0.0, whole)
        return (nothing[:, 0], whole, row) if time.shape[1] > 1 else (whole, nothing, row)

    def _rows(self, value: Array) -> tuple[Array, Array, ItemCodes | None]:
        """Starts of the rows of a value table, its numbers one row after the other, and `Plan.places`."""
        value, n = np.ascontiguousarray(value, np.float64), self.item.size
        if value.ndim == 1 and value.size > n:
            return self.cells.start, value, self.cells.places
        return even_starts(n, value.size // max(n, 1)), value.reshape(-1), None

    def odds_plan(
        self,
        value: Array,
        time: Array,
        time_row: Array,
        most_time: Array,
        floor: Array,
        factor: RecordFactor,
        base: Array,
        longest: Array | None = None,
    ) -> Plan:
        """Pack odds: score = base + Σ log(1 + factor of the record · (value · time + floor)) + log(longest/L).

        `time_row` is the row of `time` of each fact, and `most_time` a bound of the fact's numbers
        in it. The last term is left out where `longest` is 0, which is the default.
        """
        n = self.facts.n_queries
        longest = np.zeros(n, np.int64) if longest is None else longest
        start, value, places = self._rows(value)
        most_value = (
            np.maximum.reduceat(np.maximum(value, 0.0), start[:-1]) if value.size else floor
        )
        largest = np.log1p((most_value * most_time + floor) * factor.largest)
        shift = np.maximum(
            np.ceil(
                np.log2(
                    np.maximum(self.sum_over_facts(largest) + np.log(np.maximum(longest, 1)), 1e-9)
                    * 2.0**LOG_BITS
                    / SCORE_LIMIT
                )
            ),
            0.0,
        )
        tables = self.tables(
            odds_value=value,
            value_start=start[:-1],
            odds_time=time,
            time_row=time_row,
            odds_floor=floor,
            shift=shift.astype(np.int64),
            longest=longest,
        )
        return self._wrap(
            Combine.ODDS,
            tables,
            2.0 ** (LOG_BITS - shift),
            np.broadcast_to(base, n),
            Tie.INDEX,
            factor,
            places,
        )

    def tables(self, **given: Array) -> Tables:
        """Tables with everything neutral that is not given."""
        n = self.facts.n_queries
        low, high = self.length_window(self.facts.length_within)
        none_i, none_f = np.zeros((self.item.size, 1), np.int32), np.zeros((self.item.size, 1))
        query = QueryTables(
            ptr=self.query_ptr,
            shift=np.zeros(n, np.int64),
            n_known=self.n_known,
            exclude=self.exclude.astype(np.int64),
            low=low,
            high=high,
            longest=np.zeros(n, np.int64),
            cut=np.full(n, 2**31, np.int64),
            cap=np.full(n, 2**31, np.int64),
            salt=np.zeros(n, np.uint64),
        )
        fact = FactTables(
            item=self.item.astype(np.int64),
            known_tick=self.known_tick,
            time_row=np.arange(self.item.size, dtype=np.int64),
            value_start=np.arange(self.item.size, dtype=np.int64),
            value=none_i[:, 0],
            odds_value=none_f[:, 0],
            odds_floor=np.zeros(self.item.size),
        )
        neutral = Tables(query, fact, RowTables(time=none_i, odds_time=none_f))
        return neutral.replaced(
            **{name: np.ascontiguousarray(array) for name, array in given.items()}
        )

    def length_window(self, share: float | None) -> tuple[Array, Array]:
        """Lengths L for which the known length lies within the stated share of L (NS08, Fig. 12)."""
        n = self.facts.n_queries
        low, high = np.zeros(n, np.int64), np.full(n, 2**62, np.int64)
        if share is not None:
            known = self.facts.length
            has = ~np.isnan(known)
            low = np.where(has, np.ceil(np.nan_to_num(known) / (1 + share) - 1e-9), 0).astype(
                np.int64
            )
            if share > 1:
                # a share above 1 can give a negative length
                low = np.maximum(
                    low, np.ceil(np.nan_to_num(known) / (1 - share) - 1e-9).astype(np.int64)
                )
            if share < 1:
                high = np.where(
                    has, np.floor(np.nan_to_num(known) / (1 - share) + 1e-9), 2**62
                ).astype(np.int64)
        return low, high

    def _wrap(
        self,
        combine: Combine,
        tables: Tables,
        scale: Array,
        base: Array,
        tie: Tie,
        factor: RecordFactor | None,
        places: ItemCodes | None,
    ) -> Plan:
        filtered = self.facts.length_within is not None or bool((tables.query.high < 2**62).any())
        return Plan(
            combine=combine,
            tie=tie,
            use_value=self.dataset.has_value
            and max(tables.fact.value.size, tables.fact.odds_value.size) > self.item.size,
            use_time=self.dataset.has_time
            and max(tables.row.time.shape[1], tables.row.odds_time.shape[1]) > 1,
            filtered=filtered,
            tables=tables,
            scale=np.asarray(scale, np.float64),
            base=np.asarray(base, np.float64),
            factor=factor,
            places=places,
        )
