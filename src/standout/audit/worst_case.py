"""`worst_case`: risk over every combination of k facts of a person, not over facts drawn at random as in `risk.py`.

It is `so.worst_case` in Python and `standout worst-case` on the command line. The counting is in
`combinations.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.audit.combinations import risk_of
from standout.audit.fact_conditions import HOLDS, NEAR, ORDER, RATIO, TOP, HeldFacts, MatchRule
from standout.audit.risk import chance_summary
from standout.data.catalog import check_dataset
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.row_copies import in_parts
from standout.errors import InputError, ParameterError
from standout.experiment.subject import target_number
from standout.kernels.moments import Periods

KNOWN = {
    "items": "{items}, an item as often as it is known",
    "set": "{k} different item{s}",
    "sequence": "{items} in their order",
    "times": "{items} with their times to the {resolution}",
    "counts": "{items} and how often each occurs{within}",
    "shares": "{items} and their share of all events{within}",
    "proportions": "{items} and how often each occurs, relative to the most frequent of them{within}",
    "favorites": "the {k} most frequent item{s}",
}
"""What may be known, in words."""

RESOLUTIONS = {
    "year": "Y",
    "month": "M",
    "week": "W",
    "day": "D",
    "hour": "h",
    "minute": "m",
    "second": "s",
}
_KINDS = {"counts": NEAR, "shares": NEAR, "proportions": RATIO, "sequence": ORDER, "favorites": TOP}

MOST_COMBINATIONS = 50_000_000
"""Most combinations of one person; more would take gigabytes."""
_AT_ONCE = 64
"""People of one part, which a thread counts."""


@dataclass(frozen=True, eq=False, repr=False)
class WorstCase:
    """Chances 1/(number of matching records) of each person, over all combinations of her facts."""

    words: str
    """What is known, in words."""
    n_records: int
    record: Array
    """int64: record indices of the people."""
    worst: Array
    """float64: chance under the combination that the fewest records match."""
    expected: Array
    """float64: mean chance over all combinations."""
    unique: Array
    """float64: share of the combinations that no other record matches."""
    combinations: Array
    """float64: number of combinations."""
    label: Array
    """Labels of the people; only `to_frame(labels=True)` shows them."""

    def to_frame(self, *, labels: bool = False) -> Any:
        """One row per person, as a pandas frame: record, worst, expected, unique, combinations.

        Parameters
        ----------
        labels
            Whether to add the labels of the records.
        """
        import pandas as pd

        columns: dict[str, Any] = {"record": self.record}
        if labels:
            columns["label"] = self.label
        names = ("worst", "expected", "unique", "combinations")
        return pd.DataFrame(columns | {name: getattr(self, name) for name in names})

    def to_dict(self) -> dict[str, Any]:
        """Aggregates over the people as plain data."""
        chances = {
            name: chance_summary(getattr(self, name)) for name in ("worst", "expected", "unique")
        }
        return {
            "known": self.words,
            "n_people": int(self.record.size),
            "n_records": self.n_records,
            "combinations": float(self.combinations.sum()),
            **chances,
        }

    def __repr__(self) -> str:
        return f"<WorstCase of {self.record.size:,} people: {self.words}>"


def worst_case(
    source: Dataset,
    knows: int = 2,
    known: str = "items",
    *,
    resolution: str | None = None,
    within: float = 0.0,
    targets: int | str | None = None,
    seed: int = 0,
) -> WorstCase:
    """Risk of each person if the attacker knows the worst k facts, and if she knows random ones.

    The chance of a combination of k facts is 1/(number of records that match it). Every combination
    of a person's facts is enumerated. A person who has fewer than k facts is known by all of them.
    The worst case is close to 1 for most people in most data; `expected` is its mean over
    combinations.

    Parameters
    ----------
    source
        The data; read it with `repeats="keep"`, so that every event counts.
    knows
        Number of facts, k.
    known
        "items": events as a bag; an item that is known twice occurs at least twice.
        "set": different items.
        "sequence": events in the order of time; others may lie between. Events at the same time
        are in the order of their items.
        "times": events with their times, cut to `resolution`.
        "counts": items and how often each occurs.
        "shares": items and their shares of the person's events.
        "proportions": items and how often each occurs, divided by the largest of these numbers.
        "favorites": the k most frequent items; where several are equally frequent, any of them.
    resolution
        For "times": year, month, week (from Monday), day, hour, minute or second. Default: that of the data.
    within
        For "counts", "shares", "proportions": tolerance, as a share of the candidate's number.
    targets
        Number of people, drawn at random; "all" or None for everyone.
    seed
        Random seed of that draw.

    Examples
    --------
    >>> import standout as so
    >>> data = so.Dataset.from_arrays([0, 0, 1, 1, 2], ["a", "b", "a", "c", "a"])
    >>> so.worst_case(data, knows=1).to_frame()[["worst", "expected"]].values.round(3).tolist()
    [[1.0, 0.667], [1.0, 0.667], [0.333, 0.333]]
    """
    check_dataset(source, "source")
    data = in_memory(source, "the worst case over all combinations")
    if known not in KNOWN:
        raise ParameterError(f"known={known!r}: use {', '.join(KNOWN)}")
    if isinstance(knows, bool) or not isinstance(knows, int | np.integer) or knows < 1:
        raise ParameterError(f"knows={knows!r}: use a whole number ≥ 1")
    if not 0 <= within < 1 or (within and known not in ("counts", "shares", "proportions")):
        raise ParameterError(
            f"within={within!r}: use a share from 0 to below 1, for counts, shares and proportions only"
        )
    if resolution is not None and (known != "times" or resolution not in RESOLUTIONS):
        raise ParameterError(
            f"resolution={resolution!r}: use {', '.join(RESOLUTIONS)}, and known='times'"
        )
    rule = MatchRule(_KINDS.get(known, HOLDS), int(knows), float(within))
    facts = _facts(data, known, resolution)
    people = np.flatnonzero(np.diff(facts.ptr) > 0)
    people = np.sort(sample_targets(data, people, target_number(targets), seed))
    out = np.empty((people.size, 4))
    ways = _n_combinations(facts, rule, people)

    def measure(lo: int) -> None:
        part = slice(lo, lo + _AT_ONCE)
        risk_of(facts, rule, people[part], ways, out[part])

    in_parts(measure, range(0, people.size, _AT_ONCE))
    plural = "s" if knows > 1 else ""
    words = KNOWN[known].format(
        k=knows,
        s=plural,
        items=f"{knows} item{plural}",
        resolution=resolution or data.time_resolution,
        within=f", to within {100 * within:g} %" if within else "",
    )
    worst, expected, unique, n = out.T.copy()
    labels = data.record_labels[people]
    return WorstCase(words, data.n_records, people, worst, expected, unique, n, labels)


def _n_combinations(facts: HeldFacts, rule: MatchRule, people: Array) -> Array:
    """int64 (n + 1, k + 1): combinations of j of n facts, up to the largest n of a person."""
    if rule.kind == ORDER:
        sizes = np.diff(facts.event_ptr)[people]
    elif rule.kind == HOLDS:
        before = np.concatenate([[0.0], np.cumsum(facts.number)])
        sizes = (before[facts.ptr[1:]] - before[facts.ptr[:-1]])[people]
    else:
        sizes = np.diff(facts.ptr)[people]
    most = int(sizes.max(initial=0))
    if comb(most, rule.knows) > MOST_COMBINATIONS:
        raise ParameterError(
            f"knows={rule.knows}: a record with {most:,} facts has {comb(most, rule.knows):,} combinations, more than "
            f"{MOST_COMBINATIONS:,}; lower knows, or take a sample of short records"
        )
    largest = np.iinfo(np.int64).max
    return np.array(
        [[min(comb(n, j), largest) for j in range(rule.knows + 1)] for n in range(most + 1)],
        np.int64,
    )


def _facts(data: Dataset, known: str, resolution: str | None) -> HeldFacts:
    """Distinct facts of each record with their numbers, and the holders of each fact."""
    record = np.repeat(np.arange(data.n_records), np.diff(data.record_ptr))
    fact, n_facts = data.record_item.astype(np.int64), data.n_items
    if known in ("times", "sequence"):
        ticks = _all_ticks(data, known)
    if known == "times":
        period = _periods(data, ticks, resolution or data.time_resolution)
        pairs, fact = np.unique(fact * (int(period.max()) + 1) + period, return_inverse=True)
        n_facts, fact = pairs.size, fact.reshape(-1)
    pair, count = np.unique(record * n_facts + fact, return_counts=True)
    of_record, of_fact = np.divmod(pair, n_facts)
    number = np.ones(pair.size) if known == "set" else count.astype(np.float64)
    if known == "shares":
        number = number / np.bincount(record, minlength=data.n_records)[of_record]
    ptr = np.searchsorted(of_record, np.arange(data.n_records + 1))
    by_fact = np.argsort(of_fact, kind="stable")
    event, last = np.empty(0, np.int64), np.empty(0)
    if known == "sequence":
        order = np.lexsort((fact, ticks, record))
        event = fact[order]
        # places in the order of (record, fact, time): of the first event of each pair, and of the last one
        within = np.argsort(record[order] * n_facts + event, kind="stable")
        ends = np.cumsum(count)
        number, last = within[ends - count].astype(np.float64), within[ends - 1].astype(np.float64)
        last = last[by_fact]
    return HeldFacts(
        ptr,
        of_fact,
        number,
        np.searchsorted(of_fact[by_fact], np.arange(n_facts + 1)),
        of_record[by_fact].astype(np.int32),
        number[by_fact],
        last,
        data.record_ptr.astype(np.int64),
        event,
    )


def _all_ticks(data: Dataset, known: str) -> Array:
    """Time of every entry, in ticks of the data since 1970."""
    if not data.has_time:
        raise ParameterError(
            f"known={known!r}: the data has no times; name their column with time= (--time)"
        )
    missing = int((data.record_tick == data.no_tick).sum())
    if missing:
        raise InputError(f"known={known!r}: {missing:,} entries have no time; remove them first")
    return data.record_tick.astype(np.int64) + int(data.first_tick)


def _periods(data: Dataset, ticks: Array, resolution: str) -> Array:
    """int64: period of each time, counted from the first one of the data."""
    order = list(RESOLUTIONS)
    if order.index(resolution) > order.index(data.time_resolution):
        raise ParameterError(
            f"resolution={resolution!r}: times of this data are kept to the {data.time_resolution}"
        )
    moments = ticks.astype(f"datetime64[{RESOLUTIONS[data.time_resolution]}]")
    if resolution == "week":  # weeks of NumPy start on Thursday
        period = Periods("week").draw(moments.astype("datetime64[D]").astype(np.int64))
    else:
        period = moments.astype(f"datetime64[{RESOLUTIONS[resolution]}]").astype(np.int64)
    return np.asarray(period - period.min())
