"""What is printed when something goes wrong: no label, no value, no credentials, and never a page of text."""

from __future__ import annotations

import pytest

from standout.data.dataset import Dataset
from standout.data.reading.workspace import workspace
from standout.errors import LONGEST, InputError, StandoutError


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write to the current folder by default, where a developer may have findings."""
    monkeypatch.chdir(tmp_path)


def failing(monkeypatch, error):
    def read(path, **options):
        try:
            raise ValueError("could not convert 'U0007x' to a number")
        except ValueError:
            raise error from None

    monkeypatch.setattr(Dataset, "read", read)


def test_an_error_of_ours_shows_neither_labels_nor_a_traceback(ratings, monkeypatch, run):
    failing(monkeypatch, KeyError("U0042x"))
    code, shown, said = run("audit", ratings)
    assert code == 70
    assert "internal error (KeyError at" in said
    assert "U0042x" not in shown + said and "U0007x" not in shown + said
    assert len(said.splitlines()) == 1


def test_the_traceback_is_there_for_those_who_ask(ratings, monkeypatch, run):
    failing(monkeypatch, KeyError("U0042x"))
    monkeypatch.setenv("STANDOUT_TRACEBACK", "1")
    with pytest.raises(KeyError, match="U0042x"):
        run("audit", ratings)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(28, "No space left on device"), "No space left on device"),
        (MemoryError("U0042x"), "not enough memory"),
    ],
)
def test_a_full_disk_and_full_memory_are_one_line(ratings, monkeypatch, run, error, message):
    failing(monkeypatch, error)
    code, _, said = run("audit", ratings)
    assert code == 2
    assert message in said and "U0042x" not in said and len(said.splitlines()) == 1


def test_no_message_is_longer_than_a_screen():
    assert len(str(StandoutError("x" * 10**6))) <= LONGEST
    assert str(StandoutError("short")) == "short"
    assert StandoutError().args == ("",)


def test_a_first_row_taken_for_a_header_is_not_printed_at_length(tmp_path):
    people = [f"person{k}@example.org" for k in range(60)]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(people) + "\n" + ",".join("1" for _ in people) + "\n")
    for options in ({"wide": True, "record": "nobody"}, {"ignore": "nobody"}):
        with pytest.raises(InputError) as caught:
            Dataset.read(path, header=True, **options)
        assert len(str(caught.value)) <= LONGEST
        assert "@example" not in str(caught.value)


def test_duckdb_draws_no_progress_bar_on_standard_output():
    with workspace("x") as (con, _):
        assert con.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(False,)]


def test_an_error_of_duckdb_is_one_line_without_cells():
    with pytest.raises(InputError) as caught, workspace("x.csv") as (con, _):
        con.execute("SELECT CAST('ALICE' AS INTEGER)")
    assert str(caught.value) == "x.csv cannot be read: DuckDB reports a ConversionException"
    assert caught.value.__suppress_context__


def test_a_stopped_query_is_an_interrupt_and_no_error_of_the_data():
    for error in (RuntimeError("Query interrupted"), __import__("duckdb").InterruptException("x")):
        with pytest.raises(KeyboardInterrupt), workspace("x.csv"):
            raise error
