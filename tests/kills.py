"""Long commands that are killed at random moments and started again, until they finish: what they write must not change."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

MAIN = "from standout.cli.start import main; main()"
VERBS = {
    "audit": (
        "audit",
        "ratings.csv",
        "--targets",
        "40",
        "--knows",
        "2,4,8",
        "--attacks",
        "scoreboard-rh,likelihood",
    ),
    "frontier": (
        "frontier",
        "ratings.csv",
        "--targets",
        "40",
        "--defenses",
        "drop-time,drop-entries",
        "--strengths",
        "drop-entries=0.2,0.5",
    ),
    "link": (
        "link",
        "ratings.csv",
        "second.csv",
        "--person",
        "nick",
        "--known-item",
        "film",
        "--known-value",
        "stars",
        "--known-time",
        "",
        "--truth",
        "nick",
    ),
    "reproduce": (
        "reproduce",
        "ns08",
        "--records",
        "400",
        "--targets",
        "40",
        "--only",
        "fig04,fig08,table",
    ),
}
"""Arguments of each long command, without --out."""
CHANGING = {"created", "wall_seconds", "seconds", "command", "sha256"}
"""Times, the name of the output folder, and the checksum that covers them."""


def write_data(folder: Path) -> None:
    """Ratings of 150 people, and what half of them say elsewhere under the same names."""
    rng = np.random.default_rng(0)
    ratings, second = ["userId,movieId,rating,timestamp"], ["nick,film,stars"]
    for user in range(150):
        for k, movie in enumerate(rng.choice(60, 14, replace=False)):
            stars = rng.integers(1, 6)
            ratings.append(f"u{user},{movie},{stars},{rng.integers(10**9, 10**9 + 10**8)}")
            if user % 2 and k < 8:
                second.append(f"u{user},{movie},{stars}")
    (folder / "ratings.csv").write_text("\n".join(ratings) + "\n")
    (folder / "second.csv").write_text("\n".join(second) + "\n")


def start(folder: Path, verb: str, out: str, before: str = "") -> subprocess.Popen[str]:
    """Start a command; `before` is code that runs first."""
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", before + MAIN, *VERBS[verb], "--out", out],
        cwd=folder,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Wait for the end; gives what was printed on standard error."""
    said = process.communicate(timeout=1200)[1]
    assert process.returncode == 0, said[-2000:]
    return said


def numbers(out: Path) -> dict[str, Any]:
    """Everything that was written as numbers, without times."""
    files = sorted(p for p in out.iterdir() if p.suffix in (".json", ".csv"))
    return {
        p.name: _plain(json.loads(p.read_text())) if p.suffix == ".json" else p.read_text()
        for p in files
    }


def _plain(x: Any) -> Any:
    if isinstance(x, dict):
        return {name: _plain(one) for name, one in x.items() if name not in CHANGING}
    return [_plain(one) for one in x] if isinstance(x, list) else x


def parts(folder: Path) -> int:
    """Finished parts on disk."""
    return sum(1 for _ in folder.glob(".standout-work.*/part-*")) + sum(
        1 for _ in folder.glob("out/cells/part-*")
    )


def nothing_left(folder: Path) -> bool:
    """Whether no work folder, lock, draft or temporary folder is left after a command that succeeded."""
    return not [p.name for p in folder.iterdir() if p.name.startswith(".")] and not list(
        (folder / "tmp").iterdir()
    )


def trial(folder: Path, verb: str, n_kills: int, seed: int) -> Counter[str]:
    """Kill the command `n_kills` times at random moments, let it finish, and compare; counts of what happened."""
    rng = random.Random(f"{verb}/{seed}")
    finish(start(folder, verb, "whole"))
    whole, counts = numbers(folder / "whole"), Counter[str]()
    shutil.rmtree(folder / "whole")
    began = time.monotonic()
    finish(start(folder, verb, "whole"))  # once more: nothing has to be compiled now
    seconds = time.monotonic() - began
    counts["different"] += numbers(folder / "whole") != whole
    while True:
        before, began = parts(folder), time.monotonic()
        process = start(folder, verb, "out")
        if counts["kills"] < n_kills:
            try:
                process.wait(rng.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                counts["kills"] += 1
                counts["kills with finished parts"] += parts(folder) > 0
                # parts are removed when the output is there
                counts["lost"] += (
                    0
                    if (folder / "out").exists() and verb != "frontier"
                    else max(0, before - parts(folder))
                )
                continue
        said = process.communicate(timeout=1200)[1]
        counts["finished"] += 1
        counts["continued"] += before > 0
        if process.returncode == 2 and "holds" in said:  # it was complete when it was killed
            counts["different"] += numbers(folder / "out") != whole
            shutil.rmtree(folder / "out")
            continue
        assert process.returncode == 0, said[-2000:]
        seconds = min(seconds, time.monotonic() - began) if not before else seconds
        counts["different"] += numbers(folder / "out") != whole
        counts["left behind"] += not nothing_left(folder)
        shutil.rmtree(folder / "out")
        if counts["kills"] >= n_kills:
            return counts
