"""`likelihood`: Bayes' rule for what an adversary knows, with P(absent)."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Facts, Knowledge
from standout.adversary.sampling import count_marked
from standout.attacks.attack import Attack, one_per_query, register
from standout.attacks.bayes import SHRINK, compile_exact, is_complete, is_drawn_here
from standout.attacks.noise import Noise
from standout.attacks.presence import Presence, calibrated, calibrated_again
from standout.attacks.tables import Known
from standout.attacks.unaware import at_face_value, unaware_noise
from standout.attacks.verdicts import Outcome
from standout.data.background import background, entries_of
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.formulas import likelihood as formula
from standout.scoring.factors import ByCount
from standout.scoring.plan import Plan

Array = npt.NDArray[Any]

FEWEST_TO_FIT = 8
"""With fewer queries than this, noise is averaged over a grid instead of fitted."""


@register("likelihood")
class Likelihood(Attack):
    """Score = log P(A|r) - log P(A|absent): how much better a record explains the knowledge than no record does.

    For knowledge that an adversary with a fixed number of wrong facts drew from this release, P(A|r) is exact. For facts that
    are wrong independently, and for noise that was fitted or given, it is a product over the facts (`formulas.likelihood`).

    Parameters
    ----------
    noise
        "informed": the parameters of the adversary who drew the knowledge; only for knowledge that was drawn from the
        release itself. "fit": estimated by EM from the knowledge alone (averaged over a grid for fewer than 8 queries).
        A `Noise`: as given, for example how a defense changed the release. Default: informed when the knowledge was
        drawn from this release, adaptive when it was drawn from the source of a release with a channel, else fit.
    adapt
        For knowledge of the source of a release that a defense made. True: the likelihood under the defense's published
        parameters (`attacks.adaptive`). False: naive, as if the release were the source. "ignore": naive, without the values
        or times that the defense changed; items with secret names are matched by their popularity.
    prior
        λ, the prior that the target is in the release.
    cut
        Match iff the posterior of the best record is at least this.
    calibrate
        Whether P(absent) and the posterior are calibrated on canaries (`attacks.presence`). This is done for informed noise
        and for an adaptive attack: knowledge from outside, and noise that was fitted or given, keep the likelihood's own
        probabilities.
    """

    needs_lineup = True

    def __init__(self, *, noise: str | Noise | None = None, prior: float = 0.5, cut: float = 0.5,
                 calibrate: bool = True, adapt: bool | str = True) -> None:  # fmt: skip
        if isinstance(noise, str) and noise not in ("informed", "fit"):
            raise ParameterError(f"noise={noise!r}: use 'informed', 'fit' or a Noise")
        if not (0 < prior <= 1 and 0 < cut <= 1):
            raise ParameterError(f"prior={prior} and cut={cut} lie above 0 and at most at 1")
        if adapt not in (True, False, "ignore"):
            raise ParameterError(f"adapt={adapt!r}: use True, False or 'ignore'")
        self.noise, self.prior, self.cut, self.calibrate, self.adapt = noise, prior, cut, calibrate, adapt
        self._noise: Noise | None = None
        self._presence = Presence()
        self._sampled = 1.0
        self._fitted_for: tuple[Dataset, Adversary] | None = None

    def options(self) -> dict[str, Any]:
        """Options as plain data."""
        noise = self.noise if self.noise is None or isinstance(self.noise, str) else repr(self.noise)
        return {
            "noise": noise, "prior": self.prior, "cut": self.cut, "calibrate": self.calibrate,
            **({} if self.adapt is True else {"adapt": self.adapt}), **self.rule_options(),
        }  # fmt: skip

    @property
    def fitted(self) -> Noise | None:
        """The noise that `fit` chose; None before it."""
        return self._noise

    @property
    def presence(self) -> Presence:
        """Conversion of the Bayes factor of presence to P(absent): unchanged, or calibrated by `fit`."""
        return self._presence

    def fit(self, dataset: Dataset, knowledge: Knowledge | Facts, exclude: Any = None) -> Likelihood:
        """Return a copy with the noise chosen for all queries together, and P(absent) calibrated.

        A query that excludes a record is fitted as if that record were not in the data. An attack that was fitted to the
        same release and the same adversary's knowledge is returned as it is.
        """
        facts = knowledge.bind(dataset) if isinstance(knowledge, Knowledge) else knowledge
        # canaries resemble these queries only if the adversary drew complete queries from this release
        adapts = self._is_adaptive(dataset, facts)
        who = facts.adversary if is_complete(facts) and (adapts or self._is_informed(facts)) else None
        if who is not None and self._fitted_for is not None:
            release, adversary = self._fitted_for
            if release is dataset and adversary == who:
                return self
        fitted = copy(self)
        noise = self._settle(dataset, facts, one_per_query(exclude, facts, "exclude", dataset))
        fitted._noise, fitted._presence, fitted._fitted_for = noise, Presence(), None
        if who is not None:
            fitted._fitted_for = dataset, who
            if self.calibrate:
                measure = calibrated_again if adapts else calibrated
                fitted._presence = measure(dataset, who, Likelihood(noise=self.noise, calibrate=False).run_both)
        if adapts and dataset.channel is not None:
            fitted._sampled = dataset.channel.sampled
        return fitted

    def _settle(self, dataset: Dataset, facts: Facts, exclude: Array) -> Noise:
        """Noise for all queries together; an adversary's own parameters hold only if the release is the source."""
        if isinstance(self.noise, Noise):
            return self.noise
        if facts.adversary is not None and (self._is_informed(facts) or self._is_adaptive(dataset, facts)):
            return Noise.informed(facts.adversary, dataset)
        if facts.adversary is not None and self.noise != "fit" and self.adapt is not True:
            return unaware_noise(dataset, facts.adversary, ignore=self.adapt == "ignore")
        if self.noise == "informed":
            why = (
                "the knowledge came from outside, with no Adversary who states its noise"
                if facts.adversary is None
                else "the knowledge was drawn from other data than this release, and entries that the release lost or "
                "changed would count as proof that the target is absent"
            )
            raise ParameterError(f"noise='informed': {why}; use noise='fit', or a Noise if you know how they differ")
        if facts.n_queries < FEWEST_TO_FIT:
            from standout.attacks.fit_grid import average_noise

            return average_noise(dataset, facts, exclude)
        from standout.attacks.fit import fit_noise

        return fit_noise(dataset, facts, exclude)

    def compile(self, dataset: Dataset, facts: Facts, exclude: Array) -> Plan:
        """Exact tables for a fixed number of wrong facts that the adversary's own noise explains, else odds tables."""
        if self._is_adaptive(dataset, facts):
            from standout.attacks.adaptive import compile_adaptive

            return compile_adaptive(dataset, facts, exclude)
        if self.adapt is False:
            facts = at_face_value(dataset, facts)
        noise = self._noise or self._settle(dataset, facts, exclude)
        who = facts.adversary if self._is_informed(facts) else None
        if who is not None and not who.wrong_varies and is_drawn_here(facts):
            return compile_exact(dataset, facts, exclude, noise, told_background(dataset, facts, exclude, noise))
        return compile_odds(dataset, facts, exclude, noise)

    def _is_informed(self, facts: Facts) -> bool:
        """Whether the adversary's own parameters are used: only for knowledge drawn from the release itself."""
        return self.noise in (None, "informed") and facts.from_release and facts.adversary is not None

    def _is_adaptive(self, dataset: Dataset, facts: Facts) -> bool:
        """Whether the defense's channel is used: for knowledge drawn from the source of a release that has one."""
        channel = dataset.channel
        if self.adapt is not True or self.noise not in (None, "informed") or channel is None or facts.adversary is None:
            return False
        # a defense that removes what is not there leaves the source as it is, and still says what to expect
        return facts.from_source and not (facts.from_release and channel.is_neutral)

    def known_beta(self, plan: Plan) -> Array:
        """Lineup Π(r) ∝ e^LLR: the posterior given that the target is in the release."""
        return 1.0 / plan.scale

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the posterior of the best record reaches the cut."""
        p = self.posterior(seen)
        return p, p >= self.cut

    def posterior(self, seen: Outcome) -> Array:
        """P(best | A), where the target may be absent."""
        return self._posterior(seen)[0]

    def absent(self, seen: Outcome) -> Array:
        """P(absent | A)."""
        return self._posterior(seen)[1]

    def _posterior(self, seen: Outcome) -> tuple[Array, Array]:
        assert seen.mass is not None
        factor = formula.log_presence(seen.score, seen.mass, n_possible(seen))
        share = 1.0 / np.maximum(seen.mass, 1.0)
        return formula.posterior(self._presence.log_odds(factor, share), share, self.prior * self._sampled)


def n_possible(seen: Outcome) -> Array:
    """Per query: records that may be the target."""
    if seen.plan.exact is not None:
        return np.asarray(seen.plan.exact.n_possible)
    assert seen.plan.n_possible is not None
    return seen.plan.n_possible


def told_background(dataset: Dataset, facts: Facts, exclude: Array, noise: Noise) -> Array:
    """Smoothed probability of each known value and day among the item's own entries, treated as independent."""
    known = Known.of(dataset, facts, exclude)
    return np.asarray(value_odds(known, noise)[1] * time_background(known, noise))


