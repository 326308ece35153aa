"""The data of an audit: the source, the release, and the mapping between their records."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NotRequired, Protocol, TypedDict

import numpy as np

from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.channels import further_channels
from standout.data.dataset import Dataset
from standout.data.identifiers import direct_identifiers
from standout.data.labels import find_labels
from standout.data.loading import in_memory
from standout.data.times import tick_text
from standout.errors import InputError, ParameterError
from standout.results import Positive

TimeUnit = Literal["day", "hour", "minute", "second"]


class ValueRange(TypedDict):
    """Number of distinct values, the lowest and the highest."""

    levels: Positive
    low: int | float
    high: int | float


class DayRange(TypedDict):
    """First and last time, how finely times were read, and the finest unit that the source has."""

    first: str
    last: str
    resolution: NotRequired[TimeUnit]
    finest: NotRequired[TimeUnit | Literal["millisecond"]]


class Identifier(TypedDict):
    """A column, or labels, that seem to name people without any attack."""

    where: str
    kind: str


class DataShape(TypedDict):
    """Shape of a dataset: counts only."""

    n_records: Positive
    n_items: Positive
    n_entries: Positive
    n_pairs: Positive
    values: ValueRange | None
    days: DayRange | None
    cleaning: dict[str, Any]
    not_measured: NotRequired[list[str]]
    """Knowledge that the file allows and that reading made coarser."""
    identifiers: NotRequired[list[Identifier]]
    other_labels: NotRequired[bool]
    """Of the source: whether labels of the release seem to name other people or items."""


class Frame(Protocol):
    """A frame of pandas, polars, pyarrow or Spark, or a relation of DuckDB."""

    @property
    def columns(self) -> Any:
        """The columns or their names."""
        ...


class Protection(Protocol):
    """What makes a release: a `Defense`, or any object with this method."""

    def apply(self, source: Dataset, seed: int = 0) -> Dataset:
        """Make the release."""
        ...


Data = Catalog | Frame
"""A dataset, or a frame whose columns can be guessed."""


def source_of(data: Data, name: str = "source") -> Catalog:
    """A dataset from what was given: a dataset, or a frame whose columns can be guessed; one of Spark stays there."""
    if isinstance(data, str | Path):
        raise ParameterError(f"{name} is a path: read it first, Audit(Dataset.read(path), …)")
    made: Catalog
    if isinstance(data, Catalog):
        made = data
    elif hasattr(data, "mapInArrow"):  # a DataFrame of Spark
        from standout.engines.spark_dataset import SparkDataset

        made = SparkDataset.read(data)
    else:
        if not (hasattr(data, "columns") or hasattr(data, "column_names")):
            raise ParameterError(
                f"{name} is a {type(data).__name__}: use a Dataset (Dataset.read, from_arrays) or a pandas, polars, "
                "pyarrow or Spark frame"
            )
        made = Dataset.from_frame(data)
    if made.n_records < 2:
        raise InputError(f"the data has {made.n_records} record; an audit needs at least 2")
    if made.n_items < 2:
        raise InputError(f"the data has {made.n_items} item; an audit needs at least 2")
    return made


def released(
    source: Catalog, release: Data | None, defense: Protection | None, seed: int
) -> Catalog:
    """The data to attack: the release that was given, what the defense makes, or the source itself."""
    if defense is not None and not callable(getattr(defense, "apply", None)):
        raise ParameterError(
            f"defense is a {type(defense).__name__}: use an object with apply(source, seed)"
        )
    if release is None and defense is not None:
        release = defense.apply(in_memory(source, "a defense"), seed=seed)
    if isinstance(release, Catalog) and release.mechanism is not None:
        check_same_kinds(source, release)
        return release  # a strong defense may leave a single item
    if release is None or release is source:
        return source
    made = source_of(release, "release")
    check_same_kinds(source, made)
    return made


def check_same_kinds(source: Catalog, release: Catalog) -> None:
    """Refuse a channel or attribute with numbers in one and labels in the other: no known level would match anybody."""
    own, published = further_channels(source), further_channels(release)
    words = {"line": "numbers", "circle": "numbers", "nominal": "labels without an order"}
    for name in sorted(own.keys() & published.keys()):
        kinds = [
            words.get(x[name].kind, f"levels of the kind {x[name].kind}") for x in (own, published)
        ]
        if kinds[0] != kinds[1]:
            raise InputError(
                f"{name} holds {kinds[0]} in the source and {kinds[1]} in the release, which cannot be compared: write it "
                "alike in both, or leave the column out (channels=, --channel, attributes=, --attributes)"
            )


def places(source: Catalog, release: Catalog) -> Array:
    """Record index in the release of every record of the source, by label; -1 where it has none."""
    what = "an audit with a separate release"
    at = find_labels(in_memory(release, what).record_labels, in_memory(source, what).record_labels)
    if (at < 0).all():
        raise InputError(
            "no record of the source is in the release: are the record labels the same? Records are matched by label"
        )
    return at


def target_number(targets: Any) -> int | None:
    """Requested number of targets, None for all."""
    if targets is None or (isinstance(targets, str) and targets == "all"):
        return None
    whole = isinstance(targets, int | np.integer) and not isinstance(targets, bool)
    if not whole or targets < 1:
        shown = (
            repr(targets)
            if isinstance(targets, int | float | str | np.number)
            else f"a {type(targets).__name__}"
        )
        raise ParameterError(f"targets={shown}: use a whole number ≥ 1 or 'all'")
    return int(targets)


def seed_number(seed: Any) -> int:
    """The random seed, a whole number."""
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool):
        raise ParameterError(f"seed={seed!r}: use a whole number")
    return int(seed)


def describe_data(dataset: Catalog) -> DataShape:
    """Shape of a dataset and what reading did to it: counts only."""
    days: Any = None
    if dataset.has_time:
        ends = dataset.first_tick, dataset.first_tick + dataset.tick_span
        first, last = (tick_text(tick, dataset.time_resolution) for tick in ends)
        days = {"first": first, "last": last, "resolution": dataset.time_resolution}
        if dataset.cleaning.finest_time:
            days["finest"] = dataset.cleaning.finest_time
    values: ValueRange | None = None
    if dataset.has_value:
        values = {
            "levels": dataset.n_levels,
            "low": float(dataset.levels[0]),
            "high": float(dataset.levels[-1]),
        }
    identifiers: Any = direct_identifiers(dataset)
    return {
        "n_records": dataset.n_records,
        "n_items": dataset.n_items,
        "n_entries": dataset.n_entries,
        "n_pairs": dataset.n_pairs,
        "values": values,
        "days": days,
        "cleaning": asdict(dataset.cleaning),
        "not_measured": dataset.not_measured,
        "identifiers": identifiers,
    }
