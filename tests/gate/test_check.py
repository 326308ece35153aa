"""The gate on data whose hit rate is known exactly."""

from __future__ import annotations

import math

import numpy as np
import pytest
from known_rate import rate_of, with_rate
from scipy.stats import binom

import standout as so
from standout.adversary.sampling import sample_targets
from standout.attacks import attack as attacks
from standout.errors import ParameterError
from standout.extend import register_attack
from standout.gate.measure import prepare

ONE = {"adversary": {"a": {"knows": 3}}, "attacks": ["scoreboard-rh"], "self_test": False}


def policy(most, **more):
    return {**ONE, "limit": [{"name": "x", "max": most, "adversaries": ["a"]}], **more}


@pytest.fixture(scope="module")
def safe():
    return with_rate(0.045)


@pytest.fixture(scope="module")
def unsafe():
    return with_rate(0.5)


@pytest.mark.parametrize("sequential", [True, False])
def test_data_below_the_limit_passes_and_data_above_fails(safe, unsafe, sequential):
    assert rate_of(safe) == pytest.approx(0.045, abs=0.01)
    assert so.check(safe, policy(0.09, sequential=sequential)).verdict == "pass"
    assert so.check(unsafe, policy(0.09, sequential=sequential)).verdict == "fail"


def test_the_exact_rate_of_the_test_data_is_what_the_gate_measures():
    data = with_rate(0.3, n=1000)
    seen = so.check(data, policy(0.3, targets="all", sequential=False))
    assert seen.cells[0]["credit"] / seen.cells[0]["n_targets"] == pytest.approx(rate_of(data))


def test_a_rate_near_the_limit_is_unclear():
    assert so.check(with_rate(0.09), policy(0.09)).verdict == "unclear"


@pytest.mark.parametrize("n", [1, 2, 5, 10, 31])
def test_too_few_targets_never_pass_even_if_nobody_is_found(n):
    data = so.Dataset.from_arrays(np.repeat(np.arange(500), 3), np.tile(np.arange(3), 500))
    seen = so.check(data, policy(0.09, targets=n, sequential=False))
    assert seen.cells[0]["found"] <= 1
    assert seen.verdict == "unclear"
    assert seen.exit_code == 3
    assert "at least 32 are needed" in seen.table[0]["why"]


def test_32_targets_without_a_hit_pass_a_limit_of_9_percent():
    data = so.Dataset.from_arrays(np.repeat(np.arange(5000), 3), np.tile(np.arange(3), 5000))
    assert so.check(data, policy(0.09, targets=32, sequential=False)).verdict == "pass"


def test_fewer_targets_than_the_policy_asks_for_never_pass(safe):
    asked = policy(0.09, min_targets=400, sequential=False)
    assert so.check(safe, asked, targets=399).verdict == "unclear"
    assert so.check(safe, asked, targets=400).verdict == "pass"


def test_the_bounds_are_clopper_pearson_bounds_of_the_count(safe):
    row = so.check(safe, policy(0.09, sequential=False)).tests[0]
    count = round(row["rate"] * row["n"])
    assert binom.cdf(count, row["n"], row["upper"]) == pytest.approx(0.05)
    assert binom.sf(count - 1, row["n"], row["lower"]) == pytest.approx(0.05)
    assert row["p_met"] == pytest.approx(binom.cdf(count, row["n"], 0.09))


def test_a_limit_of_0_is_never_shown_to_be_kept():
    data = so.Dataset.from_arrays(np.repeat(np.arange(500), 3), np.tile(np.arange(3), 500))
    seen = so.check(data, policy(0.0, targets=300, sequential=False), seed=1)
    assert seen.verdict in ("unclear", "fail")


def cannot_fail(data, limit=None, **more):
    asked = policy(0.09, **more)
    asked["limit"][0] |= limit or {}
    seen = so.check(data, asked)
    assert seen.verdict == "unclear"
    return " ".join(row["why"] for row in seen.table if row["verdict"] == "unclear")


def test_a_policy_that_cannot_fail_is_unclear_and_never_a_pass(unsafe):
    assert "a limit of 100%" in cannot_fail(unsafe, {"max": 1})
    for of in ("eligible", "all"):
        assert "no record holds enough items" in cannot_fail(
            unsafe, {"of": of}, adversary={"a": {"knows": 50}}
        )
    for wrong in (3, 0.99):
        blind = {"knows": 3, "wrong": wrong, "wrong_kind": "item"}
        assert "with all facts wrong" in cannot_fail(unsafe, adversary={"a": blind})
    for measure in ("matched-wrong", "false-match"):
        assert "people who are found do not count" in cannot_fail(
            unsafe, {"measure": measure, "max": 0.9}
        )


