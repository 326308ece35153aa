"""Results that are computed on first use and kept on the object they belong to."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


def once(
    owner: Any, name: str, key: Hashable, compute: Callable[[], T], most: int | None = None
) -> T:
    """Result of `compute` for this key, computed once as long as `owner` exists.

    Parameters
    ----------
    owner
        Object that the result depends on. It must not change. A copy made with
        `dataclasses.replace` has no results yet.
    name
        What is computed.
    key
        Everything else that the result depends on.
    compute
        Computes the result.
    most
        Number of results to keep under this name, the newest ones. Default: all.

    >>> from types import SimpleNamespace
    >>> owner = SimpleNamespace()
    >>> [once(owner, "double", 2, lambda: 4), once(owner, "double", 2, lambda: 5)]
    [4, 4]
    """
    kept: dict[Hashable, T] = owner.__dict__.setdefault(_attribute(name), {})
    if key in kept:
        return kept[key]
    made = compute()
    while most is not None and len(kept) >= most:
        kept.pop(next(iter(kept)), None)
    kept[key] = made
    return made


def forget(owner: Any, name: str) -> None:
    """Remove all results that `once` keeps on the object under this name."""
    del owner.__dict__[_attribute(name)]


def _attribute(name: str) -> str:
    return f"_once_{name}"
