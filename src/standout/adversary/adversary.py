"""`Adversary`: how much she knows of a target, how exactly, and how much of it is wrong."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.errors import EligibilityError, ParameterError

if TYPE_CHECKING:
    from standout.adversary.knowledge import Knowledge

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Choice:
    """Which of a target's items she may come to know."""

    kind: str = "uniform"
    top: int = 0
    """`outside-top:K`: the K most held items are left out."""
    share: float = 0.0
    rarity: float = 0.0
    """`rare:SHARE@T`: ⌈SHARE·knows⌉ items with w_i ≥ T, the rest from the others (DSS12)."""

    @classmethod
    def parse(cls, text: str) -> Choice:
        """Read `uniform`, `outside-top:500` or `rare:0.75@0.07`."""
        if text == "uniform":
            return cls()
        if found := re.fullmatch(r"outside-top:(\d+)", text):
            return cls("outside-top", top=int(found[1]))
        if found := re.fullmatch(r"rare:(\d*\.?\d+)@(\d*\.?\d+)", text):
            share, rarity = float(found[1]), float(found[2])
            if 0 < share <= 1 and rarity > 0:
                return cls("rare", share=share, rarity=rarity)
        raise ParameterError(
            f"choose={text!r}: use uniform, outside-top:K (K = a number of items) or rare:SHARE@T (0 < SHARE ≤ 1)"
        )


@dataclass(frozen=True)
class Adversary:
    """What she may know of one target.

    Parameters
    ----------
    knows
        Number of items.
    wrong
        How many of them are wrong.
    wrong_kind
        "value": the item is the target's, its value and day are not, and lie outside the tolerances.
        "item": the target does not hold the item at all.
    value_within
        Largest error of a known value: moved by a uniform whole step (0 = exact), clipped to the scale.
        None = she knows no values.
    time_within
        Largest error of a known day: uniform whole days. None = she knows no days.
    choose
        "uniform", "outside-top:K" or "rare:SHARE@T".
    gamma
        DSS12 noise in place of `value_within`: a real number uniform in ±gamma × (range of the scale).
    length_within
        She also knows how many items the target holds, to within this share (0.5 = ±50 %). None = she does not.
    """

    knows: int = 8
    wrong: int = 0
    wrong_kind: str = "value"
    value_within: float | None = 0
    time_within: float | None = None
    choose: str = "uniform"
    gamma: float | None = None
    length_within: float | None = None

    def __post_init__(self) -> None:
        if self.knows < 1:
            raise ParameterError(f"knows={self.knows}: an adversary knows at least one item")
        if not 0 <= self.wrong <= self.knows:
            raise ParameterError(f"wrong={self.wrong}: between 0 and knows={self.knows}")
        if self.wrong_kind not in ("value", "item"):
            raise ParameterError(f"wrong_kind={self.wrong_kind!r}: use 'value' or 'item'")
        for name in ("value_within", "time_within", "gamma", "length_within"):
            x = getattr(self, name)
            if x is not None and not 0 <= x < np.inf:
                raise ParameterError(f"{name}={x}: use a number ≥ 0, or None for a channel she does not know")
        Choice.parse(self.choose)

    @property
    def choice(self) -> Choice:
        """The choice rule, taken apart."""
        return Choice.parse(self.choose)

    @property
    def n_right_items(self) -> int:
        """Items of hers that the target holds."""
        return self.knows - (self.wrong if self.wrong_kind == "item" else 0)

    def describe(self) -> str:
        """Her knowledge in words.

        >>> Adversary(knows=8, wrong=2, value_within=1, time_within=14).describe()
        '8 items, 2 with wrong values, values ±1, days ±14'
        """
        words = [f"{self.knows} item{'s' if self.knows > 1 else ''}"]
        if self.wrong:
            words.append(
                f"{self.wrong} with wrong values" if self.wrong_kind == "value" else f"{self.wrong} of them wrong items"
            )
        if self.gamma is not None:
            words.append(f"values ±{self.gamma:g} of the scale")
        elif self.value_within is not None:
            words.append("values exact" if self.value_within == 0 else f"values ±{self.value_within:g}")
        if self.time_within is not None:
            words.append("days exact" if self.time_within == 0 else f"days ±{self.time_within:g}")
        if self.choose != "uniform":
            words.append(self.choose)
        if self.length_within is not None:
            words.append(f"length ±{100 * self.length_within:g} %")
        return ", ".join(words)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain data."""
        return asdict(self)

    def pickable(self, dataset: Dataset) -> Array:
        """Mark the items that she may come to know (`rare` may pick every item)."""
        if self.choice.kind == "outside-top":
            return np.asarray(dataset.popularity_rank >= self.choice.top)
        return np.ones(dataset.n_items, np.bool_)

    def _held(self, dataset: Dataset) -> Array:
        """Items of each record that she may come to know."""
        from standout.adversary.sampling import count_marked

        if self.choice.kind != "outside-top":
            return dataset.lengths
        return np.asarray(count_marked(dataset.record_ptr, dataset.record_item, self.pickable(dataset)))

    def eligible(self, dataset: Dataset) -> Array:
        """Records that hold enough items for her knowledge, as indices."""
        from standout.adversary.sampling import count_marked

        need = self.n_right_items
        if self.choice.kind == "rare":
            from standout.formulas.dss12 import is_rare

            rare = is_rare(dataset.supports, self.choice.rarity)
            n_rare = count_marked(dataset.record_ptr, dataset.record_item, rare)
            delta = self.choice.share * self.knows
            # the rule that reproduces the published Table 1: more than δm rare items and at least (1-δ)m others;
            # the hair is for shares that binary fractions miss
            fits = (n_rare > delta + 1e-9) & (dataset.lengths - n_rare >= self.knows - delta - 1e-9)
        else:
            fits = self._held(dataset) >= need
        if self.wrong_kind == "item" and self.wrong:
            fits &= self.pickable(dataset).sum() - self._held(dataset) >= self.wrong
        return np.flatnonzero(fits)

    def sample(self, dataset: Dataset, targets: Any = None, seed: int = 0) -> Knowledge:
        """Draw her knowledge of each target; a draw depends on (seed, target) alone.

        Parameters
        ----------
        dataset
            The release.
        targets
            Record indices, one query each, in order; all eligible records when left out.
        seed
            Any whole number.
        """
        from standout.adversary.sampling import sample

        eligible = self.eligible(dataset)
        chosen = eligible if targets is None else np.asarray(targets, dtype=np.int64).reshape(-1)
        if chosen.size == 0:
            raise EligibilityError(
                f"no record holds enough items for an adversary who knows {self.describe()}; lower knows={self.knows}"
            )
        if chosen.min() < 0 or chosen.max() >= dataset.n_records:
            raise ParameterError(f"targets are record indices from 0 to {dataset.n_records - 1}")
        fit = np.zeros(dataset.n_records, np.bool_)
        fit[eligible] = True
        unfit = int((~fit[chosen]).sum())
        if unfit:
            raise EligibilityError(
                f"{unfit} of {chosen.size} targets do not hold enough items for an adversary who knows {self.describe()}; "
                "take targets from adversary.eligible(dataset)"
            )
        return sample(self, dataset, chosen, seed)
