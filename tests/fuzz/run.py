"""`python -m fuzz.run --n 20000 --seed 0`: damage files of every format and read them in processes with limits.

A crash, a hang, an exception that is not a `StandoutError`, lost rows or a label in a message is a failure. A failure is a
function of format and seed, so that it can be repeated: `--only csv --seed 4711 --n 1`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
CHUNK = 500
"""Inputs per process: a leak of memory in a reader cannot add up."""
ENDINGS = (
    "csv", "tsv", "semicolon.csv", "quoted.csv", "latin.csv", "utf16.csv", "csv.gz", "csv.zst", "zip", "data", "dat",
    "combined_data_1.txt", "jsonl", "json", "parquet", "numbers.parquet", "plain.parquet", "arrow", "stream.arrow",
    "zstd.arrow", "sqlite", "duckdb", "xlsx", "findings.json", "policy.toml", "saved",
)  # fmt: skip


def fuzz(ending: str, first: int, last: int) -> tuple[Counter[str], list[dict[str, object]]]:
    """Read the inputs of one format with seeds from `first` to `last`; the counts, and the failures."""
    counts: Counter[str] = Counter()
    failures: list[dict[str, object]] = []
    while first < last:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            process = subprocess.run([sys.executable, str(HERE / "worker.py"), folder, ending, str(first), str(last)],
                                     capture_output=True, text=True, check=False, cwd=folder,
                                     env={**_environment(), "TMPDIR": folder})  # fmt: skip
        answers = [json.loads(line) for line in process.stdout.splitlines() if line.startswith('{"seed"')]
        for answer in answers:
            if "what" in answer:
                counts[answer["what"]] += 1
                if answer["what"] == "bug":
                    failures.append({"format": ending, **answer})
        if process.returncode == 0:
            return counts, failures
        if not answers:
            raise RuntimeError(f"the worker does not start: {process.stderr[-2000:]}")
        broken = int(answers[-1]["seed"])
        kind = "hang" if process.returncode == -14 else f"crash ({process.returncode})"
        counts[kind.partition(" ")[0]] += 1
        failures.append({"format": ending, "seed": broken, "what": kind, "error": process.stderr[-300:]})
        first = broken + 1
    return counts, failures


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=2000, help="inputs of all formats together")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--only", help="formats, comma-separated")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--log", type=Path, help="file to append one line per format and one per failure to")
    asked = parser.parse_args()
    endings = asked.only.split(",") if asked.only else ENDINGS
    each = -(-asked.n // len(endings))
    began, total, failures = time.monotonic(), Counter[str](), []
    with ThreadPoolExecutor(asked.workers) as pool:
        jobs = []
        for ending in endings:
            ends = [*range(asked.seed, asked.seed + each, CHUNK), asked.seed + each]
            jobs += [(ending, pool.submit(fuzz, ending, a, b)) for a, b in pairwise(ends)]
        for ending, job in jobs:
            counts, found = job.result()
            total += counts
            failures += found
            lines = [
                {"format": ending, "seed": asked.seed, "seconds": round(time.monotonic() - began), **counts},
                *found,
            ]
            for line in lines:
                print(json.dumps(line), flush=True)
                if asked.log is not None:
                    with asked.log.open("a") as log:
                        log.write(json.dumps(line) + "\n")
    n = sum(total.values())
    print(f"{n:,} inputs in {time.monotonic() - began:,.0f} s: {dict(total)}; {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
