"""Forged evidence never holds, and genuine evidence does: the table of docs/gate.md."""

from __future__ import annotations

import pytest
from forgeries import Workshop, forgeries, genuine


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    return Workshop(tmp_path_factory.mktemp("forgery"))


def test_genuine_evidence_holds(at):
    for it in genuine(at):
        assert at.verify(it).verdict == "pass", it.name


def test_no_forgery_holds_although_every_hash_is_redone(at):
    said = {it.name: at.verify(it).verdict for it in forgeries(at)}
    assert len(said) >= 15
    assert [name for name, verdict in said.items() if verdict == "pass"] == []


def test_what_was_not_checked_is_stated(at):
    rows = {it.name: str(at.verify(it)) for it in genuine(at)}
    assert (
        "by its own date, which no signature that was checked protects"
        in rows["genuine, not signed"]
    )
    assert (
        "signature: there is one, and it was not checked" in rows["genuine, signed, no key given"]
    )
    assert "by its own date" not in rows["genuine, signed, key given"]