def compile_odds(dataset: Dataset, facts: Facts, exclude: Array, noise: Noise, missing: Array | None = None) -> Plan:
    """Plan of LLR(r) for all queries.

    A fact about an item that no candidate holds is either wrong (`noise.complete`) or removed from all records: then it
    has the same probability for every record and for an absent target, and changes nothing.

    Parameters
    ----------
    dataset, facts
        The release, and what is known.
    exclude
        One record index per query, -1 = none.
    noise
        Shares of wrong facts, and kernels.
    missing
        Per item of the release: probability that the release lost the entry of a person who holds the item. The share of
        wrong items is then e_i = 1 - (1-e)·(1-missing_i). Default: e for every item.
    """
    known = Known.of(dataset, facts, exclude)
    q = item_share(known)
    value, value_background = value_odds(known, noise)
    time = time_odds(known, noise)
    g = value_background * time.background
    e = 1 - (1 - noise.e) * (1 - (np.zeros(known.item.size) if missing is None else missing[known.item]))
    right = (1 - e) / (e * q)
    wrong = np.broadcast_to(wrong_chance(known, noise, g), known.item.shape)
    floor = right * noise.h * wrong / g
    value = value * (right * (1 - noise.h) / g)[:, None]
    # an absent person's values are wrong equally often: a wrong value is not evidence of presence
    base = np.log(e) - np.log(1 - noise.h + noise.h * wrong / g)
    if not noise.complete:
        base = base * (known.support > 0)
    outside = (known.n_known - np.diff(known.query_ptr)) * noise.complete
    base = known.sum_over_facts(base) + outside * np.log(noise.e)
    plan = known.odds_plan(value, time.table, time.row, time.most, floor, pick_factor(dataset, facts, noise), base)
    possible = pick_rates(dataset, facts, noise) > 0
    return replace(plan, n_possible=possible.sum() - np.where(exclude >= 0, possible[exclude], False))


