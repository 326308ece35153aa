"""What people have: any encoding, any way to write numbers and dates, files without names, databases, matrices."""

from __future__ import annotations

import io
import json
import sqlite3
import sys

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from standout.data.dataset import Dataset
from standout.errors import ColumnError, InputError, ParameterError, RowError

ROWS = [
    (u, i, (u * 7 + i * 3) % 10 + 1, 18_000 + 11 * u + i)
    for u in range(1, 9)
    for i in range(1, 7)
    if (u + i) % 3
]
DAYS = [np.datetime64(d, "D").astype(object) for *_, d in ROWS]


def expected():
    """The table of ROWS as it has to come out of every format."""
    record, item, value, day = zip(*ROWS, strict=True)
    return Dataset.from_arrays(record, item, value, day).fingerprint


def csv(folder, lines, name="data.csv", encoding="utf-8"):
    path = folder / name
    path.write_bytes(("\n".join(lines) + "\n").encode(encoding))
    return path


def lines(header="user,item,rating,date", form="{u},{i},{v},{d}"):
    rows = [form.format(u=u, i=i, v=v, d=d) for (u, i, v, _), d in zip(ROWS, DAYS, strict=True)]
    return [header, *rows] if header else rows


def notes(ds):
    return " ".join(ds.cleaning.notes)


@pytest.mark.parametrize(
    ("encoding", "word"),
    [
        ("cp1252", "Müller – façade “naïve”"),
        ("shift_jis", "日本の本と映画"),
        ("gb18030", "北京和上海的电影"),
        ("cp1251", "Москва и Петербург"),
        ("koi8_r", "Москва и Петербург"),
        ("utf-16", "Müller 日本"),
        ("utf-16-le", "Müller 日本"),
        ("utf-8-sig", "Müller 日本"),
    ],
)
def test_no_encoding_turns_labels_into_other_labels(tmp_path, encoding, word):
    path = csv(
        tmp_path, ["user,item", *(f"{k},{word} {k % 5}" for k in range(20))], encoding=encoding
    )
    assert Dataset.read(path).item_labels.tolist() == sorted(f"{word} {k}" for k in range(5))


def test_bytes_far_down_in_a_file_do_not_end_the_reading(tmp_path):
    path = csv(
        tmp_path, ["user,item", *(f"{k},plain" for k in range(20_000)), "7,café"], encoding="cp1252"
    )
    ds = Dataset.read(path)
    assert ds.item_labels.tolist() == ["café", "plain"]
    assert ds.n_entries == 20_001
    assert "read as cp1252" in notes(ds)


def test_the_named_encoding_is_used_and_a_wrong_one_is_refused(tmp_path):
    path = csv(tmp_path, ["user,item", "1,Łódź", "2,Łódź"], encoding="cp1250")
    assert Dataset.read(path, encoding="cp1250").item_labels.tolist() == ["Łódź"]
    with pytest.raises(InputError, match="not in the encoding utf-8"):
        Dataset.read(path, encoding="utf-8")
    with pytest.raises(ParameterError, match="encoding='klingon' is not known"):
        Dataset.read(path, encoding="klingon")


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1,5", "2", "3,25"], [1.5, 2, 3.25]),
        (["1.234,50 €", "€ 3,00", "7"], [1234.5, 3, 7]),
        (["$1,234.50", "-$2.00", "(3.50)"], [1234.5, -2, -3.5]),
        (["1 234,5", "2\u00a0000", "7"], [1234.5, 2000, 7]),
        (["CHF 1'234.50", "CHF 2", "3"], [1234.5, 2, 3]),
        (["0.125", "3", "1.500"], [0.125, 3, 1.5]),
    ],
)
def test_numbers_as_people_write_them_are_no_bad_rows(tmp_path, cells, values):
    path = csv(tmp_path, ["user;item;amount", *(f"{k};x;{c}" for k, c in enumerate(cells))])
    ds = Dataset.read(path)
    assert ds.levels[ds.record_code].tolist() == values


