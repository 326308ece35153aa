"""One query explained: the parts add up, leaving a fact out is what it says, and labels show only when asked for."""

from __future__ import annotations

import inspect
import io
import json

import numpy as np
import pytest
from rich.console import Console

import standout as so
from standout.audit.explain import draw, explain, find_record
from standout.errors import InputError, ParameterError
from standout.report.explanation import (
    explanation_charts,
    fact_table,
    render_explanation,
    sentences,
    show_explanation,
)
from standout.scoring.tasks import AllScores

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def data():
    g = np.random.default_rng(1)
    items = np.array([EVIL, "=HYPERLINK(1)", *(f"item-{k}" for k in range(28))])
    people = np.array([f"person-{k:03d}" for k in range(90)])
    pairs = np.unique(
        np.stack([g.integers(0, 90, 900), (g.pareto(1, 900) * 4).astype(int) % 30]), axis=1
    )
    return so.Dataset.from_arrays(
        people[pairs[0]],
        items[pairs[1]],
        g.integers(1, 6, pairs.shape[1]),
        g.integers(0, 400, pairs.shape[1]),
    )


@pytest.fixture(scope="module")
def longest(data):
    return int(np.argmax(data.lengths))


@pytest.fixture(scope="module")
def known(data, longest):
    return draw(data, longest, so.Adversary(knows=5, value_within=1, time_within=14), seed=2)


@pytest.fixture(scope="module")
def made(data, known, longest):
    return explain(data, known, "scoreboard-rh", target=longest)


def test_contributions_add_up_to_the_score(made):
    for who in ("best", "runner_up"):
        assert sum(f[who]["contribution"] for f in made["facts"]) == pytest.approx(
            made[who]["score"], abs=1e-6
        )


def test_an_explanation_holds_no_score_of_records_that_it_does_not_show(
    data, known, longest, made, monkeypatch
):
    def every_score(*arguments, **more):
        pytest.fail("scores of all records were made")

    monkeypatch.setattr(so.Attack, "scores", every_score)
    monkeypatch.setattr(AllScores, "run", every_score)
    assert explain(data, known, "scoreboard-rh", target=longest) == made


def test_without_a_fact_is_a_run_without_that_fact(data, known, made):
    attack = so.attack("scoreboard-rh")
    for fact in made["facts"]:
        rest = [k for k in range(known.n_facts) if str(known.item[k]) != fact["item"]]
        less = so.Knowledge.from_arrays(
            np.zeros(len(rest)), known.item[rest], known.value[rest], known.time[rest]
        )
        again = attack.run(data, less)
        assert fact["without"]["eccentricity"] == pytest.approx(
            float(again.eccentricity[0]), abs=1e-9
        )
        assert fact["without"]["score"] == pytest.approx(float(again.score[0]), abs=1e-6)


def test_facts_come_rarest_first_and_the_last_leaves_what_is_left(made):
    supports = [f["support"] for f in made["facts"]]
    assert supports == sorted(supports)
    assert made["facts"][-1]["after"]["bits"] == pytest.approx(made["bits"]["left"])


def test_what_a_record_holds_is_what_the_data_says(data, made, longest):
    row = slice(data.record_ptr[longest], data.record_ptr[longest + 1])
    held = dict(
        zip(
            data.item_labels[data.record_item[row]].tolist(),
            data.levels[data.record_code[row]].tolist(),
            strict=True,
        )
    )
    assert made["target"]["found"]
    for fact in made["facts"]:
        assert fact["best"]["holds"]["value"] == held[fact["item"]]


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
def test_every_attack_can_be_explained_with_one_fact(data, name):
    one = so.Knowledge.from_arrays([0], data.item_labels[:1])
    made = explain(data, one, name)
    assert len(made["facts"]) == 1 and made["facts"][0]["without"] is None
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert sentences(made)


def test_hidden_labels_are_nowhere(data, known, longest, tmp_path):
    hidden = explain(data, known, target=longest, labels=False)
    text = json.dumps(hidden) + render_explanation(hidden, tmp_path / "x.html").read_text()
    assert not [x for x in (*data.record_labels, *data.item_labels) if str(x) in text]


def test_a_record_that_was_missed_is_explained_too(data, known):
    other = int(np.argmin(data.lengths))
    made = explain(data, known, target=other)
    assert not made["target"]["found"] and made["target"]["rank"] > 1
    assert "is not the record that was asked for" in " ".join(sentences(made))
    assert "asked-for record holds" in [c.title for c in fact_table(made).columns]


