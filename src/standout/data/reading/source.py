"""Tables with named columns, as the readers of all formats give them, and frames in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from standout.data.reading.profile import SAMPLE
from standout.data.reading.workspace import identifier, one_row
from standout.data.times import mixed_zones
from standout.errors import InputError, ParameterError, option


@dataclass(frozen=True)
class Source:
    """Rows of the view `source` of a connection, whose columns are named by their roles."""

    name: str
    """What messages call it."""
    text: bool
    """Whether cells are text whose meaning must be detected."""
    notes: tuple[str, ...] = ()
    rows_bad: int = 0
    """Number of rows that are not in the view because they do not split into fields."""
    first_bad: str | None = None
    place: Callable[[int], str] = "row {:,}".format
    """Where row number n (from 1) is, in words."""


class SourceTable:
    """A table of some format, opened on a connection. By default its cells arrive as Arrow data and are copied.

    Subclasses set `name` and `names`, and have either `rows`, or both `sample` and `load`.
    """

    name: str
    """What messages call it."""
    names: tuple[str, ...]
    """Its columns."""
    profiled: bool = True
    """Whether the content of its columns must be examined; not needed for a known layout."""
    broken: str
    """What happened if the rows end too early, for messages."""

    def rows(self, chosen: dict[str, str], most: int | None = None) -> AbstractContextManager[Any]:
        """Arrow data with the chosen columns (new name → column) of the first rows; all by default."""
        raise NotImplementedError

    def sample(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table `sample_` of some rows, with columns c0, c1 and so on in the order of `names`."""
        self._copy(con, "sample_", {f"c{k}": name for k, name in enumerate(self.names)}, SAMPLE)

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source` with the chosen columns (role → name), named by their roles."""
        self._copy(con, "stage", chosen)
        self.check(int(one_row(con, "SELECT count(*) FROM stage")[0]))
        con.execute("CREATE VIEW source AS SELECT * FROM stage")
        return Source(self.name, text=False)

    def check(self, n_rows: int) -> None:
        """Refuse a wrong number of copied rows."""
        if n_rows == 0:
            raise InputError(f"{self.name} holds no rows")

    def _copy(
        self,
        con: duckdb.DuckDBPyConnection,
        table: str,
        chosen: dict[str, str],
        most: int | None = None,
    ) -> None:
        with self.rows(chosen, most) as rows:
            con.register("incoming_", rows)
            try:
                con.execute(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming_")
            except (OSError, pa.ArrowException, duckdb.InvalidInputException):
                raise InputError(f"{self.name} cannot be read to its end: {self.broken}") from None
            finally:
                con.unregister("incoming_")


@dataclass(frozen=True)
class Relation(SourceTable):
    """A table that DuckDB reads itself: `sql` is the text after FROM."""

    name: str
    names: tuple[str, ...]
    sql: str
    text: bool = False
    notes: tuple[str, ...] = ()
    rows_bad: int = 0
    first_bad: str | None = None
    profiled: bool = True

    def sample(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table `sample_`; see `SourceTable`."""
        columns = ", ".join(f"{identifier(name)} AS c{k}" for k, name in enumerate(self.names))
        con.execute(
            f"CREATE OR REPLACE TABLE sample_ AS SELECT {columns} FROM {self.sql} LIMIT {SAMPLE}"
        )

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source`; see `SourceTable`."""
        columns = ", ".join(f"{identifier(name)} AS {role}" for role, name in chosen.items())
        con.execute(f"CREATE VIEW source AS SELECT {columns} FROM {self.sql}")
        return Source(self.name, self.text, self.notes, self.rows_bad, self.first_bad)


def chosen_table(name: str, wanted: str | None, tables: list[str], what: str) -> str:
    """The table or sheet that was named, or the only one.

    Parameters
    ----------
    name
        What messages call the database.
    wanted
        The name that was given, if one was.
    tables
        Tables that there are.
    what
        "table" or "sheet".
    """
    if not tables:
        raise InputError(f"{name} holds no {what} that can be read")
    if wanted is not None:
        if wanted not in tables:
            raise InputError(f"{name} has no {what} {wanted[:100]!r}. It has: {_some(tables)}")
        return wanted
    if len(tables) > 1:
        raise InputError(
            f"{name} holds {len(tables):,} {what}s: {_some(tables)}. Name one with {option('table')}"
        )
    return tables[0]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 20:,} more" if len(names) > 20 else ""
    return ", ".join(n if len(n) <= 60 else f"{n[:60]}…" for n in names[:20]) + more


class FrameTable(SourceTable):
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
        """Arrow table of the columns; see `SourceTable`."""
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
        if role not in ("record", "item") and not role.startswith("further_"):
            raise InputError(
                f"column {name!r} holds objects where numbers or times belong"
            ) from None
        # labels of several types in one column: compare them as text
        missing = column.isna()
        return pa.array(
            [None if gone else str(x) for x, gone in zip(column, missing, strict=True)], pa.string()
        )
