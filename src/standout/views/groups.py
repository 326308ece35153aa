"""`groups`: items known as groups of items, such as products known as categories or films as genres."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.data.labels import find_labels, index_labels
from standout.data.mechanism import Mechanism
from standout.errors import InputError, ParameterError
from standout.views.view import View, noted, register_view

OWN = "own"


@register_view("groups")
class GroupsView(View):
    """Show each entry's group in place of its item. An entry of an item with several groups becomes several entries.

    Repeats are kept: several purchases in one category are several events.

    Parameters
    ----------
    groups
        A CSV file with two columns, item and group, with or without a header; or a mapping from
        item to a group or a list of groups; or a frame with two columns, item and group.
    missing
        "own": items of the data that have no group are groups of their own. None: they are an
        error.
    name
        What the groups are, in the plural, for reports. Default: the name of the file.
    """

    def __init__(self, groups: Any, *, missing: str | None = None, name: str | None = None) -> None:
        if missing not in (None, OWN):
            raise ParameterError(
                f"missing={missing!r}: use 'own' for items that are groups of their own, or leave it out"
            )
        self.missing = missing
        self._from_file = isinstance(groups, str | Path)
        if self._from_file:
            path = Path(groups)
            self.of, (self._items, self._groups) = path.name, _read(path)
            self.noun = name or path.name.split(".")[0]
        else:
            self._items, self._groups = _pairs(groups)
            self.of, self.noun = name or "", name or "groups"

    @property
    def text(self) -> str:
        """The view with the name of the map's file, without its folder."""
        return f"{self.name}:{self.of}" + (f"?missing={self.missing}" if self.missing else "")

    @property
    def words(self) -> str:
        """What is known of an item."""
        return f"items known as {self.noun}"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with groups as items."""
        labels, ptr, group, unknown = self._grouping(dataset)
        n = np.diff(ptr)[dataset.record_item]
        # the k-th copy of an entry is about the k-th group of its item
        turn = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
        item = group[np.repeat(ptr[dataset.record_item], n) + turn]
        shown = dataset.with_entries(n, item=item, item_labels=labels)
        what = "1 item of the map is" if unknown == 1 else f"{unknown:,} items of the map are"
        return noted(shown, f"{self.text}: {what} not in the data" if unknown else "")

    def push(self, mechanism: Mechanism) -> Mechanism | None:
        """Return the parameters if they say nothing about items; changes of values also need one group per item."""
        left = replace(
            mechanism, sampled=1.0, time=None, dropped=frozenset(), value=None, source_lengths=None
        )
        # copies of one entry share its changed value, which no mechanism says
        alone = mechanism.value is None or self._is_partition
        return replace(mechanism, source_lengths=None) if left.is_neutral and alone else None

    def only_group(self, dataset: Dataset) -> Array:
        """int64 (entries): number of the group of each entry, where each item has one."""
        _, ptr, group, _ = self._grouping(dataset)
        if (several := int((np.diff(ptr) > 1).sum())) > 0:
            raise ParameterError(
                f"{self.text}: {several:,} items have several groups, and a place is in one: leave one line per item in the map"
            )
        return np.asarray(group[dataset.record_item], np.int64)

    def _grouping(self, dataset: Dataset) -> tuple[Array, Array, Array, int]:
        """Labels of the groups; groups of each item of the data, by pointer; items of the map that the data lacks."""
        at = find_labels(dataset.item_labels, self._items)
        # a first row whose item is not in the data is a header, or says as little
        body = np.arange(at.size) > 0 if self._from_file and at[0] < 0 else at >= -1
        known = at >= 0
        if not known.any():
            raise InputError(
                f"{self.text}: none of the {int(body.sum()):,} items of the map is in the data: are they named as in the data?"
            )
        labels = np.asarray(index_labels(self._groups[known], "group")[0])
        place, item = find_labels(labels, self._groups[known]), at[known]
        alone = np.flatnonzero(np.bincount(item, minlength=dataset.n_items) == 0)
        if alone.size:
            labels, place, item = self._with_own(dataset, labels, place, item, alone)
        pairs = np.unique(np.stack([item, place]), axis=1)
        ptr = np.append(0, np.cumsum(np.bincount(pairs[0], minlength=dataset.n_items)))
        unknown = np.unique(self._items[body & ~known].astype(str)).size
        return labels, ptr.astype(np.int64), pairs[1], unknown

    def _with_own(
        self, dataset: Dataset, labels: Array, place: Array, item: Array, alone: Array
    ) -> tuple[Array, Array, Array]:
        """Groups with those of the items that the map lacks."""
        if self.missing != OWN:
            raise InputError(
                f"{self.text}: {alone.size:,} of {dataset.n_items:,} items of the data are not in the map: add them, or keep "
                f"them as groups of their own with {self.text}?missing=own"
            )
        own = dataset.item_labels[alone].astype(str)
        taken = int(np.isin(own, labels.astype(str)).sum())
        if taken:
            raise InputError(
                f"{self.text}: {taken:,} items that the map lacks are named like a group: add them to the map"
            )
        both = np.concatenate([labels.astype(str), own])
        whole = np.asarray(index_labels(both, "group")[0])
        at = find_labels(whole, both)
        place = np.concatenate([at[place], at[labels.size :]])
        return whole, place, np.concatenate([item, alone])

    @cached_property
    def _is_partition(self) -> bool:
        """Whether each item has one group."""
        pairs = {*zip(self._items.tolist(), self._groups.tolist(), strict=True)}
        return len({item for item, _ in pairs}) == len(pairs)

    @cached_property
    def content(self) -> str:
        """A digest of the map and the options."""
        return content_digest(self.text, self.noun, self._items.tolist(), self._groups.tolist())


def _read(path: Path) -> tuple[Array, Array]:
    """Items and groups of a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"groups: cannot read {path.name!r}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"groups: {path.name!r} is not UTF-8 text: save it as UTF-8") from None
    sign = max(",;\t", key=text.partition("\n")[0].count)
    table = csv.reader(StringIO(text, newline=""), delimiter=sign)
    rows = [row for row in table if any(x.strip() for x in row)]
    if not rows:
        raise InputError(f"groups: {path.name!r} is empty: write one line item,group per item")
    bad = sum(len(row) != 2 for row in rows)
    if bad:
        raise InputError(
            f"groups: {bad:,} of {len(rows):,} lines of {path.name!r} do not have two columns: write item,group, "
            "and an item with several groups on several lines"
        )
    return _checked([row[0].strip() for row in rows], [row[1].strip() for row in rows])


