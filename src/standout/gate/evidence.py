"""Evidence for a verdict: what was checked, with hashes and counts that a second run must reproduce, and a signature."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

from standout.audit.canonical import canonical
from standout.audit.findings import strict_json, write_whole
from standout.audit.judge import AttackUsed
from standout.data.whole_file import check_regular
from standout.errors import InputError, ParameterError, StandoutError
from standout.gate.policy import Policy
from standout.gate.verdict import PARTS, GateVerdict
from standout.results import Amount, Count, from_plain

SCHEMA = "standout-evidence"
VERSION = 2
"""Version 1 did not state the counts at each look, so that its verdict cannot be derived from them."""
COMMAND = "standout check"
MOST_BYTES = 2**26
TOLERANCE = 1e-9
"""Relative difference of two p-values or bounds that another machine may cause."""


class Counts(TypedDict):
    """Counts of a cell after a batch; None for a group that is too small to state them."""

    n_targets: Count
    credit: Amount | None
    found: Count | None
    matched_right: Count | None
    matched_wrong: Count | None
    false_match: Count | None
    sure: Count | None


class WhoKnows(TypedDict):
    """The adversary of a cell, as far as it is read."""

    words: str


class Cell(Counts):
    """Counts of an adversary and an attack."""

    adversary: WhoKnows
    attack: AttackUsed
    n_eligible: Count
    looks: list[Counts]


class VerdictRow(TypedDict):
    """A row of the table, as far as it is read."""

    limit: str
    verdict: Literal["pass", "fail", "unclear"]
    why: str


class Versions(TypedDict):
    """Versions of what ran."""

    standout: str


class Made(TypedDict):
    """What the verdict was made of, as far as it is read."""

    created: str
    data_sha256: str
    policy_sha256: str
    seed: int
    targets: int | str
    versions: Versions
    source_sha256: NotRequired[str]
    whole_sha256: NotRequired[str]
    whole_covers: NotRequired[str]
    columns: NotRequired[list[dict[str, Any]]]


class EvidenceFile(TypedDict):
    """The file, as far as it is read."""

    schema: str
    schema_version: int
    findings_sha256: str
    verdict: Literal["pass", "fail", "unclear"]
    table: list[VerdictRow]
    tests: list[dict[str, Any]]
    cells: list[Cell]
    policy: dict[str, Any]
    provenance: Made
    signature: NotRequired[dict[str, str]]


def evidence_of(verdict: GateVerdict) -> dict[str, Any]:
    """The evidence as plain data: the verdict with all its counts, and hashes of policy and counts."""
    content = verdict.to_dict()
    return {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "findings_sha256": _hash_of_counts(content),
        **{name: content[name] for name in PARTS},
    }


def save_evidence(verdict: GateVerdict, path: str | Path, key: str | Path | None = None) -> Path:
    """Write the evidence as JSON, completely or not at all.

    Parameters
    ----------
    verdict
        The verdict.
    path
        File to write.
    key
        File with an Ed25519 private key in PEM, without a password: the evidence is signed. None =
        not signed.
    """
    return write_whole(path, evidence_text(verdict, key))


def evidence_text(verdict: GateVerdict, key: str | Path | None = None) -> str:
    """The evidence as JSON text, signed if a private key is given."""
    content = evidence_of(verdict)
    if key is not None:
        content["signature"] = _signature(content, key)
    return json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def load_evidence(path: str | Path) -> dict[str, Any]:
    """Read evidence and check its structure; nothing is run."""
    name = repr(str(path))
    try:
        with check_regular(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise InputError(f"{name} is larger than {MOST_BYTES:,} bytes: is it evidence?")
        content = strict_json(text.decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read evidence {name}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not evidence: not JSON") from None
    kind = (
        (content.get("schema"), content.get("schema_version")) if isinstance(content, dict) else ()
    )
    if kind != (SCHEMA, VERSION):
        raise InputError(
            f"{name} is not evidence of version {VERSION}; make it with `standout check --evidence`"
        )
    from_plain(EvidenceFile, content, name, COMMAND, closed=False)
    made: dict[str, Any] = content
    if wrong := _damage(made):
        raise InputError(f"{name} is damaged: {wrong}; make it again with `{COMMAND}`")
    return made


def _damage(content: Mapping[str, Any]) -> str:
    """What is wrong with evidence whose values are of the right types."""
    try:
        zone = datetime.fromisoformat(content["provenance"]["created"]).tzinfo
    except ValueError:
        zone = None
    if zone is None:
        return "'created' is not a time with a time zone"
    try:
        Policy.from_dict(content["policy"])
    except StandoutError:  # not quoted: nobody knows what the unknown text in it is
        return "its policy is not one"
    return ""


def contradictions(content: Mapping[str, Any]) -> list[str]:
    """What the evidence contradicts in itself: hashes that do not fit. Empty if it is consistent."""
    wrong = []
    if _hash_of_counts(content) != content["findings_sha256"]:
        wrong.append("the counts were changed after the check (findings_sha256)")
    if Policy.from_dict(content["policy"]).sha256 != content["provenance"]["policy_sha256"]:
        wrong.append("the policy was changed after the check (policy_sha256)")
    return wrong


def age_in_days(content: Mapping[str, Any], now: datetime | None = None) -> float:
    """Days since the evidence was made; negative if it claims to come from the future."""
    made = datetime.fromisoformat(content["provenance"]["created"])
    return ((now or datetime.now(UTC)) - made).total_seconds() / 86_400


def alike(a: Any, b: Any) -> bool:
    """Whether two plain values are equal, numbers with a fraction up to rounding errors.

    >>> alike({"a": [1, 0.1 + 0.2]}, {"a": [1, 0.3]}), alike([1], [True]), alike(1, 2), alike(0.0, 1e-12)
    (True, False, False, False)
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE)
    return type(a) is type(b) and bool(a == b)


