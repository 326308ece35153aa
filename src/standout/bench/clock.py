"""Two clocks: wall time, and the CPU time of this process, which other programs do not inflate."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

T = TypeVar("T")


class Took(NamedTuple):
    """Seconds."""

    wall: float
    core: float
    """CPU seconds, summed over threads. Ratios use this one."""


def timed(work: Callable[[], T]) -> tuple[Took, T]:
    """Times of the work, and its result."""
    wall, core = time.perf_counter(), time.process_time()
    out = work()
    return Took(time.perf_counter() - wall, time.process_time() - core), out


def shortest(work: Callable[[], T], rounds: int = 3) -> tuple[Took, T]:
    """As `timed`, the shortest of several runs; peers get as many runs as standout."""
    runs = [timed(work) for _ in range(rounds)]
    return Took(min(took.wall for took, _ in runs), min(took.core for took, _ in runs)), runs[0][1]


def best_of(rounds: int, *works: Callable[[], object], seconds: float = 2.0) -> list[Took]:
    """Shortest times of each, measured in turn in each round, so that a busy moment affects all of them.

    Short tasks get more rounds, until `seconds` have passed.
    """
    best = [Took(float("inf"), float("inf"))] * len(works)
    began, done = time.perf_counter(), 0
    while done < rounds or (time.perf_counter() - began < seconds and done < 20 * rounds):
        done += 1
        for k, work in enumerate(works):
            took, _ = timed(work)
            best[k] = Took(min(best[k].wall, took.wall), min(best[k].core, took.core))
    return best
