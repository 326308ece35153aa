"""Compressed files: bombs are refused before they fill the disk, archives of one table are read, lines before it skipped."""

from __future__ import annotations

import gzip
import io
import os
import resource
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.dataset import Dataset
from standout.data.reading import file_content
from standout.errors import InputError, RowError

ROWS = [(u, i, (u * 7 + i * 3) % 10 + 1) for u in range(1, 9) for i in range(1, 7) if (u + i) % 3]
TEXT = "user,item,rating\n" + "".join(f"{u},{i},{v}\n" for u, i, v in ROWS)


def expected():
    return Dataset.from_arrays(*zip(*ROWS, strict=True)).fingerprint


def zipped(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def parquet():
    buffer = io.BytesIO()
    user, item, rating = zip(*ROWS, strict=True)
    pq.write_table(pa.table({"user": user, "item": item, "rating": rating}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "members",
    [
        {"ratings.csv": TEXT},
        {
            "folder/ratings.csv": TEXT,
            "__MACOSX/folder/._ratings.csv": "x",
            "folder/.DS_Store": "y",
            "folder/": "",
        },
        {
            "ml-tiny/ratings.csv": TEXT,
            "ml-tiny/movies.csv": "movieId,title\n1,x\n",
            "ml-tiny/README.txt": "hello",
        },
        {"ratings.parquet": parquet()},
        {"ratings.csv.gz": gzip.compress(TEXT.encode())},
    ],
    ids=["one file", "of macOS", "MovieLens", "Parquet", "gz in it"],
)
def test_a_zip_archive_is_read(tmp_path, members):
    assert Dataset.read(zipped(tmp_path / "a.zip", members)).fingerprint == expected()


def test_names_in_a_zip_archive_cannot_leave_the_temporary_folder(tmp_path):
    (tmp_path / "in").mkdir()
    path = zipped(tmp_path / "in" / "a.zip", {"../../evil.csv": TEXT})
    assert Dataset.read(path).fingerprint == expected()
    zipped(path, {str(tmp_path / "evil.csv"): TEXT})
    assert Dataset.read(path).fingerprint == expected()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.zip", "in"]


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda data: data[:200], "damaged"),
        (lambda data: data.replace(b"PK\x01\x02", b"PK\x01\x09"), "damaged"),
        (lambda data: bytes(b ^ (k == 60) for k, b in enumerate(data)), "damaged"),
        (
            lambda data: (
                data[: data.index(b"PK\x01\x02") + 8]
                + b"\x01"
                + data[data.index(b"PK\x01\x02") + 9 :]
            ),
            "encrypted",
        ),
    ],
)
def test_a_damaged_zip_archive_is_one_clear_line(tmp_path, harm, message):
    path = zipped(tmp_path / "a.zip", {"ratings.csv": TEXT})
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        Dataset.read(path)


def test_a_workbook_whose_packed_data_is_damaged_is_one_clear_line(tmp_path):
    path = tmp_path / "x.xlsx"
    zipped(path, {"xl/workbook.xml": b"<workbook/>" * 200})
    data = bytearray(path.read_bytes())
    data[50:60] = b"\xff" * 10  # found by the fuzzer: zlib raises its own error
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="is not a workbook that can be read"):
        Dataset.read(path)


def bomb(tmp_path, kind):
    line = b"1,2\n" * 25_000
    zeros = b"user,item\n" + line * 20  # 2 MB that packs to 3 KB
    path = tmp_path / f"bomb.{kind}"
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(zeros))
    elif kind == "csv.zst":
        with pa.output_stream(str(path), compression="zstd") as to:
            to.write(zeros)
    elif kind == "zip":
        zipped(path, {"x.csv": zeros})
    elif kind == "xlsx":
        zipped(path, {"xl/workbook.xml": b"<workbook/>", "xl/worksheets/sheet1.xml": zeros})
    elif kind == "txt.gz":
        path.write_bytes(gzip.compress(b"1:\n" + b"7,3,2005-01-01\n" * 200_000))
    else:
        column = pa.array(np.zeros(2_000_000, np.int64))
        table = pa.table({"user": column, "item": column})
        with pa.ipc.new_file(
            path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
        ) as writer:
            writer.write_table(table)
    return path


