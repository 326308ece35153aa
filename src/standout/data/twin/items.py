"""Items of the Netflix twin: popularity, taste, entry day and quality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.twin.kernels import AGE_STEP
from standout.jit import njit

CLASSES = ("<20", "20-49", "50-99", "100-199", "200-499", "500-999", ">=1000")
CLASS_EDGES = (20, 50, 100, 200, 500, 1000)

ENTRY_CDF_DAYS = (0, 60, 180, 360, 720, 1080, 1440, 1800, 2160)
ENTRY_CDF = (0.0, 0.258, 0.309, 0.385, 0.535, 0.690, 0.857, 0.958, 1.0)
"""Share of the catalog that has entered by a day."""
AGE_KNOTS = (0, 92, 183, 231, 289, 414, 800, 2300)
AGE_ACTIVITY = (0.02, 0.06, 0.31, 0.962, 1.0, 0.433, 0.187, 0.172)
"""Activity of an item by age in days: little in the cinema, most when the disc appears half a year on, then less."""


def _even(n: int, rng: np.random.Generator, step: float) -> Array:
    """Low-discrepancy numbers in (0, 1), so that popular items are never all of one kind."""
    out: Array = (rng.random() + step * np.arange(n)) % 1.0
    return out


def settled(x: Array) -> Array:
    """Round to single precision: last bits of matrix products vary by machine and must not change a draw."""
    return x.astype(np.float32).astype(np.float64)


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


def capped(share: Array, mean_length: float, most: float = 0.8) -> Array:
    """Support over records of each item: mean length × share, at most `most`.

    Changes nothing at the real size, where the most popular item is held by 42 %; a short list of
    items needs it.
    """
    support = np.minimum(share * mean_length, most)
    for _ in range(50):
        room = support < most
        if not room.any() or mean_length - support.sum() < 1e-9 * mean_length:
            break
        support[room] *= 1.0 + (mean_length - support.sum()) / support[room].sum()
        support = np.minimum(support, most)
    return support


def popularity(
    real: dict[str, Any], support: Array, lengths: Array, edges: Array, liking: Array
) -> Array:
    """Draw weights (classes, items), from supports, sample lengths and the liking (samples, items) of sample records.

    A sample record of length l that likes item i a times the mean holds it with probability ``1 -
    exp(-λ · x_i^τ · a)``: λ makes the probabilities sum to l, and the exponent τ of the length
    class says how far such records go down the tail. x is solved so that supports are the real
    ones, τ so that mean log ranks by length are. Solved on knots of rank, for a few lengths per
    class; Newton steps for λ, τ and x in turn.
    """
    n_items = support.size
    tail = n_items + 1 - np.geomspace(1, 1 + n_items / 20, 8)
    knot = np.unique(np.round(np.concatenate([np.geomspace(1, n_items, 75), tail])).astype(int)) - 1
    edge = np.concatenate([[0], (knot[1:] + knot[:-1] + 1) // 2, [n_items]])
    count = np.diff(edge).astype(float)
    wanted = np.add.reduceat(support, edge[:-1]) / count
    log_rank = (
        np.add.reduceat(np.log10((np.arange(n_items) + 1) * N_REAL_ITEMS / n_items), edge[:-1])
        / count
    )
    target = np.array([real["mean_log10_item_rank_by_record_length"][c] for c in CLASSES])
    ell, cls, of_records = _typical_lengths(lengths, edges)
    of_class = np.bincount(cls, of_records * ell, len(CLASSES))
    # in a very short catalog, where everybody holds a large part, there is no tail
    tail_steps = 0.4 if lengths.mean() < 0.05 * n_items else 0.0

    # three items represent each range of ranks: (knots, samples, 3)
    at = (edge[:-1, None] + count[:, None] * np.array([0.2, 0.5, 0.8])).astype(int)
    typical = liking[:, at.ravel()].reshape(len(liking), *at.shape).transpose(1, 0, 2)
    typical = typical / typical.mean(axis=(1, 2), keepdims=True)
    log_x, tau = np.log(wanted), np.ones(len(CLASSES))
    log_lambda = np.repeat(np.log(ell / (count * wanted).sum())[:, None], len(liking), axis=1)
    for _ in range(60):
        y = (
            np.exp(log_lambda[:, None, :] + (tau[cls][:, None] * log_x)[:, :, None])[:, :, :, None]
            * typical
        )
        none = np.exp(-y)
        held = 1.0 - none.mean(axis=3)
        total = np.einsum("lkt,k->lt", held, count)
        slope = np.einsum("lkt,k->lt", (y * none).mean(axis=3), count)
        log_lambda += np.clip((ell[:, None] - total) / np.maximum(slope, 1e-9), -0.5, 0.5)
        mean_held = held.mean(axis=2)
        weighted: Array = np.bincount(
            cls, of_records * (mean_held @ (count * log_rank)), len(CLASSES)
        )
        got = weighted / np.maximum(
            np.bincount(cls, of_records * (mean_held @ count), len(CLASSES)), 1e-300
        )
        tau = np.clip(tau + tail_steps * np.where(of_class > 0, got - target, 0.0), 0.05, 3.0)
        tau /= np.average(tau, weights=of_class)
        log_x = np.clip(log_x + 0.7 * np.log(wanted / (of_records @ mean_held)), -30.0, 10.0)
        log_lambda = np.clip(log_lambda, -30.0, 30.0)
    by_item = np.interp(
        np.log(np.arange(1, n_items + 1)), np.log((edge[1:] + edge[:-1] + 1) / 2), log_x
    )
    expected = _expected_support(
        np.exp(log_lambda), np.exp(tau[cls][:, None] * by_item), of_records, liking
    )
    # single items: rare ones depend on one or two groups, which their range of ranks does not show
    by_item = settled(by_item + np.log(support / expected))
    weight = np.exp(settled(tau)[:, None] * (by_item - by_item.mean()))
    return settled(weight / weight.sum(axis=1, keepdims=True))


def _expected_support(rate: Array, weight: Array, of_records: Array, liking: Array) -> Array:
    """Share of records that hold each item: rate (lengths, tastes), weight (lengths, items), liking (tastes, items)."""
    liking = (liking / liking.mean(axis=0)).astype(np.float32)
    out = np.zeros(weight.shape[1])
    for k in range(len(rate)):
        y = (rate[k].astype(np.float32)[:, None] * liking) * weight[k].astype(np.float32)
        out += of_records[k] * -np.expm1(-y).mean(axis=0)
    return out


def _typical_lengths(lengths: Array, edges: Array) -> tuple[Array, Array, Array]:
    """A few representative lengths per class: (length, class, share of records)."""
    which = np.searchsorted(edges, lengths, side="right")
    rows = []
    for c in range(len(CLASSES)):
        for part in np.array_split(np.sort(lengths[which == c]), 8 if c == len(CLASSES) - 1 else 3):
            if part.size:
                rows.append((part.mean(), c, part.size / lengths.size))
    ell, cls, share = zip(*rows, strict=True)
    return np.array(ell), np.array(cls), np.array(share)


N_REAL_ITEMS = 17_770


def item_entry_days(
    real: dict[str, Any], n_items: int, month: Array, months: list[str], rng: np.random.Generator
) -> tuple[Array, Array, Array, Array]:
    """Entry day of each item, the weight that compensates for late entry, activity by age, and moments.

    Entries by time are given by the people and entries by item by the supports, so the flow from
    entry day e to day t is ``r_t · g(t - e) · c_e`` with both margins known: Sinkhorn's iteration
    finds c.
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
    day = np.interp(
        _even(n_items, rng, 0.6180339887498949), np.interp(days, ENTRY_CDF_DAYS, ENTRY_CDF), days
    )
    entry_day = np.minimum(day.astype(np.int64), ENTRY_CDF_DAYS[-1])
    per_item = column / np.maximum(entered, 1e-300)
    enter = entry_day // AGE_STEP
    # moments (tastes, items): how much more likely than average an item is on the days of a sample
    # record
    moments = np.zeros((N_SAMPLES, n_items))
    for day_bin in np.random.default_rng(0).choice(
        n_bins, (DAYS_PER_SAMPLE, N_SAMPLES), p=flow / flow.sum()
    ):
        moments += row[day_bin][:, None] * kernel[day_bin][:, enter] / flow[day_bin][:, None]
    moments *= per_item[enter] / DAYS_PER_SAMPLE
    return entry_day, settled(per_item)[enter], profile, moments


