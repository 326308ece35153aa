"""Utility of a release: train on the release, test on entries of the source that were held out before the defense."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from standout.data.dataset import Dataset
from standout.defenses import utility_counts as counts
from standout.defenses import utility_models as models
from standout.defenses.utility_models import RankingSettings, RatingSettings
from standout.defenses.utility_release import (
    HeldOut,
    Matrix,
    exact_mean,
    hold_out,
    matrix_of,
)
from standout.errors import EligibilityError

MEASURES = ("ndcg", "recall", "rating", "popularity", "pairs", "time", "entries")
"""Measures of loss, each 0 = nothing lost, 1 = all lost."""


@dataclass(frozen=True)
class Settings:
    """Settings of the models, tuned once on undefended data; the same for every release."""

    ranking: RankingSettings
    rating: RatingSettings | None
    """None if the source has no values."""


@dataclass(frozen=True)
class Utility:
    """What a release is good for, measured once."""

    ndcg: float
    """NDCG@10 of recommendations, mean over the tested people."""
    recall: float
    """Recall@20 of recommendations, mean over the tested people."""
    rmse: float | None
    """Root mean squared error of predicted values; None if the release has no values."""
    popularity_error: float
    pairs_error: float
    time_error: float | None
    """None if the source has no times."""
    entries: float
    """Share of the source's entries (distinct pairs) that the release keeps."""
    items: float
    people: float
    false_entries: float
    """Share of the release's entries that are not in the source."""
    n_people: int
    """People that recommendations were tested on."""


class UtilityTest:
    """Held-out entries of a source, and what can be done with the rest of it before any defense.

    Parameters
    ----------
    source
        The data before any defense.
    seed
        Random seed of the split, of the models and of the sample of tested people.
    settings
        Settings of the models. Default: tuned on this data.
    """

    def __init__(
        self,
        source: Dataset,
        seed: int = 0,
        settings: Settings | None = None,
    ) -> None:
        self.split: HeldOut = hold_out(source, seed)
        self.seed, self._given = seed, settings

    @cached_property
    def settings(self) -> Settings:
        """Settings of the models, tuned on a second split of the training data if none are given."""
        if self._given is not None:
            return self._given
        has_value = self.split.train.has_value
        return Settings(
            models.tune_ranking(self.split, self.seed),
            models.tune_rating(self.split, self.seed) if has_value else None,
        )

    @cached_property
    def undefended(self) -> Utility:
        """Utility of the training data itself."""
        found = self.of(self.split.train)
        if found.ndcg <= 0:
            raise EligibilityError(
                "the recommender finds none of the held-out items in the undefended data, so there is no utility to lose; "
                "give more data"
            )
        return found

    @cached_property
    def constant_error(self) -> float | None:
        """Root mean squared error if the same value is predicted for every held-out entry; None without values."""
        return models.constant_error(self.split)

    @cached_property
    def popularity_losses(self) -> dict[str, float]:
        """Loss of recommending the most popular items to everyone: the loss of a release without information about people."""
        ndcg, recall = models.rank_by_popularity(self.split, self.seed)
        whole = self.undefended
        return {
            "ndcg": 1 - exact_mean(ndcg) / whole.ndcg,
            "recall": 1 - exact_mean(recall) / whole.recall if whole.recall > 0 else 0.0,
        }

    @cached_property
    def _matrix(self) -> Matrix:
        return matrix_of(self.split.train, self.split.train)

    @cached_property
    def _top_pairs(self) -> counts.Pairs:
        return counts.top_pairs(self._matrix)

    def of(self, release: Dataset) -> Utility:
        """Utility of a release of the training data (`split.train`)."""
        train = self.split.train
        matrix = self._matrix if release is train else matrix_of(train, release)
        ndcg, recall = models.rank(self.split, matrix, self.settings.ranking, self.seed)
        rating = self.settings.rating
        return Utility(
            ndcg=exact_mean(ndcg),
            recall=exact_mean(recall),
            rmse=None
            if rating is None
            else models.rating_error(self.split, matrix, rating, self.seed),
            popularity_error=counts.popularity_error(self._matrix, matrix),
            pairs_error=counts.pairs_error(self._top_pairs, matrix),
            time_error=counts.time_error(train, release),
            n_people=int(ndcg.size),
            **counts.kept(self._matrix, matrix),
        )

    def losses(self, found: Utility) -> dict[str, float | None]:
        """Loss of a release by measure: 0 = nothing lost, 1 = all lost; None = cannot be measured on this source."""
        whole = self.undefended
        return {
            "ndcg": 1 - found.ndcg / whole.ndcg,
            "recall": 1 - found.recall / whole.recall if whole.recall > 0 else None,
            "rating": rating_loss(found.rmse, whole.rmse, self.constant_error),
            "popularity": found.popularity_error,
            "pairs": found.pairs_error,
            "time": found.time_error,
            "entries": 1 - found.entries,
        }


def rating_loss(
    error: float | None, undefended: float | None, constant: float | None
) -> float | None:
    """(error - undefended) / (constant - undefended): share of the gain over a constant prediction that is lost.

    A release without values loses all. None if the source has no values or its values cannot be
    predicted.

    >>> rating_loss(0.9, 0.85, 1.05), rating_loss(None, 0.85, 1.05), rating_loss(None, None, None)
    (0.25, 1.0, None)
    """
    if undefended is None or constant is None or constant <= undefended:
        return None
    return 1.0 if error is None else round((error - undefended) / (constant - undefended), 12)
