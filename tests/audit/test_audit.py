"""The audit as a whole: rates that can be checked by hand, frozen findings, no labels."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest

import standout as so
from standout.audit.judge import _groups, judge
from standout.errors import EligibilityError, InputError, ParameterError
from standout.experiment.outcomes import Outcomes, Truth


def release(n=200, m=60, per=12, seed=0, labels="person-{:05d}"):
    """Random records with values and days, every one different from the others."""
    rng = np.random.default_rng(seed)
    record, item = [], []
    for r in range(n):
        chosen = rng.choice(m, per, replace=False)
        record += [labels.format(r)] * per
        item += [f"thing-{i}" for i in chosen]
    size = len(record)
    return so.Dataset.from_arrays(
        record, item, rng.integers(1, 6, size), rng.integers(0, 900, size)
    )


@pytest.fixture(scope="module")
def dataset():
    return release()


@pytest.fixture(scope="module")
def findings(dataset):
    who = so.Adversary(knows=4, value_within=0, time_within=3)
    return so.Audit(
        dataset, [who], ["scoreboard", "scoreboard-rh", "likelihood"], targets=100, seed=3
    ).run()


def attacks(found):
    return [one for result in found.results for one in result["attacks"]]


def test_findings_obey_the_published_schema(findings):
    jsonschema.validate(json.loads(findings.to_json()), so.Findings.schema())


def test_findings_cannot_be_changed(findings):
    with pytest.raises(TypeError):
        findings.results[0]["hit"] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        findings.results = ()


def test_findings_survive_a_round_trip(findings, tmp_path):
    path = findings.save(tmp_path / "f.json")
    assert so.Findings.load(path).to_dict() == findings.to_dict()
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


def test_findings_hold_no_label(findings, dataset):
    text = findings.to_json()
    assert not [
        label for label in [*dataset.record_labels, *dataset.item_labels] if str(label) in text
    ]


def test_unique_records_are_all_found_by_sharp_knowledge(findings):
    for one in attacks(findings):
        assert one["hit"]["rate"] >= 0.99, one["attack"]["label"]


def test_false_matches_are_counted_with_the_target_removed(findings):
    sharp = attacks(findings)[0]  # scoreboard: whoever agrees with every fact
    assert sharp["matched_right"]["rate"] > 0.95
    assert sharp["false_match"]["rate"] < 0.05


def test_hits_are_counted_on_every_target(findings):
    frame = findings.to_frame()
    assert (frame["n"] == 100).all() and len(frame) == 3
    assert all(one["hit"]["n"] == 100 for one in attacks(findings))


def test_calibration_and_report_halves_do_not_overlap(findings):
    tuned = attacks(findings)[1]["calibrated"]
    assert tuned["n_calibration"] + tuned["matched_right"]["n"] == 100


def test_shuffled_truth_falls_to_the_random_baseline(dataset):
    who = so.Adversary(knows=6, value_within=0, time_within=3)
    targets = who.eligible(dataset)
    attack = so.attack("scoreboard-rh")
    knowledge = who.sample(dataset, targets, seed=1)
    present = attack.run(dataset, knowledge, watch=targets)
    absent = attack.run(dataset, knowledge, exclude=targets)
    half = np.arange(targets.size) % 2 == 0
    true = judge(Outcomes.of(present, Truth(targets, half), absent), half, dataset)
    others = np.roll(targets, 1)
    lost = attack.run(dataset, knowledge, watch=others)
    shuffled = judge(Outcomes.of(lost, Truth(others, half), absent), half, dataset)
    assert true["hit"]["rate"] > 0.95
    assert shuffled["hit"]["count"] <= 3


def test_equal_records_stand_out_for_nobody():
    n, m = 50, 12
    record, item = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    twins = so.Dataset.from_arrays(record, item, np.full(n * m, 3), np.full(n * m, 100))
    found = so.Audit(
        twins,
        [so.Adversary(knows=4, time_within=3)],
        ["scoreboard-rh", "likelihood"],
        targets="all",
    ).run()
    for one in attacks(found):
        # 50 records tie for every query: each is worth a fiftieth of a hit
        assert one["hit"]["count"] == pytest.approx(1.0)
        assert one["matched_right"]["count"] == 0
        assert one["k_identified"][0]["count"] == 0


def test_the_same_seed_gives_the_same_findings(dataset):
    def run():
        found = (
            so.Audit(dataset, [so.Adversary(knows=3)], ["scoreboard-rh"], targets=40, seed=9)
            .run()
            .to_dict()
        )
        return found["results"], found["provenance"]["data_sha256"]

    assert run() == run()


def test_more_targets_keep_the_ones_already_drawn(dataset):
    from standout.adversary.sampling import sample_targets

    eligible = np.arange(dataset.n_records)
    few, many = (sample_targets(dataset, eligible, n, 5) for n in (30, 90))
    assert set(few) <= set(many) and few.size == 30


def test_fewer_eligible_targets_than_asked_are_all_used_and_said(dataset):
    found = so.Audit(dataset, [so.Adversary(knows=3)], ["scoreboard"], targets=5000).run()
    assert found.results[0]["n_targets"] == dataset.n_records
    assert any("all of them are attacked" in w for w in found.warnings)


def test_all_records_attacked_is_one_note_and_not_one_per_kind_of_knowledge(dataset):
    found = so.Audit(
        dataset, [so.Adversary(knows=k) for k in (2, 3, 4)], ["scoreboard"], targets=5000
    ).run()
    assert [w for w in found.warnings if "attacked" in w] == [
        "Fewer than the 5,000 targets asked for are eligible (200 records) for 3 of 3 kinds of knowledge: "
        "all of them are attacked."
    ]


@pytest.mark.parametrize(
    ("knows", "ending"),
    [((13,), "13 items: not tried."), ((13, 14, 15), " and 2 more: not tried.")],
)
def test_knowledge_of_more_items_than_any_record_holds_is_noted_and_counted(dataset, knows, ending):
    asked = [so.Adversary(k, value_within=None) for k in (2, *knows)]
    found = so.Audit(dataset, asked, ["scoreboard"], 20).run(progress=False)
    note = next(text for text in found.warnings if text.startswith("No record holds enough items"))
    assert note.endswith(ending) and len(found.results) == 1


def test_no_eligible_target_is_an_error_that_says_what_to_do(dataset):
    with pytest.raises(EligibilityError, match="lower knows"):
        so.Audit(dataset, [so.Adversary(knows=500)], ["scoreboard"]).run()


@pytest.mark.parametrize(
    ("record", "item", "word"), [([1, 1], [1, 2], "1 record"), ([1, 2], [1, 1], "1 item")]
)
def test_one_record_or_one_item_cannot_be_audited(record, item, word):
    with pytest.raises(InputError, match=word):
        so.Audit(so.Dataset.from_arrays(record, item))


@pytest.mark.parametrize("targets", [0, -1, "some", 2.5, ["17"], True, np.array([3])])
def test_senseless_targets_are_refused(dataset, targets):
    with pytest.raises(ParameterError, match="targets"):
        so.Audit(dataset, targets=targets)


@pytest.mark.parametrize("targets", [["17"], [2.5], [True]])
def test_a_label_is_not_taken_for_the_index_of_a_record(dataset, targets):
    with pytest.raises(ParameterError, match="for labels use"):
        so.Adversary(knows=2).sample(dataset, targets)


@pytest.mark.parametrize("seed", [2.5, "x", None, True])
def test_a_seed_that_is_no_whole_number_is_refused(dataset, seed):
    with pytest.raises(ParameterError, match="seed"):
        so.Audit(dataset, seed=seed)


def test_an_unknown_attack_is_refused_with_a_hint(dataset):
    with pytest.raises(ParameterError, match=r"Did you mean 'scoreboard-rh'"):
        so.Audit(dataset, attacks=["scoreboard-hr"])


def test_the_strongest_attacker_is_named_and_compared_in_pairs(findings):
    row = findings.results[0]["strongest"]
    assert row["attack"] in {"scoreboard", "scoreboard-rh", "likelihood"} and row["n_attacks"] == 3
    assert row["hit"]["n"] == 50 and row["versus"]["attack"] == "scoreboard-rh"


def test_all_runs_every_attack_and_the_variant_that_divides_by_length(dataset):
    found = so.Audit(dataset, [so.Adversary(knows=3, value_within=1)], "all", targets=20).run()
    labels = [one["attack"]["label"] for one in attacks(found)]
    assert labels == [*so.attack_names(), "scoreboard-rh length=sqrt"]
    assert found.results[0]["strongest"]["n_attacks"] == len(labels)


def test_a_lost_verdict_is_an_error_not_a_zero(dataset):
    who = so.Adversary(knows=3)
    targets = who.eligible(dataset)[:10]
    verdicts = so.attack("scoreboard").run(dataset, who.sample(dataset, targets))
    with pytest.raises(ParameterError, match="differ in length"):
        Outcomes.of(verdicts, Truth(targets[:9], np.zeros(9, bool)), verdicts)


def test_hits_are_grouped_by_the_rarest_known_item(findings, dataset):
    rows = attacks(findings)[0]["by_rarity"]
    assert sum(r["n"] for r in rows) == 100
    assert all(r["rarest_from"] <= r["rarest_to"] <= dataset.supports.max() for r in rows)
    assert [r["rarest_from"] for r in rows] == sorted(r["rarest_from"] for r in rows)


def test_an_attack_that_was_not_told_the_target_is_an_error_not_a_miss(dataset):
    who = so.Adversary(knows=3)
    targets = who.eligible(dataset)[:10]
    blind = so.attack("scoreboard").run(dataset, who.sample(dataset, targets))
    with pytest.raises(ParameterError, match="not watched"):
        Outcomes.of(blind, Truth(targets, np.arange(10) < 5), blind)


def test_one_adversary_needs_no_list(dataset):
    who = so.Adversary(knows=3)
    one = so.Audit(dataset, adversaries=who, attacks="scoreboard", targets=30).run()
    assert (
        one.to_dict()["results"]
        == so.Audit(dataset, [who], ["scoreboard"], targets=30).run().to_dict()["results"]
    )


def test_a_frame_is_read_as_data():
    import pandas as pd

    frame = pd.DataFrame(
        {
            "user": np.repeat(np.arange(30), 4),
            "item": np.tile(np.arange(12), 10),
            "rating": [1, 2, 3] * 40,
        }
    )
    found = so.Audit(frame, so.Adversary(knows=2), "scoreboard").run()
    assert found.data["n_records"] == 30 and found.data["values"]["levels"] == 3


@pytest.mark.parametrize(
    ("thing", "word"), [("ratings.csv", "Dataset.read"), (None, "NoneType"), ([1, 2], "list")]
)
def test_what_is_no_data_is_refused_with_what_to_do(thing, word):
    with pytest.raises(ParameterError, match=word):
        so.Audit(thing)


def test_an_adversary_who_is_none_is_refused(dataset):
    with pytest.raises(ParameterError, match=r"use Adversary\(knows"):
        so.Audit(dataset, adversaries=[{"knows": 3}])


@pytest.mark.parametrize(
    "who",
    [
        {"value_within": 1},
        {"value_within": 0},
        {"gamma": 0.1},
        {"time_within": 3},
        {"wrong": 1, "wrong_kind": "value"},
    ],
)
def test_knowledge_that_the_data_lacks_is_refused_and_never_quoted(who):
    bare = so.Dataset.from_arrays(np.repeat(np.arange(20), 3), np.tile(np.arange(10), 6))
    with pytest.raises(
        ParameterError, match=r"the data has no|neither values nor days|no value and no time"
    ):
        so.Audit(bare, so.Adversary(**{"knows": 2, "value_within": None, **who})).run()


def test_exact_values_that_nobody_asked_for_are_not_quoted_where_there_are_none():
    bare = so.Dataset.from_arrays(np.repeat(np.arange(20), 3), np.tile(np.arange(10), 6))
    found = so.Audit(bare, so.Adversary(knows=2), "scoreboard").run()
    assert found.results[0]["adversary"]["words"] == "2 items" and "exact" not in str(found)


def test_python_and_the_command_line_share_attacks_targets_and_sections(dataset):
    from inspect import signature

    from standout.audit.audit import Audit
    from standout.cli.audit import audit

    verb, made = signature(audit).parameters, signature(Audit).parameters
    assert (
        tuple(verb["attacks"].default.split(",")) == made["attacks"].default
        and "likelihood" in made["attacks"].default
    )
    assert int(verb["targets"].default) == made["targets"].default
    assert verb["sweep"].default == made["sweep"].default
    assert (
        "describe"
        in so.Audit(dataset, so.Adversary(knows=2), "scoreboard", targets=20).run().sections
    )


def test_both_shares_stand_beside_each_other_with_n_and_intervals():
    rng = np.random.default_rng(0)
    long = [(r, i) for r in range(40) for i in rng.choice(30, 6, replace=False)]
    short = [(r, i) for r in range(40, 160) for i in rng.choice(30, 2, replace=False)]
    record, item = np.array(long + short).T
    result = (
        so.Audit(so.Dataset.from_arrays(record, item), so.Adversary(knows=5), "scoreboard")
        .run()
        .results[0]
    )
    assert (result["n_eligible"], result["n_records"], result["eligible_share"]) == (40, 160, 0.25)
    one = result["attacks"][0]
    for name in ("rate", "low", "high"):
        assert one["hit_all"][name] == pytest.approx(0.25 * one["hit"][name])
        assert result["strongest"]["hit_all"][name] == pytest.approx(
            0.25 * result["strongest"]["hit"][name]
        )
    assert (
        one["hit_all"]["n"] == 40
        and one["k_identified"][0]["rate_all"] == 0.25 * one["k_identified"][0]["rate"]
    )
    assert result["more_items"] == 1.0


def test_a_query_without_candidates_identifies_nobody_at_any_k_and_is_noted(dataset):
    class Strict(type(so.attack("scoreboard"))):
        """Bars every record of every second query."""

        def run(self, *arguments, **more):
            seen = super().run(*arguments, **more)
            none = np.arange(seen.best.size) % 2 == 0
            rank = np.where(none, 1, seen.rank)
            return dataclasses.replace(
                seen,
                n_candidates=np.where(none, 0, seen.n_candidates),
                rank=rank,
                credit=np.where(none, 0.0, seen.credit),
            )

    found = so.Audit(dataset, so.Adversary(knows=4, time_within=3), [Strict()], targets=100).run()
    one = attacks(found)[0]
    assert one["n_without_candidates"] == 50
    assert [r["count"] for r in one["k_identified"]][-1] <= 50
    assert (
        "scoreboard left no candidate for 50 of 100 queries. These queries identify nobody."
        in found.warnings
    )


def test_a_target_that_the_filter_bars_is_not_among_the_first_k(dataset):
    who = so.Adversary(knows=3)
    targets = who.eligible(dataset)[:10]
    knowledge, attack = who.sample(dataset, targets), so.attack("scoreboard")
    seen = attack.run(dataset, knowledge, watch=targets)
    # three candidates, none of them the target: it comes after them
    barred = dataclasses.replace(
        seen, n_candidates=np.full(10, 3), rank=np.full(10, 4), credit=np.zeros(10)
    )
    half = np.arange(10) < 5
    found = judge(Outcomes.of(barred, Truth(targets, half), seen), half, dataset)
    assert [r["count"] for r in found["k_identified"]] == [0, 0, 0, 0]


def test_bits_of_the_lineup_and_of_the_rank_have_names_of_their_own(findings):
    result = findings.results[0]
    assert result["uncertainty"]["attack"] == "likelihood" and result["uncertainty"]["calibrated"]
    one = result["attacks"][1]
    assert (
        one["rank_bits"]["mean"] <= one["rank_bits"]["prior"]
        and one["lineup_bits"] != one["rank_bits"]
    )
    frame = findings.to_frame()
    assert {"bits", "rank_bits", "hit_all", "hit_all_low", "hit_all_high", "eligible_share"} <= set(
        frame.columns
    )


def test_progress_reaches_the_total_and_is_silent_without_a_terminal(dataset, capsys):
    seen = []
    job = so.Audit(dataset, so.Adversary(knows=2), "scoreboard", targets=20)
    job.run(progress=lambda what, done, total: seen.append((done, total)))
    assert seen[-1] == (40, 40) and [d for d, _ in seen] == sorted(d for d, _ in seen)
    capsys.readouterr()
    job.run()
    job.run(progress=True)
    assert capsys.readouterr().err.strip() == ""


def test_a_bar_is_drawn_on_a_terminal(monkeypatch):
    import io

    from rich.console import Console

    from standout.experiment.progress import progress_bar

    out = io.StringIO()
    with progress_bar(Console(file=out, force_terminal=True, width=60)) as move:
        move("attacking", 5, 10)
    assert "attacking" in out.getvalue() and "50%" in out.getvalue()


def test_a_few_people_with_rare_items_are_not_counted_with_the_crowd():
    credit = np.r_[np.ones(10), np.zeros(90)]
    groups = _groups(credit, np.r_[np.ones(10), np.full(90, 50)].astype(np.int64))
    assert [(low, high, rate.rate) for rate, low, high in groups] == [(1, 1, 1.0), (2, 50, 0.0)]
