"""For commands that only measure: read the data, show progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


def read_quietly(path: str, quiet: bool, **columns: Any) -> Dataset:
    """Read a release and print on stderr what cleaning did."""
    from pathlib import Path

    from standout.cli.session import Session
    from standout.data.dataset import Dataset

    session = Session(Path(), json=quiet)
    dataset = session.busy("reading", lambda: Dataset.read(path, **columns))
    session.say_data(dataset)
    return dataset


@contextmanager
def waiting(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function (what, done, total) that updates a progress bar, shown only if stderr is a terminal."""
    from rich.console import Console

    from standout.experiment.progress import progress_bar

    with progress_bar(Console(stderr=True, quiet=quiet)) as move:
        yield move
