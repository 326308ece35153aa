"""A few of the releases of `make gate-dressing`: none that is dressed passes, and safe ones do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "scripts"))

from gate_dressing import checked, dressed, safe

DRESSED = (
    "labels rotated by one",
    "new pseudonyms for 98 % of the people",
    "19 copies, one entry changed in each",
)
SAFE = ("groups of 100 equal records", "groups of 100, rows shuffled, as a release")


def test_there_are_36_dressed_and_12_safe_releases():
    assert len({case.name for case in dressed()}) == 36
    assert len({case.name for case in safe()}) == 12


@pytest.mark.parametrize("name", DRESSED)
def test_a_dressed_release_does_not_pass(name, tmp_path):
    case = next(case for case in dressed() if case.name == name)
    assert checked(case, tmp_path)[0] != "pass"


@pytest.mark.parametrize("name", SAFE)
def test_a_safe_release_passes(name, tmp_path):
    case = next(case for case in safe() if case.name == name)
    assert checked(case, tmp_path)[0] == "pass"
