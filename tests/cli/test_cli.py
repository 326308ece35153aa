"""The command line as a person meets it: it works, and bad input ends with one clear line and nothing written."""

import gzip
import json
import subprocess
import sys

import pytest

from standout.cli import app


def test_audit_writes_findings_and_a_report_and_prints_a_table(ratings, tmp_path, run):
    out = tmp_path / "out"
    code, shown, said = run("audit", ratings, "--out", out, "--targets", "40")
    assert code == 0
    assert sorted(p.name for p in out.iterdir()) == ["findings.json", "report.html"]
    assert "report.html" in shown and "items only" in shown
    assert "userId" in said and "80 records" in said


def test_neither_the_findings_nor_the_report_name_anybody(ratings, tmp_path, run):
    out = tmp_path / "out"
    code, shown, said = run("audit", ratings, "--out", out, "--targets", "40", "--knows", "3")
    text = shown + said + (out / "findings.json").read_text() + (out / "report.html").read_text()
    assert code == 0
    assert not [n for n in range(80) if f"U{n:04d}x" in text] and not [
        n for n in range(50) if f"M{n:03d}y" in text
    ]


def test_json_is_all_there_is_on_standard_output(ratings, tmp_path, run):
    code, shown, _ = run(
        "audit", ratings, "--out", tmp_path / "o", "--targets", "30", "--knows", "3", "--json"
    )
    assert code == 0 and json.loads(shown)["results"][0]["n_targets"] == 30


def test_lists_of_knowledge_are_crossed(ratings, tmp_path, run):
    code, shown, _ = run(
        "audit",
        ratings,
        "--out",
        tmp_path / "o",
        "--targets",
        "20",
        "--json",
        "--attacks",
        "scoreboard-rh",
        "--knows",
        "2,4",
        "--value-within",
        "0,none",
        "--time-within",
        "3,none",
    )
    known = {
        (r["adversary"]["knows"], r["adversary"]["value_within"], r["adversary"]["time_within"])
        for r in json.loads(shown)["results"]
    }
    assert code == 0 and known == {(k, v, t) for k in (2, 4) for v in (0, None) for t in (3, None)}


def bad_inputs(tmp_path):
    def file(name, text, mode="wb"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    good = "user,movie,rating\n" + "".join(
        f"{u},{m},3\n" for u in range(9) for m in range(u, u + 4)
    )
    return {
        "missing file": (tmp_path / "nowhere.csv", [], "nowhere.csv"),
        "empty file": (file("empty.csv", ""), [], "empty"),
        "header only": (file("header.csv", "user,movie,rating\n"), [], "no rows"),
        "no such column": (file("good.csv", good), ["--record", "usr"], "Did you mean 'user'"),
        "text where numbers belong": (
            file("text.csv", good.replace(",3\n", ",good\n")),
            [],
            "rating",
        ),
        "all-null column": (file("null.csv", good.replace(",3\n", ",\n")), [], "rating"),
        "infinite values": (file("inf.csv", good.replace("0,0,3", "0,0,inf")), [], "infinite"),
        "one record": (
            file("one.csv", "user,movie,rating\n" + "".join(f"1,{m},3\n" for m in range(9))),
            [],
            "1 record",
        ),
        "one item": (
            file("item.csv", "user,movie,rating\n" + "".join(f"{u},1,3\n" for u in range(9))),
            [],
            "1 item",
        ),
        "no eligible target": (file("few.csv", good), ["--knows", "50"], "lower knows"),
        "rows that do not parse": (file("bad.csv", good + "7,7,lots\n"), [], "--skip-bad"),
        "truncated gzip": (
            file("cut.csv.gz", gzip.compress(good.encode() * 200)[:200]),
            [],
            "cut.csv.gz",
        ),
        "not a Parquet": (file("fake.parquet", "this is not parquet"), [], "fake.parquet"),
        "unknown attack": (file("ok.csv", good), ["--attacks", "guessing"], "no attack"),
        "senseless number": (file("ok2.csv", good), ["--knows", "two"], "whole numbers"),
    }


@pytest.mark.parametrize(
    "case",
    [
        "missing file",
        "empty file",
        "header only",
        "no such column",
        "text where numbers belong",
        "all-null column",
        "infinite values",
        "one record",
        "one item",
        "no eligible target",
        "rows that do not parse",
        "truncated gzip",
        "not a Parquet",
        "unknown attack",
        "senseless number",
    ],
)
def test_bad_input_ends_with_one_clear_line_and_nothing_written(case, tmp_path, run):
    path, options, word = bad_inputs(tmp_path)[case]
    before = sorted(p.name for p in tmp_path.iterdir())
    code, shown, said = run("audit", path, "--out", tmp_path / "out", *options)
    last = said.strip().splitlines()[-1]
    assert code == 2, (shown, said)
    assert last.startswith("standout: ") and word in last, said
    assert "Traceback" not in said
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_bad_rows_are_dropped_when_asked_and_counted(ratings, tmp_path, run):
    ratings.write_text(ratings.read_text() + "u1,m1,lots,1000000000\n")
    code, _, said = run(
        "audit", ratings, "--out", tmp_path / "o", "--skip-bad", "--targets", "20", "--knows", "2"
    )
    assert code == 0 and "1 rows that do not parse dropped" in said


def test_an_interrupted_audit_leaves_nothing(ratings, tmp_path, monkeypatch, run):
    from standout.audit.audit import Audit

    def interrupted(self, progress=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Audit, "run", interrupted)
    before = sorted(p.name for p in tmp_path.iterdir())
    code, _, said = run("audit", ratings, "--out", tmp_path / "out")
    assert code == 130 and "nothing was written" in said
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_a_report_that_cannot_be_drawn_leaves_nothing_but_the_finished_parts(
    ratings, tmp_path, monkeypatch, run
):
    import standout.report.page

    def broken(findings, path):
        raise KeyboardInterrupt

    monkeypatch.setattr(standout.report.page, "render", broken)
    before = sorted(p.name for p in tmp_path.iterdir())
    code, _, _ = run("audit", ratings, "--out", tmp_path / "out", "--targets", "20", "--knows", "2")
    assert code == 130
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != ".standout-work.out") == before


