"""Write a dataset to a file in the layout of the file that its source was read from."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_records
from standout.data.whole_file import whole_file
from standout.errors import InputError, ParameterError

ROLES = ("record", "item", "value", "time")
PARQUET = (".parquet", ".parq", ".pq")
TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data", ".psv")
OTHERS = (
    ".json",
    ".jsonl",
    ".ndjson",
    ".xlsx",
    ".xls",
    ".arrow",
    ".feather",
    ".ipc",
    ".db",
    ".sqlite",
    ".duckdb",
    ".zip",
)
PACKED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class FileLayout:
    """How a file of entries is written."""

    kind: str
    """"text" or "parquet"."""
    columns: dict[str, str]
    """Role, or name of a further channel or attribute → name of the column, in the order of the columns."""
    delimiter: str = ","
    header: bool = True
    """Whether text begins with the names of the columns."""

    def reading(self, dataset: Dataset) -> dict[str, Any]:
        """Keywords of `Dataset.read` that read the file back."""
        there = present(dataset)
        roles = {role: self.columns[role] if role in there else "" for role in ROLES}
        more = self._further(dataset)
        if self.kind == "parquet":
            return {**roles, **more}
        names = (
            None if self.header else [name for role, name in self.columns.items() if role in there]
        )
        return {
            **roles,
            **more,
            "delimiter": self.delimiter,
            **({"header": True} if names is None else {"names": names}),
        }

    def _further(self, dataset: Dataset) -> dict[str, dict[str, str]]:
        """Columns of channels and attributes, as keywords of `Dataset.read`."""
        kinds = {
            "channels": [channel.name for channel in dataset.channels],
            "attributes": list(dataset.attributes),
        }
        return {
            kind: {name: self.columns[name] for name in names}
            for kind, names in kinds.items()
            if names
        }


def present(dataset: Dataset) -> set[str]:
    """Roles that the entries have, and names of further channels and of attributes."""
    return {
        "record",
        "item",
        *(["value"] if dataset.has_value else []),
        *(["time"] if dataset.has_time else []),
        *(channel.name for channel in dataset.channels),
        *dataset.attributes,
    }


def layout_like(path: Any, keywords: dict[str, Any], source: Dataset, out: Path) -> FileLayout:
    """Layout of the source's file as far as the name of the output allows.

    Parameters
    ----------
    path, keywords
        What `Dataset.read` was called with.
    source
        The data that was read.
    out
        File to write: Parquet or text by its suffix; for other suffixes as the source.
    """
    kind, delimiter, header = _found(path, keywords)
    written = _kind(out, kind)
    suffix = _suffix(out)
    if kind != "text" or len(delimiter) != 1 or written != "text":
        delimiter, header = "\t" if suffix in (".tsv", ".tab") else ",", True
    return FileLayout(written, _columns(source, bool(keywords.get("wide"))), delimiter, header)


def check_suffix(out: Path, path: Any) -> None:
    """Refuse a name from which the format does not follow, before any data is read."""
    _kind(out, _found(path, {}, look=False)[0])


def new_ids(dataset: Dataset) -> Array:
    """A random id per record, from the system's source of randomness: nothing computes it from the old id or a seed."""
    made: dict[str, None] = {}
    while len(made) < dataset.n_records:
        made[f"p{token_hex(8)}"] = None
    return np.array(list(made))


def write_entries(
    dataset: Dataset, layout: FileLayout, path: Path, ids: Array | None = None
) -> None:
    """Write one row per entry; times are ISO dates or date-times, columns of channels that the data lacks are left out.

    Parameters
    ----------
    dataset
        The entries.
    layout
        How to write them.
    path
        The file.
    ids
        Other label of each record. Rows are sorted by it, so that their order does not give away
        the old labels.
    """
    table = dataset.to_arrow()
    if ids is not None:
        label = ids[entry_records(dataset)]
        table = table.set_column(0, "record", [label]).take(np.argsort(label, kind="stable"))
    clock = {"day": "", "second": " %H:%M:%S"}.get(dataset.time_resolution, " %H:%M")
    dates = f"%Y-%m-%d{clock}"
    roles = [role for role in layout.columns if role in present(dataset)]
    table = table.select(roles).rename_columns([layout.columns[role] for role in roles])
    if layout.kind == "parquet":
        import pyarrow.parquet as pq

        write_file(path, lambda draft: pq.write_table(table, draft))
        return

    def write(draft: Path) -> None:
        import pyarrow as pa

        with pa.output_stream(str(draft), compression=PACKED.get(path.suffix.lower())) as stream:
            table.to_pandas(date_as_object=False).to_csv(
                stream,
                sep=layout.delimiter,
                header=layout.header,
                index=False,
                float_format="%.15g",
                date_format=dates,
                lineterminator="\n",
                mode="wb",
                encoding="utf-8",
            )

    write_file(path, write)


def write_ids(dataset: Dataset, ids: Array, path: Path) -> None:
    """Write the old and the new label of each record as CSV, to a file that only this user may read."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [("old", "new"), *zip(dataset.record_labels, ids, strict=True)]
    )
    write_file(path, lambda draft: draft.write_bytes(text.getvalue().encode()), private=True)


def write_file(path: Path, write: Callable[[Path], Any], *, private: bool = False) -> None:
    """Write a file under a temporary name and rename it, so that no half-written file is left behind."""
    try:
        with whole_file(path, private=private) as draft:
            write(draft)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None


def _found(path: Any, keywords: dict[str, Any], *, look: bool = True) -> tuple[str, str, bool]:
    """Kind of the source, its delimiter, and whether it has a header."""
    from standout.data.reading.file_content import decoded, encoding_of, head_of
    from standout.data.reading.formats import find_source
    from standout.data.reading.options import ReadOptions
    from standout.data.reading.text import find_layout

    if (
        str(path) == "-"
        or "://" in str(path)
        or Path(str(path)).is_fifo()
        or str(path).lower().endswith(".zip")
    ):
        return "stream", ",", True
    found = find_source(path)
    if found.kind != "text" or not look:
        return found.kind, ",", True
    head = head_of(found.paths[0])
    lines = [
        line
        for line in decoded(head, keywords.get("encoding") or encoding_of(head)).splitlines()
        if line.strip()
    ]
    layout = find_layout(lines, found.name, ReadOptions(**keywords))
    return found.kind, layout.delimiter, layout.header


def _suffix(out: Path) -> str:
    name = out.with_suffix("") if out.suffix.lower() in PACKED else out
    return name.suffix.lower()


def _kind(out: Path, source: str) -> str:
    suffix = _suffix(out)
    if suffix in PARQUET:
        if out.suffix.lower() in PACKED:
            raise ParameterError(
                f"--out {out.name!r}: Parquet is compressed already, leave out {out.suffix}"
            )
        return "parquet"
    if suffix in TEXT:
        return "text"
    if source in ("text", "parquet") and suffix not in OTHERS:
        return source
    raise ParameterError(
        f"--out {out.name!r}: let the name end in .csv or .parquet, so that the format is clear"
    )


def _columns(source: Dataset, wide: bool) -> dict[str, str]:
    """Names of the columns in the source's order; the names of the roles if the source has none."""
    read = [] if wide else [use for use in source.cleaning.columns if use.is_read]
    uses = {use.further or use.role: use.name for use in read}
    further = [*(channel.name for channel in source.channels), *source.attributes]
    free = {role: role for role in (*ROLES, *further) if role not in uses}
    # a channel without a column of its own must not take the name of another one
    return {
        **uses,
        **{role: name if name not in uses.values() else f"{name}_" for role, name in free.items()},
    }
