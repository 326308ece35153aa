"""Calibration of P(absent): the likelihood's answers for canaries, with their records in the release and without.

An absent person's items are correlated like a present person's, so the product of popularities understates
P(knowledge | absent). The release alone shows by how much: draw knowledge of random records as the adversary does, and run
the attack with each record present and removed. No target and no truth is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import starts
from standout.adversary.knowledge import Knowledge
from standout.attacks.verdicts import Verdicts
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.errors import StandoutError

Array = npt.NDArray[Any]

CANARIES = 200
"""Number of canaries; all eligible records if there are fewer."""

FEWEST_CANARIES = 20
"""With fewer canaries, P(absent) of a defended release is not calibrated."""

PURPOSE_WITHHELD = 40

Run = Callable[[Catalog, Knowledge, Array], tuple[Verdicts, Verdicts]]


@dataclass(frozen=True)
class Presence:
    """logit P(present) = a + b·(log Bayes factor of presence) + c·log P(best | present), at a prior of 1/2.

    a = 0, b = 1, c = 0 leaves the likelihood unchanged. The term c is needed because an absent person's knowledge fits
    several similar records about equally well, while a present person's fits one.
    """

    a: float = 0.0
    b: float = 1.0
    c: float = 0.0
    n: int = 0
    """Number of canaries used in the fit."""

    def log_odds(self, log_factor: Array, share: Array) -> Array:
        """Logarithm of the odds of presence at a prior of 1/2; -inf if no record can be the target."""
        some = np.isfinite(log_factor)
        focus = np.log(np.where(some, np.maximum(share, 1e-300), 1.0))
        return np.where(some, self.a + self.b * np.where(some, log_factor, 0.0) + self.c * focus, -np.inf)


def fit_presence(log_factor: Array, share: Array, present: Array) -> Presence:
    """Presence that explains the canaries best, under weak priors: a ~ N(0, 3²), b ~ N(1, 1²) and b ≥ 0.01, c ~ N(0, 1²).

    The priors keep the numbers finite if the canaries separate completely, or if there are few of them.
    """
    some = np.isfinite(log_factor)
    x = np.stack([np.ones(int(some.sum())), log_factor[some], np.log(np.maximum(share[some], 1e-300))])
    sign = np.where(present[some], 1.0, -1.0)
    center, width = np.array([0.0, 1.0, 0.0]), np.array([3.0, 1.0, 1.0])

    def loss(p: Array) -> tuple[float, Array]:
        z = sign * (p @ x)
        pull = (p - center) / width
        return float(np.logaddexp(0.0, -z).sum() + 0.5 * pull @ pull), -(x * (sign * expit(-z))).sum(
            axis=1
        ) + pull / width

    found = minimize(loss, center, jac=True, method="L-BFGS-B", bounds=[(None, None), (0.01, None), (None, None)])
    a, b, c = (float(value) for value in found.x)
    return Presence(a, b, c, int(present.sum()))


def canary_seed(who: Adversary) -> int:
    """Random seed of an adversary's canaries: different for each adversary, and unlike the small numbers that users give.

    With one seed for all, the same canaries would shift all results of an audit in the same direction. Parameters that keep
    their default are left out, so that neither a new parameter nor other words change the canaries of an adversary.
    """
    default = Adversary().to_dict()
    chosen = {name: value for name, value in who.to_dict().items() if value != default[name]}
    # 1 and 1.0 are the same adversary
    numbers = {name: float(value) if isinstance(value, int) else value for name, value in chosen.items()}
    return 2**40 + crc32(json.dumps(numbers, sort_keys=True).encode())


def canaries(dataset: Catalog, who: Adversary) -> Array:
    """Records that serve as canaries."""
    return who.choose_targets(dataset, CANARIES, canary_seed(who))[1]


def calibrated(dataset: Catalog, who: Adversary, run: Run) -> Presence:
    """Presence fitted on canaries; a function of the release and the adversary, computed once and cached on the release.

    Parameters
    ----------
    dataset, who
        The release, and the adversary whose knowledge is to be calibrated.
    run
        Runs the uncalibrated attack at a prior of 1/2, with the records in the release and without them: `run_both`.
    """

    def fit() -> Presence:
        records = canaries(dataset, who)
        knowledge = who.sample(dataset, records, canary_seed(who))
        both = run(dataset, knowledge, records)
        factor = np.concatenate([factor_of(v) for v in both])
        share = np.concatenate([v.share for v in both])
        return fit_presence(factor, share, np.repeat([True, False], records.size))

    return once(dataset, "presence", who, fit)


def calibrated_again(release: Dataset, who: Adversary, run: Run) -> Presence:
    """As `calibrated`, for a release that a defense made: the attacker applies the published defense once more.

    Canaries are records of the release, which is taken as a source. Their knowledge is drawn from the release, and the
    attack runs on the release of the release; on the release itself, if the defense cannot be applied again because
    what it removes is gone. Capped records would lose nothing the second time: the limit is lowered (`Defense.again`). P(absent)
    is not calibrated for fewer than `FEWEST_CANARIES` canaries.
    """
    return once(release, "presence_again", who, lambda: _on_second_release(release, who, run))


def _on_second_release(release: Dataset, who: Adversary, run: Run) -> Presence:
    if not callable(getattr(release.defense, "apply", None)):
        return Presence()
    # what the release does not show is not known of a canary either
    if who.gamma is None and not release.has_value:
        who = replace(who, value_within=None)
    if not release.has_time:
        who = replace(who, time_within=None)
    try:
        defense = release.defense.again(release) if hasattr(release.defense, "again") else release.defense
        again: Dataset = defense.apply(release, seed=canary_seed(who))
        records = canaries(release, who)
    except StandoutError:
        again = release
        try:
            records = canaries(release, who)
        except StandoutError:
            return Presence()
    place = find_labels(again.record_labels, release.record_labels[records])
    records, place = records[place >= 0], place[place >= 0]
    if again.origin is not None and release.channel is not None and release.channel.items is None:
        # what the defense removed the first time, it cannot remove again: its parameters stay those of the release, except for
        # the change of values, which starts from the release's levels, and for the lowered limit
        now = again.origin.channel
        same = replace(release.channel, value=now.value, cap=now.cap, source_lengths=now.source_lengths)
        again = replace(again, origin=replace(again.origin, channel=same))
    if records.size < FEWEST_CANARIES:
        return Presence()
    knowledge = _withheld(who.sample(release, records, canary_seed(who)), release, again, records)
    both = run(again, knowledge, place)
    factor = np.concatenate([factor_of(v) for v in both])
    share = np.concatenate([v.share for v in both])
    return fit_presence(factor, share, np.repeat([True, False], records.size))


def _withheld(knowledge: Knowledge, release: Dataset, again: Dataset, records: Array) -> Knowledge:
    """The knowledge with as many facts about withheld items as the targets' knowledge is expected to have."""
    channel = release.channel
    if channel is None or channel.kept_pairs >= 1 or channel.items is not None:
        return knowledge
    each = np.repeat(release.record_keys[records], np.diff(knowledge.query_ptr))
    number = np.arange(each.size, dtype=np.uint64) - np.repeat(knowledge.query_ptr[:-1], np.diff(knowledge.query_ptr))
    key = starts(np.uint64(knowledge.seed or 0), PURPOSE_WITHHELD, each + number.astype(np.uint64))
    gone = key.astype(np.float64) / 2.0**64 >= channel.kept_pairs
    index = np.where(gone, -1, find_labels(again.item_labels, knowledge.item))
    return replace(knowledge, _index=index, _labels=again.item_labels)


def factor_of(verdicts: Verdicts) -> Array:
    """Log Bayes factor of presence in uncalibrated verdicts at a prior of 1/2; -inf if there is no candidate."""
    some = (verdicts.n_candidates > 0) & (verdicts.share > 0) & (verdicts.posterior > 0)
    p, share = np.where(some, verdicts.posterior, 1.0), np.where(some, verdicts.share, 1.0)
    factor = np.log(p) - np.log(share) - np.log(np.maximum(verdicts.absent, 1e-300))
    return np.where(some, factor, -np.inf)
