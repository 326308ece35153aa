"""What attackers assume who do not know that a defense changed the release: its noise, and its names of items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.attacks.noise import Noise
from standout.data.catalog import Catalog
from standout.data.labels import find_labels


def unaware_noise(dataset: Catalog, who: Adversary, ignore: bool) -> Noise:
    """The adversary's noise as if the release were the source; with `ignore`, without the channels that the defense changed."""
    noise, mechanism = Noise.informed(who, dataset), dataset.mechanism
    if not ignore or mechanism is None:
        return noise
    swapped = mechanism.attributes > 0
    return replace(
        noise,
        value=None if mechanism.value is not None or swapped else noise.value,
        time=None if mechanism.time is not None or swapped else noise.time,
    )


def has_secret_names(dataset: Catalog) -> bool:
    """Whether the defense replaced the names of items without publishing which is which."""
    mechanism = dataset.mechanism
    return mechanism is not None and mechanism.items is not None and not mechanism.items.published


def at_face_value(dataset: Catalog, facts: Facts) -> Facts:
    """Facts with the names of items read as they stand in the release, where the defense replaced them secretly.

    A naive attacker does not match items by their popularity: a name that the release lacks tells
    her nothing, and one that it has by chance misleads her. Published names, such as groups, are
    read by everyone.
    """
    mechanism = dataset.mechanism
    if (
        not facts.from_source
        or not has_secret_names(dataset)
        or mechanism is None
        or mechanism.items is None
    ):
        return facts
    order = np.argsort(mechanism.items.release, kind="stable")
    known = facts.item >= 0
    at = find_labels(mechanism.items.release[order], dataset.item_labels[facts.item[known]])
    name = mechanism.items.source[order][np.maximum(at, 0)]
    item = facts.item.copy()
    item[known] = np.where(at >= 0, find_labels(dataset.item_labels, name), -1)
    return replace(facts, item=item, chance=None)
