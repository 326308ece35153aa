"""Known layouts are recognized by what is in the file: MovieLens and the Netflix Prize."""

from __future__ import annotations

import gzip
import io
import tarfile
from datetime import date
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standout.data.dataset import Dataset
from standout.data.reading.netflix import _day_number
from standout.errors import ColumnError, InputError, RowError

NETFLIX = {
    1: [(1488844, 3, "2005-09-06"), (822109, 5, "2005-05-13")],
    2: [(822109, 1, "1999-12-31")],
}


def netflix_text(movies) -> str:
    return "".join(
        f"{movie}:\n"
        + "".join(f"{customer},{rating},{day}\n" for customer, rating, day in NETFLIX[movie])
        for movie in movies
    )


def days(ds: Dataset) -> list[str]:
    return (ds.record_tick.astype(int) + ds.first_tick).astype("datetime64[D]").astype(str).tolist()


def assert_is_netflix(ds: Dataset) -> None:
    assert ds.record_labels.tolist() == [822109, 1488844]
    assert ds.item_labels.tolist() == [1, 2]
    assert ds.record_item.tolist() == [0, 1, 0]
    assert ds.levels[ds.record_code].tolist() == [5.0, 1.0, 3.0]
    assert days(ds) == ["2005-05-13", "1999-12-31", "2005-09-06"]
    assert any("Netflix Prize" in note for note in ds.cleaning.notes)


@pytest.mark.parametrize(
    ("name", "content", "note"),
    [
        ("u.data", "196\t242\t3\t881250949\n186\t302\t4\t891717742\n", "layout: MovieLens u.data"),
        (
            "ratings.dat",
            "196::242::3::881250949\n186::302::4::891717742\n",
            "layout: MovieLens ratings.dat",
        ),
        (
            "anything.txt",
            "196::242::3::881250949\r\n186::302::4::891717742\r\n",
            "layout: MovieLens ratings.dat",
        ),
        (
            "ratings.csv",
            "userId,movieId,rating,timestamp\n196,242,3,881250949\n186,302,4,891717742\n",
            "guessed",
        ),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_movielens_layouts(tmp_path, name, content, note, packed):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()) if packed else content.encode())
    ds = Dataset.read(path, resolution="day")
    assert ds.record_labels.tolist() == [186, 196]
    assert ds.item_labels.tolist() == [242, 302]
    assert ds.levels[ds.record_code].tolist() == [4.0, 3.0]
    assert days(ds) == ["1998-04-04", "1997-12-04"]
    assert note in " ".join(ds.cleaning.notes)


def test_the_columns_of_movielens_have_their_names(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t2\t3\t881250949\n")
    assert not Dataset.read(path, record="userId", item="movieId", time="").has_time
    with pytest.raises(ColumnError, match="Columns: userId, movieId, rating, timestamp"):
        Dataset.read(path, record="user")


def test_a_movielens_folder_is_its_ratings(tmp_path):
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,2,3,881250949\n")
    (tmp_path / "movies.csv").write_text("movieId,title\n2,x\n")
    assert Dataset.read(tmp_path).n_entries == 1


def test_a_bad_line_of_movielens_is_found(tmp_path):
    path = tmp_path / "u.data"
    path.write_text("1\t2\t3\t881250949\n1\t3\t3\t881250949\n1\t3\n")
    with pytest.raises(RowError, match="line 3"):
        Dataset.read(path)
    assert Dataset.read(path, skip_bad=True, max_bad=1).n_entries == 2


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_netflix_combined_file(tmp_path, end, packed):
    content = (
        netflix_text([1, 2]).replace("\n", end).rstrip().encode()
    )  # the last line need not end
    path = tmp_path / "combined_data_1.txt"
    path.write_bytes(gzip.compress(content) if packed else content)
    assert_is_netflix(Dataset.read(path))


@pytest.mark.parametrize("name", ["combined_data_{}.txt", "mv_000000{}.txt"])
def test_netflix_folder(tmp_path, name):
    for movie in NETFLIX:
        (tmp_path / name.format(movie)).write_text(netflix_text([movie]))
    (tmp_path / "README").write_text("not data")
    assert_is_netflix(Dataset.read(tmp_path))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("nested", [False, True])
def test_netflix_tar(tmp_path, mode, nested):
    def packed(files: dict[str, bytes], how: str) -> bytes:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode=how) as tar:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
        return buffer.getvalue()

    files = {
        f"training_set/mv_000000{movie}.txt": netflix_text([movie]).encode() for movie in NETFLIX
    }
    if nested:
        files = {"download/README": b"hello", "download/training_set.tar": packed(files, "w")}
    path = tmp_path / "nf_prize_dataset.tar.gz"
    path.write_bytes(packed(files, mode))
    assert_is_netflix(Dataset.read(path))
    cut = tmp_path / "cut.tar.gz"
    cut.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3 if mode == "w:gz" else 700])
    with pytest.raises(InputError, match="truncated or damaged"):
        Dataset.read(cut)


