"""standout: measure how few facts identify a person in sparse data, before the data is released.

These are the names for users; `standout.extend` has those for authors of attacks, defenses,
readers and engines. Import from no other module. `__init__.pyi` lists the names with their modules.
"""

from __future__ import annotations

import re
from importlib import import_module
from pkgutil import get_data
from typing import Any

__version__ = "0.1.0"

_LISTED = re.compile(r"^from (\S+) import (\w+) as (\w+)$", re.MULTILINE)
_HOME = {
    name: (module, origin)
    for module, origin, name in _LISTED.findall(
        (get_data(__name__, "__init__.pyi") or b"").decode()
    )
}
"""Public name → its module, and its name there."""

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `import standout` stays quick."""
    if name in _HOME:
        module, origin = _HOME[name]
        return getattr(import_module(module), origin)
    raise AttributeError(f"module 'standout' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
