"""Which channels the adversaries of an audit or of a policy know, and which nobody knows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from standout.adversary.seen import channels_shown, seen_through
from standout.data.catalog import Catalog
from standout.data.positions import known_with_items
from standout.data.scale import ValueScale
from standout.data.times import loose_ticks

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def known_names(data: Catalog, adversaries: Sequence[Adversary]) -> set[str]:
    """Names of what some adversary knows of this data: "item", "value", "time", further channels and attributes.

    A tolerance as wide as all that occurs says nothing: such a channel is not known. Items are not
    known to an adversary who sees something else in their place, such as their categories.
    """
    scales: dict[str, ValueScale] = {channel.name: channel for channel in data.channels}
    scales |= {name: one.channel for name, one in data.attributes.items()}
    made = {
        name
        for who in adversaries
        for name in who.within or ()
        if name in scales and _says_something(who, name, scales[name])
    }
    made |= {name for who in adversaries for name in channels_shown(who)}
    if data.has_value and any(
        who.tells_own_value and _says_something(who, "value", data) for who in adversaries
    ):
        made.add("value")
    timed = [who for who in adversaries if who.tells_time(data)]
    # a release may have coarser times than the tolerance counts
    span, ticks = data.tick_span, data.time_resolution
    if any(not span or loose_ticks(who.time_within, ticks) < span for who in timed):
        made.add("time")
    if any(who.knows and _sees_items(who, data) for who in adversaries):
        made |= {"item", *known_with_items(data.cleaning.columns)}
    return made


def _sees_items(who: Adversary, data: Catalog) -> bool:
    return who.view is None or np.array_equal(seen_through(data, who).item_labels, data.item_labels)


def _says_something(who: Adversary, name: str, scale: ValueScale) -> bool:
    """Whether some level of a channel is excluded by what the adversary knows of it."""
    width = scale.value_range
    return width == 0 or bool((who.tolerance(name, scale) < width).any())


def not_known(data: Catalog, adversaries: Sequence[Adversary]) -> list[str]:
    """Values, times, further channels and attributes that the data has and none of the adversaries knows, in words."""
    return unknown_words(data, known_names(data, adversaries))


def unknown_words(data: Catalog, known: Collection[str]) -> list[str]:
    """Values, times, further channels and attributes of the data that are not among the known ones, in words."""
    own = {"value": data.has_value, "time": data.has_time}
    made = [f"the {name}s" for name, there in own.items() if there and name not in known]
    kinds = {
        "channel": [channel.name for channel in data.channels],
        "attribute": list(data.attributes),
    }
    return made + [
        f"the {kind} {name}" for kind, names in kinds.items() for name in names if name not in known
    ]