def test_labels_are_inert_on_the_page_and_in_its_tables(data, tmp_path):
    known = so.Knowledge.from_arrays(np.zeros(3), np.array([EVIL, "=HYPERLINK(1)", "item-3"]))
    made = explain(data, known)
    text = render_explanation(made, tmp_path / "why.html").read_text()
    assert EVIL not in text and "&lt;script&gt;" in text
    assert "'=HYPERLINK(1)" in fact_table(made).to_csv()
    assert [c.name for c in explanation_charts(made)] == ["waterfall", "contributions"]


def test_the_terminal_fits_80_columns(made):
    out = io.StringIO()
    show_explanation(made, Console(file=out, width=80))
    assert "bits left" in out.getvalue() and "comes first with score" in out.getvalue()
    assert all(len(line) <= 80 for line in out.getvalue().splitlines() if "─" in line)


def test_an_unknown_label_is_not_repeated(data):
    with pytest.raises(InputError) as caught:
        find_record(data, "person-secret")
    assert "secret" not in str(caught.value)


def test_one_query_at_a_time(data):
    two = so.Knowledge.from_arrays([0, 1], data.item_labels[:2])
    with pytest.raises(ParameterError, match="one query, not 2"):
        explain(data, two)


def test_a_short_record_is_known_as_far_as_it_goes(data):
    shortest = int(np.argmin(data.lengths))
    assert draw(data, shortest, so.Adversary(knows=99, wrong=3)).n_facts == data.lengths[shortest]


def test_the_strongest_attack_is_explained_when_none_is_named(data, known, longest):
    assert explain(data, known, target=longest)["attack"]["name"] == "likelihood"
    from standout.cli.explain import explain as verb

    assert inspect.signature(verb).parameters["attack"].default == "likelihood"


def test_an_explanation_is_a_mapping_with_a_frame_and_shows_itself(made):
    frame = made.to_frame()
    assert frame["item"].tolist() == [f["item"] for f in made["facts"]]
    assert frame["best_value"].tolist() == [f["best"]["holds"]["value"] for f in made["facts"]]
    assert frame["bits_so_far"].tolist()[-1] == made["bits"]["left"]
    html = made._repr_html_()
    assert "<svg" in html and "comes first" in html and "<script" not in html
    assert "person-" not in repr(made)
    assert dict(made) == json.loads(json.dumps(made))


def test_a_tooltip_shows_what_the_record_holds_and_no_source_code(made):
    tips = [r["tip"] for c in explanation_charts(made) for r in c.build(600)["data"]["values"]]
    assert not [t for t in tips if "{" in t or "_entry" in t]
    held = made["facts"][0]["best"]["holds"]
    assert any(f"({held['value']:g}, {held['day']})" in t for t in tips)


def test_a_tie_at_the_top_does_not_depend_on_the_order_of_records():
    for target, names in ((0, ["a", "b"]), (1, ["a", "b"])):
        data = so.Dataset.from_arrays([*names * 2, "c"], [1, 1, 2, 2, 3])
        made = explain(
            data, so.Knowledge.from_arrays([0, 0], [1, 2]), "scoreboard-rh", target=target
        )
        assert made["target"]["found"] and made["best"]["label"] == names[target]
        assert "2 records have the best score" in " ".join(sentences(made))


def test_a_complete_query_is_explained_as_exactly_as_it_is_answered(data, longest):
    # parts of a query are scored by the error rate, a whole one by the exact number of errors
    known = draw(
        data, longest, so.Adversary(knows=4, wrong=1, value_within=0, time_within=0), seed=3
    )
    made = explain(data, known, "likelihood", target=longest)
    seen = so.attack("likelihood").run(data, known, watch=[longest])
    assert made["bits"]["left"] == pytest.approx(float(seen.bits[0]), abs=1e-12)
    assert made["facts"][-1]["after"]["rank"] == seen.rank[0]
    assert made["verdict"]["posterior"] == pytest.approx(float(seen.posterior[0]), abs=1e-12)
    assert "The probability that it is the right record is" in " ".join(sentences(made))


@pytest.mark.parametrize("option", ["--value-within", "--time-within"])
def test_a_channel_that_the_data_lacks_cannot_be_known(tmp_path, option):
    import typer
    from typer.testing import CliRunner

    from standout.cli.explain import explain as verb

    path = tmp_path / "pairs.csv"
    path.write_text(
        "user,item\n" + "".join(f"{r},{i}\n" for r in range(30) for i in range(r % 5, r % 5 + 4))
    )
    app = typer.Typer()
    app.command()(verb)
    done = CliRunner().invoke(app, [str(path), "--record", "3", "--knows", "2", option, "1"])
    assert isinstance(done.exception, ParameterError) and "leave the option out" in str(
        done.exception
    )
    assert CliRunner().invoke(app, [str(path), "--record", "3", "--knows", "2"]).exit_code == 0