def test_an_adversary_who_can_attack_a_handful_of_people_does_not_let_a_release_pass():
    record = np.concatenate([np.repeat(np.arange(20), 3), np.arange(20, 4000)])
    data = so.Dataset.from_arrays(record, np.concatenate([np.arange(60), np.zeros(3980, int)]))
    assert "20 records hold enough items" in cannot_fail(data, {"of": "all"})


def test_the_sequential_mode_stops_early_where_the_verdict_is_clear(unsafe):
    fast = so.check(unsafe, policy(0.09))
    assert fast.verdict == "fail"
    assert fast.cells[0]["n_targets"] == 125
    near = so.check(with_rate(0.09), policy(0.09))
    assert near.cells[0]["n_targets"] == 1000


def test_a_limit_that_was_measured_in_part_is_never_kept(unsafe):
    asked = policy(
        0.09,
        attacks=["scoreboard-rh", "likelihood"],
        adversary={"a": {"knows": 3}, "b": {"knows": 1}},
    )
    asked["limit"].append({"name": "y", "max": 0.99, "adversaries": ["b"]})
    seen = so.check(unsafe, asked)
    assert seen.verdict == "fail"
    assert [row["verdict"] for row in seen.table] == ["fail", "unclear", "pass"]
    assert "were not made" in seen.table[1]["why"]


def test_one_attack_above_the_limit_is_enough_to_fail(unsafe, monkeypatch):
    class _Blind(so.Attack):
        """Ranks all records equally, so that it finds nobody."""

        name = "blind"

        def compile(self, dataset, facts, exclude):
            plan = so.attack("scoreboard-rh").compile(dataset, facts, exclude)
            return plan.replace_tables(cap=np.zeros(plan.n_queries, np.int64))

        def decide(self, seen):
            return so.stands_out(seen, 1.5)

    # a copy of the registry: other tests must not see this attack
    monkeypatch.setattr(attacks, "_REGISTRY", dict(attacks._REGISTRY))
    register_attack("blind")(_Blind)
    alone = so.check(unsafe, policy(0.09, attacks=["blind"]))
    assert alone.verdict == "pass"
    both = so.check(unsafe, policy(0.09, attacks=["blind", "scoreboard-rh"], sequential=False))
    assert both.verdict == "fail"
    planted = so.check(unsafe, policy(0.09, attacks=["blind"], self_test=True))
    assert planted.verdict == "unclear", "an attack that finds nobody must not let a release pass"
    assert "blind found 0 of 8 unique people" in planted.table[-2]["why"]


def test_rates_of_all_records_count_those_who_cannot_be_attacked(unsafe):
    record = np.concatenate([np.repeat(unsafe.record_labels, 3), np.arange(10_000, 36_000)])
    item = np.concatenate([unsafe.record_item, np.zeros(26_000, int)])
    data = so.Dataset.from_arrays(record, item)
    asked = policy(0.2)
    assert so.check(data, asked).verdict == "fail"
    asked["limit"][0]["of"] = "all"
    seen = so.check(data, asked)
    assert seen.verdict == "pass"
    whole = next(row for row in seen.tests if row["group"] is None)
    assert whole["rate"] == pytest.approx(0.5 * 4000 / 30_000, abs=0.02)


def test_nobody_eligible_is_unclear_also_for_a_rate_of_all(safe):
    asked = policy(0.09, adversary={"a": {"knows": 3}, "b": {"knows": 50}})
    asked["limit"].append({"name": "y", "max": 0.09, "adversaries": ["b"]})
    seen = so.check(safe, asked)
    assert [row["verdict"] for row in seen.table] == ["pass", "unclear", "pass"]
    asked["limit"][1]["of"] = "all"
    assert so.check(safe, asked).verdict == "unclear"


