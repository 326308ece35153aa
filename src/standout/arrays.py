"""Types of arrays, for annotations."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
"""An array of any type; docstrings say which."""
