"""Findings of older schema versions as findings of today's: version 1 had one row per adversary and attack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plain = Mapping[str, Any]


OLDER = "an older version of standout made these findings; make them again with `standout audit`"


def from_version_2(old: Plain) -> dict[str, Any]:
    """Findings of version 3 from those of version 2, which did not measure who is unique and of whom an attacker is sure."""
    return {**old, "results": [{**_measured(result), **result} for result in old["results"]]}


def _measured(result: Plain) -> dict[str, Any]:
    best = result["strongest"] or max(result["attacks"], key=lambda one: float(one["hit"]["rate"]))
    unknown = dict.fromkeys(("unique", "sure", "unique_all", "sure_all", "sure_attack"))
    return {
        **unknown,
        "found": best["hit"],
        "found_all": best["hit_all"],
        "not_measured": {"unique": OLDER, "sure": OLDER},
    }


def from_version_1(old: Plain) -> dict[str, Any]:
    """Findings of version 2 from those of version 1. What version 1 did not hold is None."""
    n_records = int(old["data"]["n_records"])
    winners = {_key(w["adversary"]): w for w in old["strongest"]}
    groups: dict[str, list[Plain]] = {}
    for row in old["results"]:
        groups.setdefault(_key(row["adversary"]), []).append(row)
    return {
        "provenance": {"sweep": None, **old["provenance"]},
        "data": old["data"],
        "results": [_result(rows, winners.get(key), n_records) for key, rows in groups.items()],
        "warnings": old["warnings"],
        "sections": old["sections"],
        "source": None,
    }


def _key(adversary: Plain) -> str:
    return repr(sorted((k, repr(v)) for k, v in adversary.items()))


def _result(rows: list[Plain], winner: Plain | None, n_records: int) -> dict[str, Any]:
    first = rows[0]
    share = int(first["n_eligible"]) / n_records
    attacks = [_attack(row, share) for row in rows]
    best = None
    if winner is not None:
        best = {k: v for k, v in winner.items() if k != "adversary"}
        best["hit_all"] = _of_all(winner["hit"], share)
    named = [a for a in attacks if best and a["attack"]["label"] == best["attack"]]
    by_model = [a for a in attacks if a["attack"]["name"] == "likelihood"]
    shown = (by_model or named or attacks)[0]
    bits = shown["lineup_bits"]
    return {
        "adversary": first["adversary"],
        "n_targets": first["n_targets"],
        "n_eligible": first["n_eligible"],
        "n_records": n_records,
        "n_not_released": 0,
        "eligible_share": share,
        "more_items": None,
        "strongest": best,
        "uncertainty": {"attack": shown["attack"]["label"], "calibrated": bool(by_model), **bits}
        if bits
        else None,
        "attacks": attacks,
    }


def _attack(row: Plain, share: float) -> dict[str, Any]:
    kept = {
        k: v for k, v in row.items() if k not in ("adversary", "n_targets", "n_eligible", "bits")
    }
    tuned = row["calibrated"]
    return {
        **kept,
        "hit_all": _of_all(row["hit"], share),
        "k_identified": [{**r, "rate_all": r["rate"] * share} for r in row["k_identified"]],
        "n_without_candidates": None,
        "lineup_bits": {"n": row["n_targets"], **row["bits"]} if row["bits"] else None,
        "rank_bits": None,
        "calibrated": {**tuned, "matched_right_all": tuned["matched_right"]["rate"] * share}
        if tuned
        else None,
        "by_rarity": row.get("by_rarity", []),
    }


def _of_all(rate: Plain, share: float) -> dict[str, Any]:
    return {**rate, **{k: rate[k] * share for k in ("rate", "low", "high")}}
