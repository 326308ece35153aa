"""Small parts: blocks of few records, and budgets that cut a small release into many shards."""

from __future__ import annotations

import pytest

from standout.data import index, intact
from standout.data.chunked.memory import Budget


@pytest.fixture
def small_parts(monkeypatch) -> None:
    """Blocks of 64 to 128 records, about ten shards per thousand records, and as many buckets."""
    cut_small(monkeypatch)


def cut_small(monkeypatch) -> None:
    monkeypatch.setattr(index, "DEFAULT_BLOCK", 64)
    monkeypatch.setattr(index, "LARGEST_BLOCK", 128)
    monkeypatch.setattr(intact, "LARGEST_BLOCK", 128)
    monkeypatch.setattr(Budget, "shard", 6_000)
    monkeypatch.setattr(Budget, "bucket", 20_000)
