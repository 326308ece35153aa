"""Options of `standout audit`: each shapes the sweep or is refused, and the output folder is treated with care."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from standout.cli.session import _public


@pytest.fixture
def pairs(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "pairs.csv"
    path.write_text(
        "user,item\n"
        + "".join(f"{u},{i}\n" for u in range(60) for i in rng.choice(30, 9, replace=False))
    )
    return path


QUICK = ("--targets", "20", "--attacks", "scoreboard", "--json")


def knowledge(shown, *names):
    return {tuple(r["adversary"][n] for n in names) for r in json.loads(shown)["results"]}


def test_a_tolerance_without_knows_shapes_the_sweep(ratings, tmp_path, run):
    code, shown, _ = run("audit", ratings, "--out", tmp_path / "o", "--time-within", "30", *QUICK)
    assert code == 0
    assert knowledge(shown, "time_within") == {(30,)} and len(knowledge(shown, "knows")) == 4
    assert knowledge(shown, "value_within") == {(None,), (0,), (1,)}


def test_a_choice_without_knows_shapes_the_sweep(ratings, tmp_path, run):
    code, shown, _ = run(
        "audit", ratings, "--out", tmp_path / "o", "--choose", "outside-top:3", *QUICK
    )
    assert code == 0 and knowledge(shown, "choose") == {("outside-top:3",)}


def test_the_full_sweep_is_larger_and_recorded(pairs, ratings, tmp_path, run):
    sizes = {}
    for size in ("default", "full"):
        code, shown, _ = run("audit", ratings, "--out", tmp_path / size, "--sweep", size, *QUICK)
        assert code == 0 and json.loads(shown)["provenance"]["sweep"] == size
        sizes[size] = len(json.loads(shown)["results"])
    assert sizes["default"] == 40 and sizes["full"] > 54


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--choose", "foo", "choose='foo'"),
        ("--sweep", "huge", "--sweep"),
        ("--knows", "2.5", "whole numbers"),
        ("--knows", "0", "knows=0"),
        ("--wrong", "1.5", "--wrong"),
        ("--wrong", "lots", "--wrong"),
        ("--wrong", "100%", "--wrong"),
        ("--wrong", "200%", "below 100%"),
        ("--within", "price=10%,time=2h", "use --time-within 2h"),
        ("--within", "value=10%", "use --value-within 10%"),
        ("--wrong-kind", "both", "wrong_kind='both'"),
        ("--value-within", "near", "--value-within"),
        ("--value-within", "-1", "value_within"),
        ("--time-within", "0.04", "whole days"),
        ("--targets", "5,7", "--targets"),
        ("--targets", "0", "--targets"),
        ("--targets", "2.5", "--targets"),
        ("--engine", "steam", "no engine"),
        ("--attacks", "guessing", "no attack"),
        ("--attacks", "all,scoreboard", "no attack"),
        ("--wrong", "99", "wrong="),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(option, value, word, ratings, tmp_path, run):
    before = sorted(tmp_path.iterdir())
    code, _, said = run("audit", ratings, "--out", tmp_path / "o", option, value)
    assert code == 2 and word in said.strip().splitlines()[-1] and "Traceback" not in said
    assert sorted(tmp_path.iterdir()) == before


def test_options_are_checked_before_the_data_is_read(tmp_path, run):
    code, _, said = run(
        "audit", tmp_path / "nowhere.csv", "--choose", "foo", "--out", tmp_path / "o"
    )
    assert code == 2 and "choose='foo'" in said


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--value-within", "1"),
        ("--value-within", "0"),
        ("--time-within", "3"),
        ("--wrong-kind", "value"),
    ],
)
def test_knowledge_that_the_data_lacks_is_exit_2(option, value, pairs, tmp_path, run):
    more = ("--wrong", "1") if option == "--wrong-kind" else ()
    code, _, said = run("audit", pairs, "--out", tmp_path / "o", option, value, *more, *QUICK)
    word = "neither values nor days" if option == "--wrong-kind" else "the data has no"
    assert code == 2 and word in said and not (tmp_path / "o").exists(), said


def test_unknown_channels_may_be_named_unknown(pairs, tmp_path, run):
    code, shown, _ = run("audit", pairs, "--out", tmp_path / "o", "--value-within", "none", *QUICK)
    assert code == 0 and knowledge(shown, "value_within") == {(None,)}


def test_an_audit_does_not_overwrite_the_findings_of_another(ratings, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    quick = ("--targets", "20", "--attacks", "scoreboard", "--knows", "2", "--wrong", "0")
    assert run("audit", ratings, *quick)[0] == 0
    first = Path("standout-out/findings.json").read_text()
    code, shown, said = run("audit", ratings, *quick)
    assert code == 0 and "standout-out-2" in said and "standout-out-2/report.html" in shown
    assert Path("standout-out/findings.json").read_text() == first
    code, _, said = run("audit", ratings, "--out", "standout-out", *quick)
    assert (
        code == 2
        and "--overwrite" in said
        and Path("standout-out/findings.json").read_text() == first
    )
    code, _, _ = run(
        "audit", ratings, "--out", "standout-out", "--overwrite", "--seed", "5", *quick
    )
    assert (
        code == 0
        and json.loads(Path("standout-out/findings.json").read_text())["provenance"]["seed"] == 5
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "ratings.csv",
        "standout-out",
        "standout-out-2",
    ]


def test_findings_that_another_audit_wrote_meanwhile_are_kept(ratings, tmp_path, monkeypatch, run):
    from standout.audit.audit import Audit

    out, real = tmp_path / "o", Audit.run

    def slow(self, progress=None):
        out.mkdir()
        (out / "findings.json").write_text("theirs")
        return real(self, progress)

    monkeypatch.setattr(Audit, "run", slow)
    code, _, _ = run("audit", ratings, "--out", out, "--knows", "2", *QUICK)
    assert code == 0 and (out / "findings.json").read_text() == "theirs"
    assert (tmp_path / "o-2" / "report.html").exists()


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_that_cannot_be_written_to_is_refused_before_the_audit(
    there, ratings, tmp_path, monkeypatch, run
):
    from standout.audit.audit import Audit

    out = tmp_path / "o"
    if there:
        out.mkdir()
    barred = {out if there else tmp_path}
    real = tempfile.mkstemp

    def denied(*arguments, dir=None, **more):
        if dir is not None and Path(dir) in barred:
            raise PermissionError(13, "Permission denied")
        return real(*arguments, dir=dir, **more)

    monkeypatch.setattr(tempfile, "mkstemp", denied)
    monkeypatch.setattr(Audit, "run", lambda self, progress=None: pytest.fail("the audit ran"))
    code, _, said = run("audit", ratings, "--out", out)
    assert code == 2 and "Permission denied" in said and "Traceback" not in said


def test_a_folder_under_a_file_is_refused(ratings, run):
    code, _, said = run("audit", ratings, "--out", ratings / "o")
    assert code == 2 and "Traceback" not in said


def test_a_disk_that_fails_while_writing_leaves_nothing(ratings, tmp_path, monkeypatch, run):
    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    code, _, said = run("audit", ratings, "--out", tmp_path / "o", "--knows", "2", *QUICK)
    assert code == 2 and "No space left" in said
    # finished parts are kept, so that the next try continues from them
    assert sorted(p.name for p in tmp_path.iterdir()) == [".standout-work.o", "ratings.csv"]


def test_the_recorded_command_keeps_values_with_a_slash_and_drops_folders():
    told = [
        "audit",
        "/people/jane/ratings.csv",
        "--time-unit",
        "m/d",
        "--skip-bad",
        "--out",
        "/people/jane/out",
        "--json",
    ]
    assert _public(told) == [
        "audit",
        "ratings.csv",
        "--time-unit",
        "m/d",
        "--skip-bad",
        "--out",
        "out",
        "--json",
    ]
    assert _public(["audit", "--json", "/people/jane/r.csv"]) == ["audit", "--json", "r.csv"]
    assert _public(["audit", "r.csv", "--out=/people/jane/o", "--time-unit=d/m"]) == [
        "audit",
        "r.csv",
        "--out=o",
        "--time-unit=d/m",
    ]


def test_the_recorded_command_repeats_an_audit_with_ambiguous_dates(tmp_path, monkeypatch, run):
    rng = np.random.default_rng(0)
    rows = [
        f"{u},{i},{rng.integers(1, 13)}/{rng.integers(1, 13)}/2020"
        for u in range(40)
        for i in rng.choice(20, 6, replace=False)
    ]
    (tmp_path / "d.csv").write_text("user,item,date\n" + "\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    code, shown, _ = run(
        "audit", tmp_path / "d.csv", "--time-unit", "m/d", "--knows", "2", "--out", "one", *QUICK
    )
    assert code == 0
    command = json.loads(shown)["provenance"]["command"]
    shutil.rmtree("one")
    code, again, _ = run(*command[1:])
    assert code == 0 and json.loads(again)["results"] == json.loads(shown)["results"]


def test_a_tolerance_below_a_day_reads_the_hours_and_the_report_says_so(tmp_path, run):
    rng = np.random.default_rng(0)
    path = tmp_path / "visits.csv"
    stamps = np.datetime64("2024-01-01T00:00") + rng.integers(0, 90 * 1440, 60 * 9).astype(
        "timedelta64[m]"
    )
    rows = [(u, i) for u in range(60) for i in rng.choice(30, 9, replace=False)]
    path.write_text(
        "user,item,time\n"
        + "".join(f"{u},{i},{t}\n" for (u, i), t in zip(rows, stamps, strict=True))
    )
    code, shown, _ = run(
        "audit",
        path,
        "--out",
        tmp_path / "o",
        "--time-within",
        "2h,90min,0",
        "--knows",
        "2",
        *QUICK,
    )
    assert code == 0 and knowledge(shown, "time_within") == {("2h",), ("90min",), (0,)}
    found = json.loads(shown)
    assert found["data"]["days"]["resolution"] == "minute" and "T" in found["data"]["days"]["first"]
    assert knowledge(shown, "words") == {
        ("2 items, times ±2 h",),
        ("2 items, times ±90 min",),
        ("2 items, times to the minute",),
    }
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "read to the minute" in page and "times to within 2 h" in page
    again, _, _ = run("report", tmp_path / "o" / "findings.json", "--out", tmp_path / "again.html")
    assert again == 0
    code, _, said = run(
        "audit", path, "--out", tmp_path / "p", "--time-within", "2h", "--resolution", "day", *QUICK
    )
    assert code == 2 and "--resolution hour" in said


REDACTED = ("--targets", "10", "--knows", "2", "--attacks", "scoreboard-rh", "--redact")


def test_redact_searches_findings_report_and_what_is_printed(ratings, tmp_path, run):
    code, out, err = run("audit", ratings, "--out", tmp_path / "out", *REDACTED)
    assert code == 0, err
    assert "no label of the data in 3 outputs" in err
    assert "U00" not in out + (tmp_path / "out" / "report.html").read_text()


def test_redact_refuses_a_title_that_names_a_person_and_writes_nothing(ratings, tmp_path, run):
    code, out, err = run(
        "audit", ratings, "--out", tmp_path / "out", "--title", "All about U0042x", *REDACTED
    )
    assert code == 2
    assert (
        "--redact: labels of the data were found in findings.json (1), report.html (1)"
        in " ".join(err.split())
    )
    assert "U0042x" not in out + err
    assert not (tmp_path / "out").exists()


def test_the_domain_is_printed_with_its_reason_and_recorded(ratings, tmp_path, run):
    few = ("--knows", "2", "--targets", "20", "--attacks", "scoreboard")
    for more, said, name, item in (
        ((), "ratings (values on a scale of 5 steps", "ratings", "item"),
        (("--domain", "visits"), "visits (as asked)", "visits", "place"),
    ):
        code, _, errors = run("audit", ratings, "--out", tmp_path / name, *few, *more)
        assert code == 0 and f"domain: {said}" in " ".join(errors.split())
        found = json.loads((tmp_path / name / "findings.json").read_text())["provenance"]
        assert (found["domain"]["name"], found["domain"]["item"][0]) == (name, item)


def test_a_sweep_of_ones_own_is_all_that_is_tried(ratings, tmp_path, run):
    mine = tmp_path / "private" / "my.toml"
    mine.parent.mkdir()
    mine.write_text("[[adversary]]\nknows = [1, 3]\nchoose = 'popular'\n")
    code, shown, _ = run("audit", ratings, "--out", tmp_path / "o", "--sweep", mine, *QUICK)
    assert code == 0 and knowledge(shown, "knows", "choose") == {(1, "popular"), (3, "popular")}
    found = json.loads(shown)["provenance"]
    assert found["sweep"] is None
    words = ["audit", "x.csv", "--sweep", str(mine), f"--sweep={mine}"]
    assert _public(words)[2:] == ["--sweep", "my.toml", "--sweep=my.toml"]


def test_a_sweep_of_ones_own_takes_no_other_options_of_knowledge(ratings, tmp_path, run):
    mine = tmp_path / "my.toml"
    mine.write_text("[[adversary]]\nknow = 1\n")
    out = ("--out", tmp_path / "o")
    code, _, errors = run("audit", ratings, *out, "--sweep", mine, "--knows", "2")
    assert code and "leave out --knows" in " ".join(errors.split())
    code, _, errors = run("audit", ratings, *out, "--sweep", mine)
    said = " ".join(errors.split())
    assert code and "unknown key 'know'" in said and "my.toml" in said
    code, _, errors = run("audit", ratings, *out, "--domain", "shop")
    assert code and "no domain 'shop'" in " ".join(errors.split())
    assert not (tmp_path / "o").exists()
