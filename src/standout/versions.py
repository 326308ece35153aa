"""Versions of installed packages."""

from __future__ import annotations

import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


def version_of(package: str) -> str:
    """Version of an installed package, "unknown" if it has no metadata.

    >>> version_of("no-such-package")
    'unknown'
    """
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


@lru_cache
def versions() -> dict[str, str]:
    """Versions of what computes the numbers, and the platform."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: version_of(name) for name in ("standout", "numpy", "numba", "scipy")},
    }