N_SAMPLES = 96
DAYS_PER_SAMPLE = 2


@njit(cache=True)
def _phi_flat(z: Array, out: Array) -> None:
    for k in range(z.size):
        out[k] = 0.5 * math.erfc(-z[k] / math.sqrt(2.0))


def _phi(z: Array) -> Array:
    """Normal distribution function."""
    out = np.empty(z.shape)
    _phi_flat(np.ascontiguousarray(z).ravel(), out.ravel())
    return out


def item_values(
    real: dict[str, Any], share: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Latent quality of each item and the four cuts that turn a latent value into 1 to 5.

    Item means follow the real quantiles. Popular items are liked better and differ less, just so
    much that mean and variance of item means over entries are the real ones. Cuts follow the shares
    of the five values.
    """
    from statistics import NormalDist

    inverse = np.vectorize(NormalDist().inv_cdf, otypes=[float])
    n = share.size
    popular = inverse((n - np.arange(n) - 0.5) / n)
    own = inverse(np.clip(_even(n, rng, 0.7548776662466927), 1e-9, 1 - 1e-9))
    values = np.arange(1, 6)
    wanted = float(np.dot(real["rating_shares"], values))
    between = (
        float(np.dot(real["rating_shares"], values**2))
        - wanted**2
        - real["std_rating_within_item"] ** 2
    )
    sorted_means = np.interp(
        (np.arange(n) + 0.5) / n, real["quantile_levels"], real["item_mean_rating"]
    )
    mean = np.empty(n)
    rho, calm = 0.5, 0.0
    for _ in range(60):
        score = rho * popular + np.exp(-calm * popular) * own
        mean[np.argsort(score)] = sorted_means
        at = float(share @ mean)
        rho = min(max(rho + (wanted - at), 0.0), 3.0)
        calm = min(max(calm + (float(share @ (mean - at) ** 2) - between), 0.0), 1.0)

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
    return settled(quality), settled(cuts)


@njit(cache=True)
def _alias(weight: Array, accept: Array, alias: Array) -> None:
    """Vose's alias table of one distribution: one slot per item, shared by at most two items."""
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


def balance(affinity: Array, share: Array) -> Array:
    """Scale affinities so that groups are equally large and items keep their share: mean 1 both ways."""
    for _ in range(20):
        affinity = affinity / (affinity @ share)[:, None]
        affinity = affinity / affinity.mean(axis=0)
    return affinity


def group_affinity(
    share: Array, n_groups: int, spread: float, slope: float, rng: np.random.Generator
) -> Array:
    """Taste (groups, items) of each latent group for each item: exp(u_g · v_i), mean 1 over groups and over entries.

    With normal u the lift of a pair of items is exp(v_i · v_j), whose logarithm is close to normal
    in a few dimensions, as the real ones are. One more dimension, the logarithm of rank, makes
    groups more or less mainstream.
    """
    n = share.size
    place = np.log10(np.arange(1, n + 1) / n)
    place = place - share @ place
    item = np.vstack([spread * rng.standard_normal((TASTE_DIMENSIONS, n)), slope * place])
    group = rng.standard_normal((n_groups, TASTE_DIMENSIONS + 1))
    group -= group.mean(axis=0)
    # unit covariance, so that seeds differ in tastes but not in their strength
    group = np.linalg.qr(group)[0] * np.sqrt(n_groups)
    return settled(balance(np.exp(group @ item), share))


TASTE_DIMENSIONS = 3


def sample_tastes(n: int, n_groups: int, spread: float) -> Array:
    """Mixes of groups (n, groups) as records have them, every group the favorite equally often."""
    z = np.random.default_rng(0).standard_normal((n, n_groups))
    for k in range(n):
        favorite, turn = int(z[k].argmax()), k % n_groups
        z[k, [favorite, turn]] = z[k, [turn, favorite]]
    taste: Array = np.exp(spread * z)
    return np.asarray(taste / taste.sum(axis=1, keepdims=True))


def alias_tables(
    weight: Array, affinity: Array, availability: Array
) -> tuple[Array, Array, Array, Array]:
    """Draw weights (classes, groups, items), their totals, and alias tables: chance to keep the slot's item, the other item."""
    shape = (weight.shape[0], affinity.shape[0], weight.shape[1])
    table, accept, alias = (
        np.empty(shape, np.float32),
        np.empty(shape, np.float32),
        np.empty(shape, np.int32),
    )
    for c in range(shape[0]):
        drawn = weight[c] * availability
        table[c] = affinity * (drawn / drawn.sum())
        for g in range(shape[1]):
            _alias(table[c, g].astype(np.float64), accept[c, g], alias[c, g])
    return table, table.sum(axis=2, dtype=np.float64), accept, alias
