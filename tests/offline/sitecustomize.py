"""Python without a network: on the path of a process, it refuses and records every connection but those to Unix sockets."""

from __future__ import annotations

import os
import socket
from typing import Any

LOG = "STANDOUT_NETWORK_LOG"
"""Variable that names the file of attempts."""


def block() -> None:
    """Replace what connects in this process."""
    for name in ("connect", "connect_ex", "sendto"):
        _replace(socket.socket, name, lambda args: args[0].family != socket.AF_UNIX)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        _replace(socket, name, lambda args: True)


def _replace(owner: Any, name: str, is_network: Any) -> None:
    original = getattr(owner, name)

    def refuse(*args: Any, **more: Any) -> Any:
        if not is_network(args):
            return original(*args, **more)
        if os.environ.get(LOG):
            with open(os.environ[LOG], "a") as log:  # noqa: PTH123 (runs at the start of every process)
                log.write(f"{name} in {os.environ.get('PYTEST_CURRENT_TEST', 'a process')}\n")
        raise PermissionError(f"{name}: this process has no network")

    setattr(owner, name, refuse)


if os.environ.get(LOG):
    block()
