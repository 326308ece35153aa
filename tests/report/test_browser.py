"""The report in a real browser: opened from disk, no network, no errors, usable by everybody."""

from __future__ import annotations

import shutil
from importlib.resources import files

import pytest
from made_findings import adversary, findings, result, sweep

import standout as so

pytestmark = pytest.mark.browser

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EVIL = "<script>window.hurt=1</script>"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium here: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        made = play.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    found = sweep({2: 0.2, 4: 0.6, 8: 1.0}).with_section(
        "other", {"rows": [{"a": EVIL, "b": 2}, {"a": "z", "b": 1}]}
    )
    return so.render(found, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def opened(browser, report):
    """Open the report in a window; requests and complaints are collected."""
    contexts = []

    def open_(width=1280, **more):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, offline=True, **more
        )
        contexts.append(context)
        page = context.new_page()
        page.asked, page.complaints = [], []
        page.on("request", lambda r: page.asked.append(r.url))
        page.on("console", lambda m: page.complaints.append(m.text))
        page.on("pageerror", lambda e: page.complaints.append(str(e)))
        page.goto(report.as_uri(), wait_until="load")
        return page

    yield open_
    for context in contexts:
        context.close()


def test_it_opens_from_disk_without_network_requests_or_errors(opened, report):
    page = opened()
    page.mouse.wheel(0, 5000)
    assert [u for u in page.asked if not u.startswith("data:")] == [report.as_uri()]
    assert page.complaints == []
    assert page.evaluate("window.hurt") is None


@pytest.mark.parametrize("width", [1280, 360])
def test_every_chart_is_drawn(opened, width):
    page = opened(width)
    sizes = page.evaluate(
        "[...document.querySelectorAll('figure.chart')].map(f => [...f.querySelectorAll('svg')].map(s => "
        "s.getBoundingClientRect())"
        ".filter(b => b.width > 200 && b.height > 60).length)"
    )
    assert sizes == [1] * 6


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_window(opened, width, scheme):
    page = opened(width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_sort_by_click_and_by_key(opened):
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    table = page.locator("#chart-risk table")
    heads = table.locator("thead th")
    column = [h.strip() for h in heads.all_inner_texts()].index("found")
    button = heads.nth(column).locator("button")

    def cells():
        return [
            float(c)
            for c in table.locator(f"tbody td:nth-child({column + 1})").evaluate_all(
                "c => c.map(x => x.dataset.v)"
            )
        ]

    before = cells()
    button.click()
    assert cells() == sorted(before) and heads.nth(column).get_attribute("aria-sort") == "ascending"
    button.focus()
    page.keyboard.press("Enter")
    assert (
        cells() == sorted(before, reverse=True)
        and heads.nth(column).get_attribute("aria-sort") == "descending"
    )


@pytest.mark.parametrize(
    ("kind", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("csv", b"kind,knows,wrong")]
)
def test_charts_and_tables_can_be_downloaded(opened, kind, start):
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    with page.expect_download() as waiting:
        page.locator(f"#chart-risk button[data-get={kind}]").click()
    assert waiting.value.suggested_filename == f"risk.{kind}"
    assert waiting.value.path().read_bytes().startswith(start)
    assert page.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_serious(opened, width, scheme):
    page = opened(width, color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text())
    found = page.evaluate("axe.run()")["violations"]
    assert [
        (v["id"], v["nodes"][0]["target"]) for v in found if v["impact"] in ("serious", "critical")
    ] == []


def test_it_prints_with_every_short_table_and_without_buttons(opened, tmp_path):
    page = opened()
    made = page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    pages = made.count(b"/Type /Page\n") or made.count(b"/Type /Page")
    assert 4 <= pages <= 40
    page.emulate_media(media="print")
    shown = "els => els.filter(e => getComputedStyle(e).display !== 'none' && e.offsetParent !== null).length"
    assert page.locator("button.get").evaluate_all(shown) == 0
    assert page.locator("nav").evaluate_all(shown) == 0
    assert page.locator("figure .wide").evaluate_all(shown) == 6


def test_the_answer_is_reached_by_keyboard(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.wait_for_url("**#answer")


def test_an_inconclusive_report_opens_too(browser, tmp_path):
    made = so.render(findings(result(adversary(2), 0, 1, right=0, false=0)), tmp_path / "few.html")
    page = browser.new_page()
    page.goto(made.as_uri())
    assert "cannot tell" in page.locator("#answer").inner_text()
    page.close()


MEASURE = """() => [...document.querySelectorAll("figure svg")].filter(s => s.getBoundingClientRect().width).map(svg => {
  const box = e => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; };
  const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim());
  return [box(svg), texts.map(t => [t.textContent, ...box(t)])];
})"""


@pytest.mark.parametrize("width", [1280, 360])
def test_no_label_is_cut_off_and_no_two_touch_also_in_a_wide_font(browser, tmp_path, width):
    kinds = [{"value_within": v, "time_within": t} for v in (0, 1, None) for t in (0, 14, None)][:8]
    made = [
        result(adversary(k, wrong=w, **kind), 40, 50, right=9, false=1, attack=a)
        for kind in kinds
        for k, w in ((1, 0), (2, 0), (4, 0), (8, 0), (16, 0), (4, 1), (8, 2), (16, 4))
        for a in ("likelihood", "scoreboard-rh length=sqrt")
    ]
    context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
    tab = context.new_page()
    tab.goto(so.render(findings(*made), tmp_path / "report.html").as_uri())
    tab.add_style_tag(
        content="svg text { font-family: 'DejaVu Sans', Verdana, sans-serif !important }"
    )
    drawn = tab.evaluate(MEASURE)
    context.close()
    assert len(drawn) >= 5
    for (left, top, right, bottom), texts in drawn:
        for text, *b in texts:
            assert (
                b[0] >= left - 1 and b[1] >= top - 1 and b[2] <= right + 1 and b[3] <= bottom + 1
            ), f"{text} is cut off"
        for n, (text, *a) in enumerate(texts):
            for other, *b in texts[n + 1 :]:
                across, down = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
                # lines of text overlap by their line height; letters do not
                assert across < 0 or down < 6, f"{text} touches {other}"
