"""One small twin for all recipes, and one setting that keeps what they measure."""

from __future__ import annotations

import pytest

from standout.data.dataset import Dataset
from standout.data.synthetic import twin_dataset
from standout.papers.mentions import simulate_mentions
from standout.papers.recipe import RecipeInputs


@pytest.fixture(scope="session")
def small_twin() -> Dataset:
    return twin_dataset(3_000, 4_000, mean_length=100, seed=5)


@pytest.fixture(scope="session")
def setting(small_twin: Dataset) -> RecipeInputs:
    return RecipeInputs(
        small_twin, 120, 3, simulate_mentions(small_twin, 70, seed=3), source="a small twin"
    )
