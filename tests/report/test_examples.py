"""Every example runs as it is and writes what it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
MADE = {
    "audit_a_release.py": {"report.html", "risk.pdf", "findings.json"},
    "explain_one_record.py": {"why.html"},
}


@pytest.mark.parametrize("name", sorted(MADE))
def test_the_example_runs(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", [name, str(tmp_path)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert {p.name for p in tmp_path.iterdir()} == MADE[name]
    assert capsys.readouterr().out


def test_the_command_line_makes_the_same(tmp_path, monkeypatch, capsys):
    from made_findings import sweep
    from typer.testing import CliRunner

    from standout.cli.app import app

    sweep({2: 0.1, 4: 0.9}).save(tmp_path / "findings.json")
    run = CliRunner().invoke
    done = run(
        app,
        [
            "report",
            str(tmp_path),
            "-o",
            str(tmp_path / "r.html"),
            "--tables",
            str(tmp_path / "t"),
            "--formats",
            "csv,svg",
        ],
    )
    assert done.exit_code == 0 and "single out" in done.output.replace("\n", " ")
    assert (tmp_path / "r.html").exists() and len(list((tmp_path / "t").iterdir())) == 12
    assert run(app, ["report", str(tmp_path), "--markdown"]).output.startswith("Knowing 4 items")
    assert run(app, ["report", str(tmp_path), "--csv"]).output.startswith("adversary,knows")


def test_explain_on_the_command_line(tmp_path):
    import json

    from typer.testing import CliRunner

    from standout.cli.app import app

    rows = [
        f"p{r},i{i},{1 + (r * i) % 5},2005-01-{1 + (r + i) % 28:02d}"
        for r in range(30)
        for i in range(r % 4, 12, 2)
    ]
    (tmp_path / "d.csv").write_text("user,item,rating,date\n" + "\n".join(rows) + "\n")
    (tmp_path / "m.csv").write_text("item,value,time\ni2,1,2005-01-06\ni4,,\n")
    run = CliRunner().invoke
    one = run(
        app,
        [
            "explain",
            str(tmp_path / "d.csv"),
            "--record",
            "p4",
            "--knows",
            "4",
            "--json",
            "-o",
            str(tmp_path / "w.html"),
        ],
    )
    assert one.exit_code == 0, one.output
    assert json.loads(one.stdout)["target"]["label"] == "p4" and (tmp_path / "w.html").exists()
    two = run(
        app, ["explain", str(tmp_path / "d.csv"), "--mentions", str(tmp_path / "m.csv"), "--json"]
    )
    assert two.exit_code == 0, two.output
    assert [f["day"] for f in json.loads(two.stdout)["facts"] if f["item"] == "i2"] == [
        "2005-01-06"
    ]
    assert run(app, ["explain", str(tmp_path / "d.csv")]).exit_code != 0
