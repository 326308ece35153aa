"""Related items in audits, the gate and the report: numbers, words and notes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout.attacks.unique import is_unique, why_not_unique
from standout.errors import EligibilityError
from standout.report.view import untried, view

TWO = so.Adversary(knows=2, value_within=None, choose="together:receipt")

RETAIL = Path(os.environ.get("STANDOUT_DATA", ""), "online-retail", "online_retail.csv.gz")


def shop(seed=0, people=300, items=40, days=60):
    """Receipts of two to five items; everybody has two to six of them."""
    rng = np.random.default_rng(seed)
    record, item, time, receipt = [], [], [], []
    number = 0
    for r in range(people):
        for _ in range(rng.integers(2, 7)):
            number += 1
            bought = rng.choice(items, rng.integers(2, 6), replace=False, p=_popular(items))
            record += [r] * bought.size
            item += bought.tolist()
            time += [float(rng.integers(days))] * bought.size
            receipt += [f"no{number}"] * bought.size
    channels = {"receipt": np.array(receipt, object)}
    return so.Dataset.from_arrays(record, item, time=np.array(time), channels=channels)


def _popular(items):
    weight = 1 / np.arange(1, items + 1)
    return weight / weight.sum()


@pytest.fixture(scope="module")
def data():
    return shop()


@pytest.fixture(scope="module")
def findings(data):
    kinds = [
        so.Adversary(knows=2, value_within=None, choose=choose)
        for choose in ("uniform", "together:receipt", "window:7d", "consecutive")
    ]
    return so.Audit(data, kinds, ["likelihood", "scoreboard"], describe=False).run(progress=False)


def test_findings_name_the_attacks_that_ignore_the_relation(findings):
    any_items, *related = findings.results
    assert "relation" not in any_items
    for result in related:
        assert set(result["relation"]["ignored_by"]) == {"likelihood", "scoreboard"}
        assert result["relation"]["shown"]
        words = result["adversary"]["words"]
        (note,) = [n for n in findings.warnings if n.startswith(f"{words}:")]
        assert "likelihood, scoreboard ignore" in note and "mean posterior" in note
    assert [r["adversary"]["words"] for r in related] == [
        "2 items of one receipt",
        "2 items of one week (7 days)",
        "2 consecutive items",
    ]


def test_the_calibrated_posterior_is_within_three_points(findings):
    for result in findings.results[1:]:
        said = result["relation"]["posterior"]
        assert said["attack"] == "likelihood"
        assert abs(said["stated"] - said["observed"]) < 0.03


def test_findings_are_saved_and_the_report_says_what_is_known(findings, tmp_path):
    findings.save(tmp_path / "findings.json")
    again = so.Findings.load(tmp_path / "findings.json")
    so.render(again, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("2 items of one receipt", "2 consecutive items", "of one week (7 days)"):
        assert words in page


def test_a_relation_makes_more_people_unique_than_any_two_items(findings):
    plain, receipt, _, _ = (r["unique"]["rate"] for r in findings.results)
    assert receipt > plain


def test_a_release_without_receipts_cannot_exclude_by_them(data):
    columns = data.to_frame()
    bare = so.Dataset.from_arrays(columns.record, columns.item, time=columns.time)
    targets = TWO.eligible(data)
    aux = TWO.sample(data, targets, 1)
    told = so.Knowledge.from_arrays(aux.query, aux.item)
    agree = so.attack("unicity").run(bare, told).n_matching == 1
    np.testing.assert_array_equal(is_unique(bare, aux, targets), agree)
    result = so.Audit(data, [TWO], release=bare, describe=False).run(progress=False)
    assert not result.results[0]["relation"]["shown"]
    assert any("release does not show it" in note for note in result.warnings)


def test_what_a_defense_moves_is_not_called_unique(data):
    dropped = so.defense("drop-entries", share=0.5).apply(data, seed=1)
    assert "removes" in why_not_unique(TWO, dropped)
    result = so.Audit(data, [TWO], ["likelihood"], release=dropped, describe=False)
    found = result.run(progress=False).results[0]
    assert found["unique"] is None and found["not_measured"]["unique"]
    shifted = so.defense("coarsen-time", to="week").apply(data, seed=1)
    week = so.Adversary(knows=2, value_within=None, choose="window:7d")
    assert "changes times" in why_not_unique(week, shifted)


def test_the_sweep_keeps_to_the_choice_and_to_right_facts(data):
    from standout.audit.sweep import Axes, default_sweep

    tried = default_sweep(data, "default", Axes(choose="together:receipt"))
    assert {who.choose for who in tried} == {"together:receipt"}
    assert not any(who.wrong for who in tried)
    # no receipt has more than five items
    assert max(who.knows for who in tried) == 4


def test_the_gate_counts_unique_people_as_the_audit_does(data, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(
        """
