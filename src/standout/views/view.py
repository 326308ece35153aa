"""`View` (what anyone can compute from a release), views applied one after the other, and the registry."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cached_property, reduce
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.data.mechanism import Mechanism, Origin
from standout.errors import EngineError, ParameterError, unknown_name

MOST_KEPT = 8
"""Viewed datasets that are kept with a dataset."""


class View(ABC):
    """A function of one record and the catalog that anyone can compute from what is published.

    A subclass defines `apply` (the same records in the same order, with other entries) and `words`.
    Use `see` to apply a view: it keeps the records' keys and the origin of a release. A view is
    constant, and two views with the same content are equal: results are kept by view.
    """

    name: ClassVar[str] = ""
    shows: ClassVar[tuple[str, ...]] = ()
    """Channels whose content can be known from the items that the view shows."""
    adds: ClassVar[tuple[str, ...]] = ()
    """Names of the channels that the view is there to add: an adversary with this view must know each of them."""

    @abstractmethod
    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset as this view shows it: the same records, in the same order, with the same labels."""

    def push(self, mechanism: Mechanism) -> Mechanism | None:
        """Return what a defense's published parameters mean after the view; None where that cannot be said."""
        return None

    @property
    @abstractmethod
    def words(self) -> str:
        """The view in words, for reports: "items known as categories"."""

    @property
    def text(self) -> str:
        """The view as it is written in options and findings, with no folder in it."""
        return self.name

    @property
    def stages(self) -> tuple[View, ...]:
        """The views of a sequence, in order; a single view is a sequence of one."""
        return (self,)

    def __or__(self, other: Any) -> View:
        """Return the sequence: this view, then the other one."""
        if not isinstance(other, View):
            return NotImplemented
        return ViewChain([*self.stages, *other.stages])

    @cached_property
    def content(self) -> str:
        """A digest of what the view does: views with equal content are equal."""
        try:
            return content_digest(type(self).__qualname__, vars(self))
        except TypeError:  # it holds something that cannot be compared, such as a function
            return f"object {id(self)}"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.content == getattr(other, "content", None)

    def __hash__(self) -> int:
        return hash(self.content)

    def __repr__(self) -> str:
        return f"<view {self.text}>"


