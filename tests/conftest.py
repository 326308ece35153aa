"""Hypothesis profiles, and no stale kernels.

"ci" is the same run every time; HYPOTHESIS_PROFILE=thorough looks much further.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path

from hypothesis import HealthCheck, settings

pytest_plugins = ["command_line", "parts", "engine_choice", "no_network", "servers"]
"""Fixtures of the command line and of servers, and the choice of engines; a second conftest.py would clash with this one."""

collect_ignore = ["offline"]
"""Holds a `sitecustomize`, and Python may have imported another one."""

_SLOW_IS_FINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "ci", max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "thorough", max_examples=1500, deadline=None, database=None, suppress_health_check=_SLOW_IS_FINE
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def drop_stale_kernels(package: Path) -> None:
    """Delete the package's compiled kernels if one of the sources that go into them has changed.

    Numba compares a kernel's cache with the file that the kernel stands in, and no other: change a function that it
    calls, or a constant that it takes from a neighbor, and the old machine code still runs, and passes the tests.
    """
    stamp = package / "__pycache__" / "kernels.sha256"
    texts = {p.name: p.read_text(encoding="utf-8") for p in sorted(package.glob("*.py"))}
    kernels = {name for name, text in texts.items() if "numba" in text or "jit" in text}
    neighbor = re.compile(rf"from standout\.(?:\w+\.)*{package.name}\.(\w+) import")
    for name in sorted(kernels):
        kernels |= {f"{module}.py" for module in neighbor.findall(texts[name])}
    digest = sha256("".join(texts[name] for name in sorted(kernels & set(texts))).encode()).hexdigest()
    if not kernels or (stamp.exists() and stamp.read_text() == digest):
        return
    for compiled in package.glob("__pycache__/*.nb[ic]"):
        compiled.unlink(missing_ok=True)
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest)


# with several test processes, the first one does this before it starts the others
_FIRST_PROCESS = "PYTEST_XDIST_WORKER" not in os.environ
for _init in Path(__file__).parent.parent.glob("src/standout/**/__init__.py"):
    if _FIRST_PROCESS:
        drop_stale_kernels(_init.parent)
