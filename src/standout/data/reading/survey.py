"""First pass over a source: DuckDB counts what its rows hold, before anything is built."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.build import rows_differ
from standout.data.cleaning import Cleaning
from standout.data.positions import LAT, LON, no_degrees, place_sql
from standout.data.reading.columns import Roles
from standout.data.reading.further import FurtherRule, further_rules
from standout.data.reading.options import ReadOptions
from standout.data.reading.profile import NO_LABEL, NumberRule, number_rule
from standout.data.reading.source import Source
from standout.data.reading.time_rules import TimeRule, time_rule
from standout.data.reading.workspace import column_kinds, is_number, one_row, quoted
from standout.data.times import (
    TICKS_PER_DAY,
    check_span,
    default_resolution,
    finer_than,
    finest_unit,
    midnight_words,
    resolution_notes,
)
from standout.data.values import levels_of
from standout.errors import InputError, ParameterError, RowError

_LABELLED = "record IS NOT NULL AND item IS NOT NULL"


@dataclass(frozen=True)
class Survey:
    """What the rows of a source hold."""

    n_rows: int
    """Rows with a record and an item."""
    first_tick: int
    tick_span: int
    resolution: str
    cleaning: Cleaning
    further: tuple[FurtherRule, ...] = ()
    """How columns of further channels and attributes are read; the view `rows` has them."""


def survey(
    con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, options: ReadOptions
) -> Survey:
    """Make the view `rows` (record, item, value, tick, moment) of the good rows, and count what was left out.

    Raises
    ------
    RowError
        If rows do not parse and `skip_bad` is not set, or they are more than `max_bad` allows.
    InputError
        If no row is left, or a channel is empty or holds text or infinity.
    """
    kinds = column_kinds(con, "source")
    _check_flat(con, roles, kinds)
    rule, numbers = _time_rule(con, kinds, roles, options), _value_rule(con, kinds, roles, options)
    further = further_rules(con, roles.further, kinds, options.decimal)
    _make_typed(con, source, roles, kinds, numbers, rule, further)
    cleaning = _make_good(con, source, roles, options, {numbers.bad, rule.bad} != {"false"})
    more = "".join(f", {one.sql_name}" for one in roles.further)
    counted = options.resolution or ("day" if rule.whole["day"] == "true" else "second")
    n, values, lowest, highest, times, midnight, low, high, *wholes = one_row(
        con,
        "SELECT count(*), count(value), min(value), max(value), count(stamp), "
        f"count(CASE WHEN {rule.whole['day']} THEN stamp END), min({rule.ticks[counted]}), max({rule.ticks[counted]}), "
        f"{', '.join(f'bool_and({rule.whole[name]})' for name in TICKS_PER_DAY)} FROM good",
    )
    if n == 0:
        raise InputError(
            f"{source.name}: of {cleaning.rows_read:,} rows, none with both a record and an item is left"
        )
    _check_channels(con, roles, (values, times), (lowest, highest))
    unit, resolution = "", "day"
    if roles.time is not None:
        unit = finest_unit(dict(zip(TICKS_PER_DAY, wholes, strict=True)))
        span = (high - low) * _seconds(counted)
        resolution = options.resolution or default_resolution(unit, span)
    con.execute(
        f"CREATE VIEW rows AS SELECT record, item, value, {rule.ticks[resolution]} AS tick, {rule.moment} AS moment{more} "
        "FROM good"
    )
    if roles.time is not None:
        low, high = _ends(con, unit, resolution, counted, low, high)
    midnights = midnight_words(midnight, times, unit)
    notes = (
        *(note for note in (numbers.note, rule.note, *(x.note for x in further)) if note),
        *resolution_notes(unit, resolution, options.resolution is not None),
        *((f"time: {midnights}",) if midnights else ()),
    )
    cleaning = replace(
        cleaning,
        repeats=options.repeats,
        values_missing=n - values if roles.value is not None else 0,
        times_missing=n - times if roles.time is not None else 0,
        finest_time=unit,
        times_midnight=midnight if midnights else 0,
        notes=(*roles.notes, *source.notes, *notes),
        columns=roles.columns,
    )
    return Survey(n, int(low or 0), int((high or 0) - (low or 0)), resolution, cleaning, further)


def _time_rule(
    con: duckdb.DuckDBPyConnection, kinds: dict[str, str], roles: Roles, options: ReadOptions
) -> TimeRule:
    """How to read times; refuses options of times if there are none."""
    if roles.time is not None:
        return time_rule(con, roles.time, kinds["time"], options.time_unit, options.date_format)
    if options.time_unit is not None or options.date_format is not None:
        raise ParameterError(
            "time_unit and date_format are for a time column, and there is none: leave them out"
        )
    if options.resolution not in (None, "day"):
        raise ParameterError(
            f"resolution={options.resolution!r} (also a tolerance of times finer than a day) needs a time column, and there is "
            "none: leave it out"
        )
    none, whole = "NULL::BIGINT", dict.fromkeys(TICKS_PER_DAY, "true")
    return TimeRule(none, dict.fromkeys(whole, none), whole, "NULL::DOUBLE", "false", "")


def _ends(
    con: duckdb.DuckDBPyConnection, unit: str, resolution: str, counted: str, low: int, high: int
) -> tuple[int, int]:
    """First and last tick; `low` and `high` are those of the resolution `counted`."""
    if resolution != counted and finer_than(unit, resolution):
        # ticks of fractions of days need not nest
        low, high = one_row(con, "SELECT min(tick), max(tick) FROM rows")
    elif resolution != counted:
        low, high = (x * _seconds(counted) // _seconds(resolution) for x in (low, high))
    check_span(low, high, resolution)
    return low, high


def _seconds(resolution: str) -> int:
    """Seconds of a tick."""
    return TICKS_PER_DAY["second"] // TICKS_PER_DAY[resolution]


def _make_good(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    roles: Roles,
    options: ReadOptions,
    may_fail: bool,
) -> Cleaning:
    """View `good`: those of `typed` that have labels and parse; the others are counted."""
    total, no_record, no_item = _count_labels(con)
    bad_value, bad_time, bad = _count_bad(con) if may_fail else (0, 0, 0)
    if bad_value and not one_row(con, f"SELECT count(value) FROM typed WHERE {_LABELLED}")[0]:
        raise InputError(
            f"column {roles.value!r} holds text where numbers belong: name another, or none (value=None, --value '')"
        )
    n_bad = bad + source.rows_bad
    if n_bad and not options.skip_bad:
        raise _row_error(con, source, roles, bad_value, bad_time, bad)
    if n_bad > options.most_bad * (total + source.rows_bad):
        raise RowError(
            f"{source.name}: {n_bad:,} of {total + source.rows_bad:,} rows do not parse, more than the share of "
            f"{options.most_bad:g} that may be dropped. Is a column, a format or the encoding wrong? If not, allow more "
            "with --max-bad SHARE (max_bad=)"
        )
    # a condition that always holds would cost a comparison per row in every pass
    needed = {
        "record IS NOT NULL": no_record,
        "item IS NOT NULL": no_item,
        "NOT value_bad AND NOT time_bad": bad,
    }
    conditions = " AND ".join(condition for condition, count in needed.items() if count)
    where = f"WHERE {conditions}" if conditions else ""
    more = "".join(f", {one.sql_name}" for one in roles.further)
    con.execute(f"CREATE VIEW good AS SELECT record, item, value, stamp{more} FROM typed {where}")
    return Cleaning(
        rows_read=total + source.rows_bad,
        rows_bad=source.rows_bad + bad,
        rows_without_record=no_record,
        rows_without_item=no_item,
    )


def _check_flat(con: duckdb.DuckDBPyConnection, roles: Roles, kinds: dict[str, str]) -> None:
    """Refuse labels that are lists or objects: a whole list would be taken for one item that nobody else holds."""
    columns = [("record", roles.record, "record"), ("item", roles.item, "item")]
    columns += [(one.sql_name, one.column, one.role) for one in roles.further]
    for role, column, what in columns:
        kind = kinds[role]
        nested = kind.endswith("]") or kind.split("(")[0] in ("STRUCT", "MAP", "UNION", "VARIANT")
        if kind == "JSON":
            query = f"SELECT count(*) FROM source WHERE json_type({role}) IN ('ARRAY', 'OBJECT')"
            nested = one_row(con, query)[0] > 0
        if nested:
            raise InputError(
                f"column {column!r} for {what} holds lists or objects: write one row per entry, with one {what} in it "
                "(in DuckDB: unnest)"
            )


def _make_typed(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    roles: Roles,
    kinds: dict[str, str],
    numbers: NumberRule,
    rule: TimeRule,
    further: tuple[FurtherRule, ...],
) -> None:
    """View `typed`: all rows, with labels, value and time of one type each, and flags for cells that do not parse."""
    if source.text:
        record, item = _text_label_sql(con)
    else:
        record, item = (_label_sql(kinds[role], role) for role in ("record", "item"))
    if roles.item_is_place:
        rules = {one.of.role: one for one in further}
        lat, lon = (rules[f"channel {name}"] for name in (LAT, LON))
        for one in (lat, lon):
            if not one.is_number:
                raise no_degrees(one.of.name)
        item = place_sql(lat.sql, lon.sql)
    more = "".join(f", {one.sql} AS {one.of.sql_name}" for one in further)
    # text is parsed once, into a table; typed data is read in place
    con.execute(
        f"""
        CREATE {"TABLE" if source.text else "VIEW"} typed AS SELECT
            {record} AS record, {item} AS item, {numbers.number} AS value, {numbers.bad} AS value_bad,
            {rule.stamp} AS stamp, {rule.bad} AS time_bad{more}
        FROM source
        """
    )


def _count_labels(con: duckdb.DuckDBPyConnection) -> tuple[int, int, int]:
    """Rows, rows without a record, rows with a record and without an item."""
    # Parquet knows these three without reading the rows
    total, records, items = one_row(con, "SELECT count(*), count(record), count(item) FROM typed")
    no_item = total - items
    if no_item and records < total:
        no_item = one_row(
            con, "SELECT count(*) FROM typed WHERE item IS NULL AND record IS NOT NULL"
        )[0]
    return total, total - records, no_item


def _count_bad(con: duckdb.DuckDBPyConnection) -> tuple[int, int, int]:
    """Rows with labels whose value does not parse, whose time does not, and either."""
    bad_value, bad_time, bad = one_row(
        con,
        "SELECT count(*) FILTER (value_bad), count(*) FILTER (time_bad), count(*) FILTER (value_bad OR time_bad) "
        f"FROM typed WHERE {_LABELLED}",
    )
    return bad_value, bad_time, bad


def _value_rule(
    con: duckdb.DuckDBPyConnection, kinds: dict[str, str], roles: Roles, options: ReadOptions
) -> NumberRule:
    """How to read values; refuses options of values if there are none."""
    column, decimal = roles.value, options.decimal
    if column is None:
        if decimal is not None and not roles.further:
            raise ParameterError("decimal is for a value column, and there is none: leave it out")
        return NumberRule("NULL::DOUBLE", "false", None)
    kind = kinds["value"]
    base = kind.split("(")[0]
    if kind == "VARCHAR":
        return number_rule(con, column, decimal)
    if decimal is not None:
        raise ParameterError(
            f"decimal={decimal!r} is for values in text, and column {column!r} holds {kind.lower()}"
        )
    if base in ("FLOAT", "DOUBLE"):
        return NumberRule(f"CASE WHEN {is_number('value')} THEN value::DOUBLE END", "false", None)
    if base in ("DECIMAL", "BOOLEAN", '"NULL"') or base.endswith(("INT", "INTEGER")):
        return NumberRule("value::DOUBLE", "false", None)
    raise InputError(
        f"column {column!r} holds {kind.lower()} where numbers belong: name another, or none (value=None, --value '')"
    )


def _text_label_sql(con: duckdb.DuckDBPyConnection) -> tuple[str, str]:
    """SQL for the labels of a text file: BIGINT if all are integers in canonical form, else VARCHAR."""
    words = ", ".join(quoted(w) for w in NO_LABEL)
    cells = [f"CASE WHEN {role} NOT IN ({words}) THEN {role} END" for role in ("record", "item")]
    odd = [
        f"count(*) FILTER ({cell} IS DISTINCT FROM TRY_CAST({cell} AS BIGINT)::VARCHAR)"
        for cell in cells
    ]
    counts = one_row(con, f"SELECT {', '.join(odd)} FROM source")
    record, item = (
        f"TRY_CAST({cell} AS BIGINT)" if n == 0 else cell
        for cell, n in zip(cells, counts, strict=True)
    )
    return record, item


def _label_sql(kind: str, role: str) -> str:
    """SQL for a label: BIGINT, DOUBLE or VARCHAR, NULL if there is none."""
    base = kind.split("(")[0]
    if re.fullmatch("U?(TINYINT|SMALLINT|INTEGER)|BIGINT|BOOLEAN", base):
        return f"{role}::BIGINT"
    if base == "DECIMAL":  # up to 38 digits, of which a float keeps 15
        whole = f"CASE WHEN {role} = floor({role}) THEN {role}::HUGEINT::VARCHAR ELSE {role}::VARCHAR END"
        return f"{role}::BIGINT" if kind.endswith(",0)") and int(kind[8:-3]) <= 18 else whole
    if base in ("FLOAT", "DOUBLE"):
        return f"CASE WHEN {is_number(f'{role}::DOUBLE')} THEN {role}::DOUBLE END"
    if base == "JSON":  # numbers and texts in one column; a text without its quotes
        return f"nullif({role} ->> '$', '')"
    if base == "BLOB":
        return f"nullif(coalesce(TRY(decode({role})), {role}::VARCHAR), '')"
    return f"nullif({role}::VARCHAR, '')"


def _row_error(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    roles: Roles,
    bad_value: int,
    bad_time: int,
    bad: int,
) -> RowError:
    """Error for rows that do not parse: how many, why, and where the first one is, without its content."""
    reasons = []
    if source.rows_bad:
        reasons.append(f"{source.rows_bad:,} with the wrong fields (first: {source.first_bad})")
    for count, flag, column, what in (
        (bad_value, "value_bad", roles.value, "number"),
        (bad_time, "time_bad", roles.time, "time"),
    ):
        if count:
            numbered = "(SELECT row_number() OVER () AS n, * FROM typed)"
            row = one_row(con, f"SELECT min(n) FROM {numbered} WHERE {flag} AND {_LABELLED}")[0]
            reasons.append(
                f"{count:,} without a {what} in column {column!r} (first: {source.place(row)})"
            )
    return RowError(
        f"{source.name}: {bad + source.rows_bad:,} rows do not parse: {'; '.join(reasons)}. "
        "Fix them, or drop them with --skip-bad (skip_bad=True)"
    )


def _check_channels(
    con: duckdb.DuckDBPyConnection,
    roles: Roles,
    present: tuple[int, int],
    ends: tuple[float | None, float | None],
) -> None:
    """Refuse a channel that is empty, and infinite values; given numbers of values and times, and the extreme values."""
    columns = ("value", roles.value), ("time", roles.time)
    for (role, column), n in zip(columns, present, strict=True):
        if column is not None and not n:
            raise InputError(
                f"column {column!r} is empty in every row: leave it out with {role}=None (--{role} '')"
            )
    if any(end is not None and not math.isfinite(end) for end in ends):
        infinite = one_row(con, "SELECT count(*) FROM good WHERE isinf(value)")[0]
        raise InputError(
            f"column {roles.value!r} holds {infinite:,} infinite values: replace or remove them"
        )


def surveyed_levels(table: pa.Table, found: Survey) -> Array:
    """Levels of distinct values, ascending, if their rows `n` are as many as the survey found."""
    distinct, n = table.column("value").to_numpy(), table.column("n").to_numpy()
    if not (
        np.isfinite(distinct).all() and int(n.sum()) == found.n_rows - found.cleaning.values_missing
    ):
        raise rows_differ()
    return levels_of(distinct)
