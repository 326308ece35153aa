"""The release cut into two periods, linked to itself, and the posterior that is learned from it.

What the release's people did before a day is linked to what they did from that day on. Anyone who
holds the release can do this, and knows the right answers: the release says which entries belong to
one record. The queries are real people with real habits, some of them absent from the second part.
Copies of records with the fitted noise (`linking.canaries`) differ from that: their wrong items do
not go together, and each of their facts counts as seen once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.errors import InputError, ParameterError, StandoutError
from standout.formulas.logistic import fit_logistic
from standout.formulas.rates import Rate
from standout.linking.answer import LinkCandidates
from standout.linking.em import score_second_file
from standout.linking.groups import TopScores, design_of, ridge, standard
from standout.linking.noise import LinkNoise
from standout.linking.people import people

EPOCH = date(1970, 1, 1)
FEWEST_PRESENT, FEWEST_FOUND = 200, 50
"""Fewest people in both parts, and fewest labeled queries that are found, and that are not."""
MOST_PEOPLE = 4000
MOST_ENTRIES = 20_000_000
MOST_Y = 30.0
ROUNDS = 500
TOLERANCE = 1e-8
LEAST = 1e-4
MOST_MOVE = 8.0
MOST_ERROR = 2.0
"""Standard error of the shift in logits above which the labeled queries say too little."""


def split_time(dataset: Dataset, at: date | str | float = 0.5) -> tuple[Dataset, Dataset]:
    """Entries before a day and from that day on, as two datasets. Entries without a time are in neither.

    Parameters
    ----------
    dataset
        Records with times.
    at
        First day of the second period: a date, a text like "2011-06-01", or a share of the entries
        that lie before it.
    """
    day = split_day(dataset, at)
    tick = dataset.record_tick.astype(np.int64)
    known, first = tick != dataset.no_tick, first_tick_of(dataset, day)
    parts = []
    for name, mask in (("before", known & (tick < first)), ("from", known & (tick >= first))):
        part = dataset.with_entries(mask)
        if not mask.any():
            raise ParameterError(f"split at {day}: no entry lies {name} that day{span(dataset)}")
        parts.append(part.take(part.lengths > 0))
    return parts[0], parts[1]


def split_day(dataset: Dataset, at: date | str | float) -> date:
    """First day of the second period."""
    if not dataset.has_time:
        raise InputError("a split by time needs times, and this data has none")
    if isinstance(at, datetime):
        return at.date()
    if isinstance(at, date):
        return at
    if isinstance(at, str):
        try:
            return date.fromisoformat(at.strip())
        except ValueError:
            pass
        try:
            at = float(at)
        except ValueError:
            raise ParameterError(
                f"split at {at!r}: use a date like 2011-06-01, or a share like 0.5"
            ) from None
    if not isinstance(at, int | float) or not 0 < at < 1:
        raise ParameterError(
            f"split at {at!r}: use a date like 2011-06-01, or a share between 0 and 1"
        )
    tick = dataset.record_tick[dataset.record_tick != dataset.no_tick].astype(np.int64)
    if not tick.size:
        raise InputError("a split by time needs times, and no entry has one")
    middle = int(np.quantile(tick, at, method="higher")) + dataset.first_tick
    return EPOCH + timedelta(days=-(-middle // dataset.ticks_per_day))


def first_tick_of(dataset: Dataset, day: date) -> int:
    """First tick of a day, counted from the dataset's first tick."""
    return (day - EPOCH).days * dataset.ticks_per_day - dataset.first_tick