def test_a_group_above_the_limit_fails_where_the_whole_passes():
    short = with_rate(0.02, n=3000)
    long_items = 10_000 + np.arange(300 * 9).reshape(300, 9)
    record = np.concatenate([np.repeat(np.arange(3000), 3), np.repeat(5000 + np.arange(300), 9)])
    data = so.Dataset.from_arrays(
        record, np.concatenate([short.record_item, long_items.reshape(-1)])
    )
    asked = policy(0.2, sequential=False)
    assert so.check(data, asked).verdict == "pass"
    asked["limit"][0]["by"] = "rarity"
    seen = so.check(data, asked)
    assert seen.verdict == "fail"
    assert "held by at most" in seen.table[0]["group"]


def test_counts_of_small_groups_are_not_shown(safe):
    asked = policy(0.9, targets=20, sequential=False, smallest_group=50)
    asked["limit"][0]["by"] = "rarity"
    seen = so.check(safe, asked)
    assert seen.tests
    assert all(
        row["n"] is None and row["rate"] is None and row["upper"] is None for row in seen.tests
    )


def test_many_near_duplicates_do_not_pass_although_nobody_is_found():
    pairs = np.repeat(np.arange(600), 6)
    items = np.concatenate([np.repeat(np.arange(300), 2)[:, None] * 6 + np.arange(6)]).reshape(-1)
    data = so.Dataset.from_arrays(pairs, items)
    seen = so.check(
        data, policy(0.7, sequential=False, near_duplicates={"max": 0.05}, min_targets=10)
    )
    assert [row["verdict"] for row in seen.table] == ["pass", "fail"]
    assert seen.verdict == "fail"


@pytest.mark.parametrize(
    "measure", ["matched-right", "matched-wrong", "false-match", "false-discovery"]
)
def test_every_measure_agrees_with_the_counts_of_an_audit(measure, unsafe):
    asked = policy(0.5, targets=300, sequential=False)
    asked["limit"][0]["measure"] = measure
    seen = so.check(unsafe, asked).tests[0]
    who = so.Adversary(knows=3, value_within=None)
    audit = (
        so.Audit(unsafe, [who], ["scoreboard-rh"], 300, describe=False)
        .run()
        .results[0]["attacks"][0]
    )
    named = audit["matched_right"]["rate"] + audit["matched_wrong"]["rate"]
    expected = {
        "matched-right": audit["matched_right"]["rate"],
        "matched-wrong": audit["matched_wrong"]["rate"],
        "false-match": audit["false_match"]["rate"],
        "false-discovery": audit["matched_wrong"]["rate"] / named if named else None,
    }[measure]
    assert seen["rate"] == pytest.approx(expected, abs=0.02)


def test_targets_grow_by_adding_to_the_targets_of_an_audit(safe):
    job = so.Audit(safe, [so.Adversary(knows=3, value_within=None)], ["unicity"], 500, seed=4)
    eligible = np.arange(safe.n_records)
    order = prepare(job, job.adversaries[0]).targets
    for n in (1, 50, 500):
        assert set(order[:n]) == set(sample_targets(safe, eligible, n, 4).tolist())


def test_ties_are_picked_so_that_the_mean_stays_the_credit():
    data = with_rate(0.02, n=4000)
    seen = so.check(data, policy(0.5, targets="all", sequential=False)).cells[0]
    assert seen["credit"] == pytest.approx(80)
    # Binomial(4000, 1/50): 80 ± 5 standard deviations
    assert abs(seen["found"] - 80) < 5 * math.sqrt(80)


def test_renaming_and_reordering_records_changes_no_number(safe):
    renamed = so.Dataset.from_arrays(
        np.repeat(9000 - np.arange(safe.n_records), 3), safe.record_item
    )
    assert so.check(safe, policy(0.09)).cells == so.check(renamed, policy(0.09)).cells


def test_a_release_that_lost_records_is_checked_against_its_source(unsafe):
    release = unsafe.take(np.arange(unsafe.n_records) % 2 == 0, drop_empty=False)
    seen = so.check(unsafe, policy(0.9, adaptive=False), release=release)
    assert seen.verdict == "pass"
    assert seen.provenance["source_sha256"] == unsafe.fingerprint
    assert seen.cells[0]["credit"] < 0.45 * seen.cells[0]["n_targets"]


def test_a_changed_release_without_a_known_defense_does_not_pass_if_an_adaptive_attacker_is_required(
    unsafe,
):
    release = unsafe.take(np.arange(unsafe.n_records) % 2 == 0, drop_empty=False)
    seen = so.check(unsafe, policy(0.9), release=release)
    assert seen.verdict == "unclear"
    assert [row["limit"] for row in seen.table if row["verdict"] == "unclear"] == [
        "adaptive attacker"
    ]


