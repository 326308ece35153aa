"""`Choice` and what it compiles to: which of a target's items an adversary knows.

A choice compiles to a `PickRule`: marks, weights and pools per item. Knowledge is drawn by the rule
(`sampling.py`), and the likelihood computes with it how probable a pick is (`attacks/picks.py`). No
function of the choice is called per candidate, and no other module asks for the name of a choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np

from standout.adversary.grouping import Grouping
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.errors import ParameterError
from standout.views.ranks import RankView

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

        >>> from standout.adversary.choices import parse_choice
        >>> parse_choice("uniform").amount(2), parse_choice("favorite").amount(2)
        ('2 items', 'the 2 most frequent items, in order')
        """
        return f"{knows} item{'' if knows == 1 else 's'}"

    @property
    def sentence(self) -> str:
        """The choice in a sentence, behind "n items"."""
        return f" (choice: {self.text})"
