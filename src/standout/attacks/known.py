"""Facts about items that the release holds, with the quantities that attacks need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.level_errors import channels_of, is_known
from standout.arrays import Array
from standout.attacks.table_rows import (
    Cells,
    cells_of,
    ends_without,
    holds,
    sole_items,
)
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.data.index import Rows
from standout.data.loading import in_memory
from standout.data.scale import ValueScale
from standout.data.times import to_ticks
from standout.errors import ParameterError
from standout.formulas import ns08

LONG_REACH = 4096
"""A time table that reaches further is cut at the longest gap that occurs."""

LONGEST_REACH = 2**24
"""Largest reach of a time table, in ticks: 194 days of seconds, 31 years of minutes."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownFacts:
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
    def of(cls, dataset: Catalog, facts: Facts, exclude: Array) -> Self:
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
