"""How much memory a source needs if it is read as a whole, estimated before it is read."""

from __future__ import annotations

from typing import Any

from standout.data.chunked.files import ArrayFile
from standout.data.reading.archives import compression_of
from standout.data.reading.formats import FoundSource, find_source
from standout.data.reading.remote import remote_of
from standout.errors import StandoutError

PER_ENTRY = 14
"""Bytes of an entry in memory: by record, and in the posting lists."""
WHILE_READING = 1_500_000_000
"""Bytes that DuckDB may take at most while it reads."""
SHORTEST_ROW = 16
"""Bytes of a row of text at least, as a rule: two labels, a value and a time."""
PACKED = 4
"""How much smaller compressed text is, as a rule."""


def needed_memory(path: Any, table: str | None = None) -> float | None:
    """Bytes that reading and attacking the source in memory takes, about; None where nothing says it beforehand."""
    try:
        if remote_of(path) is not None or path == "-":
            return None
        n_rows = _rows(find_source(path, table))
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
