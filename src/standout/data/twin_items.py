"""Items of the Netflix twin: how popular, for whom, since when, how well liked."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.data.twin_kernels import AGE_STEP

Array = npt.NDArray[Any]

CLASSES = ("<20", "20-49", "50-99", "100-199", "200-499", "500-999", ">=1000")
CLASS_EDGES = (20, 50, 100, 200, 500, 1000)

ENTRY_CDF_DAYS = (0, 60, 180, 360, 720, 1080, 1440, 1800, 2160)
ENTRY_CDF = (0.0, 0.12, 0.25, 0.35, 0.53, 0.70, 0.85, 0.96, 1.0)
"""Share of the catalog that has entered by a day."""
AGE_KNOTS = (0, 60, 150, 200, 260, 400, 800, 2300)
AGE_ACTIVITY = (0.10, 0.10, 0.2, 0.9, 1.0, 0.7, 0.45, 0.35)
"""Activity of an item by age in days: little in the cinema, most when the disc appears half a year on, then less."""


def _even(n: int, rng: np.random.Generator, step: float) -> Array:
    """Numbers in (0, 1), evenly spread over every run of neighbors, so that popular items are never all of one kind."""
    out: Array = (rng.random() + step * np.arange(n)) % 1.0
    return out


def target_support(real: dict[str, Any], n_items: int) -> Array:
    """Share of all entries by popularity rank, from the real supports by rank and quantile."""
    n = max(int(k) for k in real["support_by_rank"])
    points = {int(k): float(v) for k, v in real["support_by_rank"].items()}
    for q, v in zip(real["quantile_levels"], real["entries_per_item"], strict=True):
        if 0.01 <= q <= 0.95:
            points[round(1 + (1 - q) * (n - 1))] = float(v)
    ranks = np.array(sorted(points))
    # a smaller catalog is the real one, thinned evenly
    at = 0.5 + (np.arange(n_items) + 0.5) * n / n_items
    support = np.exp(np.interp(np.log(at), np.log(ranks), np.log([points[int(r)] for r in ranks])))
    out: Array = support / support.sum()
    return out


def popularity(real: dict[str, Any], n_items: int, lengths: Array, spread: float) -> tuple[Array, Array]:
    """Draw weights (classes, items) and the expected share of entries of each item.

    A record of length l holds item i with probability ``E[1 - exp(-λ_l · x_i^τ_c · a)]``: λ_l makes these sum to l, the
    expectation is over the record's taste a, and the exponent τ of the length class c says how far such records go
    down the tail. x is solved so that supports are the real ones, τ so that mean log ranks by length are.
    Solved on knots of rank; one Newton step for λ, τ and x in turn.
    """
    share = target_support(real, n_items)
    knot = np.unique(np.round(np.geomspace(1, n_items, 240)).astype(int)) - 1
    edge = np.concatenate([[0], (knot[1:] + knot[:-1] + 1) // 2, [n_items]])
    count = np.diff(edge).astype(float)
    wanted = np.add.reduceat(share, edge[:-1]) / count * lengths.mean()
    log_rank = np.log10((knot + 1) * N_REAL_ITEMS / n_items)
    which = np.searchsorted(CLASS_EDGES, lengths, side="right")
    mean_log_rank = np.array([real["mean_log10_item_rank_by_record_length"][c] for c in CLASSES])

    reps, rep_class, rep_share = [], [], []
    for c in range(len(CLASSES)):
        inside = np.sort(lengths[which == c])
        for part in np.array_split(inside, 12 if c == len(CLASSES) - 1 else 5):
            if part.size:
                reps.append(part.mean())
                rep_class.append(c)
                rep_share.append(part.size / lengths.size)
    ell, cls, of_records = np.array(reps), np.array(rep_class), np.array(rep_share)
    nodes, node_weight = np.polynomial.hermite_e.hermegauss(7)
    taste = np.exp(spread * nodes - spread**2 / 2)
    node_weight = node_weight / node_weight.sum()

    log_x = np.log(wanted)
    tau = np.ones(len(CLASSES))
    log_lambda = np.log(ell / (count * wanted).sum())
    for _ in range(400):
        y = np.exp(log_lambda[:, None] + tau[cls][:, None] * log_x)[:, :, None] * taste
        none = np.exp(-y)
        held = 1.0 - none @ node_weight
        total = held @ count
        log_lambda += np.clip((ell - total) / (((y * none) @ node_weight) @ count), -0.5, 0.5)
        got_rank = np.bincount(cls, of_records * (held @ (count * log_rank)), len(CLASSES))
        got_rank /= np.bincount(cls, of_records * total, len(CLASSES))
        tau = np.clip(tau + 0.3 * (got_rank - mean_log_rank), 0.05, 3.0)
        tau /= np.average(tau, weights=np.bincount(cls, of_records * ell, len(CLASSES)))
        log_x += 0.5 * np.log(wanted / (of_records @ held))
    by_item = np.interp(np.log(np.arange(1, n_items + 1)), np.log(knot + 1), log_x)
    weight = np.exp(tau[:, None] * (by_item - by_item.mean()))
    return weight / weight.sum(axis=1, keepdims=True), share


N_REAL_ITEMS = 17_770


def item_entry_days(real: dict[str, Any], n_items: int, month: Array, months: list[str],
                    rng: np.random.Generator) -> tuple[Array, Array, Array]:  # fmt: skip
    """Entry day of each item, the weight that makes up for entering late, and activity by age.

    Entries by time are given by the people and entries by item by the supports, so the flow from entry day e to day t
    is ``r_t · g(t - e) · c_e`` with both margins known: Sinkhorn's iteration finds c.
    """
    n_days = month.size
    profile = np.interp(np.arange(0, n_days + AGE_STEP, AGE_STEP), AGE_KNOTS, AGE_ACTIVITY)
    profile /= profile.max()
    per_month = np.array([real["entries_by_month"].get(m, 0.0) for m in months])
    per_day = (per_month / np.bincount(month))[month]
    n_bins = -(-n_days // AGE_STEP)
    flow = np.add.reduceat(per_day, np.arange(0, n_days, AGE_STEP))
    cdf = np.interp(np.arange(n_bins + 1) * AGE_STEP, ENTRY_CDF_DAYS, ENTRY_CDF)
    entered = np.diff(cdf)
    age = np.arange(n_bins)[:, None] - np.arange(n_bins)
    kernel = np.where(age >= 0, profile[np.maximum(age, 0)], 0.0)
    column = np.ones(n_bins)
    for _ in range(300):
        row = flow / np.maximum(kernel @ column, 1e-300)
        column = entered / np.maximum(row @ kernel, 1e-300)
    days = np.arange(n_days)
    day = np.interp(_even(n_items, rng, 0.6180339887498949), np.interp(days, ENTRY_CDF_DAYS, ENTRY_CDF), days)
    entry_day = np.minimum(day.astype(np.int64), ENTRY_CDF_DAYS[-1])
    per_item = column / np.maximum(entered, 1e-300)
    return entry_day, per_item[entry_day // AGE_STEP], profile


def _phi(z: Array) -> Array:
    """Normal distribution function."""
    from math import erfc, sqrt

    out: Array = np.vectorize(lambda x: 0.5 * erfc(-x / sqrt(2.0)), otypes=[float])(z)
    return out


def item_values(real: dict[str, Any], share: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Latent quality of each item and the four cuts that turn a latent value into 1 to 5.

    Item means follow the real quantiles, and popular items are liked better, just so much that the mean over entries
    is the real one. Cuts follow the shares of the five values.
    """
    from statistics import NormalDist

    inverse = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    n = share.size
    popular = inverse((n - np.arange(n) - 0.5) / n)
    own = inverse(np.clip(_even(n, rng, 0.7548776662466927), 1e-9, 1 - 1e-9))
    wanted = float(np.dot(real["rating_shares"], np.arange(1, 6)))
    levels, means = np.array(real["quantile_levels"]), np.array(real["item_mean_rating"])
    low, high = 0.0, 0.99
    for _ in range(30):
        rho = (low + high) / 2
        mean = np.interp(_phi(rho * popular + np.sqrt(1 - rho**2) * own), levels, means)
        low, high = (rho, high) if share @ mean < wanted else (low, rho)

    grid = np.linspace(-5, 5, 801)
    below = np.cumsum(real["rating_shares"])[:4]
    cuts = inverse(below)
    for _ in range(25):
        mean_of_grid = 5.0 - sum(_phi(c - grid) for c in cuts)
        quality = np.interp(mean, mean_of_grid, grid)
        weight, edge = np.histogram(quality, 400, weights=share)
        middle = (edge[1:] + edge[:-1]) / 2
        spread = _phi(grid[:, None] - middle) @ (weight / weight.sum())
        cuts = np.interp(below, spread, grid)
    return quality - 0.0, cuts


