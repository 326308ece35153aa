"""`Choice`: which of a target's items an adversary knows, and the registry of choices.

A choice compiles to a `PickRule`: marks, weights and pools per item, which a shard can evaluate. No
function is called per candidate, and no other module asks for the name of a choice.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from standout.adversary.grouping import Consecutive, Grouping, Together, Window
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.times import days_within
from standout.errors import ParameterError
from standout.views.ranks import FrequentView, LatestView, RankView, RarestView

_SLACK = 1e-9
_EXACT = 2.0**53
"""Whole numbers up to this are exact in float64."""


class Split(NamedTuple):
    """A fixed number of facts from one pool of items, the others from the remaining items."""

    first: Array
    """bool (items): the first pool."""
    n_first: int
    """Number of facts from it."""
    least: tuple[int, int]
    """Fewest items of each pool that a target holds."""


@dataclass(frozen=True, eq=False, repr=False)
class PickRule:
    """What a choice compiles to: which items of a record may be known, and how likely each of them is.

    Items are drawn one after the other without replacement, each in proportion to its weight among
    those that are left.
    """

    marked: Array | None = None
    """bool (items): items that may be known; None = all."""
    weight: Array | None = None
    """(items): weight of each item, any numbers ≥ 0; None = all are equally likely. An item of weight 0 is never known.
    After `settled`: int64."""
    by_events: bool = False
    """Whether the weight of an item is multiplied by the number of its events in the record."""
    split: Split | None = None
    """Two pools, for choices without weights."""
    ranked: bool = False
    """Whether the first items by rank are known: all items before the last rank, and the others from those of the last
    rank, equally likely. It needs `Choice.view`."""

    @property
    def weighted(self) -> bool:
        """Whether items of a record are not equally likely."""
        return self.weight is not None

    def weights_of(self, items: Array) -> Array:
        """float64: weight of each of some items, one event of it; 1 where all are equally likely."""
        return np.ones(items.size) if self.weight is None else self.weight[items].astype(np.float64)

    def settled(self, catalog: Catalog) -> PickRule:
        """Return the rule with marks for all items, and weights as whole numbers.

        Sums of whole numbers are exact, so that draws and probabilities do not depend on the order
        of items or on the cut into shards. Other weights are rounded to at most one part in 2^20 of
        the largest, and to at least one unit.
        """
        n = catalog.n_items
        if self.ranked and (self.split is not None or self.weight is not None or self.by_events):
            raise ParameterError("a choice is ranked, or has weights or a split into two pools")
        marked = np.ones(n, np.bool_) if self.marked is None else np.asarray(self.marked, np.bool_)
        by_events = self.by_events and catalog.has_repeats
        weight = self.weight
        if weight is None and by_events:
            weight = np.ones(n)
        if marked.shape != (n,) or (weight is not None and np.shape(weight) != (n,)):
            raise ParameterError(
                f"a choice marks or weighs {np.size(marked if weight is None else weight):,} items, and the data has {n:,}; "
                "give one mark and one weight per item, in the order of the catalog"
            )
        if weight is None:
            return replace(self, marked=marked, by_events=False)
        if self.split is not None:
            raise ParameterError("a choice has weights or a split into two pools, not both")
        weight = np.asarray(weight, np.float64)
        if not np.isfinite(weight).all() or (weight < 0).any():
            raise ParameterError("a choice has a weight that is negative or no number; use ≥ 0")
        most = catalog.n_entries if by_events else max(catalog.longest, 1)
        return replace(
            self,
            marked=marked & (weight > 0),
            weight=_whole(weight, most),
            by_events=by_events,
        )

    def beside(self, n: int) -> PickRule:
        """Return the rule for data with `n` further items, which are attributes of the person and never chosen."""
        if not n:
            return self
        if self.split is not None:
            raise ParameterError(
                "a choice from two pools of items is not possible beside attributes of the person; use another choice"
            )
        assert self.marked is not None
        weight = None if self.weight is None else np.append(self.weight, np.zeros(n, np.int64))
        return replace(self, marked=np.append(self.marked, np.zeros(n, np.bool_)), weight=weight)


def _whole(weight: Array, most: int) -> Array:
    """int64: the weights as they are if they are whole, else in units; `most` of them have an exact sum."""
    largest = float(weight.max(initial=0.0))
    if (weight == np.floor(weight)).all() and largest * most < _EXACT:
        return weight.astype(np.int64)
    units = 2.0 ** np.floor(np.log2(_EXACT / most)) / largest
    return np.where(weight > 0, np.maximum(np.rint(weight * units), 1), 0).astype(np.int64)


class Choice(ABC):
    """One way in which the known items come from all items of a target.

    A subclass defines `compile`. It takes the text after the colon of `choose="name:arguments"`;
    the constructor of this class refuses any.
    """

    name: ClassVar[str] = ""
    usage: ClassVar[str] = ""
    """How `choose` is written, for error messages; by default, the name."""
    grouping: Grouping | None = None
    """Relation among the known items, for choices in groups; None = there is none."""

    def __init__(self, arguments: str = "") -> None:
        if arguments:
            raise ParameterError(f"choose={self.name!r} takes nothing after the colon")
        self.text = self.name

    @abstractmethod
    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return the rule for this data and this number of known items."""

    def lacking(self, catalog: Catalog) -> str:
        """Return what the data lacks for this choice, as an error message; empty if it has all."""
        return "" if self.grouping is None else self.grouping.lacking(catalog)

    def view(self, knows: int) -> RankView | None:
        """Return what ranks the items, for a choice of the first `knows` items in some order; None for other choices."""
        return None

    @property
    def words(self) -> str:
        """The choice in a list of what is known; empty for the default."""
        return self.text

    def amount(self, knows: int) -> str:
        """Return how many items are known, at the head of such a list.

        >>> parse_choice("uniform").amount(2), parse_choice("favorite").amount(2)
        ('2 items', 'the 2 most frequent items, in order')
        """
        return f"{knows} item{'' if knows == 1 else 's'}"

    @property
    def sentence(self) -> str:
        """The choice in a sentence, behind "n items"."""
        return f" (choice: {self.text})"


