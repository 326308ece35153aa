"""Hypothesis profiles, the order of the files for several test processes, and less garbage collection.

"quick" and "ci" are the same run every time; HYPOTHESIS_PROFILE=thorough looks much further.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["command_line", "parts", "engine_choice", "no_network", "servers", "suite"]
"""Fixtures of the command line and of servers, and the choice of engines; a second conftest.py would clash with this one."""

collect_ignore = ["offline"]
"""Holds a `sitecustomize`, and Python may have imported another one."""

_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

for _name, _examples in (("quick", 20), ("ci", 60)):
    settings.register_profile(
        _name,
        max_examples=_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=_SLOW_IS_FINE,
    )
settings.register_profile(
    "thorough", max_examples=1500, deadline=None, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))

COMPILES = "tests/attacks/test_conformance.py"
"""Calls nearly every scoring kernel, and so compiles them where they are new."""


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
    each kernel is compiled once instead of once per process. Then the files that take longest, so
    that short ones are left for the end.
    """
    if not hasattr(config, "workerinput"):
        return
    from suite import SECONDS  # a plugin: must not be imported before pytest does

    seconds = json.loads(SECONDS.read_text())

    def order(item: pytest.Item) -> tuple[bool, bool, float, str]:
        file = _file(item)
        return file != COMPILES, not file.startswith("tests/data/"), -seconds.get(file, 0), file

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
