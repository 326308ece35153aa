"""Servers that tests start on this machine, each in its own temporary folder: PostgreSQL, an object store."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest

PASSWORD = "s3kretWord"
SECRET_KEY = "s3kretKey"


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _postgres_programs() -> Path | None:
    """Folder of the server's programs: Debian does not put it on the PATH."""
    versions = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3])
    )
    found = shutil.which("initdb")
    return (
        versions[-1].parent if versions else Path(os.path.realpath(found)).parent if found else None
    )


class Postgres:
    """A server with one user, who has a password."""

    def __init__(self, folder: Path, programs: Path) -> None:
        self._folder, self._programs, self.port = folder, programs, free_port()
        # the server refuses to run as root
        self._who = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        (folder / "password").write_text(PASSWORD)
        self._run(
            "initdb",
            "-D",
            "db",
            "-U",
            "auditor",
            "--pwfile=password",
            "-A",
            "scram-sha-256",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        )
        options = f"-p {self.port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", "db", "-l", "log", "-w", "-o", options, "start")
        self.url = self.address("auditor", PASSWORD)

    def address(self, user: str, password: str, port: int | None = None) -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{port or self.port}/postgres"

    def execute(self, *statements: str) -> None:
        """Run statements as the owner of the database."""
        from adbc_driver_postgresql.dbapi import connect

        with closing(connect(self.url)) as connection, closing(connection.cursor()) as cursor:
            for statement in statements:
                cursor.execute(statement)
            connection.commit()

    def stop(self) -> None:
        self._run("pg_ctl", "-D", "db", "-m", "immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            cwd=self._folder,
            check=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._who,
        )


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server on the loopback address."""
    programs = _postgres_programs()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed: apt-get install postgresql")
    pytest.importorskip("adbc_driver_postgresql", reason="adbc-driver-postgresql is not installed")
    # not pytest's folder, which another user may not enter; and a socket needs a short path
    with tempfile.TemporaryDirectory(prefix="pg-") as made:
        server = Postgres(Path(made), programs)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def object_store():
    """An S3-compatible server on the loopback address; gives its URL."""
    pytest.importorskip("moto", reason="moto is not installed")
    pytest.importorskip("flask_cors", reason="flask-cors is not installed")
    port = free_port()
    code = f"from moto.server import main; main(['-H', '127.0.0.1', '-p', '{port}'])"
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        for _ in range(150):
            with suppress(OSError), urllib.request.urlopen(f"{url}/moto-api/data.json", timeout=5):
                break
            assert server.poll() is None, "the object store did not start"
            time.sleep(0.2)
        yield url
    finally:
        server.terminate()
        server.wait(10)
