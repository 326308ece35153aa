"""The measurements of `standout bench` (`cli/machine.py`): each yields lines of plain data, one per thing that was timed.

What is compared is run in turn, so that ratios also hold on a busy machine.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.attacks.attack import attack
from standout.audit.audit import Audit
from standout.audit.defaults import TARGETS
from standout.bench import peers
from standout.bench.case import SEED, BenchCase, Took, best_of, shortest, timed, twin_file
from standout.data.cache import forget
from standout.data.dataset import Dataset
from standout.data.tasks import Task
from standout.engines.memory import MemoryEngine
from standout.errors import EngineError
from standout.scoring.partials import Partials
from standout.scoring.plan import Plan
from standout.scoring.tasks import Mass, Score, ScoreRecord

Line = dict[str, Any]
ROUNDS = 5


def machine() -> Line:
    """Description of the machine."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else ():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return {
        "what": "machine",
        "cpu": model,
        "cores": os.cpu_count(),
        "load": load,
        "python": platform.python_version(),
    }


def peak_mib() -> float:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _line(case: BenchCase, plan: Plan, what: str, took: Took, **more: Any) -> Line:
    n, postings = plan.n_queries, case.postings(plan)
    return {
        "what": what,
        "ms_per_target": 1e3 * took.wall / n,
        "ns_per_posting_core": 1e9 * took.core / postings,
        "targets": n,
        "peak_mib": peak_mib(),
        **more,
    }


def kernels(case: BenchCase, rounds: int = ROUNDS) -> Iterator[Line]:
    """Our engine against the C loop, on the same plan, shard and threads; other kernels on as many queries; one core."""
    engine = MemoryEngine(case.threads)
    rh, odds = case.plan("scoreboard-rh"), case.plan("likelihood")
    mine = engine.map(Score(rh), case.shards)
    mass = Mass(rh, mine.best_score, 1.0 / np.maximum(mine.sigma(), 1.0))
    tasks: list[Task[Any]] = [Score(rh), Score(odds), mass]
    works: list[Callable[[], Any]] = [partial(engine.map, task, case.shards) for task in tasks]
    try:
        c_loop = partial(peers.run, peers.build(), rh, case.data.index, case.threads)
        same = _same(mine, c_loop())
        works.append(c_loop)
    except EngineError as error:
        yield {"what": "C loop", "skipped": str(error)}
    for work in works[1:3]:
        work()
    one_core = partial(MemoryEngine(1).map, Score(rh), case.shards)
    alone, ours, *rest = best_of(rounds, one_core, *works)
    speed_up = alone.wall / ours.wall
    yield {"what": "all cores against one", "cores": case.threads, "speed_up": speed_up}
    found = _hit_rate(case, rh, mine, engine)
    yield _line(case, rh, "standout: scoreboard-rh", ours, found=found)
    for what, plan, took in zip(
        ("likelihood", "lineup of scoreboard-rh"), (odds, rh), rest, strict=False
    ):
        yield _line(case, plan, f"standout: {what}", took, times_rh=took.core / ours.core)
    for took in rest[2:]:
        yield _line(case, rh, "C loop", took, same=same, ours_over_theirs=ours.core / took.core)


def _hit_rate(case: BenchCase, plan: Plan, seen: Partials, engine: MemoryEngine) -> float:
    """Mean credit of a plan without a tie rule: 1/n where the target is one of n records tied at the top."""
    on_top = engine.map(ScoreRecord(plan, case.targets), case.shards).score == seen.best_score
    return float(np.where(on_top, 1.0 / np.maximum(seen.n_top, 1), 0.0).mean())


def _same(a: Partials, b: Partials) -> bool:
    exact = all(
        np.array_equal(getattr(a, f), getattr(b, f))
        for f in ("best", "best_score", "second", "second_score", "total")
    )
    return exact and bool(np.allclose(a.squares, b.squares, rtol=1e-9))


