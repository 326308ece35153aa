"""Ctrl-C and SIGTERM: one line, a clean exit, and no temporary file left, also while compiled code runs."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

GRACE = 3.0
"""Seconds that a command has to unwind before the process exits without it."""


_printed = threading.Event()


class Stop:
    """Which signal asked the command to stop, if one did."""

    signum: int | None = None

    @property
    def code(self) -> int:
        """Exit code by convention: 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + (self.signum or signal.SIGINT)


@contextmanager
def clean_stop() -> Iterator[Stop]:
    """Let signals raise `KeyboardInterrupt`; exit anyway where compiled code does not return to Python.

    A second signal exits at once.
    """
    stop = Stop()
    _printed.clear()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def interrupt(signum: int, frame: FrameType | None) -> None:
        if (
            stop.signum is None
        ):  # a second signal must not interrupt the removal of files: the watcher acts on it
            stop.signum = signum
            raise KeyboardInterrupt

    wanted = [
        getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
    ]
    # a signal that is ignored stays ignored: nohup
    before = {
        s: signal.signal(s, interrupt) for s in wanted if signal.getsignal(s) != signal.SIG_IGN
    }
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    previous = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    watcher = threading.Thread(target=_watch, args=(reading, set(before)), daemon=True)
    watcher.start()
    try:
        yield stop
    finally:
        # a stopped process stays watched until it is gone: its threads may go on working
        if stop.signum is None:
            signal.set_wakeup_fd(previous)
            for signum, handler in before.items():
                signal.signal(signum, handler)
            os.close(writing)  # ends the watcher


def print_stopped(notes: list[str]) -> None:
    """Print the one line, once."""
    if not _printed.is_set():
        _printed.set()
        print("; ".join(["standout: stopped", *notes]), file=sys.stderr, flush=True)


def _watch(reading: int, wanted: set[int]) -> None:
    """Wait for a signal, which the interpreter writes into the pipe even while compiled code runs."""
    first = None
    while True:
        ready, _, _ = select.select([reading], [], [], None if first is None else GRACE)
        sent = os.read(reading, 1) if ready else None
        if sent == b"":
            os.close(reading)
            return
        if sent is not None and sent[0] not in wanted:
            continue
        if first is not None:
            break
        first = sent[0] if sent else None
    from standout.data.scratch import remove_all

    # imported only by commands that hold a folder
    holding = sys.modules.get("standout.cli.workfolder")
    with suppress(Exception):  # the command may be removing the same folders right now
        remove_all()
        if holding is not None:
            holding.give_back_all()
    print_stopped([])
    os._exit(128 + first)
