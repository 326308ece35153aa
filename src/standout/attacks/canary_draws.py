"""Random numbers of canaries on defended releases: functions of (seed, purpose, key)."""

from __future__ import annotations

import numpy as np

from standout.adversary.choosing import starts
from standout.arrays import Array


def uniform(seed: int, purpose: int, keys: Array) -> Array:
    """Uniform number in [0, 1) per key."""
    return np.asarray(
        (starts(np.uint64(seed % 2**64), purpose, keys.astype(np.uint64)) >> np.uint64(11))
        / 2.0**53
    )
