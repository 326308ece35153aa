"""Which cells of a frontier are better than others, with ties where the difference is within the noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from standout.arrays import Array
from standout.defenses.frontier_cells import FrontierCell
from standout.formulas.rates import Rate, at_most, sign_flip

LEVEL = 0.05
"""Two risks differ if the paired test gives a smaller p-value."""

CONFIDENCE = 0.95

MOST_EXACT = 60
"""Number of differences up to which the test of two risks with ties is exact."""


def losses(cell: FrontierCell, measure: str) -> list[float] | None:
    """Loss of a cell for each seed; None if it was not measurable."""
    found = [x for one in cell.losses if (x := one[measure]) is not None]
    return found if len(found) == len(cell.losses) else None


def spread(values: Sequence[float]) -> float:
    """Half the 95 % interval of the mean over the seeds: t·s/√n.

    >>> round(spread([0.1, 0.2, 0.3]), 3), spread([0.4, 0.4])
    (0.248, 0.0)
    """
    from scipy.special import stdtrit

    n = len(values)
    return (
        float(stdtrit(n - 1, 0.5 + CONFIDENCE / 2) * np.std(values, ddof=1) / math.sqrt(n))
        if n > 1
        else math.inf
    )


def compare_cost(one: FrontierCell, other: FrontierCell, measure: str) -> int:
    """-1 if the first cell costs less, 1 if it costs more, 0 if the difference over the seeds is within the noise."""
    a, b = losses(one, measure), losses(other, measure)
    if a is None or b is None:
        return 0
    gap = [x - y for x, y in zip(a, b, strict=True)]
    mean = float(np.mean(gap))
    return 0 if abs(mean) <= max(spread(gap), 1e-12) else (1 if mean > 0 else -1)


def risk_of(cell: FrontierCell) -> Rate:
    """The rate that a cell is judged by: that of the worst of what was measured (unique, found, sure)."""
    rate: Rate = cell.risk[cell.risk.worst]
    return rate


def compare_risk(one: FrontierCell, other: FrontierCell, level: float = LEVEL) -> int:
    """-1 if the first cell has the lower risk, 1 if the higher one, 0 if a paired test on the same targets cannot tell."""
    gap = np.asarray(one.risk.credit, np.float64) - np.asarray(other.risk.credit, np.float64)
    gap = gap[gap != 0]
    total = math.fsum(gap)
    if total == 0 or _p_value(gap, total) >= level:
        return 0
    return 1 if total > 0 else -1


def has_clear_effect(cell: FrontierCell, undefended: FrontierCell, n_cells: int) -> bool:
    """Whether the risk of a cell is clearly below that of the undefended data.

    The paired test has the level `LEVEL` for all defended cells together (Bonferroni): of many
    settings without effect, some would look better by chance.
    """
    return compare_risk(cell, undefended, LEVEL / max(n_cells, 1)) < 0


def _p_value(gap: Array, total: float) -> float:
    """Two-sided sign-flip test: exact for hits and misses and for few differences, else by the normal distribution."""
    if gap.size <= MOST_EXACT or np.all(np.abs(gap) == 1):
        return sign_flip(gap)
    return math.erfc(abs(total) / math.sqrt(2.0 * math.fsum(gap * gap)))


def front(cells: Sequence[FrontierCell], measure: str) -> list[bool]:
    """Whether no other cell is better: at most as risky and as costly, and measurably better in one of the two.

    A tie never removes a cell, so that the front holds all cells that may be the best.
    """
    beaten = [False] * len(cells)
    for j, k in combinations(range(len(cells)), 2):
        if beaten[j] and beaten[k]:
            continue
        cost = compare_cost(cells[j], cells[k], measure)
        risk = compare_risk(cells[j], cells[k])
        beaten[k] = beaten[k] or (risk <= 0 and cost <= 0 and risk + cost < 0)
        beaten[j] = beaten[j] or (risk >= 0 and cost >= 0 and risk + cost > 0)
    return [not x for x in beaten]


def highest_rate(cell: FrontierCell, n_cells: int = 1) -> float:
    """One-sided upper bound of the risk (Clopper–Pearson), at 95 % for all cells of the frontier together (Bonferroni)."""
    hit = risk_of(cell)
    return at_most(hit.count, hit.n, 1 - (1 - CONFIDENCE) / max(n_cells, 1))


def lowest_shown(n: int, n_cells: int) -> float:
    """Smallest rate that `n` tested people can show: the bound if nobody is found.

    >>> round(lowest_shown(500, 36), 4)
    0.0131
    """
    return at_most(0, n, 1 - (1 - CONFIDENCE) / max(n_cells, 1))


def least_costly(
    cells: Sequence[FrontierCell], measure: str, rate: float, n_cells: int
) -> tuple[FrontierCell, list[FrontierCell]] | None:
    """Cheapest cell whose rate is shown to be below `rate`, and the cells whose cost cannot be told from its cost."""
    fine = [c for c in cells if highest_rate(c, n_cells) <= rate and losses(c, measure) is not None]
    if not fine:
        return None
    best = min(fine, key=lambda c: (float(np.mean(losses(c, measure) or [])), risk_of(c).rate))
    return best, [c for c in fine if c is not best and compare_cost(c, best, measure) == 0]
