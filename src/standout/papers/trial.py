"""One adversary against one attack on sampled targets: the measurement behind the recipes of NS08."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.papers.recipe import Row, Rows, Setting

Array = npt.NDArray[Any]


class Trial(NamedTuple):
    """Per target, with Scoreboard-RH and φ = 1.5."""

    target: Array
    credit: Array
    """Credit of the best guess: 1 divided by the records tied at the top if the target is one of them, else 0."""
    matched: Array
    """The eccentricity of the best record reaches φ."""
    rank: Array
    """Candidates with at least the score of the target, itself included."""
    lineup_bits: Array
    """-log2 Π(target), Π the lineup as printed."""

    @property
    def rank_bits(self) -> Array:
        """log2(rank): what Figs. 6 and 11 of the paper show."""
        return np.asarray(np.log2(self.rank))

    @property
    def missed(self) -> Array:
        """Whether the best guess is more likely wrong than right."""
        return self.credit < 0.5

    def hit(self, criterion: str) -> Array:
        """Credit of the answer without a threshold, or with it."""
        return self.credit if criterion == BEST else np.where(self.matched, self.credit, 0.0)


BEST, STANDS_OUT = "best guess, no threshold", "only if eccentricity ≥ 1.5"
CRITERIA = (BEST, STANDS_OUT)


def fitting(who: Adversary, dataset: Dataset) -> Adversary:
    """The adversary without the channels that the data lacks; without any channel a wrong fact is a wrong item."""
    value = who.value_within if dataset.has_value else None
    time = who.time_within if dataset.has_time else None
    kind = "item" if value is None and time is None else who.wrong_kind
    return replace(who, value_within=value, time_within=time, wrong_kind=kind)


def trial(setting: Setting, who: Adversary) -> Trial:
    """Attack targets that are in the data."""

    def work() -> tuple[Array, ...]:
        ds, asked = setting.dataset, fitting(who, setting.dataset)
        target, aux = _draw(setting, asked)
        v = attack("scoreboard-rh").run(ds, aux, engine=setting.engine, watch=target)
        return target, v.credit, v.matched, v.rank, v.bits

    return Trial(*setting.once(("trial", fitting(who, setting.dataset)), work))


def silence(setting: Setting, who: Adversary) -> tuple[Array, Array]:
    """Targets, and whether the attack answers ⊥ once each is removed; supports are counted without it."""

    def work() -> tuple[Array, Array]:
        target, aux = _draw(setting, fitting(who, setting.dataset))
        v = attack("scoreboard-rh").run(
            setting.dataset, aux, engine=setting.engine, exclude=target, lineup=False
        )
        return target, ~v.matched

    return setting.once(("silence", fitting(who, setting.dataset)), work)


def _draw(setting: Setting, who: Adversary) -> tuple[Array, Any]:
    target = sample_targets(
        setting.dataset, who.eligible(setting.dataset), setting.targets, setting.seed
    )
    # sampling raises an error with the reason for an empty list of targets
    return target, who.sample(
        setting.dataset, target if target.size else np.empty(0, np.int64), setting.seed
    )


def measured(columns: Row, who: Adversary, rows: Callable[[Adversary], Iterable[Row]]) -> Rows:
    """Rows of a point; if no record can be a target, one row with a note instead of a number."""
    try:
        return [{**columns, **row} for row in rows(who)]
    except EligibilityError as error:
        return [{**columns, "n": 0, "rate": None, "bits": None, "note": str(error)}]
