"""Findings with chosen numbers: no audit has to run."""

from __future__ import annotations

from typing import Any

from standout.audit.findings import Findings
from standout.formulas.rates import Rate, precision


def rate(count: int, n: int) -> dict[str, Any]:
    return dict(Rate.of([True] * count + [False] * (n - count)))


def adversary(knows: int = 2, **more: Any) -> dict[str, Any]:
    who = {
        "knows": knows,
        "wrong": 0,
        "wrong_kind": "value",
        "value_within": 1,
        "time_within": 14,
        "choose": "uniform",
        "gamma": None,
        "length_within": None,
        **more,
    }
    return {
        **who,
        "words": f"{knows} items, values {who['value_within']}, days {who['time_within']}",
    }


def tuned(right: int, false: int, n: int) -> dict[str, Any]:
    return {
        "threshold": 1.5,
        "matched_right": rate(right, n),
        "matched_wrong": rate(0, n),
        "false_match": rate(false, n),
        "precision": [
            {"prior": p, "precision": _known(precision(right / n, false / n, p))}
            for p in (0.5, 0.1, 0.01)
        ],
        "n_calibration": n,
        "det": [
            {"threshold": 0.0, "true_rate": right / n, "false_rate": 1.0},
            {"threshold": 1.5, "true_rate": right / n, "false_rate": false / n},
            {"threshold": 9.0, "true_rate": 0.0, "false_rate": 0.0},
        ],
        "true_rate_at": [{"false_rate": 0.01, "true_rate": 0.5, "threshold": 2.0}],
    }


def _known(x: float) -> float | None:
    return None if x != x else x


def of_all(rate: dict[str, Any], share: float) -> dict[str, Any]:
    return {**rate, **{k: rate[k] * share for k in ("rate", "low", "high")}}


def result(
    who: dict[str, Any],
    hits: int,
    n: int,
    *,
    right: int,
    false: int,
    attack: str = "scoreboard-rh",
    bits: float = 2.0,
    n_records: int = 10_000,
    share: float = 1.0,
    more: float | None = 56.0,
    unique: int | None = -1,
    sure: int | None = -1,
) -> dict[str, Any]:
    """One adversary and one attack: `hits` of `n` on the reporting half, and as many on the other.

    `unique` and `sure` of them are so (-1: all that are found; None: not measured).

    `share` of all records hold enough items; their records hold `more` items than are known.
    """
    few = n < 2
    hit = rate(hits, n) if few else rate(2 * hits, 2 * n)
    left = {
        "n": n,
        "prior": 13.29,
        "mean": bits,
        "quantiles": [{"level": p, "bits": bits * p * 2} for p in (0.05, 0.25, 0.5, 0.75, 0.95)],
    }
    one = {
        "attack": {"label": attack, "name": attack, "options": {"phi": 1.5, "length": None}},
        "hit": hit,
        "hit_all": of_all(hit, share),
        "matched_right": rate(right, n),
        "matched_wrong": rate(0, n),
        "false_match": rate(false, n),
        "k_identified": [{"k": k, **rate(hits, n), "rate_all": share * hits / n} for k in (1, 10)],
        "n_without_candidates": 0,
        "lineup_bits": left,
        "rank_bits": left,
        "baselines": {"random": 1 / n_records, "popularity": rate(0, n)},
        "calibrated": None
        if few
        else {**tuned(right, false, n), "matched_right_all": share * right / n},
        "by_length": [
            {"shortest": 2, "longest": 9, **rate(hits, n)},
            {"shortest": 10, "longest": 40, **rate(hits, n)},
        ],
        "by_rarity": [],
    }
    strongest = {
        "attack": attack,
        "n_attacks": 2,
        "hit": rate(hits, n),
        "hit_all": of_all(rate(hits, n), share),
    }
    of_three = {
        "unique": hits if unique == -1 else unique,
        "found": hits,
        "sure": hits if sure == -1 else sure,
    }
    three = {name: None if count is None else rate(count, n) for name, count in of_three.items()}
    why = {name: "nobody asked" for name, one in three.items() if one is None}
    return {
        **three,
        **{f"{name}_all": one and of_all(one, share) for name, one in three.items()},
        "sure_attack": None if sure is None else attack,
        "not_measured": why,
        "adversary": who,
        "n_targets": n if few else 2 * n,
        "n_eligible": int(share * n_records),
        "n_records": n_records,
        "n_not_released": 0,
        "eligible_share": share,
        "more_items": more,
        "strongest": None if few else strongest,
        "uncertainty": {"attack": attack, "calibrated": False, **left},
        "attacks": [one],
    }


def findings(*results: dict[str, Any], n_records: int = 10_000, **more: Any) -> Findings:
    """Findings of these results; the first attack of each adversary is the strongest."""
    nested: dict[str, dict[str, Any]] = {}
    for r in results:
        entry = nested.setdefault(str(r["adversary"]), {**r, "attacks": []})
        entry["attacks"] = [*entry["attacks"], *r["attacks"]]
    parts: dict[str, Any] = {
        "provenance": {
            "created": "2026-11-15T00:00:00+00:00",
            "data_sha256": "ab" * 32,
            "seed": 7,
            "versions": {"standout": "0.1.0"},
            "command": ["standout", "audit", "a b.csv"],
        },
        "data": {
            "n_records": n_records,
            "n_items": 500,
            "n_entries": 600_000,
            "n_pairs": 600_000,
            "cleaning": {},
            "values": {"levels": 5, "low": 1, "high": 5},
            "days": {"first": "2000-01-01", "last": "2005-12-31"},
        },
        "results": tuple(nested.values()),
        "warnings": (),
        "sections": {},
    }
    return Findings.from_dict({"schema_version": 3, "source": None, **parts, **more})


def sweep(rates: dict[int, float], n: int = 500) -> Findings:
    """Two kinds of knowledge, two attacks, a rate per number of items."""
    made = []
    for knows, p in rates.items():
        for kind in ({}, {"time_within": None}):
            who = adversary(knows, **kind)
            share = p if not kind else p / 2
            made.append(result(who, int(share * n), n, right=int(share * n * 0.8), false=n // 50))
            made.append(
                result(
                    who,
                    int(share * n / 3),
                    n,
                    right=int(share * n / 4),
                    false=n // 50,
                    attack="scoreboard",
                )
            )
    return findings(*made)
