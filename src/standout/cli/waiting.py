"""What verbs that only measure share: read the data, show progress on stderr."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


def read_quietly(path: str, quiet: bool, **columns: Any) -> Dataset:
    """Read a release and say on stderr what cleaning did."""
    from pathlib import Path

    from standout.cli.session import Session
    from standout.data.dataset import Dataset

    session = Session(Path(), json=quiet)
    dataset = session.busy("reading", lambda: Dataset.read(path, **columns))
    session.say_data(dataset)
    return dataset


@contextmanager
def waiting(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Give a function (what, done, total) that moves a bar; nothing shows where stderr is not a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    log = Console(stderr=True, quiet=quiet)
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=log,
        disable=quiet or not log.is_terminal,
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
