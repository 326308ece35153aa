"""`Knowledge`: what the adversary knows of each target, without the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.channels import (
    JointDataset,
    as_numbers,
    check_names,
    joint_dataset,
    level_names,
)
from standout.data.labels import find_labels, index_labels
from standout.data.mechanism import ItemMap
from standout.data.scale import seen_levels
from standout.data.time_arrays import days_of
from standout.data.times import PER_DAY, check_time_unit, unit_by_size
from standout.data.totals import is_same_content
from standout.errors import InputError, ParameterError
from standout.views.view import view_of


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """A batch of queries, each a handful of facts (item, value or NaN, time or NaN)."""

    query_ptr: Array
    item: Array
    """Item labels, one per fact."""
    value: Array
    time: Array
    """float64, days since 1970-01-01 with their fractions, NaN = unknown."""
    queries: Array
    """Label of each query."""
    length: Array
    adversary: Adversary | None = None
    """The adversary that sampled this knowledge; None for knowledge from outside."""
    seed: int | None = None
    source: Catalog | None = None
    """The dataset that this knowledge was sampled from; None for knowledge from outside."""
    times: Array | None = None
    """int64 per fact: how often the adversary saw it; None = once."""
    channels: Mapping[str, Array] | None = None
    """Known levels of further channels by name: float64, NaN = unknown, or labels, None = unknown."""
    attribute: Array | None = None
    """Name of the attribute that each fact is about, "" = about an item; None = all are about items."""
    _index: Array | None = None
    """Item indices in `_labels`, if known already."""
    _labels: Array | None = None

    @classmethod
    def from_arrays(
        cls,
        query: Any,
        item: Any,
        value: Any = None,
        time: Any = None,
        channels: Mapping[str, Any] | None = None,
    ) -> Knowledge:
        """Make knowledge of one-dimensional arrays, one element per fact.

        Parameters
        ----------
        query
            Query of each fact; queries are numbered by first appearance.
        item
            Item labels, as in the release.
        value, time
            NaN = unknown; time in days since 1970-01-01, or dates. What is finer than the
            resolution of the release that is attacked is cut off there. Times with a zone are
            converted to UTC.
        channels
            Known levels of further channels by name: numbers or labels, NaN or None = unknown.
        """
        q = np.asarray(query).reshape(-1)
        items = np.asarray(item).reshape(-1)
        if q.size == 0:
            raise InputError("no facts: knowledge needs at least one (query, item) pair")
        if items.size != q.size:
            raise ParameterError(
                f"query has {q.size} elements, item {items.size}: one of each per fact"
            )
        labels, which = _numbered(q, "query")
        _numbered(items, "item")
        first = np.full(labels.size, q.size)
        np.minimum.at(first, which, np.arange(q.size))
        by_appearance = np.argsort(first, kind="stable")
        turn = np.empty(labels.size, np.int64)
        turn[by_appearance] = np.arange(labels.size)
        number = turn[which]
        order = np.argsort(number, kind="stable")
        ptr = np.zeros(labels.size + 1, np.int64)
        np.cumsum(np.bincount(number, minlength=labels.size), out=ptr[1:])
        return cls(
            query_ptr=ptr,
            item=items[order],
            value=_channel(value, q.size, "value")[order],
            time=_channel(time, q.size, "time")[order],
            queries=labels[by_appearance],
            length=np.full(labels.size, np.nan),
            channels={
                name: _level_column(column, q.size, name)[order]
                for name, column in (channels or {}).items()
            }
            or None,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        query: str,
        item: str,
        value: str | None = None,
        time: str | None = None,
        time_unit: str | None = None,
        channels: Mapping[str, str] | None = None,
    ) -> Knowledge:
        """Make knowledge of a pandas, polars or pyarrow frame, one row per fact.

        Parameters
        ----------
        frame
            The frame.
        query, item, value, time
            Column names.
        time_unit
            "s", "ms", "us", "ns" or "day" for numeric times; guessed from their size by default.
        channels
            Column of each further channel.
        """

        def column(name: str) -> Array:
            names = [
                str(n)
                for n in (frame.column_names if hasattr(frame, "column_names") else frame.columns)
            ]
            if name not in names:
                raise InputError(f"no column {name!r}. Columns: {', '.join(names)}")
            return np.asarray(frame[name])

        days = None if time is None else _in_days(column(time), time_unit)
        return cls.from_arrays(
            column(query),
            column(item),
            None if value is None else column(value),
            days,
            {name: column(of) for name, of in (channels or {}).items()},
        )

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query_ptr.size - 1)

    @property
    def n_facts(self) -> int:
        """Number of facts."""
        return int(self.query_ptr[-1])

    @property
    def query(self) -> Array:
        """Number of the query of each fact."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_ptr))

    def read_by(self, dataset: Catalog) -> Catalog:
        """Return the dataset as attacks on this knowledge read it: with joint codes of all known level channels."""
        if self.adversary is not None:
            return self.adversary.read_by(dataset)
        if not self.channels or isinstance(dataset, JointDataset):
            return dataset
        own = ("value",) if dataset.has_value and not np.isnan(self.value).all() else ()
        check_names(dataset, self.channels)
        names = [name for name in level_names(dataset) if name in self.channels]
        return joint_dataset(dataset, (*own, *names))

    def _levels(self, dataset: Catalog) -> Array:
        """Known levels as the dataset has them: values, or a column per channel of its joint codes."""
        if not isinstance(dataset, JointDataset):
            return self.value
        columns = []
        for channel in dataset.channels_read:
            if channel.name == "value":
                columns.append(self.value)
            elif self.channels is not None and channel.name in self.channels:
                columns.append(seen_levels(channel, self.channels[channel.name]))
            else:
                columns.append(np.full(self.n_facts, np.nan))
        return np.column_stack(columns)

    def bind(self, dataset: Catalog) -> Facts:
        """Look the items up in a dataset; in a release whose defense renamed items, by their published names.

        Knowledge of an adversary with a view is about what she sees (`seen_through`): that is what it is looked up in.
        """
        from_source = (
            self.source is not None
            and dataset.source is not None
            and is_same_content(self.source, dataset.source)
        )
        chance = None
        if from_source and (names := _published_names(dataset)) is not None:
            index, chance = self._find_items(dataset, names)
        elif self._index is not None and self._labels is dataset.item_labels:
            index = self._index
        else:
            index = self._find_items(dataset)[0]
            # a defense may have removed all items that are known of the targets; attributes are no items
            items = self.attribute is None or (self.attribute == "").any()
            if items and (index < 0).all() and not from_source:
                view = None if self.adversary is None else view_of(self.adversary.view)
                seen = "" if view is None else f" as view {view.text!r} shows it"
                raise InputError(
                    f"none of the known items is in the data{seen}; are the item labels the same as in the release?"
                )
        from_release = self.source is not None and is_same_content(self.source, dataset)
        # a known length is that of the source; in a release that lost entries it would exclude the
        # target
        who = self.adversary.without_view if self.adversary else None
        within = who.length_within if who and from_release else None
        made = Facts(
            self.query_ptr,
            index,
            self._levels(dataset),
            self.time,
            self.length,
            within,
            who,
            from_release,
            from_source,
            chance,
            None if self.attribute is None else self.attribute != "",
            self.times,
        )
        return self._comparable(made, dataset)

    def _comparable(self, facts: Facts, dataset: Catalog) -> Facts:
        """The facts without those about attributes that a release lacks: compared with nothing, they would exclude everybody."""
        if self.attribute is None:
            return facts
        given = dataset.attributes_read if isinstance(dataset, JointDataset) else ()
        kept = np.isin(self.attribute, ["", *given])
        if kept.all():
            return facts
        left = facts.only(kept)
        if (np.diff(left.query_ptr) == 0).any():
            raise ParameterError(
                "the release has none of the known attributes, and no item is known: know at least one item (knows=1)"
            )
        return left

    def _find_items(
        self, dataset: Catalog, names: ItemMap | None = None
    ) -> tuple[Array, Array | None]:
        """Index of each fact's item, or of the item that stands for its attribute; -1 where the data has none.

        With the names that a defense gave to items, also the chance that the item is the right one.
        """
        given = dataset.attributes_read if isinstance(dataset, JointDataset) else ()
        n_items = dataset.n_items - len(given)
        labels, chance = dataset.item_labels[:n_items], None
        if names is None:
            index = find_labels(labels, self.item)
        else:
            index, chance = _renamed(self.item, names, labels)
        if self.attribute is not None:
            about = self.attribute != ""
            index[about] = -1
            for k, name in enumerate(given):
                index[self.attribute == name] = n_items + k
            chance = None if chance is None else np.where(about, 1.0, chance)
        return index, chance

    def __repr__(self) -> str:
        source = "sampled" if self.adversary else "from outside"
        return f"<Knowledge {self.n_queries:,} queries, {self.n_facts:,} facts, {source}>"