def compare_peers(case: BenchCase, n: int) -> Iterator[Line]:
    """The peers, on as many targets as their speed allows; their answers are compared with ours.

    A peer that only counts items in common is compared with our engine doing the same.
    """
    engine = MemoryEngine(case.threads)
    full, presence = case.plan("scoreboard-rh", n), case.plan("presence", n)
    works = [partial(engine.map, Score(plan), case.shards) for plan in (full, presence)]
    rh, count = (work() for work in works)
    ours, ours_presence = best_of(3, *works)
    counts, seconds = presence.score(count.best_score), presence.score(count.second_score)
    yield _line(case, presence, "standout: presence only", ours_presence)

    def compared(what: str, plan: Plan, took: Took, ours: Took, same: bool) -> Line:
        ratio = took.core / plan.n_queries / (ours.core / n)
        return _line(case, plan, what, took, same=same, theirs_over_ours=ratio)

    matrix = peers.item_major(case)
    try:
        took, best, second = peers.topn(case, matrix, n)
        same = np.array_equal(best, counts) and np.array_equal(second, np.minimum(seconds, counts))
        what = "sparse_dot_topn, presence only"
        yield compared(what, presence, took, ours_presence, same)
    except EngineError as error:
        yield {"what": "sparse_dot_topn", "skipped": str(error)}
    few = max(n // 4, 1)
    took, first = peers.scipy_product(case, matrix, few)
    same = np.array_equal(first, count.best[:few])
    what = "SciPy product, presence only, 1 core"
    yield compared(what, case.plan("presence", few), took, ours_presence, same)
    del matrix
    took, found = peers.sql(case, few)
    same = np.array_equal(found, rh.best[:few])
    yield compared("DuckDB SQL, full score", case.plan("scoreboard-rh", few), took, ours, same)


_START = """
import time
import numpy as np
import standout as so
rng = np.random.default_rng(0)
data = so.Dataset.from_arrays(rng.integers(0, 500, 9000), rng.integers(0, 300, 9000), rng.integers(1, 6, 9000),
                              rng.integers(0, 900, 9000))
aux = so.Adversary(knows=4, value_within=1, time_within=14).sample(data, range(100), seed=1)
start = time.perf_counter()
so.attack("scoreboard-rh").run(data, aux)
print(time.perf_counter() - start)
"""


def start_times() -> Iterator[Line]:
    """First attack of a process on a small release: before anything is compiled, and with compiled code on disk."""
    with tempfile.TemporaryDirectory() as folder:
        for what in ("first use: compile the kernel", "later starts: load it"):
            done = subprocess.run(
                [sys.executable, "-P", "-c", _START],
                capture_output=True,
                text=True,
                check=True,
                env={**os.environ, "NUMBA_CACHE_DIR": folder},
            )
            yield {"what": what, "start_s": float(done.stdout)}


_READ = """
import re, time
start = time.perf_counter()
{work}
took = time.perf_counter() - start
# getrusage would count the size inherited from the parent
print(took, int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1)) / 1024)
"""
_OURS = "from standout.data.dataset import Dataset\nd = Dataset.read({path!r})\nd.index"
_THEIRS = (
    "import duckdb\ndb = duckdb.connect(config={{'threads': {threads}}})\ndb.execute('SET enable_progress_bar = false')\n"
    "db.execute(\"CREATE TABLE e AS SELECT * FROM read_parquet('{path}') ORDER BY item\")"
)


def read_times(size: float, threads: int) -> Iterator[Line]:
    """Parquet to a queryable index: ours against DuckDB's sorted table, each in a separate process."""
    path = str(twin_file(size))
    for what, work in (
        ("standout: read and index", _OURS),
        ("DuckDB: CREATE TABLE … ORDER BY item", _THEIRS),
    ):
        code = _READ.format(work=work.format(path=path, threads=threads))
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
        )
        if done.returncode:
            yield {"what": what, "skipped": done.stderr.strip().splitlines()[-1]}
        else:
            seconds, peak = map(float, done.stdout.strip().splitlines()[-1].split()[-2:])
            yield {"what": what, "seconds": seconds, "peak_mib": peak}


def index_size(case: BenchCase) -> Line:
    """Resident size of the index, and the addition by a batch of queries."""
    plan = case.plan("scoreboard-rh")
    batch = sum(array.nbytes for array in plan.tables.arrays().values())
    return {
        "what": "memory",
        "index_mib": case.data.index.nbytes / 2**20,
        "batch_mib": batch / 2**20,
        "entries": case.data.n_entries,
    }


def default_audit(case: BenchCase, targets: int = TARGETS) -> Line:
    """Core seconds of an audit with the default sweep and attacks, and what the C loop takes for as many queries.

    The C loop scores the knowledge of each target once, with the tables of scoreboard-rh. The audit
    asks each query six times: three attacks, with the target in the release and without. Its time
    includes drawing, fitting and judging.
    """
    audit = Audit(
        case.data, targets=2, seed=SEED, engine=MemoryEngine(case.threads), describe=False
    )
    audit.run(progress=False)
    # knowledge for calibration is part of the audit
    forget(case.data, "presence")
    audit.targets = targets
    took, _ = timed(lambda: audit.run(progress=False))
    line = {
        "what": "default audit",
        "seconds": took.wall,
        "core_seconds": took.core,
        "kinds": len(audit.adversaries),
        "targets": targets,
    }
    try:
        lib = peers.build()
    except EngineError as error:
        return {**line, "skipped": str(error)}
    theirs = 0.0
    for who in audit.adversaries:
        plan = _plan_with_tables(case.data, who, targets)
        run = partial(peers.run, lib, plan, case.data.index, case.threads)
        theirs += 2 * len(audit.attacks) * shortest(run)[0].core
    return {**line, "c_core_seconds": theirs, "ours_over_theirs": took.core / theirs}


def _plan_with_tables(data: Dataset, who: Adversary, n: int) -> Plan:
    """Plan of scoreboard-rh with tables for values and times, as the C loop reads both, also where neither is known."""
    chosen = sample_targets(data, who.eligible(data), n, SEED)
    facts = who.sample(data, chosen, SEED).bind(data)
    plan = attack("scoreboard-rh").compile(data, facts, facts.nobody)
    value, time = plan.tables.fact.value, plan.tables.row.time
    n, width = plan.tables.fact.item.size, data.n_levels + 1
    value = np.ascontiguousarray(np.broadcast_to(value.reshape(n, -1), (n, width))).reshape(-1)
    time = np.ascontiguousarray(np.broadcast_to(time, (time.shape[0], max(time.shape[1], 3))))
    return plan.replace_tables(value=value, value_start=width * np.arange(n), time=time)