@njit(cache=True)  # type: ignore[untyped-decorator]
def _alias(weight: Array, accept: Array, alias: Array) -> None:
    """Vose's alias table of one distribution: one slot per item, each shared by at most two."""
    n = weight.size
    scaled = weight * (n / weight.sum())
    small, large = np.empty(n, np.int64), np.empty(n, np.int64)
    n_small = n_large = 0
    for i in range(n):
        alias[i] = i
        accept[i] = 1.0
        if scaled[i] < 1.0:
            small[n_small] = i
            n_small += 1
        else:
            large[n_large] = i
            n_large += 1
    while n_small and n_large:
        n_small -= 1
        i, j = small[n_small], large[n_large - 1]
        accept[i] = scaled[i]
        alias[i] = j
        scaled[j] -= 1.0 - scaled[i]
        if scaled[j] < 1.0:
            n_large -= 1
            small[n_small] = j
            n_small += 1


def alias_tables(weight: Array, affinity: Array) -> tuple[Array, Array, Array]:
    """Alias tables (classes, groups, items) of weight × affinity, and 1 / total of each."""
    shape = (weight.shape[0], affinity.shape[0], weight.shape[1])
    accept, alias = np.empty(shape, np.float32), np.empty(shape, np.int32)
    scale = np.empty(shape[:2])
    for c in range(shape[0]):
        for g in range(shape[1]):
            w = weight[c] * affinity[g]
            scale[c, g] = 1.0 / w.sum()
            _alias(w, accept[c, g], alias[c, g])
    return accept, alias, scale