@pytest.mark.parametrize(
    ("cell", "point", "comma"), [("1,234", 1234.0, 1.234), ("1.234", 1.234, 1234.0)]
)
def test_a_thousand_is_not_guessed_to_be_a_fraction(tmp_path, cell, point, comma):
    path = csv(tmp_path, ["user;item;amount", f"1;x;{cell}", "2;x;99"])
    with pytest.raises(ColumnError, match="--decimal"):
        Dataset.read(path)
    assert Dataset.read(path, decimal=".").levels.tolist() == sorted([point, 99.0])
    assert Dataset.read(path, decimal=",").levels.tolist() == sorted([comma, 99.0])


def test_two_decimal_signs_in_one_column_are_not_half_read(tmp_path):
    path = csv(tmp_path, ["user;item;amount", "1;x;1,5", "2;x;2,5", "3;x;2.75"])
    with pytest.raises(RowError, match="1 without a number in column 'amount'"):
        Dataset.read(path)


def test_any_delimiter_can_be_named(tmp_path):
    path = csv(tmp_path, lines("user~item~rating~date", "{u}~{i}~{v}~{d}"))
    assert Dataset.read(path, delimiter="~").fingerprint == expected()
    with pytest.raises(ParameterError, match="1 to 4 characters"):
        Dataset.read(path, delimiter="")


def test_a_wrong_delimiter_is_not_an_empty_file(tmp_path):
    path = csv(tmp_path, ["user,item,when", "1,2,Jan 3, 2020", "2,2,Jan 4, 2020"])
    with pytest.raises(RowError, match="no row splits into 3 fields"):
        Dataset.read(path)


def test_a_file_without_names_is_read_with_the_names_that_are_given(tmp_path):
    path = csv(tmp_path, lines(header=None))
    for names in ("user,item,rating,date", ["user", "item", "rating", "date"]):
        ds = Dataset.read(path, names=names)
        assert ds.fingerprint == expected()
        assert ds.cleaning.rows_read == len(ROWS)
    with pytest.raises(ParameterError, match="has 4 columns, and names gives 2"):
        Dataset.read(path, names="user,item")


@pytest.mark.parametrize(
    "rows",
    [
        ["alice,tea", "bob,tea", "alice,milk"],
        ["alice,2020-01-01", "bob,2020-01-02"],
        ["a@example.org,tea", "b@example.org,milk"],
        ["x,tea,4", "y,milk,5"],
    ],
)
def test_the_first_person_is_not_taken_for_the_header(tmp_path, rows):
    with pytest.raises(InputError, match=r"has no header.*names="):
        Dataset.read(csv(tmp_path, rows))


def test_a_header_that_looks_like_rows_can_be_named_one(tmp_path):
    path = csv(tmp_path, ["user,2020", "1,7", "2,8"])
    assert Dataset.read(path, header=True, item="2020").n_records == 2


def test_lines_that_repeat_the_header_are_nobody(tmp_path):
    path = csv(tmp_path, ["user,item", "1,a", "user,item", "2,a"])
    ds = Dataset.read(path)
    assert ds.record_labels.tolist() == [1, 2]
    assert "1 lines that repeat the header" in notes(ds)


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        ("%a %b %d %H:%M:%S +0000 %Y", "%a %b %d %H:%M:%S +0000 %Y"),
        ("%d/%b/%Y:%H:%M:%S +0000", "%d/%b/%Y:%H:%M:%S +0000"),
        ("%a, %d %b %Y %H:%M:%S +0000", "%a, %d %b %Y %H:%M:%S +0000"),
        ("%B %d, %Y", "%B %d, %Y"),
        ("%b %d, %Y, %I:%M %p", "%b %d, %Y, %I:%M %p"),
        ("%m %d, %Y", "%m %d, %Y"),
        ("%Y.%m.%d %H:%M", "%Y.%m.%d %H:%M"),
        ("%d. %B %Y", "%d. %B %Y"),
    ],
)
def test_dates_of_common_forms_are_found_and_read(tmp_path, form, cell):
    rows = [
        f"{u}\t{i}\t{v}\t{d.strftime(cell)}" for (u, i, v, _), d in zip(ROWS, DAYS, strict=True)
    ]
    assert (
        Dataset.read(csv(tmp_path, ["user\titem\trating\twhen", *rows])).fingerprint == expected()
    ), form


