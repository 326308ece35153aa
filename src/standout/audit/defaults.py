"""Defaults shared by Python and the command line. Imports nothing, so that the command line starts quickly."""

from __future__ import annotations

ATTACKS = ("scoreboard", "scoreboard-rh", "likelihood")
"""Default attacks of an audit."""

TARGETS = 1000
"""Default number of records attacked for each kind of knowledge."""

SWEEPS = ("default", "full")

MOST_TO_DESCRIBE = 20_000_000
"""Entries up to which an audit also describes the data; `standout describe` does it at any size."""
