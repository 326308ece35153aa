"""`Defense` (a change to the data before release), chains of defenses, and the registry."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, TypeVar

import numpy as np

from standout.audit.same_labels import (
    CLEARLY,
    above_chance,
    check_same_labels,
    lead_of_items,
    lead_of_records,
)
from standout.data.dataset import Dataset
from standout.data.derive import with_entries
from standout.data.labels import find_labels
from standout.data.mechanism import Mechanism, Origin
from standout.defenses import checks, draws
from standout.errors import InputError, ParameterError, unknown_name
from standout.kernels.levels import nearest_level


class Defense(ABC):
    """One way to change the data before it is released.

    A subclass defines `change` (source → changed data) and `mechanism` (what is published about the
    change); `apply`, `describe` and `|` are the same for all. Parameters are keyword arguments of
    the constructor, stored under their names; all of them are published.
    """

    name: ClassVar[str] = ""
    streaming: ClassVar[bool] = True
    """Whether records can be changed one by one: applying it to parts of the records gives the parts of the result."""
    judged_by_result: ClassVar[bool] = False
    """Whether `mechanism` needs the final release, because the attacker infers it from there."""
    changed_channel: ClassVar[str | None] = None
    """Channel ("value" or "time") without which the defense has nothing to change; data without it is refused."""
    per_entry: ClassVar[bool] = False
    """Whether single entries are removed, exchanged or replaced at random, as `mechanism` says (lost, cap, moved, replaced).
    An attacker who calibrates changes the facts of canaries in this way, and leaves the rest of the release as it is."""

    @abstractmethod
    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the changed data: the same records in the same order; records without entries are removed later."""

    @abstractmethod
    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return what an attacker may assume: the published parameters, and nothing about single records."""

    def again(self, release: Dataset) -> Defense:
        """Return the defense that changes the release about as much as this one changed its source: itself by default.

        An attacker applies it to the release in order to calibrate P(absent). It knows the
        published parameters only.
        """
        return self

    @classmethod
    def strengths(cls, source: Dataset) -> Iterable[Mapping[str, Any]]:
        """Return the settings that `so.frontier` tries, from weak to strong, each as parameters: the defaults by default.

        Parameters
        ----------
        source
            The data to protect. No setting if the defense does not apply to it.
        """
        return [{}]

    @property
    def parameters(self) -> dict[str, Any]:
        """Published parameters; `defense(name, **parameters)` makes an equal defense."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @property
    def stages(self) -> tuple[Defense, ...]:
        """The defenses of a chain, in order; a single defense is a chain of one."""
        return (self,)

    def apply(self, source: Dataset, seed: int = 0) -> Dataset:
        """Make the release.

        Record labels are kept. People whose records have no entry left, and items that nobody holds
        any more, are not in the release.

        Parameters
        ----------
        source
            The data to protect.
        seed
            Random seed. It is not published: anyone who knows it can undo part of the defense.
        """
        if not isinstance(source, Dataset):
            raise ParameterError(
                f"source is a {type(source).__name__}: use a Dataset (Dataset.read, from_arrays)"
            )
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
            raise ParameterError(f"seed={seed!r}: use a whole number")
        inputs, release = self._run(source, int(seed))
        return replace(
            release, origin=Origin(source, self, self._mechanism_of_stages(inputs, release))
        )

    def describe(self, source: Dataset, release: Dataset) -> Dataset:
        """Return a release that this defense made elsewhere, with its source and its published parameters.

        Only published parameters are used, not the random numbers of the owner: what depends on
        chance is taken from another run of the defense.

        Parameters
        ----------
        source
            The data that the release was made from.
        release
            The release as it was read.
        """
        inputs, example = self._run(source, 0)
        channels = {"values": "has_value", "times": "has_time"}
        differing = [
            word for word, has in channels.items() if getattr(release, has) != getattr(example, has)
        ]
        if differing:
            raise InputError(
                f"{self} leaves other channels than the release has: check its {' and '.join(differing)}"
            )
        release = _on_scale(release, example, str(self))
        mechanism = self._mechanism_of_stages(inputs, release)
        if mechanism.items is None:
            _check_labels(source, example, release)
        return replace(release, origin=Origin(source, self, mechanism))

    def _run(self, source: Dataset, seed: int) -> tuple[list[Dataset], Dataset]:
        """Data before each stage, and the result."""
        inputs, current = [], source
        for k, stage in enumerate(self.stages):
            inputs.append(current)
            if stage.changed_channel is not None:
                checks.check_channel(stage.name, stage.changed_channel, current)
            current = _tidied(current, stage.change(current, draws.stage_seed(seed, k)), str(stage))
        return inputs, current

    def _mechanism_of_stages(self, inputs: list[Dataset], release: Dataset) -> Mechanism:
        """Mechanism of all stages; each sees the data after it, or the release if the attacker infers it from there."""
        whole = Mechanism()
        for stage, before, after in zip(self.stages, inputs, [*inputs[1:], release], strict=True):
            whole = whole.then(
                stage.mechanism(before, release if stage.judged_by_result else after)
            )
        return whole

    def __or__(self, other: Any) -> Defense:
        """Return the chain: this defense, then the other one."""
        return (
            Chain([*self.stages, *other.stages]) if isinstance(other, Defense) else NotImplemented
        )

    def __str__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={_shown(v)}' for k, v in self.parameters.items() if v is not None)})"

    def __repr__(self) -> str:
        return f"<defense {self}>"


