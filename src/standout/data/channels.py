"""Level channels beside the value: price and quantity of a purchase, hour of a visit.

The levels of one entry in several channels are one *joint code*: the number of their combination
among those that occur. A table over codes then serves any number of channels, and a loop over
entries never asks how many there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.data.cache import once
from standout.data.dataset import Dataset
from standout.data.keys import digest
from standout.data.labels import index_labels
from standout.data.mechanism import Origin
from standout.data.positions import check_positions
from standout.data.scale import Attribute, Channel, check_name, own_kind_of
from standout.data.values import code_type, codes_of, levels_of
from standout.errors import InputError, ParameterError

if TYPE_CHECKING:
    from standout.data.catalog import Catalog


@dataclass(frozen=True, eq=False, repr=False)
class JointCodes:
    """One code per entry for its levels in all level channels, and what each code stands for."""

    channels: tuple[Channel, ...]
    """The value channel first, if the data has values."""
    points: Array
    """int64 (codes, channels): level of each code in each channel; the number of levels = none."""
    code: Array
    """Per entry: row of `points`; the number of rows = no level in any channel."""

    @classmethod
    def of(cls, channels: Sequence[Channel], codes: Sequence[Array]) -> JointCodes:
        """Number the combinations that occur, in the order of the first channel, then the second, and so on."""
        n = codes[0].size
        joint, order = np.zeros(n, np.int64), np.zeros((1, 0), np.int64)
        for channel, code in zip(channels, codes, strict=True):
            width = channel.n_levels + 1
            distinct, joint = np.unique(joint * width + code, return_inverse=True)
            order = np.column_stack([order[distinct // width], distinct % width])
            joint = joint.reshape(-1)
        empty = (order == [channel.n_levels for channel in channels]).all(axis=1)
        # the combination without any level sorts last: its code is the number of all others
        points = order[~empty]
        return cls(tuple(channels), points, joint.astype(code_type(points.shape[0])))

    @property
    def n_codes(self) -> int:
        """Number of combinations."""
        return int(self.points.shape[0])

    def level(self, channel: int) -> Array:
        """(codes + 1): level of each code in a channel; the number of levels = none, as in the last place."""
        return np.append(self.points[:, channel], self.channels[channel].n_levels)

    def taken(self, at: Array) -> JointCodes:
        """Codes of some of the entries."""
        return JointCodes(self.channels, self.points, self.code[at])

    def named(self, name: str) -> int:
        """Position of the channel of that name."""
        return [channel.name for channel in self.channels].index(name)

    def columns(self) -> list[Array]:
        """Level of each entry, channel by channel."""
        return [self.level(k)[self.code] for k in range(len(self.channels))]

    def without(self, name: str) -> JointCodes | None:
        """Codes without one channel; None if at most the value channel is left."""
        rest = [k for k, channel in enumerate(self.channels) if channel.name != name]
        if all(self.channels[k].name == "value" for k in rest):
            return None
        columns = self.columns()
        return JointCodes.of([self.channels[k] for k in rest], [columns[k] for k in rest])

    def with_value(self, levels: Array, code: Array) -> JointCodes:
        """Return the same with other values."""
        kept = [k for k, channel in enumerate(self.channels) if channel.name != "value"]
        columns = self.columns()
        return JointCodes.of(
            [Channel("value", levels), *(self.channels[k] for k in kept)],
            [code.astype(np.int64), *(columns[k] for k in kept)],
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of names, scales and codes."""
        names = np.frombuffer("\0".join(c.name for c in self.channels).encode(), np.uint8)
        scales = [x for c in self.channels for x in (c.levels, c.label_array)]
        return digest(names, *scales, self.points, self.code)


