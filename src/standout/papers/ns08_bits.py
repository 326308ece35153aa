"""Figs. 6 and 11 of NS08: remaining bits, as the figures show them and as the paper defines them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.papers import draw
from standout.papers.ns08_cases import Case
from standout.papers.recipe import RecipeInputs, Row, Rows, mean_columns
from standout.papers.trial import measured, trial

RANK, LINEUP = "log2(rank)", "lineup, -log2 Π"
"""Two ways to count remaining bits. The figures of the paper show the first; its definition is the second."""

ALL, MISSED = "all targets", "targets that the best guess misses"


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

    out = [r for columns, who in cases for r in measured(columns, who, rows)]
    return sorted(
        out, key=lambda r: ((RANK, LINEUP).index(r.get("measure", RANK)), str(r.get("group")))
    )


def draw_bits(series: str) -> Callable[[Rows], Any]:
    """One row of bars per measure."""

    def one(rows: Rows, measure: str) -> Any:
        prior = next((r["prior"] for r in rows if r.get("prior")), None)
        level = {"y": prior, "text": f"nothing known: {prior:.2f} bits"} if prior else None
        shown = [r for r in rows if r.get("measure", RANK) == measure]
        return draw.bars(
            shown,
            x="known",
            x_title="items known right, of items known",
            series=series,
            series_title=None,
            y="bits",
            y_title=f"{measure}, mean",
            percent=False,
            facet="group",
            rule=level,
        )

    def chart(rows: Rows) -> Any:
        import altair as alt

        return alt.vconcat(*(one(rows, measure) for measure in (RANK, LINEUP)))

    return chart