def test_doctor_shows_what_to_type_with_its_brackets(monkeypatch, run):
    from standout.cli import machine

    monkeypatch.setattr(
        machine, "examine", lambda: {"cupy": "not installed: pip install 'standout[gpu]'"}
    )
    code, shown, _ = run("doctor")
    assert code == 0
    assert "standout[gpu]" in shown


def test_doctor_says_which_engines_work(run):
    code, shown, _ = run("doctor", "--json")
    assert code == 0 and json.loads(shown)["engine memory"] == "works"


def test_demo_audits_a_built_in_release(tmp_path, run):
    code, shown, said = run("demo", "--records", "600", "--targets", "40", "--out", tmp_path / "o")
    assert code == 0 and "report.html" in shown and "600 records" in said


def test_twin_writes_a_parquet_file(tmp_path, run):
    from standout import Dataset

    path = tmp_path / "twin.parquet"
    code, shown, _ = run("twin", "--records", "500", "--out", path)
    assert code == 0 and str(path) in shown
    assert Dataset.read(path).n_records == 500


@pytest.mark.parametrize("verb", app.VERBS)
def test_every_verb_has_help_with_an_example(verb, run):
    code, shown, _ = run(verb, "--help")
    assert code == 0 and f"standout {verb}" in shown and "Example" in shown


@pytest.mark.parametrize("module", ["standout", "standout.cli.start"])
def test_a_module_of_the_program_runs_it(module):
    """A check that did nothing would exit with 0, which means pass."""
    asked = [sys.executable, "-m", module, "check", "nowhere.csv", "--policy", "nowhere.toml"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "nowhere.toml" in done.stderr


def test_errors_about_saved_results_name_the_file_and_a_frontier_its_own_report(tmp_path, run):
    (tmp_path / "frontier.json").write_text('{"schema_version": 1}')
    for command in (("report",), ("diff", tmp_path / "frontier.json")):
        code, _, said = run(*command, tmp_path / "frontier.json")
        assert code == 2 and "frontier.json': not findings of schema version" in said
    code, _, said = run("report", tmp_path)
    assert code == 2 and "holds a frontier; its report is frontier.html" in said


def test_the_folder_of_a_chart_is_made(ratings, tmp_path, run):
    chart = tmp_path / "new" / "x.svg"
    code, _, said = run("unicity", ratings, "--points", 2, "--targets", 20, "--out", chart)
    assert code == 0 and chart.read_text().startswith("<svg"), said
