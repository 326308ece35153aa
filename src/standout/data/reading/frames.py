"""Frames of pandas, polars and pyarrow, and relations of DuckDB, as tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from standout.data.reading.source import CopiedTable, Source
from standout.data.times import mixed_zones
from standout.errors import InputError, ParameterError


class FrameTable(CopiedTable):
    """A frame in memory."""

    broken = "its batches end with an error"

    def __init__(self, frame: Any, name: str = "the frame") -> None:
        self.name = name
        self._frame = frame = (
            frame.to_arrow_table() if isinstance(frame, duckdb.DuckDBPyRelation) else frame
        )
        self.names = tuple(_columns(frame))

    @contextmanager
    def rows(self, chosen: dict[str, str], most: int | None = None) -> Iterator[pa.Table]:
        """Arrow table of the columns; see `CopiedTable`."""
        frame = self._frame
        is_lazy = hasattr(frame, "collect") and not hasattr(frame, "get_column")  # of polars
        if most is not None:
            head = frame.slice(0, most) if isinstance(frame, pa.Table) else frame.head(most)
            head = head.collect() if is_lazy else head
            yield pa.table({name: _sampled(head, k) for k, name in enumerate(chosen)})
            return
        if is_lazy:
            frame = frame.select(list(chosen.values())).collect()
        yield pa.table({role: _arrow_column(frame, name, role) for role, name in chosen.items()})

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source`, without a copy; see `SourceTable`."""
        with self.rows(chosen) as table:
            self.check(table.num_rows)
            con.register("frame", table)
        con.execute("CREATE VIEW source AS SELECT * FROM frame")
        return Source(self.name, text=False)


def _columns(frame: Any) -> list[str]:
    if hasattr(frame, "collect_schema"):
        return list(frame.collect_schema().names())
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if hasattr(frame, "columns"):
        return [str(name) for name in frame.columns]
    raise ParameterError(
        f"from_frame takes a pandas, polars or pyarrow frame or a DuckDB relation, not {type(frame).__name__}"
    )


def _sampled(head: Any, place: int) -> Any:
    """A column of the first rows; as text if its objects are of several types."""
    column = head.iloc[:, place] if hasattr(head, "iloc") else head[_columns(head)[place]]
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    try:
        return (
            column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column, from_pandas=True)
        )
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array(
            [None if x is None else type(x).__name__ if _is_nested(x) else str(x) for x in column],
            pa.string(),
        )


def _is_nested(x: Any) -> bool:
    return isinstance(x, (list, dict, set, tuple))


def _arrow_column(frame: Any, name: str, role: str) -> Any:
    # by position, because the names of pandas need not be text
    column = frame.iloc[:, _columns(frame).index(name)] if hasattr(frame, "iloc") else frame[name]
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if hasattr(column, "to_arrow"):
        return column.to_arrow()
    if column.dtype == object and (
        times := [x for x in column if isinstance(x, datetime) and x == x]
    ):
        zoned = sum(x.tzinfo is not None for x in times)
        if 0 < zoned < len(times):
            raise InputError(mixed_zones(f"column {name!r}", zoned, len(times) - zoned))
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        if role not in ("record", "item"):
            raise InputError(
                f"column {name!r} holds objects where numbers or times belong"
            ) from None
        # labels of several types in one column: compare them as text
        missing = column.isna()
        return pa.array(
            [None if gone else str(x) for x, gone in zip(column, missing, strict=True)], pa.string()
        )
