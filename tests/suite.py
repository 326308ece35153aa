"""Which tests are integration tests, and the processor time of each file of tests."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

INTEGRATION = (
    "tests/cli/",
    "tests/fuzz/",
    "tests/mutation/",
    "tests/papers/",
    "tests/test_shapes.py",
    "tests/test_no_network.py",
    "tests/test_distribution.py",
    "tests/adversary/test_compiled_once.py",
    "tests/attacks/test_adaptive_worlds.py",
    "tests/attacks/test_defended_posterior.py",
    "tests/attacks/test_grouped_and_sampled_posterior.py",
    "tests/attacks/test_many_values.py",
    "tests/audit/test_finest_times.py",
    "tests/data/test_archives.py",
    "tests/data/test_foreign_databases.py",
    "tests/data/test_hostile_files.py",
    "tests/data/test_limits.py",
    "tests/data/test_minutes_everywhere.py",
    "tests/data/test_object_stores.py",
    "tests/data/test_postgres.py",
    "tests/defenses/test_frontier.py",
    "tests/engines/test_elsewhere.py",
    "tests/engines/test_spark",
    "tests/experiment/test_journal.py",
    "tests/gate/test_ci_examples.py",
    "tests/gate/test_dressing.py",
    "tests/gate/test_error.py",
    "tests/gate/test_evidence.py",
    "tests/gate/test_forgery.py",
    "tests/linking/test_calibration.py",
    "tests/linking/test_clustered.py",
    "tests/linking/test_commands.py",
    "tests/linking/test_link_coverage.py",
    "tests/report/test_browser.py",
    "tests/report/test_damaged_findings.py",
    "tests/report/test_examples.py",
    "tests/theory/test_certificates.py",
    "tests/theory/test_theory_commands.py",
)
"""Beginnings of the names of tests that kill processes, start commands, servers, Spark or a browser, fill disks or memory, or
repeat an experiment many times: `make test-integration`."""

SECONDS = Path(__file__).parent / "cpu_seconds.json"
"""Processor seconds per file, of files that take at least one (`make test-seconds`)."""
COLLECTED = pytest.StashKey[set[tuple[Path, str]]]()
"""File and function of all tests, also of those that are left out by their marks."""
_spent: dict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that records what each file takes."""
    parser.addoption("--record-seconds", action="store_true", help=f"rewrite {SECONDS.name}")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark integration tests, before tests are left out by their marks."""
    seen = item.config.stash.setdefault(COLLECTED, set())
    seen.add((item.path.resolve(), getattr(item, "originalname", "")))
    if item.nodeid.startswith(INTEGRATION):
        item.add_marker("integration")


def _processor_seconds() -> float:
    now = os.times()
    return now.user + now.system + now.children_user + now.children_system


def pytest_runtest_logstart() -> None:
    """Note the processor time before the setup of a test."""
    _spent["began"] = _processor_seconds()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Send the processor time of a test to the process that prints."""
    if call.when == "teardown":
        item.user_properties.append(("cpu", _processor_seconds() - _spent["began"]))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the processor time by file."""
    if report.when == "teardown":
        _spent[report.nodeid.partition("::")[0]] += dict(report.user_properties)["cpu"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was recorded."""
    if session.config.option.record_seconds and not hasattr(session.config, "workerinput"):
        files = {file: round(s, 1) for file, s in sorted(_spent.items()) if s >= 1 and "/" in file}
        SECONDS.write_text(json.dumps(files, indent=0) + "\n")
