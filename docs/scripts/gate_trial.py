"""How often the gate is wrong: complete checks of data whose hit rate is known exactly, with many random seeds.

    python docs/scripts/gate_trial.py [RUNS]

prints the table of docs/gate.md. `make gate-trial` calls it.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from known_rate import rate_of, with_rate

import standout as so

LIMIT = 0.09
RECORDS = 20_000


class Case(NamedTuple):
    name: str
    rate: float
    policy: dict[str, Any]
    share_of_runs: float = 1.0


def policy(sequential: bool, many: bool = False, **more: Any) -> dict[str, Any]:
    """One limit, one adversary and one attack; or `many`: two adversaries and three attacks."""
    limits = [{"name": "found", "max": LIMIT, "adversaries": ["a", "b"] if many else ["a"]}]
    return {
        "limit": limits,
        "sequential": sequential,
        "self_test": False,
        "adversary": {"a": {"knows": 3}, "b": {"knows": 2}},
        "attacks": ["scoreboard", "scoreboard-rh", "set-intersection"]
        if many
        else ["scoreboard-rh"],
        **more,
    }


def cases() -> list[Case]:
    out = []
    for sequential, mode in ((False, "fixed"), (True, "sequential")):
        out += [
            Case(f"{mode}, 2 points above the limit", LIMIT + 0.02, policy(sequential)),
            Case(f"{mode}, at the limit", LIMIT, policy(sequential)),
            Case(f"{mode}, half of the limit", LIMIT / 2, policy(sequential)),
        ]
        out.append(
            Case(f"{mode}, 20 targets, far below the limit", 0.02, policy(sequential, targets=20))
        )
    out.append(
        Case(
            "sequential, 6 adversaries and attacks, half of the limit",
            LIMIT / 2,
            policy(True, many=True),
            0.2,
        )
    )
    out.append(
        Case(
            "sequential, 6 adversaries and attacks, at the limit",
            LIMIT,
            policy(True, many=True),
            0.2,
        )
    )
    return out


def trial(case: Case, runs: int) -> dict[str, Any]:
    """Verdicts over `runs` seeds, and the mean number of targets."""
    data = with_rate(case.rate, RECORDS)
    seen: Counter[str] = Counter()
    attacked = 0
    for seed in range(runs):
        verdict = so.check(data, case.policy, seed=seed, progress=False)
        seen[verdict.verdict] += 1
        attacked += max(cell["n_targets"] for cell in verdict.cells)
    return {
        "name": case.name,
        "rate": rate_of(data),
        "runs": runs,
        "targets": attacked / runs,
        **seen,
    }


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"Limit {100 * LIMIT:g} %, {RECORDS:,} records, at most 1,000 targets per adversary.\n")
    print("| case | true rate | runs | pass | fail | unclear | mean number of targets |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for case in cases():
        began = time.perf_counter()
        it = trial(case, max(1, int(runs * case.share_of_runs)))
        shares = " | ".join(
            f"{100 * it.get(word, 0) / it['runs']:.1f} %" for word in ("pass", "fail", "unclear")
        )
        print(
            f"| {it['name']} | {100 * it['rate']:.2f} % | {it['runs']:,} | {shares} | {it['targets']:.0f} |",
            flush=True,
        )
        print(f"{case.name}: {time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
