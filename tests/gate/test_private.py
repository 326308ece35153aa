"""The gate's own privacy: no label in any output, no network, and a check that finds labels if there are some."""

from __future__ import annotations

import socket

import pytest
from known_rate import with_rate

import standout as so
from standout.gate.formats import find_labels_in

POLICY = """
attacks = ["scoreboard-rh"]
targets = 300
[adversary.a]
knows = 3
[[limit]]
name = "{name}"
max = 0.3
adversaries = ["a"]
[[limit]]
name = "groups"
max = 0.99
adversaries = ["a"]
by = "rarity"
[end]
"""


@pytest.fixture
def files(tmp_path):
    rows = with_rate(0.03, n=1000).record_item.reshape(-1, 3)
    data = tmp_path / "release.csv"
    lines = [f"Ann Lee {r:04d},Heat-{i:05d}" for r, row in enumerate(rows) for i in row]
    data.write_text("user,item\n" + "\n".join(lines) + "\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(name="found"))
    return data, policy


def outputs(folder):
    names = ("out", "page", "junit", "sarif", "evidence")
    return [x for name in names for x in (f"--{name}", folder / "made" / f"{name}.txt")]


def test_no_output_of_a_check_holds_a_label(run, files, tmp_path):
    code, out, err = run("check", files[0], "--policy", files[1], *outputs(tmp_path), "--redact")
    assert code == 0, err
    written = [p.read_text() for p in (tmp_path / "made").iterdir()]
    assert len(written) == 5
    for text in (*written, out, err):
        assert "Ann Lee" not in text
        assert "Heat-" not in text
    assert "no label of the data in 6 outputs" in err


def test_redact_finds_a_label_in_the_policy_and_writes_nothing(run, files, tmp_path):
    files[1].write_text(POLICY.format(name="without Ann Lee 0007"))
    code, out, err = run("check", files[0], "--policy", files[1], *outputs(tmp_path), "--redact")
    assert code == 2
    assert out == ""
    assert "labels of the data were found in" in err
    assert "Ann" not in err
    assert not (tmp_path / "made").exists()


def test_labels_are_found_word_by_word_and_numbers_are_left_out():
    data = so.Dataset.from_arrays(
        ["Ann Lee", "bob77", "1234567", "ab"], ["Heat (1995)", "drama", "tea-5512", "99"]
    )
    seen = find_labels_in(
        {
            "a": "x Ann Lee, bob77.",
            "b": "Ann; Lee-bob 77 drama 1234567 ab",
            "c": "<Heat (1995)>tea-5512",
        },
        data,
    )
    # punctuation between two words is not part of a label: "Ann; Lee" counts
    assert seen == (False, "labels of the data were found in a (2), b (1), c (2)")
    clean, why = find_labels_in({"a": "Anna Leeds"}, data)
    assert clean
    assert "4 of 8 labels" in why


def test_a_check_opens_no_socket(run, files, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    evidence = tmp_path / "e.json"
    assert (
        run(
            "check",
            files[0],
            "--policy",
            files[1],
            "--evidence",
            evidence,
            "--page",
            tmp_path / "v.html",
        )[0]
        == 0
    )
    assert run("verify", evidence, files[0])[0] == 0
    assert run("diff", files[0], files[0], "--attacks", "scoreboard-rh", "--targets", "50")[0] == 0
    assert run("policy", "init", "--out", tmp_path / "p.toml")[0] == 0


def test_small_groups_are_hidden_in_every_output(run, files, tmp_path):
    files[1].write_text("smallest_group = 1000\n" + POLICY.format(name="found"))
    code, out, _ = run("check", files[0], "--policy", files[1], "--out", tmp_path / "v.json")
    assert code in (0, 3)
    import json

    for row in json.loads((tmp_path / "v.json").read_text())["tests"]:
        if row["group"] is not None:
            assert {
                row[key]
                for key in ("n", "rate", "lower", "upper", "p_met", "p_exceeded", "p_met_holm")
            } == {None}
    assert "a group of few targets is below the limit" in " ".join(out.split())
    shown = next(line for line in out.splitlines() if "groups" in line)
    assert shown.count("%") <= 3, "the limit may be shown, rates and bounds may not"
