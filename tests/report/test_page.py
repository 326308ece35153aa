"""The page: one file, whole, that asks nobody for anything and gives nobody away."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser

import numpy as np
import pytest
from made_findings import adversary, findings, result, sweep

import standout as so
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
        self.addresses += [v for k, v in attrs if k in ("src", "href", "action", "data", "xlink:href", "srcset") and v]


def read(text):
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def text():
    return page(sweep({2: 0.2, 4: 0.6, 8: 1.0}))


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
        result(adversary(2, words=f"2 items {EVIL}"), 5, 50, right=5, false=1, attack='" onload="x'),
        warnings=(EVIL,),
        sections={"describe": {"note": EVIL, EVIL: 1, "rows": [{EVIL: EVIL}]}, EVIL: {"a": {"b": [EVIL, {}]}}},
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
        who[g.integers(0, 120, 1500)], what[g.integers(0, 40, 1500)], g.integers(1, 6, 1500), g.integers(0, 300, 1500)
    )
    found = so.Audit(data, [so.Adversary(knows=2)], ["scoreboard-rh"], targets=60).run()
    everything = page(found) + found.to_json() + found._repr_html_()
    assert not [label for label in (*data.record_labels, *data.item_labels) if str(label) in everything]


def test_unknown_sections_become_tables_and_deep_ones_do_not_fail():
    odd = {"defenses": {"rows": [{"defense": "suppress", "rate": 0.25, "more": {"n": 3}}], "empty": [], "none": None,
                        "deep": {"a": {"b": {"c": 1}}}},
           "list": [1, 2, 3]}  # fmt: skip
    text = page(findings(result(adversary(2), 5, 50, right=5, false=1), sections=odd))
    assert "What defenses buy" in text and ">suppress<" in text and ">0.25<" in text and "1; 2; 3" in text


def test_few_targets_leave_out_what_was_not_measured():
    text = page(findings(result(adversary(2), 0, 1, right=0, false=0)))
    assert "False matches were not measured" in re.sub(r"<[^>]+>", "", text)
    assert 'id="chart-absent"' not in text


def test_the_file_is_written_whole_and_small_and_soon(tmp_path):
    many = sweep({k: 0.1 * k for k in range(1, 9)})
    began = time.process_time()
    made = so.render(many, tmp_path / "deep" / "report.html")
    # processor time: other programs on the machine do not count
    assert time.process_time() - began < 5
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
        "<svg" in bundle["text/html"] and "single out" in bundle["text/html"] and "<script" not in bundle["text/html"]
    )
