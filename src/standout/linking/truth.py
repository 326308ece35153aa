"""Comparison of links with the right answers, where these are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.attacks.frankowski import reasons
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.errors import InputError, ParameterError
from standout.experiment.journal import resumable
from standout.experiment.outcomes import attack_people
from standout.formulas.rates import Rate, sign_flip
from standout.linking.findings import BIN_NAMES, CUTS, bins
from standout.linking.links import Links
from standout.linking.people import people
from standout.linking.reliability import by_chance, calibration, equal_count, equal_width
from standout.linking.score import facts_digest
from standout.linking.times import comparable

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
    names = (
        others
        if others is not None
        else OTHERS + (RATED if links.details["data"]["has_value"] else ())
    )
    ranks = {"link": _ranks(links, right, data.n_records)}
    for k, name in enumerate(names):
        if progress:
            progress(f"comparing with {name}", k, len(names))
        ranks[name] = _attack_ranks(name, data, second, right)
    hit = _hit(links, right)
    wide, even = equal_width(links.posterior), equal_count(links.posterior)
    found = {
        "n_present": int((right >= 0).sum()),
        "n_absent": int((right < 0).sum()),
        "right": int(hit.sum()),
        "k_identified": [_row(name, rank, right) for name, rank in ranks.items()],
        "by_facts": _by_facts(ranks, links.n_facts, right),
        "reasons": _reasons(data, second, right),
        "defense": _without_rare(data, second, right) if "scoring" in names else [],
        "calibration": calibration(links.posterior, hit, wide),
        "calibration_by_count": calibration(links.posterior, hit, even),
        "by_chance": {
            "width": by_chance(links.posterior, hit, wide)._asdict(),
            "count": by_chance(links.posterior, hit, even)._asdict(),
        },
        "discoveries": [
            _discovery(links, right, rule, fdr) for rule in ("spacing", "posterior") for fdr in CUTS
        ],
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


def _hit(links: Links, right: Array) -> Array:
    return np.asarray((links.best == right) & (right >= 0))


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


def _row(name: str, rank: Array, right: Array) -> dict[str, Any]:
    here = right >= 0
    return {"attack": name, "rates": [{"k": k, **Rate.of(rank[here] <= k)._asdict()} for k in KS]}


def _by_facts(ranks: dict[str, Array], n_facts: Array, right: Array) -> list[dict[str, Any]]:
    place = bins(n_facts)
    out = []
    for b, name in enumerate(BIN_NAMES):
        inside = (place == b) & (right >= 0)
        if inside.any():
            rates = [
                {"attack": a, **Rate.of(rank[inside] <= 1)._asdict()} for a, rank in ranks.items()
            ]
            out.append({"items": name, "people": int(inside.sum()), "rates": rates})
    return out


def _reasons(data: Dataset, second: Knowledge, right: Array) -> list[dict[str, Any]]:
    """Why Set Intersection fails (F06, Fig. 3), for people in the release."""
    verdicts = attack("set-intersection").run(
        data, second, watch=np.maximum(right, 0), lineup=False
    )
    here = right >= 0
    words = reasons(verdicts, np.maximum(right, 0))[here]
    return [{"reason": str(w), **Rate.of(words == w)._asdict()} for w in np.unique(words)]


def _without_rare(data: Dataset, second: Knowledge, right: Array) -> list[dict[str, Any]]:
    """Scoring after the owner drops the rarest items (F06, Figs. 6 and 7), for people in the release."""
    here, out = right >= 0, []
    for share in DROPPED:
        dropped = (
            data.supports < np.quantile(data.supports, share, method="higher")
            if share
            else data.supports < 0
        )
        thin = data.with_entries(~dropped[data.record_item])
        rank = _attack_ranks("scoring", thin, second, right)[here]
        out.append(
            {
                "items_dropped": float(dropped.mean()),
                "entries_dropped": 1 - thin.n_entries / max(data.n_entries, 1),
                "rates": [{"k": k, **Rate.of(rank <= k)._asdict()} for k in KS],
            }
        )
    return out


def _discovery(links: Links, right: Array, rule: str, fdr: float) -> dict[str, Any]:
    mask = links.accepted(fdr, rule)
    wrong = Rate.of(~_hit(links, right)[mask])._asdict() if mask.any() else None
    return {"rule": rule, "fdr": fdr, "accepted": int(mask.sum()), "false": wrong}


def _joint(links: Links, right: Array) -> dict[str, Any]:
    """Gain of one-to-one over one by one, on the same people."""
    here = right >= 0
    alone = (np.asarray(links.details["alone"]) == right)[here]
    soft, hard = (links.best == right)[here], (links.assigned == right)[here]
    out: dict[str, Any] = {"one_by_one": Rate.of(alone)._asdict()}
    for name, hit in (("soft", soft), ("hard", hard)):
        difference = hit.astype(np.float64) - alone
        half = (
            1.96 * float(difference.std(ddof=1)) / max(np.sqrt(difference.size), 1)
            if difference.size > 1
            else 1.0
        )
        mean = float(difference.mean())
        out[name] = {
            **Rate.of(hit)._asdict(),
            "gain": mean,
            "gain_low": mean - half,
            "gain_high": mean + half,
            "p": sign_flip(difference),
        }
    return out
