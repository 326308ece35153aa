"""Random numbers of a defense: functions of (seed, purpose, contents of the record, item, event), never a stream.

The number that decides for an entry does not depend on the strength of the defense. So what a weak
setting changes, a strong setting changes too.
"""

from __future__ import annotations

import numpy as np

from standout.adversary.choosing import key_uniforms, seed_of_turn, starts, uniforms
from standout.adversary.splitmix import jit, mix, start
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_STAGE


def stage_seed(seed: int, stage: int) -> int:
    """Seed of a defense that is applied after `stage` others; the first one uses the seed itself."""
    return seed_of_turn(seed, PURPOSE_STAGE, stage)


def entry_bits(dataset: Dataset, seed: int, purpose: int) -> Array:
    """uint64 per entry."""
    return np.asarray(
        _entry_bits(
            np.uint64(int(seed) % 2**64),
            int(purpose),
            dataset.record_keys,
            dataset.record_ptr,
            dataset.record_item,
        )
    )


def entry_uniforms(dataset: Dataset, seed: int, purpose: int) -> Array:
    """Uniform number in [0, 1) per entry."""
    return uniforms(entry_bits(dataset, seed, purpose))


def record_uniforms(dataset: Dataset, seed: int, purpose: int) -> Array:
    """Uniform number in [0, 1) per record."""
    return key_uniforms(seed, purpose, dataset.record_keys)


def item_bits(n_items: int, seed: int, purpose: int) -> Array:
    """uint64 per item."""
    return starts(seed, purpose, np.arange(n_items, dtype=np.uint64))


@jit
def _entry_bits(seed: int, purpose: int, keys: Array, ptr: Array, item: Array) -> Array:
    out = np.empty(item.size, np.uint64)
    for r in range(ptr.size - 1):
        base = start(seed, purpose, keys[r])
        event, last = np.uint64(0), np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            event = event + np.uint64(1) if i == last else np.uint64(0)
            last = i
            x = mix(base ^ (np.uint64(i + 1) * np.uint64(0xD1342543DE82EF95)))
            out[k] = mix(x + event * np.uint64(0x9E3779B97F4A7C15))
    return out
