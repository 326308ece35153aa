"""Tables on other machines: PostgreSQL and object stores are streamed column by column, and other files are copied first."""

from __future__ import annotations

import base64
import fnmatch
import re
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import pyarrow as pa

from standout.data.reading.remote import Remote, local_name, missing_reader
from standout.data.reading.source import SourceTable, chosen_table
from standout.data.reading.text import several_tables
from standout.data.reading.workspace import identifier
from standout.data.scratch import private_file
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


class PostgresTable(SourceTable):
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
        """Rows as they arrive from the server; see `SourceTable`."""
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


_CHUNK = 1 << 22
_TIMEOUT = 60
"""Seconds to wait for a server."""
_PARQUET = (".parquet", ".parq", ".pq")
_CHECKED = 100
"""Files whose columns are compared."""


@dataclass(frozen=True)
class Objects:
    """Files of an object store."""

    name: str
    system: Any
    """A file system of pyarrow."""
    keys: tuple[str, ...]

    @property
    def is_parquet(self) -> bool:
        """Whether all files are called Parquet files."""
        return all(key.lower().endswith(_PARQUET) for key in self.keys)


class ObjectTable(SourceTable):
    """Parquet files of an object store."""

    broken = "is it damaged, or the connection lost?"

    def __init__(self, objects: Objects) -> None:
        import pyarrow.dataset as arrow

        self.name = objects.name
        hive = (
            "hive"
            if all("=" in key.rpartition("/")[0].rpartition("/")[2] for key in objects.keys)
            else None
        )
        try:
            self._dataset = arrow.dataset(
                list(objects.keys), filesystem=objects.system, format="parquet", partitioning=hive
            )
            schemas = {
                part.path: tuple(part.physical_schema.names)
                for part in list(self._dataset.get_fragments())[:_CHECKED]
            }
            self._rows = self._dataset.count_rows()
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(objects.name, error, opened=True) from None
        if len({frozenset(names) for names in schemas.values()}) > 1:
            raise several_tables(
                objects.name, {key.rpartition("/")[2]: names for key, names in schemas.items()}
            )
        if not self._rows:
            raise InputError(f"{objects.name} holds no rows")
        self.names = tuple(self._dataset.schema.names)

    @contextmanager
    def rows(self, chosen: dict[str, str], most: int | None = None) -> Iterator[Any]:
        """Rows as they arrive from the store; see `SourceTable`."""
        import pyarrow.dataset as arrow

        if most is not None:
            try:
                head = self._dataset.head(most)
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(self.name, error, opened=True) from None
            yield head.rename_columns(list(chosen))
            return
        columns = {role: arrow.field(name) for role, name in chosen.items()}
        # few batches at a time: the data may be larger than memory
        scanner = self._dataset.scanner(columns=columns, batch_readahead=2, fragment_readahead=1)
        yield scanner.to_reader()

    def check(self, n_rows: int) -> None:
        """Refuse another number of rows than the metadata says."""
        if n_rows != self._rows:
            raise InputError(
                f"{self.name} changed while it was read: read it again when nothing writes to it"
            )


def find_objects(remote: Remote) -> Objects:
    """List the files at an address of an object store: one file, all below a prefix, or those that fit a pattern."""
    try:
        from pyarrow import fs
    except ImportError:  # pragma: no cover (every wheel has it)
        raise missing_reader("object stores", "pyarrow") from None
    address = re.sub(r"^s3a://", "s3://", remote.url)
    pattern = None
    if "*" in (plain := address.partition("?")[0]):
        folder = plain.partition("*")[0].rpartition("/")[0]
        pattern = unquote(urlsplit(plain).path).lstrip("/")
        address = folder + address[len(plain) :]
    try:
        system, base = fs.FileSystem.from_uri(address)
        info = system.get_file_info(base)
        if info.type == fs.FileType.File:
            return Objects(remote.name, system, (base,))
        below = system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    except (OSError, pa.ArrowException, ValueError) as error:
        raise _unreadable(remote.name, error) from None
    keys = sorted(
        x.path for x in below if x.type == fs.FileType.File and _is_data(x.path[len(base) :])
    )
    if pattern is not None:
        keys = [key for key in keys if fnmatch.fnmatchcase(key.partition("/")[2], pattern)]
    parquet = [key for key in keys if key.lower().endswith(_PARQUET)]
    if any("/_delta_log/" in x.path for x in below):
        raise InputError(
            f"{remote.name} is a Delta table: copy it to a local folder first, and read that"
        )
    if not keys:
        raise InputError(f"{remote.name}: there is no such file, and nothing below this prefix")
    return Objects(remote.name, system, tuple(parquet or keys))