class ViewChain(View):
    """Views that are applied one after the other; made by `a | b`."""

    def __init__(self, stages: list[View]) -> None:
        self._stages = tuple(stages)

    @property
    def stages(self) -> tuple[View, ...]:
        """The views, in order."""
        return self._stages

    @property
    def words(self) -> str:
        """The views in words."""
        return ", then ".join(stage.words for stage in self._stages)

    @property
    def text(self) -> str:
        """The views as text."""
        return " | ".join(stage.text for stage in self._stages)

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset after all views."""
        return reduce(lambda data, stage: stage.apply(data), self._stages, dataset)

    def push(self, mechanism: Mechanism) -> Mechanism | None:
        """Return the parameters after all views; None where one of them cannot say it."""
        pushed: Mechanism | None = mechanism
        for stage in self._stages:
            pushed = None if pushed is None else stage.push(pushed)
        return pushed

    @cached_property
    def content(self) -> str:
        """A digest of what the views do."""
        return content_digest([stage.content for stage in self._stages])


def check_known(view: View | None, known: Collection[str]) -> None:
    """Refuse a view that adds a channel which is not known: its words would say more than is measured.

    >>> check_known(view_of("weekday"), ["weekday", "price"])
    """
    for stage in view.stages if view else ():
        if unknown := [name for name in stage.adds if name not in known]:
            raise ParameterError(
                f"view {stage.text!r} adds the channel {unknown[0]}, which is not known: give its tolerance, "
                f"within={{{unknown[0]!r}: 0}} (--within {unknown[0]}=0), or leave the view out"
            )


def see(dataset: Catalog, view: View) -> Dataset:
    """The dataset as the view shows it, computed once and kept with the dataset.

    Records keep their order, labels and keys. A release keeps its origin: the source is seen
    through the same view, and the mechanism is what `View.push` makes of it.
    """
    return once(dataset, "seen", view, lambda: _seen(dataset, view), MOST_KEPT)


def _seen(dataset: Catalog, view: View) -> Dataset:
    loaded = dataset.loaded()
    if loaded is None:
        raise EngineError(
            f"view {view.text!r} needs the records in memory: read the data with Dataset.read, raise the limit of memory, "
            "or apply the view to the files before reading them"
        )
    shown = view.apply(loaded)
    if not isinstance(shown, Dataset) or not _same_records(shown, loaded):
        raise ParameterError(
            f"view {view.text!r} changed the records: apply must return a dataset with the same records, in the same order "
            "(Dataset.with_entries keeps them)"
        )
    if not shown.n_entries:
        raise ParameterError(f"view {view.text!r} leaves no entry: nothing is known through it")
    shown = replace(shown, origin=_origin(dataset.origin, view))
    # the random draws of a record start from its key: a view changes neither targets nor seeds
    shown.__dict__["lazy_keys"] = loaded.lazy_keys
    return shown


def _same_records(one: Dataset, other: Dataset) -> bool:
    labels = one.record_labels
    return labels is other.record_labels or np.array_equal(labels, other.record_labels)


def _origin(origin: Origin | None, view: View) -> Origin | None:
    if origin is None:
        return None
    pushed = None if origin.mechanism is None else view.push(origin.mechanism)
    return Origin(see(origin.source, view), origin.defense, pushed)


def view_notes(dataset: Catalog, shown: Catalog) -> tuple[str, ...]:
    """What a view noted about a dataset when it was applied."""
    return shown.cleaning.notes[len(dataset.cleaning.notes) :]


def noted(dataset: Dataset, *notes: str) -> Dataset:
    """The dataset with further notes."""
    cleaning = dataset.cleaning
    more = tuple(note for note in notes if note)
    return replace(dataset, cleaning=replace(cleaning, notes=(*cleaning.notes, *more)))


_REGISTRY: dict[str, Callable[..., View]] = {}
_BUILT_IN = {
    "groups": "groups",
    "grid": "grid",
    "sequence": "sequence",
    "hour-of-day": "times",
    "weekday": "times",
    "counts": "amounts",
    "totals": "amounts",
    "baskets": "baskets",
}
_STAGE = re.compile(r"\s*([\w-]+)\s*(?::(.*?))?(?:\?([a-z_]+=[^?]*))?\s*", re.DOTALL)

V = TypeVar("V", bound=type[View])


def register_view(name: str) -> Callable[[V], V]:
    """Class decorator that registers a view under `name`.

    `NAME` makes the class without arguments, `NAME:TEXT` with the text, and `NAME:TEXT?OPTION=WORD`
    with a keyword as well.
    """

    def add(cls: V) -> V:
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return add


def view_names() -> list[str]:
    """Names of all views, built-in ones first."""
    return [*_BUILT_IN, *(n for n in _REGISTRY if n not in _BUILT_IN)]


def parse_view(text: str) -> View:
    """Make the view, or the sequence of views, that a text describes.

    >>> parse_view("sequence | sequence").text
    'sequence | sequence'
    """
    views = [_stage(part, text) for part in text.split("|")]
    return views[0] if len(views) == 1 else ViewChain(views)


def view_of(given: str | View | None) -> View | None:
    """The view from what was given: a text, a view, or None for the data as it is."""
    if given is None or isinstance(given, View):
        return given
    if not isinstance(given, str):
        raise ParameterError(
            f"view is a {type(given).__name__}: use a text like 'groups:categories.csv', a View, or None"
        )
    return parse_view(given)


def public_view(text: str) -> str:
    """The text of a view without the folders of its files.

    >>> public_view("groups:lists/2024/categories.csv?missing=own | sequence")
    'groups:categories.csv?missing=own | sequence'
    """
    return re.sub(r":[^|?]*[/\\]", ":", text)


def _stage(part: str, text: str) -> View:
    found = _STAGE.fullmatch(part)
    if found is None:
        raise ParameterError(
            f"view={text!r}: {part.strip()!r} is not NAME, NAME:TEXT or NAME:TEXT?OPTION=WORD; "
            "example: groups:categories.csv"
        )
    name, argument, said = found.groups()
    if name not in _REGISTRY and name in _BUILT_IN:
        import_module(f"standout.views.{_BUILT_IN[name]}")
    if name not in _REGISTRY:
        raise unknown_name("view", name, view_names())
    options = dict(word.split("=", 1) for word in said.split("&")) if said else {}
    try:
        return _REGISTRY[name](*([] if argument is None else [argument.strip()]), **options)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"view={text!r}: {error}") from None
