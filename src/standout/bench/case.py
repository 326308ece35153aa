"""What is timed, and how: a release of Netflix Prize size (or a share of it), cached, a batch of queries, and two clocks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.attacks.tables import Known
from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.data.synthetic import write_twin
from standout.data.twin.model import N_RECORDS
from standout.scoring.plan import Combine, Plan

SEED = 7

T = TypeVar("T")


def cache_folder() -> Path:
    """Folder of cached synthetic data: $XDG_CACHE_HOME/standout, else ~/.cache/standout."""
    base = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(base) if base else Path.home() / ".cache") / "standout"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def twin_file(size: float) -> Path:
    """Parquet file with that share of the Netflix Prize's records, made on first use."""
    n = max(round(N_RECORDS * size), 100)
    path = cache_folder() / f"twin-{n}.parquet"
    if not path.exists():
        write_twin(path, n_records=n, threads=os.cpu_count() or 1)
    return path


@dataclass(frozen=True, eq=False, repr=False)
class BenchCase:
    """A release, knowledge of some of its records, and plans."""

    path: Path
    data: Dataset
    targets: Array
    facts: Facts
    threads: int

    @classmethod
    def make(cls, size: float, n_targets: int) -> BenchCase:
        """Read the twin of that size and draw queries."""
        path = twin_file(size)
        return cls.of(Dataset.read(path), n_targets, path=path)

    @classmethod
    def of(
        cls,
        data: Dataset,
        n_targets: int,
        knows: int = 8,
        *,
        threads: int | None = None,
        again: bool = False,
        path: Path | None = None,
    ) -> BenchCase:
        """Draw queries against a loaded release; `again`: targets may occur more than once."""
        who = Adversary(knows=knows, wrong=min(2, knows // 4), value_within=1, time_within=14)
        eligible = who.eligible(data)
        n = n_targets if again else min(n_targets, eligible.size)
        targets = np.sort(np.random.default_rng(SEED).choice(eligible, n, replace=again))
        facts = who.sample(data, targets, seed=SEED).bind(data)
        return cls(path or Path(), data, targets, facts, threads or os.cpu_count() or 1)

    @property
    def shards(self) -> list[Shard]:
        """Posting lists of the release."""
        return [self.data.index]

    def plan(self, name: str, n: int | None = None) -> Plan:
        """Plan of the first `n` queries by that attack; "presence" counts items in common."""
        facts = self.facts if n is None else self.facts.part(0, min(n, self.facts.n_queries))
        if name == "presence":
            known = Known.of(self.data, facts, facts.nobody)
            n_facts = (known.item.size, 1)
            return known.plan(Combine.SUM, np.ones(n_facts), np.zeros(n_facts))
        return attack(name).fit(self.data, facts).compile(self.data, facts, facts.nobody)

    def postings(self, plan: Plan) -> int:
        """Entries that the plan's queries touch."""
        return int(self.data.supports[plan.tables.fact.item].sum())


class Took(NamedTuple):
    """Seconds: of the clock on the wall, and of this process, which other programs do not inflate."""

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
