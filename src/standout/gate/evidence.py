"""Evidence for a verdict: what was checked, with hashes and counts that a second run must reproduce, and a signature."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from standout.audit.canonical import canonical
from standout.audit.findings import strict_json, write_whole
from standout.audit.structure import misfit
from standout.data.whole_file import check_regular
from standout.errors import InputError, ParameterError, StandoutError
from standout.gate.policy import Policy
from standout.gate.verdict import PARTS, GateVerdict

SCHEMA = "standout-evidence"
VERSION = 2
"""Version 1 did not state the counts at each look, so that its verdict cannot be derived from them."""
MOST_BYTES = 2**26


def evidence_of(verdict: GateVerdict) -> dict[str, Any]:
    """The evidence as plain data: the verdict with all its counts, and hashes of policy and counts."""
    content = verdict.to_dict()
    return {
        "schema": SCHEMA,
        "schema_version": VERSION,
        "findings_sha256": _hash({name: content[name] for name in ("table", "tests", "cells")}),
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
    """Read evidence and check its structure and its own hashes; nothing is run."""
    try:
        with check_regular(path).open("rb") as file:
            text = file.read(MOST_BYTES + 1)
        if len(text) > MOST_BYTES:
            raise InputError(f"{str(path)!r} is larger than {MOST_BYTES:,} bytes: is it evidence?")
        content = strict_json(text.decode("utf-8"))
    except OSError as error:
        raise InputError(f"cannot read evidence {str(path)!r}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{str(path)!r} is not evidence: not JSON") from None
    if (
        not isinstance(content, dict)
        or content.get("schema") != SCHEMA
        or content.get("schema_version") != VERSION
    ):
        raise InputError(
            f"{str(path)!r} is not evidence of version {VERSION}; make it with `standout check --evidence`"
        )
    try:
        if (place := misfit(content, schema(), {}, "evidence")) is not None:
            raise InputError(f"it does not fit the format at {place[:100]}")
        _check_created(content)
    except StandoutError as error:
        raise InputError(
            f"{str(path)!r} is damaged: {str(error)[:300]}; make it again with `standout check`"
        ) from None
    try:
        Policy.from_dict(content["policy"])
    except StandoutError:  # not quoted: nobody knows what the unknown text in it is
        raise InputError(
            f"{str(path)!r} is damaged: its policy is not one; make it again with `standout check`"
        ) from None
    return content


def schema() -> dict[str, Any]:
    """JSON Schema of the evidence."""
    loaded: dict[str, Any] = json.loads(
        Path(__file__).with_name("evidence.schema.json").read_text(encoding="utf-8")
    )
    return loaded


def intact(content: Mapping[str, Any]) -> list[str]:
    """What the evidence contradicts in itself: hashes that do not fit. Empty if it is consistent."""
    wrong = []
    if (
        _hash({name: content[name] for name in ("table", "tests", "cells")})
        != content["findings_sha256"]
    ):
        wrong.append("the counts were changed after the check (findings_sha256)")
    if Policy.from_dict(content["policy"]).sha256 != content["provenance"]["policy_sha256"]:
        wrong.append("the policy was changed after the check (policy_sha256)")
    return wrong


def age_in_days(content: Mapping[str, Any], now: datetime | None = None) -> float:
    """Days since the evidence was made; negative if it claims to come from the future."""
    made = datetime.fromisoformat(content["provenance"]["created"])
    return ((now or datetime.now(UTC)) - made).total_seconds() / 86_400


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
    crypto = _cryptography()
    public = _load(key, crypto.load_pem_public_key, crypto.Ed25519PublicKey, "public")
    try:
        public.verify(base64.b64decode(signature["value"], validate=True), _signed(content))
    except (crypto.InvalidSignature, ValueError, KeyError, TypeError):
        return False
    return True


def check_private_key(key: str | Path) -> Any:
    """The private key of a file; refused before a long check begins if it cannot be used."""
    crypto = _cryptography()
    return _load(
        key, lambda pem: crypto.load_pem_private_key(pem, None), crypto.Ed25519PrivateKey, "private"
    )


def _signature(content: Mapping[str, Any], key: str | Path) -> dict[str, str]:
    crypto = _cryptography()
    private = check_private_key(key)
    public = private.public_key().public_bytes(crypto.Encoding.Raw, crypto.PublicFormat.Raw)
    return {
        "algorithm": "Ed25519",
        "public_key": base64.b64encode(public).decode(),
        "value": base64.b64encode(private.sign(_signed(content))).decode(),
    }


def _signed(content: Mapping[str, Any]) -> bytes:
    """The bytes that are signed: everything but the signature."""
    return canonical({name: x for name, x in content.items() if name != "signature"})


def _load(path: str | Path, read: Any, kind: Any, name: str) -> Any:
    """A key from a PEM file. The content of the file is in no message."""
    try:
        key = read(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"cannot read the {name} key {str(path)!r}: {error.strerror}") from None
    except (ValueError, TypeError, _cryptography().UnsupportedAlgorithm):
        raise InputError(f"{str(path)!r} is not a {name} key in PEM without a password") from None
    if not isinstance(key, kind):
        raise InputError(
            f"{str(path)!r} is not an Ed25519 {name} key; see docs/gate.md for how to make one"
        )
    return key


def _cryptography() -> Any:
    """The parts of `cryptography` that are used, imported when they are needed."""
    try:
        from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (
            Ed25519PrivateKey,
            Ed25519PublicKey,
        )
    except ImportError:
        raise ParameterError(
            "signatures need the package cryptography: pip install 'standout[sign]'"
        ) from None
    from types import SimpleNamespace

    names = ("Encoding", "PublicFormat", "load_pem_private_key", "load_pem_public_key")
    return SimpleNamespace(
        InvalidSignature=InvalidSignature,
        UnsupportedAlgorithm=UnsupportedAlgorithm,
        Ed25519PrivateKey=Ed25519PrivateKey,
        Ed25519PublicKey=Ed25519PublicKey,
        **{name: getattr(serialization, name) for name in names},
    )


def _hash(content: Any) -> str:
    return sha256(canonical(content)).hexdigest()


def _check_created(content: Mapping[str, Any]) -> None:
    try:
        if datetime.fromisoformat(content["provenance"]["created"]).tzinfo is None:
            raise ValueError
    except ValueError:
        raise InputError("'created' is not a time with a time zone") from None
