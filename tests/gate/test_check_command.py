"""`standout check` and `standout policy` as a stranger would call them."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from known_rate import with_rate

POLICY = """
targets = {targets}
attacks = ["scoreboard-rh"]
sequential = true
[adversary.a]
knows = 3
[[limit]]
name = "found"
max = {most}
adversaries = ["a"]
[end]
"""


@pytest.fixture
def data(tmp_path):
    made = with_rate(0.045, n=1500)
    lines = [f"u{r},i{i}" for r, row in enumerate(made.record_item.reshape(-1, 3)) for i in row]
    path = tmp_path / "pairs.csv"
    path.write_text("user,item\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def policy(tmp_path):
    def write(most, targets=600):
        path = tmp_path / "policy.toml"
        path.write_text(POLICY.format(most=most, targets=targets))
        return path

    return write


def test_the_exit_code_is_the_verdict(run, data, policy):
    assert run("check", data, "--policy", policy(0.2))[0] == 0
    assert run("check", data, "--policy", policy(0.005))[0] == 1
    assert run("check", data, "--policy", policy(0.045))[0] == 3
    assert run("check", data, "--policy", policy(0.09, 20))[0] == 3
    assert run("check", data, "--policy", policy(0.2), "--targets", "10")[0] == 3


def test_the_table_says_what_was_decided_and_why(run, data, policy):
    code, out, err = run("check", data, "--policy", policy(0.2))
    assert code == 0
    assert out.startswith("PASS")
    assert "found" in out
    assert "self-test" in out
    assert "1,500 records" in err


def test_all_files_are_written_and_agree(run, data, policy, tmp_path):
    files = {name: tmp_path / "out" / name for name in ("v.json", "j.xml", "s.json", "p.html")}
    code, out, _ = run(
        "check",
        data,
        "--policy",
        policy(0.005),
        "--json",
        "--out",
        files["v.json"],
        "--junit",
        files["j.xml"],
        "--sarif",
        files["s.json"],
        "--page",
        files["p.html"],
    )
    assert code == 1
    assert json.loads(out) == json.loads(files["v.json"].read_text())
    assert ElementTree.parse(files["j.xml"]).getroot()[0].get("failures") == "1"
    assert json.loads(files["s.json"].read_text())["runs"][0]["properties"]["verdict"] == "fail"
    assert "Verdict: fail" in files["p.html"].read_text()
    for file in files.values():
        assert str(tmp_path) not in file.read_text(), "the folder of the data may name a person"


def test_github_annotations_are_all_that_is_printed(run, data, policy):
    code, out, err = run("check", data, "--policy", policy(0.005), "--github")
    assert code == 1
    assert all(line.startswith("::") for line in out.splitlines())
    assert err == ""


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("[[limit]]\nmaks = 0.1\n", "did you mean 'max'"),
        ("[[limit]]\nmax = 9\n", "from 0 to 1"),
        ("confidence = 'high'\n[[limit]]\nmax = 0.1\n", "'confidence'"),
        ("[[limit]\n", "not TOML"),
        ("", "no [[limit]]"),
    ],
)
def test_a_wrong_policy_ends_with_code_2_before_the_data_is_read(run, tmp_path, text, word):
    path = tmp_path / "policy.toml"
    path.write_text(text)
    code, out, err = run("check", tmp_path / "missing.csv", "--policy", path)
    assert code == 2
    assert out == ""
    assert word in err
    assert "Traceback" not in err


def test_wrong_options_end_with_code_2(run, data, policy, tmp_path):
    fine = policy(0.2)
    for extra in (
        ["--targets", "0"],
        ["--targets", "some"],
        ["--engine", "abacus"],
        ["--json", "--github"],
        ["--out", tmp_path],
        ["--out", tmp_path / "x", "--page", tmp_path / "x"],
        ["--defense", "drop-entries:share=0.5"],
        ["--release", tmp_path / "none.csv"],
    ):
        code, out, err = run("check", data, "--policy", fine, *extra)
        assert (code, out) == (2, ""), extra
        assert "standout:" in err
    assert run("check", data)[0] == 2
    assert run("check", data, "--policy", tmp_path / "none.toml")[0] == 2


def test_a_changed_release_is_unclear_until_the_policy_allows_it(run, data, policy, tmp_path):
    lines = data.read_text().splitlines()
    changed = tmp_path / "release.csv"
    changed.write_text("\n".join(lines[:-600]) + "\n")
    fine = policy(0.2)
    assert run("check", data, "--policy", fine, "--release", changed)[0] == 3
    fine.write_text("adaptive = false\n" + fine.read_text())
    assert run("check", data, "--policy", fine, "--release", changed)[0] == 0


def test_the_self_test_can_be_switched_off_and_is_on_by_default(run, data, policy):
    fine = policy(0.2)
    rows = [
        json.loads(run("check", data, "--policy", fine, "--json", *x)[1])["table"]
        for x in ([], ["--no-self-test"])
    ]
    assert [row["limit"] for row in rows[0]] == [
        "found",
        "self-test",
        "columns",
        "one record per person",
    ]
    assert [row["limit"] for row in rows[1]] == ["found", "columns", "one record per person"]


def test_policy_init_writes_a_policy_that_check_reads(run, data, tmp_path):
    path = tmp_path / "new" / "policy.toml"
    assert run("policy", "init", "--domain", "research", "--out", path)[0] == 0
    path.write_text(path.read_text().replace("knows = 4", "knows = 3"))
    code, out, _ = run("check", data, "--policy", path)
    assert code in (0, 1, 3)
    assert "worst group" in out
    before = path.read_text()
    assert run("policy", "init", "--out", path)[0] == 2
    assert path.read_text() == before
    assert run("policy", "init", "--out", path, "--overwrite")[0] == 0
    code, _, err = run("policy", "init", "--domain", "helth", "--out", tmp_path / "x.toml")
    assert code == 2
    assert "did you mean 'health'" in err
    assert run("policy", "show", "--out", tmp_path / "x.toml")[0] == 2
    assert not (tmp_path / "x.toml").exists()


def test_times_finer_than_a_day_are_checked_and_verified(run, tmp_path):
    rng = np.random.default_rng(2)
    data, policy, evidence = tmp_path / "d.csv", tmp_path / "p.toml", tmp_path / "e.json"
    lines = [
        f"u{r},i{i},{1_600_000_000 + 3600 * int(t)}"
        for r in range(400)
        for i, t in zip(rng.choice(60, 6, replace=False), rng.integers(0, 3000, 6), strict=True)
    ]
    data.write_text("user,item,timestamp\n" + "\n".join(lines) + "\n")
    policy.write_text(
        'attacks = ["scoreboard-rh"]\ntargets = 300\n[adversary.a]\nknows = 2\ntime_within = "2h"\n'
        '[[limit]]\nmax = 0.5\nadversaries = ["a"]\n[end]\n'
    )
    code, out, err = run("check", data, "--policy", policy, "--evidence", evidence)
    assert code == 1, err
    assert "every attack found all" in out
    code, out, _ = run("verify", evidence, data)
    assert code == 1
    assert "the same counts" in out
