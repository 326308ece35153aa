"""Files, folders and frames become a `Dataset`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from standout.data.dataset import Dataset
from standout.data.reading.columns import Roles, choose_columns
from standout.data.reading.formats import Found, find_source
from standout.data.reading.stream import build
from standout.data.reading.survey import Source, survey
from standout.data.reading.workspace import identifier, literal_path, one_row, workspace
from standout.data.repeats import check_repeats
from standout.data.times import check_time_unit
from standout.errors import InputError, ParameterError


def read(path: str | Path, *, record: str | None = None, item: str | None = None, value: str | None = None,
         time: str | None = None, repeats: str = "keep", skip_bad: bool = False, time_unit: str | None = None
         ) -> Dataset:  # fmt: skip
    """Read a file, folder or glob; see `Dataset.read`."""
    check_repeats(repeats, True)
    check_time_unit(time_unit)
    found = find_source(path)
    said = {"record": record, "item": item, "value": value, "time": time}
    if found.kind == "saved":
        return _opened(found.paths[0], said, repeats)
    with workspace(found.name) as (con, folder):
        source, roles = _prepared(con, folder, found, said)
        check_repeats(repeats, roles.value is not None)
        return build(
            con,
            source,
            roles,
            survey(con, source, roles, repeats=repeats, skip_bad=skip_bad, time_unit=time_unit),
        )


def from_frame(frame: Any, *, record: str | None = None, item: str | None = None, value: str | None = None,
               time: str | None = None, repeats: str = "keep", time_unit: str | None = None) -> Dataset:  # fmt: skip
    """Make a dataset of a pandas, polars or pyarrow frame; see `Dataset.from_frame`."""
    check_repeats(repeats, True)
    check_time_unit(time_unit)
    names = _frame_columns(frame)
    roles = choose_columns(names, record=record, item=item, value=value, time=time)
    check_repeats(repeats, roles.value is not None)
    with workspace("the frame") as (con, _):
        con.register("frame", _frame_table(frame, roles))
        con.execute("CREATE VIEW source AS SELECT * FROM frame")
        source = Source("the frame", text=False)
        found = survey(con, source, roles, repeats=repeats, skip_bad=False, time_unit=time_unit)
        return build(con, source, roles, found)


def _opened(folder: Path, said: dict[str, str | None], repeats: str) -> Dataset:
    """A saved dataset, which has its columns and its handling of repeats already."""
    named = [f"{role}={name!r}" for role, name in said.items() if name]
    if named:
        raise ParameterError(f"{folder.name} is a saved dataset, whose columns are set: leave out {', '.join(named)}")
    ds = Dataset.open(folder)
    if repeats not in ("keep", ds.cleaning.repeats):
        raise ParameterError(
            f"repeats={repeats!r}, but {folder.name} was saved with repeats={ds.cleaning.repeats!r}: "
            "read the original data"
        )
    return ds


def _prepared(con: duckdb.DuckDBPyConnection, folder: Path, found: Found, said: dict[str, str | None]
              ) -> tuple[Source, Roles]:  # fmt: skip
    """Make the view `source` with the chosen columns, called by their roles."""
    if found.kind == "text":
        return _prepared_text(con, folder, found, said)
    if found.kind == "netflix":
        from standout.data.reading.netflix import NAMES, parse_netflix

        roles = choose_columns(NAMES, **said)
        parsed = parse_netflix(found.paths)
        con.register("table_", parsed.table())
        notes = (f"layout: Netflix Prize, {len(found.paths):,} file{'s' if len(found.paths) > 1 else ''}",)
        source = Source(found.name, False, notes, parsed.bad_lines, parsed.first_bad)
        relation = "table_"
    else:
        relation = _arrow_relation(con, found) if found.kind != "parquet" else _parquet_relation(con, found)
        roles = choose_columns(con.sql(f"SELECT * FROM {relation} LIMIT 0").columns, **said)
        source = Source(found.name, text=False)
    columns = ", ".join(f"{identifier(name)} AS {role}" for role, name in roles.chosen().items())
    con.execute(f"CREATE VIEW source AS SELECT {columns} FROM {relation}")
    return source, roles


def _prepared_text(con: duckdb.DuckDBPyConnection, folder: Path, found: Found, said: dict[str, str | None]
                   ) -> tuple[Source, Roles]:  # fmt: skip
    from standout.data.reading.text import look, stage

    path = found.paths[0]
    layout = look(path)
    roles = choose_columns(layout.names, **said)
    staged = stage(con, folder, path, layout, roles.chosen())
    con.execute("CREATE VIEW source AS SELECT * FROM stage")
    first = f"line {staged.bad_lines[0]:,}" if staged.bad_lines else None
    source = Source(
        found.name,
        True,
        tuple(staged.notes),
        len(staged.bad_lines),
        first,
        lambda row: f"line {staged.line(row):,}",
    )
    return source, roles


def _parquet_relation(con: duckdb.DuckDBPyConnection, found: Found) -> str:
    """SQL that reads the Parquet files; refuses what is damaged."""
    files = ", ".join(literal_path(path) for path in found.paths)
    hive = ", hive_partitioning = true" if all("=" in p.parent.name for p in found.paths) else ""
    relation = f"read_parquet([{files}]{hive})"
    try:
        n_rows = one_row(con, f"SELECT count(*) FROM {relation}")[0]
    except duckdb.Error:
        raise InputError(f"{found.name} is not a Parquet file that can be read: truncated or damaged?") from None
    if n_rows == 0:
        raise InputError(f"{found.name} holds no rows")
    return relation


def _arrow_relation(con: duckdb.DuckDBPyConnection, found: Found) -> str:
    """Register the Arrow file, which stays mapped, and say its name."""
    try:
        mapped = pa.memory_map(str(found.paths[0]))
        table = (pa.ipc.open_file if found.kind == "arrow" else pa.ipc.open_stream)(mapped).read_all()
    except (pa.ArrowException, OSError):
        raise InputError(f"{found.name} is not an Arrow IPC file that can be read: truncated or damaged?") from None
    if table.num_rows == 0:
        raise InputError(f"{found.name} holds no rows")
    con.register("table_", table)
    return "table_"


def _frame_columns(frame: Any) -> list[str]:
    if hasattr(frame, "collect_schema"):
        return list(frame.collect_schema().names())
    if hasattr(frame, "column_names"):
        return list(frame.column_names)
    if hasattr(frame, "columns"):
        return [str(name) for name in frame.columns]
    raise ParameterError(f"from_frame takes a pandas, polars or pyarrow frame, not {type(frame).__name__}")


def _frame_table(frame: Any, roles: Roles) -> pa.Table:
    """The chosen columns, called by their roles, as an Arrow table."""
    if hasattr(frame, "collect") and not hasattr(frame, "get_column"):
        frame = frame.select(list(roles.chosen().values())).collect()  # a lazy frame of polars
    table = pa.table({role: _arrow_column(frame, name, role) for role, name in roles.chosen().items()})
    if table.num_rows == 0:
        raise InputError("the frame holds no rows")
    return table


def _arrow_column(frame: Any, name: str, role: str) -> Any:
    # by position, because the names of pandas need not be text
    column = frame.iloc[:, _frame_columns(frame).index(name)] if hasattr(frame, "iloc") else frame[name]
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if hasattr(column, "to_arrow"):
        return column.to_arrow()
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        if role not in ("record", "item"):
            raise InputError(f"column {name!r} holds objects where numbers or times belong") from None
        # labels of several kinds in one column: what they have in common is how they print
        missing = column.isna()
        return pa.array([None if gone else str(x) for x, gone in zip(column, missing, strict=True)], pa.string())
