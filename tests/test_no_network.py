"""The option that runs tests without a network: it has to refuse, to record, and to reach the processes that tests start."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = """import socket
with socket.socket() as s:
    try:
        s.connect(("127.0.0.1", 9))
    except OSError:
        pass
"""
INSIDE = """import subprocess, sys
subprocess.run([sys.executable, "-c", "import socket; socket.getaddrinfo('localhost', 80)"], capture_output=True)
"""
TRIES = {"here": HERE, "in a process": INSIDE}


def offline(folder, body):
    file = folder / "test_it.py"
    file.write_text("def test_it():\n" + "".join(f"    {line}\n" for line in body.splitlines()))
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if k != "STANDOUT_NETWORK_LOG"}
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no_network",
            "-p",
            "no:cacheprovider",
            "--no-network",
            str(file),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**environment, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("place", TRIES)
def test_a_connection_fails_the_run_even_if_the_error_is_swallowed(tmp_path, place):
    done = offline(tmp_path, TRIES[place])
    assert done.returncode == 1, done.stdout
    assert "connections were tried" in done.stderr


def test_a_unix_socket_is_no_network(tmp_path):
    assert (
        offline(
            tmp_path, "import socket\na, b = socket.socketpair()\na.close()\nb.close()"
        ).returncode
        == 0
    )


def test_a_command_connects_to_nothing(tmp_path, ratings):
    """The whole command in its own process, with connections refused and recorded."""
    log = tmp_path / "network"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent / "offline"), *sys.path]),
        "STANDOUT_NETWORK_LOG": str(log),
    }
    code = "from standout.cli.start import main; main()"
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "audit",
            str(ratings),
            "--out",
            str(tmp_path / "out"),
            "--targets",
            "5",
            "--knows",
            "2",
            "--attacks",
            "scoreboard-rh",
        ],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert not log.exists()
