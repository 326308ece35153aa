"""Make the pictures of the README and the docs: `make screenshots`. Needs chromium.

The same release, seed and window give the same pictures, up to the fonts of the machine.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import standout as so
from standout.audit.explain import draw, explain
from standout.data.synthetic import twin_dataset
from standout.report.explanation import render_explanation

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
RECORDS, TARGETS, SEED = 3000, 300, 0


def main(folder: Path) -> None:
    """Audit a synthetic release, render its pages, take screenshots."""
    chromium = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if chromium is None:
        sys.exit("no chromium here: apt-get install chromium")
    folder.mkdir(parents=True, exist_ok=True)
    data = twin_dataset(n_records=RECORDS, seed=SEED)
    found = so.Audit(data, targets=TARGETS, seed=SEED).run()
    found = found.with_section("describe", so.describe(data, seed=SEED).to_dict())
    known = draw(
        data, 17, so.Adversary(knows=6, wrong=1, value_within=1, time_within=14), seed=SEED
    )
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        report = so.render(found, Path(name) / "report.html", title="A synthetic release")
        why = render_explanation(explain(data, known, target=17), Path(name) / "why.html")
        browser = play.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        shoot(browser, report, folder / "report-light.png", width=1280, height=1080)
        shoot(browser, report, folder / "report-dark.png", width=1280, height=1080, dark=True)
        shoot(browser, report, folder / "report-phone.png", width=360, height=780)
        shoot(browser, why, folder / "explain.png", width=900, height=1000)
        browser.close()


def shoot(
    browser: Browser, page: Path, target: Path, *, width: int, height: int, dark: bool = False
) -> None:
    """Take a screenshot of the top of a page."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        offline=True,
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.screenshot(path=target)
    context.close()
    print(target)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "images")