def test_the_named_date_format_is_used_and_a_wrong_one_is_refused(tmp_path):
    rows = [
        f"{u},{i},{v},{d.strftime('%d|%m|%Y')}" for (u, i, v, _), d in zip(ROWS, DAYS, strict=True)
    ]
    path = csv(tmp_path, ["user,item,rating,date", *rows])
    assert Dataset.read(path, date_format="%d|%m|%Y").fingerprint == expected()
    with pytest.raises(InputError, match="no cell of column 'date' is written like"):
        Dataset.read(path, date_format="%Y/%m/%d")
    with pytest.raises(ParameterError, match="is not a format"):
        Dataset.read(path, date_format="%Q")


@pytest.mark.parametrize("unit", [None, "m/d", "d/m"])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_mixed_date_orders_are_never_half_read(tmp_path, unit, skip_bad):
    path = csv(tmp_path, ["user,item,date", *["1,x,01/31/2020"] * 200, "2,x,31/01/2020"])
    with pytest.raises(InputError, match="mixes ways to write dates"):
        Dataset.read(path, time_unit=unit, skip_bad=skip_bad)


def test_dates_of_two_styles_are_never_half_read(tmp_path):
    path = csv(tmp_path, ["user,item,date", *["1,x,2020-01-31"] * 200, "2,x,31.01.2020"])
    with pytest.raises(InputError, match="mixes ways to write dates"):
        Dataset.read(path, skip_bad=True)


def test_a_folder_a_glob_and_a_list_of_csv_files_are_one_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    rows = lines(header=None)
    csv(folder, ["user,item,rating,date", *rows[:9]], "a.csv")
    swapped = [",".join(row.split(",")[k] for k in (3, 0, 2, 1)) for row in rows[9:]]
    csv(folder, ["date,user,rating,item", *swapped], "b.csv")
    for source in (folder, str(folder / "*.csv"), [folder / "a.csv", str(folder / "b.csv")]):
        ds = Dataset.read(source)
        assert ds.fingerprint == expected()
        assert "2 files with the same columns" in notes(ds)