_REGISTRY: dict[str, type[Choice]] = {}

C = TypeVar("C", bound=type[Choice])


def register_choice(name: str) -> Callable[[C], C]:
    """Class decorator that registers a choice under `name`: `choose="name"` or `choose="name:arguments"`."""

    def add(cls: C) -> C:
        cls.name = name
        cls.usage = cls.__dict__.get("usage") or name
        _REGISTRY[name] = cls
        return cls

    return add


def choice_names() -> list[str]:
    """Names of all choices."""
    return list(_REGISTRY)


def parse_choice(text: str) -> Choice:
    """Make the choice of that text.

    >>> parse_choice("outside-top:500").text
    'outside-top:500'
    """
    name, colon, arguments = text.partition(":")
    try:
        if name not in _REGISTRY or (colon and not arguments):
            raise ValueError
        return _REGISTRY[name](arguments) if colon else _REGISTRY[name]()
    except (ValueError, TypeError):
        *usages, last = (cls.usage for cls in _REGISTRY.values())
        raise ParameterError(f"choose={text!r}: use {', '.join(usages)} or {last}") from None


def choice_words(text: str) -> str:
    """The words of a choice; its text if nobody has registered it here, as in findings of somebody else."""
    return parse_choice(text).words if text.partition(":")[0] in _REGISTRY else text


def choice_sentence(text: str) -> str:
    """The sentence of a choice, likewise."""
    known = text.partition(":")[0] in _REGISTRY
    return parse_choice(text).sentence if known else f" (choice: {text})"


def choice_amount(text: str, n: int) -> str:
    """The number of items of a choice, likewise.

    >>> choice_amount("together:receipt", 2), choice_amount("consecutive", 2), choice_amount("uniform", 1)
    ('2 items of one receipt', '2 consecutive items', '1 item')
    """
    known = text.partition(":")[0] in _REGISTRY
    return (parse_choice(text) if known else UniformChoice()).amount(n)


@register_choice("uniform")
class UniformChoice(Choice):
    """Every item of the target is equally likely."""

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule without marks and weights."""
        return PickRule()

    @property
    def words(self) -> str:
        """Nothing: it is the default."""
        return ""

    @property
    def sentence(self) -> str:
        """Nothing: it is the default."""
        return ""


@register_choice("event")
class EventChoice(Choice):
    """A random event of the target, drawn again until the items are distinct: ten events make an item ten times as likely."""

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule that weighs by events; in data without repeats, every item is equally likely."""
        return PickRule(by_events=True)

    @property
    def words(self) -> str:
        """What is drawn."""
        return "items of random events"

    @property
    def sentence(self) -> str:
        """What is drawn."""
        return " of random events (an item with ten events is ten times as likely)"


@register_choice("popular")
class PopularChoice(Choice):
    """Items in proportion to how many people hold them, as people talk about what many know."""

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule with the supports as weights."""
        return PickRule(weight=catalog.supports)

    @property
    def words(self) -> str:
        """Which items are more likely."""
        return "popular items more likely"

    @property
    def sentence(self) -> str:
        """Which items are more likely."""
        return ", popular ones more likely (in proportion to how many people hold them)"


@register_choice("outside-top")
class OutsideTop(Choice):
    """The K most held items are left out."""

    usage = "outside-top:K (K = a number of items)"

    def __init__(self, arguments: str = "") -> None:
        if not re.fullmatch(r"\d+", arguments):
            raise ValueError
        self.top, self.text = int(arguments), f"outside-top:{arguments}"

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule that marks the other items."""
        return PickRule(marked=np.asarray(catalog.popularity_rank >= self.top))

    @property
    def sentence(self) -> str:
        """Which items are left out."""
        return f", none among the {self.top:,} most popular"


