"""Charts hold the numbers of the findings and can be taken out in every format."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest
from made_findings import adversary, findings, result, sweep

from standout.errors import ParameterError
from standout.report import page
from standout.report.charts import charts
from standout.report.drawing import GRID, INK, NARROW, SERIES, SOFT, WIDE, for_page, series
from standout.report.page import export
from standout.report.tables import make_table
from standout.report.words import TERMS

FOUND = sweep({2: 0.2, 4: 0.6, 8: 1.0})


@pytest.mark.parametrize("name", ["risk", "attacks", "absent", "bits", "lengths", "channels"])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_every_chart_is_drawn_within_its_width(name, width):
    svg = charts(FOUND)[name].svg(width)
    drawn = float(svg.split('width="')[1].split('"')[0])
    assert 0.75 * width < drawn < width + 10
    assert svg.count("<path") > 3 and "NaN" not in svg


def test_the_table_behind_the_risk_chart_holds_the_findings():
    rows = charts(FOUND)["risk"].table.plain()
    assert [(r["knows"], r["rate"]) for r in rows if r["kind"] == "values ±1, days ±14"] == [
        (2, 0.2),
        (4, 0.6),
        (8, 1.0),
    ]
    assert [(r["knows"], r["rate"]) for r in rows if r["kind"] == "values ±1"] == [
        (2, 0.1),
        (4, 0.3),
        (8, 0.5),
    ]
    assert all(r["low"] <= r["rate"] <= r["high"] and r["n"] == 500 for r in rows)


def test_the_attack_chart_shows_all_attacks_and_marks_the_strongest():
    rows = charts(FOUND)["attacks"].table.plain()
    assert len(rows) == 12
    assert {r["attack"] for r in rows if r["wins"]} == {"scoreboard-rh"}


def test_the_curve_of_names_runs_from_strict_to_loose():
    rows = [
        r
        for r in charts(FOUND)["absent"].table.plain()
        if r["knows"] == 8 and r["kind"] == "values ±1, days ±14"
    ]
    assert [r["false"] for r in rows] == sorted(r["false"] for r in rows)


def test_kinds_that_differ_only_in_errors_are_told_apart():
    found = findings(
        result(adversary(4), 20, 50, right=9, false=1),
        result(adversary(4, wrong=1), 10, 50, right=5, false=1),
    )
    rows = charts(found)["risk"].table.rows
    assert [(r["kind"], r["amount"]) for r in rows] == [
        ("values ±1, days ±14", "4"),
        ("values ±1, days ±14", "4, 1 wrong"),
    ]


def test_a_screen_reader_meets_one_picture_and_a_mouse_its_numbers():
    chart = charts(FOUND)["risk"]
    text = for_page(chart.svg(), chart.summary)
    assert text.count("role=") == 1 and text.count("aria-label=") == 1
    # two kinds of knowledge, three amounts, three measures
    assert text.count("<title>") == 18 and "unique 20% (16% to 24%)</title>" in text


def test_a_dark_page_knows_every_color_of_the_charts():
    style = Path(page.__file__).with_name("assets").joinpath("report.css").read_text()
    dark = style[style.index("prefers-color-scheme: dark") :]
    for color in (*SERIES, INK, SOFT, GRID):
        assert f'[fill="{color}"]' in dark and f'[stroke="{color}"]' in dark


def test_charts_render_in_notebooks():
    bundle = charts(FOUND)["risk"]._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"]["$schema"].endswith("v5.json")
    assert bundle["image/svg+xml"].startswith("<svg")


def test_every_chart_and_table_can_be_exported(tmp_path):
    made = charts(FOUND)
    written = export(made.values(), tmp_path, ["csv", "parquet", "json", "svg", "png", "pdf"])
    assert len(written) == 6 * len(made)
    head = {"svg": b"<svg", "png": b"\x89PNG", "pdf": b"%PDF"}
    for path in written:
        assert path.read_bytes().startswith(head.get(path.suffix[1:], b""))
    assert (
        pd.read_parquet(tmp_path / "risk.parquet")["rate"].tolist()
        == pd.read_csv(tmp_path / "risk.csv")["rate"].tolist()
    )
    assert json.loads((tmp_path / "risk.json").read_text())["description"] == made["risk"].summary


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="no export format 'gif'"):
        export(charts(FOUND).values(), tmp_path, ["gif"])


def test_the_risk_table_tells_the_share_of_all_people_beside_that_of_people_with_enough_items():
    found = findings(result(adversary(6), 37, 50, right=9, false=1, share=0.125))
    row = charts(found)["risk"].table.plain()[0]
    assert (row["rate"], row["rate_all"]) == (0.74, 0.0925)


def test_the_uncertainty_names_the_attack_that_states_it():
    one = result(adversary(2), 0, 50, right=0, false=1)
    model = result(adversary(2), 0, 50, right=0, false=1, attack="likelihood")
    made = charts(findings({**one, "uncertainty": model["uncertainty"]}, model))[
        "bits"
    ].table.plain()
    assert [r["attack"] for r in made] == ["likelihood"]


def _texts(svg):
    return [
        re.sub(r"<[^>]+>", "", t) for t in re.findall(r"<text[^>]*>(.*?)</text>", svg, flags=re.S)
    ]


@pytest.mark.parametrize("name", ["attacks", "lengths", "channels"])
def test_panels_come_in_the_order_of_their_numbers_not_of_their_letters(name):
    shown = [
        t
        for t in _texts(charts(sweep({2: 0.2, 4: 0.6, 16: 1.0}))[name].svg())
        if re.fullmatch(r"\d+ items", t)
    ]
    assert shown == ["2 items", "4 items", "16 items"]


def _with_errors():
    """Three numbers of items, all facts correct and some of them wrong, for two kinds of knowledge."""
    return findings(
        *(
            result(adversary(k, wrong=w, **kind), hits, 50, right=9, false=1)
            for kind in ({}, {"time_within": None})
            for k, w, hits in ((2, 0, 10), (4, 0, 30), (16, 0, 50), (4, 1, 20), (16, 4, 40))
        )
    )


def test_wrong_facts_are_on_the_axis_after_the_correct_ones():
    chart = charts(_with_errors())["risk"]
    assert [r["amount"] for r in chart.table.rows][:5] == [
        "2",
        "4",
        "16",
        "4, 1 wrong",
        "16, 4 wrong",
    ]
    axis = "".join(_texts(chart.svg()))
    assert (
        "24164" in axis.replace("1 wrong", "").replace("4 wrong", "")
        and "1 wrong" in axis
        and "4 wrong" in axis
    )


def test_an_error_rate_is_written_as_a_share():
    found = findings(result(adversary(4, wrong=0.25), 20, 50, right=9, false=1))
    assert charts(found)["risk"].table.rows[0]["amount"] == "4, 25% wrong"


def test_points_of_the_risk_chart_sit_on_the_x_of_their_number_of_items():
    svg = charts(_with_errors())["risk"].svg()
    marks = re.findall(
        r'<g class="mark-symbol role-mark child_layer_2_marks".*?</g>', svg, flags=re.S
    )
    assert len(marks) == 3  # unique, sure, found
    for panel in marks:
        places = re.findall(r"translate\(([\d.]+),", panel)
        assert len(places) == 10 and len(set(places)) == 5


def test_a_phone_shows_the_risk_chart_as_high_as_a_page_does():
    # the legend takes more lines there: they must not be taken from the plot
    sizes = [
        float(charts(_with_errors())["risk"].svg(w).split('height="')[1].split('"')[0])
        for w in (WIDE, NARROW)
    ]
    assert sizes[1] > sizes[0]


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ParameterError, match="no export format 'docx'"):
        export(charts(FOUND).values(), tmp_path / "exports", ["csv", "docx"])
    assert not (tmp_path / "exports").exists()


def test_percent_and_hour_tolerances_are_drawn():
    found = findings(
        *(
            result(adversary(2, value_within=v, time_within=t), 20, 50, right=9, false=1)
            for v, t in ((0, None), ("10%", None), (None, "2h"), (None, None))
        )
    )
    assert {"values ±10%", "no values"} <= {
        r["value"] for r in charts(found)["channels"].table.rows
    }


def test_no_two_of_sixteen_series_look_the_same():
    looks = series([f"kind {k}" for k in range(16)])
    marks = list(
        zip(looks["color"]["scale"]["range"], looks["shape"]["scale"]["range"], strict=True)
    )
    assert len(set(marks)) == 16


def test_every_listed_column_has_a_known_form_and_a_term_that_is_explained():
    path = Path(page.__file__).with_name("tables.toml")
    names = set(tomllib.loads(path.read_text(encoding="utf-8"))) - {"groups"}
    forms = {"text", "share", "points", "interval", "bits", "p", "count", "number"}
    for name in names:
        columns = make_table(name, []).columns
        assert {c.form for c in columns} <= forms, name
        assert {c.term for c in columns} <= {"", *TERMS}, name
        assert len({c.key for c in columns}) == len(columns), name
