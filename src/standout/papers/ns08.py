"""Narayanan and Shmatikov 2008: Figs. 1–12 and the table of section 5.

Scoreboard-RH with the exponential similarity (ρ0 = 1.5, d0 = 30 days). "m of m'": m' known items,
m' - m of them wrong. Success is reported without a threshold and with φ = 1.5: the published rates
need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise

import numpy as np

from standout.adversary.adversary import Adversary
from standout.errors import EligibilityError
from standout.papers.ns08_cases import (
    BEST,
    CRITERIA,
    SIZES,
    STANDS_OUT,
    Case,
    by_error,
    by_length,
    by_popularity,
    dated,
    hit,
    measured,
    trial,
    undated,
)
from standout.papers.recipe import (
    Claim,
    RecipeInputs,
    Row,
    Rows,
    mean_columns,
    rate_columns,
)

RANK, LINEUP = "log2(rank)", "lineup, -log2 Π"
"""Two ways to count remaining bits. The figures of the paper show the first; its definition is the second."""

ALL, MISSED = "all targets", "targets that the best guess misses"

MOST_RANKS = 300
"""Points of Fig. 7."""


def best_guess(setting: RecipeInputs, cases: list[Case]) -> Rows:
    """Success rate of each case, without and with the threshold."""

    def rows(who: Adversary) -> Iterable[Row]:
        found = trial(setting, who)
        return [{"criterion": c, **rate_columns(hit(found, c))} for c in CRITERIA]

    out = measured(cases, rows)
    return sorted(out, key=lambda r: CRITERIA.index(r["criterion"]) if "criterion" in r else -1)


def bits(setting: RecipeInputs, cases: list[Case]) -> Rows:
    """Remaining bits by both measures, over all targets and over those that the best guess misses."""
    prior = float(np.log2(setting.dataset.n_records))

    def rows(who: Adversary) -> Iterable[Row]:
        found = trial(setting, who)
        for measure, left in ((RANK, found.rank_bits), (LINEUP, found.bits)):
            for group, chosen in (
                (ALL, np.ones(found.n, np.bool_)),
                (MISSED, found.missed),
            ):
                quartiles = (
                    np.quantile(left[chosen], [0.25, 0.5, 0.75]) if chosen.any() else [None] * 3
                )
                yield {
                    "measure": measure,
                    "group": group,
                    **mean_columns(left[chosen], "bits"),
                    "first_quartile": quartiles[0],
                    "median": quartiles[1],
                    "third_quartile": quartiles[2],
                    "prior": prior,
                }

    out = measured(cases, rows)
    return sorted(
        out, key=lambda r: ((RANK, LINEUP).index(r.get("measure", RANK)), str(r.get("group")))
    )


def _both(setting: RecipeInputs) -> Rows:
    """Fig. 5: found when in the data, ⊥ when not."""

    def rows(who: Adversary) -> Iterable[Row]:
        found = trial(setting, who, absent=True)
        yield {"case": "in the data: found", **rate_columns(hit(found, STANDS_OUT))}
        yield {"case": "removed: “not there”", **rate_columns(~found.absent_matched)}

    return sorted(measured(dated(), rows), key=lambda r: str(r.get("case")))


def _sparsity(setting: RecipeInputs) -> Rows:
    """Fig. 1."""
    from standout.theory.sparsity import curves, fitting_records

    records = fitting_records(setting.dataset, setting.targets, setting.seed)
    out: Rows = []
    for curve in curves(setting.dataset, records):
        out += [
            {"similarity": curve.words, **point, "n": records.size}
            for point in curve.to_dict()["curve"]
        ]
    return out


def _lengths(longest: int) -> Callable[[RecipeInputs], Rows]:
    def run(setting: RecipeInputs) -> Rows:
        n = np.bincount(setting.dataset.lengths, minlength=longest + 1)[: longest + 1]
        return [{"items": x, "records": int(n[x])} for x in range(1, longest + 1)]

    return run


def _information(setting: RecipeInputs) -> Rows:
    """Fig. 7, averaged over ranks in even steps of the logarithm."""
    from standout.theory.entropy import item_information

    frame = item_information(setting.dataset)
    edges = np.unique(np.rint(np.geomspace(1, len(frame) + 1, MOST_RANKS)).astype(int))
    names = {"none": "the item alone", "value": "with its value ±1", "time": "with its day ±14"}
    out: Rows = []
    for column, name in names.items():
        if column not in frame:
            continue
        for lo, hi in pairwise(edges):
            bits = frame[column].iloc[lo - 1 : hi - 1].dropna()
            if len(bits):
                out.append(
                    {
                        "known": name,
                        "rank": int(lo),
                        "last_rank": int(hi - 1),
                        "bits": float(bits.mean()),
                    }
                )
    return out


def _outside(setting: RecipeInputs) -> Rows:
    from standout.theory.describe import outside_top

    rows = outside_top(setting.dataset).to_dict("records")
    return [
        {
            "top": int(r["top"]),
            "at_least": f"≥ {int(r['items'])} item{'s' if r['items'] > 1 else ''}",
            "n": setting.dataset.n_records,
            "count": int(r["records"]),
            "rate": float(r["share"]),
        }
        for r in rows
    ]


Pairs = dict[str, tuple[Adversary, Adversary]]
"""Claims of a figure: the first adversary finds at least as many as the second."""


def _more_items(cases: list[Case]) -> Pairs:
    """Each case with more items against the one with fewer and otherwise the same columns."""
    n_variants = len(cases) // len(SIZES)
    pairs = {}
    for k, (columns, who) in enumerate(cases[:-n_variants]):
        more, longer = cases[k + n_variants]
        rest = ", ".join(str(v) for c, v in columns.items() if c != "known")
        pairs[f"more items find more: {more['known']} ≥ {columns['known']} ({rest})"] = longer, who
    return pairs


def _claims(pairs: Pairs) -> Callable[[RecipeInputs], list[Claim]]:
    def compare(setting: RecipeInputs, text: str) -> Claim:
        try:
            a, b = (trial(setting, who) for who in pairs[text])
        except EligibilityError:
            return Claim.not_measurable(text)
        return Claim.paired(text, (a.target, hit(a, BEST)), (b.target, hit(b, BEST)))

    return lambda setting: [compare(setting, text) for text in pairs]


def _with_known(text: str, cases: list[Case], first: int, second: int) -> Pairs:
    """For each number of items, two of the variants compared."""
    n = len(cases) // len(SIZES)
    return {
        text.format(cases[k][0]["known"]): (cases[k + first][1], cases[k + second][1])
        for k in range(0, len(cases), n)
    }


RUNS: dict[str, Callable[[RecipeInputs], Rows]] = {
    "fig01": _sparsity,
    "fig02": _lengths(100),
    "fig03": _lengths(1000),
    "fig04": partial(best_guess, cases=dated()),
    "fig05": _both,
    "fig06": partial(bits, cases=dated()),
    "fig07": _information,
    "fig08": partial(best_guess, cases=undated()),
    "fig09": partial(best_guess, cases=by_popularity()),
    "fig10": partial(best_guess, cases=by_error()),
    "fig11": partial(bits, cases=undated()),
    "fig12": partial(best_guess, cases=by_length()),
    "table": _outside,
}
CLAIMS = {
    "fig04": _claims(
        _more_items(dated()) | _with_known("sharper days find more: ±3 ≥ ±14 ({})", dated(), 0, 1),
    ),
    "fig08": _claims(_more_items(undated())),
    "fig09": _claims(
        _with_known(
            "rarer items find more: outside the top 500 ≥ all items ({})", by_popularity(), 2, 0
        ),
    ),
    "fig10": _claims(
        {"fewer wrong items find more: 6 of 8 ≥ 4 of 8": (by_error()[5][1], by_error()[7][1])},
    ),
    "fig12": _claims(_with_known("knowing the length helps ({})", by_length(), 1, 0)),
}
