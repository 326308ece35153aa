"""Every kernel: a million draws agree with its table, true level by true level."""

import numpy as np
import pytest
from scipy import sparse, stats

import standout as so
from standout.kernels.bins import Bins, LevelBins, TickBins
from standout.kernels.levels import CircleSteps, Exact, Relative, SameLabel, Steps, Table, Uniform
from standout.kernels.moments import Periods, Window
from standout.kernels.rounded import Rounded

DRAWS = 1_000_000
EVEN = np.arange(1.0, 8.0)
UNEVEN = np.array([1.0, 1.5, 2.5, 4.0, 4.5, 7.0, 9.0])
ODD = np.array([1.0, 1.3, 2.9, 4.71, 7.07])
HALVES = np.array([-2.5, -0.2, 0.5, 1.2, 2.5, 2.6, 7.0])
CHANGE = np.array([[0.7, 0.3, 0.0], [0.25, 0.5, 0.25], [0.0, 0.1, 0.9]])
LEVEL_KERNELS = {
    "exact": (Exact(), UNEVEN),
    "steps": (Steps(2), EVEN),
    "steps of a half": (Steps(1.2, 0.5), np.arange(1.0, 4.5, 0.5)),
    "more steps than levels": (Steps(20), EVEN),
    "a circle": (CircleSteps(2, 1.0, 7.0), np.arange(7.0)),
    "steps of two on a circle": (CircleSteps(2, 2.0, 10.0), np.arange(0.0, 10.0, 2.0)),
    "labels": (SameLabel(0.7), np.arange(6.0)),
    "bins, clipped": (LevelBins((0.0, 1.0, 3.0), (0.4, 0.3, 0.2, 0.1)), EVEN),
    "bins of an uneven scale": (LevelBins((0.0, 2.5), (0.5, 0.3, 0.2)), UNEVEN),
}


def uniforms(n):
    """Evenly spaced numbers: the draws then have the kernel's distribution up to 1/n, without chance."""
    return (np.arange(n) + 0.5) / n


def agrees(counts, chance):
    """Whether the total variation between draws and table is at most 10^-4."""
    assert chance.sum() == pytest.approx(1.0)
    return np.abs(counts / counts.sum() - chance).sum() / 2 < 1e-4


@pytest.mark.parametrize("name", LEVEL_KERNELS)
def test_draws_of_levels_follow_the_table(name):
    kernel, levels = LEVEL_KERNELS[name]
    n = DRAWS // levels.size
    code = np.repeat(np.arange(levels.size), n)
    seen = kernel.draw(levels[code], np.tile(uniforms(n), levels.size), levels)
    table = kernel.table(levels, levels)
    np.testing.assert_array_equal(np.isin(seen, levels), True)
    for c in range(levels.size):
        counts = np.bincount(np.searchsorted(levels, seen[code == c]), minlength=levels.size)
        assert agrees(counts, table[:, c]), c


