"""Two releases, or two audits: a rise of the risk is found, and chance is not taken for one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from known_rate import with_rate

import standout as so
from standout.errors import StandoutError
from standout.formulas.differences import newcombe, p_larger

WHO = [so.Adversary(knows=3, value_within=None)]
ATTACKS = ["scoreboard-rh"]


def compare(old, new, **more):
    return so.diff(old, new, adversaries=WHO, attacks=ATTACKS, targets=400, **more)


def test_a_release_that_is_easier_to_attack_is_found_and_the_reverse_is_not():
    low, high = with_rate(0.05), with_rate(0.15)
    assert compare(low, high).verdict == "fail"
    fell = compare(high, low)
    assert fell.verdict == "pass" and "smallest fall: -" in str(fell)
    row = compare(low, high).rows[0]
    assert row["difference"] == pytest.approx(0.1, abs=0.04)
    assert row["low"] < row["difference"] < row["high"]


def test_the_same_release_has_not_changed():
    data = with_rate(0.1)
    done = compare(data, data)
    assert done.verdict == "pass"
    assert [row["difference"] for row in done.rows] == [0.0]
    assert "largest rise: +0.0 points" in str(done)


def test_the_same_people_are_compared_although_others_came_before_them():
    old = with_rate(0.1)
    rows = old.record_item.reshape(-1, 3)
    names = np.array([f"p{r:05d}" for r in range(old.n_records)])
    first = so.Dataset.from_arrays(np.repeat(names, 3), rows.reshape(-1))
    order = np.random.default_rng(0).permutation(old.n_records)
    new_people = np.array([f"a{r:05d}" for r in range(70)])
    their_items = 100_000 + np.arange(210)
    moved = so.Dataset.from_arrays(
        np.concatenate([np.repeat(names[order], 3), np.repeat(new_people, 3)]),
        np.concatenate([rows[order].reshape(-1), their_items]),
    )
    done = compare(first, moved)
    assert [row["difference"] for row in done.rows] == [0.0]
    assert "largest rise: +0.0 points" in str(done)
    assert 0 < done.rows[0]["old"] < 1


def test_chance_is_rarely_taken_for_a_rise():
    """The same rate in both, and other people found: 40 pairs, each with three comparisons."""
    alarms = 0
    for k in range(40):
        rng = np.random.default_rng(k)
        both = []
        for _ in range(2):
            rows = with_rate(0.2, n=1000).record_item.reshape(-1, 3)[rng.permutation(1000)]
            both.append(so.Dataset.from_arrays(np.repeat(np.arange(1000), 3), rows.reshape(-1)))
        alarms += (
            so.diff(
                *both, adversaries=WHO, attacks=["scoreboard-rh", "unicity"], targets=150, seed=k
            ).verdict
            == "fail"
        )
    assert alarms <= 6


def test_a_source_gives_the_same_knowledge_for_both_releases():
    source = with_rate(0.5)
    weak = source.take(np.arange(source.n_records) % 4 > 0, drop_empty=False)
    strong = source.take(np.arange(source.n_records) % 4 == 0, drop_empty=False)
    assert compare(strong, weak, source=source).verdict == "fail"
    assert compare(weak, strong, source=source).verdict == "pass"


def test_a_defended_release_is_compared_with_an_undefended_one():
    rng = np.random.default_rng(0)
    data = so.Dataset.from_arrays(rng.integers(0, 600, 9000), rng.integers(0, 80, 9000))
    release = so.defense("drop-entries", share=0.6).apply(data)
    who = [so.Adversary(knows=4, value_within=None)]
    options = {"source": data, "adversaries": who, "attacks": ["likelihood"], "targets": 300}
    assert so.diff(release, data, **options).verdict == "fail", (
        "to drop the defense raises the risk"
    )
    assert so.diff(data, release, **options).verdict == "pass"


def test_two_findings_are_compared_as_measured_on_different_people():
    low, high = (
        so.Audit(with_rate(rate), WHO, ATTACKS, 400, describe=False).run() for rate in (0.05, 0.15)
    )
    done = so.diff(low, high)
    assert done.verdict == "fail"
    assert not done.paired
    assert so.diff(high, low).verdict == "pass"
    other = so.Audit(
        with_rate(0.1), [so.Adversary(knows=2, value_within=None)], ATTACKS, 100, describe=False
    ).run()
    assert so.diff(low, other).verdict == "unclear", (
        "nothing in common must not look like no change"
    )


def test_findings_with_known_attributes_are_compared():
    rng = np.random.default_rng(3)
    record, item = np.repeat(np.arange(60), 5), rng.integers(0, 30, 300)
    age = pd.DataFrame({"record": np.arange(60), "age": rng.integers(20, 60, 60)})
    frame = pd.DataFrame({"record": record, "item": item}).merge(age).drop_duplicates()
    data = so.Dataset.from_frame(frame, record="record", item="item", attributes=["age"])
    found = so.Audit(data, so.Adversary(knows=2, within={"age": 0}), ["unicity"], 20).run(False)
    assert [row["difference"] for row in so.diff(found, found).rows] == [0.0]


def test_findings_and_data_are_not_mixed():
    data = with_rate(0.1)
    found = so.Audit(data, WHO, ATTACKS, 50, describe=False).run()
    with pytest.raises(StandoutError, match="compare two findings or two releases"):
        so.diff(found, data)


def test_releases_without_a_person_in_common_are_refused():
    data = with_rate(0.1, n=500)
    other = so.Dataset.from_arrays(np.repeat(np.arange(500) + 9000, 3), data.record_item)
    with pytest.raises(StandoutError, match="no record of the source is in the release"):
        compare(data, other)


def test_the_interval_is_that_of_newcombe_and_the_test_agrees_with_simulation():
    # Newcombe 1998, Table II, method 10, example a: 56/70 - 48/80
    assert np.round(newcombe(56, 70, 48, 80), 4).tolist() == [0.2, 0.0524, 0.3339]
    rng = np.random.default_rng(1)
    p = [
        p_larger(int(a), 300, int(b), 200)
        for a, b in zip(rng.binomial(300, 0.1, 4000), rng.binomial(200, 0.1, 4000), strict=True)
    ]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.015)


def test_the_exit_code_of_the_command_says_whether_the_risk_rose(run, tmp_path):
    paths = []
    for name, rate in (("old", 0.05), ("new", 0.2)):
        rows = with_rate(rate, n=1500).record_item.reshape(-1, 3)
        path = tmp_path / f"{name}.csv"
        path.write_text(
            "user,item\n"
            + "\n".join(f"u{r},i{i}" for r, row in enumerate(rows) for i in row)
            + "\n"
        )
        paths.append(path)
    options = ["--attacks", "scoreboard-rh", "--targets", "300"]
    code, out, _ = run("diff", *paths, *options)
    assert code == 1
    assert "the risk rose" in out
    assert run("diff", *paths[::-1], *options, "--json")[0] == 0
    assert run("diff", paths[0], tmp_path / "none.csv", *options)[0] == 2
    for path in paths:
        found = so.Audit(so.Dataset.read(path), WHO, ATTACKS, 300, describe=False).run()
        found.save(tmp_path / path.stem / "findings.json")
    assert run("diff", tmp_path / "old", tmp_path / "new" / "findings.json")[0] == 1
    assert run("diff", tmp_path / "old", paths[1], *options)[0] == 2


def test_columns_that_are_new_and_were_not_compared_cannot_pass(run, tmp_path):
    """A release that adds the postcode of each person finds more people, whatever is measured without it."""
    rows = with_rate(0.05, n=1000).record_item.reshape(-1, 3)
    pairs = [(r, i) for r, row in enumerate(rows) for i in row]
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("user,item\n" + "".join(f"u{r},i{i}\n" for r, i in pairs))
    new.write_text("user,item,area\n" + "".join(f"u{r},i{i},a{r}\n" for r, i in pairs))
    options = ["--attacks", "scoreboard-rh", "--targets", "100"]
    code, out, _ = run("diff", old, new, *options)
    assert code == 3 and "new and not compared: area" in " ".join(out.split())
    code, out, _ = run("diff", new, new, *options)
    assert code == 0 and "Not compared: area" in " ".join(out.split())
    named = so.Dataset.read(new, attributes="area")
    plain = so.Dataset.read(old)
    assert so.diff(plain, named, attacks=ATTACKS, targets=100).verdict == "unclear"
    audits = [so.Audit(d, WHO, ATTACKS, 100, describe=False).run() for d in (plain, named)]
    assert so.diff(*audits).added == ("the attribute area",)
    assert so.diff(*audits).verdict == "unclear"