def _pairs(groups: Any) -> tuple[Array, Array]:
    """Items and groups of a mapping, or of the first two columns of a frame."""
    if isinstance(groups, Mapping):
        pairs = [
            (item, group)
            for item, some in groups.items()
            for group in (some if isinstance(some, list | tuple | set | frozenset) else [some])
        ]
        return _checked([item for item, _ in pairs], [group for _, group in pairs])
    names = list(getattr(groups, "column_names", getattr(groups, "columns", ())))
    if len(names) != 2:
        raise ParameterError(
            f"groups is a {type(groups).__name__}: use a CSV file, a mapping from item to group, or a frame with two columns"
        )
    return _checked(*(np.asarray(groups[name]).tolist() for name in names))


def _checked(items: list[Any], groups: list[Any]) -> tuple[Array, Array]:
    """Items and groups as arrays of objects; neither may be missing."""
    out = []
    for name, column in (("item", items), ("group", groups)):
        array = np.empty(len(column), object)
        array[:] = column
        missing = int((index_labels(array, name)[1] < 0).sum()) if array.size else 0
        if missing or not array.size:
            raise InputError(
                f"groups: {missing:,} of {array.size:,} rows of the map have no {name}: give each row an item and a group"
            )
        out.append(array)
    return out[0], out[1]