def item_share(known: Known) -> Array:
    """q_i: share of this item in the release's (record, item) pairs, without the excluded record."""
    dataset = known.dataset
    gone = np.where(known.exclude >= 0, dataset.lengths[known.exclude], 0)
    total = dataset.n_pairs - gone[known.query]
    # an item held only by the excluded record can still occur in a fact
    return np.asarray(np.maximum(known.support, 0.5) / np.maximum(total, 1))


def pick_factor(dataset: Dataset, facts: Facts, noise: Noise) -> ByCount:
    """Factor per record: `pick_rates`, computed by a shard."""
    marked = _pickable(dataset, facts)
    return ByCount(formula.pick_rate(np.arange(dataset.lengths.max(initial=0) + 1), noise.n_right, noise.sure), marked)


def pick_rates(dataset: Dataset, facts: Facts, noise: Noise) -> Array:
    """1/L_r, where L_r counts the items that the adversary's choice rule could pick, if the release shows them.

    A rule such as "outside the most held items" refers to the source. Another release ranks its items differently, so
    all items of a record count there.
    """
    marked = _pickable(dataset, facts)
    if marked is None:
        pickable = dataset.lengths
    else:
        pickable = count_marked(dataset.record_ptr, dataset.record_item, marked)
    return formula.pick_rate(pickable, noise.n_right, noise.sure)


def _pickable(dataset: Dataset, facts: Facts) -> Array | None:
    """Mark the items that the choice rule could pick; None = all, also if the release does not show which."""
    who = facts.adversary
    if who is None or who.choice.kind != "outside-top" or not facts.from_release:
        return None
    return who.pickable(dataset)


def value_odds(known: Known, noise: Noise, counted: tuple[Array, Array, Array] | None = None) -> tuple[Array, Array]:
    """K(v | level) per fact (last column: no value) and its mean over the item's own entries, the background.

    `counted` is the result of `entry_histograms` for the facts with values, if the caller has it already.
    """
    n = known.item.size
    has = known.has_value
    if noise.value is None or not has.any():
        return np.ones((n, 1)), np.ones(n)
    levels = known.dataset.levels
    table = np.ones((n, levels.size + 1))
    back = np.ones(n)
    distinct, place = np.unique(known.value[has], return_inverse=True)
    chance = noise.value.table(distinct, levels)[place]
    own, n_own, common = entry_histograms(known, np.flatnonzero(has), "value")
    back[has] = np.maximum(
        formula.shrunk((chance * own).sum(axis=1) / np.maximum(n_own, 1), n_own, (chance * common).sum(axis=1), SHRINK),
        1e-12,
    )
    table[has, :-1] = chance
    table[has, -1] = back[has]
    return table, back


