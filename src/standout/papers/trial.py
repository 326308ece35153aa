"""One adversary against one attack on sampled targets: the measurement behind the recipes of NS08."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.experiment.outcomes import Outcomes, attack_people
from standout.papers.recipe import RecipeInputs, Row, Rows

BEST, STANDS_OUT = "best guess, no threshold", "only if eccentricity ≥ 1.5"
CRITERIA = (BEST, STANDS_OUT)


def hit(outcomes: Outcomes, criterion: str) -> Array:
    """Credit of each answer without a threshold, or with it."""
    credit = outcomes.credit
    return credit if criterion == BEST else np.where(outcomes.matched, credit, 0.0)


def fitting(who: Adversary, dataset: Dataset) -> Adversary:
    """The adversary without the channels that the data lacks; without any channel a wrong fact is a wrong item."""
    value = who.value_within if dataset.has_value else None
    time = who.time_within if dataset.has_time else None
    kind = "item" if value is None and time is None else who.wrong_kind
    return replace(who, value_within=value, time_within=time, wrong_kind=kind)


def trial(setting: RecipeInputs, who: Adversary, *, absent: bool = False) -> Outcomes:
    """Attack targets of the data with Scoreboard-RH and φ = 1.5; with `absent`, once more with each target removed."""
    data, asked = setting.dataset, fitting(who, setting.dataset)

    def work() -> tuple[Array, ...]:
        target = sample_targets(data, asked.eligible(data), setting.targets, setting.seed)
        # sampling raises an error with the reason for an empty list of targets
        aux = asked.sample(data, target.astype(np.int64), setting.seed)
        board = attack("scoreboard-rh")
        return attack_people(
            board, data, aux, target, setting.engine, absent=absent, lineup=True
        ).arrays

    return Outcomes.from_arrays(setting.once(("trial", asked, absent), work))


def measured(columns: Row, who: Adversary, rows: Callable[[Adversary], Iterable[Row]]) -> Rows:
    """Rows of a point; if no record can be a target, one row with a note instead of a number."""
    try:
        return [{**columns, **row} for row in rows(who)]
    except EligibilityError as error:
        return [{**columns, "n": 0, "rate": None, "bits": None, "note": str(error)}]
