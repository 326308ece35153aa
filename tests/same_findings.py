"""Compare findings of two engines: integers and texts are equal, floating-point numbers agree within 1e-9."""

import math


def differences(one, other, path=""):
    """List where two plain structures differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [f"{path}/{key}: only in one" for key in one.keys() ^ other.keys()]
        return keys + [
            d
            for key in one.keys() & other.keys()
            for d in differences(one[key], other[key], f"{path}/{key}")
        ]
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        if len(one) != len(other):
            return [f"{path}: {len(one)} and {len(other)} elements"]
        pairs = enumerate(zip(one, other, strict=True))
        return [d for k, (a, b) in pairs for d in differences(a, b, f"{path}/{k}")]
    if isinstance(one, float) and isinstance(other, float):
        same = math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12) or (
            math.isnan(one) and math.isnan(other)
        )
        return [] if same else [f"{path}: {one!r} and {other!r}"]
    return [] if type(one) is type(other) and one == other else [f"{path}: {one!r} and {other!r}"]


def assert_same_findings(one, other):
    """Check that two findings are equal, provenance aside."""
    a, b = one.to_dict(), other.to_dict()
    # the checksum covers the provenance as well
    found = differences(
        *({k: v for k, v in x.items() if k not in ("provenance", "sha256")} for x in (a, b))
    )
    assert not found, "\n".join(found[:20])
