"""Fitted noise of several level channels: each channel is fitted alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.level_errors import JointKernel
from standout.arrays import Array
from standout.attacks.fit import VALUE_EDGES
from standout.attacks.noise import Noise
from standout.attacks.queries import first_channel
from standout.data.channels import JointDataset
from standout.kernels.bins import LevelBins, averaged_shares
from standout.kernels.levels import LevelKernel, SameLabel, Uniform

LABEL_SHARE = 0.95
"""Share of right labels in knowledge of a channel whose levels have no order."""


def joint_noise(
    dataset: JointDataset, facts: Facts, exclude: Array, fit: Callable[..., Noise]
) -> Noise:
    """Noise of several level channels: each is fitted alone, beside the time; shares of wrong facts are those of the first.

    Labels are assumed to be right in 95 % of the facts. Attributes of the person have the errors
    that the adversary states, because no defense changes them.
    """
    one, plain = first_channel(dataset, facts)
    noise = fit(one, plain, exclude)
    errors = None if facts.adversary is None else facts.adversary.level_errors(dataset)
    parts = []
    for k, channel in enumerate(dataset.channels_read):
        kernel: LevelKernel | None
        if channel.name in dataset.attributes_read and errors is not None:
            kernel = errors.parts[k].kernel
        elif channel.labels is not None:
            kernel = SameLabel(LABEL_SHARE)
        elif channel.name in dataset.attributes_read:
            edges = np.asarray(VALUE_EDGES)
            kernel = LevelBins(VALUE_EDGES, averaged_shares(edges, (0.0, 1.0, 2.0)))
        elif k == 0:
            kernel = noise.value
        else:
            again = replace(plain, value=known_levels(facts)[:, k])
            kernel = fit(dataset.one_channel(k), again, exclude).value
        parts.append((channel, dataset.level(k), kernel or Uniform(channel.value_range or 1.0)))
    return replace(noise, value=JointKernel(tuple(parts)))


def known_levels(facts: Facts) -> Array:
    """Known levels of the facts that are not about attributes."""
    return facts.value if facts.given is None else facts.value[~facts.given]
