"""Measure the chunked engine against the memory engine, and check the cost model of docs/scale.md.

python benchmarks/chunked.py --copies 0.05,1,3 --work FOLDER --out benchmarks/results/chunked.jsonl

The data are perturbed copies of the Netflix Prize twin (99 million entries each), as a folder of
Parquet files. Each engine runs in its own process. Resident memory is the peak (VmHWM) beyond that
of a process that has attacked a small dataset. `--keep` leaves the data in FOLDER; 3 copies take 3
GB as Parquet and 4 GB in binary form.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

N_RECORDS = 480_189
WHO = {"knows": 8, "wrong": 2, "value_within": 1, "time_within": 14}


def make(copies: float, folder: Path) -> None:
    """Write the Parquet files."""
    import duckdb

    from standout.bench.case import twin_file

    folder.mkdir(parents=True)
    source = twin_file(min(copies, 1.0))
    con = duckdb.connect(config={"threads": 2, "memory_limit": "1500MB"})
    for k in range(max(round(copies), 1)):
        shift = f"((item::BIGINT * 7919 + record::BIGINT * 104729) % {1 + 14 * k})::INTEGER"
        con.execute(
            f"COPY (SELECT (record + {k * N_RECORDS})::INTEGER AS record, item, value, (day + {shift}) AS day "
            f"FROM read_parquet('{source}')) TO '{folder}/part-{k}.parquet' (FORMAT parquet, COMPRESSION snappy)"
        )


def peak() -> int:
    """Largest resident size of this process since `reset`, in bytes."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


def reset() -> int:
    """Start counting the peak again; the resident size now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def clocks() -> tuple[float, float]:
    """Wall and CPU seconds."""
    return time.perf_counter(), time.process_time()


def warm_up() -> None:
    """Load libraries and compiled code, so that they do not count."""
    import numpy as np

    import standout as so

    rng = np.random.default_rng(0)
    columns = (rng.integers(0, most, 9000) for most in (500, 300, 5, 900))
    data = so.Dataset.from_arrays(*columns)
    who = so.Adversary(**WHO)
    targets = who.choose_targets(data, 20, 1)[1]
    for engine in ("memory", "chunked"):
        so.attack("scoreboard-rh").run(data, who.sample(data, targets, 1), engine, watch=targets)


def measure(engine: str, source: Path, work: Path, n_targets: int, memory: str) -> dict[str, Any]:
    """One engine, in this process: read, draw knowledge, attack."""
    import os

    import numpy as np

    import standout as so

    warm_up()
    before, (wall, core) = reset(), clocks()
    if engine == "chunked":
        data = so.ChunkedDataset.read(source, memory=memory, work=work)
        data.home_engine.store = None  # a second round would find the result of the first
    else:  # what the chunked engine wrote is a saved dataset
        data = so.Dataset.open(next(work.glob("data-*")), verify=False)
    read, who = clocks(), so.Adversary(**WHO)
    n_eligible, targets = who.choose_targets(data, n_targets, 7)
    aux = who.sample(data, targets, 7)
    drawn = clocks()
    attack = so.attack("scoreboard-rh")
    rounds = []
    for lineup in (False, False, True):
        start = clocks()
        verdicts = attack.run(data, aux, engine, watch=targets, lineup=lineup)
        rounds.append([b - a for a, b in zip(start, clocks(), strict=True)])
    scored, with_lineup = np.min(rounds[:2], axis=0), rounds[2]
    facts = aux.bind(data)
    postings = float(data.supports[facts.item[facts.item >= 0]].sum())
    return {
        "engine": engine,
        "entries": data.n_entries,
        "records": data.n_records,
        "targets": int(targets.size),
        "memory": memory,
        "shards": len(data.all_shards),
        "load": os.getloadavg()[0],
        "eligible": n_eligible,
        "read_s": read[0] - wall,
        "read_core_s": read[1] - core,
        "draw_core_s": drawn[1] - read[1],
        "score_s": float(scored[0]),
        "score_core_ms_per_target": 1e3 * float(scored[1]) / targets.size,
        "lineup_core_ms_per_target": 1e3 * with_lineup[1] / targets.size,
        "postings_per_target": postings / targets.size,
        "known": WHO["knows"],
        "base_bytes": before,
        "peak_bytes_above": peak() - before,
        "best": int(verdicts.best.sum()),
        "ranks": int(verdicts.rank.sum()),
        "hits": float(verdicts.credit.sum()),
    }


def main() -> None:
    """Measure each size in separate processes and write one line per engine and size."""
    ask = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ask.add_argument("--copies", default="0.05,1,3", help="sizes, in copies of the twin")
    ask.add_argument("--targets", type=int, default=1000)
    ask.add_argument("--memory", default="2GB")
    ask.add_argument("--work", type=Path, required=True)
    ask.add_argument("--out", type=Path)
    ask.add_argument("--keep", action="store_true")
    ask.add_argument("--one", nargs=2, metavar=("ENGINE", "FOLDER"), help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.one:
        folder = Path(given.one[1])
        print(
            json.dumps(
                measure(
                    given.one[0], folder / "parquet", folder / "work", given.targets, given.memory
                )
            )
        )
        return
    lines = []
    for copies in map(float, given.copies.split(",")):
        folder = given.work / f"copies-{copies:g}"
        if not (folder / "parquet").exists():
            make(copies, folder / "parquet")
        for engine in ("chunked", "memory"):
            done = subprocess.run(
                [
                    sys.executable,
                    __file__,
                    "--work",
                    str(given.work),
                    "--targets",
                    str(given.targets),
                    "--memory",
                    given.memory,
                    "--one",
                    engine,
                    str(folder),
                ],
                capture_output=True,
                text=True,
                check=True,
            )
            lines.append({"copies": copies, **json.loads(done.stdout.strip().splitlines()[-1])})
            print(json.dumps(lines[-1]), flush=True)
        mine, usual = lines[-2:]
        ratio = mine["score_core_ms_per_target"] / usual["score_core_ms_per_target"]
        same = all(mine[key] == usual[key] for key in ("best", "ranks", "hits"))
        above = mine["peak_bytes_above"] / 1e9
        print(
            f"{copies:g} copies: {ratio:.2f} × the core time of the memory engine, same answers: {same}, "
            f"{above:.2f} GB above the interpreter",
            flush=True,
        )
        if not given.keep:
            shutil.rmtree(folder)
    if given.out is not None:
        given.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
