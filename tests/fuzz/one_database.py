"""One DuckDB for many reads: starting it costs more than reading a small file.

A read still gets a database of its own, which is dropped at its end, and a folder of its own.
Settings are the reader's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import duckdb

_connect = duckdb.connect


class Connection:
    """A connection whose `close` drops what was made over it and keeps DuckDB running."""

    def __init__(self, shared: duckdb.DuckDBPyConnection, name: str) -> None:
        self._shared, self._name = shared, name
        self._own = shared.cursor()
        self._own.execute(f"ATTACH ':memory:' AS {name}")
        self._own.execute(f"USE {name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def close(self) -> None:
        self._own.close()
        for name in (self._name, "release_"):
            with suppress(duckdb.Error):
                self._shared.execute(f"DETACH {name}")


@contextmanager
def one_database() -> Iterator[None]:
    """Within the block all readers of this process share one DuckDB."""
    shared: list[duckdb.DuckDBPyConnection] = []
    numbers = count()

    def connect(database: str, config: dict[str, Any]) -> Connection:
        if not shared:
            fixed = {name: value for name, value in config.items() if name != "temp_directory"}
            shared.append(_connect(":memory:", config={**fixed, "threads": 1}))
        Path(database).touch()  # the reader sets its permissions
        try:
            return Connection(shared[0], f"read_{next(numbers)}")
        except (
            duckdb.FatalException
        ):  # an internal error in an earlier read: DuckDB answers nothing more
            shared.pop()
            return connect(database, config)

    duckdb.connect = connect
    try:
        yield
    finally:
        duckdb.connect = _connect
        for con in shared:
            con.close()
