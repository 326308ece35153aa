"""SplitMix64: random numbers that are a function of (seed, purpose, target)."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.jit import njit

jit = njit(nogil=True, cache=True)


@jit
def mix(x: int) -> int:
    """Scramble 64 bits (the finalizer of SplitMix64)."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit
def start(seed: int, purpose: int, target: int) -> int:
    """State that (seed, purpose, target) starts from."""
    x = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    x = mix(x ^ (np.uint64(purpose) * np.uint64(0xD1342543DE82EF95)))
    return mix(x ^ (np.uint64(target) * np.uint64(0xA0761D6478BD642F)))


@jit
def draw_bits(state: Array) -> int:
    """Next 64 random bits and the state after them."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return mix(state[0])


@jit
def step(state: Array) -> float:
    """Next uniform number in [0, 1) and the state after it (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def below(state: Array, n: int) -> int:
    """Uniform whole number in 0 … n-1."""
    return np.int64(step(state) * n)
