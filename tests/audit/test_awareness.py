"""An audit of a defended release shows attackers who know the defense and attackers who do not."""

import json

import jsonschema
import numpy as np
import pytest
from rich.console import Console

import standout as so
from standout.report.terminal import show, to_markdown

WHO = so.Adversary(knows=2, value_within=1, time_within=5)


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(5)
    n, per, items = 80, 12, 40
    record = np.repeat(np.arange(n), per)
    item = np.concatenate([rng.choice(items, per, replace=False) for _ in range(n)])
    return so.Dataset.from_arrays(
        record, item, rng.integers(1, 6, record.size), rng.integers(11_000, 11_700, record.size)
    )


def audit(source, defense, attacks=("scoreboard-rh", "likelihood")):
    release = defense.apply(source, seed=1) if defense else None
    return so.Audit(source, WHO, list(attacks), targets="all", release=release, describe=False).run(
        progress=False
    )


@pytest.fixture(scope="module")
def shifted(source):
    return audit(source, so.defense("shift-time", days=300))


def test_every_attacker_has_a_label_of_its_own_and_the_headline_is_the_strongest(shifted):
    result = shifted.results[0]
    labels = [one["attack"]["label"] for one in result["attacks"]]
    assert labels == [
        "scoreboard-rh",
        "likelihood (adaptive)",
        "likelihood (naive)",
        "likelihood (changed channels ignored)",
        "likelihood (fitted)",
    ]
    assert result["strongest"]["attack"] == "likelihood (adaptive)"
    assert result["uncertainty"]["attack"] == "likelihood (adaptive)"


def test_findings_hold_naive_best_unaware_and_adaptive_with_intervals(shifted):
    found = shifted.results[0]["awareness"]
    hits = {one["attack"]["label"]: one["hit"] for one in shifted.results[0]["attacks"]}
    assert found["naive"]["hit"] == hits["likelihood (naive)"]
    assert found["adaptive"]["hit"] == hits["likelihood (adaptive)"]
    unaware = [
        hits[k]["rate"] for k in hits if k.startswith("likelihood") and k != "likelihood (adaptive)"
    ]
    assert found["unaware"]["hit"]["rate"] == max(unaware)
    assert (
        found["naive"]["hit"]["rate"]
        < found["unaware"]["hit"]["rate"]
        <= found["adaptive"]["hit"]["rate"]
    )
    jsonschema.validate(json.loads(shifted.to_json()), so.Findings.schema())


def test_terminal_markdown_and_report_show_them_side_by_side(shifted, tmp_path):
    console = Console(width=140, record=True, force_terminal=False)
    show(shifted, console)
    shifted.save(tmp_path / "f.json")
    page = tmp_path / "r.html"
    so.render(so.Findings.load(tmp_path / "f.json"), page)
    for text in (console.export_text(), to_markdown(shifted), page.read_text(encoding="utf-8")):
        assert "best unaware" in text
        assert "The adaptive attacker knows the published parameters of the defense." in text


def test_an_attacker_who_ignores_changed_channels_runs_only_if_some_changed(source):
    labels = [
        one["attack"]["label"]
        for one in audit(source, so.defense("drop-entries", share=0.3)).results[0]["attacks"]
    ]
    assert "likelihood (naive)" in labels
    assert "likelihood (changed channels ignored)" not in labels


def test_without_a_defense_nothing_changes(source):
    found = audit(source, None)
    assert [one["attack"]["label"] for one in found.results[0]["attacks"]] == [
        "scoreboard-rh",
        "likelihood",
    ]
    assert "awareness" not in found.results[0]
    assert "best unaware" not in to_markdown(found)


def test_an_attack_with_options_of_its_own_is_left_alone(source):
    found = audit(
        source, so.defense("drop-entries", share=0.3), [so.attack("likelihood", noise="fit")]
    )
    assert [one["attack"]["label"] for one in found.results[0]["attacks"]] == ["likelihood"]
    assert "awareness" not in found.results[0]


def test_secret_names_tell_a_naive_attacker_nothing_and_an_unaware_one_what_popularity_tells(
    source,
):
    found = audit(source, so.defense("opaque-items"), ["likelihood"]).results[0]["awareness"]
    assert found["unaware"]["attack"] in (
        "likelihood (changed channels ignored)",
        "likelihood (fitted)",
    )
    assert found["naive"]["hit"]["high"] < found["unaware"]["hit"]["low"]
    assert found["unaware"]["hit"]["rate"] <= found["adaptive"]["hit"]["rate"] + 0.1
