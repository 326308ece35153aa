"""Finished parts of an audit, kept on disk: an audit that was stopped continues where it was, with the same numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

_VERSION = 1


class Journal:
    """A folder with one file per finished part. A file that is damaged or of another audit is not used.

    Parameters
    ----------
    folder
        Existing folder for the files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_reused = 0
        """Parts that were not computed again."""

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob("part-*.json"))

    def part(self, about: dict[str, Any], work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], bool]:
        """Result of `work`, and whether it was kept from an earlier run.

        Parameters
        ----------
        about
            Everything that the result depends on, as plain data: data, knowledge, attacks, targets, seed, versions.
        work
            Computes the result, as plain data.
        """
        key = sha256(json.dumps([_VERSION, about], sort_keys=True, default=str).encode()).hexdigest()
        path = self.folder / f"part-{key[:40]}.json"
        kept = _kept(path, key)
        if kept is not None:
            self.n_reused += 1
            return kept, True
        text = json.dumps(work(), allow_nan=False)
        with suppress(OSError):  # a full disk costs the journal, not the audit
            _write(path, json.dumps({"key": key, "sha256": _digest(text), "result": text}))
        # also where nothing was kept: a number must not depend on whether it was written down
        return dict(json.loads(text)), False


def _kept(path: Path, key: str) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["key"] == key and found["sha256"] == _digest(found["result"]):
            return dict(json.loads(found["result"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass
    return None


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all, also after a loss of power."""
    draft = path.with_suffix(".new")
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
