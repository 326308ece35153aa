"""From facts to tables: shared by all attacks when they compile a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.attacks.known import KnownFacts
from standout.attacks.table_rows import (
    even_starts,
    numbered,
    row_bounds,
    to_integers,
)
from standout.data.item_codes import ItemCodes
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


@dataclass(frozen=True, eq=False, repr=False)
class Known(KnownFacts):
    """Facts about items that the release holds, and the tables that a plan makes of them."""

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
            own, of_time = pairs[:, :1], pairs[:, 1].astype(np.int64)
            # times to the hour have thousands of gaps: no pass over them that changes nothing
            every = np.array_equal(of_time, np.arange(time.shape[0]))
            whole, row = time if every else time[of_time], row.reshape(-1)
            whole = whole + own if own.any() else whole
        else:
            whole = value + np.repeat(time[time_row, 0], np.diff(start))
            row = np.arange(self.item.size)
        nothing = np.zeros((self.item.size, 1))
        # a veto is then a zero, unless another event of the same pair can have a negative
        # contribution
        vetoes = bool(np.isneginf(whole.min(initial=0.0)))
        if vetoes and not (
            self.dataset.has_repeats and (np.where(np.isfinite(whole), whole, 0.0) < 0).any()
        ):
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
