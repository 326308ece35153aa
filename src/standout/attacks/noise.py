"""`Noise`: an attacker's model of how knowledge differs from the record it is about."""

from __future__ import annotations

from dataclasses import dataclass

from standout.adversary.adversary import Adversary
from standout.data.catalog import Catalog
from standout.errors import ParameterError
from standout.kernels.levels import LevelKernel
from standout.kernels.moments import MomentKernel

LEAST_WRONG = 1e-4
"""Smallest share of wrong items in the model: with zero, one unexpected fact would exclude the true record."""


@dataclass(frozen=True)
class Noise:
    """Shares of wrong facts and kernels of right ones.

    Parameters
    ----------
    e
        Share of facts about an item that the target does not hold.
    h
        Share of facts whose item is right and whose value and day are wrong.
    value, time
        Kernels of right facts; None = that channel is not used.
    n_right
        Number of right items of a query, drawn without replacement, when known.
    sure
        Whether that number is certain, so that a record with fewer items cannot be the target.
    even_wrong
        Share of wrong values and days that are spread evenly over the scale and the span; the rest
        follow the item's own distribution.
    complete
        Whether the release holds every item that a target may hold, so that a fact about another
        item is wrong and costs ln e. If not, the item was removed from all records, and the fact
        changes nothing.
    """

    e: float
    h: float
    value: LevelKernel | None
    time: MomentKernel | None
    n_right: int | None = None
    sure: bool = True
    even_wrong: float = 0.5
    complete: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.e < 1 and 0 <= self.h < 1):
            raise ParameterError(
                f"e={self.e}, h={self.h}: shares of wrong facts lie between 0 and 1"
            )

    @classmethod
    def informed(cls, who: Adversary, dataset: Catalog) -> Noise:
        """The noise of knowledge that the adversary draws from this dataset."""
        share = who.wrong_share
        wrong_item = share if who.wrong_kind == "item" else 0.0
        return cls(
            e=min(max(wrong_item, LEAST_WRONG), 1 - LEAST_WRONG),
            h=min(share if who.wrong_kind == "value" else 0.0, 1 - LEAST_WRONG),
            value=who.value_kernel(dataset),
            time=who.time_kernel(dataset),
            n_right=None
            if who.wrong_varies and who.wrong_kind == "item"
            else who.n_right_items or None,
            even_wrong=1.0,
            complete=True,
        )
