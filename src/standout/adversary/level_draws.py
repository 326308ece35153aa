"""Draws of the known levels of further channels, each from a random number of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import key_uniforms
from standout.adversary.knowledge import Knowledge
from standout.adversary.level_errors import ChannelError, channels_of
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.data.purposes import PURPOSE_CHANNEL
from standout.data.scale import Channel


def channel_levels(who: Adversary, dataset: Catalog) -> dict[str, ChannelError]:
    """Errors of the known level channels by name."""
    errors = who.level_errors(dataset)
    names = [name for name, _, _ in channels_of(dataset)]
    return {} if errors is None else dict(zip(names, errors.parts, strict=True))


def draw_channels(
    known: dict[str, ChannelError],
    rows: Rows,
    place: Array,
    entry: Array,
    salt: Array,
    held: Array,
    seed: int,
    n_facts: int,
) -> dict[str, Any] | None:
    """Known level of each fact in each channel: numbers, NaN = none; labels, None = none. None without further channels.

    A draw depends on (seed, channel, target, position of the fact in its query) alone.

    Parameters
    ----------
    known
        Errors of the channels that are known, without the value.
    rows, place
        The targets' rows, and the row of each query.
    entry
        As `draws.draw_queries` gives it.
    salt
        Random number of each wrong item, 0 for other facts.
    held
        Code of a holder's entry per wrong item.
    seed
        Random seed of the knowledge.
    n_facts
        Facts of each query.
    """
    if not known:
        return None
    known = {name: part for name, part in known.items() if not part.given}
    code = np.zeros(entry.size, np.int64)
    right = entry >= 0
    code[right] = rows.code[entry[right] >> 1]
    code[~right] = held
    is_wrong = right & (entry % 2 == 1)
    return {
        name: _draw(part, code, is_wrong, _uniform(name, rows, place, salt, seed, n_facts))
        for name, part in known.items()
    }


def draw_attributes(
    known: dict[str, ChannelError], rows: Rows, place: Array, seed: int
) -> dict[str, Any]:
    """Known level of each attribute, one per query; drawn as the levels of entries are."""
    given = {name: part for name, part in known.items() if part.given}
    out, nothing = {}, np.empty(0, np.uint64)
    for k, (name, part) in enumerate(given.items()):
        code = rows.code[rows.ptr[place + 1] - len(given) + k].astype(np.int64)
        right = np.zeros(code.size, np.bool_)
        out[name] = _draw(part, code, right, _uniform(name, rows, place, nothing, seed, 1))
    return out


def _draw(part: ChannelError, code: Array, is_wrong: Array, uniform: Array) -> Any:
    """Known level of each fact in one channel."""
    scale = part.channel
    level, some = part.of_code(code)
    seen = np.full(code.size, np.nan)
    right = some & ~is_wrong
    seen[right] = part.kernel.draw(scale.levels[level[right]], uniform[right], scale.levels)
    wrong = some & is_wrong
    if wrong.any():
        turn = (uniform[wrong] * scale.n_outside(part.reach)[level[wrong]]).astype(np.int64)
        seen[wrong] = scale.outside(level[wrong], part.reach, turn)
    told = scale.decode(seen[some]) if isinstance(scale, Channel) else seen[some]
    if told.dtype == np.float64:
        return seen
    out = np.full(code.size, None, object)
    out[some] = told
    return out


def _uniform(name: str, rows: Rows, place: Array, salt: Array, seed: int, n_facts: int) -> Array:
    """A number in [0, 1) per fact."""
    turn = np.tile(np.arange(n_facts, dtype=np.uint64), place.size)
    own = np.repeat(rows.keys[place], n_facts) + turn * np.uint64(0x9E3779B97F4A7C15)
    if salt.size:
        own = own ^ salt
    return key_uniforms(seed + (crc32(name.encode()) << 32), PURPOSE_CHANNEL, own)


def with_attributes(knowledge: Knowledge, given: Mapping[str, Any]) -> Knowledge:
    """Return the same with a fact about each attribute behind the facts of each query; `given` has one element per query."""
    n, old = len(given), np.diff(knowledge.query_ptr)
    ptr = np.append(0, np.cumsum(old + n))
    is_new = np.ones(int(ptr[-1]), np.bool_)
    is_new[np.arange(knowledge.n_facts) + n * knowledge.query] = False
    names = np.tile(np.array(list(given)), knowledge.n_queries)

    def spread(column: Array, empty: Any) -> Array:
        out = np.full(is_new.size, empty, column.dtype)
        out[~is_new] = column
        return out

    channels = {
        name: spread(np.asarray(column), None if np.asarray(column).dtype == object else np.nan)
        for name, column in (knowledge.channels or {}).items()
    }
    attribute = np.full(is_new.size, "", names.dtype)
    attribute[is_new] = names
    for name, column in given.items():
        own = np.asarray(column)
        channels[name] = np.full(is_new.size, None if own.dtype == object else np.nan, own.dtype)
        channels[name][attribute == name] = own
    label = knowledge.item[:1] if knowledge.item.size else knowledge._labels[:1]  # type: ignore[index]
    return replace(
        knowledge,
        query_ptr=ptr,
        item=spread(knowledge.item, label[0]) if knowledge.item.size else label.repeat(is_new.size),
        value=spread(knowledge.value, np.nan),
        time=spread(knowledge.time, np.nan),
        channels=channels,
        attribute=attribute,
        times=None if knowledge.times is None else spread(knowledge.times, 1),
        _index=None,
        _labels=None,
    )
