"""From facts to tables: what all attacks share when they compile a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.adversary.knowledge import Facts
from standout.data.dataset import Dataset
from standout.scoring.plan import Combine, Plan, Tables, Tie, fixed_point

Array = npt.NDArray[Any]


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def holds(record_ptr: Array, record_item: Array, record: Array, item: Array) -> Array:
    """Whether each record holds each item, pair by pair; False where either is -1."""
    out = np.zeros(record.size, np.bool_)
    for k in range(record.size):
        r, i = record[k], item[k]
        if r >= 0 and i >= 0:
            row = record_item[record_ptr[r] : record_ptr[r + 1]]
            at = np.searchsorted(row, i)
            out[k] = at < row.size and row[at] == i
    return out


@dataclass(frozen=True, eq=False)
class Known:
    """The facts about items that the release holds, with what every attack asks of them."""

    dataset: Dataset
    facts: Facts
    exclude: Array
    query_ptr: Array
    query: Array
    item: Array
    value: Array
    """NaN = unknown, also when the release has no values."""
    day: Array
    """Offset from the release's first day; NaN = unknown, also when the release has no days."""
    support: Array
    """Records that hold the item, the excluded one not counted."""
    n_records: Array
    """Per query: records in the release, the excluded one not counted."""

    @classmethod
    def of(cls, dataset: Dataset, facts: Facts, exclude: Array) -> Known:
        """Leave out facts about items that the release does not hold, and recount supports."""
        here = facts.item >= 0
        query = facts.query[here]
        item = facts.item[here]
        ptr = np.zeros(facts.n_queries + 1, np.int64)
        np.cumsum(np.bincount(query, minlength=facts.n_queries), out=ptr[1:])
        gone = holds(dataset.record_ptr, dataset.record_item, exclude[query], item)
        nothing = np.full(item.size, np.nan)
        return cls(
            dataset, facts, exclude, ptr, query, item,
            value=facts.value[here] if dataset.has_value else nothing,
            day=facts.day[here] - dataset.first_day if dataset.has_time else nothing,
            support=dataset.supports[item] - gone,
            n_records=dataset.n_records - (exclude >= 0),
        )  # fmt: skip

    @property
    def has_value(self) -> Array:
        """Facts with a known value."""
        return ~np.isnan(self.value)

    @property
    def has_day(self) -> Array:
        """Facts with a known day."""
        return ~np.isnan(self.day)

    def value_gaps(self) -> Array:
        """(facts, levels): level minus known value, NaN where unknown."""
        return self.dataset.levels[None, :] - self.value[:, None]

    def sum_over_facts(self, x: Array) -> Array:
        """Sum of a number per fact, by query."""
        return np.bincount(self.query, weights=x, minlength=self.facts.n_queries)

    def plan(self, combine: Combine, value: Array, time: Array, **more: Any) -> Plan:
        """Round contributions to fixed point and pack them.

        Parameters
        ----------
        combine
            How contributions become a score.
        value, time
            float64 (facts, levels + 1) and (facts, gaps + 1). For sums, -inf vetoes the entry.
        more
            `tie`, `base`, `factor`, `cut`, `cap` (scores per query), `salt`, `barred` (records).
        """
        finite_value, finite_time = np.where(np.isfinite(value), value, 0.0), np.where(np.isfinite(time), time, 0.0)
        bound = np.abs(finite_value).max(axis=1, initial=0.0) + np.abs(finite_time).max(axis=1, initial=0.0)
        scale = fixed_point(self.sum_over_facts(bound))
        row = scale[self.query][:, None]
        n = self.facts.n_queries
        tables = self.tables(
            value=_to_integers(value, row), time=_to_integers(time, row), factor=more.get("factor", np.empty(0)),
        )  # fmt: skip
        plan = self._wrap(combine, tables, scale, more.get("base", np.zeros(n)), more.get("tie", Tie.INDEX))
        changes: dict[str, Array] = {}
        for name in ("cut", "cap"):
            if more.get(name) is not None:
                changes[name] = plan.integer(np.broadcast_to(more[name], n))
        if more.get("salt") is not None:
            changes["salt"] = more["salt"]
        return plan.replace_tables(**changes) if changes else plan

    def odds_plan(self, value: Array, time: Array, floor: Array, factor: Array, base: Array) -> Plan:
        """Pack odds: score = base + Σ log(1 + factor[r] · (value · time + floor))."""
        from standout.scoring.plan import LOG_BITS, ROOM

        n = self.facts.n_queries
        largest = np.log1p((value.max(axis=1, initial=0.0) * time.max(axis=1, initial=0.0) + floor) * factor.max(initial=0.0))
        shift = np.maximum(np.ceil(np.log2(np.maximum(self.sum_over_facts(largest), 1e-9) * 2.0**LOG_BITS / ROOM)), 0.0)
        tables = self.tables(odds_value=value, odds_time=time, odds_floor=floor, factor=factor, shift=shift.astype(np.int64))
        return self._wrap(Combine.ODDS, tables, 2.0 ** (LOG_BITS - shift), np.broadcast_to(base, n), Tie.INDEX)

    def tables(self, **given: Array) -> Tables:
        """Tables with everything neutral that is not given."""
        n = self.facts.n_queries
        low, high = self._length_window()
        none_i, none_f = np.zeros((self.item.size, 1), np.int32), np.zeros((self.item.size, 1))
        neutral: dict[str, Array] = {
            "query_ptr": self.query_ptr,
            "item": self.item.astype(np.int64),
            "known_day": np.where(self.has_day, self.day, 0.0).astype(np.int64),
            "value": none_i, "time": none_i, "odds_value": none_f, "odds_time": none_f,
            "odds_floor": np.zeros(self.item.size),
            "shift": np.zeros(n, np.int64),
            "n_known": np.diff(self.facts.query_ptr).astype(np.int64),
            "exclude": self.exclude.astype(np.int64),
            "low": low, "high": high,
            "cut": np.full(n, 2**31, np.int64), "cap": np.full(n, 2**31, np.int64),
            "salt": np.zeros(n, np.uint64),
            "factor": np.empty(0), "lengths": self.dataset.lengths,
        }  # fmt: skip
        return Tables(**{**neutral, **{k: np.ascontiguousarray(v) for k, v in given.items()}})

    def _length_window(self) -> tuple[Array, Array]:
        """Lengths L for which the known length lies within the stated share of L (NS08, Fig. 12)."""
        n, share = self.facts.n_queries, self.facts.length_within
        low, high = np.zeros(n, np.int64), np.full(n, 2**62, np.int64)
        if share is not None:
            known = self.facts.length
            has = ~np.isnan(known)
            low = np.where(has, np.ceil(np.nan_to_num(known) / (1 + share) - 1e-9), 0).astype(np.int64)
            if share < 1:
                high = np.where(has, np.floor(np.nan_to_num(known) / (1 - share) + 1e-9), 2**62).astype(np.int64)
        return low, high

    def _wrap(self, combine: Combine, tables: Tables, scale: Array, base: Array, tie: Tie) -> Plan:
        filtered = self.facts.length_within is not None or bool((tables.factor < 0).any())
        return Plan(
            combine=combine, tie=tie,
            use_value=self.dataset.has_value and max(tables.value.shape[1], tables.odds_value.shape[1]) > 1,
            use_time=self.dataset.has_time and max(tables.time.shape[1], tables.odds_time.shape[1]) > 1,
            filtered=filtered, tables=tables, scale=np.asarray(scale, np.float64), base=np.asarray(base, np.float64),
            no_day=self.dataset.no_day,
        )  # fmt: skip


def _to_integers(x: Array, scale: Array) -> Array:
    """Round to fixed point; -inf becomes a veto."""
    from standout.scoring.plan import VETO

    return np.where(np.isneginf(x), VETO, np.rint(np.where(np.isfinite(x), x, 0.0) * scale)).astype(np.int32)
