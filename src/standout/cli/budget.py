"""Whether an audit holds its data in memory or reads it in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

SHARE = 0.8
"""Share of the free memory that data may take as a whole."""


def budget_for(path: str, engine: str, memory: str | None, log: Console) -> int | None:
    """Bytes of memory for data that is read in parts; None to hold it in memory.

    Without --memory and --engine chunked, an estimate of the data's size decides, and a sentence
    says so.
    """
    from standout.data.chunked.memory import (
        LEAST,
        MEMORY,
        available_memory,
        bytes_of,
        in_words,
        needed_memory,
    )

    if engine not in ("memory", "chunked"):
        if memory is not None:
            raise ParameterError(
                f"--memory is for --engine chunked, which reads data in parts; --engine is {engine}"
            )
        return None
    if memory is not None or engine == "chunked":
        return bytes_of(memory or MEMORY)
    needed, free = needed_memory(path), available_memory()
    if needed is None or needed <= SHARE * free:
        return None
    budget = max(int(free / 2), LEAST)
    log.print(
        f"about {in_words(needed)} are needed to hold this data, and {in_words(free)} are free: records stay on disk and "
        f"are read in parts (--engine chunked --memory {budget // 10**6}MB)",
        markup=False,
    )
    return budget
