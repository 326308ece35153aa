"""Narayanan and Shmatikov 2008: Figs. 1–12 and the table of section 5.

Scoreboard-RH with the exponential similarity (ρ0 = 1.5, d0 = 30 days). "m of m'": m' known items,
m' - m of them wrong. Success is reported without a threshold and with φ = 1.5: the published rates
need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.errors import EligibilityError
from standout.papers import draw
from standout.papers.ns08_bits import bits, draw_bits
from standout.papers.ns08_cases import (
    DAYS,
    SIZES,
    Case,
    by_error,
    by_length,
    by_popularity,
    dated,
    known,
    undated,
)
from standout.papers.recipe import Claim, Recipe, RecipeInputs, Row, Rows, add, rate_columns
from standout.papers.trial import BEST, CRITERIA, STANDS_OUT, hit, measured, trial

MOST_RANKS = 300
"""Points of Fig. 7."""


def best_guess(setting: RecipeInputs, cases: list[Case]) -> Rows:
    """Success rate of each case, without and with the threshold."""

    def rows(who: Adversary) -> Iterable[Row]:
        found = trial(setting, who)
        return [{"criterion": c, **rate_columns(hit(found, c))} for c in CRITERIA]

    out = [r for columns, who in cases for r in measured(columns, who, rows)]
    return sorted(out, key=lambda r: CRITERIA.index(r["criterion"]) if "criterion" in r else -1)


def _both(setting: RecipeInputs) -> Rows:
    """Fig. 5: found when in the data, ⊥ when not."""

    def rows(who: Adversary) -> Iterable[Row]:
        found = trial(setting, who, absent=True)
        yield {"case": "in the data: found", **rate_columns(hit(found, STANDS_OUT))}
        yield {"case": "removed: “not there”", **rate_columns(~found.absent_matched)}

    out = [r for columns, who in dated() for r in measured(columns, who, rows)]
    return sorted(out, key=lambda r: str(r.get("case")))


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


def _more_items(figure: str, cases: list[Case], text: str) -> Callable[[RecipeInputs], list[Claim]]:
    """Each case with more items against the one with fewer and otherwise the same columns."""

    def claims(setting: RecipeInputs) -> list[Claim]:
        out = []
        for columns, who in cases:
            for others, longer in cases:
                step = {"2 of 2": "3 of 4", "3 of 4": "6 of 8"}.get(columns["known"])
                if others["known"] == step and all(
                    others[c] == columns[c] for c in columns if c != "known"
                ):
                    rest = ", ".join(str(v) for c, v in columns.items() if c != "known")
                    out += _claim(
                        setting,
                        figure,
                        f"{text}: {step} ≥ {columns['known']} ({rest})",
                        longer,
                        who,
                    )
        return out

    return claims


def _claim(
    setting: RecipeInputs, figure: str, text: str, first: Adversary, second: Adversary
) -> list[Claim]:
    try:
        a, b = trial(setting, first), trial(setting, second)
    except EligibilityError:
        return [Claim(figure, text, 0, np.nan, np.nan, np.nan)]
    return [Claim.paired(figure, text, (a.target, hit(a, BEST)), (b.target, hit(b, BEST)))]


def _claims_4(setting: RecipeInputs) -> list[Claim]:
    out = _more_items("fig04", dated(), "more items find more")(setting)
    for k, w in SIZES:
        near, far = (Adversary(k, w, value_within=0, time_within=d) for d in DAYS)
        out += _claim(
            setting, "fig04", f"sharper days find more: ±3 ≥ ±14 ({known(k, w)})", near, far
        )
    return out


def _claims_9(setting: RecipeInputs) -> list[Claim]:
    cases = by_popularity()
    out = []
    for n in range(len(SIZES)):
        (columns, anywhere), (_, _), (_, rare) = cases[3 * n : 3 * n + 3]
        text = f"rarer items find more: outside the top 500 ≥ all items ({columns['known']})"
        out += _claim(setting, "fig09", text, rare, anywhere)
    return out


def _claims_12(setting: RecipeInputs) -> list[Claim]:
    pairs = by_length()
    return [
        c
        for n in range(len(SIZES))
        for c in _claim(
            setting,
            "fig12",
            f"knowing the length helps ({pairs[2 * n][0]['known']})",
            pairs[2 * n + 1][1],
            pairs[2 * n][1],
        )
    ]


def _claims_10(setting: RecipeInputs) -> list[Claim]:
    cases = by_error()
    first, second = cases[5][1], cases[7][1]
    return _claim(setting, "fig10", "fewer wrong items find more: 6 of 8 ≥ 4 of 8", first, second)


def _draw_guess(
    series: str, title: str | None = None, y_title: str = "records found", facet: str = "criterion"
) -> Callable[[Rows], Any]:
    return lambda rows: draw.bars(
        rows,
        x="known",
        x_title="items known right, of items known",
        series=series,
        series_title=title,
        y_title=y_title,
        facet=facet,
        top=1.0,
    )


add(
    Recipe(
        "ns08",
        "fig01",
        "Figure 1",
        "Nearest neighbors are far away",
        "similarity of the nearest other record",
        _sparsity,
        lambda rows: draw.lines(
            rows,
            x="epsilon",
            x_title="similarity x of the nearest other record",
            series="similarity",
            series_title="two entries agree on",
            y="delta",
            y_title="records with a neighbor above x",
            top=1.0,
            points=False,
        ),
    )
)
add(
    Recipe(
        "ns08",
        "fig02",
        "Figure 2",
        "Records by number of entries, up to 100",
        "all records",
        _lengths(100),
        lambda rows: draw.counts(
            rows,
            x="items",
            x_title="entries X",
            y="records",
            y_title="records with X entries",
            mark_at=20,
        ),
    )
)
add(
    Recipe(
        "ns08",
        "fig03",
        "Figure 3",
        "Records by number of entries, up to 1000",
        "all records",
        _lengths(1000),
        lambda rows: draw.counts(
            rows, x="items", x_title="entries X", y="records", y_title="records with X entries"
        ),
    )
)
add(
    Recipe(
        "ns08",
        "fig04",
        "Figure 4",
        "Exact values and approximate days",
        "values exact, days ±3 or ±14, items uniform",
        lambda s: best_guess(s, dated()),
        _draw_guess("days"),
        _claims_4,
    )
)
add(
    Recipe(
        "ns08",
        "fig05",
        "Figure 5",
        "The same, and is the target there at all?",
        "as Fig. 4, φ = 1.5; the target removed and run again",
        _both,
        _draw_guess("days", y_title="right answers", facet="case"),
    )
)
add(
    Recipe(
        "ns08",
        "fig06",
        "Figure 6",
        "Remaining bits: log2(rank) as in the figure, and the lineup as defined",
        "as Fig. 4; bits are log2 of the number of records that score at least what the target scores",
        lambda s: bits(s, dated()),
        draw_bits("days"),
    )
)
add(
    Recipe(
        "ns08",
        "fig07",
        "Figure 7",
        "What one known item gives away, by popularity rank",
        "all items",
        _information,
        lambda rows: draw.lines(
            rows,
            x="rank",
            x_title="rank of the item, 1 = held by most (log scale)",
            series="known",
            series_title="known",
            y="bits",
            y_title="bits",
            percent=False,
            log_x=True,
            points=False,
        ),
    )
)
add(
    Recipe(
        "ns08",
        "fig08",
        "Figure 8",
        "Exact values, no days",
        "values exact, days unknown, items outside the top 100 or 500",
        lambda s: best_guess(s, undated()),
        _draw_guess("items"),
        _more_items("fig08", undated(), "more items find more"),
    )
)
add(
    Recipe(
        "ns08",
        "fig09",
        "Figure 9",
        "Popular or rare items",
        "values ±1, days ±14; all items, or outside the top 100 or 500",
        lambda s: best_guess(s, by_popularity()),
        _draw_guess("items"),
        _claims_9,
    )
)
add(
    Recipe(
        "ns08",
        "fig10",
        "Figure 10",
        "Wrong about which items",
        "values ±1, days ±14, items uniform, wrong items (and wrong values)",
        lambda s: best_guess(s, by_error()),
        _draw_guess("wrong", "wrong facts are"),
        _claims_10,
    )
)
add(
    Recipe(
        "ns08",
        "fig11",
        "Figure 11",
        "Remaining bits without days: log2(rank) as in the figure, and the lineup as defined",
        "values exact, days unknown, items outside the top 100 or 500",
        lambda s: bits(s, undated()),
        draw_bits("items"),
    )
)
add(
    Recipe(
        "ns08",
        "fig12",
        "Figure 12",
        "Knowing how long the record is",
        "values ±1, days ±14, items uniform; number of items known to ±50 %",
        lambda s: best_guess(s, by_length()),
        _draw_guess("length"),
        _claims_12,
    )
)
add(
    Recipe(
        "ns08",
        "table",
        "Table of section 5",
        "Records with items outside the top X",
        "all records",
        _outside,
        lambda rows: draw.bars(
            rows,
            x="top",
            x_title="X most held items left out",
            series="at_least",
            series_title="records with",
            y_title="share of records",
            top=1.0,
        ),
    )
)