def copy_objects(objects: Objects, folder: Path) -> Path:
    """Copy the files into a folder; give the file, or the folder if there are several."""
    taken: set[str] = set()
    for number, key in enumerate(objects.keys):
        to = folder / local_name(key, number, taken)
        try:
            size = objects.system.get_file_info(key).size
            with objects.system.open_input_stream(key, compression=None) as stream:
                _write(iter(lambda: stream.read(_CHUNK), b""), to, size, objects.name)
        except (OSError, pa.ArrowException) as error:
            raise _unreadable(objects.name, error) from None
    return folder if len(objects.keys) > 1 else to


def download(remote: Remote, folder: Path) -> Path:
    """Copy a file from a web server."""
    try:
        parts = urlsplit(remote.url)
        path = quote(parts.path, safe="/%:@!$&'()*+,;=~-._")
        plain = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], path, parts.query, ""))
        request = urllib.request.Request(plain, headers={"User-Agent": "standout"})
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            # not sent on to another host if the server redirects
            request.add_unredirected_header(
                "Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"
            )
        to = folder / local_name(unquote(parts.path), 0, set())
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer:
            length = answer.headers.get("Content-Length")
            size = int(length) if length is not None and length.isdecimal() else None
            _write(iter(lambda: answer.read(_CHUNK), b""), to, size, remote.name)
    except urllib.error.HTTPError as error:
        raise InputError(
            f"{remote.name}: the web server answers with status {error.code}{_MEANS.get(error.code, '')}"
        ) from None
    except InputError:
        raise
    except (HTTPException, ValueError):
        raise InputError(
            f"{remote.name}: the address is malformed, or the web server answers with nonsense"
        ) from None
    except OSError as error:
        if error.filename is not None or getattr(error, "errno", None) == 28:
            raise InputError(f"cannot copy {remote.name}: {error.strerror}") from None
        raise InputError(
            f"{remote.name}: the web server cannot be reached, or the connection was lost"
        ) from None
    return to


_MEANS = {401: " (name and password?)", 403: " (not allowed)", 404: " (no such file)"}


def _write(chunks: Iterable[bytes], to: Path, size: int | None, name: str) -> None:
    written = 0
    with private_file(to) as file:
        for chunk in chunks:
            written += file.write(chunk)
    if size is not None and written != size:
        raise InputError(f"{name}: {written:,} of {size:,} bytes arrived: read it again")


def _is_data(key: str) -> bool:
    """Whether a file is data: Spark and others prefix metadata files with _ or a dot."""
    return not any(part.startswith(("_", ".")) for part in key.strip("/").split("/"))


def _unreadable(name: str, error: Exception, *, opened: bool = False) -> InputError:
    """One line for an error of the store, whose own message may quote the address."""
    text = str(error)
    if getattr(error, "errno", None) == 28:
        return InputError(f"cannot copy {name}: {getattr(error, 'strerror', None)}")
    if re.search("ACCESS_DENIED|403|INVALID_ACCESS_KEY|SIGNATURE", text):
        return InputError(
            f"{name}: the store refuses access: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the login of gs://"
        )
    if re.search("NO_SUCH|404|does not exist|(?i:not found)", text):
        return InputError(f"{name}: there is no such bucket or file")
    if isinstance(error, (pa.ArrowInvalid, ValueError)) and not isinstance(error, OSError):
        if opened:
            return InputError(
                f"{name} is not a Parquet file that can be read: truncated or damaged?"
            )
        return InputError(
            f"{name}: the address is malformed: use s3://bucket/path or gs://bucket/path"
        )
    return InputError(
        f"{name}: the store cannot be reached: check the region and the endpoint (AWS_REGION, AWS_ENDPOINT_URL)"
    )
