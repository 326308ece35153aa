"""Defenses that change the names of items: groups of items, and labels without a meaning."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np

from standout.adversary.choosing import starts
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_values
from standout.data.labels import find_labels, index_labels
from standout.data.mechanism import ItemMap, Mechanism
from standout.data.purposes import PURPOSE_LABELS
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
from standout.defenses.swap import merged
from standout.errors import InputError, ParameterError


@register_defense("group-items")
class GroupItems(Defense):
    """Replace items by groups of items.

    Parameters
    ----------
    groups
        A mapping from item label to group label (items that it does not name keep their label); the
        path of such a mapping as a JSON object or as a CSV file with two columns; or a number of
        groups. In the latter case the items are ordered by popularity and cut into that many groups
        of equal size (up to one item), and a group is named after its most held item.
    """

    # whether entries that meet are merged depends on whether any record has repeats
    streaming = False

    def __init__(self, *, groups: Any) -> None:
        self.groups = _groups(self.name, groups)

    def again(self, release: Dataset) -> GroupItems:
        """Return groups of one item: what is grouped cannot be grouped again, and canaries do not need it."""
        return GroupItems(groups=max(release.n_items, 1))

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with groups as items."""
        labels, group = self._grouped(source)
        if np.array_equal(labels[group], source.item_labels):
            return source
        return merged(
            source.with_entries(item=group[source.record_item], item_labels=labels), source
        )

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the group of each item."""
        labels, group = self._grouped(source)
        if np.array_equal(labels[group], source.item_labels):
            return Mechanism()
        return Mechanism(items=ItemMap(source.item_labels, labels[group], np.ones(source.n_items)))

    def _grouped(self, source: Dataset) -> tuple[Array, Array]:
        """Labels of the groups, and the group of each item."""
        if isinstance(self.groups, int):
            part = source.popularity_rank * min(self.groups, source.n_items) // source.n_items
            _, first = np.unique(part[np.argsort(source.popularity_rank)], return_index=True)
            heads, group = np.unique(
                np.argsort(source.popularity_rank)[first][part], return_inverse=True
            )
            return source.item_labels[heads], group
        at = find_labels(source.item_labels, list(self.groups))
        if not (at >= 0).any():
            raise ParameterError(
                f"{self.name}: none of the {len(self.groups):,} items in groups is in the data"
            )
        name: list[Any] = source.item_labels.tolist()
        for place, group_label in zip(at.tolist(), self.groups.values(), strict=True):
            if place >= 0:
                name[place] = group_label
        labels, group, _ = index_labels(name, "item")
        if (group < 0).any():
            raise ParameterError(
                f"{self.name}: {int((group < 0).sum()):,} items have an empty group label"
            )
        return labels, group


@register_defense("opaque-items")
class OpaqueItems(Defense):
    """Replace item labels by random numbers.

    An attacker can still recognize an item by its popularity and its values, as far as these are
    public: the mechanism holds the match that she can infer, and the probability that it is right.
    """

    judged_by_result = True

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with the numbers 1, 2, … as labels."""
        number = np.empty(source.n_items, np.int64)
        number[np.argsort(draws.item_bits(source.n_items, seed, PURPOSE_LABELS))] = np.arange(
            source.n_items
        )
        return source.with_entries(
            item=number[source.record_item], item_labels=np.arange(1, source.n_items + 1)
        )

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the match of the items by their popularity and values."""
        return Mechanism(items=matched_profiles(source, release))


def matched_profiles(source: Dataset, release: Dataset) -> ItemMap:
    """Match of the items of two datasets by support and values.

    If both have the same profiles, items with equal profiles are matched at random, and the
    probability is one over their number. Otherwise another defense changed the profiles: items are
    matched by the order of their supports and mean values, and the probability is one over the
    number of items of the release whose support lies within two standard deviations of the expected
    one.
    """
    at = np.flatnonzero(source.supports > 0)
    one, other = _profiles(source), _profiles(release)
    mine, theirs = at[np.argsort(one[at], kind="stable")], np.argsort(other, kind="stable")
    if np.array_equal(one[mine], other[theirs]):
        _, inverse, count = np.unique(one[mine], return_inverse=True, return_counts=True)
        return ItemMap(
            source.item_labels[mine],
            release.item_labels[theirs],
            1.0 / count[inverse],
            published=False,
        )
    mine = at[np.lexsort((_means(source)[at], -source.supports[at]))]
    theirs = np.lexsort((_means(release), -release.supports))
    n = min(mine.size, theirs.size)
    share = min(release.n_pairs / max(source.n_pairs, 1), 1.0)
    expected = source.supports[mine[:n]] * share
    reach = 2 * np.sqrt(np.maximum(expected * (1 - share), 0.25))
    ascending = np.sort(release.supports)
    near = np.searchsorted(ascending, expected + reach, side="right") - np.searchsorted(
        ascending, expected - reach
    )
    chance = 1.0 / np.maximum(near, 1)
    return ItemMap(
        source.item_labels[mine[:n]], release.item_labels[theirs[:n]], chance, published=False
    )


def _profiles(dataset: Dataset) -> Array:
    """uint64 per item: equal for items that the same number of records hold, with the same values."""
    total = starts(0, PURPOSE_LABELS, dataset.supports.astype(np.uint64))
    value = entry_values(dataset)
    if value is not None:
        # a sum over the entries does not depend on their order; 32 bits forgive the rounding of a
        # text file
        with np.errstate(over="ignore"):
            known = np.where(np.isnan(value), np.inf, value).astype(np.float32) + np.float32(0)
        term = starts(1, PURPOSE_LABELS, known.view(np.uint32).astype(np.uint64))
        np.add.at(total, dataset.record_item, term)
    return np.asarray(total)


def _means(dataset: Dataset) -> Array:
    """Mean value of each item, 0 if there is none."""
    value = entry_values(dataset)
    if value is None:
        return np.zeros(dataset.n_items)
    known = ~np.isnan(value)
    item = dataset.record_item[known]
    count = np.bincount(item, minlength=dataset.n_items)
    return np.bincount(item, value[known], dataset.n_items) / np.maximum(count, 1)


def _groups(name: str, groups: Any) -> dict[Any, Any] | int:
    if isinstance(groups, Mapping):
        found = dict(groups)
    elif isinstance(groups, str | Path):
        found = _read_groups(name, Path(groups))
    elif isinstance(groups, Integral) and not isinstance(groups, bool):
        return checks.whole(name, groups, "groups", 1)
    else:
        raise ParameterError(
            f"{name}: groups is a {type(groups).__name__}: use a number, a mapping or a file"
        )
    if not found:
        raise ParameterError(f"{name}: groups names no item: map item labels to group labels")
    return found


def _read_groups(name: str, path: Path) -> dict[Any, Any]:
    """Mapping from a JSON object, or from the first two columns of a CSV file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(f"{name}: cannot read groups from {str(path)!r}: {why}") from None
    if text.lstrip().startswith("{"):
        try:
            return dict(json.loads(text))
        except ValueError as error:
            raise InputError(f"{name}: {str(path)!r} is not valid JSON: {error}") from None
    rows = [row for row in csv.reader(text.splitlines()) if row]
    if any(len(row) < 2 for row in rows):
        raise InputError(
            f"{name}: {str(path)!r} needs two columns, item and group, separated by a comma"
        )
    return {row[0]: row[1] for row in rows}
