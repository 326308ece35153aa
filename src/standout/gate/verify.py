"""`verify`: check evidence against the data, and run a random part of it again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from standout.adversary.adversary import Adversary
from standout.attacks.attack import attack
from standout.audit.audit import Audit
from standout.audit.progress import Progress as Reporter
from standout.audit.progress import reporting
from standout.audit.subject import source_of
from standout.engines.engine import Engine
from standout.errors import StandoutError
from standout.gate.evidence import age_in_days, check_signature, intact, load_evidence
from standout.gate.groups import Group
from standout.gate.measure import attack_batch, prepare
from standout.gate.policy import Policy
from standout.gate.verdict import EXIT, overall
from standout.versions import version_of

RERUN = 3
"""Adversaries and attacks that are run again by default."""

COUNTS = ("n_eligible", "n_targets", "credit", "found", "matched_right", "matched_wrong", "false_match")


@dataclass(frozen=True)
class Verification:
    """Whether evidence holds. `rows` has one entry per check: name, verdict ("pass", "fail", "unclear"), why."""

    verdict: str
    rows: tuple[Mapping[str, str], ...]

    @property
    def exit_code(self) -> int:
        """0: the evidence holds and its verdict is pass. 1: it is contradicted, or its verdict is fail. 3: cannot tell."""
        return EXIT[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"verdict": self.verdict, "rows": [dict(row) for row in self.rows]}

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"{r['verdict']:8} {r['check']}: {r['why']}" for r in self.rows)])


def verify(evidence: str | Path, source: Any, *, release: Any = None, policy: Any = None, key: str | Path | None = None,
           cells: int = RERUN, seed: int | None = None, engine: str | Engine = "memory",
           progress: Reporter | bool | None = None) -> Verification:  # fmt: skip
    """Check evidence against the data, and run a random part of it again.

    Parameters
    ----------
    evidence
        File that `standout check --evidence` wrote.
    source, release
        The data, as they were given to `check`.
    policy
        The policy that the evidence must be about: path, dict or `Policy`. None = the policy in the evidence is taken.
    key
        File with the public key of the signer. None = the signature is not checked.
    cells
        Number of (adversary, attack) pairs to run again; their counts must be the same.
    seed
        Seed of the choice of the pairs. None = a choice that nobody can predict.
    engine
        Name of an engine, or an engine.
    progress
        As in `check`.
    """
    content = load_evidence(evidence)
    data = source_of(source)
    if release is None and data.source is not None:
        data, release = data.source, data
    rows = [*_own_rows(content, key, policy), *_data_rows(content, data, release)]
    if all(row["verdict"] != "fail" or row["check"] == "verdict" for row in rows):
        pick = SystemRandom() if seed is None else Random(seed)
        chosen = pick.sample(content["cells"], min(cells, len(content["cells"])))
        with reporting(progress) as report:
            for k, cell in enumerate(chosen):
                report("running again", k, len(chosen))
                rows.append(_rerun(cell, content, data, release, engine))
    return Verification(overall([row["verdict"] for row in rows]), tuple(rows))


def _own_rows(content: Mapping[str, Any], key: str | Path | None, policy: Any) -> list[dict[str, str]]:
    """Checks that need no data."""
    wrong = intact(content)
    if overall([row["verdict"] for row in content["table"]]) != content["verdict"]:
        wrong.append("the verdict does not follow from its table")
    rows = [
        _row("hashes", "fail" if wrong else "pass", wrong[0] if wrong else "counts and policy are as they were written")
    ]
    if key is not None:
        good = check_signature(content, key)
        why = "made by the owner of the key" if good else "missing, of another key, or of other content"
        rows.append(_row("signature", "pass" if good else "fail", why))
    asked = Policy.from_dict(content["policy"])
    if policy is not None:
        wanted = Policy.of(policy)
        same = wanted.sha256 == content["provenance"]["policy_sha256"]
        rows.append(
            _row("policy", "pass" if same else "fail", "the same" if same else "the evidence is about another policy")
        )
        asked = wanted
    ran = {cell["attack"]["name"] for cell in content["cells"]}
    if missing := [name for name in asked.required_attacks if name not in ran]:
        rows.append(_row("required attacks", "unclear", f"{missing[0]} did not run"))
    if asked.self_test and all(row["limit"] != "self-test" for row in content["table"]):
        rows.append(_row("self-test", "unclear", "it was switched off"))
    rows.append(_age(content, asked))
    said = content["verdict"]
    rows.append(_row("verdict", said, f"the evidence says {said}"))
    return rows


def _age(content: Mapping[str, Any], policy: Policy) -> dict[str, str]:
    days = age_in_days(content)
    if days < -1:
        return _row("age", "fail", "the evidence claims to be made in the future")
    if policy.max_age_days is not None and days > policy.max_age_days:
        return _row("age", "unclear", f"{days:.0f} days old; the policy accepts {policy.max_age_days}: check again")
    return _row("age", "pass", f"{max(days, 0):.0f} days old")


def _data_rows(content: Mapping[str, Any], data: Any, release: Any) -> list[dict[str, str]]:
    """Whether the data is the data of the evidence."""
    made = content["provenance"]
    published = data if release is None else source_of(release, "release")
    rows = []
    for name, hashed, it in (("release", "data_sha256", published), ("source", "source_sha256", data)):
        if name == "source" and release is None and hashed not in made:
            continue
        same = made.get(hashed) == it.fingerprint
        rows.append(
            _row(name, "pass" if same else "fail", "the same data" if same else "not the data that was checked")
        )
    return rows


def _rerun(cell: Mapping[str, Any], content: Mapping[str, Any], data: Any, release: Any, engine: Any) -> dict[str, str]:
    """Run one adversary and attack again and compare all counts."""
    name = f"{cell['attack']['label']}: {cell['adversary']['words']}"[:200]
    made = content["provenance"]
    try:
        who = Adversary(**{k: v for k, v in cell["adversary"].items() if k != "words"})
        one = attack(cell["attack"]["name"], **cell["attack"]["options"])
        targets = made["targets"]
        job = Audit(data, [who], [one], targets, made["seed"], engine, release=release, describe=False)
        said = cell.get("group")
        group = Group(**{k: v for k, v in said.items() if k != "words"}) if said else None
        sofar = prepare(job, job.adversaries[0], group, max(cell["looks"]))
        start = 0
        for stop in cell["looks"]:
            attack_batch(job, sofar, {"x": one}, start, stop, cell["false_match"] is not None, lambda what, n: None)
            start = stop
    except (StandoutError, TypeError, ValueError, LookupError):
        return _row(name, "unclear", "cannot be run again from what the evidence says")
    again = {"n_eligible": sofar.n_eligible, **sofar.done["x"].counts()} if sofar.done else {}
    differ = [key for key in COUNTS if again.get(key) != cell[key]]
    if not differ:
        return _row(name, "pass", f"the same counts on {cell['n_targets']:,} targets")
    ours, theirs = version_of("standout"), made["versions"]["standout"]
    if ours != theirs:
        return _row(name, "unclear", f"other counts ({differ[0]}), but made by version {theirs}, and this is {ours}")
    return _row(name, "fail", f"other counts: {differ[0]}")


def _row(check: str, verdict: str, why: str) -> dict[str, str]:
    return {"check": check, "verdict": verdict, "why": why}