def test_a_bad_line_of_several_files_is_found_in_its_file(tmp_path):
    csv(tmp_path, ["user,item,rating", "1,2,3", "1,3,3"], "a.csv")
    csv(tmp_path, ["user,item,rating", "1,4,3", "1,5,x"], "b.csv")
    with pytest.raises(RowError, match=r"first: b\.csv, line 3"):
        Dataset.read(tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_unrelated_tables_of_a_folder_are_refused_with_their_names(tmp_path, kind):
    for name, columns in {"visits": ["user", "page"], "pages": ["page", "title"]}.items():
        if kind == "csv":
            csv(tmp_path, [",".join(columns), "1,2"], f"{name}.csv")
        else:
            pq.write_table(
                pa.table({column: [1] for column in columns}), tmp_path / f"{name}.parquet"
            )
    with pytest.raises(
        InputError, match=rf"pages\.{kind} \(page, title\); visits\.{kind} \(user, page\)"
    ):
        Dataset.read(tmp_path)


@pytest.mark.parametrize("how", ["lines", "array", "gz"])
def test_json_is_read(tmp_path, how):
    import gzip

    objects = [
        json.dumps({"user": u, "item": i, "rating": v, "date": str(d)})
        for (u, i, v, _), d in zip(ROWS, DAYS, strict=True)
    ]
    text = ("\n".join(objects) if how != "array" else "[" + ",\n".join(objects) + "]").encode()
    path = tmp_path / "data.json"
    path.write_bytes(gzip.compress(text) if how == "gz" else text)
    assert Dataset.read(path).fingerprint == expected()


def test_a_broken_line_of_json_is_found_and_not_dropped_silently(tmp_path):
    path = csv(tmp_path, ['{"user": 1, "item": 2}'] * 200 + ['{"user": 1'], "data.jsonl")
    with pytest.raises(RowError, match="first: line 201"):
        Dataset.read(path)
    ds = Dataset.read(path, skip_bad=True)
    assert (ds.cleaning.rows_read, ds.cleaning.rows_bad, ds.n_entries) == (201, 1, 200)


def database(folder, kind):
    path = folder / "shop.db"
    con = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    con.execute(
        "CREATE TABLE sales (customer_id INTEGER, sku INTEGER, quantity INTEGER, bought TEXT)"
    )
    rows = [(u, i, v, str(d)) for (u, i, v, _), d in zip(ROWS, DAYS, strict=True)]
    con.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", rows)
    return path, con


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_table_of_a_database_is_read_and_several_are_a_question(tmp_path, kind):
    path, con = database(tmp_path, kind)
    con.commit()
    con.close()
    assert Dataset.read(path).fingerprint == expected()
    con = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    con.execute("CREATE TABLE customers (customer_id INTEGER)")
    con.commit()
    con.close()
    with pytest.raises(InputError, match="holds 2 tables: customers, sales"):
        Dataset.read(path)
    assert Dataset.read(f"{path}::sales").fingerprint == expected()
    with pytest.raises(InputError, match=r"has no table 'sails'\. It has: customers, sales"):
        Dataset.read(f"{path}::sails")


def test_a_workbook_is_read_and_several_sheets_are_a_question(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["Customer", "Product", "Quantity", "Date"])
    for (u, i, v, _), d in zip(ROWS, DAYS, strict=True):
        book.active.append([u, i, v, d])
    book.create_sheet("empty")
    book.save(tmp_path / "book.xlsx")
    assert Dataset.read(tmp_path / "book.xlsx").fingerprint == expected()
    book["empty"].append(["x"])
    book.save(tmp_path / "book.xlsx")
    with pytest.raises(InputError, match="holds 2 sheets: Sheet, empty"):
        Dataset.read(tmp_path / "book.xlsx")
    assert Dataset.read(f"{tmp_path / 'book.xlsx'}::Sheet").fingerprint == expected()


def test_standard_input_is_read(monkeypatch):
    text = "\n".join(lines()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert Dataset.read("-").fingerprint == expected()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match="standard input is empty"):
        Dataset.read("-")


def test_empty_cells_of_a_wide_matrix_are_no_entries_and_zeros_are(tmp_path):
    path = csv(tmp_path, ["user,a,b,c", "x,1,,0", "y,,NaN,2.5"])
    for source in (
        Dataset.read(path, wide=True),
        Dataset.from_frame(pa.csv.read_csv(path), wide=True),
    ):
        assert (source.n_records, source.n_items, source.n_entries) == (2, 2, 3)
        assert source.levels.tolist() == [0, 1, 2.5]
        assert "zeros are entries" in notes(source)


def test_zeros_of_a_full_wide_matrix_are_a_question(tmp_path):
    path = csv(tmp_path, ["user,7,8,9", "x,1,0,2", "y,0,3,2"])
    with pytest.raises(ColumnError, match=r"zeros='keep'.*zeros='drop'"):
        Dataset.read(path, wide=True)
    assert Dataset.read(path, wide=True, zeros="drop").n_entries == 4
    assert Dataset.read(path, wide=True, zeros="keep").n_entries == 6
    assert Dataset.read(path, wide=True, zeros="keep").item_labels.tolist() == [7, 8, 9]


def test_a_wide_matrix_of_zeros_and_ones_has_no_values(tmp_path):
    ds = Dataset.read(csv(tmp_path, ["user,a,b", "x,1,0", "y,1,1"]), wide=True)
    assert ds.n_entries == 3
    assert not ds.has_value


def test_text_in_a_wide_matrix_is_not_dropped_silently(tmp_path):
    path = csv(tmp_path, ["user,gender,a,b", "x,f,1,", "y,m,,2"])
    with pytest.raises(ColumnError, match=r"these do not: gender\. Leave them out with ignore="):
        Dataset.read(path, wide=True)
    ds = Dataset.read(path, wide=True, ignore="gender")
    assert ds.item_labels.tolist() == ["a", "b"]
    assert [use.role for use in ds.cleaning.columns] == ["record", "ignored", "item", "item"]


def test_records_of_a_wide_matrix_without_names_are_a_question(tmp_path):
    path = csv(tmp_path, ["a,b,c", "1,,2", ",3,1"])
    with pytest.raises(ColumnError, match="record='NAME', or number the rows"):
        Dataset.read(path, wide=True)
    assert Dataset.read(path, wide=True, record=None).record_labels.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"wide": True, "item": "item"}, "item has no place in a wide matrix"),
        ({"zeros": "keep"}, "zeros is for wide matrices"),
        ({"names": "a,,b"}, "one of the names is empty"),
        ({"names": "a,a"}, "a occurs more than once"),
        ({"names": 3}, "names: give names of columns"),
        ({"decimal": ";"}, "use '.' or ','"),
        ({"date_format": "dd.mm"}, "use a format such as"),
        ({"date_format": "%d", "time_unit": "s"}, "exclude each other"),
        ({"max_bad": 0.1}, "no effect without skip_bad"),
        ({"max_bad": 7, "skip_bad": True}, "between 0 and 1"),
        ({"record": None}, "record=None: every entry belongs"),
        ({"item": ""}, "item='': every entry belongs"),
        ({"value": 3}, "value=3: give the name of a column as text"),
        ({"time": None, "time_unit": "s"}, "there is none: leave them out"),
        ({"value": None, "decimal": ","}, "there is none: leave it out"),
    ],
)
def test_options_that_make_no_sense_are_refused_and_not_ignored(tmp_path, options, message):
    path = csv(tmp_path, ["user,item,rating,date", "1,2,3,2020-01-01"])
    with pytest.raises(ParameterError) as caught:
        Dataset.read(path, **options)
    assert message in str(caught.value)


