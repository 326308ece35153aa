"""Bad files: each gets one clear line that says what is wrong and what to do, and never what is in a cell."""

from __future__ import annotations

import gzip
import os
import zipfile
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.dataset import Dataset
from standout.errors import ColumnError, InputError, ParameterError, RowError, StandoutError

SECRET = "s3cret"


def made(tmp_path: Path, name: str, content: bytes | str) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path, error=InputError, **options) -> str:
    """Message of the error; it has one line and quotes no cell."""
    with pytest.raises(error) as caught:
        Dataset.read(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert SECRET not in message
    assert isinstance(caught.value, StandoutError)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


def many_rows(n: int = 20_000) -> bytes:
    return b"user,item,rating\n" + b"".join(
        b"%d,%d,%d\n" % (k, k * 7919 % 10_007, k % 5) for k in range(n)
    )


def test_a_missing_file(tmp_path):
    assert "no such file or folder" in refused(tmp_path / "nowhere.csv")


def test_a_pattern_that_matches_nothing(tmp_path):
    assert "no such file or folder" in refused(tmp_path / "*.parquet")


def test_an_unreadable_file(tmp_path, monkeypatch):
    path = made(tmp_path, "locked.csv", "user,item\n1,2\n")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read everything, so that the refusal has to be played

        def closed(self, *args, **kwargs):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", closed)
    assert refused(path) == "cannot read locked.csv: Permission denied"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file(tmp_path, content):
    assert refused(made(tmp_path, "e.csv", content)) == "e.csv is empty"


def test_a_header_and_nothing_else(tmp_path):
    assert refused(made(tmp_path, "h.csv", "user,item\n")) == "h.csv holds a header and no rows"


def test_an_empty_parquet_an_empty_arrow_file_and_an_empty_frame(tmp_path):
    table = pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.int64())})
    pq.write_table(table, tmp_path / "e.parquet")
    assert refused(tmp_path / "e.parquet") == "e.parquet holds no rows"
    with pa.ipc.new_file(tmp_path / "e.arrow", table.schema) as writer:
        writer.write_table(table)
    assert refused(tmp_path / "e.arrow") == "e.arrow holds no rows"
    with pytest.raises(InputError, match="the frame holds no rows"):
        Dataset.from_frame(table)


def test_a_folder_without_data(tmp_path):
    (tmp_path / "notes.txt").write_text("hello")
    assert "holds no data that can be read" in refused(tmp_path)


@pytest.mark.parametrize("part", [0.2, 0.9, 0.999])
def test_a_truncated_gzip(tmp_path, part):
    packed = gzip.compress(many_rows())
    path = made(tmp_path, "t.csv.gz", packed[: int(len(packed) * part)])
    assert (
        refused(path)
        == "t.csv.gz: the gzip data is truncated or damaged: copy or download the file again"
    )


def test_a_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(many_rows()))
    packed[-8:-4] = b"\0\0\0\0"
    assert "truncated or damaged" in refused(made(tmp_path, "d.csv.gz", bytes(packed)))


def test_a_truncated_zst(tmp_path):
    packed = pa.compress(many_rows(), codec="zstd", asbytes=True)
    assert "the zstd data is truncated" in refused(made(tmp_path, "t.csv.zst", packed[:-9]))


def test_a_parquet_that_is_not(tmp_path):
    path = made(tmp_path, "not.parquet", "user,item\n1,2\n")
    assert refused(path) == "not.parquet is not a Parquet file, although it is called one"


