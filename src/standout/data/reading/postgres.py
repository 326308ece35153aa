"""A table of a PostgreSQL database, streamed once in Arrow batches into DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from standout.data.reading.remote import missing_reader
from standout.data.reading.source import CopiedTable, chosen_table
from standout.data.reading.workspace import identifier
from standout.errors import InputError

_BATCH_BYTES = 1 << 24
"""Bytes of a batch that comes from the server."""
_AS_IT_IS = ("int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar")
_TIMES = ("date", "timestamp", "timestamptz")
_TABLES = """
    SELECT n.nspname::text, c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema'
      AND n.nspname NOT LIKE 'pg\\_%' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    ORDER BY n.nspname <> 'public', 1, 2"""
_COLUMNS = """
    SELECT a.attname::text, coalesce(b.typname, t.typname)::text,
           CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END::int8
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_type b ON b.oid = t.typbasetype
    WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
_FAILURES = {
    "password": "the server refuses the user or the password: set them in the URL, PGUSER and PGPASSWORD, or ~/.pgpass",
    "role": "the server refuses the user: set it in the URL or PGUSER",
    "database": "the server has no database of this name",
    "refused": "no server answers at this host and port: is it running, and is the port right?",
    "No such file": "no server answers at this socket: is it running, and is the folder right?",
    "translate host name": "the host name is not known",
    "timeout": "the server does not answer in time",
    "URI": "the address is malformed: use postgresql://user@host:port/database, with special characters percent-encoded",
    "SSL": "no encrypted connection can be made: check sslmode in the URL",
}
"""Word in a message of the driver, and what to say: the message itself may quote the address."""


def column_sql(column: str, kind: str, modifier: int, role: str) -> str:
    """How to ask for a column so that Arrow has a type for it, as a label or as a value.

    Parameters
    ----------
    column
        Name of the column.
    kind
        Name of its type.
    modifier
        Precision and scale of a number, as PostgreSQL packs them; -1 for none.
    role
        Role of the column.
    """
    name = identifier(column)
    if kind in _AS_IT_IS:
        return name
    if kind in _TIMES:
        return f"CASE WHEN isfinite({name}) THEN {name} END"
    if kind == "numeric":
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
        if modifier >= 4 and scale == 0 and precision <= 18:
            return f"{name}::int8"
        return f"{name}::text" if role in ("record", "item") else f"{name}::float8"
    return f"{name}::numeric::float8" if kind == "money" else f"{name}::text"


class PostgresTable(CopiedTable):
    """A table on a server."""

    broken = "the server refuses a row or a function of it, or the connection is lost"

    def __init__(self, url: str, database: str, table: str | None) -> None:
        self._url, self._database = url, database
        with self._connected() as cursor:
            cursor.execute(_TABLES)
            places = {
                t if schema == "public" else f"{schema}.{t}": (schema, t)
                for schema, t in cursor.fetchall()
            }
            in_public = table is not None and table.removeprefix("public.") in places
            spelled = table.removeprefix("public.") if table is not None and in_public else table
            chosen = chosen_table(database, spelled, list(places), "table")
            schema, short = places[chosen]
            self._sql = f"{identifier(schema)}.{identifier(short)}"
            cursor.execute(_COLUMNS, (self._sql,))
            self._columns = {name: (kind, int(m)) for name, kind, m in cursor.fetchall()}
        self.name = f"{database}::{chosen}"
        self.names = tuple(self._columns)

    @contextmanager
    def rows(self, chosen: dict[str, str], most: int | None = None) -> Iterator[Any]:
        """Rows as they arrive from the server; see `CopiedTable`."""
        columns = ", ".join(
            f"{column_sql(name, *self._columns[name], role)} AS {identifier(role)}"
            for role, name in chosen.items()
        )
        limit = "" if most is None else f" LIMIT {most}"
        with self._connected() as cursor:
            cursor.execute(f"SELECT {columns} FROM {self._sql}{limit}")
            yield cursor.fetch_record_batch()

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Cursor of a read-only transaction; errors of the driver become one line without the address or cells."""
        try:
            from adbc_driver_manager import Error
            from adbc_driver_postgresql import StatementOptions
            from adbc_driver_postgresql.dbapi import connect
        except ImportError:
            raise missing_reader("PostgreSQL", "adbc-driver-postgresql") from None
        try:
            with closing(connect(self._url)) as connection, closing(connection.cursor()) as cursor:
                cursor.execute("SET TRANSACTION READ ONLY")
                cursor.adbc_statement.set_options(
                    **{StatementOptions.BATCH_SIZE_HINT_BYTES.value: str(_BATCH_BYTES)}
                )
                yield cursor
        except Error as error:
            raise InputError(f"{self._database}: {_explained(error)}") from None


def _explained(error: Any) -> str:
    state = getattr(error, "sqlstate", None)
    if state == "42501":
        return "the user may not read this table: ask for SELECT on it"
    if state is not None:
        return f"the server refuses the query (SQLSTATE {state})"
    text = str(error)
    for word, meaning in _FAILURES.items():
        if word in text:
            return meaning
    return "the server cannot be reached, or the connection was lost"
