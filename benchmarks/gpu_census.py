"""Attack every record of a Netflix-sized release on one GPU, and compare the answers with the CPU engine's.

    python benchmarks/gpu_census.py --work /tmp/census --out census.jsonl [--records 480189]
    [--tune]

Makes the release (our own twin) and its packed folder first; prints one JSON line per measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import standout as so
from standout.data.dataset import Dataset
from standout.engines.gpu import GpuEngine
from standout.engines.memory import MemoryEngine
from standout.scoring.tasks import Mass, Score, ScoreRecord

WHO = so.Adversary(knows=8, wrong=2, value_within=1, time_within=14)
SHAPES = [
    (20_480, 384, 2),
    (20_480, 512, 2),
    (20_480, 448, 2),
    (20_480, 320, 2),
    (20_480, 768, 2),
    (49_152, 1024, 1),
    (40_960, 1024, 1),
]


def say(out: Path, **line: object) -> None:
    """Print a line and keep it."""
    text = json.dumps(line)
    print(text, flush=True)
    with out.open("a") as file:
        file.write(text + "\n")


def make(folder: Path, n_records: int, out: Path) -> None:
    from standout.data.synthetic import twin_arrays

    cores = os.cpu_count() or 1
    t = time.perf_counter()
    arrays = twin_arrays(n_records, threads=cores)
    made = time.perf_counter() - t
    t = time.perf_counter()
    data = Dataset.from_arrays(*arrays)
    read = time.perf_counter() - t
    data.save(folder)
    say(
        out,
        what="release",
        entries=data.n_entries,
        records=data.n_records,
        made_s=made,
        read_s=read,
        cores=cores,
    )


def attacks(data: Dataset) -> dict[str, so.Attack]:
    """What the device runs; its likelihood is the product over facts, because the exact one runs on the CPU."""
    return {
        "scoreboard-rh": so.attack("scoreboard-rh"),
        "likelihood": so.attack("likelihood", noise=so.Noise.informed(WHO, data)),
    }


def compile_all(attack: so.Attack, data: Dataset, targets: np.ndarray):
    """Plans of all targets, in the engine's batches."""
    facts = WHO.sample(data, targets, seed=7).bind(data)
    return attack.fit(data, facts), facts


def tune(data: Dataset, out: Path) -> tuple[int, int, int]:
    """Time the launch shapes on a sample of targets; return the one that is fastest over both attacks."""
    targets = WHO.eligible(data)
    targets = targets[np.linspace(0, targets.size - 1, min(targets.size, 20_000)).astype(int)]
    plans = {}
    for name, made in attacks(data).items():
        attack, facts = compile_all(made, data, targets)
        plans[name] = attack.compile(data, facts, np.full(targets.size, -1))
    postings = int(data.supports[plans["scoreboard-rh"].tables.fact.item].sum())
    times, shards = {}, [data.index]
    for shape in SHAPES:
        engine = GpuEngine(*shape)
        for name, plan in plans.items():
            engine.map(Score(plan), shards)
            took = []
            for _ in range(3):
                before = engine.kernel_seconds
                engine.map(Score(plan), shards)
                took.append(engine.kernel_seconds - before)
            times[name, shape] = min(took)
            say(
                out,
                what="shape",
                attack=name,
                block=shape[0],
                threads=shape[1],
                per_sm=shape[2],
                kernel_s=min(took),
                us_per_target=1e6 * min(took) / targets.size,
                postings_per_ns=postings / min(took) / 1e9,
            )
    return min(SHAPES, key=lambda s: sum(times[name, s] for name in plans))