@pytest.mark.parametrize("kind", ["csv.gz", "csv.zst", "zip", "xlsx", "txt.gz", "arrow"])
def test_a_bomb_is_refused_at_the_stated_ratio(tmp_path, monkeypatch, kind):
    path = bomb(tmp_path, kind)
    monkeypatch.setattr(file_content, "ALWAYS_ALLOWED", 1_000_000)
    with pytest.raises(InputError, match="unpacks to more than 200 times its size"):
        Dataset.read(path)


def test_small_files_may_pack_as_well_as_they_like(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"user,item\n" + b"1,2\n" * 500_000))
    assert path.stat().st_size * file_content.MOST_TIMES < 2_000_000
    assert Dataset.read(path).n_entries == 500_000


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
from standout.cli.start import main
main()
"""


@pytest.mark.parametrize("kind", ["csv.gz", "-", "csv"])
def test_a_full_disk_is_one_clear_line_and_nothing_is_left(tmp_path, kind):
    rng = np.random.default_rng(0)
    text = "user,item\n" + "".join(
        f"person{u},{i}\n" for u, i in rng.integers(0, 10**6, (60_000, 2))
    )
    path = tmp_path / f"x.{kind}"
    if kind != "-":
        path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    (tmp_path / "t").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "describe", "-" if kind == "-" else str(path)],
        input=text.encode(),
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "t")},
        timeout=600,
        check=False,
    )
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert "Traceback" not in said and "person" not in said
    assert said.strip().splitlines()[-1].startswith("standout: ")
    assert list((tmp_path / "t").iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize(
    "before",
    [
        "sep=,\n",
        '"sep=,"\r\n',
        "# exported 2020-01-01, by ann, from the shop\n# all rights reserved\n",
        "# a comment\n\n# another\n\n",
        "\ufeff# with a mark\n",
        "#only\nsep=,\n",
    ],
)
def test_lines_before_the_table_are_no_rows_and_no_header(tmp_path, before):
    path = tmp_path / "x.csv"
    path.write_text(before + TEXT, encoding="utf-8")
    ds = Dataset.read(path)
    assert ds.fingerprint == expected()
    assert ds.cleaning.rows_read == len(ROWS)
    assert "before the table left out" in " ".join(ds.cleaning.notes)


def test_the_line_of_excel_names_the_delimiter(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("sep=|\n" + TEXT.replace(",", "|").replace("user", "user,or;so"))
    assert Dataset.read(path, record="user,or;so").fingerprint == expected()


def test_names_of_columns_in_a_comment_are_used(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("# made by hand\n# " + TEXT)
    assert Dataset.read(path).fingerprint == expected()


def test_the_line_of_a_bad_row_is_counted_from_the_beginning_of_the_file(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("# one\n# two\nuser,item,rating\n1,2,3\n1,3,x\n1,4,5\n")
    with pytest.raises(RowError, match=r"first: line 5\)"):
        Dataset.read(path)
    path.write_text("# one\n# two\nuser,item,rating\n1,2,3\n1,3\n1,4,5\n")
    with pytest.raises(RowError, match=r"first: line 5\)"):
        Dataset.read(path)


WORDS = {
    "cp1250": "Łódź żółć gęślą jaźń Wrocław Kraków śnieg źrebię",
    "iso8859_2": "Łódź żółć gęślą jaźń Wrocław Kraków śnieg źrebię",
    "cp1254": "İstanbul Şişli Beyoğlu Kadıköy çiçek ağaç ışık öğrenci",
    "cp1257": "Žąsis čežėti šaltibarščiai ąžuolas ūkininkas įėjimas",
    "cp850": "Müller Straße Größe für über schön Äpfel Grüße",
    "mac_roman": "Café crème forêt garçon élève côté déjà être",
    "cp1252": "São coração maçã avó não informação ações pães",
}


@pytest.mark.parametrize("encoding", WORDS)
def test_latin_code_pages_are_told_apart(tmp_path, encoding):
    words = WORDS[encoding].split()
    path = tmp_path / "x.csv"
    path.write_bytes(
        ("user,item\n" + "".join(f"{k},{words[k % len(words)]}\n" for k in range(60))).encode(
            encoding
        )
    )
    assert Dataset.read(path).item_labels.tolist() == sorted(words)


@pytest.mark.parametrize("member", ["ratings.csv", "xl/workbook.xml"])
def test_an_archive_of_an_unknown_zip_version_is_one_clear_line(tmp_path, member):
    path = zipped(tmp_path / "a.zip", {member: TEXT})
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = (
        148  # version 14.8 is needed to read it; found by the fuzzer
    )
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="damaged"):
        Dataset.read(path)
