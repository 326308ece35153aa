"""Marginals of any ratings data, measured like those of the Netflix Prize data, and their comparison."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.data.twin.items import CLASS_EDGES, CLASSES
from standout.data.twin.model import N_RECORDS, real_marginals
from standout.jit import njit

Array = npt.NDArray[Any]

BURSTS = (2, 3, 5, 10, 20, 50, 100)
TOPS = (100, 500, 1000)
FILTERED_OUT = {
    (8, 0.07): 0.284,
    (10, 0.07): 0.313,
    (20, 0.07): 0.466,
    (8, 0.075): 0.384,
    (10, 0.075): 0.414,
    (20, 0.075): 0.569,
}
"""DSS12, Table 1: share of records without enough rare and other items, by (m, t), δ = 0.75."""


class Row(NamedTuple):
    """One number of the comparison."""

    name: str
    real: float
    twin: float
    difference: float
    """Points for shares, a share of the real number otherwise."""
    within: bool
    """Shares within 2 points, other numbers within 10 %, small whole numbers within 1."""


@njit(nogil=True, cache=True)
def _gather(
    record: Array,
    item: Array,
    value: Array,
    day: Array,
    cursor: Array,
    to_item: Array,
    to_value: Array,
    to_day: Array,
) -> None:
    """Sort entries into record-major order."""
    for k in range(record.size):
        slot = cursor[record[k]]
        cursor[record[k]] = slot + 1
        to_item[slot] = item[k]
        to_value[slot] = value[k]
        to_day[slot] = day[k]


@njit(nogil=True, cache=True)
def _per_record_days(
    ptr: Array, day: Array, distinct: Array, span: Array, first_share: Array, sizes: Array
) -> int:
    """Fill distinct days, span and first-day share per record, and the entries of every (record, day); count those."""
    n = 0
    for r in range(ptr.size - 1):
        days = np.sort(day[ptr[r] : ptr[r + 1]])
        begin = n
        run = 0
        for k in range(days.size):
            run += 1
            if k + 1 == days.size or days[k + 1] != days[k]:
                sizes[n] = run
                n += 1
                run = 0
        distinct[r] = n - begin
        span[r] = days[-1] - days[0]
        first_share[r] = sizes[begin] / days.size
    return n


@njit(nogil=True, cache=True)
def _per_record_items(
    ptr: Array, item: Array, rank: Array, tops: Array, outside: Array, log_rank: Array
) -> None:
    """Fill, per record, the entries outside each top and the sum of log10 ranks."""
    for r in range(ptr.size - 1):
        for k in range(ptr[r], ptr[r + 1]):
            place = rank[item[k]]
            log_rank[r] += np.log10(place + 1.0)
            for t in range(tops.size):
                if place >= tops[t]:
                    outside[r, t] += 1


@njit(nogil=True, cache=True)
def _residual_square(ptr: Array, item: Array, value: Array, item_mean: Array) -> float:
    """Sum of squares not explained by item means and then record means of the residuals."""
    total = 0.0
    for r in range(ptr.size - 1):
        s = 0.0
        q = 0.0
        for k in range(ptr[r], ptr[r + 1]):
            x = value[k] - item_mean[item[k]]
            s += x
            q += x * x
        total += q - s * s / (ptr[r + 1] - ptr[r])
    return total


@njit(nogil=True, cache=True)
def _set_bits(ptr: Array, item: Array, rank: Array, n_top: int, bits: Array) -> None:
    """Mark in `bits[rank]` the records that hold each of the most popular items."""
    for r in range(ptr.size - 1):
        for k in range(ptr[r], ptr[r + 1]):
            place = rank[item[k]]
            if place < n_top:
                bits[place, r >> 6] |= np.uint64(1) << np.uint64(r & 63)


@njit(nogil=True, cache=True)
def _common(bits: Array, first: int, stop: int, out: Array) -> None:
    """Count the records that hold both of two items, for items `first … stop-1` against all lower ones."""
    for i in range(first, stop):
        for j in range(i):
            n = np.uint64(0)
            for w in range(bits.shape[1]):
                x = bits[i, w] & bits[j, w]
                x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
                x = (x & np.uint64(0x3333333333333333)) + (
                    (x >> np.uint64(2)) & np.uint64(0x3333333333333333)
                )
                x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
                n += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
            out[i * (i - 1) // 2 + j] = n


def pair_lifts(
    ptr: Array, item: Array, rank: Array, support: Array, n_top: int = 2000, threads: int = 2
) -> Array:
    """Records that hold both items over what independence expects, for every pair of the most popular items."""
    n_records = ptr.size - 1
    n_top = min(n_top, support.size)
    bits = np.zeros((n_top, -(-n_records // 64)), np.uint64)
    _set_bits(ptr, item, rank, n_top, bits)
    common = np.empty(n_top * (n_top - 1) // 2, np.int64)
    cuts = np.unique((n_top * np.sqrt(np.linspace(0, 1, 8 * threads + 1))).astype(int)).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda c: _common(bits, c[0], c[1], common), pairwise(cuts)))
    top = np.sort(support)[::-1][:n_top].astype(float)
    i, j = np.tril_indices(n_top, -1)
    lift: Array = common * n_records / (top[i] * top[j])
    return lift


def filtered_out(ptr: Array, item: Array, support: Array, delta: float = 0.75) -> dict[str, float]:
    """DSS12's Table 1: share of records without more than δm rare items or without (1 - δ)m others.

    Supports are first scaled to the real number of records, so that a smaller twin can be compared.
    """
    lengths = np.diff(ptr)
    weight = 1.0 / np.log2(np.maximum(support * (N_RECORDS / lengths.size), 2))
    out = {}
    for t in sorted({t for _, t in FILTERED_OUT}):
        rare = np.add.reduceat((weight >= t)[item].astype(np.int32), ptr[:-1])
        for m in sorted({m for m, _ in FILTERED_OUT}):
            kept = (rare > delta * m) & (lengths - rare >= (1 - delta) * m)
            out[f"m={m}, t={t}"] = float(1 - kept.mean())
    return out


def _quantiles(x: Array) -> list[float]:
    """Quantiles at the levels of the real marginals."""
    return [float(q) for q in np.quantile(x, real_marginals()["quantile_levels"])]


def _by_time(day: Array, first_days: Array) -> dict[str, dict[str, float]]:
    """Shares of entries by month and year, and of records by the year of their first day."""
    low = int(day.min())
    per_day = np.bincount(day - low) / day.size
    months: dict[str, float] = {}
    years: dict[str, float] = {}
    for d, x in enumerate(per_day):
        date = dt.date(1970, 1, 1) + dt.timedelta(days=low + d)
        months[f"{date:%Y-%m}"] = months.get(f"{date:%Y-%m}", 0.0) + float(x)
        years[f"{date:%Y}"] = years.get(f"{date:%Y}", 0.0) + float(x)
    year = first_days.astype("datetime64[D]").astype("datetime64[Y]").astype(int) + 1970
    firsts = {str(y): float(np.mean(year == y)) for y in np.unique(year)}
    return {"entries_by_year": years, "entries_by_month": months, "records_by_first_year": firsts}


def marginals(
    record: Array, item: Array, value: Array, day: Array, threads: int = 2
) -> dict[str, Any]:
    """Marginals of ratings data under the names of the real ones; entries in any order, days from 1970-01-01.

    Records and items are whole numbers; those without entries do not count. Beyond the shipped
    marginals there is `filtered_out`, DSS12's Table 1.
    """
    n = record.size
    _, record = np.unique(record, return_inverse=True) if record.max() >= 4 * n else (None, record)
    lengths = np.bincount(record)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    ri, rv, rd = np.empty(n, np.int32), np.empty(n, np.uint8), np.empty(n, np.int32)
    _gather(record, item, value, day, ptr[:-1].copy(), ri, rv, rd)
    ptr = np.concatenate([[0], np.cumsum(lengths[lengths > 0])])
    lengths = np.diff(ptr)
    n_records = lengths.size
    support = np.bincount(ri)
    held = np.flatnonzero(support)
    rank = np.empty(support.size, np.int64)
    rank[np.argsort(-support, kind="stable")] = np.arange(support.size)
    ordered = np.sort(support[held])[::-1]
    top_share = np.cumsum(ordered) / n

    distinct, span = np.empty(n_records, np.int64), np.empty(n_records, np.int64)
    first_share, sizes = np.empty(n_records), np.empty(n, np.int32)
    sizes = sizes[: _per_record_days(ptr, rd, distinct, span, first_share, sizes)]
    outside, log_rank = np.zeros((n_records, len(TOPS)), np.int64), np.zeros(n_records)
    _per_record_items(ptr, ri, rank, np.array(TOPS), outside, log_rank)
    item_sum = np.bincount(ri, weights=rv)
    item_mean = item_sum / np.maximum(support, 1)
    record_mean = np.add.reduceat(rv, ptr[:-1], dtype=np.int64) / lengths
    square = float(
        np.dot(np.bincount(rv, minlength=6), np.arange(len(np.bincount(rv, minlength=6))) ** 2)
    )
    first_of_item = np.full(support.size, np.iinfo(np.int64).max)
    np.minimum.at(first_of_item, ri, rd)
    which = np.searchsorted(CLASS_EDGES, lengths, side="right")
    in_class = np.maximum(np.bincount(which, lengths, len(CLASSES)), 1e-300)
    return {
        "quantile_levels": real_marginals()["quantile_levels"],
        "entries_per_record": _quantiles(lengths),
        "entries_per_item": _quantiles(support[held]),
        "mean_entries_per_record": n / n_records,
        "outside_top": {
            str(t): [float(np.mean(outside[:, k] >= m)) for m in (1, 5, 10)]
            for k, t in enumerate(TOPS)
        },
        "support_by_rank": {
            k: int(ordered[int(k) - 1])
            for k in real_marginals()["support_by_rank"]
            if int(k) <= held.size
        },
        "share_of_entries_in_top": {
            k: float(top_share[min(int(k), held.size) - 1])
            for k in real_marginals()["share_of_entries_in_top"]
        },
        "rating_shares": [float(x) for x in np.bincount(rv, minlength=6)[1:6] / n],
        **_by_time(rd, np.minimum.reduceat(rd, ptr[:-1])),
        "distinct_days_per_record": _quantiles(distinct),
        "entries_per_record_day": _quantiles(sizes),
        "share_of_entries_with_at_least_k_on_their_day": {
            str(k): float(sizes[sizes >= k].sum() / n) for k in BURSTS
        },
        "span_days_per_record": _quantiles(span),
        "share_of_a_record_on_its_first_day": _quantiles(first_share),
        "mean_log10_item_rank_by_record_length": _by_class(which, log_rank, in_class),
        "share_outside_top_500_by_record_length": _by_class(
            which, outside[:, TOPS.index(500)], in_class
        ),
        "item_mean_rating": _quantiles(item_mean[held]),
        "record_mean_rating": _quantiles(record_mean),
        "std_rating_within_item": float(np.sqrt((square - np.dot(item_sum, item_mean)) / n)),
        "std_rating_after_item_and_record_means": float(
            np.sqrt(_residual_square(ptr, ri, rv, item_mean) / n)
        ),
        "days_since_items_first_entry": _quantiles((rd - first_of_item[ri]).astype(np.int32)),
        "pair_lift_top_2000_items": _quantiles(pair_lifts(ptr, ri, rank, support, threads=threads)),
        "filtered_out": filtered_out(ptr, ri, support),
    }


def _by_class(which: Array, amount: Array, in_class: Array) -> dict[str, float]:
    """Mean per entry, by length class."""
    return {
        name: float(x)
        for name, x in zip(
            CLASSES, np.bincount(which, amount, len(CLASSES)) / in_class, strict=True
        )
    }


SHARES = frozenset(
    [
        "outside_top",
        "share_of_entries_in_top",
        "rating_shares",
        "entries_by_year",
        "entries_by_month",
        "records_by_first_year",
        "share_of_entries_with_at_least_k_on_their_day",
        "share_of_a_record_on_its_first_day",
        "share_outside_top_500_by_record_length",
        "filtered_out",
    ]
)
"""Marginals compared in points; all others are compared as ratios."""


def compare(
    twin: dict[str, Any], real: dict[str, Any] | None = None, *, record_share: float = 1.0
) -> list[Row]:
    """Compare the marginals of a twin with the real ones, number by number.

    Parameters
    ----------
    twin
        Output of `marginals`.
    real
        The real ones; the shipped aggregates and DSS12's Table 1 by default.
    record_share
        Records of the twin over real records: real supports are multiplied by it.
    """
    if real is None:
        real = {
            **real_marginals(),
            "filtered_out": {f"m={m}, t={t}": x for (m, t), x in FILTERED_OUT.items()},
        }
    rows = []
    for name, numbers in real.items():
        if name in ("note", "quantile_levels") or name not in twin:
            continue
        scale = record_share if name in ("entries_per_item", "support_by_rank") else 1.0
        for label, x in _flat(numbers, real["quantile_levels"], name).items():
            y = _flat(twin[name], real["quantile_levels"], name).get(label)
            if y is None:
                continue
            x = x * scale
            if name in SHARES:
                rows.append(Row(f"{name} {label}".strip(), x, y, y - x, abs(y - x) <= 0.02))
            else:
                off = (y - x) / x if x else float(y != x)
                whole = name.startswith(("entries_per", "distinct", "span"))
                rows.append(
                    Row(
                        f"{name} {label}".strip(),
                        x,
                        y,
                        off,
                        abs(off) <= 0.1 or (whole and abs(y - x) <= 1),
                    )
                )
    return rows


def _flat(numbers: Any, levels: list[float], name: str) -> dict[str, float]:
    """Numbers of one marginal by label."""
    if isinstance(numbers, dict):
        out: dict[str, float] = {}
        for key, x in numbers.items():
            out.update(
                {f"{key} ≥{m}": v for m, v in zip((1, 5, 10), x, strict=True)}
                if isinstance(x, list)
                else {key: x}
            )
        return out
    if isinstance(numbers, list):
        names = (
            [str(k) for k in range(1, 6)]
            if name == "rating_shares"
            else [f"q{q:g}" for q in levels]
        )
        return dict(zip(names, numbers, strict=True))
    return {"": numbers}
