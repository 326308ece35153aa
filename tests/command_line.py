"""The command line in this process, and a small file of ratings."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from standout.cli import app


@pytest.fixture
def run(monkeypatch, capsys):
    """Call `standout` with arguments; gives exit code, standard output and standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["standout", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            app.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def ratings(tmp_path):
    """80 people, 50 items, 12 ratings each; labels that no other text holds."""
    rng = np.random.default_rng(0)
    lines = ["userId,movieId,rating,timestamp"]
    for user in range(80):
        for movie in rng.choice(50, 12, replace=False):
            lines.append(
                f"U{user:04d}x,M{movie:03d}y,{rng.integers(1, 6)},{rng.integers(10**9, 10**9 + 10**8)}"
            )
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
