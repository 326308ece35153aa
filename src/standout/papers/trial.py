"""One adversary against one attack on sampled targets: what the recipes of NS08 are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.papers.recipe import Setting

Array = npt.NDArray[Any]


class Trial(NamedTuple):
    """Per target, with Scoreboard-RH and φ = 1.5."""

    target: Array
    right: Array
    """The best record is the target."""
    matched: Array
    """Its eccentricity reaches φ."""
    bits: Array
    """Bits left."""

    def hit(self, criterion: str) -> Array:
        """Success without a threshold, or with it."""
        return self.right if criterion == BEST else self.right & self.matched


BEST, STANDS_OUT = "best guess, no threshold", "only if eccentricity ≥ 1.5"
CRITERIA = (BEST, STANDS_OUT)


def fitting(who: Adversary, dataset: Dataset) -> Adversary:
    """The adversary as far as the data has what she knows; without any channel a wrong fact is a wrong item."""
    value = who.value_within if dataset.has_value else None
    time = who.time_within if dataset.has_time else None
    kind = "item" if value is None and time is None else who.wrong_kind
    return replace(who, value_within=value, time_within=time, wrong_kind=kind)


def trial(setting: Setting, who: Adversary) -> Trial:
    """Attack targets that are in the data."""

    def work() -> Trial:
        ds, asked = setting.dataset, fitting(who, setting.dataset)
        target, aux = _draw(setting, asked)
        v = attack("scoreboard-rh").run(ds, aux, engine=setting.engine, watch=target)
        return Trial(target, v.best == target, v.matched, v.bits)

    found: Trial = setting.once(("trial", fitting(who, setting.dataset)), work)
    return found


def silence(setting: Setting, who: Adversary) -> tuple[Array, Array]:
    """Targets, and whether the attack answers ⊥ once each is removed; supports are counted without it."""

    def work() -> tuple[Array, Array]:
        target, aux = _draw(setting, fitting(who, setting.dataset))
        v = attack("scoreboard-rh").run(setting.dataset, aux, engine=setting.engine, exclude=target, lineup=False)
        return target, ~v.matched

    found: tuple[Array, Array] = setting.once(("silence", fitting(who, setting.dataset)), work)
    return found


def _draw(setting: Setting, who: Adversary) -> tuple[Array, Any]:
    target = sample_targets(who.eligible(setting.dataset), setting.targets, setting.seed)
    # sampling refuses an empty list of targets with a reason
    return target, who.sample(setting.dataset, target if target.size else np.empty(0, np.int64), setting.seed)
