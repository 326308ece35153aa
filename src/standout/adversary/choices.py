"""The choices of known items that the package has, and their registry."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, TypeVar

import numpy as np

from standout.adversary.choice import Choice, PickRule, Split
from standout.adversary.grouping import Consecutive, Grouping, InWindow, Together
from standout.data.catalog import Catalog
from standout.data.times import days_within
from standout.errors import ParameterError
from standout.views.ranks import FrequentView, LatestView, RankView, RarestView

_SLACK = 1e-9

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

    words = ""
    sentence = ""

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule without marks and weights."""
        return PickRule()


@register_choice("event")
class EventChoice(Choice):
    """A random event of the target, drawn again until the items are distinct: ten events make an item ten times as likely."""

    words = "items of random events"
    sentence = " of random events (an item with ten events is ten times as likely)"

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule that weighs by events; in data without repeats, every item is equally likely."""
        return PickRule(by_events=True)


@register_choice("popular")
class PopularChoice(Choice):
    """Items in proportion to how many people hold them, as people talk about what many know."""

    words = "popular items more likely"
    sentence = ", popular ones more likely (in proportion to how many people hold them)"

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule with the supports as weights."""
        return PickRule(weight=catalog.supports)


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

    sentence = ""
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

    sentence = ""
    grouping: Grouping

    def compile(self, catalog: Catalog, knows: int) -> PickRule:
        """Return a rule without marks and weights: the relation is the choice's `grouping`."""
        return PickRule()

    @property
    def words(self) -> str:
        """The relation."""
        return self.grouping.words

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
        self.grouping, self.text = InWindow(arguments), f"window:{arguments}"


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