def _published_names(dataset: Catalog) -> ItemMap | None:
    """Names that a defense gave to the items, also where its other parameters cannot be stated for joint codes."""
    whole = dataset.whole if isinstance(dataset, JointDataset) and dataset.whole else dataset
    return None if whole.mechanism is None else whole.mechanism.items


def _renamed(labels: Array, names: ItemMap, released: Array) -> tuple[Array, Array]:
    """Index of each item in the release under its published name, -1 = removed, and the chance that the name is right."""
    order = np.argsort(names.source, kind="stable")
    at = find_labels(names.source[order], labels)
    place = order[np.maximum(at, 0)]
    index = find_labels(released, names.release[place])
    return np.where(at >= 0, index, -1), np.where(at >= 0, names.chance[place], 1.0)


def _numbered(labels: Array, name: str) -> tuple[Array, Array]:
    """Distinct labels and the number of each element; a fact without a label is an error."""
    distinct, index, _ = index_labels(labels, name)
    missing = int((index < 0).sum())
    if missing:
        raise InputError(f"{missing:,} of {labels.size:,} facts have no {name}: remove them")
    return distinct, index


def _in_days(times: Array, unit: str | None) -> Array:
    """Numeric times of any unit as days; dates as they are."""
    check_time_unit(unit)
    if times.dtype.kind not in "iuf":
        return times
    numbers = times.astype(np.float64)
    if unit == "week":
        return numbers * 7
    largest = float(np.nanmax(np.abs(numbers), initial=0.0))
    return numbers / PER_DAY.get(unit or unit_by_size(largest), 1)


def _level_column(x: Any, n: int, name: str) -> Array:
    """Known levels of a further channel: numbers, or labels as objects."""
    if np.size(x) != n:
        raise ParameterError(f"{name} has {np.size(x)} elements, query {n}: one of each per fact")
    numbers = as_numbers(x)
    return np.asarray(x, object) if numbers is None else numbers


def _channel(x: Any, n: int, name: str) -> Array:
    if x is None:
        return np.full(n, np.nan)
    array = np.asarray(x).reshape(-1)
    if array.size != n:
        raise ParameterError(f"{name} has {array.size} elements, query {n}: one of each per fact")
    if name == "time":
        return days_of(array)
    try:
        # pandas represents a missing number by an object
        missing = (
            [k is None or type(k).__name__ == "NAType" for k in array]
            if array.dtype.kind == "O"
            else False
        )
        numbers = np.where(missing, np.nan, array).astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} of the knowledge is not numeric; use NaN for unknown") from None
    if np.isinf(numbers).any():
        raise InputError(f"{name} of the knowledge holds infinite numbers; use NaN for unknown")
    return numbers
