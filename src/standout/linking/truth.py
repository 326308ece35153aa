"""Comparison of links with the right answers, where these are known: ranks, false discoveries, and reliability of posteriors.

Reliability compares the mean posterior with the share of right links in bins, and with what chance
alone would show. Bins of equal width are easy to read, but those in the middle hold few people.
Bins with equal numbers of people have similar and smaller standard errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.attacks.frankowski import reasons
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.purposes import PURPOSE_DRAWS
from standout.errors import InputError, ParameterError
from standout.experiment.journal import resumable
from standout.experiment.outcomes import attack_people
from standout.formulas.rates import Rate, sign_flip
from standout.linking.attack import facts_digest
from standout.linking.links import BIN_NAMES, CUTS, RULES, Links, bins
from standout.linking.people import comparable, people

KS = (1, 5, 10, 100)
OTHERS = ("set-intersection", "tf-idf", "scoring", "scoreboard-rh", "likelihood")
"""Attacks that linking is compared with."""
RATED = ("exact-rating", "fuzzy-rating")
"""Further ones, where both files have values."""
FEWEST_EXPECTED = 5
MOST_WRONG = 0.2
"""Right links, as a share of those that are surely expected, below which the truth is questioned."""
DROPPED = (0.0, 0.25, 0.5, 0.75, 0.9)
"""Shares of the rarest items that the owner's defense of F06 drops."""
N_BINS = 5
POINTS = 0.03
"""Largest difference between mean posterior and share of right links that is asked for."""
DRAWS = 2000
BATCH = 256
MANY = 20_000
"""In a bin with more people, the number of right links is drawn from a normal distribution."""


def truth_of(dataset: Dataset, labels: Any) -> Array:
    """Record index of each label of the release, -1 where the release has no such record."""
    found = find_labels(dataset.record_labels, labels)
    if (found < 0).all():
        raise InputError(
            "none of the true labels is a record of the release; are they written as in the release?"
        )
    return found