def check_signature(content: Mapping[str, Any], key: str | Path) -> bool:
    """Whether the evidence was signed by the owner of this public key, and not changed since.

    Parameters
    ----------
    content
        The evidence.
    key
        File with an Ed25519 public key in PEM.
    """
    signature = content.get("signature")
    if signature is None:
        return False
    exceptions, serialization, ed25519 = _cryptography()
    public = _load(key, serialization.load_pem_public_key, ed25519.Ed25519PublicKey, "public")
    try:
        public.verify(base64.b64decode(signature["value"], validate=True), _signed(content))
    except (exceptions.InvalidSignature, ValueError, KeyError, TypeError):
        return False
    return True


def check_private_key(key: str | Path) -> Any:
    """The private key of a file; refused before a long check begins if it cannot be used."""
    _, serialization, ed25519 = _cryptography()
    read = partial(serialization.load_pem_private_key, password=None)
    return _load(key, read, ed25519.Ed25519PrivateKey, "private")


def _signature(content: Mapping[str, Any], key: str | Path) -> dict[str, str]:
    private = check_private_key(key)
    public, value = private.public_key().public_bytes_raw(), private.sign(_signed(content))
    return {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(public).decode(),
        "value": base64.b64encode(value).decode(),
    }


def _signed(content: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: everything but the signature."""
    return canonical({name: x for name, x in content.items() if name != "signature"})


def _load(path: str | Path, read: Callable[[bytes], Any], kind: type, name: str) -> Any:
    """A key from a PEM file. The content of the file is in no message."""
    try:
        key = read(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the {name} key {str(path)!r}: {error.strerror}") from None
    except (ValueError, TypeError, _cryptography()[0].UnsupportedAlgorithm):
        raise InputError(f"{str(path)!r} is not a {name} key in PEM without a password") from None
    if not isinstance(key, kind):
        raise InputError(
            f"{str(path)!r} is not an Ed25519 {name} key; see docs/gate.md for how to make one"
        )
    return key


def _cryptography() -> tuple[Any, Any, Any]:
    """The modules of `cryptography` that are used, imported when they are needed."""
    try:
        from cryptography import exceptions
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ParameterError(
            "signatures need the package cryptography: pip install 'standout[sign]'"
        ) from None
    return exceptions, serialization, ed25519


def _hash_of_counts(content: Mapping[str, Any]) -> str:
    counts = {name: content[name] for name in ("table", "tests", "cells")}
    return sha256(canonical(counts)).hexdigest()
