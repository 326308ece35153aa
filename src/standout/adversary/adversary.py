"""`Adversary`: how much is known of a target, how exactly, and how much of it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.choice import Choice, PickRule
from standout.adversary.choices import parse_choice
from standout.adversary.choosing import choose_records, count_eligible, record_indices
from standout.adversary.eligible import conditions, none_eligible
from standout.adversary.level_errors import ChannelError, LevelErrors, channels_of
from standout.adversary.numbers import is_number, is_whole, tolerance_of
from standout.adversary.ranked import check_ranked
from standout.adversary.seen import seen_through
from standout.adversary.words import describe
from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog, check_dataset
from standout.data.channels import JointDataset, joint_dataset, level_names
from standout.data.scale import ValueScale
from standout.data.times import days_within, ticks_within
from standout.data.values import is_tolerance_text
from standout.errors import EligibilityError, ParameterError
from standout.kernels.levels import ErrorKernel, LevelKernel, Uniform
from standout.kernels.moments import Window
from standout.views.ranks import RANK, RankView
from standout.views.view import View, check_known, view_of

if TYPE_CHECKING:
    from standout.adversary.knowledge import Knowledge


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
        number. "10%": a real number uniform in ±10 % of the true value. "round:5": rounded to
        multiples of 5. None = not known. Default: exact values if the data has values and `within`
        is not given.
    time_within
        Largest error of a known time (0 = exact): a number of days, or a text like "30min", "2h",
        "3d" or "2w". The error is a uniform whole number of the data's ticks
        (`Dataset.time_resolution`). None = times are not known.
    choose
        How the known items are chosen: "uniform", "event" (random events: an item with ten events
        is ten times as likely), "popular" (in proportion to how many people hold the item),
        "favorite" (the most frequent items), "recent" (the last ones), "rarest" (held by the fewest
        people), each with its rank; "outside-top:K", "rare:SHARE@T", "together:COLUMN" (of one group, such as a receipt, or of
        one "day"), "window:7d" (of one week), "consecutive" (one after the other), or a name of
        `standout.extend.register_choice`.
    gamma
        DSS12 noise in place of `value_within`: a real number uniform in ±gamma × the scale's range.
    length_within
        The target's number of items is known to within this share (0.5 = ±50 %). None = not known.
    within
        Tolerance of each known channel by name: `{"price": "10%", "time": "2h"}`; of labels 0. A
        channel that is not named is not known. "value" and "time" mean `value_within` and
        `time_within`.
    view
        What is known and searched: a text like "groups:categories.csv" or a `View`. None: the entries.
    """

    knows: int = 8
    wrong: int | float = 0
    wrong_kind: str = "value"
    value_within: float | str | None = _LEFT_OUT
    time_within: float | str | None = None
    choose: str = "uniform"
    gamma: float | None = None
    length_within: float | None = None
    within: Mapping[str, float | str | None] | None = field(default=None, hash=False)
    view: View | str | None = None

    def __post_init__(self) -> None:
        self._settle_within()
        least = 0 if self.within else 1
        if not is_whole(self.knows) or self.knows < least:
            raise ParameterError(
                f"knows={self.knows!r}: use a whole number of items, at least 1, or 0 where attributes of the person are "
                "known (within=)"
            )
        if self.wrong_kind not in ("value", "item"):
            raise ParameterError(f"wrong_kind={self.wrong_kind!r}: use 'value' or 'item'")
        if self.time_within is not None:
            days_within(self.time_within)
        for name in ("value_within", "gamma", "length_within"):
            x = getattr(self, name)
            if x is None or (name == "value_within" and is_tolerance_text(x)):
                continue
            if not is_number(x) or not 0 <= x < np.inf:
                share = ', a share like "10%", "round:1"' if name == "value_within" else ""
                raise ParameterError(
                    f"{name}={x!r}: use a number ≥ 0{share}, or None for a channel that is not known"
                )
        if not isinstance(self.choose, str):
            raise ParameterError(
                f"choose={self.choose!r}: use a text like 'uniform' or 'outside-top:500'"
            )
        if parse_choice(self.choose).grouping and self.wrong:
            raise ParameterError(f"choose={self.choose!r}: all facts are right; use wrong=0")
        object.__setattr__(self, "view", view_of(self.view))
        check_known(view_of(self.view), self.within or ())
        self._settle_numbers()
        if self.ranking is not None:
            check_ranked(self)

    def _settle_within(self) -> None:
        """Move the value and the time to their own fields, and check the tolerances of the others."""
        if self.within is None:
            return
        if not isinstance(self.within, Mapping):
            raise ParameterError(
                f'within={self.within!r}: use a tolerance by channel, such as {{"price": "10%"}}'
            )
        further = dict(self.within)
        own = {"value_within": further.pop("value", None), "time_within": further.pop("time", None)}
        for name, within in own.items():
            given = getattr(self, name)
            if given is None or isinstance(given, _LeftOut):
                object.__setattr__(self, name, within)
            elif within is not None:
                raise ParameterError(f"{name} and within name the same channel: give one of them")
        further = {name: tolerance_of(name, x) for name, x in further.items() if x is not None}
        object.__setattr__(self, "within", further or None)

    def _settle_numbers(self) -> None:
        """Check `wrong`, and turn NumPy's numbers and whole floats into plain integers."""
        wrong = self.wrong
        if is_whole(wrong) and 0 <= wrong <= self.knows:
            object.__setattr__(self, "wrong", int(wrong))
        elif is_number(wrong) and 0 < wrong < 1:
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
        """The choice of items, made from its text."""
        return parse_choice(self.choose)

    @property
    def ranking(self) -> RankView | None:
        """What ranks the items of a record, where the choice takes the first ones."""
        return self.choice.view(self.knows)

    @property
    def further_known(self) -> Mapping[str, float | str | None]:
        """Tolerances of the known channels beside value and time, and of attributes; ranks are known exactly."""
        return {**(self.within or {}), **({} if self.ranking is None else {RANK: 0})}

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
        return float(self.wrong) if self.wrong_varies else self.wrong / max(self.knows, 1)

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
        return describe(self, dataset.time_resolution)

    def describe(self, resolution: str = "day") -> str:
        """The knowledge in words, for times of this resolution."""
        return describe(self, resolution)

    def to_dict(self) -> dict[str, Any]:
        """Parameters as plain data; further channels and the view, as text, if there are any."""
        plain = asdict(self.without_view)
        del plain["view"]
        if self.within is None:
            del plain["within"]
        if view := view_of(self.view):
            plain["view"] = view.text
        if isinstance(self.value_within, _LeftOut):
            plain["value_within"] = 0
        return plain

    @property
    def value_is_default(self) -> bool:
        """Whether nothing was said about values: they are then known exactly, if the data has them."""
        return isinstance(self.value_within, _LeftOut)

    @property
    def tells_own_value(self) -> bool:
        """Whether the channel "value" is known, if the data has it."""
        return self.gamma is not None or self.value_within is not None

    def tells_value(self, dataset: Catalog) -> bool:
        """Whether values of this dataset, or joint codes of several channels, are known."""
        if isinstance(dataset, JointDataset):
            return True
        return dataset.has_value and self.tells_own_value

    def read_by(self, dataset: Catalog) -> Catalog:
        """Return the dataset as attacks on this adversary's knowledge read it: with joint codes of all known level channels."""
        known = self.further_known
        if not known or isinstance(dataset, JointDataset):
            return dataset
        own = ("value",) if dataset.has_value and self.tells_own_value else ()
        # a release may lack a column of the source: nothing is compared there
        names = [name for name in level_names(dataset) if name in known]
        return joint_dataset(dataset, (*own, *names)) if names else dataset

    def given(self, dataset: Catalog) -> tuple[str, ...]:
        """Names of the attributes that are known beside the items."""
        return dataset.attributes_read if isinstance(dataset, JointDataset) else ()

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
        if self.time_within is None or not dataset.has_time:
            return 0
        return ticks_within(self.time_within, dataset.time_resolution)

    def level_errors(self, dataset: Catalog) -> LevelErrors | None:
        """Errors of the known levels of this dataset; None if no level is known."""
        if not dataset.n_levels or not self.tells_value(dataset):
            return None
        parts = []
        for name, scale, level in channels_of(dataset):
            tolerance = self.tolerance(name, scale)
            reach = scale.reach(tolerance)
            given = name in self.given(dataset)
            parts.append(ChannelError(scale, self._kernel(name, scale), reach, level, given))
        return LevelErrors(tuple(parts))

    def _within(self, name: str) -> float | str:
        return (self.value_within if name == "value" else self.further_known.get(name)) or 0.0

    def _kernel(self, name: str, scale: ValueScale) -> ErrorKernel:
        if name == "value" and self.gamma is not None:
            return Uniform(self.gamma * scale.value_range, *scale.scale_ends)
        return scale.error_kernel(self._within(name))

    def tolerance(self, name: str, scale: ValueScale) -> Array:
        """(levels,): largest error of a known level of a channel if the true one is each of the scale."""
        if name == "value" and self.gamma is not None:
            return scale.tolerance(self.gamma * scale.value_range)
        return scale.tolerance(self._within(name))

    def value_kernel(self, dataset: Catalog) -> LevelKernel | None:
        """Kernel of a right value of this dataset, or of right levels of its joint codes; None if none is known."""
        errors = self.level_errors(dataset)
        return None if errors is None else errors.kernel

    def time_kernel(self, dataset: Catalog) -> Window | None:
        """Kernel of a right time of this dataset; None if times are not known."""
        return None if self.time_within is None else Window(self.time_ticks(dataset))

    def value_reach(self, scale: ValueScale) -> Array:
        """(levels,): largest error of a known value, with that of rounding; wrong values lie farther off."""
        return scale.reach(self.tolerance("value", scale))

    def pick_rule(self, dataset: Catalog) -> PickRule:
        """What the choice means for this data; computed on first use and cached on it."""
        choice = self.choice
        if isinstance(dataset, JointDataset) and dataset.whole is not None:
            # the choice is about items; attributes are known beside them
            return self.pick_rule(dataset.whole).beside(len(dataset.attributes_read))
        # a class that was registered again under the same name is another choice
        key = (self.choose, type(choice), self.knows)
        return once(
            dataset,
            "pick_rule",
            key,
            lambda: choice.compile(dataset, self.knows).settled(dataset),
        )

    def pickable(self, dataset: Catalog) -> Array:
        """Marks of the items that may be known, bool (items); all of them for `rare`."""
        marked = self.pick_rule(dataset).marked
        assert marked is not None
        return marked

    def pools(self, dataset: Catalog) -> list[tuple[Array, int]]:
        """Sets of items that facts are drawn from, as marks, and the number of facts from each."""
        split = self.pick_rule(dataset).split
        if split is None:
            return [(self.pickable(dataset), self.n_right_items)]
        return [(split.first, split.n_first), (~split.first, self.knows - split.n_first)]

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
        come from the remaining items.

        Where items have weights (`event`, `popular`), each draw is in proportion to those that are
        left: wrong values first, among the items that can be wrong (for `event`, by the number of
        such events), then right facts among all that remain. The known event is a random one.

        Wrong items do not depend on the choice. They are drawn by (record, item) pairs of the
        release, one after the other, among the items that the target lacks; value and time are
        those of a random pair, with the adversary's usual error. The order of the facts in a query
        is random.

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

        if not is_whole(seed):
            raise ParameterError(f"seed={seed!r}: use a whole number")
        check_dataset(dataset)
        chosen = (
            self.eligible(dataset)
            if targets is None
            else record_indices(targets, dataset.n_records)
        )
        if chosen.size == 0:
            raise EligibilityError(none_eligible(self, dataset))
        made = sample(self.without_view, seen_through(dataset, self), chosen, int(seed))
        return made if self.view is None else replace(made, adversary=self)
