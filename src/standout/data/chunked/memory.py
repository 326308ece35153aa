"""Sizes of memory: as text, as a budget, as what this machine has, and as what a source needs if it is read as a whole."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from standout.data.chunked.files import ArrayFile
from standout.data.reading.file_content import compression_of
from standout.data.reading.formats import FoundSource, find_source
from standout.data.reading.remote import remote_of
from standout.errors import ParameterError, StandoutError

MEMORY = "2GB"
"""Default budget."""
LEAST = 100_000_000
"""Smallest budget: DuckDB and the tables of one query need this much whatever the data."""

PER_ENTRY = 14
"""Bytes of an entry in memory: by record, and in the posting lists."""
WHILE_READING = 1_500_000_000
"""Bytes that DuckDB may take at most while it reads."""
SHORTEST_ROW = 16
"""Bytes of a row of text at least, as a rule: two labels, a value and a time."""
PACKED = 4
"""How much smaller compressed text is, as a rule."""

_UNITS = {
    "": 1,
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
}


def bytes_of(memory: str | float) -> int:
    """Number of bytes of a size such as "2GB", "500 MB", "1.5GiB" or 2e9.

    >>> bytes_of("1.5GB"), bytes_of("512MiB"), bytes_of(2e9)
    (1500000000, 536870912, 2000000000)
    """
    if isinstance(memory, bool) or not isinstance(memory, (str, int, float)):
        raise ParameterError(f"memory={memory!r}: give a size such as '2GB'")
    found = (
        re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)", str(memory).strip())
        if isinstance(memory, str)
        else None
    )
    if isinstance(memory, str) and (found is None or found[2].upper() not in _UNITS):
        raise ParameterError(f"memory={memory!r}: give a size such as 2GB, 500MB or 1.5GiB")
    size = float(memory) if found is None else float(found[1]) * _UNITS[found[2].upper()]
    if not LEAST <= size < 2**60:
        raise ParameterError(
            f"memory={memory!r} is too small: at least {in_words(LEAST)} are needed for any data"
        )
    return int(size)


def in_words(size: float) -> str:
    """A number of bytes for a message, rounded up.

    >>> in_words(1_234_000_000), in_words(87_000_000)
    ('1.3 GB', '87 MB')
    """
    return f"{ceil(size / 1e8) / 10:,.1f} GB" if size > 9.99e8 else f"{ceil(size / 1e6):,} MB"


@dataclass(frozen=True)
class Budget:
    """How a budget of memory is divided."""

    total: int

    @property
    def shard(self) -> int:
        """Bytes of one shard; one is scored while the next one is read."""
        return self.total // 8

    @property
    def tables(self) -> int:
        """Bytes of the tables of one batch of queries."""
        return self.total // 6

    @property
    def bucket(self) -> int:
        """Bytes of the rows that are sorted at a time while a source is read."""
        return self.total // 3

    @property
    def database(self) -> int:
        """Bytes that DuckDB may use while a source is read."""
        return self.total // 3


def check_fits(budget: Budget, largest_block: int, n_records: int, catalog: int) -> None:
    """Refuse a budget that cannot hold one block of records, or the numbers per record and per item.

    Parameters
    ----------
    budget
        What is allowed.
    largest_block
        Bytes of the posting lists of the largest block.
    n_records
        Number of records; their keys take 24 bytes each while they are computed.
    catalog
        Bytes of labels and counts of the items.
    """
    needed = max(8 * largest_block, 8 * (24 * n_records + catalog), LEAST)
    if needed > budget.total:
        raise ParameterError(
            f"memory={in_words(budget.total)} is too small for this data: {in_words(needed)} are needed to read it in parts"
        )


def filled_ranges(sizes: list[int], most: int) -> list[tuple[int, int]]:
    """Consecutive ranges of parts of these sizes, each as large as `most` allows, and at least one part.

    >>> filled_ranges([3, 3, 9, 1, 1], 6)
    [(0, 2), (2, 3), (3, 5)]
    """
    cuts, filled = [0], 0
    for part, size in enumerate(sizes):
        if filled and filled + size > most:
            cuts.append(part)
            filled = 0
        filled += size
    return list(zip(cuts, [*cuts[1:], len(sizes)], strict=True))


def available_memory() -> float:
    """Bytes that a new process can use without swapping; all of the machine's where the system does not say."""
    try:
        words = Path("/proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"MemAvailable:\s+(\d+) kB", words)
        if found:
            return min(float(found[1]) * 1024, _limit_of_group())
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (OSError, AttributeError, ValueError):
        return float("inf")


def _limit_of_group() -> float:
    """Limit of the control group, as in a container; infinity where there is none."""
    try:
        return float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return float("inf")


def needed_memory(path: Any) -> float | None:
    """Bytes that reading and attacking the source in memory takes, about; None where nothing says it beforehand."""
    try:
        if remote_of(path) is not None or path == "-":
            return None
        n_rows = _rows(find_source(path))
    except (StandoutError, OSError, ValueError):  # reading reports it
        return None
    return None if n_rows is None else n_rows * PER_ENTRY + min(WHILE_READING, 100.0 * n_rows)


def _rows(found: FoundSource) -> float | None:
    """Number of rows: from the metadata, or estimated from the size of text."""
    if found.kind == "saved":
        return float(ArrayFile(found.paths[0] / "record_item.npy").size)
    if found.kind == "parquet":
        import pyarrow.parquet as pq

        return float(sum(pq.read_metadata(path).num_rows for path in found.paths))
    if found.kind in ("text", "netflix"):
        sizes = (
            path.stat().st_size * (1 if compression_of(path) is None else PACKED)
            for path in found.paths
        )
        return sum(sizes) / SHORTEST_ROW
    return None
