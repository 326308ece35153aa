"""Canaries from the release's own history: what its people did before a day, linked to what they did from that day on.

Anyone who holds the release can do this, and knows the right answers: the release says which
entries belong to one record. The queries are real people with real habits, some of them absent from
the second part. Copies of records with the fitted noise (`linking.canaries`) differ from that:
their wrong items do not go together, and each of their facts counts as seen once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.errors import StandoutError
from standout.formulas.rates import Rate
from standout.linking.answer import Answer
from standout.linking.fitted import scored
from standout.linking.noise import LinkNoise
from standout.linking.people import people
from standout.linking.periods import split_day, split_time
from standout.linking.recalibrate import Recalibration, features

FEWEST_PRESENT, FEWEST_FOUND = 200, 50
"""Fewest people in both parts, and fewest labeled queries that are found, and that are not."""
MOST_PEOPLE = 4000
MOST_ENTRIES = 20_000_000


class History(NamedTuple):
    """People of the release's first part, linked to its second part."""

    answer: Answer
    """As the second file is answered: one by one, or one-to-one."""
    n_facts: Array
    right: Array
    """Record of each query in the second part, -1 = absent."""
    alone: Answer
    """One by one."""
    day: str
    """First day of the second part."""

    @property
    def hit(self) -> Array:
        """Whether the answer is right."""
        return np.asarray((self.answer.best == self.right) & (self.right >= 0))

    def recalibration(self) -> Recalibration | None:
        """Fit to the queries that the spacing test applies to; None if too few are found or not found."""
        use = self.answer.top.applies
        hit = self.hit[use]
        if min(int(hit.sum()), int((~hit).sum())) < FEWEST_FOUND:
            return None
        return Recalibration.fit(features(self.answer.top, self.n_facts), hit)

    def report(self) -> dict[str, Any]:
        """Numbers for the findings."""
        present = self.right >= 0
        return {
            "day": self.day,
            "n": int(present.size),
            "n_present": int(present.sum()),
            "found": Rate.of(self.hit[present])._asdict(),
        }


def history(
    dataset: Dataset,
    noise: LinkNoise,
    null_mean: float,
    one_to_one: bool,
    engine: Any = "memory",
    seed: int = 0,
) -> History | None:
    """Link the release's first half to its second; None where that is not like linking the second file.

    It is like it if days are not compared and people repeat items, so that habits are what links
    the two.

    Parameters
    ----------
    dataset
        The release.
    noise
        The noise between the second file and the release.
    null_mean
        Mean of -log p of absent canaries.
    one_to_one, engine, seed
        As in `link`.
    """
    if (
        noise.time is not None
        or not (dataset.has_time and dataset.has_repeats)
        or dataset.n_entries > MOST_ENTRIES
    ):
        return None
    try:
        day = split_day(dataset, 0.5)
        before, after = split_time(dataset, day)
    except StandoutError:
        # no times, or all on one day
        return None
    some = sample_targets(before, np.arange(before.n_records), MOST_PEOPLE, seed + 2**42)
    before = before.take(np.sort(some))
    right = find_labels(after.record_labels, before.record_labels)
    if int((right >= 0).sum()) < FEWEST_PRESENT:
        return None
    second = people(before)
    found = scored(after, second, "fit", engine)
    alone = Answer.of(found.top, found.n_facts, null_mean, after.n_records)
    answer = alone.joint(found.n_facts, null_mean, after.n_records) if one_to_one else alone
    return History(answer, found.n_facts, right, alone, day.isoformat())
