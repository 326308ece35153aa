"""Candidates of every query, with days and without: the days of some people's second file are unrelated to the release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.experiment.journal import resumable
from standout.linking.attack import LinkLikelihood, options


def candidates(
    dataset: Dataset,
    knowledge: Knowledge,
    attack: LinkLikelihood,
    k: int,
    engine: Any = "memory",
    exclude: Any = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Array, Array]:
    """(queries, k): the records that score highest, and their scores; -1 and NaN where there are fewer.

    A score is log[(1-u)·P(facts with days | record) + u·P(facts without days | record)] against an
    absent person, where u is the share of people whose days are unrelated. A record that is among
    the first k only with days (or only without) has no other term.
    """
    k = max(2, min(k, dataset.n_records))

    def best(one: LinkLikelihood, progress: Callable[[int], None] | None) -> tuple[Array, Array]:
        return resumable(
            "link",
            lambda: [
                dataset.fingerprint,
                k,
                content_digest(vars(one), facts_digest(knowledge), exclude),
            ],
            lambda: one.top_scores(dataset, knowledge, k, engine, exclude, progress),
        )

    if attack.noise.time is None or not attack.use_time:
        return best(attack, progress)
    both = [best(options(attack, use_time=use), progress if use else None) for use in (True, False)]
    u = min(max(attack.noise.unrelated, 1e-9), 1 - 1e-9)
    return _merged(both[0], both[1], np.log1p(-u), np.log(u))


def facts_digest(knowledge: Knowledge) -> str:
    """Hash of what the knowledge says, and of the adversary who has it."""
    return content_digest(
        knowledge.query_ptr,
        knowledge.item,
        knowledge.value,
        knowledge.time,
        knowledge.length,
        knowledge.times,
        knowledge.adversary,
    )


def _merged(
    one: tuple[Array, Array], other: tuple[Array, Array], log_one: float, log_other: float
) -> tuple[Array, Array]:
    """Union of two lists of candidates, with the sum of their probabilities, cut to the best k."""
    k = one[0].shape[1]
    record = np.concatenate([one[0], other[0]], axis=1)
    score = np.concatenate([one[1] + log_one, other[1] + log_other], axis=1)
    by_record = np.argsort(record, axis=1, kind="stable")
    record, score = (np.take_along_axis(x, by_record, axis=1) for x in (record, score))
    score = np.where(record < 0, -np.inf, score)
    # at most two entries of a record, next to each other: the second one takes over the first
    twice = (record[:, 1:] == record[:, :-1]) & (record[:, 1:] >= 0)
    score[:, 1:] = np.where(twice, np.logaddexp(score[:, 1:], score[:, :-1]), score[:, 1:])
    score[:, :-1] = np.where(twice, -np.inf, score[:, :-1])
    record[:, :-1] = np.where(twice, -1, record[:, :-1])
    order = np.argsort(-score, axis=1, kind="stable")[:, :k]
    record, score = (np.take_along_axis(x, order, axis=1) for x in (record, score))
    return record, np.where(np.isfinite(score), score, np.nan)