@register_choice("rare")
class RareChoice(Choice):
    """⌈SHARE·knows⌉ items with w_i ≥ T, the rest from the others (DSS12)."""

    usage = "rare:SHARE@T (0 < SHARE ≤ 1)"

    def __init__(self, arguments: str = "") -> None:
        found = re.fullmatch(r"(\d*\.?\d+)@(\d*\.?\d+)", arguments)
        if not found or not (0 < float(found[1]) <= 1 and float(found[2]) > 0):
            raise ValueError
        self.share, self.rarity = float(found[1]), float(found[2])
        self.text = f"rare:{arguments}"

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule with two pools."""
        from standout.formulas.dss12 import is_rare

        delta = self.share * knows
        # the rule that reproduces the published Table 1: more than δm rare items and at least
        # (1-δ)m others
        least = int(np.floor(delta + _SLACK)) + 1, int(np.ceil(knows - delta - _SLACK))
        # tolerance for shares that are not exact in binary
        n_first = int(np.ceil(delta - _SLACK))
        return PickRule(split=Split(is_rare(catalog.supports, self.rarity), n_first, least))


class RankedChoice(Choice):
    """The first items in some order, and their ranks: deterministic up to ties. A subclass names the view that ranks them."""

    ranking: ClassVar[type[RankView]]
    in_order: ClassVar[str] = ""

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule that takes the items by their rank."""
        return PickRule(ranked=True)

    def view(self, knows: int) -> RankView | None:
        """Return the view that ranks the items; no items, no ranks."""
        return self.ranking(knows) if knows else None

    @property
    def words(self) -> str:
        """Which items are known."""
        return f"the {self.ranking.words}{self.in_order}"

    @property
    def sentence(self) -> str:
        """Nothing: the number of items names them."""
        return ""

    def amount(self, knows: int) -> str:
        """Return the choice with the number of items."""
        if not knows:
            return super().amount(knows)
        if knows == 1:
            return f"the {self.ranking.words.removesuffix('s')}"
        return f"the {knows} {self.ranking.words}{self.in_order}"


@register_choice("favorite")
class FavoriteChoice(RankedChoice):
    """The most frequent items, in order: home and work, the weekly purchase."""

    ranking, in_order = FrequentView, ", in order"


@register_choice("recent")
class RecentChoice(RankedChoice):
    """The last items: the latest event of each item, the latest item first."""

    ranking = LatestView

    def lacking(self, catalog: Catalog) -> str:
        """Return that times are missing."""
        return LatestView.lacking(catalog)


@register_choice("rarest")
class RarestChoice(RankedChoice):
    """The items of the target that the fewest people hold."""

    ranking = RarestView


class GroupedChoice(Choice):
    """Items that are related; within the relation, every item is equally likely. A subclass sets `grouping`."""

    grouping: Grouping

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule without marks and weights: the relation is the choice's `grouping`."""
        return PickRule()

    @property
    def words(self) -> str:
        """The relation."""
        return self.grouping.words

    @property
    def sentence(self) -> str:
        """Nothing: the number of items names the relation."""
        return ""

    def amount(self, n: int) -> str:
        """The number of items, and the relation."""
        return f"{super().amount(n)} {self.words}"


@register_choice("together")
class TogetherChoice(GroupedChoice):
    """A random group of the target that holds enough items, and random items of it."""

    usage = "together:COLUMN (or together:day)"

    def __init__(self, arguments: str = "") -> None:
        if not arguments.isidentifier():
            raise ValueError
        self.grouping, self.text = Together(arguments), f"together:{arguments}"


@register_choice("window")
class WindowChoice(GroupedChoice):
    """A random event, and random items of the span of time that begins with it, among spans that hold enough items."""

    usage = "window:7d"

    def __init__(self, arguments: str = "") -> None:
        try:
            positive = days_within(arguments) > 0
        except ParameterError:
            positive = False
        if not positive:
            raise ValueError
        self.grouping, self.text = Window(arguments), f"window:{arguments}"


@register_choice("consecutive")
class ConsecutiveChoice(GroupedChoice):
    """The first event of each item from a random event on, until there are enough distinct items.

    Events at the same time are in random order. The first event is one that enough distinct items
    follow, itself included.
    """

    def __init__(self, arguments: str = "") -> None:
        super().__init__(arguments)
        self.grouping = Consecutive()

    def amount(self, n: int) -> str:
        """The number of items, and the relation."""
        return f"{n} consecutive item{'' if n == 1 else 's'}"
