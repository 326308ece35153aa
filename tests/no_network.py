"""`pytest --no-network`: no test, and no process that a test starts, connects to anything but Unix sockets."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pytest

OFFLINE = Path(__file__).resolve().parent / "offline"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-network", action="store_true", help="refuse connections, and fail if one was tried"
    )


def pytest_configure(config: pytest.Config) -> None:
    if not config.getoption("--no-network"):
        return
    sys.path.insert(0, str(OFFLINE))
    import sitecustomize

    if (
        sitecustomize.__file__ is None or Path(sitecustomize.__file__).parent != OFFLINE
    ):  # another one was imported first
        del sys.modules["sitecustomize"]
        import sitecustomize
    if sitecustomize.LOG not in os.environ:
        handle, os.environ[sitecustomize.LOG] = tempfile.mkstemp(prefix="network-")
        os.close(handle)
        sitecustomize.block()
    # for the processes that tests start
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(OFFLINE), os.environ.get("PYTHONPATH")])
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.getoption("--no-network") or hasattr(session.config, "workerinput"):
        return
    log = Path(os.environ["STANDOUT_NETWORK_LOG"])
    tried = log.read_text()
    log.unlink()
    if tried:
        sys.stderr.write(f"\nconnections were tried:\n{tried}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
