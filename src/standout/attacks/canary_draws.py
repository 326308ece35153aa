"""Random numbers of canaries on defended releases: functions of (seed, purpose, key)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.adversary.choosing import starts

Array = npt.NDArray[Any]

PURPOSE_WITHHELD, PURPOSE_LOST, PURPOSE_HIDDEN, PURPOSE_MOVED, PURPOSE_REPLACED, PURPOSE_GIVER = (
    40,
    41,
    42,
    43,
    44,
    45,
)
PURPOSE_LENGTH, PURPOSE_CUT, PURPOSE_OWN, PURPOSE_COUNTED = 46, 47, 48, 49
PURPOSE_BEHIND, PURPOSE_NAME, PURPOSE_COPY = 50, 51, 52


def uniform(seed: int, purpose: int, keys: Array) -> Array:
    """Uniform number in [0, 1) per key."""
    return np.asarray(
        (starts(np.uint64(seed % 2**64), purpose, keys.astype(np.uint64)) >> np.uint64(11))
        / 2.0**53
    )