def judged(
    links: Links,
    dataset: Dataset,
    knowledge: Knowledge | Dataset,
    truth: Any,
    items: dict[Any, Any] | None = None,
    others: tuple[str, ...] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Links:
    """Return the links with a comparison with the truth among their details.

    Parameters
    ----------
    links, dataset, knowledge, items
        The links, and what they were made of.
    truth
        One record index per query, -1 = not in the release.
    others
        Attacks to compare with. Default: those of F06 that apply, Scoreboard-RH and the likelihood.
    progress
        Called with (what, done, total).
    """
    right = np.asarray(truth, np.int64).reshape(-1)
    if right.size != links.n_queries:
        raise ParameterError(
            f"truth has {right.size} records, the second file {links.n_queries} people: one per person"
        )
    second = people(knowledge, items)
    data = comparable(dataset, second)
    if others is None:
        others = OTHERS + (RATED if links.details["data"]["has_value"] else ())
    ranks = {"link": _ranks(links, right, data.n_records)}
    for k, name in enumerate(others):
        if progress:
            progress(f"comparing with {name}", k, len(others))
        ranks[name] = _attack_ranks(name, data, second, right)
    here, posterior = right >= 0, links.posterior
    hit = (links.best == right) & here
    wide, even = equal_width(posterior), equal_count(posterior)
    found = {
        "n_present": int(here.sum()),
        "n_absent": int((~here).sum()),
        "right": int(hit.sum()),
        "k_identified": [
            {"attack": name, "rates": _rates(rank[here])} for name, rank in ranks.items()
        ],
        "by_facts": _by_facts(ranks, links.n_facts, here),
        "reasons": _reasons(data, second, right),
        "defense": _without_rare(data, second, right) if "scoring" in others else [],
        "calibration": calibration(posterior, hit, wide),
        "calibration_by_count": calibration(posterior, hit, even),
        "by_chance": {
            "width": by_chance(posterior, hit, wide),
            "count": by_chance(posterior, hit, even),
        },
        "discoveries": [_discovery(links, hit, rule, fdr) for rule in RULES for fdr in CUTS],
        "one_to_one": _joint(links, right) if links.one_to_one else None,
    }
    warnings = [*links.details.get("warnings", ()), *_contradiction(links, int(hit.sum()))]
    return replace(links, details={**links.details, "truth": found, "warnings": warnings})


def _contradiction(links: Links, right: int) -> list[str]:
    """A note if almost no link is right although many are expected to be: the true labels may be those of another file."""
    surely = links.interval[0]
    if surely < FEWEST_EXPECTED or right >= surely * MOST_WRONG:
        return []
    return [
        f"The truth contradicts the links: at least {surely:,.0f} are expected to be right, and {right:,} are. Are the true "
        "labels those of the release? Shuffled or renamed labels look like this, and then nothing follows about the risk."
    ]


def _ranks(links: Links, right: Array, n_records: int) -> Array:
    """Rank of each right record by probability, ties counted against the attacker; N where it is no candidate."""
    at = (links.candidates == right[:, None]) & (right >= 0)[:, None]
    mine = np.where(at, links.chances, 0.0).max(axis=1)
    rank = (links.chances >= mine[:, None]).sum(axis=1)
    return np.where(at.any(axis=1) & (mine > 0), rank, n_records)


def _attack_ranks(name: str, data: Dataset, second: Knowledge, right: Array) -> Array:
    options: dict[str, Any] = {"noise": "fit"} if name == "likelihood" else {}
    return resumable(
        "ranks",
        lambda: [name, data.fingerprint, content_digest(facts_digest(second), right)],
        lambda: attack_people(attack(name, **options), data, second, right).rank,
    )


def _rates(rank: Array) -> list[dict[str, Any]]:
    """Share of the people whose right record is among the first k."""
    return [{"k": k, **Rate.of(rank <= k)} for k in KS]


def _by_facts(ranks: dict[str, Array], n_facts: Array, here: Array) -> list[dict[str, Any]]:
    out = []
    for b, name in enumerate(BIN_NAMES):
        inside = (bins(n_facts) == b) & here
        if inside.any():
            rates = [{"attack": a, **Rate.of(rank[inside] <= 1)} for a, rank in ranks.items()]
            out.append({"items": name, "people": int(inside.sum()), "rates": rates})
    return out


def _reasons(data: Dataset, second: Knowledge, right: Array) -> list[dict[str, Any]]:
    """Why Set Intersection fails (F06, Fig. 3), for people in the release."""
    watched = np.maximum(right, 0)
    verdicts = attack("set-intersection").run(data, second, watch=watched, lineup=False)
    words = reasons(verdicts, watched)[right >= 0]
    return [{"reason": str(w), **Rate.of(words == w)} for w in np.unique(words)]


def _without_rare(data: Dataset, second: Knowledge, right: Array) -> list[dict[str, Any]]:
    """Scoring after the owner drops the rarest items (F06, Figs. 6 and 7), for people in the release."""
    here, out = right >= 0, []
    for share in DROPPED:
        least = np.quantile(data.supports, share, method="higher") if share else 0
        dropped = data.supports < least
        thin = data.with_entries(~dropped[data.record_item])
        rank = _attack_ranks("scoring", thin, second, right)[here]
        out.append(
            {
                "items_dropped": float(dropped.mean()),
                "entries_dropped": 1 - thin.n_entries / max(data.n_entries, 1),
                "rates": _rates(rank),
            }
        )
    return out


def _discovery(links: Links, hit: Array, rule: str, fdr: float) -> dict[str, Any]:
    mask = links.accepted(fdr, rule)
    wrong = Rate.of(~hit[mask]) if mask.any() else None
    return {"rule": rule, "fdr": fdr, "accepted": int(mask.sum()), "false": wrong}


def _joint(links: Links, right: Array) -> dict[str, Any]:
    """Gain of one-to-one over one by one, on the same people."""
    here = right >= 0
    alone = (np.asarray(links.details["alone"]) == right)[here]
    out: dict[str, Any] = {"one_by_one": Rate.of(alone)}
    for name, record in (("soft", links.best), ("hard", links.assigned)):
        hit = (record == right)[here]
        difference = hit.astype(np.float64) - alone
        n, mean, half = difference.size, float(difference.mean()), 1.0
        if n > 1:
            half = 1.96 * float(difference.std(ddof=1)) / np.sqrt(n)
        out[name] = {
            **Rate.of(hit),
            "gain": mean,
            "gain_low": mean - half,
            "gain_high": mean + half,
            "p": sign_flip(difference),
        }
    return out


class Bin(NamedTuple):
    """Queries whose posterior lies between two numbers."""

    low: float
    high: float
    inside: Array
    """Indices of the queries."""


def equal_width(posterior: Array) -> list[Bin]:
    """Five bins of the posterior: 0 to 0.2, 0.2 to 0.4, …; empty bins are left out.

    >>> [(b.high, b.inside.tolist()) for b in equal_width(np.array([0.1, 0.95, 0.2, 1.0]))]
    [(0.2, [0]), (0.4, [2]), (1.0, [1, 3])]
    """
    edges = np.arange(N_BINS + 1) / N_BINS
    place = np.minimum(np.searchsorted(edges, posterior, side="right") - 1, N_BINS - 1)
    return [
        Bin(float(edges[b]), float(edges[b + 1]), np.flatnonzero(place == b))
        for b in np.unique(place)
    ]


def equal_count(posterior: Array) -> list[Bin]:
    """Five bins with equal numbers of queries, by posterior; equal posteriors may lie in two bins.

    >>> [(b.high, b.inside.tolist()) for b in equal_count(np.array([0.5, 0.1, 0.9, 0.2, 0.7]))]
    [(0.1, [1]), (0.2, [3]), (0.5, [0]), (0.7, [4]), (0.9, [2])]
    """
    groups = np.array_split(np.argsort(posterior, kind="stable"), N_BINS)
    return [Bin(float(posterior[x].min()), float(posterior[x].max()), x) for x in groups if x.size]


def calibration(posterior: Array, hit: Array, parts: list[Bin]) -> list[dict[str, Any]]:
    """Mean posterior and share of right links of each bin."""
    return [
        {
            "from": b.low,
            "to": b.high,
            "mean": float(posterior[b.inside].mean()),
            **Rate.of(hit[b.inside]),
        }
        for b in parts
    ]


def by_chance(posterior: Array, hit: Array, parts: list[Bin]) -> dict[str, float]:
    """What posteriors that are exactly right would show in the same bins, by right and wrong links drawn from them.

    `p_value`: probability of differences at least as large, by the sum of squared differences over
    their variances. `within`: probability that every bin stays within 3 points.

    Parameters
    ----------
    posterior, hit
        Per query: the posterior of its link, and whether the link is right.
    parts
        Made by `equal_width` or `equal_count` from these posteriors.
    """
    rng = np.random.default_rng(PURPOSE_DRAWS)
    seen, drawn, within = 0.0, np.zeros(DRAWS), np.ones(DRAWS, np.bool_)
    for b in parts:
        p = posterior[b.inside]
        total, variance = p.sum(), max(float((p * (1 - p)).sum()), 1e-12)
        right = (
            _right_links(p, rng)
            if p.size <= MANY
            else total + np.sqrt(variance) * rng.standard_normal(DRAWS)
        )
        drawn += (right - total) ** 2 / variance
        within &= np.abs(right - total) <= POINTS * p.size
        seen += (float(hit[b.inside].sum()) - float(total)) ** 2 / variance
    p_value = float((1 + (drawn >= seen * (1 - 1e-9)).sum()) / (1 + DRAWS))
    return {"p_value": p_value, "within": float(within.mean())}


def _right_links(p: Array, rng: np.random.Generator) -> Array:
    """Numbers of right links in the draws, in parts that fit into memory."""
    parts = [p[first : first + BATCH] for first in range(0, p.size, BATCH)]
    return np.asarray(sum((rng.random((DRAWS, x.size)) < x).sum(axis=1) for x in parts))
