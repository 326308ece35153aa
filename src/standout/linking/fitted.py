"""A second file scored against a release: its noise, and the best candidates of every query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.knowledge import Facts, Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.linking.attack import LinkLikelihood
from standout.linking.em import fit_noise
from standout.linking.groups import TopScores
from standout.linking.mentions import MentionPopularity
from standout.linking.noise import LinkNoise
from standout.linking.score import candidates

N_CANDIDATES = 100
"""Candidates that are kept per person."""


class Scored(NamedTuple):
    """What linking knows before it asks who is found."""

    facts: Facts
    n_facts: Array
    """Facts about items of the release, per query."""
    attack: LinkLikelihood
    top: TopScores

    @property
    def noise(self) -> LinkNoise:
        """The noise, fitted or given."""
        return self.attack.noise


def scored(
    dataset: Dataset,
    second: Knowledge,
    noise: str | LinkNoise,
    engine: Any,
    progress: Callable[[int], None] | None = None,
) -> Scored:
    """Fit the noise if it is "fit", and find the best candidates of each query of a folded second file."""
    facts = second.bind(dataset)
    n_facts = np.bincount(facts.query[facts.item >= 0], minlength=facts.n_queries)
    mentions = MentionPopularity.of(dataset, facts)
    settled = fit_noise(dataset, second, mentions) if isinstance(noise, str) else noise
    attack = LinkLikelihood(settled, mentions)
    found = candidates(dataset, second, attack, N_CANDIDATES, engine, progress=progress)
    return Scored(facts, n_facts, attack, TopScores.of(*found, n_facts))