def census(data: Dataset, shape: tuple[int, int, int], out: Path) -> None:
    """Kernel time of all targets, and equality with the CPU engine on a sample of them."""
    targets = WHO.eligible(data)
    engine = GpuEngine(*shape, batch_queries=131_072)
    t, shards = time.perf_counter(), [data.index]
    index = engine.index(shards[0])
    say(
        out,
        what="index",
        gpu_s=time.perf_counter() - t,
        mib=index.nbytes / 2**20,
        device=engine.device_name,
    )
    for name, made in attacks(data).items():
        attack, facts = compile_all(made, data, targets)
        total, wall, mass = 0.0, time.perf_counter(), 0.0
        hits = 0.0
        for lo in range(0, targets.size, engine.batch_queries):
            part = facts.part(lo, min(lo + engine.batch_queries, targets.size))
            plan = attack.compile(data, part, np.full(part.n_queries, -1))
            if lo == 0:
                engine.map(Score(plan.replace_tables()), shards)
            before = engine.kernel_seconds
            partials = engine.map(Score(plan), shards)
            total += engine.kernel_seconds - before
            on_top = (
                engine.map(ScoreRecord(plan, targets[lo : lo + part.n_queries]), shards).score
                == partials.best_score
            )
            hits += float((on_top / np.maximum(partials.n_top, 1)).sum())
            before = engine.kernel_seconds
            engine.map(
                Mass(plan, partials.best_score, 1.0 / np.maximum(partials.sigma(), 1.0)), shards
            )
            mass += engine.kernel_seconds - before
        say(
            out,
            what="census",
            attack=name,
            targets=int(targets.size),
            kernel_s=total,
            mass_kernel_s=mass,
            us_per_target=1e6 * total / targets.size,
            wall_s=time.perf_counter() - wall,
            found=hits / targets.size,
        )
        compare(data, attack, targets, engine, out)


def compare(
    data: Dataset, attack: so.Attack, targets: np.ndarray, engine: GpuEngine, out: Path
) -> None:
    some = targets[np.linspace(0, targets.size - 1, 2_000).astype(int)]
    aux = WHO.sample(data, some, seed=7)
    usual = MemoryEngine()
    t = time.perf_counter()
    theirs = attack.run(data, aux, usual, watch=some)
    cpu_s = time.perf_counter() - t
    mine = attack.run(data, aux, engine, watch=some)
    exact = [
        "best",
        "runner_up",
        "score",
        "second",
        "rank",
        "matched",
        "n_candidates",
        "n_matching",
    ]
    same = {
        f: bool(
            np.array_equal(
                getattr(mine, f), getattr(theirs, f), equal_nan=getattr(mine, f).dtype.kind == "f"
            )
        )
        for f in exact
    }
    gap = {
        f: float(
            np.nanmax(
                np.abs(getattr(mine, f) - getattr(theirs, f))
                / np.maximum(np.abs(getattr(theirs, f)), 1e-12)
            )
        )
        for f in ("sigma", "share", "bits")
    }
    say(
        out,
        what="compare",
        attack=attack.name,
        n=int(some.size),
        same=same,
        relative=gap,
        cpu_s=cpu_s,
        cores=os.cpu_count(),
    )


def findings(folder: Path, out: Path, shape: tuple[int, int, int]) -> None:
    """From the packed folder to findings, in a separate process: only the kernel caches on disk are warm."""
    code = f"""
import time; t = time.perf_counter()
import standout as so
from standout.data.dataset import Dataset
from standout.engines.gpu import GpuEngine
marks = {{"import": time.perf_counter() - t}}
data = Dataset.open({str(folder)!r}); marks["open"] = time.perf_counter() - t
engine = GpuEngine(*{shape!r}, batch_queries=131072); engine.index(data.index); marks["index"] = time.perf_counter() - t
who = so.Adversary(knows=8, wrong=2, value_within=1, time_within=14)
f = so.Audit(data, adversaries=[who], attacks=["scoreboard-rh"], targets="all", seed=7, engine=engine).run()
marks["findings"] = time.perf_counter() - t; marks["kernel"] = engine.kernel_seconds
import json; print(json.dumps(marks))
"""
    t = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wall = time.perf_counter() - t
    last = done.stdout.strip().splitlines()[-1:] or [done.stderr[-2000:]]
    say(out, what="findings", wall_s=wall, marks=last[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--records", type=int, default=480_189)
    parser.add_argument("--tune", action="store_true")
    options = parser.parse_args()
    folder = options.work / f"twin-{options.records}"
    options.work.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        make(folder, options.records, options.out)
    data = Dataset.open(folder)
    shape = tune(data, options.out) if options.tune else SHAPES[0]
    census(data, shape, options.out)
    for _ in range(2):
        findings(folder, options.out, shape)


if __name__ == "__main__":
    main()