def test_draws_of_a_changed_scale_follow_the_table():
    source, release = np.array([1.0, 2.0, 3.0]), np.array([0.0, 2.0, 5.0])
    kernel = Table(source, release, sparse.csr_array(CHANGE))
    code = np.repeat(np.arange(3), DRAWS // 3)
    seen = kernel.draw(source[code], np.tile(uniforms(DRAWS // 3), 3))
    seen = np.searchsorted(release, seen)
    table = kernel.table(release, source)
    np.testing.assert_array_equal(table, CHANGE.T)
    for c in range(3):
        assert agrees(np.bincount(seen[code == c], minlength=3), table[:, c])


@pytest.mark.parametrize("kernel", [Uniform(1.7), Uniform(1.0, 0.5, 6.0), Relative(0.3)], ids=str)
def test_draws_of_real_numbers_follow_the_densities_and_the_lumps_at_the_ends(kernel):
    levels = np.array([0.0, 1.0, 2.0, 5.0])
    low, high = kernel.errors(levels)[3:]
    cuts = np.linspace(low, high, 41)
    middle = (cuts[1:] + cuts[:-1]) / 2
    for level in levels[levels >= low]:
        seen = kernel.draw(np.full(DRAWS // 4, level), uniforms(DRAWS // 4), levels)
        at = np.flatnonzero(levels == level)[0]
        ends = [np.array([end]) for end in (low, high)]
        lumps = np.array([kernel.table(end, levels)[0, at] for end in ends])
        assert agrees(
            np.array(
                [(seen == low).sum(), (seen == high).sum(), ((seen > low) & (seen < high)).sum()]
            ),
            np.append(lumps, 1 - lumps.sum()),
        )
        inside = seen[(seen > low) & (seen < high)]
        # the density is constant where it is positive: only cuts that lie inside are counted
        density = kernel.table(middle, levels)[:, at]
        width = kernel.errors(levels).width[at]
        whole = (np.abs(cuts[:-1] - level) < width) & (np.abs(cuts[1:] - level) < width)
        counts = np.histogram(inside, cuts)[0][whole]
        if width > 0:
            chance = density[whole] * np.diff(cuts)[whole]
            np.testing.assert_allclose(counts / seen.size, chance, atol=1e-5)
            assert not inside.size or np.abs(inside - level).max() <= width


@pytest.mark.parametrize("unit", [1.0, 0.5, 0.1, 5.0])
def test_draws_of_rounded_numbers_follow_the_table(unit):
    kernel = Rounded(unit)
    steps = np.arange(np.floor(-3 / unit), np.ceil(8 / unit) + 1)
    table = kernel.table(steps * unit, HALVES)
    for c, level in enumerate(HALVES):
        seen = kernel.draw(np.full(DRAWS // 10, level), uniforms(DRAWS // 10), HALVES) / unit
        np.testing.assert_allclose(seen, np.rint(seen), atol=1e-9)
        assert agrees(
            np.bincount((np.rint(seen) - steps[0]).astype(int), None, steps.size), table[:, c]
        )
        nearest = np.abs(steps * unit - level)
        np.testing.assert_array_equal(table[:, c] > 0, nearest < nearest.min() + 1e-9)
    sums = kernel.sums(steps * unit, HALVES, np.arange(7.0))
    np.testing.assert_allclose(sums.weighted, table @ np.arange(7.0))
    np.testing.assert_array_equal(sums.n_possible, (table > 0).sum(axis=1))


@pytest.mark.parametrize("kernel", [Window(0), Window(5)], ids=str)
def test_draws_of_ticks_follow_the_table(kernel):
    most = kernel.reach + 1
    gap = (kernel.draw(100, uniforms(DRAWS)) - 100).astype(int)
    counts = np.bincount(gap + most, minlength=2 * most + 1)
    assert agrees(counts, kernel.table(np.arange(-most, most + 1)))


@pytest.mark.parametrize("to", ["day", "week", "month", "quarter", "year"])
def test_days_fall_on_the_first_days_of_their_periods_as_often_as_these_are_long(to):
    """From 1970 to 2243: the days of a period are as many as its table says, and all lie behind its first day."""
    kernel, days = Periods(to), np.arange(-1000, 100_000)
    seen = kernel.draw(days)
    whole = seen[(seen >= 0) & (seen < 99_000)]
    lengths = kernel.lengths(0, 99_000)
    np.testing.assert_array_equal(np.bincount(whole, minlength=99_000), lengths)
    assert (
        (days >= seen)
        & (days < seen + {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}[to])
    ).all()
    first = np.flatnonzero(lengths).astype("datetime64[D]").astype(object)
    on = {"week": lambda d: d.weekday() == 0, "month": lambda d: d.day == 1, "day": lambda d: True}
    on["quarter"] = lambda d: d.day == 1 and d.month in (1, 4, 7, 10)
    on["year"] = lambda d: (d.month, d.day) == (1, 1)
    assert all(on[to](d) for d in first)


def test_draws_of_bins_of_ticks_follow_the_table():
    kernel = TickBins((0, 3, 14), (0.1, 0.4, 0.4, 0.1), 30)
    gaps = np.arange(-30, 31)
    seen = kernel.draw(np.zeros(DRAWS), uniforms(DRAWS), gaps)
    assert agrees(np.bincount(seen + 30, minlength=61), kernel.table(gaps))


def test_draws_by_agreement_have_the_shares_of_the_bins_and_choose_alike_inside_them():
    kernel = Bins((0.0, 0.5, 1.5), (0.4, 0.3, 0.2, 0.1), wide=True)
    levels = np.array([0.0, 1.0, 1.5, 2.0, 8.0, 9.0, 30.0])
    true = np.full(DRAWS, 1.5)
    grid = uniforms(1000)
    seen = kernel.draw(true, np.repeat(grid, 1000), levels, np.tile(grid, 1000))
    place = kernel.place(levels, 1.5)
    chance = np.asarray(kernel.share)[place] / np.bincount(place)[place]
    assert agrees(np.bincount(np.searchsorted(levels, seen), minlength=levels.size), chance)
    # where nothing lies in a bin, the nearest level takes its place
    assert set(kernel.draw(np.full(99, 40.0), np.linspace(0, 0.39, 99), levels)) == {30.0}


@pytest.mark.parametrize(
    ("values", "options"),
    [
        (EVEN, {"value_within": 2}),
        (EVEN, {"gamma": 0.3}),
        (ODD, {"value_within": 1}),
        (ODD, {"value_within": "20%"}),
        (ODD, {"value_within": 0}),
        (ODD, {"value_within": "round:0.5"}),
        (HALVES, {"value_within": "round:1"}),
    ],
)
def test_the_compiled_draw_of_an_adversary_has_the_distribution_of_its_kernel(values, options):
    n = 40_000
    data = so.Dataset.from_arrays(
        np.arange(n), np.zeros(n), np.resize(values, n), np.full(n, 50) + np.arange(n) % 2
    )
    who = so.Adversary(knows=1, time_within=3, **options)
    drawn = who.sample(data, np.arange(n), seed=5)
    kernel = who.value_kernel(data)
    true = np.resize(values, n)
    expected = kernel.draw(true, np.random.default_rng(8).random(n), data.levels)
    for level in values:
        both = drawn.value[true == level], expected[true == level]
        assert stats.ks_2samp(*both, method="asymp").pvalue > 1e-3
    gap = (drawn.time - (50 + np.arange(n) % 2)).astype(int)
    chance = who.time_kernel(data).table(np.arange(-3, 4))
    assert stats.chisquare(np.bincount(gap + 3, minlength=7), chance * n).pvalue > 1e-3