def test_a_release_made_by_a_defense_is_attacked_by_someone_who_knows_it():
    rng = np.random.default_rng(0)
    data = so.Dataset.from_arrays(rng.integers(0, 600, 9000), rng.integers(0, 80, 9000))
    release = so.defense("drop-entries", share=0.5).apply(data)
    asked = policy(0.999, attacks=["likelihood"], targets=100)
    seen = so.check(release, asked)
    assert seen.provenance["source_sha256"] == data.fingerprint
    assert seen.provenance["defense"] == "drop-entries"
    assert [(row["limit"], row["verdict"]) for row in seen.table][:2] == [
        ("x", "pass"),
        ("adaptive attacker", "pass"),
    ]
    assert seen.verdict == "pass"
    tried = {cell["attack"]["label"] for cell in seen.cells}
    assert {"likelihood (adaptive)", "likelihood (naive)", "likelihood (fitted)"} <= tried
    without = so.check(release, policy(0.999, attacks=["scoreboard-rh"], targets=100))
    assert without.verdict == "unclear"
    assert "no attack of the policy adapts" in without.table[1]["why"]


def test_a_policy_that_mentions_values_and_times_also_judges_data_without_them(safe, unsafe):
    told = policy(0.09, adversary={"a": {"knows": 3, "time_within": 3, "value_within": 1}})
    assert so.check(unsafe, told).verdict == "fail"
    seen = so.check(safe, told)
    assert seen.verdict == "pass"
    assert seen.table[0]["adversary"] == "3 items"


def test_an_adversary_that_does_not_fit_the_data_is_refused_by_name(safe):
    dated = so.Dataset.from_arrays([1, 1, 1, 2, 2, 2], [1, 2, 3, 1, 2, 3], time=[1, 2, 3, 4, 5, 6])
    with pytest.raises(ParameterError, match=r"\[adversary.a\] does not fit the data"):
        so.check(dated, policy(0.09, adversary={"a": {"knows": 3, "time_within": "2h"}}))


def test_a_verdict_holds_no_label(safe):
    data = so.Dataset.from_arrays(
        [f"Ann{r:05d}" for r in np.repeat(np.arange(safe.n_records), 3)],
        [f"Heat{i:06d}" for i in safe.record_item],
    )
    seen = so.check(data, policy(0.09, self_test=True))
    assert "Ann0" not in seen.to_json() + str(seen) + repr(seen) + seen._repr_html_()
    assert "Heat0" not in seen.to_json()


def test_the_table_is_a_frame_and_a_file(safe, tmp_path):
    seen = so.check(safe, policy(0.09, self_test=True))
    assert list(seen.to_frame()["limit"]) == ["x", "self-test", "one record per person"]
    assert len(seen.to_frame(tests=True)) == 1
    import json

    assert json.loads(seen.save(tmp_path / "v.json").read_text())["verdict"] == "pass"


def test_a_single_file_with_copies_says_that_each_record_counts_as_one_person():
    rng = np.random.default_rng(3)
    item = np.concatenate([rng.choice(60, 8, replace=False) for _ in range(40)])
    one = np.repeat(np.arange(40), 8)
    record, items = np.concatenate([one + 40 * k for k in range(20)]), np.tile(item, 20)
    policy = {
        "version": 1,
        "targets": 300,
        "adversary": {"x": {"knows": 3, "value_within": "none"}},
        "limit": [{"name": "found", "measure": "found", "max": 0.2, "adversaries": ["x"]}],
    }
    seen = so.check(so.Dataset.from_arrays(record, items), policy)
    row = next(row for row in seen.table if row["limit"] == "one record per person")
    assert "100% of 250 records" in row["why"]
    assert "if such records can be of the same person, the rates are too low" in row["why"]


def test_a_limit_that_was_not_tested_says_what_it_counts(unsafe):
    asked = {
        **ONE,
        "adversary": {"a": {"knows": 3}, "b": {"knows": 1}, "c": {"knows": 2}},
        "limit": [
            {"name": "x", "max": 0.09, "adversaries": ["a"]},
            {"name": "y", "max": 0.999, "adversaries": ["b", "c"]},
        ],
    }
    row = so.check(unsafe, asked).table[1]
    assert row["verdict"] == "unclear"
    assert row["why"].startswith(
        "2 of 2 tests of this limit (each for one adversary, attack and group of people) were not made"
    )