def test_a_tar_without_ratings_is_refused(tmp_path):
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    with pytest.raises(InputError, match=r"no mv_\*\.txt or combined_data_\*\.txt"):
        Dataset.read(path)


BAD_LINES = [
    "1488844,3",
    "1488844,3,2005-13-06",
    "1488844,3,2005-09-06,9",
    "x,3,2005-09-06",
    "1488844",
    "12345678901,3,2005-09-06",
    "1488844,255,2005-09-06",
    "1488844,6,2005-09-06",
    "1488844,0,2005-09-06",
    "1488844,3,2005-02-31",
    "1488844,3,2005-02-29",
    "1488844,3,1900-02-29",
    "1488844,3,2005-04-31",
    "1488844,3,2005-09-00",
]


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_of_netflix_is_counted_and_found(tmp_path, bad):
    path = tmp_path / "combined_data_1.txt"
    path.write_text(f"1:\n1488844,3,2005-09-06\n\n{bad}\n822109,5,2005-05-13\n")
    with pytest.raises(RowError, match=r"combined_data_1\.txt, line 4") as caught:
        Dataset.read(path)
    assert bad not in str(caught.value)
    ds = Dataset.read(path, skip_bad=True, max_bad=1)
    assert (ds.n_entries, ds.cleaning.rows_bad, ds.cleaning.rows_read) == (2, 1, 3)


def test_entries_under_a_movie_that_cannot_be_read_are_not_given_to_the_movie_before(tmp_path):
    path = tmp_path / "combined_data_1.txt"
    path.write_text("1:\n7,3,2005-09-06\nx2:\n8,3,2005-09-06\n3:\n9,3,2005-09-06\n")
    ds = Dataset.read(path, skip_bad=True, max_bad=1)
    assert ds.record_labels.tolist() == [7, 9]
    assert ds.item_labels.tolist() == [1, 3]
    assert ds.cleaning.rows_bad == 2


@given(st.dates(date(1000, 1, 1), date(9999, 12, 31)))
def test_days_of_netflix_dates_agree_with_the_calendar(day):
    assert _day_number(day.year, day.month, day.day) == (day - date(1970, 1, 1)).days


@settings(max_examples=20)
@given(st.integers(1, 400), st.integers(20, 300), st.integers(0, 10**6))
def test_pieces_of_any_size_parse_the_same(n, piece, seed):
    from standout.data.reading import netflix

    rng = np.random.default_rng(seed)
    lines = []
    for movie in range(1, 4):
        lines.append(f"{movie}:")
        lines += [f"{c},{c % 5 + 1},2004-02-{d:02d}" for c, d in rng.integers(1, 29, (n, 2))]
    text = ("\n".join(lines) + "\n").encode()
    whole, pieces = netflix.Parsed(), netflix.Parsed()
    for size, parsed in ((len(text), whole), (piece, pieces)):
        read = partial(io.BytesIO(text).read, size)
        netflix._parse_stream(netflix._whole_lines(iter(read, b"")), "x", parsed)
    assert whole.table().to_pydict() == pieces.table().to_pydict()
    assert whole.table().num_rows == 3 * n
    assert whole.bad_lines == pieces.bad_lines == 0


@pytest.mark.parametrize("day", ["2004-02-29", "2000-02-29", "2005-12-31", "2005-04-30"])
def test_the_last_day_of_a_month_is_a_date_in_netflix_files(tmp_path, day):
    path = tmp_path / "combined_data_1.txt"
    path.write_text(f"1:\n1488844,3,{day}\n")
    assert Dataset.read(path).first_tick == (date.fromisoformat(day) - date(1970, 1, 1)).days


def test_the_shortest_lines_of_netflix_get_room_for_every_row(tmp_path):
    from standout.data.reading import netflix

    n = 1000
    text = b"1:\n" + b"".join(b"%d,1,2000-1-1\n" % (k % 10) for k in range(n))
    room = []
    parse = netflix._parse

    def watched(text, movie, customer, *rest):
        room.append(customer.size)
        return parse(text, movie, customer, *rest) if customer.size >= n else (0, 0, 0, 0, -1)

    parsed = netflix.Parsed()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(netflix, "_parse", watched)
        netflix._parse_stream(iter([text]), "x", parsed)
    assert room[0] >= n, "compiled code would write past the end of the array"
    assert parsed.table().num_rows == n
