"""PostgreSQL: the same dataset as from a file, memory that does not grow with the table, and no credentials anywhere."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from servers import PASSWORD, free_port

from standout.data.dataset import Dataset
from standout.errors import InputError, ParameterError

ROWS = [
    (u, i, (u * 7 + i * 3) % 10 + 1, 18_000 + 11 * u + i)
    for u in range(1, 9)
    for i in range(1, 7)
    if (u + i) % 3
]


@pytest.fixture(scope="module")
def shop(postgres):
    """Address of a database with a table `sales` and a few odd ones."""
    cells = ", ".join(
        f"({u}, 'M{i}y', {v}, '{np.datetime64(d, 'D')} 23:30:00+00')" for u, i, v, d in ROWS
    )
    postgres.execute(
        'CREATE TABLE sales ("user" int, item text, rating numeric, at timestamptz)',
        f"INSERT INTO sales VALUES {cells}",
        'CREATE TABLE "odd"";DROP TABLE sales;--" AS SELECT "user" AS "a ""b"" c", item AS "SELECT", rating FROM sales',
        "CREATE TABLE nothing (person int, item int)",
        "CREATE SCHEMA other",
        "CREATE TABLE other.sales AS SELECT 1 AS person, 2 AS item UNION ALL SELECT 2, 2",
        "CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS 'INSERT INTO nothing VALUES (1, 1) RETURNING 1'",
        "CREATE VIEW writing AS SELECT writes() AS person, 2 AS item",
        "CREATE ROLE guest LOGIN PASSWORD 'guestword'",
        "REVOKE ALL ON ALL TABLES IN SCHEMA public FROM guest",
    )
    return postgres.url


def expected(**more):
    record, item, value, day = zip(*ROWS, strict=True)
    return Dataset.from_arrays(record, [f"M{i}y" for i in item], value, day, **more)


def test_a_table_gives_the_same_dataset_as_the_same_rows_from_elsewhere(shop):
    ds = Dataset.read(
        shop, table="sales", record="user", item="item", value="rating", time="at", resolution="day"
    )
    assert ds.fingerprint == expected().fingerprint
    assert ds.record_labels.tolist() == expected().record_labels.tolist()
    assert ds.cleaning.rows_read == len(ROWS)
    assert (
        Dataset.read(shop, table="public.sales", repeats="last", resolution="day").fingerprint
        == expected().fingerprint
    )


def test_names_are_quoted_and_never_run_as_sql(shop):
    ds = Dataset.read(shop, table='odd";DROP TABLE sales;--', record='a "b" c', item="SELECT")
    assert ds.n_entries == len(ROWS)
    with pytest.raises(InputError, match="has no table"):
        Dataset.read(shop, table="sales; DROP TABLE sales")
    assert Dataset.read(shop, table="sales").n_entries == len(ROWS)


def test_a_table_of_another_schema_is_not_confused_with_one_of_the_same_name(shop):
    assert Dataset.read(shop, table="other.sales", record="person").n_entries == 2


def test_reading_changes_nothing_even_through_a_view_that_writes(shop):
    with pytest.raises(InputError, match="writing cannot be read to its end: the server refuses"):
        Dataset.read(shop, table="writing")
    with pytest.raises(InputError, match="holds no rows"):
        Dataset.read(shop, table="nothing")


CELLS = {
    "numeric(12,0)": (["123456789012", "7"], "record", [7, 123456789012]),
    "numeric": (["12345678901234567890123", "7"], "record", ["12345678901234567890123", "7"]),
    "uuid": (
        ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"] * 2,
        "record",
        ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    ),
    "char(4)": (["ab", "cd"], "record", ["ab", "cd"]),
    "boolean": (["true", "false"], "value", [0.0, 1.0]),
    "numeric(4,2)": (["1.25", "NaN"], "value", [1.25]),
    "money": (["1.50", "2.50"], "value", [1.5, 2.5]),
    "date": (["2020-01-02", "infinity"], "time", [18263]),
    "timestamp": (["2020-01-02 23:59:59.9", "-infinity"], "time", [18263]),
}


@pytest.mark.parametrize("kind", CELLS)
def test_types_that_arrow_does_not_know_are_read_as_what_they_are(shop, postgres, kind):
    cells, role, result = CELLS[kind]
    name = f"t_{''.join(c for c in kind if c.isalnum())}"
    postgres.execute(
        f"DROP TABLE IF EXISTS {name}",
        f"CREATE TABLE {name} (person int, item int, cell {kind})",
        *(f"INSERT INTO {name} VALUES ({k}, {k}, '{cell}')" for k, cell in enumerate(cells)),
    )
    columns = {"record": "person", "item": "item", "value": None, "time": None, role: "cell"}
    ds = Dataset.read(shop, table=name, resolution="day", **columns)
    if role == "time":
        assert (
            ds.fingerprint
            == Dataset.from_arrays([0, 1], [0, 1], time=[*result, np.nan]).fingerprint
        )
    else:
        assert {"record": ds.record_labels, "value": ds.levels}[role].tolist() == result
    assert ds.n_entries == 2


def test_every_failure_is_one_sentence_without_credentials(shop, postgres):
    cases = {
        postgres.address("auditor", "wrongWord"): "refuses the user or the password",
        postgres.address("auditor", PASSWORD, free_port()): "no server answers",
        postgres.url.replace("/postgres", "/nodb"): "no database of this name",
        f"postgresql://auditor:{PASSWORD}@[::1/x": "malformed",
        f"postgresql://auditor:{PASSWORD}@127.0.0.1/x?secret={PASSWORD}": "malformed",
        f"mysql://auditor:{PASSWORD}@127.0.0.1/x": "there is no reader for mysql://",
        postgres.address("guest", "guestword"): "has no table 'sales'. It has: nothing",
    }
    postgres.execute("GRANT SELECT ON nothing TO guest")
    for url, message in cases.items():
        with pytest.raises(InputError) as caught:
            Dataset.read(url, table="sales")
        text = str(caught.value)
        assert message in text
        assert "\n" not in text and len(text) < 400
        assert not any(word in text for word in (PASSWORD, "wrongWord", "auditor", "127.0.0.1"))
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
    with pytest.raises(InputError, match=r"holds \d+ tables: .*Name one with table="):
        Dataset.read(shop)
    with pytest.raises(ParameterError, match="encoding: for delimited text"):
        Dataset.read(shop, table="sales", encoding="utf-8")


def test_a_missing_driver_says_what_to_install(shop, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    with pytest.raises(InputError, match="pip install adbc-driver-postgresql"):
        Dataset.read(shop, table="sales")


def test_credentials_reach_neither_findings_nor_report_nor_messages(shop, tmp_path, run):
    out = tmp_path / "out"
    code, shown, said = run(
        "audit",
        shop,
        "--table",
        "sales",
        "--record",
        "user",
        "--out",
        out,
        "--targets",
        "5",
        "--knows",
        "2",
        "--attacks",
        "scoreboard-rh",
    )
    assert code == 0, said
    command = json.loads((out / "findings.json").read_text())["provenance"]["command"]
    assert "postgresql://…/postgres" in command
    text = shown + said + (out / "findings.json").read_text() + (out / "report.html").read_text()
    for arguments in (
        ["audit", shop, shop],
        ["audit", "--nope", shop],
        [shop],
        ["audit", f"--targets={shop}", "x"],
    ):
        code, shown, said = run(*arguments)
        assert code == 2
        text += shown + said
    assert PASSWORD not in text
    assert "auditor" not in text


FIVE_MILLION = """
import resource, sys
import standout.cli.app as app
sys.argv = ["standout", "audit", sys.argv[1], "--table", "big", "--out", sys.argv[2], "--targets", "50", "--knows", "4",
            "--attacks", "scoreboard-rh"]
try:
    app.main()
finally:
    print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


@pytest.mark.slow
def test_five_million_rows_are_audited_in_bounded_memory(postgres, tmp_path):
    postgres.execute(
        "CREATE TABLE big AS SELECT ('person-' || (g * 7919) % 200000) AS person, abs(hashint8(g)) % 5000 AS item, "
        "g % 5 + 1 AS rating, timestamp '2020-01-01' + (g % 700000) * interval '1 minute' AS at "
        "FROM generate_series(1::bigint, 5000000) g"
    )
    done = subprocess.run(
        [sys.executable, "-c", FIVE_MILLION, postgres.url, str(tmp_path / "out")],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    findings = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert findings["data"]["n_entries"] == 5_000_000
    assert findings["data"]["n_records"] == 200_000
    peak = int(done.stderr.rpartition("peak ")[2])
    # measured: 0.6 GB; the rows as Python objects would be 2 GB and more
    assert peak < 1200, f"{peak} MB"
