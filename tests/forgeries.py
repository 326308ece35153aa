"""Ways to forge evidence, each as somebody would do it who has the source code: every hash is redone."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from known_rate import with_rate

import standout as so
from standout.audit.canonical import canonical
from standout.gate.evidence import _signature, evidence_of
from standout.gate.run import GateRun
from standout.gate.verify import Verification, replay

Evidence = dict[str, Any]

POLICY: dict[str, Any] = {
    "limit": [
        {"name": "acquaintance", "max": 0.1, "adversaries": ["weak", "strong"]},
        {"name": "groups", "max": 0.3, "adversaries": ["strong"], "by": "length"},
    ],
    "adversary": {"weak": {"knows": 1}, "strong": {"knows": 3}},
    "attacks": ["scoreboard-rh", "likelihood"],
    "required_attacks": ["likelihood"],
    "max_age_days": 30,
    "targets": 250,
    "unmeasured_columns": {"comment": "read by hand"},
}
COUNTS = ("credit", "found", "matched_right", "matched_wrong", "sure")


class Forgery(NamedTuple):
    """A forgery, and what the person who verifies it has at hand."""

    name: str
    evidence: Evidence
    data: so.Dataset
    key: bool = False
    """Whether the public key of the honest signer is given to `verify`."""


class Workshop:
    """Data that keeps the policy, data that does not, honest evidence about both, and two keys."""

    def __init__(self, folder: Path, n: int = 1000) -> None:
        self.folder = folder
        self.safe, self.unsafe, self.near = (
            with_rate(0.03, n),
            with_rate(0.5, n),
            with_rate(0.105, n),
        )
        self.ann, self.bob = _key(folder, "ann"), _key(folder, "bob")
        self.honest = self.made(self.safe)
        self.filed = self.file("harmless")
        self.of_file = self.made(self.filed)
        self.bad = self.made(self.unsafe)

    def made(self, data: so.Dataset, policy: dict[str, Any] = POLICY, **how: Any) -> Evidence:
        """Honest evidence of a check."""
        made: Evidence = json.loads(
            json.dumps(evidence_of(so.check(data, policy, progress=False, **how)))
        )
        return made

    def file(self, comment: str) -> so.Dataset:
        """The safe data from a file with a column that nobody measures."""
        rows = self.safe.record_item.reshape(self.safe.n_records, -1)
        lines = [f"u{r},i{i},{comment} {r}" for r, row in enumerate(rows) for i in row]
        path = self.folder / f"{comment}.csv"
        path.write_text("user,item,comment\n" + "\n".join(lines) + "\n")
        return so.Dataset.read(path, record="user", item="item")

    def verify(self, it: Forgery) -> Verification:
        """What `verify` says, with the policy at hand."""
        path = self.folder / "evidence.json"
        path.write_text(json.dumps(it.evidence))
        key = self.folder / "ann.pub" if it.key else None
        return so.verify(path, it.data, policy=POLICY, key=key, progress=False)

    def consistent(self, content: Evidence) -> None:
        """Tests, table and verdict that follow from the (forged) cells."""
        made = content["provenance"]
        run = GateRun.of(
            self.unsafe,
            so.Policy.from_dict(content["policy"]),
            targets=made["targets"],
            seed=made["seed"],
        )
        run.measure(lambda what, done, total: None, replay(content["cells"], set(), []))
        table, tests = run.decide()
        content |= json.loads(json.dumps({"table": table, "tests": tests, "verdict": "pass"}))


def rehash(content: Evidence) -> Evidence:
    """The evidence with hashes that fit its content."""
    parts = {name: content[name] for name in ("table", "tests", "cells")}
    content["findings_sha256"] = sha256(canonical(parts)).hexdigest()
    content["provenance"]["policy_sha256"] = so.Policy.from_dict(content["policy"]).sha256
    return content


def genuine(at: Workshop) -> Iterator[Forgery]:
    """Honest evidence, which must hold."""
    yield Forgery("genuine, not signed", at.honest, at.safe)
    yield Forgery("genuine, signed, key given", _signed(at.honest, at.ann), at.safe, key=True)
    yield Forgery("genuine, signed, no key given", _signed(at.honest, at.ann), at.safe)
    yield Forgery("genuine, about a file with a column that nobody measures", at.of_file, at.filed)
    yield Forgery("genuine, with a random seed", at.made(at.safe, seed=11), at.safe)


def forgeries(at: Workshop) -> Iterator[Forgery]:
    """All forgeries. Without another word, they are about data that does not keep the policy."""

    def forged(
        name: str, edit: Callable[[Evidence], Any], base: Evidence = at.bad, **how: Any
    ) -> Forgery:
        content = copy.deepcopy(base)
        edit(content)
        return Forgery(name, rehash(content), how.pop("data", at.unsafe), **how)

    yield forged("verdict set to pass", lambda c: c.update(verdict="pass"))
    yield forged("verdict and rows of the table set to pass", lambda c: _passed(c, ["table"]))
    yield forged("verdict, rows and tests set to pass", lambda c: _passed(c, ["table", "tests"]))
    yield forged("rates of all rows and tests set to zero", _zero_rows)
    yield forged(
        "table and tests of other data",
        lambda c: c.update({k: at.honest[k] for k in ("table", "tests", "verdict")}),
    )
    yield forged(
        "counts set to zero, all rows derived from them",
        lambda c: (_moved(c, at), _zero_cells(c), at.consistent(c)),
        base=at.honest,
    )
    yield forged(
        "counts of one attack halved, rows set to pass",
        lambda c: (_halve(c), _passed(c, ["table", "tests"])),
    )
    yield forged("no cells", lambda c: (c["cells"].clear(), _passed(c, ["table", "tests"])))
    yield forged(
        "the strong adversary left out",
        _without(lambda cell: cell["adversary"]["knows"] == 3),
        base=at.honest,
        data=at.safe,
    )
    yield forged(
        "one attack left out", _without(lambda cell: cell["attack"]["name"] == "likelihood")
    )
    yield forged("cells of a weaker adversary", _weaker)
    yield forged("cells of a weaker adversary under the name of the strong one", _renamed)
    yield forged("an honest cell and a forged one of the same adversary", _twice)
    yield forged(
        "the last look left out",
        _fewer_looks,
        base=at.made(at.near, {**POLICY, "targets": 250}),
        data=at.near,
    )
    yield Forgery("fewer targets than the policy asks for", at.made(at.safe, targets=130), at.safe)
    yield Forgery("a seed for which data near the limit passes", _lucky(at), at.near)
    yield Forgery("evidence about other data", at.honest, at.unsafe)
    yield forged(
        "evidence about other data, hash of the data replaced",
        lambda c: _moved(c, at),
        base=at.honest,
    )
    yield forged(
        "evidence about other data, made by another version",
        lambda c: (_moved(c, at), _version(c)),
        base=at.honest,
    )
    yield forged("old evidence", lambda c: _dated(c, -90), base=at.honest, data=at.safe)
    yield forged(
        "refreshed date, signed",
        lambda c: _dated(c, 0),
        base=_signed(_old(at), at.ann),
        data=at.safe,
        key=True,
    )
    yield forged(
        "signed evidence with an edit",
        lambda c: _passed(c, ["table", "tests"]),
        base=_signed(at.bad, at.ann),
        key=True,
    )
    yield Forgery("signed with another key", _signed(at.honest, at.bob), at.safe, key=True)
    yield Forgery("signature removed", at.honest, at.safe, key=True)
    yield forged(
        "signature of other evidence",
        lambda c: c.update(signature=_signed(at.honest, at.ann)["signature"]),
        key=True,
    )
    yield Forgery("another policy", at.made(at.unsafe, _weaker_policy()), at.unsafe)
    yield Forgery("another policy, hash of the asked one", _pretended(at), at.unsafe)
    yield Forgery("a column that nobody measures was replaced", at.of_file, at.file("secret"))
    yield forged(
        "the same, hash of the file removed", _no_whole, base=at.of_file, data=at.file("secret")
    )
    yield forged("self-test left out", _without_row("self-test"), base=at.honest, data=at.safe)
    yield forged(
        "a limit left out of table and tests", _without_row("groups"), base=at.honest, data=at.safe
    )


def _key(folder: Path, name: str) -> Path:
    key = Ed25519PrivateKey.generate()
    kinds = (
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{name}.key").write_bytes(key.private_bytes(*kinds))
    public = key.public_key().public_bytes(
        kinds[0], serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / f"{name}.pub").write_bytes(public)
    return folder / f"{name}.key"


def _signed(content: Evidence, key: Path) -> Evidence:
    made = copy.deepcopy(content)
    return {**made, "signature": _signature(made, key)}


def _passed(content: Evidence, parts: list[str]) -> None:
    content["verdict"] = "pass"
    for part in parts:
        for row in content[part]:
            row["verdict"] = "pass"


def _zero_rows(content: Evidence) -> None:
    _passed(content, ["table", "tests"])
    for row in [*content["table"], *content["tests"]]:
        if row.get("rate") is not None:
            row |= {"rate": 0.0, "lower": 0.0, "upper": 0.024}
            row |= {"why": "at most 2.4%, below the limit"} if "why" in row else {}


def _scaled(counts: Evidence, by: float) -> None:
    for name in COUNTS:
        if counts[name] is not None:
            counts[name] = type(counts[name])(counts[name] * by)
    for group in (counts.get("groups") or {}).values():
        _scaled(group, by)


def _zero_cells(content: Evidence, by: float = 0.0) -> None:
    for cell in content["cells"]:
        for counts in (cell, *cell["looks"]):
            _scaled(counts, by)


def _halve(content: Evidence) -> None:
    _zero_cells({"cells": content["cells"][-1:]}, 0.5)


def _without(which: Callable[[Evidence], bool]) -> Callable[[Evidence], None]:
    def edit(content: Evidence) -> None:
        content["cells"] = [cell for cell in content["cells"] if not which(cell)]
        _passed(content, ["table", "tests"])

    return edit


def _without_row(name: str) -> Callable[[Evidence], None]:
    def edit(content: Evidence) -> None:
        for part in ("table", "tests"):
            content[part] = [row for row in content[part] if row["limit"] != name]

    return edit


def _weaker(content: Evidence) -> None:
    for cell in content["cells"]:
        cell["adversary"] |= {"knows": 1, "wrong": 1, "wrong_kind": "item"}
    _zero_cells(content)
    _passed(content, ["table", "tests"])


def _renamed(content: Evidence) -> None:
    _zero_cells(content, 0.01)
    _passed(content, ["table", "tests"])


def _twice(content: Evidence) -> None:
    forged = copy.deepcopy(content["cells"])
    _zero_cells({"cells": forged})
    content["cells"] = forged + content["cells"]
    _passed(content, ["table", "tests"])


def _fewer_looks(content: Evidence) -> None:
    for cell in content["cells"]:
        cell["looks"] = cell["looks"][:1]
        cell |= {name: x for name, x in cell["looks"][0].items() if name != "groups"}
    _passed(content, ["table", "tests"])


def _lucky(at: Workshop) -> Evidence:
    """Evidence with the first seed for which the check passes."""
    one = {**POLICY, "self_test": False}
    for seed in range(1, 400):
        if so.check(at.near, one, seed=seed, progress=False).verdict == "pass":
            return at.made(at.near, seed=seed)
    raise AssertionError("no seed passes")


def _moved(content: Evidence, at: Workshop) -> None:
    content["provenance"]["data_sha256"] = at.unsafe.fingerprint
    content["provenance"]["data"] = at.bad["provenance"]["data"]


def _version(content: Evidence) -> None:
    content["provenance"]["versions"]["standout"] = "0.0.1"


def _no_whole(content: Evidence) -> None:
    del content["provenance"]["whole_sha256"]


def _dated(content: Evidence, days: float) -> None:
    content["provenance"]["created"] = (datetime.now(UTC) + timedelta(days=days)).isoformat()


def _old(at: Workshop) -> Evidence:
    content = copy.deepcopy(at.honest)
    _dated(content, -90)
    return content


def _weaker_policy() -> dict[str, Any]:
    return {**POLICY, "limit": [{**limit, "max": 0.99} for limit in POLICY["limit"]]}


def _pretended(at: Workshop) -> Evidence:
    content = at.made(at.unsafe, _weaker_policy())
    content["provenance"]["policy_sha256"] = so.Policy.from_dict(POLICY).sha256
    return content
