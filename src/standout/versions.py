"""Versions of installed packages."""

from __future__ import annotations

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
