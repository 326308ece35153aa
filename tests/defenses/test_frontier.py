"""The frontier: cells, ties, the front, the sentence, files, resuming."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tastes import grouped_tastes

import standout as so
from standout.audit.measures import MEASURES, Hits
from standout.data.kept import key_of
from standout.defenses import frontier_cells, frontier_front
from standout.defenses.frontier import frontier
from standout.defenses.frontier_cells import (
    Bench,
    FrontierCell,
    RiskTest,
    Setting,
    default_adversary,
    worst_of,
)
from standout.defenses.frontier_strengths import default_strengths, settings_of
from standout.defenses.utility_models import RANKING_GRID, RankingSettings
from standout.experiment.outcomes import Truth
from standout.report.frontier import page, table
from standout.results import from_plain

ATTACKS = ("scoreboard-rh", "likelihood")


@pytest.fixture(scope="module", autouse=True)
def quick_tuning():
    """Two settings to choose from."""
    from standout.defenses import utility_models

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            utility_models.tune_ranking,
            "__defaults__",
            (0, (RankingSettings(8, 5.0, 1.0), RANKING_GRID[0])),
        )
        yield


@pytest.fixture(scope="module")
def data() -> so.Dataset:
    return grouped_tastes(120, 48)


@pytest.fixture(scope="module")
def found(data: so.Dataset) -> so.Frontier:
    return frontier(
        data,
        ["drop-entries", "drop-time", "sample-records"],
        {"drop-entries": [0.0, 0.5, 0.9]},
        attacks=ATTACKS,
        targets=100,
    )


def cell(name: str, hits: int, cost: list[float], n: int = 100, other: float = 0.0) -> FrontierCell:
    """A made-up cell: the first `hits` of `n` people are found."""
    credit = [1.0] * hits + [0.0] * (n - hits)
    made = {
        "family": name,
        "strength": 0 if name == "undefended" else 1,
        "defense": name,
        "seconds": 1.0,
        "risk": {
            "unique": so_rate(hits // 2, n),
            "found": so_rate(hits, n),
            "sure": None,
            "sure_attack": None,
            "not_measured": {"sure": "no posterior"},
            "worst": "found",
            "credit": credit,
            "attack": "likelihood",
            "adversary": "4 items",
            "n_tried": 1,
            "n_not_released": 0,
            "false_match": so_rate(0, n),
            "tried": [],
        },
        "losses": [
            {
                "ndcg": x,
                "recall": x,
                "rating": other,
                "popularity": 0.0,
                "pairs": 0.0,
                "time": None,
                "entries": 0.0,
            }
            for x in cost
        ],
        "utility": [
            dict.fromkeys(
                (
                    "ndcg",
                    "recall",
                    "rmse",
                    "popularity_error",
                    "pairs_error",
                    "entries",
                    "items",
                    "people",
                    "false_entries",
                ),
                0.5,
            )
            | {"time_error": None, "n_people": n}
            for _ in cost
        ],
        "popularity": [{"ndcg": 0.6, "recall": 0.6} for _ in cost],
    }
    return from_plain(FrontierCell, made, "a cell")


def so_rate(hits: int, n: int) -> dict:
    from standout.formulas.rates import Rate

    return dict(Rate.from_count(hits, n))


def of(*cells: FrontierCell) -> so.Frontier:
    return so.Frontier({}, cells)


# Cells


def test_strength_zero_has_the_risk_and_the_cost_of_the_undefended_data(found):
    zero = next(c for c in found.cells if c["defense"] == "drop-entries(share=0)")
    assert zero["risk"]["credit"] == found.undefended["risk"]["credit"]
    assert all(x == 0 for one in zero["losses"] for x in one.values())


def test_a_stronger_setting_costs_more_and_finds_fewer(found):
    rows = {r["defense"]: r for r in found.rows()}
    weak, strong = rows["drop-entries(share=0.5)"], rows["drop-entries(share=0.9)"]
    assert rows["undefended"]["rate"] > weak["rate"] > strong["rate"]
    assert 0 < weak["cost"] < strong["cost"]


def test_people_who_are_not_in_the_release_are_not_found(found):
    few = next(c for c in found.cells if c["defense"] == "sample-records(share=0.05)")
    assert few["risk"]["found"]["rate"] < 0.2
    assert few["risk"]["n_not_released"] > 80


def test_the_three_rates_are_those_of_an_audit_of_the_same_release(data, found):
    """Same targets, same draws, same choice of the strongest attack on the calibration half."""
    who = default_adversary(data)
    release = so.defense("drop-entries", share=0.5).apply(data, seed=0)
    audit = so.Audit(data, [who], ATTACKS, 100, 0, release=release, describe=False).run(
        progress=False
    )
    mine = next(c for c in found.cells if c["defense"] == "drop-entries(share=0.5)")
    result = audit.results[0]
    assert mine["risk"]["n_tried"] == result["strongest"]["n_attacks"]
    assert {name: mine["risk"][name] for name in MEASURES} == {n: result[n] for n in MEASURES}
    assert result["unique"] is None and result["found"] is not None


def test_the_attacker_is_not_chosen_on_the_people_she_is_judged_on(data, monkeypatch):
    """The best of several on the reported half would look stronger than she is."""
    seen = []

    def choose(tried, chosen):
        seen.append(chosen)
        return worst_of(tried, chosen)

    monkeypatch.setattr(frontier_cells, "worst_of", choose)
    risk = RiskTest(data, None, ATTACKS, 60, 0)
    found = risk.of(data)
    truth = Truth.of(risk.targets, None, data.record_keys[risk.targets], 0)
    assert np.array_equal(seen[0], truth.calibration)
    assert len(found["credit"]) == int((~truth.calibration).sum())


def hits(**by_measure) -> Hits:
    """Made-up outcomes of three people."""
    told = {name: None if x is None else np.array(x) for name, x in by_measure.items()}
    return Hits(told, "a", "", {}, {})


def test_the_worst_of_what_was_measured_counts():
    one = hits(unique=None, found=[1.0, 0, 0], sure=[False, False, False])
    two = hits(unique=[False, True, True], found=[0.0, 1, 0], sure=None)
    assert worst_of([one, two], np.array([True, False, False])) == (0, "found")
    assert worst_of([one, two], np.array([False, True, True])) == (1, "unique")
    assert worst_of([one, two], np.array([False, True, False])) == (1, "found"), "a tie"


def test_uniqueness_that_is_not_defined_is_never_zero(data):
    """A coarser time says more than no time: 0 % unique would be a false all-clear."""
    risk = RiskTest(data, None, ATTACKS, 60, 0)
    for text, words in (
        ("coarsen-time(to=year)", "changes times"),
        ("round-values(step=2)", "changes values"),
        ("keep-top-items(k=10)", "removes items"),
    ):
        found = risk.of(so.parse_defense(text).apply(data))
        assert found["unique"] is None
        assert words in found["not_measured"]["unique"]
    assert risk.of(so.parse_defense("drop-time").apply(data))["unique"]["rate"] > 0.3
    chance = RiskTest(data, [so.Adversary(knows=4, wrong=0.25)], ATTACKS, 60, 0).of(data)
    assert chance["unique"] is None and "probability" in chance["not_measured"]["unique"]
    bare = RiskTest(data, None, ["scoreboard-rh"], 60, 0).of(data)
    assert bare["sure"] is None and bare["not_measured"]["sure"]


def test_every_cell_is_measured_on_the_same_people(data):
    risk = RiskTest(data, None, ATTACKS, 60, 0)
    one, two = risk.of(data), risk.of(so.defense("drop-entries", share=0.3).apply(data))
    assert len(one["credit"]) == len(two["credit"]) == risk.n_reported
    again = RiskTest(data, None, ATTACKS, 60, 0)
    assert np.array_equal(risk.targets, again.targets)


def test_several_adversaries_give_the_rate_of_the_worst(data):
    few, many = so.Adversary(knows=1, value_within=None), so.Adversary(knows=5)
    both = RiskTest(data, [few, many], ATTACKS, 80, 0)
    alone = RiskTest(data, [many], ATTACKS, 80, 0)
    assert both.of(data)["found"]["rate"] == alone.of(data)["found"]["rate"]
    assert both.of(data)["adversary"] == many.describe()


def test_a_defense_that_cannot_be_applied_says_why_and_is_not_a_cell_without_risk():
    ds = grouped_tastes(60, 30, values=False)
    found = frontier(
        ds,
        ["drop-entries(share=0.5)", "drop-entries(share=1)"],
        attacks=ATTACKS,
        targets=40,
        seeds=2,
    )
    assert [c["defense"] for c in found.measured] == ["undefended", "drop-entries(share=0.5)"]
    assert "leaves no entry" in found.cells[2]["not_measured"]
    assert "leaves no entry" in page(found)


def test_the_answer_names_channels_that_nobody_knew(data):
    entries = data.to_frame()
    price = np.arange(len(entries)) % 50
    own = so.Dataset.from_arrays(entries["record"], entries["item"], channels={"price": price})
    found = frontier(own, ["drop-entries(share=0.5)"], attacks=ATTACKS, targets=20, seeds=2)
    assert "Not measured: the channel price." in found.sentence
    assert found.sentence.count("cannot be shown") == 1, "what holds of 5 % holds of 1 %"


# Ties and the front


def test_differences_within_the_noise_are_ties():
    base = cell("a", 50, [0.10, 0.30, 0.20])
    assert frontier_front.compare_cost(base, cell("b", 50, [0.30, 0.10, 0.25]), "ndcg") == 0
    assert frontier_front.compare_cost(base, cell("b", 50, [0.31, 0.50, 0.41]), "ndcg") == -1
    assert frontier_front.compare_cost(cell("b", 50, [0.31, 0.50, 0.41]), base, "ndcg") == 1
    assert frontier_front.compare_risk(base, cell("b", 52, [0])) == 0
    assert frontier_front.compare_risk(base, cell("b", 70, [0])) == -1


def brute_front(cells: list[FrontierCell]) -> list[bool]:
    """Cells that are not beaten, without noise."""
    at = [(c["risk"]["found"]["rate"], np.mean([x["ndcg"] for x in c["losses"]])) for c in cells]
    return [not any(a <= r and b <= c and (a, b) != (r, c) for a, b in at) for r, c in at]


def test_without_noise_the_front_is_the_pareto_front():
    rng = np.random.default_rng(5)
    for _ in range(20):
        cells = [
            cell(f"c{k}", int(rng.integers(0, 11)) * 10, [float(rng.integers(0, 11)) / 10] * 3)
            for k in range(8)
        ]
        assert frontier_front.front(cells, "ndcg") == brute_front(cells)


def test_a_tie_removes_no_cell_from_the_front():
    one, two = cell("one", 50, [0.1, 0.2, 0.3]), cell("two", 51, [0.2, 0.3, 0.1])
    assert frontier_front.front([one, two], "ndcg") == [True, True]


def test_a_defense_without_effect_is_not_marked():
    """A setting that costs nothing and changes nothing is not beaten by any other, and no advice."""
    found = of(
        cell("undefended", 90, [0.0] * 3),
        cell("useless", 89, [0.0] * 3),
        cell("lucky", 84, [0.0] * 3),
        cell("right", 20, [0.4] * 3),
    )
    assert [c["defense"] for c in found.front] == ["right"]
    rows = {r["defense"]: r for r in found.rows()}
    assert [rows[x]["clear_effect"] for x in rows] == [None, False, False, True]
    assert "no clear effect" in page_of(found)


def test_no_setting_is_advised_if_none_has_a_clear_effect():
    base = cell("undefended", 30, [0.0] * 3, 900)
    said = of(base, cell("same", 29, [0.0] * 3, 900)).sentence
    assert "least costly" not in said
    assert "The tried setting has no clear effect" in said


def page_of(found: so.Frontier) -> str:
    return json.dumps(found.chart().spec()["data"]["values"])


# The sentence


def test_the_sentence_names_the_least_costly_defense_and_its_cost():
    said = of(
        cell("undefended", 500, [0.0] * 3, 500),
        cell("cheap", 300, [0.1] * 3, 500),
        cell("right", 3, [0.3] * 3, 500),
        cell("dear", 0, [0.9] * 3, 500),
    ).sentence
    assert "50% (45% to 55%) are unique, and her best guess finds 100%" in said
    assert "judged by the largest of these rates, here people whom the best guess finds" in said
    assert (
        "To bring the rate below 5%, the least costly defense found is right, which costs 30% "
        in said
    )
    assert "cheap" not in said
    assert (
        "None of the 3 tried settings is shown to bring it below 1%" in said
        or "below 1%, the least costly" in said
    )


def test_a_rate_that_too_few_people_can_show_is_not_claimed():
    said = of(cell("undefended", 50, [0.0] * 3, 50), cell("dear", 0, [0.9] * 3, 50)).sentence
    assert "A rate below 5% cannot be shown with 50 tested people" in said
    assert "least costly" not in said


def test_the_claim_allows_for_the_number_of_settings_tried():
    right = cell("right", 13, [0.3] * 3, 500)
    assert frontier_front.highest_rate(right, 1) < 0.05 < frontier_front.highest_rate(right, 50)


def test_a_defense_that_removes_a_channel_does_not_look_free():
    said = of(
        cell("undefended", 500, [0.0] * 3, 500), cell("no values", 2, [0.0] * 3, 500, other=1.0)
    ).sentence
    assert "no measurable part of the quality of recommendations" in said
    assert "100% of the accuracy of predicted values" in said


def test_the_sentence_of_safe_data_says_so():
    said = of(cell("undefended", 0, [0.0] * 3, 900), cell("other", 0, [0.5] * 3, 900)).sentence
    assert "already below 5%" in said


# Files


def test_a_saved_frontier_loads_with_the_same_answer(found, tmp_path):
    path = found.save(tmp_path / "frontier.json")
    again = so.Frontier.load(path)
    assert again.sentence == found.sentence
    assert again.to_frame().equals(found.to_frame())
    assert json.loads(path.read_text())["schema_version"] == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"schema_version": 1}',
        '{"schema_version": 3}',
        '{"schema_version": 2, "cells": []}',
        '{"schema_version": 2, "provenance": {}, "cells": [{}], "measure": "ndcg"}',
    ],
)
def test_a_damaged_frontier_is_refused(text, tmp_path):
    (tmp_path / "f.json").write_text(text)
    with pytest.raises(so.StandoutError, match=r"frontier|JSON"):
        so.Frontier.load(tmp_path / "f.json")


def test_the_file_holds_no_label_of_a_person():
    ds = grouped_tastes(60, 30)
    record = np.array([f"person-{r}" for r in range(60)])[
        np.repeat(np.arange(60), np.diff(ds.record_ptr))
    ]
    named = so.Dataset.from_arrays(record, ds.record_item, ds.levels[ds.record_code])
    found = frontier(named, ["drop-entries(share=0.5)"], attacks=ATTACKS, targets=40, seeds=2)
    assert "person-" not in found.to_json() + page(found) + found._repr_html_() + repr(found)


def test_a_stopped_run_goes_on_and_gives_the_same_numbers(data, tmp_path, monkeypatch):
    wanted = {
        "defenses": ["drop-entries(share=0.5)", "drop-time", "drop-values"],
        "attacks": ATTACKS,
        "targets": 60,
        "seeds": 2,
    }
    whole = frontier(data, **wanted)
    measure = Bench.measure

    def stop(self, setting: Setting):
        if setting.text == "drop-time()":
            raise KeyboardInterrupt
        return measure(self, setting)

    monkeypatch.setattr(Bench, "measure", stop)
    with pytest.raises(KeyboardInterrupt):
        frontier(data, work=tmp_path, **wanted)
    done: list[str] = []
    monkeypatch.setattr(Bench, "measure", lambda self, s: done.append(s.text) or measure(self, s))
    rest = frontier(data, work=tmp_path, **wanted)
    assert done == ["drop-time()", "drop-values()"]
    assert rest.to_frame().drop(columns="seconds").equals(whole.to_frame().drop(columns="seconds"))
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_cells_of_other_data_seeds_or_parameters_are_not_used(data, tmp_path):
    def key(ds, seed=0, targets=60, name="drop-entries(share=0.5)"):
        bench = Bench(ds, RiskTest(ds, None, ATTACKS, targets, seed), [0, 1], tmp_path)
        return key_of(bench._about(Setting("x", 1, so.parse_defense(name)).identity))

    keys = [
        key(data),
        key(data, seed=1),
        key(data, targets=50),
        key(data.take(np.arange(100))),
        key(data, name="drop-entries(share=0.6)"),
    ]
    assert len(set(keys)) == len(keys)
    groups = [so.defense("group-items", groups=dict.fromkeys(range(10), g)) for g in ("a", "b")]
    assert len({Setting("g", 1, g).identity for g in groups}) == 2


def test_a_damaged_cell_is_measured_again(data, tmp_path):
    risk = RiskTest(data, None, ATTACKS, 60, 0)
    bench = Bench(data, risk, [0, 1], tmp_path)
    setting = Setting("undefended", 0, None)
    bench.measure(setting)
    assert bench.stored(setting) is not None
    for path in tmp_path.iterdir():
        path.write_text("{")
    with pytest.warns(UserWarning, match="damaged, or this user did not write it"):
        assert bench.stored(setting) is None


# Input


def test_bad_options_are_refused(data):
    for wrong, words in (
        ({"defenses": "drop-entrys"}, "Did you mean"),
        ({"seeds": 1}, "at least 2"),
        ({"measure": "beauty"}, "use one of"),
        ({"defenses": "all", "strengths": [0.5]}, "name the defenses"),
        ({"defenses": [3]}, "int"),
        ({"targets": 0}, "targets=0"),
        ({"defenses": ["drop-time"], "strengths": [0.5]}, "no strength"),
        ({"adversaries": ["x"]}, "Adversary"),
        ({"adversaries": so.Adversary(knows=1000)}, "lower knows"),
        ({"defenses": ["drop-entries"], "strengths": {"drop-time": [1]}}, "not among"),
    ):
        with pytest.raises(so.StandoutError, match=words):
            frontier(data, **{"defenses": ["drop-entries"], "attacks": ATTACKS, **wrong})


def test_a_measure_that_the_data_does_not_have_is_refused():
    ds = grouped_tastes(60, 30, values=False)
    found = frontier(ds, ["drop-entries(share=0.5)"], attacks=ATTACKS, targets=40, seeds=2)
    with pytest.raises(so.StandoutError, match="was not measured"):
        found.by("rating")
    assert found.by("entries").rows()[1]["cost"] == pytest.approx(0.5, abs=0.1)


def test_default_strengths_fit_the_data_and_can_be_applied(data):
    wanted = settings_of(data)
    assert not any(s.problem for s in wanted)
    assert len({s.family for s in wanted}) >= 18
    for setting in wanted:
        assert setting.defense.apply(data, seed=0).n_entries > 0
    bare = grouped_tastes(60, 30, values=False)
    names = {s.family for s in settings_of(bare)}
    assert names.isdisjoint(
        {"drop-values", "drop-time", "coarsen-time", "noise-values", "swap-attributes"}
    )
    assert len(default_strengths("drop-rare-items", data)) >= 2


def test_own_defenses_with_apply_are_cells_too(data):
    class Half:
        name = "half"

        def apply(self, source: so.Dataset, seed: int = 0) -> so.Dataset:
            return source.with_entries(np.arange(source.n_entries) % 2 == 0)

        def __str__(self) -> str:
            return "half()"

    found = frontier(data, [Half()], attacks=ATTACKS, targets=40, seeds=2)
    assert [c["defense"] for c in found.cells] == ["undefended", "half()"]
    assert found.rows()[1]["entries"] == pytest.approx(0.5, abs=0.05)


@pytest.fixture
def own_defenses():
    """Three defenses of a user: with strengths, without, and one that cannot be made without parameters."""
    from standout.defenses import defense as registry

    class Half(so.Defense):
        def __init__(self, *, step: int = 2) -> None:
            self.step = step

        def change(self, source: so.Dataset, seed: int) -> so.Dataset:
            return source.with_entries(np.arange(source.n_entries) % self.step == 0)

        def mechanism(self, source: so.Dataset, release: so.Dataset) -> so.Mechanism:
            return so.Mechanism(lost=1 - 1 / self.step)

    @so.register_defense("own-strengths")
    class Strong(Half):
        @classmethod
        def strengths(cls, source: so.Dataset) -> list[dict]:
            return [{"step": 2}, {"step": 3}]

    @so.register_defense("own-needs")
    class Needs(Half):
        def __init__(self, *, step: int) -> None:
            super().__init__(step=step)

    so.register_defense("own-plain")(Half)
    yield
    for name in ("own-strengths", "own-needs", "own-plain"):
        del registry._REGISTRY[name]


def test_all_holds_the_defenses_of_users(data, own_defenses, monkeypatch):
    wanted = {s.text: s for s in settings_of(data)}
    own = [text for text in wanted if text.startswith("own-")]
    assert own == [
        "own-strengths(step=2)",
        "own-strengths(step=3)",
        "own-needs",
        "own-plain(step=2)",
    ]
    assert [wanted[text].strength for text in own] == [1, 2, 1, 1]
    from standout.defenses import defense as registry

    monkeypatch.setattr(registry, "_BUILT_IN", {})
    monkeypatch.setattr(
        registry, "_REGISTRY", {k: registry._REGISTRY[k] for k in registry._REGISTRY if "own" in k}
    )
    monkeypatch.setattr("standout.defenses.frontier_strengths.combinations", lambda source: [])
    found = frontier(data, "all", attacks=ATTACKS, targets=40, seeds=2)
    assert [c["defense"] for c in found.cells] == ["undefended", *own]
    assert "step" in found.cells[3]["not_measured"], "it says which parameter it needs"
    assert found.rows()[2]["entries"] == pytest.approx(1 / 3, abs=0.05)


def test_strengths_set_the_first_parameter_of_a_users_defense(data, own_defenses):
    made = settings_of(data, ["own-needs"], {"own-needs": [2, 5]})
    assert [s.text for s in made] == ["own-needs(step=2)", "own-needs(step=5)"]
    with pytest.raises(so.StandoutError, match="step"):
        settings_of(data, ["own-needs"])


def test_the_cost_is_stated_before_the_long_part(data):
    said: list[str] = []
    frontier(
        data, ["drop-time", "drop-values"], attacks=ATTACKS, targets=40, seeds=2, log=said.append
    )
    assert len(said) == 2
    assert said[0] == "3 cells, 0 of them finished before"
    assert said[1].startswith("one cell took")


# Report


def test_the_chart_marks_the_front_and_the_page_is_complete(found):
    drawn = found.chart()
    marked = [v for v in drawn.spec()["data"]["values"] if v["front"]]
    assert sorted(v["defense"] for v in marked) == sorted(c["defense"] for c in found.front)
    assert drawn.svg().startswith("<svg")
    text = page(found, "A title")
    assert found.sentence[:40] in text
    assert "A title" in text
    assert len(table(found).cells()) == len(found.measured)
    titles = [c.title for c in table(found).columns]
    assert [x for x in titles if x in MEASURES] == list(MEASURES)
    assert "A setting is judged by the largest of the rates" in text
    base = found.undefended["risk"]
    for point in drawn.spec()["data"]["values"]:
        assert all(name in point["tip"] for name in MEASURES)
    assert f"{base['sure']['rate']:.0%} sure" in next(
        v["tip"] for v in drawn.spec()["data"]["values"] if v["defense"] == "undefended"
    )


def test_no_number_of_the_table_is_infinite(found):
    # the undefended data has no attackers who are unaware of a defense
    frame = found.to_frame().drop(columns=["naive", "unaware", "adaptive"])
    assert not frame.filter(regex="^(found|sure)").isna().any().any()
    frame = frame.drop(columns=["unique", "unique_low", "unique_high"], errors="ignore")
    assert all(math.isfinite(x) for x in frame.select_dtypes("number").to_numpy().ravel())


def test_version_of_cells_is_part_of_the_key(data, tmp_path, monkeypatch):
    risk = RiskTest(data, None, ATTACKS, 40, 0)
    before = Bench(data, risk, [0, 1], tmp_path)._about("undefended")
    monkeypatch.setattr(frontier_cells, "CELL_VERSION", 99)
    assert Bench(data, risk, [0, 1], tmp_path)._about("undefended") != before
