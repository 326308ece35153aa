"""Reads damaged files one after the other and prints what came of each. Run by `fuzz.run` with limits on time and memory.

Arguments: folder of the corpus, folder to write to, format, first seed, last seed (exclusive).
"""

from __future__ import annotations

import faulthandler
import json
import random
import resource
import shutil
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.corpus import HEADER, LABEL, stored
from fuzz.damage import damaged
from fuzz.one_database import one_database

PROCESSOR_SECONDS, SECONDS = 30, 120
"""Limits for one file: a loop ends at the first, a process that waits for ever at the second, also on a busy machine."""
MEMORY = 6 << 30
GROWTH = 1 << 20
"""Kilobytes that a process may grow by while it reads small files."""
SEVERAL = frozenset(
    {
        "csv",
        "tsv",
        "semicolon.csv",
        "quoted.csv",
        "latin.csv",
        "jsonl",
        "parquet",
        "arrow",
        "sqlite",
        "duckdb",
    }
)
"""Formats whose columns are named in half of the reads, and guessed in the others."""


def check(ds: Any) -> None:
    """What has to hold for a dataset however damaged the file was."""
    c = ds.cleaning
    assert ds.n_entries == c.rows_read - c.rows_bad - c.rows_without_record - c.rows_without_item, (
        "rows are lost"
    )
    assert ds.record_ptr[0] == 0 and ds.record_ptr[-1] == ds.n_entries == ds.record_item.size, (
        "offsets"
    )
    assert ds.record_item.max() < ds.n_items, "items out of range"
    assert ds.lengths.min() >= 1 and ds.supports.min() >= 1, "empty records or items"


def _findings(path: Path) -> None:
    from standout.audit.findings import Findings

    Findings.load(path).to_frame()


def _policy(path: Path) -> None:
    from standout.gate.policy import Policy

    Policy.load(path)


def _evidence(path: Path) -> None:
    from standout.gate.evidence import age_in_days, contradictions, load_evidence

    content = load_evidence(path)
    contradictions(content)
    age_in_days(content)


def _item_map(path: Path) -> None:
    from standout.linking.items import read_map

    assert all(isinstance(x, str) for pair in read_map(path).items() for x in pair), (
        "a label that is no text"
    )


def _manifest(path: Path) -> None:
    from standout.defenses.manifest import manifest_path, read_manifest

    shutil.copyfile(path, manifest_path(path))
    read_manifest(path)


LOADERS: dict[str, Callable[[Path], None]] = {
    "findings.json": _findings,
    "policy.toml": _policy,
    "evidence.json": _evidence,
    "items.csv": _item_map,
    "manifest.json": _manifest,
}


def read(path: Path, ending: str, seed: int = 0) -> str:
    """Read one file; gives what came of it in a word."""
    from standout.errors import StandoutError

    try:
        if ending in LOADERS:
            LOADERS[ending](path)
        else:
            from standout.data.dataset import Dataset

            named = ending in SEVERAL and seed % 2
            columns = (
                dict(zip(("record", "item", "value", "time"), HEADER, strict=True)) if named else {}
            )
            check(Dataset.read(path, skip_bad=True, max_bad=1.0, **columns))
    except StandoutError as error:
        text = str(error)
        assert len(text) <= 2000, "a message of more than 2,000 characters"
        assert "\n" not in text.strip(), "a message of several lines"
        # the first row of a text file may have become its header, whose names are printed; so are
        # unknown keys of a policy
        shown = "olumn" in text or "header" in text or ending == "policy.toml"
        assert LABEL not in text or shown, "a label in a message"
        return "refused"
    return "read"


class Damaged:
    """Copies of a saved dataset of which one file is damaged at a time."""

    def __init__(self, original: Path, folder: Path) -> None:
        from standout.data.dataset import Dataset

        self.target = folder / "saved-damaged"
        shutil.copytree(original, self.target)
        self.content = {p.name: p.read_bytes() for p in sorted(original.iterdir())}
        self.fingerprint = Dataset.open(original).fingerprint

    def open(self, seed: int) -> str:
        """Open it with damage: the same data, or an error."""
        from standout.data.dataset import Dataset
        from standout.errors import StandoutError

        name = random.Random(seed).choice(list(self.content))
        path = self.target / name
        path.write_bytes(damaged(self.content[name], "saved", seed, self.content["meta.json"]))
        try:
            assert Dataset.open(self.target).fingerprint == self.fingerprint, (
                "damage went unnoticed"
            )
        except StandoutError:
            return "refused"
        finally:
            path.unlink()  # a dataset that is still open keeps the damaged file
            path.write_bytes(self.content[name])
        return "read"


def prepared(corpus: Path, folder: Path, ending: str) -> Callable[[int], str]:
    """A function that reads the input of a seed."""
    if ending == "saved":
        return Damaged(corpus / "saved", folder).open
    made = stored(corpus)
    others = list(made.values())
    path = folder / ("x." + ending if "combined" not in ending else ending)

    def read_seed(seed: int) -> str:
        path.write_bytes(damaged(made[ending], ending, seed, others[seed % len(others)]))
        return read(path, ending, seed)

    return read_seed


def answer_to(seed: int, work: Callable[[int], str]) -> dict[str, Any]:
    """What came of one input."""
    try:
        return {"seed": seed, "what": work(seed)}
    except MemoryError:
        return {"seed": seed, "what": "memory", "error": f"more than {MEMORY >> 30} GB asked for"}
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
        return {"seed": seed, "what": "bug", "error": f"{place}: {str(error)[:200]}"}


def _peak() -> int:
    """Most memory of this process so far, in kilobytes; getrusage would count what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def limit(processor_seconds: float, seconds: float) -> None:
    """End the process after so much time, and print where it was; 0: no limit. The parent sees which file it was."""
    signal.setitimer(signal.ITIMER_PROF, processor_seconds)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def main() -> None:
    corpus, folder, ending, first, last = (
        Path(sys.argv[1]),
        Path(sys.argv[2]),
        sys.argv[3],
        *map(int, sys.argv[4:6]),
    )
    warnings.simplefilter("ignore")
    for number in (signal.SIGPROF, signal.SIGALRM):
        faulthandler.register(number, chain=True)
    import standout.data.reading.read  # noqa: F401 (before the limits: it is large)

    with one_database():
        work = prepared(corpus, folder, ending)
        before = {path.name for path in folder.iterdir()}
        peak = _peak()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for seed in range(first, last):
            print(seed, end=" ", flush=True)
            limit(PROCESSOR_SECONDS, SECONDS)
            answer = answer_to(seed, work)
            limit(0, 0)
            if answer["what"] not in ("read", "refused") or _peak() > peak + GROWTH:
                if answer["what"] in ("read", "refused"):
                    answer = {
                        "seed": seed,
                        "what": "memory",
                        "error": f"grew to {_peak() >> 10:,} MB",
                    }
                peak = max(peak, _peak())
                print(json.dumps(answer), flush=True)
            else:
                print(answer["what"], flush=True)
    left = (
        {path.name for path in folder.iterdir()}
        - before
        - {f"x.{ending}", ending, f"x.{ending}.manifest.json"}
    )
    if left:
        print(
            json.dumps(
                {"seed": last - 1, "what": "bug", "error": f"files left behind: {sorted(left)[:5]}"}
            )
        )
    print(f"peak {_peak() >> 10}")


if __name__ == "__main__":
    main()
