"""Purposes of random numbers: one number each, in one place."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from standout.data import purposes
from standout.theory.population import DRAWS

NUMBERS = {name: x for name, x in vars(purposes).items() if name.startswith("PURPOSE_")}

SHARED = {
    # linking seeds NumPy generators, the attacks hash with SplitMix64: different streams
    41: {"PURPOSE_LOST", "PURPOSE_LINK_CANARIES"},
    43: {"PURPOSE_MOVED", "PURPOSE_RESAMPLE"},
    44: {"PURPOSE_REPLACED", "PURPOSE_DRAWS"},
    # theorems are tested on data that no defense changed
    51: {"PURPOSE_NAME", "PURPOSE_RUN"},
    52: {"PURPOSE_COPY", "PURPOSE_BOOT"},
    # the gate measures no utility: no run uses both. Another number would change stored results
    71: {"PURPOSE_HELD_OUT", "PURPOSE_TIES"},
    72: {"PURPOSE_TESTED", "PURPOSE_PLANTS"},
}


def test_every_purpose_has_a_number_of_its_own_but_for_those_listed():
    again = {x for x, n in Counter(NUMBERS.values()).items() if n > 1}
    assert len(NUMBERS) > 30
    assert {x: {k for k, v in NUMBERS.items() if v == x} for x in again} == SHARED


def test_subsets_of_a_population_meet_no_other_purpose_but_mentions_of_a_paper():
    """Subsets use several numbers. Mentions are drawn for the recipes of one paper, which estimate no population."""
    subsets = range(purposes.PURPOSE_SUBSET, purposes.PURPOSE_SUBSET + DRAWS + 1)
    met = {k for k, x in NUMBERS.items() if x in subsets} - {"PURPOSE_SUBSET"}
    assert met == {"PURPOSE_MENTIONS"}


def test_purposes_are_defined_in_one_place():
    package = Path(purposes.__file__).parents[1]
    found = [
        path.name
        for path in package.rglob("*.py")
        if re.search(r"^PURPOSE\w*(, PURPOSE\w*)* = ", path.read_text(encoding="utf-8"), re.M)
    ]
    assert found == ["purposes.py"]
