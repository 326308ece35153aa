"""`reporting`: the argument `progress` of all long runs as a function; progress bars on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, int, int], None]
"""Called with (what, done, total)."""


@contextmanager
def progress_bar(console: Console | None = None) -> Iterator[Progress]:
    """Yield a function (what, done, total) that updates a progress bar, shown only in a terminal or notebook."""
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    log = console or RichConsole(stderr=True)
    bar = Bar(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=log,
        disable=log.quiet or not (log.is_terminal or log.is_jupyter),
        transient=True,
    )
    with bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=what, completed=done, total=total
        )


@contextmanager
def reporting(progress: Progress | bool | None) -> Iterator[Progress]:
    """Turn the `progress` argument of a long run into a function.

    Parameters
    ----------
    progress
        A function, True for a bar, False for nothing, None for a bar if standard error is a
        terminal.
    """
    if callable(progress):
        yield progress
    elif progress or (progress is None and sys.stderr is not None and sys.stderr.isatty()):
        with progress_bar() as move:
            yield move
    else:
        yield lambda what, done, total: None
