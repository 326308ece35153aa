"""`python -m fuzz.run --n 1000000 --workers 16 --log fuzz.jsonl`: damage files of every format and read them.

A crash, a hang, an exception that is not a `StandoutError`, lost rows, a label in a message, a file
left behind or memory without bound is a failure. A failure is a function of format and seed, so
that it can be repeated: `--only csv --seed 4711 --n 1`.

A run with a log continues where an earlier one with the same seed and log was stopped. `--summary`
prints the log as a table.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from fuzz.corpus import store  # noqa: E402

WEIGHTS = {
    "csv": 4,
    "tsv": 4,
    "semicolon.csv": 4,
    "quoted.csv": 4,
    "latin.csv": 4,
    "utf16.csv": 4,
    "csv.gz": 4,
    "csv.zst": 4,
    "zip": 4,
    "data": 4,
    "dat": 4,
    "jsonl": 4,
    "combined_data_1.txt": 10,
    "json": 5,
    "sqlite": 5,
    "xlsx": 8,
    "duckdb": 15,
    "parquet": 30,
    "numbers.parquet": 40,
    "plain.parquet": 40,
    "arrow": 40,
    "stream.arrow": 40,
    "zstd.arrow": 40,
    "saved": 40,
    "findings.json": 90,
    "evidence.json": 120,
    "policy.toml": 150,
    "items.csv": 150,
    "manifest.json": 120,
}
"""Relative number of inputs per format: formats that are read fast get more of them."""
ENDINGS = tuple(WEIGHTS)
SLOW, FAST = 250, 2500
"""Files that one process reads, of formats with a low and a high weight: a leak of memory in a reader cannot add up."""
WORDS = ("read", "refused", "bug", "crash", "hang", "memory")
Line = dict[str, Any]


def chunks(endings: Iterable[str], n: int, seed: int) -> list[tuple[str, int, int]]:
    """Format, first and last seed (exclusive) of the pieces that one process reads; a run that is stopped keeps the weights."""
    wanted, made = list(endings), []
    whole = sum(WEIGHTS[ending] for ending in wanted)
    for ending in wanted:
        size, many = SLOW if WEIGHTS[ending] < 20 else FAST, -(-n * WEIGHTS[ending] // whole)
        starts = range(0, many, size)
        made += [(at / many, ending, seed + at, seed + min(at + size, many)) for at in starts]
    return [(ending, first, last) for _, ending, first, last in sorted(made, key=lambda x: x[0])]


def fuzz(ending: str, first: int, last: int, corpus: Path) -> tuple[Line, list[Line]]:
    """Read the inputs of one format with seeds from `first` to `last`; the counts, and the failures."""
    counts, failures, peak, began, start = Counter[str](), [], 0, time.monotonic(), first
    while start < last:
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=corpus) as folder:
            process = subprocess.run(
                [
                    sys.executable,
                    str(HERE / "worker.py"),
                    str(corpus),
                    folder,
                    ending,
                    str(start),
                    str(last),
                ],
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                cwd=folder,
                env={**_environment(), "TMPDIR": folder},
            )
        at = None
        for line in process.stdout.splitlines():
            number, _, word = line.partition(" ")
            if number == "peak":
                peak = max(peak, int(word))
                continue
            at = int(number) if number.isdigit() else at
            if word.startswith("{") or number.startswith("{"):
                answer = json.loads(line[line.index("{") :])
                failures.append({"format": ending, **answer})
                word = answer["what"]
            counts[word] += bool(word)
        if process.returncode == 0:
            break
        if at is None:
            raise RuntimeError(f"the worker does not start: {process.stderr[-2000:]}")
        kind = "hang" if -process.returncode in (signal.SIGALRM, signal.SIGPROF) else "crash"
        counts[kind] += 1
        failures.append(
            {
                "format": ending,
                "seed": at,
                "what": f"{kind} ({process.returncode})",
                "error": process.stderr[-1000:],
            }
        )
        start = at + 1
    line = {
        "format": ending,
        "first": first,
        "last": last,
        "seconds": round(time.monotonic() - began, 1),
        "peak_mb": peak,
    }
    return {**line, **counts}, failures


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parent), *sys.path])}


def summary(lines: Iterable[Line]) -> list[str]:
    """A Markdown table: one row per format, and one for all."""
    rows: dict[str, Counter[str]] = {}
    peaks: Counter[str] = Counter()
    for line in lines:
        if "first" in line:
            counts = rows.setdefault(line["format"], Counter())
            counts.update({word: line.get(word, 0) for word in WORDS})
            counts["core_ms"] += round(1000 * line["seconds"])
            peaks[line["format"]] = max(peaks[line["format"]], line["peak_mb"])
    made = [
        f"| format | inputs | {' | '.join(WORDS)} | ms per input | peak MB |",
        "|---|" + "---:|" * (len(WORDS) + 3),
    ]
    for ending in (*(e for e in ENDINGS if e in rows), "all"):
        counts = sum(rows.values(), Counter()) if ending == "all" else rows[ending]
        n, peak = (
            sum(counts[word] for word in WORDS),
            max(peaks.values(), default=0) if ending == "all" else peaks[ending],
        )
        cells = [f"{counts[word]:,}" for word in WORDS]
        made.append(
            f"| {ending} | {n:,} | {' | '.join(cells)} | {counts['core_ms'] / max(n, 1):.1f} | {peak:,} |"
        )
    return made


def _lines(log: Path | None) -> list[Line]:
    """Lines of a log; a last line that was cut off is left out."""
    found: list[Line] = []
    content = log.read_text() if log is not None and log.exists() else ""
    for text in content.splitlines():
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    if log is not None and content and not content.endswith("\n"):
        log.write_text(content + "\n")
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=2000, help="inputs of all formats together")
    parser.add_argument("--seed", type=int, default=0, help="first seed")
    parser.add_argument("--only", help="formats, comma-separated")
    parser.add_argument("--workers", type=int, default=1, help="processes at the same time")
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="start nothing new after so many seconds",
    )
    parser.add_argument(
        "--log", type=Path, help="file of finished pieces and failures; a second run continues it"
    )
    parser.add_argument("--summary", action="store_true", help="only print the log as a table")
    asked = parser.parse_args()
    done = _lines(asked.log)
    if asked.summary:
        print("\n".join(summary(done)))
        return 0
    known = {(line["format"], line["first"], line["last"]) for line in done if "first" in line}
    wanted = [
        c
        for c in chunks(asked.only.split(",") if asked.only else ENDINGS, asked.n, asked.seed)
        if c not in known
    ]
    began, made, failures = time.monotonic(), [], [line for line in done if "first" not in line]

    def work(chunk: tuple[str, int, int]) -> tuple[Line, list[Line]] | None:
        return None if time.monotonic() - began > asked.seconds else fuzz(*chunk, corpus)

    # in memory where that exists: the files are small and many
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with (
        tempfile.TemporaryDirectory(prefix="fuzz-corpus-", dir=place) as folder,
        ThreadPoolExecutor(asked.workers) as pool,
    ):
        corpus = Path(folder)
        store(corpus)
        for job in as_completed([pool.submit(work, chunk) for chunk in wanted]):
            if (result := job.result()) is None:
                continue
            made.append(result[0])
            failures += result[1]
            for line in (result[0], *result[1]):
                print(json.dumps(line), flush=True)
                if asked.log is not None:
                    with asked.log.open("a") as log:
                        log.write(json.dumps(line) + "\n")
    print("\n".join(summary([*done, *made])))
    left = len(wanted) - len(made)
    print(
        f"{time.monotonic() - began:,.0f} s; {len(failures)} failures"
        + (f"; {left} pieces are left" if left else "")
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