def test_a_truncated_parquet(tmp_path):
    pq.write_table(
        pa.table({"user": list(range(1000)), "item": list(range(1000))}), tmp_path / "w.parquet"
    )
    whole = (tmp_path / "w.parquet").read_bytes()
    assert "truncated or damaged" in refused(made(tmp_path, "t.parquet", whole[: len(whole) // 2]))


def test_a_truncated_arrow_file(tmp_path):
    table = pa.table({"user": list(range(1000)), "item": list(range(1000))})
    with pa.ipc.new_file(tmp_path / "w.arrow", table.schema) as writer:
        writer.write_table(table)
    whole = (tmp_path / "w.arrow").read_bytes()
    assert "truncated or damaged" in refused(made(tmp_path, "t.arrow", whole[: len(whole) // 2]))
    assert "is not an Arrow IPC file" in refused(made(tmp_path, "n.feather", "user,item"))


def test_a_spreadsheet_of_another_program_and_a_broken_archive(tmp_path):
    assert "the zip data is truncated or damaged" in refused(
        made(tmp_path, "x.csv", b"PK\x03\x04 and so on")
    )
    with zipfile.ZipFile(tmp_path / "x.ods", "w") as archive:
        archive.writestr("content.xml", "<x/>")
    assert "a spreadsheet other than .xlsx" in refused(tmp_path / "x.ods")


def test_no_such_column(tmp_path):
    path = made(tmp_path, "c.csv", "user,movie\n1,2\n")
    message = refused(path, ColumnError, record="usr")
    assert message == "no column 'usr' for record. Columns: user, movie. Did you mean 'user'?"


def test_numbers_without_a_header(tmp_path):
    assert "has no header: its first line holds numbers" in refused(
        made(tmp_path, "n.csv", "1,2,3\n4,5,6\n")
    )


def test_text_where_numbers_belong(tmp_path):
    path = made(tmp_path, "w.csv", f"user,item,rating\n1,2,{SECRET}\n3,4,good\n")
    for skip_bad in (False, True):
        message = refused(path, skip_bad=skip_bad)
        assert message.startswith("column 'rating' holds text where numbers belong")
        assert "--value ''" in message
    assert Dataset.read(path, value="").n_entries == 2


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
@pytest.mark.parametrize("role", ["rating", "date"])
@pytest.mark.parametrize("null", [pa.null(), pa.float64()])
def test_a_column_that_is_empty_in_every_row(tmp_path, kind, role, null):
    option = {"rating": "value", "date": "time"}[role]
    with pytest.raises(InputError) as caught:
        if kind == "csv":
            Dataset.read(made(tmp_path, "n.csv", f"user,item,{role}\n1,2,\n3,4,\n"))
        else:
            table = pa.table({"user": [1, 3], "item": [2, 4], role: pa.nulls(2, null)})
            if kind == "frame":
                Dataset.from_frame(table)
            pq.write_table(table, tmp_path / "n.parquet")
            Dataset.read(tmp_path / "n.parquet")
    assert (
        str(caught.value)
        == f"column {role!r} is empty in every row: leave it out with {option}=None (--{option} '')"
    )


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
def test_infinite_values(tmp_path, cell):
    path = made(tmp_path, "i.csv", f"user,item,rating\n1,2,3\n3,4,{cell}\n")
    assert refused(path) == "column 'rating' holds 1 infinite values: replace or remove them"


def test_labels_missing_in_every_row(tmp_path):
    path = made(tmp_path, "l.csv", "user,item\n,2\n1,\n")
    assert refused(path) == "l.csv: of 2 rows, none with both a record and an item is left"


def test_values_that_do_not_parse_are_counted_and_found_and_may_be_skipped(tmp_path):
    path = made(tmp_path, "b.csv", f"user,item,rating\n1,a,3\n2,a,4\n3,a,{SECRET}\n4,a,x\n5,a,\n")
    assert refused(path, RowError) == (
        "b.csv: 2 rows do not parse: 2 without a number in column 'rating' (first: line 4). "
        "Fix them, or drop them with --skip-bad (skip_bad=True)"
    )
    ds = Dataset.read(path, skip_bad=True, max_bad=0.6)
    assert ds.record_labels.tolist() == [1, 2, 5]
    assert (ds.cleaning.rows_read, ds.cleaning.rows_bad, ds.cleaning.values_missing) == (5, 2, 1)


def test_rows_with_the_wrong_number_of_fields_are_counted_and_found_and_may_be_skipped(tmp_path):
    path = made(tmp_path, "f.csv", f"user,item,rating\n1,a,3\n2,a\n3,a,4,{SECRET}\n4,a,x\n5,a,1\n")
    assert refused(path, RowError) == (
        "f.csv: 3 rows do not parse: 2 with the wrong fields (first: line 3); "
        "1 without a number in column 'rating' (first: line 5). Fix them, or drop them with --skip-bad (skip_bad=True)"
    )
    ds = Dataset.read(path, skip_bad=True, max_bad=0.6)
    assert ds.record_labels.tolist() == [1, 5]
    assert (ds.cleaning.rows_read, ds.cleaning.rows_bad) == (5, 3)


def test_bad_cells_of_rows_that_are_dropped_anyway_do_no_harm(tmp_path):
    ds = Dataset.read(made(tmp_path, "d.csv", "user,item,rating\n1,a,3\n,a,x\n"))
    assert (ds.cleaning.rows_bad, ds.cleaning.rows_without_record) == (0, 1)


def test_text_in_a_parquet_column_of_values_is_a_bad_row(tmp_path):
    path = tmp_path / "b.parquet"
    pq.write_table(
        pa.table({"user": [1, 2, 3], "item": [1, 1, 1], "rating": ["4.5", SECRET, "3"]}), path
    )
    assert "1 without a number in column 'rating' (first: row 2)" in refused(path, RowError)
    assert Dataset.read(path, skip_bad=True, max_bad=0.5).levels.tolist() == [3.0, 4.5]


def test_a_quotation_mark_that_swallows_rows_is_never_skipped(tmp_path):
    path = made(tmp_path, "q.csv", 'user,item\n1,a\n2,"b\n3,c\n4,d\n')
    for skip_bad in (False, True):
        message = refused(path, RowError, skip_bad=skip_bad)
        assert message.startswith("q.csv: line 3 opens a quotation mark that is not closed")


def test_no_row_is_lost_when_all_that_parse_are_kept(tmp_path):
    lines = [f"{k},{k % 7},{k % 5}" for k in range(5000)]
    lines[1234] += ",9"
    path = made(tmp_path, "m.csv", "user,item,rating\n" + "\n".join(lines))
    ds = Dataset.read(path, skip_bad=True)
    assert (ds.cleaning.rows_read, ds.cleaning.rows_bad, ds.n_entries) == (5000, 1, 4999)
    assert "first: line 1,236" in refused(path, RowError)


def test_repeats_that_need_values_are_refused_before_the_work(tmp_path):
    path = made(tmp_path, "r.csv", "user,item\n1,2\n")
    with pytest.raises(ParameterError, match="repeats='sum' needs values"):
        Dataset.read(path, repeats="sum")
    with pytest.raises(ParameterError, match="choose one of keep"):
        Dataset.read(path, repeats="all")


def test_what_is_no_frame_is_refused():
    with pytest.raises(ParameterError, match="not dict"):
        Dataset.from_frame({"user": [1]})


def test_a_frame_with_objects_for_values_is_refused():
    frame = pd.DataFrame(
        {"user": [1, 2], "item": [1, 2], "rating": pd.Series([1, [SECRET]], dtype=object)}
    )
    with pytest.raises(InputError, match="column 'rating' holds objects") as caught:
        Dataset.from_frame(frame)
    assert SECRET not in str(caught.value)


def test_a_parquet_column_of_dates_for_values_is_refused(tmp_path):
    path = tmp_path / "d.parquet"
    pq.write_table(pa.table({"user": [1], "item": [1], "rating": pa.array([3], pa.date32())}), path)
    assert "column 'rating' holds date where numbers belong" in refused(path)