class Chain(Defense):
    """Defenses that are applied one after the other; made by `a | b`."""

    def __init__(self, stages: Iterable[Defense]) -> None:
        self._stages = tuple(stages)
        self.name = " | ".join(stage.name for stage in self._stages)  # type: ignore[misc]
        self.streaming = all(stage.streaming for stage in self._stages)  # type: ignore[misc]

    @property
    def stages(self) -> tuple[Defense, ...]:
        """The defenses, in order."""
        return self._stages

    @property
    def parameters(self) -> dict[str, Any]:
        """Published parameters of each stage."""
        return {"stages": [{"name": stage.name, **stage.parameters} for stage in self._stages]}

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data after all stages."""
        return self._run(source, seed)[1]

    def again(self, release: Dataset) -> Defense:
        """Return the chain of what each stage returns."""
        return Chain(stage.again(release) for stage in self._stages)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return what an attacker may assume about all stages."""
        return self._mechanism_of_stages(self._run(source, 0)[0], release)

    def __str__(self) -> str:
        return " | ".join(str(stage) for stage in self._stages)


def _shown(value: Any) -> str:
    """A parameter as `parse` reads it."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_shown(x) for x in value)}]"
    if isinstance(value, dict):
        return f"<{len(value)} items>"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _tidied(before: Dataset, after: Dataset, what: str) -> Dataset:
    """The changed data without the records that became empty and without the items that nobody holds any more."""
    if not after.n_entries:
        raise ParameterError(
            f"{what} leaves no entry: there is nothing to release and nothing to attack. Without a release one can only "
            f"guess, and is right for 1 in {before.n_records:,} people; use a weaker setting"
        )
    there = after.lengths > 0
    if not there.all():
        after = after.take(there, drop_empty=False)
    used = after.supports > 0
    if after.item_labels is before.item_labels:
        used |= before.supports == 0
    return after if used.all() else after.select(used, drop_empty=False)


def _check_labels(source: Dataset, example: Dataset, release: Dataset) -> None:
    """Refuse a release with shuffled labels, if another run of the defense leaves records that clearly resemble their source."""
    expected, place = (
        find_labels(data.record_labels, source.record_labels) for data in (example, release)
    )
    if all(
        above_chance(lead(source, example, expected), CLEARLY)
        for lead in (lead_of_records, lead_of_items)
    ):
        check_same_labels(source, release, place)


def _on_scale(release: Dataset, example: Dataset, what: str) -> Dataset:
    """The release with the values that the defense can produce as its scale, also those that do not occur."""
    if not release.has_value or np.array_equal(release.levels, example.levels):
        return release
    at = nearest_level(release.levels, example.levels)  # a text file holds 15 digits
    close = np.isclose(example.levels[at], release.levels, rtol=1e-9, atol=1e-12)
    if not close.all():
        raise InputError(
            f"{int((~close).sum()):,} of {release.n_levels:,} distinct values of the release cannot come from {what}: "
            "check the parameters, or leave the defense out"
        )
    value = np.append(example.levels[at], np.nan)[release.record_code]
    return with_entries(release, value=value, levels=example.levels)


_REGISTRY: dict[str, type[Defense]] = {}
_BUILT_IN = {
    "drop-entries": "suppress",
    "drop-rare-items": "suppress",
    "keep-top-items": "suppress",
    "cap-entries": "suppress",
    "sample-records": "suppress",
    "round-values": "channels",
    "noise-values": "channels",
    "geometric-values": "channels",
    "drop-values": "channels",
    "coarsen-time": "channels",
    "shift-time": "channels",
    "drop-time": "channels",
    "swap-entries": "swap",
    "swap-attributes": "swap",
    "group-items": "items",
    "opaque-items": "items",
    "suppress-km": "suppress",
    "randomized-response": "swap",
}

D = TypeVar("D", bound=type[Defense])


def register_defense(name: str) -> Callable[[D], D]:
    """Class decorator that registers a defense under `name`."""

    def add(cls: D) -> D:
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return add


def defense_names() -> list[str]:
    """Names of all defenses, built-in ones first."""
    return [*_BUILT_IN, *(n for n in _REGISTRY if n not in _BUILT_IN)]


def defense_class(name: str) -> type[Defense]:
    """Class of the defense of that name."""
    if name not in _REGISTRY and name in _BUILT_IN:
        import_module(f"standout.defenses.{_BUILT_IN[name]}")
    if name not in _REGISTRY:
        raise unknown_name("defense", name, defense_names())
    return _REGISTRY[name]


def defense(name: str, **parameters: Any) -> Defense:
    """Make the defense of that name.

    Parameters
    ----------
    name
        One of `defense_names()`.
    parameters
        Parameters of the defense.
    """
    make = defense_class(name)
    try:
        inspect.signature(make).bind(**parameters)
    except TypeError as error:
        wanted = ", ".join(inspect.signature(make).parameters) or "none"
        raise ParameterError(f"defense {name!r}: {error}. Its parameters: {wanted}") from None
    return make(**parameters)
