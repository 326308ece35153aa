"""DuckDB with a memory limit and its own temporary folder, which is always removed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from standout.data.assemble import cores
from standout.data.scratch import scratch_folder
from standout.errors import InputError

MEMORY = "1500MB"


@contextmanager
def workspace(name: str, memory: str = MEMORY) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path]]:
    """Connection and temporary folder for reading the source called `name`, with a limit for DuckDB's memory.

    Errors of DuckDB may quote cells; they are replaced by one line without cells.
    """
    with scratch_folder() as folder:
        con = _connected(name, folder, memory)
        try:
            con.execute("SET TimeZone = 'UTC'")
            con.execute(
                "SET enable_progress_bar = false"
            )  # it is drawn on standard output, where --json writes
            con.execute("PRAGMA disable_checkpoint_on_shutdown")  # the database is temporary
            (folder / "work.duckdb").chmod(0o600)
            yield con, folder
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:
            if "interrupted" in str(error):  # how DuckDB reports Ctrl-C
                raise KeyboardInterrupt from None
            if "nanobind" in str(error):  # how DuckDB reports text that Python cannot decode
                raise InputError(
                    f"{name} cannot be read: it holds a name or a text that is not UTF-8"
                ) from None
            raise
        except duckdb.OutOfMemoryException:
            raise InputError(
                f"{name}: not enough memory or temporary disk space to read it"
            ) from None
        except duckdb.Error as error:
            raise InputError(f"{name} cannot be read: {_in_words(error)}") from None
        finally:
            con.close()


def _connected(name: str, folder: Path, memory: str) -> duckdb.DuckDBPyConnection:
    config = {
        "memory_limit": memory,
        "threads": cores(),
        "temp_directory": str(folder / "spill"),
        "autoinstall_known_extensions": "false",
    }
    try:
        return duckdb.connect(str(folder / "work.duckdb"), config=config)
    except duckdb.Error as error:
        raise InputError(f"{name} cannot be read: {_in_words(error)}") from None


def _in_words(error: duckdb.Error) -> str:
    """What went wrong, without the cells that DuckDB may quote."""
    if any(
        os.strerror(number) in str(error) for number in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
    ):
        return "the disk for temporary files is full, or a quota is reached: make room, or set TMPDIR to another disk"
    if isinstance(error, duckdb.IOException):
        return "a file is gone or damaged, or the disk for temporary files is full (TMPDIR)"
    return f"DuckDB reports a {type(error).__name__}"


def quoted(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name as an SQL identifier.

    >>> identifier('my "own" column')
    '"my ""own"" column"'
    """
    return '"' + name.replace('"', '""') + '"'


def is_number(x: str) -> str:
    """SQL for "not NaN"; DuckDB removes `NOT isnan(x)` for a Parquet file, whose statistics leave NaN out."""
    return f"(isfinite({x}) OR isinf({x}))"


def literal_path(path: Path) -> str:
    """The path as an SQL string, with pattern characters escaped."""
    return quoted("".join(f"[{c}]" if c in "*?[" else c for c in str(path)))


def one_row(con: duckdb.DuckDBPyConnection, query: str) -> tuple[Any, ...]:
    """The only row of the result."""
    # fetch all rows: DuckDB starts nothing else on the connection before that
    (row,) = con.execute(query).fetchall()
    return tuple(row)


def column_kinds(con: Any, table: str) -> dict[str, str]:
    """SQL type of each column of a table, a view or a query in parentheses."""
    return {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {table}").fetchall()}