@dataclass(frozen=True, eq=False, repr=False)
class JointDataset(Dataset):
    """A dataset whose codes are joint codes of several channels; made by `joint_dataset`, for attacks that read them all."""

    channels_read: tuple[Channel, ...] = ()
    points: Array | None = None
    """As in `JointCodes`."""
    whole: Dataset | None = None
    """The dataset with its own codes."""
    attributes_read: tuple[str, ...] = ()
    """Attributes of the person, the last of the channels: behind the items, each is an item that every record holds once."""

    @property
    def n_plain_items(self) -> int:
        """Number of items that are not attributes."""
        return self.n_items - len(self.attributes_read)

    @property
    def is_attribute(self) -> Array:
        """Bool (items)."""
        return np.arange(self.n_items) >= self.n_plain_items

    @property
    def entry_channels(self) -> tuple[Channel, ...]:
        """The channels that are not attributes."""
        return self.channels_read[: len(self.channels_read) - len(self.attributes_read)]

    def one_channel(self, channel: int) -> Dataset:
        """The dataset with one of these channels in the place of the value."""
        assert self.whole is not None
        return channel_as_value(self.whole, self.channels_read[channel].name)

    def level(self, channel: int) -> Array:
        """(codes + 1): level of each code in a channel; the number of levels = none, as in the last place."""
        assert self.points is not None
        return np.append(self.points[:, channel], self.channels_read[channel].n_levels)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content."""
        assert self.points is not None
        return JointCodes(self.channels_read, self.points, self.record_code).fingerprint + digest(
            self.record_labels, self.item_labels, *self._entries, np.array([self.first_tick])
        )


def joint_dataset(dataset: Catalog, names: tuple[str, ...]) -> JointDataset:
    """The dataset with joint codes of these channels and attributes, "value" among them where values are known; computed once."""
    whole = dataset.loaded()
    if whole is None or not isinstance(whole, Dataset):
        raise ParameterError(
            f"channels {', '.join(names)}: further channels are read in memory alone; use the engine memory or gpu"
        )
    return once(dataset, "joint", names, lambda: _joined(whole, names))


def level_names(dataset: Catalog) -> list[str]:
    """Names of the level channels and of the attributes, "value" first."""
    if isinstance(dataset, JointDataset):
        return [channel.name for channel in dataset.channels_read]
    own = ["value"] if dataset.has_value else []
    return [*own, *(channel.name for channel in dataset.channels), *dataset.attributes]


def further_channels(dataset: Catalog) -> dict[str, Channel]:
    """Scales of the channels beside the value and of the attributes, by name."""
    owned = {name: attribute.channel for name, attribute in dataset.attributes.items()}
    return {channel.name: channel for channel in dataset.channels} | owned


def check_names(dataset: Catalog, names: Iterable[str]) -> None:
    """Refuse channels that the data does not have."""
    there = level_names(
        dataset.whole if isinstance(dataset, JointDataset) and dataset.whole else dataset
    )
    if unknown := [name for name in names if name not in there]:
        raise ParameterError(
            f"no channel {unknown[0]!r} in the data, which has {', '.join(there) or 'none'}; "
            "name the column when the data is read (channels=, --channel, or attributes=, --attributes)"
        )


def _joined(dataset: Dataset, names: tuple[str, ...]) -> JointDataset:
    attributes = tuple(name for name in names if name in dataset.attributes)
    scales, columns = [], []
    for name in (name for name in names if name not in attributes):
        if dataset.further is None:  # values alone, beside attributes
            scales.append(Channel("value", dataset.levels))
            columns.append(dataset.record_code.astype(np.int64))
        else:
            at = dataset.further.named(name)
            scales.append(dataset.further.channels[at])
            columns.append(dataset.further.columns()[at])
    given = {field.name: getattr(dataset, field.name) for field in fields(Dataset)}
    if attributes:
        changed, own = _with_runs(dataset, len(attributes))
        given |= changed
        mine = [dataset.attributes[name] for name in attributes]
        last = changed["record_ptr"][1:] - len(mine)
        places: list[Array] = [own] * len(columns) + [last + k for k in range(len(mine))]
        columns += [one.code for one in mine]
        scales += [one.channel for one in mine]
        for k, (scale, place) in enumerate(zip(scales, places, strict=True)):
            spread = np.full(own.size, scale.n_levels, np.int64)
            spread[place] = columns[k]
            columns[k] = spread
    joint = JointCodes.of(scales, columns)
    given |= {
        "record_code": joint.code,
        "levels": np.arange(joint.n_codes, dtype=np.float64),
        "further": None,
        "attributes": {},
        "origin": _origin(dataset.origin, names),
    }
    made = JointDataset(
        **given,
        channels_read=joint.channels,
        points=joint.points,
        whole=dataset,
        attributes_read=attributes,
    )
    # the same records in the same order: targets and draws stay the same
    made.__dict__["lazy_keys"] = dataset.lazy_keys
    return made


def _origin(origin: Origin | None, names: tuple[str, ...]) -> Origin | None:
    """Origin of a release with joint codes: what a defense did to them cannot be stated."""
    if origin is None:
        return None
    return Origin(joint_dataset(origin.source, names), origin.defense, None)


def _with_runs(dataset: Dataset, n: int) -> tuple[dict[str, Any], Array]:
    """Fields of a dataset that has `n` further items behind the others, held once by every record, and bool: its own entries.

    Lengths do not count the further items.
    """
    ptr = dataset.record_ptr + n * np.arange(dataset.n_records + 1)
    own = np.ones(int(ptr[-1]), np.bool_)
    own[ptr[1:, None] - n + np.arange(n)] = False
    item = np.empty(own.size, np.min_scalar_type(max(dataset.n_items + n, 256)))
    item[own] = dataset.record_item
    item[~own] = np.tile(dataset.n_items + np.arange(n), dataset.n_records)
    tick = np.empty(0, dataset.record_tick.dtype)
    if dataset.has_time:
        tick = np.full(own.size, dataset.no_tick, dataset.record_tick.dtype)
        tick[own] = dataset.record_tick
    return {
        "item_labels": np.append(dataset.item_labels, dataset.item_labels[:1].repeat(n)),
        "record_ptr": ptr,
        "record_item": item,
        "record_tick": tick,
        "supports": np.append(dataset.supports, np.full(n, dataset.n_records)),
    }, own


def channel_as_value(dataset: Catalog, name: str) -> Dataset:
    """The dataset with one of its channels in the place of the value; computed once."""
    whole = dataset.loaded()
    assert isinstance(whole, Dataset)

    def make() -> Dataset:
        if name == "value":
            columns, scale = whole.record_code, whole.levels
        else:
            further = whole.further
            assert further is not None
            k = further.named(name)
            scale = further.channels[k].levels
            columns = further.columns()[k].astype(code_type(scale.size))
        given = {field.name: getattr(whole, field.name) for field in fields(Dataset)}
        made = Dataset(**{**given, "record_code": columns, "levels": scale, "further": None})
        made.__dict__["lazy_keys"] = whole.lazy_keys
        return made

    return once(dataset, "as_value", name, make)


def read_channels(
    given: Mapping[str, Any], value: Array | None, n: int
) -> tuple[list[Channel], list[Array]]:
    """Scales and codes of further channels, those of the values first.

    Parameters
    ----------
    given
        Column of each channel, one element per row: numbers, or labels of any kind; NaN, None = none.
    value
        Values of the rows, if there are any.
    n
        Number of rows.
    """
    channels: list[Channel] = []
    codes: list[Array] = []
    if value is not None:
        levels = levels_of(np.unique(value[~np.isnan(value)]))
        channels.append(Channel("value", levels))
        codes.append(codes_of(value, levels).astype(np.int64))
    for name, column in given.items():
        channel, code = _read_channel(check_name(name), column)
        if code.size != n:
            raise ParameterError(
                f"channel {name}: {code.size:,} elements for {n:,} entries; give one per entry"
            )
        channels.append(channel)
        codes.append(code)
    check_positions(channels)
    return channels, codes


def read_attributes(
    given: Mapping[str, Any], record: Array, n_records: int
) -> dict[str, Attribute]:
    """Attributes of the records from columns with one element per row, which must not differ within a record."""
    out = {}
    for name, column in given.items():
        channel, code = _read_channel(check_name(name), column)
        own = np.full(n_records, channel.n_levels, np.int64)
        known = code < channel.n_levels
        own[record[known]] = code[known]
        differ = np.unique(record[known & (own[record] != code)]).size
        if differ:
            raise InputError(
                f"attribute {name} differs within {differ:,} of {n_records:,} records: an attribute has one value per "
                "person; make it the same in all rows of a record, or read it as a channel of the entries (channels=, --channel)"
            )
        out[name] = Attribute(channel, own)
    return out


def _read_channel(name: str, column: Any) -> tuple[Channel, Array]:
    """Scale and codes of a column: a line of numbers, or labels."""
    numbers = as_numbers(column)
    if numbers is None:
        labels, index, _ = index_labels(column, name)
        if own := own_kind_of(labels):
            return own.read(name, labels, index)
        scale = Channel(name, np.arange(labels.size, dtype=np.float64), labels)
        return scale, np.where(index < 0, labels.size, index).astype(np.int64)
    if np.isinf(numbers).any():
        raise InputError(f"channel {name} holds infinite numbers: replace or remove them")
    if np.isnan(numbers).all():
        raise InputError(f"channel {name} is missing in every row: leave it out")
    distinct, index = np.unique(numbers, return_inverse=True)
    distinct = distinct[~np.isnan(distinct)]
    if own := own_kind_of(distinct):
        return own.read(name, distinct, index.reshape(-1))
    levels = levels_of(distinct)
    return Channel(name, levels), codes_of(numbers, levels).astype(np.int64)


def as_numbers(column: Any) -> Array | None:
    """float64 with NaN for what is missing; None if the column holds anything else.

    Whole numbers that float64 cannot tell apart are identifiers, and so labels.
    """
    array = np.asarray(column)
    if array.dtype.kind in "iu" and array.size and max(-int(array.min()), int(array.max())) > 2**53:
        return None
    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind != "O":
        return None
    missing = np.array([x is None or type(x).__name__ in ("NAType", "NaTType") for x in array])
    if not all(isinstance(x, (int, float, np.number)) for x in array[~missing]):
        return None
    if any(isinstance(x, (int, np.integer)) and abs(int(x)) > 2**53 for x in array[~missing]):
        return None
    return np.where(missing, np.nan, np.where(missing, 0.0, array)).astype(np.float64)
