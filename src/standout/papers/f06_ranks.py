"""Rank of each mentioner's own record in the likely list: by an attack of F06, and by an attacker who knows the defense."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.attacks.attack import attack
from standout.attacks.noise import Noise
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.experiment.outcomes import attack_people
from standout.papers.mentions import Mentions
from standout.papers.recipe import RecipeInputs

LEAST_WRONG = 0.001
"""Smallest share of wrong mentions that the adaptive attacker assumes."""


def the_mentions(setting: RecipeInputs) -> Mentions:
    """Mentions of the setting."""
    if setting.mentions is None:
        raise ParameterError(
            "F06 needs mentions: give a file with --mentions, or --simulate-mentions"
        )
    return setting.mentions


def ranks(
    setting: RecipeInputs,
    name: str,
    options: dict[str, Any],
    mentions: Mentions,
    dataset: Dataset | None = None,
) -> Array:
    """Rank of each mentioner's own record in the likely list, tied records all before it."""
    data = setting.dataset if dataset is None else dataset
    out = np.full(mentions.n, data.n_records, np.int64)
    # an item that the release lost does not distinguish records; Set Intersection must still see it
    known = mentions if name == "set-intersection" else mentions.only(held(mentions, data))
    if known.who.size:
        aux, asked = known.knowledge(data, with_values=name in ("exact-rating", "fuzzy-rating"))
        target = mentions.target[asked]
        found = attack_people(attack(name, **options), data, aux, target, setting.engine)
        out[asked] = found.rank
    return out


def adaptive_ranks(
    setting: RecipeInputs, mentions: Mentions, dataset: Dataset | None = None
) -> Array:
    """Ranks by the likelihood of an attacker who knows the defense.

    She ignores mentions of items that the owner removed. She is told which share of the mentions is
    not in the mentioner's record, for mentioners with about as many mentions (bins of
    `Mentions.bins`): misdirecting mentions are among them. She expects wrong mentions to be
    popular, so that a popular mention says little and a rare one much.
    """
    data = setting.dataset if dataset is None else dataset
    out = np.full(mentions.n, data.n_records, np.int64)
    known = mentions.only(held(mentions, data))
    size = known.bins()
    for group in np.unique(size[known.who]).tolist():
        part = known.only(size[known.who] == group)
        wrong = float(np.clip(1 - part.rated(data).mean(), LEAST_WRONG, 1 - LEAST_WRONG))
        model = Noise(e=wrong, h=0.0, value=None, time=None)
        out = np.minimum(out, ranks(setting, "likelihood", {"noise": model}, part, data))
    return out


def held(mentions: Mentions, dataset: Dataset) -> Array:
    """Per mention: whether some record of the release holds the item."""
    return np.asarray((mentions.item >= 0) & (np.append(dataset.supports, 0)[mentions.item] > 0))
