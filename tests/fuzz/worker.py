"""Reads damaged files one after the other and prints what came of each. Run by `fuzz.run` with limits on time and memory."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from fuzz.corpus import LABEL, formats, saved
from fuzz.damage import damaged

SECONDS = 30
MEMORY = 6 << 30


def check(ds: Any) -> None:
    """What has to hold for a dataset however damaged the file was."""
    c = ds.cleaning
    assert ds.n_entries == c.rows_read - c.rows_bad - c.rows_without_record - c.rows_without_item, "rows are lost"
    assert ds.record_ptr[0] == 0 and ds.record_ptr[-1] == ds.n_entries == ds.record_item.size, "offsets"
    assert ds.record_item.max() < ds.n_items, "items out of range"
    assert ds.lengths.min() >= 1 and ds.supports.min() >= 1, "empty records or items"


def read(path: Path, ending: str) -> str:
    """Read one file; gives what came of it in a word."""
    from standout.errors import StandoutError

    try:
        if ending == "findings.json":
            from standout.audit.findings import Findings

            Findings.load(path).to_frame()
        elif ending == "policy.toml":
            from standout.gate.policy import Policy

            Policy.load(path)
        else:
            from standout.data.dataset import Dataset

            check(Dataset.read(path, skip_bad=True, max_bad=1.0))
    except StandoutError as error:
        text = str(error)
        assert len(text) <= 2000, "a message of more than 2,000 characters"
        assert "\n" not in text.strip(), "a message of several lines"
        # the first row of a text file may have become its header, whose names are printed
        assert LABEL not in text or "olumn" in text or "header" in text, "a label in a message"
        return "refused"
    return "read"


def open_damaged(folder: Path, original: Path, content: dict[str, bytes], seed: int) -> str:
    """Open a saved dataset of which one file is damaged: the same data, or an error."""
    from standout.data.dataset import Dataset
    from standout.errors import StandoutError

    name = sorted(content)[seed % len(content)]
    target = folder / "saved-damaged"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(original, target)
    (target / name).write_bytes(damaged(content[name], "saved", seed, content["meta.json"]))
    try:
        ds = Dataset.open(target)
    except StandoutError:
        return "refused"
    assert ds.fingerprint == Dataset.open(original).fingerprint, "damage went unnoticed"
    return "read"


def main() -> None:
    folder, ending, first, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    warnings.simplefilter("ignore")
    made = formats(folder)
    original = saved(folder)
    content = {p.name: p.read_bytes() for p in original.iterdir()}
    others = list(made.values())
    import standout.data.reading.read  # noqa: F401 (before the limits: it is large)

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for seed in range(first, last):
        print(json.dumps({"seed": seed}), flush=True)
        signal.alarm(SECONDS)  # ends the process: the parent sees which file it was
        try:
            if ending == "saved":
                what = open_damaged(folder, original, content, seed)
            else:
                path = folder / ("x." + ending if "combined" not in ending else ending)
                path.write_bytes(damaged(made[ending], ending, seed, others[seed % len(others)]))
                what = read(path, ending)
            answer: dict[str, Any] = {"seed": seed, "what": what}
        except MemoryError:
            answer = {"seed": seed, "what": "refused"}  # the limit of this process
        except BaseException as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            answer = {"seed": seed, "what": "bug", "error": f"{place}: {str(error)[:200]}"}
        signal.alarm(0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
