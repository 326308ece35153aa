"""The page: one file, whole, that asks nobody for anything and gives nobody away."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from made_findings import adversary, findings, result, sweep

import standout as so
from standout.audit.findings import Findings
from standout.report.page import page
from standout.report.words import TERMS

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Collects tags, addresses and text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.scripts = 0
        self.handlers: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.scripts += tag == "script"
        self.handlers += [k for k, _ in attrs if k.startswith("on")]
        self.addresses += [
            v
            for k, v in attrs
            if k in ("src", "href", "action", "data", "xlink:href", "srcset") and v
        ]


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def text():
    return page(sweep({2: 0.2, 4: 0.6, 8: 1.0}))


@pytest.mark.parametrize(("low", "said"), [(0.0, True), (0.957, False)])
def test_tall_bars_of_sure_are_explained_by_the_calibration(low, said):
    one = result(adversary(2), 500, 500, right=400, false=5, sure=490)
    one["sure"] = {**one["sure"], "low": low}
    one["sure_all"] = {**one["sure_all"], "low": min(low, one["sure_all"]["rate"])}
    assert ("error of the calibration" in page(findings(one))) == said


def test_the_file_names_no_address_outside_itself(text):
    assert all(a.startswith("#") or a == "data:," for a in read(text).addresses)
    assert "@import" not in text and "url(" not in text
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_every_section_of_an_audit_is_there(text):
    ids = re.findall(r'<section id="([a-z]+)"', text)
    assert ids == [
        "answer",
        "data",
        "risk",
        "attackers",
        "absent",
        "bits",
        "who",
        "channels",
        "limits",
        "evidence",
        "terms",
    ]


def test_every_chart_is_drawn_wide_and_narrow_with_a_table_behind_it(text):
    figures = re.findall(r"<figure.*?</figure>", text, flags=re.S)
    assert len(figures) == 6
    for figure in figures:
        assert figure.count('<svg role="img" aria-label=') == 2
        assert (
            "<table" in figure
            and 'data-get="png"' in figure
            and 'data-get="svg"' in figure
            and 'data-get="csv"' in figure
        )


def test_every_term_has_its_line(text):
    for term, line in TERMS.items():
        assert f'id="term-{"-".join(term.lower().split())}"' in text
        assert str(line).replace("'", "&#39;") in text
    for target in re.findall(r'href="#(term-[a-zA-Z-]+)"', text):
        assert f'id="{target}"' in text


def test_evidence_repeats_the_run(text):
    assert "ab" * 32 in text
    assert "standout audit &#39;a b.csv&#39;" in text
    assert "overstate what linking a real second source achieves" in re.sub(r"\s+", " ", text)


def test_text_from_outside_stays_text():
    found = findings(
        result(adversary(2, words=f"2 items {EVIL}"), 5, 50, right=5, false=1, attack=EVIL),
        result(
            adversary(2, words=f"2 items {EVIL}"), 5, 50, right=5, false=1, attack='" onload="x'
        ),
        warnings=(EVIL,),
        sections={
            "describe": {"note": EVIL, EVIL: 1, "rows": [{EVIL: EVIL}]},
            EVIL: {"a": {"b": [EVIL, {}]}},
        },
    )
    text = page(found)
    assert EVIL not in text
    assert "alert(1)" in text
    plain = read(page(sweep({2: 0.2})))
    data = len(re.findall(r'<script type="application/json"', text))
    assert read(text).scripts == 1 + data
    assert plain.scripts >= 1
    assert not read(text).handlers


def test_no_label_of_a_record_is_in_the_file():
    g = np.random.default_rng(0)
    who = np.array([f"PERSON-{k:04d}-Zz" for k in range(120)])
    what = np.array([f"ITEM-{k:03d}-Yy" for k in range(40)])
    data = so.Dataset.from_arrays(
        who[g.integers(0, 120, 1500)],
        what[g.integers(0, 40, 1500)],
        g.integers(1, 6, 1500),
        g.integers(0, 300, 1500),
    )
    found = so.Audit(data, [so.Adversary(knows=2)], ["scoreboard-rh"], targets=60).run()
    everything = page(found) + found.to_json() + found._repr_html_()
    assert not [
        label for label in (*data.record_labels, *data.item_labels) if str(label) in everything
    ]


def test_unknown_sections_become_tables_and_deep_ones_do_not_fail():
    odd = {
        "defenses": {
            "rows": [{"defense": "suppress", "rate": 0.25, "more": {"n": 3}}],
            "empty": [],
            "none": None,
            "deep": {"a": {"b": {"c": 1}}},
        },
        "list": [1, 2, 3],
    }
    text = page(findings(result(adversary(2), 5, 50, right=5, false=1), sections=odd))
    assert (
        "What defenses buy" in text
        and ">suppress<" in text
        and ">0.25<" in text
        and "1; 2; 3" in text
    )


def test_few_targets_leave_out_what_was_not_measured():
    text = page(findings(result(adversary(2), 0, 1, right=0, false=0)))
    assert "False matches were not measured" in re.sub(r"<[^>]+>", "", text)
    assert 'id="chart-absent"' not in text


def test_the_file_is_written_whole_and_small(tmp_path):
    many = sweep({k: 0.1 * k for k in range(1, 9)})
    made = so.render(many, tmp_path / "deep" / "report.html")
    assert made.stat().st_size < 3_000_000
    assert [p.name for p in made.parent.iterdir()] == ["report.html"]


def test_a_failed_report_leaves_the_old_one(tmp_path, monkeypatch):
    target = tmp_path / "report.html"
    target.write_text("old")
    monkeypatch.setattr("standout.report.page.page", lambda found, **_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        so.render(sweep({2: 0.1}), target)
    assert target.read_text() == "old"


def test_a_notebook_shows_the_answer():
    bundle = sweep({2: 0.2, 4: 0.6})._repr_mimebundle_()
    assert (
        "<svg" in bundle["text/html"]
        and "single out" in bundle["text/html"]
        and "<script" not in bundle["text/html"]
    )


def plain(text):
    return re.sub(
        r"\s+", " ", re.sub(r"<(style|script|svg).*?</\1>|<[^>]+>", " ", text, flags=re.S)
    )


def _read(**cleaning):
    found = sweep({2: 0.2, 4: 0.6})
    return Findings(**{**vars(found), "data": {**found.data, "cleaning": cleaning}})


def test_the_dataset_is_named_in_title_and_header_and_stays_text():
    found = sweep({2: 0.2})
    text = page(found, title=f"Loans {EVIL}")
    assert (
        re.search(r"<title>Loans &lt;script&gt;.*Re-identification audit", text)
        and EVIL not in text
    )
    assert "<h1>Loans &lt;script&gt;" in text
    assert "<h1>Loans 2024</h1>" in page(found.with_provenance(title="Loans 2024"))
    assert "<h1>How few facts find a person in this data?</h1>" in page(found)


def test_columns_and_dropped_rows_come_before_the_first_chart():
    text = page(
        _read(
            rows_read=1000,
            rows_bad=10,
            rows_without_item=2,
            repeats="keep",
            notes=["columns: record = uid", "time: seconds"],
            columns=[
                {"name": "uid", "role": "record", "reason": "name"},
                {"name": "shop", "role": "item", "reason": ""},
                {"name": "mail", "role": "ignored", "reason": "looks like an e-mail address"},
                {"name": "week", "role": "ignored"},
                {"name": "tel", "role": "ignored", "identifier": "phone number"},
            ],
        )
    )
    top = plain(text[: text.index("<figure")])
    assert (
        "uid as the person, shop as the item" in top
        and "time: seconds" in top
        and "record = uid" not in top
    )
    assert "mail (looks like an e-mail address), week, tel" in top
    assert "tel (phone number): such columns name people by themselves" in top
    assert "1,000 read, 12 dropped (1.2%): 10 could not be parsed, 2 had no item" in top
    limits = plain(text[text.index('<section id="limits"') :])
    assert "The file also has mail, week, tel. They were not part of the attacks" in limits


def test_rows_that_were_all_kept_are_said_to_be():
    assert "1,000 read, none dropped" in plain(page(_read(rows_read=1000, notes=[])))


FIVE = {"least": 1, "first_quartile": 2, "median": 3, "third_quartile": 4, "most": 5, "mean": 3}
OVERVIEW = {
    "n_records": 10_000,
    "prior_bits": 13.3,
    "density": 0.01,
    "items_held_once": 3,
    "items_per_record": FIVE,
}


def _predicted(at_least):
    return {
        "theorem": "NS08, Theorem 2",
        "similarity": "items",
        "value_within": None,
        "time_within": None,
        "n": 100,
        "whole": True,
        "agreement": [0.1, 0.2, 0.3],
        "found": [{"knows": 4, "n": 100, "at_least": at_least}],
    }


def _theorem_text(at_least, **who):
    found = findings(
        result(
            adversary(4, **{"value_within": None, "time_within": None, **who}),
            45,
            50,
            right=9,
            false=1,
        ),
        sections={"describe": {"overview": OVERVIEW, "theorem": [_predicted(at_least)]}},
    )
    text = page(found)
    return plain(text[text.index("Which theorem explains this") :])


def test_a_theorem_is_named_with_what_it_predicts_and_what_was_measured():
    text = _theorem_text(0.8)
    assert (
        "shows that 4 items (items only) find at least 80% of people who have as many; 90% were found"
        in text
    )


def test_no_theorem_is_claimed_where_its_assumptions_fail():
    for who in (
        {"wrong": 1},
        {"value_within": 1},
        {"value_within": 0},
        {"choose": "outside-top:100"},
    ):
        text = _theorem_text(0.8, **who)
        assert "No theorem explains the result" in text and "at least 80%" not in text
    assert "The theorem does not explain the result" in _theorem_text(0.0)


def test_a_rate_below_what_is_proved_is_called_an_error():
    found = findings(
        result(adversary(4, value_within=None, time_within=None), 5, 50, right=5, false=1),
        sections={"describe": {"overview": OVERVIEW, "theorem": [_predicted(0.9)]}},
    )
    assert "found fewer people than the theorem proves" in plain(page(found))


def test_words_that_only_the_papers_use_are_gone_or_explained():
    fits = [
        {
            "kind": "lognormal",
            "start": 1,
            "share": 1.0,
            "ks": 0.1,
            "alpha": None,
            "mu": 1.0,
            "sigma": 1.0,
        }
    ]
    text = plain(
        page(
            sweep({2: 0.2, 4: 0.6}).with_section(
                "describe", {"overview": OVERVIEW, "support_fits": fits}
            )
        )
    )
    for jargon in ("named rightly", "Prior bits", "Support fits", "Items held once", "Outside top"):
        assert jargon.lower() not in text.lower()
    assert "smallest lead to name a record (phi) = 1.5" in text
    assert "Uncertainty if nothing is known 13.3 bits" in text
