"""Database files of others: no SQL in them reads other files, a file that is cut is noticed, and no content is printed."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import duckdb
import pytest

from standout.data.dataset import Dataset
from standout.errors import StandoutError

SECRET = "".join(f"p{k},secret{k % 5},{1 + k % 4}\n" for k in range(40))
READS = {
    "read_csv": "SELECT * FROM read_csv('{}')",
    "read_text": "SELECT filename AS user, content AS item FROM read_text('{}')",
    "name of the file": "SELECT * FROM '{}'",
    "glob": "SELECT file AS user, file AS item FROM glob('{}')",
    "sniff": "SELECT Delimiter AS user, Columns AS item FROM sniff_csv('{}')",
    "macro": "SELECT * FROM look('{}')",
    "query": "SELECT * FROM query('SELECT * FROM read_csv(''{}'')')",
}


def duckdb_file(folder: Path, view: str) -> Path:
    (folder / "private.csv").write_text("user,item,rating\n" + SECRET)
    path = folder / "shop.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE MACRO look(p) AS TABLE SELECT * FROM read_csv(p)")
        con.execute("CREATE SCHEMA hidden")
        con.execute(
            "CREATE TABLE hidden.rows AS SELECT 'u' || range % 9 AS \"user\", range AS item FROM range(60)"
        )
        con.execute(f"CREATE VIEW sales AS {view}")
    return path


@pytest.mark.parametrize("how", READS)
def test_a_view_of_a_duckdb_file_reads_no_other_file(tmp_path, how):
    path = duckdb_file(tmp_path, READS[how].format(tmp_path / "private.csv"))
    with pytest.raises(StandoutError, match="a view that reads other files or addresses") as error:
        Dataset.read(path, table="sales")
    assert "secret" not in str(error.value) and "p1" not in str(error.value)


def test_a_view_over_tables_of_its_own_file_is_read(tmp_path):
    path = duckdb_file(tmp_path, 'SELECT "user", item FROM hidden.rows WHERE item < 50')
    assert Dataset.read(path, table="sales").n_entries == 50
    assert Dataset.read(path, table="hidden.rows").n_entries == 60


def sqlite_file(path: Path, page: int = 4096, rows: int = 2000) -> bytes:
    con = sqlite3.connect(path)
    con.execute(f"PRAGMA page_size = {page}")
    con.execute("CREATE TABLE sales (user TEXT, item TEXT, rating INTEGER)")
    con.executemany(
        "INSERT INTO sales VALUES (?, ?, ?)",
        ((f"u{k % 97}", f"item{k}", k % 5) for k in range(rows)),
    )
    con.commit()
    con.close()
    return path.read_bytes()


@pytest.mark.parametrize("page", [512, 4096, 65536])
def test_an_sqlite_file_that_is_cut_within_its_last_page_is_refused(tmp_path, page):
    path = tmp_path / "shop.db"
    whole = sqlite_file(path, page)
    n = Dataset.read(path).n_entries
    assert n == 2000
    for eighth in range(8):
        path.write_bytes(whole[: len(whole) - page + eighth * page // 8])
        with pytest.raises(StandoutError, match="truncated or damaged"):
            Dataset.read(path)


def test_an_sqlite_file_of_an_old_program_without_a_page_count_is_read(tmp_path):
    path = tmp_path / "shop.db"
    whole = bytearray(sqlite_file(path))
    whole[28:32], whole[92:96] = bytes(4), bytes(4)
    path.write_bytes(whole)
    assert Dataset.read(path).n_entries == 2000
    path.write_bytes(whole[:-100])
    with pytest.raises(StandoutError, match="truncated or damaged"):
        Dataset.read(path)


def test_an_sqlite_file_whose_last_rows_are_in_its_log_is_read(tmp_path):
    path = tmp_path / "shop.db"
    con = sqlite3.connect(path)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("PRAGMA wal_autocheckpoint = 0")
    con.execute("CREATE TABLE sales (user TEXT, item TEXT)")
    con.executemany(
        "INSERT INTO sales VALUES (?, ?)", ((f"u{k % 97}", f"item{k}") for k in range(2000))
    )
    con.commit()
    assert path.with_name("shop.db-wal").stat().st_size > path.stat().st_size
    assert Dataset.read(path).n_entries == 2000
    con.close()


FIRST_LINES = [
    "Ann Smith;Elm Street 5;diabetes",
    "mallory:x:0:0:operator:/var/empty:/bin/sh",
    "Ann Smith,Heat,good",
    "hunter2",
]


@pytest.mark.parametrize("first", FIRST_LINES)
@pytest.mark.parametrize("beside", [False, True])
def test_the_first_line_of_a_file_without_a_header_is_not_printed(tmp_path, first, beside):
    private = tmp_path / "private"
    private.mkdir()
    (private / "file").write_text(
        f"{first}\nBob Jones;Oak Street 7;asthma\ndaemon:x:1:1::/:/bin/false\n"
    )
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "b.csv").symlink_to(private / "file")
    if beside:
        (folder / "a.csv").write_text("user,film,stars\n1,2,3\n4,5,6\n")
    with pytest.raises(StandoutError) as error:
        Dataset.read(folder)
    words = {
        word
        for word in first.replace(";", " ").replace(":", " ").replace(",", " ").split()
        if len(word) > 3
    }
    assert not [word for word in words if word in str(error.value)], str(error.value)
    if beside:
        assert "user, film, stars" in str(error.value)


def test_names_that_the_user_calls_a_header_are_shown(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("alpha,beta,gamma\n1,2,3\n1,4,3\n")
    with pytest.raises(StandoutError, match="alpha, beta, gamma"):
        Dataset.read(path, header=True)
    with pytest.raises(
        StandoutError, match=r"3, not shown because the first line may hold data \(header=True"
    ):
        Dataset.read(path)
