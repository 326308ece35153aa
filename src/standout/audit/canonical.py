"""One byte string per content, to hash and to sign."""

from __future__ import annotations

import json
from typing import Any


def canonical(content: Any) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8; NaN is refused.

    >>> canonical({"b": 1, "a": [0.5]})
    b'{"a":[0.5],"b":1}'
    """
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()
