"""Hypothesis profiles, and no stale kernels.

"ci" is the same run every time; HYPOTHESIS_PROFILE=thorough looks much further.
"""

from __future__ import annotations

import os

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