def test_options_for_text_are_refused_for_tables_that_have_types(tmp_path):
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"user": [1], "item": [2], "rating": [3.0]}), path)
    with pytest.raises(ParameterError, match="encoding, names: for delimited text"):
        Dataset.read(path, encoding="utf-8", names="a,b")
    with pytest.raises(ParameterError, match="is for values in text"):
        Dataset.read(path, decimal=",")


@pytest.mark.parametrize("path", [5, [], [3], "", {"a": 1}])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ParameterError, match="path"):
        Dataset.read(path)


def test_a_damaged_workbook_or_database_gets_one_clear_line(tmp_path):
    import zipfile

    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<broken")
    with pytest.raises(InputError, match="is not a workbook that can be read"):
        Dataset.read(tmp_path / "b.xlsx")
    path, con = database(tmp_path, "sqlite")
    con.commit()
    con.close()
    path.write_bytes(path.read_bytes()[:4096])
    with pytest.raises(InputError, match="is not an SQLite file that can be read"):
        Dataset.read(path)
    (tmp_path / "d.db").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
    with pytest.raises(InputError, match="is not a DuckDB file that can be read"):
        Dataset.read(tmp_path / "d.db")


NESTED = {
    "list": [["a", "b"], ["a"], ["c", "d"]],
    "objects": [[{"id": 1, "stars": 3}], [{"id": 2, "stars": 4}], [{"id": 1, "stars": 5}]],
    "object": [{"a": 3}, {"b": 4}, {"c": 5}],
    "mixed": ["a", ["a", "b"], 3],
}


@pytest.mark.parametrize("shape", NESTED)
def test_a_list_of_items_is_not_taken_for_one_item(shape, tmp_path):
    """Everybody would hold one item that nobody else holds: a risk that is not there, and all real facts are lost."""
    rows = [{"user": k, "items": items} for k, items in enumerate(NESTED[shape])]
    (tmp_path / "nested.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="'items' for item holds lists or objects"):
        Dataset.read(tmp_path / "nested.jsonl", record="user", item="items")
    if shape != "mixed":
        with pytest.raises(InputError, match="one row per entry"):
            Dataset.from_frame(pa.Table.from_pylist(rows), record="user", item="items")
        boxed = np.empty(3, object)
        boxed[:] = NESTED[shape]
        with pytest.raises(InputError, match="one label per entry"):
            Dataset.from_arrays([1, 2, 3], boxed)


def test_numbers_and_texts_in_one_json_column_are_labels_without_quotes(tmp_path):
    rows = [{"user": u, "item": i} for u in (0, "1", 2) for i in ("a", 7)]
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ds = Dataset.read(tmp_path / "mixed.jsonl")
    assert ds.record_labels.tolist() == ["0", "1", "2"] and ds.item_labels.tolist() == ["7", "a"]