version = 1
targets = 200
sequential = false

[adversary.receipt]
knows = 2
choose = "together:receipt"

[[limit]]
adversaries = ["receipt"]
measure = "unique"
max = 0.5

[end]
"""
    )
    verdict = so.check(data, policy=policy)
    targets = TWO.choose_targets(data, 200, verdict.provenance["seed"])[1]
    aux = TWO.sample(data, targets, verdict.provenance["seed"])
    row = next(row for row in verdict.to_dict()["table"] if row["measure"] == "unique")
    assert row["n"] == 200
    assert row["rate"] * 200 == pytest.approx(is_unique(data, aux, targets).sum())


@pytest.fixture(scope="module")
def pairs():
    """Groups of 30 people who buy the same 20 items, everybody in other pairs."""
    rng = np.random.default_rng(1)
    people = [(g * 30 + s, rng.permutation(20) + 20 * g) for g in range(4) for s in range(30)]
    record = [r for r, _ in people for _ in range(20)]
    item = [i for _, items in people for i in items.tolist()]
    receipt = np.array([f"no{k // 2}" for k in range(20)] * len(people), object)
    return so.Dataset.from_arrays(record, item, channels={"receipt": receipt})


def test_no_limit_counts_as_kept_where_the_attacks_ignore_the_relation(pairs):
    """Somebody who uses the relation finds a third of these people, and the attacks that ran find one in thirty."""
    rules = {
        "version": 1,
        "targets": "all",
        "self_test": False,
        "adversary": {"receipt": {"knows": 2, "choose": "together:receipt"}},
        "limit": [{"max": 0.2, "adversaries": ["receipt"]}],
        "unmeasured_columns": {"receipt": "a number without a meaning"},
    }
    verdict = so.check(pairs, rules)
    row = verdict.table[0]
    assert verdict.verdict == row["verdict"] == "unclear"
    assert "ignores that the items are of one receipt" in row["why"] and row["upper"] < 0.2

    rules["limit"][0]["measure"] = "unique"  # uses the relation: about a fifth of the people
    rules["limit"][0]["max"] = 0.6
    assert so.check(pairs, rules).table[0]["verdict"] == "pass"


def test_the_answer_names_what_no_attack_used(pairs):
    found = so.Audit(pairs, [TWO], attacks=["scoreboard-rh"], targets=None, describe=False)
    assert "attacks that use how the items are related" in untried(view(found.run(progress=False)))


def test_too_many_items_for_any_receipt_are_refused(data):
    six = so.Adversary(knows=6, value_within=None, choose="together:receipt")
    with pytest.raises(EligibilityError, match="at most 5 items of one receipt"):
        so.Audit(data, [six]).run(progress=False)
    with pytest.raises(EligibilityError, match="at most 5 items of one receipt"):
        so.risk(data, six)


@pytest.mark.realdata
@pytest.mark.skipif(not RETAIL.is_file(), reason="online-retail is not in STANDOUT_DATA")
def test_two_items_of_one_invoice_are_as_unique_as_duckdb_counts():
    import duckdb
    import pandas as pd

    rows = pd.read_csv(RETAIL, dtype=str)
    rows = rows[rows.CustomerID.notna()]
    data = so.Dataset.from_arrays(
        rows.CustomerID.to_numpy(),
        rows.StockCode.to_numpy(),
        channels={"invoice": rows.InvoiceNo.to_numpy().astype(object)},
    )
    who = so.Adversary(knows=2, choose="together:invoice")
    targets = who.choose_targets(data, 500, 3)[1]
    aux = who.sample(data, targets, 3)
    pairs = pd.DataFrame(aux.item.reshape(-1, 2), columns=["one", "two"])
    pairs["query"] = np.arange(len(pairs))
    purchases = rows[["CustomerID", "StockCode", "InvoiceNo"]]
    counted = duckdb.sql(
        """
        SELECT query, count(DISTINCT a.CustomerID) AS n
        FROM pairs
        JOIN purchases a ON a.StockCode = one
        JOIN purchases b ON b.StockCode = two AND b.InvoiceNo = a.InvoiceNo AND b.CustomerID = a.CustomerID
        GROUP BY query ORDER BY query
        """
    ).df()
    assert purchases.shape[0] > 0 and len(counted) == len(pairs)
    expected = (counted.n == 1).to_numpy()
    assert 0 < expected.sum() < expected.size
    np.testing.assert_array_equal(is_unique(data, aux, targets), expected)
