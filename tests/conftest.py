"""Hypothesis profiles, the order of the files for several test processes, and less garbage collection.

"ci" is the same run every time; HYPOTHESIS_PROFILE=thorough looks much further.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["command_line", "parts", "engine_choice", "no_network", "servers"]
"""Fixtures of the command line and of servers, and the choice of engines; a second conftest.py would clash with this one."""

collect_ignore = ["offline"]
"""Holds a `sitecustomize`, and Python may have imported another one."""

_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "ci",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile(
    "thorough", max_examples=1500, deadline=None, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

COMPILES = "tests/attacks/test_conformance.py"
"""Calls nearly every scoring kernel, and so compiles them in a new checkout."""


@pytest.fixture(scope="session", autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keys that tests make lie in a temporary folder, not in the home of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("state")
        patch.setenv("XDG_STATE_HOME", str(folder))
        yield folder


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order the files for the processes of xdist, which then take them in turn (`--dist loadfile --no-loadscope-reorder`).

    One process compiles the scoring kernels while the others read data, which needs none of them:
    each kernel is compiled once instead of once per process. Then the files with most tests, so
    that short ones are left for the end.
    """
    if not hasattr(config, "workerinput"):
        return
    tests = Counter(_file(item) for item in items)

    def order(item: pytest.Item) -> tuple[bool, bool, int, str]:
        file = _file(item)
        return file != COMPILES, not file.startswith("tests/data/"), -tests[file], file

    items.sort(key=order)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def pytest_collection_finish() -> None:
    """Search fewer objects for garbage: a sixth of the time of a compilation went into the modules and 5,000 tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_sessionfinish() -> None:
    """Free everything again, as libraries check at the end."""
    gc.unfreeze()
