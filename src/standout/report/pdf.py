"""The report as PDF, printed by a browser that is installed on the machine: `--pdf` of `standout audit` and `standout report`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from standout.audit.findings import Findings
from standout.errors import InputError, ParameterError
from standout.report.page import page
from standout.report.sentences import PRIOR

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 120
ARGUMENTS = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
)


def find_browser() -> str | None:
    """Path of a browser that can print, or None."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def check_browser() -> None:
    """Raise an error if no browser can print, before anything is computed or written."""
    if find_browser() is None and _playwright_browser() is None:
        raise ParameterError(
            "a PDF needs a browser to print the report, and none was found. Install one (Debian and Ubuntu: apt-get install "
            "chromium; elsewhere: pip install playwright && playwright install chromium), or open the HTML report and print it"
        )


def render_pdf(
    findings: Findings,
    path: str | Path = "report.pdf",
    *,
    title: str | None = None,
    prior: float = PRIOR,
) -> Path:
    """Write the report as PDF, completely or not at all.

    Parameters
    ----------
    findings
        What an audit found.
    path
        File to write.
    title
        Name of the dataset, for the title and the header.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ParameterError
        If no browser is installed; the message says what to install.
    """
    check_browser()
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        source, made = draft / "report.html", draft / "report.pdf"
        source.write_text(page(findings, title=title, prior=prior), encoding="utf-8")
        print_page(source.resolve(), made.resolve())
        made.replace(target)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return target


def print_page(source: Path, target: Path) -> None:
    """Print an HTML file to a PDF file."""
    browser = find_browser() or _playwright_browser()
    assert browser is not None
    # root cannot set up a sandbox
    no_sandbox = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            browser,
            *ARGUMENTS,
            *no_sandbox,
            f"--user-data-dir={profile}",
            "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
            source.as_uri(),
        ]
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(
                f"the browser {browser} could not print the report: {type(error).__name__}"
            ) from None
    if (
        done.returncode != 0
        or not target.exists()
        or not target.read_bytes()[:5].startswith(b"%PDF")
    ):
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"the browser {browser} could not print the report: {last[0]}")


def _playwright_browser() -> str | None:
    """Path of the browser that playwright downloaded, or None."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    with sync_playwright() as play:
        path = str(play.chromium.executable_path)
    return path if Path(path).exists() else None
