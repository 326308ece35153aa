"""The noise model of attackers who do not know that a defense changed the release."""

from __future__ import annotations

from dataclasses import replace

from standout.adversary.adversary import Adversary
from standout.attacks.noise import Noise
from standout.data.catalog import Catalog


def unaware_noise(dataset: Catalog, who: Adversary, ignore: bool) -> Noise:
    """The adversary's noise as if the release were the source; with `ignore`, without the channels that the defense changed."""
    noise, channel = Noise.informed(who, dataset), dataset.channel
    if not ignore or channel is None:
        return noise
    swapped = channel.attributes > 0
    return replace(
        noise,
        value=None if channel.value is not None or swapped else noise.value,
        time=None if channel.time is not None or swapped else noise.time,
    )
