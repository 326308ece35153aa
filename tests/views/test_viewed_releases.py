"""Views on releases that a defense made, and where else a view is asked for: gate, risk per person, frontier, command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from same_findings import differences

import standout as so
from standout.adversary.seen import seen_through
from standout.attacks.unique import why_not_unique
from standout.errors import ParameterError
from standout.experiment.experiment import Experiment
from standout.experiment.journal import Journal
from standout.extend import GroupsView, Mechanism, TimeMap
from standout.views.view import parse_view

CATEGORY = {f"p{i:02d}": f"c{i % 15}" for i in range(60)}
CATEGORIES = GroupsView(CATEGORY, name="categories")
WHO = so.Adversary(knows=3, time_within=1, view=CATEGORIES)


def shops(seed=0, n=150, per=12):
    rng = np.random.default_rng(seed)
    record = np.repeat(np.arange(n), per)
    item = np.concatenate([rng.choice(60, per, replace=False) for _ in range(n)])
    return so.Dataset.from_arrays(
        [f"u{r}" for r in record],
        [f"p{i:02d}" for i in item],
        rng.integers(1, 6, record.size),
        rng.integers(12_000, 12_060, record.size),
    )


@pytest.fixture(scope="module")
def data():
    return shops()


def labels(findings):
    return [one["attack"]["label"] for one in findings.results[0]["attacks"]]


def about_views(findings):
    return [note for note in findings.warnings if note.startswith("View ")]


def test_where_the_parameters_cannot_be_stated_the_fitted_attacker_runs_and_the_notes_say_so(data):
    release = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    found = so.Audit(data, WHO, ["likelihood"], 60, seed=1, release=release).run()
    assert labels(found) == ["likelihood (fitted)", "likelihood (naive)"]
    assert found.results[0]["awareness"]["adaptive"]["attack"] == "likelihood (fitted)"
    assert len(about_views(found)) == 1
    assert "drop-entries(share=0.3) cannot be stated after the view" in about_views(found)[0]
    assert "takes the adaptive attacker's place" in about_views(found)[0]
    assert found.results[0]["unique"] is None
    assert "cannot be stated for this view" in found.results[0]["not_measured"]["unique"]
    assert so.risk(data, WHO, release=release, targets=20, draws=1).attack == "likelihood (fitted)"


@pytest.mark.parametrize(
    "text",
    [
        "coarsen-time(to=week)",
        "shift-time(days=5)",
        "round-values(levels=[1, 3, 5])",
        "sample-records(share=0.8)",
    ],
)
def test_where_they_can_be_stated_the_adaptive_attacker_sees_what_grouped_data_would_show(
    data, text
):
    release = so.parse_defense(text).apply(data, seed=7)
    found = so.Audit(data, WHO, ["likelihood"], 60, seed=1, release=release).run()
    assert labels(found)[0] == "likelihood (adaptive)"
    assert (
        "uses the published parameters of" in about_views(found)[0]
        and text[:8] in about_views(found)[0]
    )
    seen = seen_through(release, WHO)
    assert seen.source is seen_through(data, WHO) and seen.mechanism is not None
    # the view shows the same data and the same parameters whether it comes before the defense or after it
    other = so.parse_defense(text).apply(seen_through(data, WHO), seed=7)
    assert other.mechanism.sampled == seen.mechanism.sampled
    assert other.mechanism.time == seen.mechanism.time
    plain = WHO.without_view
    again = so.Audit(seen.source, plain, ["likelihood"], 60, seed=1, release=seen).run()
    one, two = found.to_dict()["results"][0], again.to_dict()["results"][0]
    assert one.pop("adversary") != two.pop("adversary")
    # a record that is found reveals its items, not only their groups
    assert one.pop("more_items") > two.pop("more_items")
    assert not differences(one, two)


def test_a_release_that_knows_its_defense_is_searched_as_if_it_were_grouped_before(data):
    """A release without a known defense: who is found through a view is who is found in grouped files."""
    release = data.take(np.arange(10, 150))
    found = so.Audit(data, WHO, ["scoreboard-rh", "unicity"], 60, seed=1, release=release).run()
    grouped = seen_through(data, WHO), seen_through(release, WHO)
    again = so.Audit(
        grouped[0], WHO.without_view, ["scoreboard-rh", "unicity"], 60, seed=1, release=grouped[1]
    ).run()
    one, two = found.to_dict()["results"][0], again.to_dict()["results"][0]
    assert one.pop("adversary") != two.pop("adversary")
    assert one.pop("more_items") > two.pop("more_items")
    assert one["n_not_released"] > 0 and not differences(one, two)


def test_what_a_view_makes_of_a_mechanism():
    groups, several = CATEGORIES, GroupsView({"a": ["x", "y"], "b": "x"})
    sequence = parse_view("sequence")
    kept = Mechanism(sampled=0.5, time=TimeMap(shift=3), dropped=frozenset({"value"}))
    for pushed in (groups.push(kept), sequence.push(kept), (groups | sequence).push(kept)):
        assert pushed is not None and vars(pushed) == vars(kept)
    assert sequence.push(Mechanism(time=TimeMap(period="week"))) is None
    rounded = so.defense("round-values", levels=[1, 3, 5]).apply(shops(), seed=1).mechanism
    assert groups.push(rounded) is not None and several.push(rounded) is None
    for lost in (
        Mechanism(lost=0.1), Mechanism(hidden=0.1), Mechanism(cap=5), Mechanism(kept_pairs=0.9),
        Mechanism(moved=0.1), Mechanism(replaced=0.1), Mechanism(attributes=0.1),
    ):  # fmt: off
        assert groups.push(lost) is None and sequence.push(lost) is None
        assert (groups | sequence).push(lost) is None


def test_uniqueness_is_defined_where_the_defense_changes_nothing_that_is_known(data):
    sampled = so.defense("sample-records", share=0.8).apply(data, seed=7)
    dropped = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    assert why_not_unique(WHO, sampled) == "" and why_not_unique(WHO, data) == ""
    assert "cannot be stated" in why_not_unique(WHO, dropped)


def test_an_attacker_without_a_likelihood_runs_as_always(data):
    release = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    job = Experiment(data, ["scoreboard-rh", "likelihood"], release=release)
    assert [one.label for one in job.attackers_for(WHO)] == [
        "scoreboard-rh", "likelihood (fitted)", "likelihood (naive)",
    ]  # fmt: off
    assert job.attackers_for(WHO.without_view) == job.attackers


# the gate, the risk of each person, the frontier


def policy(**more):
    return {
        "adversary": {"a": {"knows": 3, "value_within": "none", "view": "sequence"}},
        "attacks": ["likelihood"],
        "self_test": False,
        "targets": 60,
        "limit": [{"name": "x", "max": 0.05, "adversaries": ["a"], **more}],
    }


@pytest.mark.parametrize("by", ["none", "length", "rarity"])
def test_the_gate_measures_through_a_view(data, by):
    seen = so.check(data, policy(by=by, measure="found"))
    assert seen.verdict == "fail"
    assert seen.cells[0]["adversary"]["view"] == "sequence"
    # the people and the answers are those of an audit
    if by == "none":
        who = so.Adversary(knows=3, value_within=None, view="sequence")
        found = so.Audit(data, who, ["likelihood"], 60, seed=0).run().results[0]
        cell = next(c for c in seen.cells if c["attack"]["label"] == "likelihood")
        assert cell["n_eligible"] == found["n_eligible"]
        assert cell["credit"] == found["attacks"][0]["hit"]["count"]


@pytest.mark.parametrize("by", ["none", "length"])
def test_the_gate_draws_and_groups_people_by_what_is_shown_of_them(data, tmp_path, by):
    path = tmp_path / "categories.csv"
    path.write_text("".join(f"{item},{group}\n" for item, group in CATEGORY.items()))
    asked = policy(by=by, measure="found") | {"sequential": False}
    asked["adversary"]["a"] |= {"knows": 9, "view": f"groups:{path}"}
    who = so.Adversary(knows=9, value_within=None, view=f"groups:{path}")
    lengths = seen_through(data, who).lengths
    n = int((lengths >= 9).sum())
    assert 20 < n < 130
    cells = so.check(data, asked).cells
    whole = [c["n_eligible"] for c in cells if by == "length" or c["group"] is None]
    assert sum(whole) == n
    # the shown records have different lengths, the records of the source have one
    assert len(whole) > 1 if by == "length" else len(whole) == 1
    for cell in cells:
        if by == "length" and cell["group"]["low"] is not None:
            assert 9 <= cell["group"]["low"] <= lengths.max()


def test_the_gate_does_not_claim_that_somebody_knew_a_defense_that_the_view_hides(data):
    release = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    seen = so.check(data, policy(), release=release)
    row = next(r for r in seen.table if "adaptive" in r["limit"])
    assert row["verdict"] == "unclear"
    assert "cannot be stated for the view sequence" in row["why"]
    tested = {c["attack"]["label"] for c in seen.cells if c["source"] == "source"}
    assert tested == {"likelihood (fitted)", "likelihood (naive)"}


def test_the_gate_compares_two_releases_through_a_view(data):
    release = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    seen = so.diff(
        data, release, source=data, adversaries=[WHO], attacks=["likelihood"], targets=60
    )
    assert seen.rows[0]["attack"] == "likelihood" and "categories" in seen.rows[0]["adversary"]


def test_the_risk_of_each_person_is_the_hit_rate_of_an_audit(data):
    risk = so.risk(data, WHO, "scoreboard-rh", targets=50, draws=1, seed=4)
    audit = so.Audit(data, WHO, ["scoreboard-rh"], 50, seed=4).run().results[0]
    assert risk.found.mean() == pytest.approx(audit["attacks"][0]["hit"]["rate"])
    assert risk.words.endswith("items known as categories")


# journal, findings, command line


def test_a_finished_part_is_not_used_again_for_another_map(data, tmp_path):
    def rate(category):
        who = so.Adversary(knows=2, value_within=None, view=GroupsView(category, name="c"))
        kept = Journal(tmp_path)
        return so.Audit(data, who, ["unicity"], 40, journal=kept).run().to_frame()["hit"].item()

    # everybody holds two of the groups of either map: the same people are attacked
    assert rate(CATEGORY) != rate({item: f"c{int(item[1:]) % 40}" for item in CATEGORY})


def written(tmp_path):
    path = tmp_path / "folder of anna" / "categories.csv"
    path.parent.mkdir()
    path.write_text("product,category\n" + "".join(f"M{i:03d}y,c{i % 7}\n" for i in range(50)))
    return path


def test_the_command_audits_through_a_view(run, ratings, tmp_path):
    view, out = f"groups:{written(tmp_path)}", tmp_path / "out"
    code, shown, _ = run(
        "audit", ratings, "--view", view, "--targets", 20, "--attacks", "scoreboard-rh",
        "--knows", "1,2", "--time-within", "none", "--value-within", "none", "--out", out,
    )  # fmt: off
    assert code == 0 and "groups:categories.csv" in shown
    text = (out / "findings.json").read_text()
    assert {r["adversary"]["view"] for r in json.loads(text)["results"]} == {
        "groups:categories.csv"
    }
    assert "items known as categories" in (out / "report.html").read_text()
    assert "anna" not in text + (out / "report.html").read_text()


def test_the_command_sweeps_as_far_as_the_shown_records_are_long(run, ratings, tmp_path):
    view = f"groups:{written(tmp_path)}"
    code, shown, _ = run(
        "audit", ratings, "--view", view, "--targets", 8, "--attacks", "unicity", "--json",
        "--out", tmp_path / "out",
    )  # fmt: off
    found = json.loads(shown)
    results = found["results"]
    assert not [note for note in found["warnings"] if "not tried" in note]
    assert code == 0 and {r["adversary"]["view"] for r in results} == {"groups:categories.csv"}
    assert max(r["adversary"]["knows"] for r in results) == 4


def test_the_command_counts_the_risk_of_each_person_through_a_view(run, ratings, tmp_path):
    view = f"groups:{written(tmp_path)}"
    code, shown, _ = run("risk", ratings, "--view", view, "--knows", 2, "--draws", 1, "--json")
    assert code == 0 and json.loads(shown)["adversary"] == "2 items, items known as categories"


@pytest.mark.parametrize(
    ("view", "more", "words"),
    [
        ("groups:none.csv", (), "cannot read 'none.csv'"),
        ("categories", (), "no view 'categories'"),
        ("sequence", ("--split-time", "0.5"), "leave out --view"),
        ("sequence", ("--time", ""), "needs times"),
    ],
)
def test_a_wrong_view_is_one_line_on_standard_error(run, ratings, view, more, words, tmp_path):
    code, shown, errors = run("audit", ratings, "--view", view, "--out", tmp_path / "o", *more)
    assert code and not shown and words in errors and "Traceback" not in errors


def test_two_kinds_of_views_are_told_apart_in_the_report(data, tmp_path):
    adversaries = [
        WHO,
        so.Adversary(knows=3, time_within=1),
        so.Adversary(knows=3, view="sequence"),
    ]
    release = so.defense("drop-entries", share=0.3).apply(data, seed=7)
    found = so.Audit(data, adversaries, ["likelihood"], 40, seed=1, release=release).run()
    page = so.render(found, tmp_path / "report.html").read_text()
    assert ", view groups:categories<" in page and ", view sequence<" in page
    assert "cannot be stated for what is known, nobody can use them" in page
    again = so.Findings.from_dict(json.loads(found.to_json()))
    assert again.to_dict() == found.to_dict()


def test_a_policy_with_an_unknown_view_names_the_table(data):
    wrong = policy()
    wrong["adversary"]["a"]["view"] = "sequences"
    with pytest.raises(ParameterError, match=r"\[adversary.a\]: no view 'sequences'.*sequence"):
        so.check(data, wrong)