class TimeOdds(NamedTuple):
    """K(gap) of the known times."""

    table: Array
    """(rows, 2·reach + 2): K by signed gap; last column: the background, for entries without a time."""
    row: Array
    """Per fact: its row of `table`."""
    most: Array
    """Per fact: the largest number in its row, the background included."""
    background: Array
    """Per fact: probability of the known time among the item's own entries."""


def time_odds(known: Known, noise: Noise) -> TimeOdds:
    """K(gap) per fact and the background of the known time; facts share a row where the release allows it."""
    n = known.item.size
    has = known.has_tick
    if noise.time is None or not has.any():
        return TimeOdds(np.ones((1, 1)), np.zeros(n, np.int64), np.ones(n), np.ones(n))
    reach = known.useful_reach(int(noise.time.reach))
    kernel = noise.time.table(np.arange(-reach, reach + 1))
    back = time_background(known, noise)
    # the last column is read only for entries without a time
    all_timed = int(background(known.dataset).all_days.sum()) == known.dataset.n_entries
    told = np.where(has, 0.0 if all_timed else back, np.nan)
    distinct, row = np.unique(told, return_inverse=True)
    table = np.ones((distinct.size, kernel.size + 1))
    table[:, :-1] = np.where(np.isnan(distinct)[:, None], 1.0, kernel[None, :])
    table[:, -1] = np.nan_to_num(distinct, nan=1.0)
    return TimeOdds(table, row.reshape(-1), np.where(has, np.maximum(kernel.max(), back), 1.0), back)


def time_background(known: Known, noise: Noise) -> Array:
    """Per fact: probability of the known time among the item's own entries, 1 where no time is known."""
    back, has = np.ones(known.item.size), known.has_tick
    if noise.time is None or not has.any():
        return back
    bins = background(known.dataset).bin_ticks
    own, n_own, common = entry_histograms(known, np.flatnonzero(has), "day")
    at = np.clip(known.tick[has] // bins, 0, own.shape[1] - 1).astype(np.int64)
    rows = np.arange(at.size)
    ticks_in_bin = np.minimum(bins, known.dataset.tick_span + 1 - at * bins)
    back[has] = formula.shrunk(own[rows, at] / np.maximum(n_own, 1), n_own, common[rows, at], SHRINK) / ticks_in_bin
    return back


def wrong_chance(known: Known, noise: Noise, g: Array) -> Array:
    """u: probability of the known value and day if they are wrong, a mixture of a uniform distribution and the background."""
    return noise.even_wrong * _even_chance(known, noise) + (1.0 - noise.even_wrong) * g


def _even_chance(known: Known, noise: Noise) -> Array:
    """Probability of a wrong value and day, uniform over values the kernels exclude, or over all if they exclude none."""
    out = np.ones(known.item.size)
    if noise.value is not None and known.has_value.any():
        has = known.has_value
        distinct, place = np.unique(known.value[has], return_inverse=True)
        barred = (noise.value.table(distinct, known.dataset.levels) == 0).sum(axis=1)
        out[has] /= np.where(barred > 0, barred, known.dataset.n_levels)[place]
    if noise.time is not None and known.has_tick.any():
        ticks, reach = known.dataset.tick_span + 1, int(noise.time.reach)
        if not noise.time.table(np.array([-reach, reach])).any():
            reach = min(reach, ticks)
            ticks = max(ticks - int(np.count_nonzero(noise.time.table(np.arange(-reach, reach + 1)))), 1)
        out[known.has_tick] /= ticks
    return out


def entry_histograms(known: Known, facts: Array, channel: str) -> tuple[Array, Array, Array]:
    """Per fact: the item's histogram, its total, and the common distribution (with one pseudo-count per cell)."""
    back = background(known.dataset)
    by_item = back.value if channel == "value" else back.day
    all_items = back.all_values if channel == "value" else back.all_days
    counted = by_item.shape[0] > 1 or channel == "value"
    if channel == "value":
        own = back.values_of(known.dataset, known.item[facts])
    elif counted:
        own = by_item[known.item[facts]].astype(np.float64)
    else:
        own = np.zeros((facts.size, all_items.size))
    everyone = np.broadcast_to(all_items + 1.0, own.shape).copy()
    which = 0 if channel == "value" else 1
    excluded = known.exclude[known.query[facts]]
    # all facts of a query exclude the same record: count its entries once
    whole = {gone: entries_of(known.dataset, gone, -1)[which] for gone in np.unique(excluded[excluded >= 0]).tolist()}
    for k in np.flatnonzero(excluded >= 0):
        gone = int(excluded[k])
        if counted:
            own[k] -= entries_of(known.dataset, gone, int(known.item[facts[k]]))[which]
        everyone[k] -= whole[gone]
    return own, own.sum(axis=1), everyone / everyone.sum(axis=1, keepdims=True)
