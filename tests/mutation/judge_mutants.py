"""`python -m mutation.judge_mutants --n 150 --seed 0 --workers 2`: do the tests notice small changes to the code?

Each mutant is one change in one file, in a copy of the tree. First the tests nearest to the file
run, then all tests of the folders below; the first test that fails kills the mutant. What survives
is printed. A run with a log continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))

from mutation.mutants import Mutant, mutant, places  # noqa: E402

FOLDERS = ("formulas", "scoring", "attacks", "audit", "adversary")
NOT = ("scoring/gpu.py",)
"""Needs a device."""
WIDE = ("formulas", "adversary", "scoring", "attacks", "audit", "engines", "gate", "linking")
"""Folders of tests that run if the nearest tests pass."""
COPIED = (
    "src",
    "tests",
    "docs",
    "examples",
    "pyproject.toml",
    "README.md",
    "MAP.md",
    "LICENSE",
    "Makefile",
    "constraints.txt",
)
NEAR_SECONDS, WIDE_SECONDS = 900, 1800
Line = dict[str, Any]
Job = tuple[str, int, Mutant]


def sampled(root: Path, n: int, seed: int, only: str | None = None) -> list[Job]:
    """File, number and mutant of a random sample over all places in the five folders, or in what `only` names."""
    everything: list[tuple[str, int]] = []
    texts: dict[str, str] = {}
    package = root / "src" / "standout"
    for path in sorted(p for folder in FOLDERS for p in (package / folder).glob("*.py")):
        name = path.relative_to(package).as_posix()
        file, _, line = (only or name).partition(":")
        if name not in NOT and name.startswith(file):
            texts[name] = path.read_text(encoding="utf-8")
            lines = enumerate(places(texts[name]))
            everything += [(name, k) for k, at in lines if not line or at == int(line)]
    chosen = random.Random(seed).sample(everything, min(n, len(everything)))
    return [(name, k, mutant(texts[name], k)) for name, k in chosen]


def near(root: Path, name: str) -> list[str]:
    """Test files nearest to a source file: its doctests, those of its name or its first word, that import it, of its folder."""
    folder, stem = name.removesuffix(".py").split("/")
    files = [f"src/standout/{name}"]
    tests = sorted(
        p
        for p in (root / "tests").rglob("test_*.py")
        if p.parent.name in WIDE and "realdata" not in p.name
    )
    named = re.compile(rf"standout\.{folder}\.{stem}\b|standout\.{folder} import .*\b{stem}\b")
    for wanted in (
        lambda p: stem in p.name,
        lambda p: stem.partition("_")[0] in p.name,
        lambda p: named.search(p.read_text(encoding="utf-8")),
        lambda p: p.parent.name == folder,
    ):
        files += [p.relative_to(root).as_posix() for p in tests if wanted(p)]
    return list(dict.fromkeys(files))


def wide(root: Path, done: list[str]) -> list[str]:
    """The other test files of the wide folders."""
    tests = sorted(
        p
        for folder in WIDE
        for p in (root / "tests" / folder).glob("test_*.py")
        if "realdata" not in p.name
    )
    return [f for f in (p.relative_to(root).as_posix() for p in tests) if f not in done]


class Tree:
    """A copy of a repository in which one file at a time is changed."""

    def __init__(self, folder: Path, original: Path, deselected: tuple[str, ...] = ()) -> None:
        self.root, self.original, self.deselected = folder, original, deselected
        for name in COPIED:
            here = original / name
            if here.is_dir():
                shutil.copytree(here, folder / name)  # with times: compiled functions stay valid
            elif here.exists():
                shutil.copy2(here, folder / name)

    def judge(self, name: str, mutant: Mutant, *, quick: bool = False) -> Line:
        """What came of a mutant: killed, timeout or survived, and by which test. Quick: only the nearest tests run."""
        path = self.root / "src" / "standout" / name
        began, first = time.monotonic(), near(self.root, name)
        try:
            path.write_text(mutant.source, encoding="utf-8")
            result, by = self.run(first, NEAR_SECONDS)
            if result == "survived" and not quick:
                result, by = self.run(wide(self.root, first), WIDE_SECONDS)
        finally:
            shutil.copy2(self.original / "src" / "standout" / name, path)
            self._restore()
        return {"result": result, "by": by, "seconds": round(time.monotonic() - began)}

    def _restore(self) -> None:
        """Bring back what was compiled before: each mutant was compiled over it, and would be compiled again."""
        for folder in (self.original / "src").rglob("__pycache__"):
            shutil.copytree(
                folder, self.root / folder.relative_to(self.original), dirs_exist_ok=True
            )

    def run(self, files: list[str], seconds: float, *more: str) -> tuple[str, str]:
        """Run test files until one fails."""
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "not slow and not browser and not gpu and not realdata",
            *more,
            *files,
        ]
        words += [word for name in self.deselected for word in ("--deselect", name)]
        environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "NUMBA_NUM_THREADS": "2",
            "NUMBA_OPT": "1",  # a mutant is compiled for a few small tests
            "PYTHONHASHSEED": "0",
        }
        with subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            errors="replace",
            cwd=self.root,
            env=environment,
            start_new_session=True,
        ) as process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)  # also what the tests started
                return "timeout", ""
        if process.returncode in (0, 5):  # 5: no tests
            return "survived", ""
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
        return "killed", " ".join(failed) or f"exit {process.returncode}"


def control(folder: Path, workers: int) -> Tree:
    """A tree without a mutant whose tests have run: functions are compiled, and tests that fail anyway are left out."""
    tree = Tree(folder, ROOT)
    result, by = tree.run(
        wide(tree.root, []), 3600, "--maxfail=1000", "-n", str(workers), "--dist", "loadfile"
    )
    if result == "timeout" or by.startswith("exit"):
        raise SystemExit(f"the tests do not run without a mutant: {result} {by}")
    if by:
        print(f"left out, because they fail without a mutant: {by}", flush=True)
    return Tree(folder.parent / "warm", tree.root, tuple(by.split()))


def summary(lines: list[Line]) -> list[str]:
    """Score by folder as a Markdown table, and the survivors."""
    counts = {
        folder: Counter(x["result"] for x in lines if x["file"].startswith(folder + "/"))
        for folder in FOLDERS
    }
    counts["all"] = sum(counts.values(), Counter())
    made = [
        "| folder | mutants | killed | timeout | survived | score |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for folder, c in counts.items():
        n = c.total()
        score = f"{100 * (n - c['survived']) / n:.0f} %" if n else ""
        made.append(
            f"| {folder} | {n} | {c['killed']} | {c['timeout']} | {c['survived']} | {score} |"
        )
    survivors = sorted(
        (x for x in lines if x["result"] == "survived"), key=lambda x: (x["file"], x["line"])
    )
    return [*made, "", *(f"- `{x['file']}:{x['line']}` `{x['what']}`" for x in survivors)]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=150, help="mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only",
        help="a file as audit/judge.py, a line of it as audit/judge.py:80, or a folder as audit/",
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="only the nearest tests, and no run without a mutant before",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=float("inf"),
        help="start nothing new after so many seconds",
    )
    parser.add_argument(
        "--log", type=Path, help="file of finished mutants; a second run continues it"
    )
    parser.add_argument(
        "--again", action="store_true", help="run those that survived in the log once more"
    )
    parser.add_argument("--summary", action="store_true", help="only print the log")
    asked = parser.parse_args()
    old = (
        [json.loads(x) for x in asked.log.read_text().splitlines()]
        if asked.log and asked.log.exists()
        else []
    )
    lines = {(x["file"], x["what"], x["line"], x["number"]): x for x in old}
    began, trees, own = (
        time.monotonic(),
        tempfile.TemporaryDirectory(prefix="mutation-"),
        threading.local(),
    )

    def work(job: Job) -> Line | None:
        name, number, mutant = job
        if time.monotonic() - began > asked.seconds:
            return None
        if not hasattr(own, "tree"):
            own.tree = Tree(Path(tempfile.mkdtemp(dir=trees.name)), warm.root, warm.deselected)
        about = {"file": name, "line": mutant.line, "number": number, "what": mutant.what}
        return {**about, **own.tree.judge(name, mutant, quick=asked.quick)}

    jobs = [] if asked.summary else sampled(ROOT, asked.n, asked.seed, asked.only)
    done = {
        key for key, line in lines.items() if not (asked.again and line["result"] == "survived")
    }
    wanted = [(name, k, m) for name, k, m in jobs if (name, m.what, m.line, k) not in done]
    with trees, ThreadPoolExecutor(asked.workers) as pool:
        if wanted:
            place = Path(trees.name, "control")
            warm = Tree(place, ROOT) if asked.quick else control(place, asked.workers)
        for job in as_completed([pool.submit(work, one) for one in wanted]):
            if (line := job.result()) is None:
                continue
            lines[line["file"], line["what"], line["line"], line["number"]] = line
            print(json.dumps(line, ensure_ascii=False), flush=True)
            if asked.log is not None:
                with asked.log.open("a") as log:
                    log.write(json.dumps(line, ensure_ascii=False) + "\n")
    print("\n".join(summary(list(lines.values()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
