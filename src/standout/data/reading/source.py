"""The result of a format's reader: a table with named columns that can be sampled and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import duckdb
import pyarrow as pa

from standout.data.reading.profile import SAMPLE
from standout.data.reading.workspace import identifier, one_row
from standout.errors import InputError, option


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


class SourceTable(Protocol):
    """A table of some format, opened on a connection."""

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""

    @property
    def profiled(self) -> bool:
        """Whether the content of its columns must be examined; not needed for a known layout."""

    def sample(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table `sample_` of some rows, with columns c0, c1 and so on in the order of `names`."""

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source` with the chosen columns (role → name), named by their roles."""


@dataclass(frozen=True)
class Relation:
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


class CopiedTable(ABC):
    """A table that DuckDB cannot read itself: its cells arrive as Arrow data and are copied.

    Subclasses set `name` and `names`.
    """

    name: str
    names: tuple[str, ...]
    profiled = True
    broken: str
    """What happened if the rows end too early, for messages."""

    @abstractmethod
    def rows(self, chosen: dict[str, str], most: int | None = None) -> AbstractContextManager[Any]:
        """Arrow data with the chosen columns (new name → column) of the first rows; all by default."""

    def sample(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table `sample_`; see `SourceTable`."""
        self._copy(con, "sample_", {f"c{k}": name for k, name in enumerate(self.names)}, SAMPLE)

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source`; see `SourceTable`."""
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
