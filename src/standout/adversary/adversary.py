"""`Adversary`: how much is known of a target, how exactly, and how much of it is wrong."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.choosing import choose_records, count_eligible, record_indices
from standout.adversary.eligible import conditions, levels_outside
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.data.catalog import Catalog, check_dataset
from standout.data.times import days_within, ticks_within, time_words
from standout.data.values import percent, value_words
from standout.errors import EligibilityError, ParameterError
from standout.kernels.levels import ErrorKernel, Uniform
from standout.kernels.moments import Window
from standout.views.view import View, view_of

if TYPE_CHECKING:
    from standout.adversary.knowledge import Knowledge


@dataclass(frozen=True)
class Choice:
    """Which of a target's items may be known."""

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


class _LeftOut(int):
    """Default of `value_within`: 0 (exact) if the data has values, else None."""


_LEFT_OUT = _LeftOut(0)


@dataclass(frozen=True)
class Adversary:
    """What an adversary may know of one target.

    Parameters
    ----------
    knows
        Number of items.
    wrong
        A whole number: exactly this many of the facts are wrong. A float strictly between 0 and 1:
        each fact is wrong with this probability, independently of the others.
    wrong_kind
        "value": the target holds the item, but value and time lie outside the tolerances.
        "item": the target does not hold the item.
    value_within
        Largest error of a known value (0 = exact), clipped to the scale. On a regular grid with at
        most 64 steps the error is a uniform whole number of steps, on other scales a uniform real
        number. "10%": a real number uniform in ±10 % of the true value. None = values are not
        known. Default: exact values if the data has values.
    time_within
        Largest error of a known time (0 = exact): a number of days, or a text like "30min", "2h",
        "3d" or "2w". The error is a uniform whole number of the data's ticks
        (`Dataset.time_resolution`). None = times are not known.
    choose
        "uniform", "outside-top:K" or "rare:SHARE@T".
    gamma
        DSS12 noise in place of `value_within`: a real number uniform in ±gamma × (range of the
        scale).
    length_within
        The number of items of the target is also known, to within this share (0.5 = ±50 %). None =
        not known.
    view
        What is known and searched in place of the entries as they are: a text like
        "groups:categories.csv" or a `View`. None: the entries as they are.
    """

    knows: int = 8
    wrong: int | float = 0
    wrong_kind: str = "value"
    value_within: float | str | None = _LEFT_OUT
    time_within: float | str | None = None
    choose: str = "uniform"
    gamma: float | None = None
    length_within: float | None = None
    view: View | str | None = None

    def __post_init__(self) -> None:
        if not _is_whole(self.knows) or self.knows < 1:
            raise ParameterError(f"knows={self.knows!r}: use a whole number of items, at least 1")
        if self.wrong_kind not in ("value", "item"):
            raise ParameterError(f"wrong_kind={self.wrong_kind!r}: use 'value' or 'item'")
        if self.time_within is not None:
            days_within(self.time_within)
        for name in ("value_within", "gamma", "length_within"):
            x = getattr(self, name)
            if x is None or (name == "value_within" and percent(x) is not None):
                continue
            if not _is_number(x) or not 0 <= x < np.inf:
                share = ', a share like "10%"' if name == "value_within" else ""
                raise ParameterError(
                    f"{name}={x!r}: use a number ≥ 0{share}, or None for a channel that is not known"
                )
        if not isinstance(self.choose, str):
            raise ParameterError(
                f"choose={self.choose!r}: use a text like 'uniform' or 'outside-top:500'"
            )
        Choice.parse(self.choose)
        object.__setattr__(self, "view", view_of(self.view))
        self._settle_numbers()

    def _settle_numbers(self) -> None:
        """Check `wrong`, and turn NumPy's numbers and whole floats into plain integers."""
        wrong = self.wrong
        if _is_whole(wrong) and 0 <= wrong <= self.knows:
            object.__setattr__(self, "wrong", int(wrong))
        elif _is_number(wrong) and 0 < wrong < 1:
            object.__setattr__(self, "wrong", float(wrong))
        else:
            raise ParameterError(
                f"wrong={wrong!r}: use a whole number from 0 to knows={self.knows}, "
                "or a share strictly between 0 and 1 for facts that are wrong independently"
            )
        for name in ("knows", "time_within"):
            if (x := getattr(self, name)) is not None and not isinstance(x, str):
                object.__setattr__(self, name, int(x))
        for name in ("value_within", "gamma", "length_within"):
            if isinstance(x := getattr(self, name), np.generic):
                object.__setattr__(self, name, x.item())

    @property
    def choice(self) -> Choice:
        """The choice rule, taken apart."""
        return Choice.parse(self.choose)

    @property
    def without_view(self) -> Adversary:
        """The same adversary for data that is already seen through her view."""
        return self if self.view is None else replace(self, view=None)

    @property
    def wrong_varies(self) -> bool:
        """Whether each fact is wrong independently, so that the number of wrong facts varies."""
        return isinstance(self.wrong, float)

    @property
    def wrong_share(self) -> float:
        """Expected share of wrong facts."""
        return float(self.wrong) if self.wrong_varies else self.wrong / self.knows

    @property
    def n_right_items(self) -> int:
        """Number of known items that the target holds; the largest possible number if it varies."""
        return self.knows - (int(self.wrong) if self.wrong_kind == "item" else 0)

    @property
    def most_wrong(self) -> int:
        """Most facts of one query that can be wrong."""
        return self.knows if self.wrong_varies else int(self.wrong)

    def words(self, dataset: Catalog) -> str:
        """The knowledge in words, as it is of this data."""
        return self.describe(dataset.time_resolution)

    def describe(self, resolution: str = "day") -> str:
        """The knowledge in words, for times of this resolution.

        >>> Adversary(knows=8, wrong=2, value_within=1, time_within=14).describe()
        '8 items, 2 with wrong values, values ±1, days ±14'
        >>> Adversary(knows=4, wrong=0.25, wrong_kind="item", value_within="10%").describe()
        '4 items, each fact a wrong item with probability 25 %, values ±10 %'
        >>> Adversary(knows=4, wrong=1, value_within=None, time_within=14).describe()
        '4 items, 1 with wrong days, days ±14'
        """
        words = [f"{self.knows} item{'s' if self.knows > 1 else ''}"]
        if self.wrong_varies:
            what = "wrong" if self.wrong_kind == "value" else "a wrong item"
            words.append(f"each fact {what} with probability {100 * self.wrong:g} %")
        elif self.wrong:
            words.append(f"{self.wrong} {self._what_is_wrong(resolution)}")
        share = percent(self.value_within)
        if self.gamma is not None:
            words.append(f"values ±{self.gamma:g} of the scale")
        elif share is not None:
            words.append(f"values ±{100 * share:g} %")
        elif self.value_within is not None:
            words.append(value_words(self.value_within))
        if self.time_within is not None:
            words.append(time_words(self.time_within, resolution))
        if self.choose != "uniform":
            words.append(self.choose)
        if self.length_within is not None:
            words.append(f"length ±{100 * self.length_within:g} %")
        if view := view_of(self.view):
            words.append(view.words)
        return ", ".join(words)

    def _what_is_wrong(self, resolution: str) -> str:
        """What a whole number of wrong facts is: items, values, or times where no values are known."""
        if self.wrong_kind == "item":
            return "of them wrong items"
        if self.gamma is not None or self.value_within is not None or self.time_within is None:
            return "with wrong values"
        return f"with wrong {time_words(self.time_within, resolution).split()[0]}"

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain data; the view as text, if there is one."""
        plain = asdict(self.without_view)
        del plain["view"]
        if view := view_of(self.view):
            plain["view"] = view.text
        if isinstance(self.value_within, _LeftOut):
            plain["value_within"] = 0
        return plain

    def tells_value(self, dataset: Catalog) -> bool:
        """Whether values of this dataset are known."""
        return dataset.has_value and (self.gamma is not None or self.value_within is not None)

    def tells_time(self, dataset: Catalog) -> bool:
        """Whether times of this dataset are known."""
        return dataset.has_time and self.time_within is not None

    def time_ticks(self, dataset: Catalog) -> int:
        """Largest error of a known time in ticks of this dataset; 0 if times are not known.

        Raises
        ------
        ParameterError
            If the tolerance is no whole number of ticks.
        """
        return (
            0
            if self.time_within is None
            else ticks_within(self.time_within, dataset.time_resolution)
        )

    def value_kernel(self, dataset: Catalog) -> ErrorKernel | None:
        """Kernel of a right value of this dataset; None if values are not known."""
        if not dataset.n_levels or (self.gamma is None and self.value_within is None):
            return None
        if self.gamma is not None:
            return Uniform(self.gamma * dataset.value_range, *dataset.scale_ends)
        return dataset.error_kernel(self.value_within or 0.0)

    def time_kernel(self, dataset: Catalog) -> Window | None:
        """Kernel of a right time of this dataset; None if times are not known."""
        return None if self.time_within is None else Window(self.time_ticks(dataset))

    def value_tolerance(self, dataset: Catalog) -> Array:
        """(levels,): largest error of a known value if the true one is that of the level."""
        if self.gamma is not None:
            return dataset.tolerance(self.gamma * dataset.value_range)
        return dataset.tolerance(0.0 if self.value_within is None else self.value_within)

    def value_reach(self, dataset: Catalog) -> Array:
        """(levels,): the same with the error of rounding; wrong values lie farther off."""
        return dataset.reach(self.value_tolerance(dataset))

    def check_channels(self, dataset: Catalog) -> None:
        """Refuse knowledge that the data does not hold, and wrong facts that cannot be drawn from it."""
        # gamma is not refused: the theorems of DSS12 take it as a parameter, and hold for data
        # without values (T = 1)
        asked = self.value_within is not None and not isinstance(self.value_within, _LeftOut)
        if asked and not dataset.has_value:
            raise ParameterError(
                f"value_within={self.value_within!r}: the data has no values; use value_within=None"
            )
        if self.time_within is not None and not dataset.has_time:
            raise ParameterError(
                f"time_within={self.time_within}: the data has no times; use time_within=None"
            )
        reach = self.time_ticks(dataset)
        if not self.wrong or self.wrong_kind == "item":
            return
        if not (self.tells_value(dataset) or self.tells_time(dataset)):
            raise ParameterError(
                f"wrong={self.wrong}: no value and no time is known that could be wrong; use wrong_kind='item'"
            )
        if (
            self.tells_value(dataset)
            and not levels_outside(dataset.levels, self.value_reach(dataset)).any()
        ):
            raise ParameterError(
                f"wrong={self.wrong}: all values of the data lie within the tolerance of each other, so no value can be wrong; "
                "lower value_within, or use wrong_kind='item'"
            )
        if self.tells_time(dataset) and dataset.tick_span <= reach:
            unit = dataset.time_resolution
            raise ParameterError(
                f"wrong={self.wrong}: the data spans {dataset.tick_span + 1} {unit}s, so no {unit} lies more than "
                f"time_within={self.time_within} off; lower time_within, or use wrong_kind='item'"
            )

    def pickable(self, dataset: Catalog) -> Array:
        """Marks of the items that may be known, bool (items); all of them for `rare`."""
        if self.choice.kind == "outside-top":
            return np.asarray(dataset.popularity_rank >= self.choice.top)
        return np.ones(dataset.n_items, np.bool_)

    def pools(self, dataset: Catalog) -> list[tuple[Array, int]]:
        """Sets of items that facts are drawn from, as marks, and the number of facts from each."""
        if self.choice.kind != "rare":
            return [(self.pickable(dataset), self.n_right_items)]
        rare, n_rare = self.rare_items(dataset)
        return [(rare, n_rare), (~rare, self.knows - n_rare)]

    def rare_items(self, dataset: Catalog) -> tuple[Array, int]:
        """Marks of the rare items, and the number of facts about them (`choose="rare:SHARE@T"`)."""
        from standout.formulas.dss12 import is_rare

        # tolerance for shares that are not exact in binary
        n_rare = int(np.ceil(self.choice.share * self.knows - 1e-9))
        return is_rare(dataset.supports, self.choice.rarity), n_rare

    def eligible(self, dataset: Catalog) -> Array:
        """Indices of the records that hold enough items for this adversary."""
        return self.choose_targets(dataset, None)[1]

    def n_eligible(self, dataset: Catalog) -> int:
        """Number of records that hold enough items for this adversary."""
        seen = seen_through(dataset, self)
        return count_eligible(seen, conditions(self.without_view, seen))

    def choose_targets(self, dataset: Catalog, n: int | None, seed: int = 0) -> tuple[int, Array]:
        """Number of eligible records, and `n` of them (all if None or if there are not more).

        The choice depends on (seed, contents of the record).
        """
        seen = seen_through(dataset, self)
        return choose_records(seen, conditions(self.without_view, seen), n, seed)

    def sample(self, dataset: Catalog, targets: Any = None, seed: int = 0) -> Knowledge:
        """Draw the knowledge of each target; a draw depends only on (seed, target).

        Wrong values are drawn first, among the target's entries that can be wrong: with a value or
        a time known, and a value and a time of the release outside the tolerance. The right facts
        come from the remaining items. Wrong items are drawn by (record, item) pairs of the release,
        one after the other, among the items that the target lacks; value and time are those of a
        random pair, with the adversary's usual error. The order of the facts in a query is random.

        Parameters
        ----------
        dataset
            The data that the knowledge is about.
        targets
            Record indices, one query each, in order; all eligible records by default.
        seed
            Any whole number.
        """
        from standout.adversary.sampling import sample

        if not _is_whole(seed):
            raise ParameterError(f"seed={seed!r}: use a whole number")
        check_dataset(dataset)
        chosen = (
            self.eligible(dataset)
            if targets is None
            else record_indices(targets, dataset.n_records)
        )
        if chosen.size == 0:
            raise EligibilityError(
                f"no record holds enough items for an adversary who knows {self.words(dataset)}; lower knows={self.knows}"
            )
        made = sample(self.without_view, seen_through(dataset, self), chosen, int(seed))
        return made if self.view is None else replace(made, adversary=self)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(
        x, (bool, np.bool_)
    )


def _is_whole(x: Any) -> bool:
    """Whether x is a whole number; 3.0 is one, "3" and True are not."""
    return _is_number(x) and bool(np.isfinite(x)) and x == int(x)