def span(dataset: Dataset) -> str:
    """The period of the data, as the end of an error message."""
    first = datetime.fromtimestamp(dataset.first_tick * 86_400 / dataset.ticks_per_day, UTC).date()
    last = first + timedelta(days=dataset.tick_span // dataset.ticks_per_day)
    return f"; the data runs from {first} to {last}"


class Shift(NamedTuple):
    """How much more or less often queries are found than labeled ones, in logits."""

    change: float
    """As estimated from the features of the queries."""
    by_test: float
    """As the null distribution of the spacing test says (`linking.groups`)."""
    used: float
    """The mean of the two; a `change` within its error counts less."""
    error: float
    """Standard error of `used`: that of `change`, and half of the distance between the two."""


@dataclass(frozen=True, eq=False, repr=False)
class Recalibration:
    """logit P(found) = a + b·y + c·√y + d·log(facts) + (f + g·y)·log(scale) + shift, learned from labeled queries.

    y = -log p of the spacing test; scale = that of the gaps among the next records. The terms were
    chosen by the cross-validated likelihood of labeled queries (docs/linking.md).

    The labeled queries and those of the second file are alike except for the share of people who
    are found. That share is estimated from the queries in two ways: from all features (Saerens,
    Latinne and Decaestecker 2002; the change counts only as far as it exceeds its error,
    positive-part James–Stein shrinkage), and from the null distribution of the test. The first is
    wrong where found people stand out more than labeled ones, the second where they stand out
    little; their mean is used.
    """

    center: Array
    width: Array
    beta: Array
    share: float
    """Share of the labeled queries that are found."""
    n: int
    """Labeled queries."""

    @classmethod
    def fit(cls, features: Array, found: Array) -> Recalibration:
        """Logistic regression of found on the features.

        Parameters
        ----------
        features
            (queries, features), as `features` gives them.
        found
            Whether the best record is the right one.
        """
        center, width = standard(features)
        design = design_of(features, center, width)
        beta = fit_logistic(design, found, ridge(design))[0]
        share = float(np.clip(found.mean(), LEAST, 1 - LEAST))
        return cls(center, width, beta, share, int(found.size))

    def logits(self, features: Array) -> Array:
        """Logit of P(found) if the share of found queries is that of the labeled ones."""
        return np.asarray(design_of(features, self.center, self.width) @ self.beta)

    def shift(self, features: Array, found: float) -> Shift:
        """Estimate the change of the share of found queries.

        Parameters
        ----------
        features
            Those of the queries.
        found
            Number of found queries that the null distribution of the spacing test gives.
        """
        level, share = self.logits(features), self.share
        for _ in range(ROUNDS):
            before = share
            moved = expit(level + logit(share) - logit(self.share))
            share = float(np.clip(moved.mean(), LEAST, 1 - LEAST))
            if abs(share - before) < TOLERANCE:
                break
        change = float(logit(share) - logit(self.share))
        mine = expit(level + change)
        # information that the mixture leaves, and the error of the labeled share
        left = float(features.shape[0] * share * (1 - share) - (mine * (1 - mine)).sum())
        square = 1.0 / max(left, 1e-9) + 1.0 / (self.n * self.share * (1 - self.share))
        kept = change * max(0.0, 1.0 - square / change**2) if change else 0.0
        by_test = _move(level, found)
        error = float(np.hypot(np.sqrt(square), (kept - by_test) / 2))
        return Shift(change, by_test, (kept + by_test) / 2, error)

    def posterior(self, features: Array, shift: Shift) -> Array:
        """P(found) of each query."""
        return np.asarray(expit(self.logits(features) + shift.used))


def features(top: TopScores) -> Array:
    """(queries that the test applies to, 5): y = -log p, log number of facts, log scale, √y, y·log scale."""
    y, others = np.minimum(top.y(), MOST_Y), top.covariates()
    return np.column_stack([y, others, np.sqrt(y), y * others[:, 1]])


def _move(level: Array, total: float) -> float:
    """The number that, added to all logits, makes the probabilities sum to `total`."""
    low, high = -MOST_MOVE, MOST_MOVE
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(expit(level + middle).sum()) < total else (low, middle)
    return (low + high) / 2


class History(NamedTuple):
    """People of the release's first part, linked to its second part."""

    answer: LinkCandidates
    """As the second file is answered: one by one, or one-to-one."""
    right: Array
    """Record of each query in the second part, -1 = absent."""
    alone: LinkCandidates
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
        return Recalibration.fit(features(self.answer.top), hit)

    def report(self) -> dict[str, Any]:
        """Numbers for the findings."""
        present = self.right >= 0
        return {
            "day": self.day,
            "n": int(present.size),
            "n_present": int(present.sum()),
            "found": Rate.of(self.hit[present]),
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
    top = score_second_file(after, people(before), "fit", engine)[2]
    alone = LinkCandidates.of(top, null_mean)
    answer = alone.joint() if one_to_one else alone
    return History(answer, right, alone, day.isoformat())
