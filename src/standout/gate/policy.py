"""`Policy`: the limits that a release must keep, read from TOML or a dict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from standout.adversary.adversary import Adversary
from standout.attacks.attack import Attack, attack
from standout.audit.canonical import canonical
from standout.audit.defaults import ATTACKS, SWEEPS, TARGETS
from standout.audit.sweep_file import read_toml
from standout.errors import InputError, ParameterError
from standout.gate.fields import (
    COUNT,
    FLAG,
    OPEN_SHARE,
    REASON,
    SHARE,
    TEXT,
    TEXTS,
    Kind,
    check_keys,
    named,
    read_table,
    table_of,
)
from standout.results import to_plain

RISK = ("unique", "found", "sure", "matched-right")
"""Measures of risk; they also exist as rates of all records."""

HARM = ("matched-wrong", "false-match", "false-discovery")
"""Measures of harm to bystanders, which say nothing about people who are found."""

MEASURES = (*RISK, *HARM)
"""What a limit may be about. See docs/gate.md."""

ALIASES = {"hit": "found"}

END = "[end]"
"""Last line of a policy file: a file that was cut off, and so lacks limits, does not have it."""

POLICY_KINDS: dict[str, Kind] = {
    "attacks": TEXTS,
    "required_attacks": TEXTS,
    "name": TEXT,
    "confidence": OPEN_SHARE,
    "targets": COUNT,
    "min_targets": COUNT,
    "sequential": FLAG,
    "adaptive": FLAG,
    "max_age_days": COUNT,
    "self_test": FLAG,
    "smallest_group": COUNT,
}
LIMIT_KINDS: dict[str, Kind] = {
    "name": TEXT,
    "max": SHARE,
    "measure": (*MEASURES, *ALIASES),
    "of": ("eligible", "all"),
    "adversaries": TEXTS,
    "attacks": TEXTS,
    "by": ("none", "length", "rarity", "risk"),
    "source": TEXT,
}
DUPLICATE_KINDS: dict[str, Kind] = {"max": SHARE, "similarity": SHARE, "source": TEXT}
TABLES = ("version", "limit", "adversary", "near_duplicates", "unmeasured_columns", "end")
"""Keys of a policy that are read one by one."""
ADVERSARY_KEYS = (
    "knows",
    "wrong",
    "wrong_kind",
    "value_within",
    "time_within",
    "choose",
    "gamma",
    "length_within",
    "within",
    "view",
)


@dataclass(frozen=True)
class Limit:
    """One limit: a measure must stay below `max` for every adversary, attack and group in its scope."""

    name: str
    max: float
    measure: str = "found"
    of: str = "eligible"
    """"eligible": rate of the records that the adversary can attack. "all": rate of all records."""
    adversaries: str | tuple[str, ...] = "default"
    """"default" or "full" for a sweep, or names of `[adversary.NAME]` tables."""
    attacks: tuple[str, ...] | None = None
    """Names of attacks; None = all attacks of the policy."""
    by: str = "none"
    """"length", "rarity" or "risk" (both): the limit holds for each group of people."""
    source: str = ""
    """Where the number comes from."""
    similarity: float = 0.9
    """Limit on near-duplicates: records with a neighbor more similar than this count. They halve every hit rate."""


@dataclass(frozen=True)
class Policy:
    """Limits, and what the test of them must satisfy. Make one with `Policy.load` or `Policy.from_dict`."""

    limits: tuple[Limit, ...]
    name: str = ""
    confidence: float = 0.95
    targets: int | None = TARGETS
    """Records attacked per adversary; None = all."""
    min_targets: int = 1
    sequential: bool = True
    attacks: tuple[str, ...] = ATTACKS
    required_attacks: tuple[str, ...] = ()
    adaptive: bool = True
    """Whether a release made by a defense must be attacked by someone who knows the defense."""
    max_age_days: int | None = None
    self_test: bool = True
    smallest_group: int = 10
    """Groups with fewer targets are shown without their counts."""
    adversaries: Mapping[str, Adversary] = field(default_factory=dict)
    near_duplicates: Limit | None = None
    unmeasured_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns that may be released although nothing measures them, and why."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """The policy as it was written."""

    @property
    def alpha(self) -> float:
        """Error of each verdict, 1 - confidence."""
        return round(1.0 - self.confidence, 12)

    @property
    def all_attacks(self) -> tuple[str, ...]:
        """Attacks to run: the listed and the required ones."""
        return (
            *self.attacks,
            *(name for name in self.required_attacks if name not in self.attacks),
        )

    @property
    def sha256(self) -> str:
        """SHA-256 of the content; comments and the order of keys do not matter."""
        return sha256(canonical(self.given)).hexdigest()

    @classmethod
    def of(cls, policy: Policy | Mapping[str, Any] | str | Path) -> Policy:
        """A policy from a policy, a dict or the path of a TOML file."""
        if isinstance(policy, Policy):
            return policy
        if isinstance(policy, str | Path):
            return cls.load(policy)
        return cls.from_dict(policy)

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a TOML file."""
        name = f"policy {str(path)!r}"
        written, content = read_toml(path, name, "policy")
        made = cls.from_dict(content)
        if last_line(written) != END:
            raise InputError(
                f"{name} does not end with the line {END}: limits may be missing from its end. If the file is "
                f"complete, add {END} as its last line"
            )
        return made

    @classmethod
    def from_dict(cls, data: Any) -> Policy:
        """Read plain data with the keys of the TOML file."""
        if not isinstance(data, Mapping):
            raise ParameterError(
                f"policy is a {type(data).__name__}: use a dict, a Policy or the path of a TOML file"
            )
        check_keys(data, (*POLICY_KINDS, *TABLES), "")
        if end := table_of(data.get("end", {}), "end"):
            raise ParameterError(
                f"policy: {named(next(iter(end)), 'end')}: {END} is the last line of a policy"
            )
        version = read_table(data, {"version": COUNT}).get("version", 1)
        if version != 1:
            raise ParameterError(f"policy: 'version' is {version}: this program reads version 1")
        made = cls(
            limits=(),
            adversaries={
                name: _adversary(name, x)
                for name, x in table_of(data.get("adversary", {}), "adversary").items()
            },
            near_duplicates=_near_duplicates(data.get("near_duplicates")),
            unmeasured_columns=_reasons(data.get("unmeasured_columns", {})),
            given=to_plain({key: x for key, x in data.items() if key != "end"}),
            **_settings(data),
        )
        made = replace(made, limits=_limits(data.get("limit", ()), made))
        if not made.all_attacks:
            raise ParameterError("policy: 'attacks' is empty: name at least one attack")
        if made.targets is not None and made.min_targets > made.targets:
            raise ParameterError(
                f"policy: 'min_targets' is {made.min_targets} and 'targets' is {made.targets}: no release can pass; raise targets"
            )
        return made


def last_line(text: str) -> str:
    r"""The last line that is neither empty nor a comment.

    >>> last_line("[[limit]]\nmax = 0.1\n[end]  # done\n# bye\n\n")
    '[end]'
    """
    lines = (line.split("#")[0].strip() for line in reversed(text.splitlines()))
    return next((line for line in lines if line), "")


def _settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a policy that are not tables."""
    every = data.get("targets") == "all"
    made = read_table({**data, "targets": 1} if every else data, POLICY_KINDS)
    for key in ("attacks", "required_attacks"):
        for name in made.get(key, ()):
            try:
                attack(name)
            except ParameterError as error:
                raise ParameterError(f"policy: {key!r}: {error}") from None
    return {**made, "targets": None} if every else made


def _limits(given: Any, policy: Policy) -> tuple[Limit, ...]:
    if not isinstance(given, list | tuple):
        raise ParameterError(
            "policy: 'limit' is a table: write [[limit]] with two brackets, once per limit"
        )
    made = [_limit(k, table_of(x, "limit"), policy) for k, x in enumerate(given, 1)]
    if not made:
        raise ParameterError(
            "policy: no [[limit]]: a policy without limits would let every release pass"
        )
    names = [x.name for x in made]
    if twice := [n for n in names if names.count(n) > 1]:
        raise ParameterError(f"policy: two limits are named {twice[0]!r}: give each its own name")
    return tuple(made)


def _limit(k: int, x: Mapping[str, Any], policy: Policy) -> Limit:
    where = f"limit {k}"
    check_keys(x, LIMIT_KINDS, where)
    kinds = LIMIT_KINDS
    if isinstance(x.get("adversaries"), str):  # the name of a sweep
        kinds = {**kinds, "adversaries": TEXT}
    given = {"name": where, **read_table(x, kinds, where)}
    if "measure" in given:
        given["measure"] = ALIASES.get(given["measure"], given["measure"])
    made = Limit(**given)
    for key, wrong in _contradictions(made, policy):
        raise ParameterError(f"policy: {named(key, where)}{wrong}")
    return made


def _contradictions(limit: Limit, policy: Policy) -> Iterator[tuple[str, str]]:
    """Keys of a limit that do not fit the rest of the policy, each with what is wrong and what to do."""
    who, attacks = limit.adversaries, (*policy.attacks, *policy.required_attacks)
    if isinstance(who, str):
        if who not in SWEEPS:
            yield (
                "adversaries",
                f' is {who!r}: write "default" or "full" for a sweep, or a list of names of [adversary.NAME] tables',
            )
    elif not who or (unknown := [n for n in who if n not in policy.adversaries]):
        said = f"names {unknown[0]!r}" if who else "is empty"
        there = ", ".join(policy.adversaries) or "there is none"
        yield "adversaries", f" {said}: use names of [adversary.NAME] tables: {there}"
    if limit.attacks is not None:
        odd = [a for a in limit.attacks if a not in attacks]
        if odd or not limit.attacks:
            said = repr(odd[0]) if odd else "nothing"
            yield (
                "attacks",
                f" names {said}: use some of the policy's attacks, {', '.join(attacks)}",
            )
    if limit.of == "all" and (limit.measure not in RISK or limit.by != "none"):
        yield (
            "of",
            f" is 'all': a rate of all records exists only for {', '.join(RISK)}, and for all targets together; "
            'use of = "eligible"',
        )
    if limit.measure == "unique" and limit.attacks is not None:
        yield "attacks", ": who is unique does not depend on an attack; remove attacks"
    if limit.measure == "sure":
        used = [attack(a) for a in limit.attacks or attacks]
        if not any(map(states_posterior, used)):
            yield (
                "measure",
                " is 'sure': no attack of the limit states a probability; add likelihood to attacks",
            )


def states_posterior(one: Attack) -> bool:
    """Whether an attack states the probability that its answer is right."""
    return type(one).posterior is not Attack.posterior


def _adversary(name: str, x: Any) -> Adversary:
    """An adversary; the text "none" stands for a channel that is not known."""
    where = f"adversary.{name}"
    table = table_of(x, where)
    check_keys(table, ADVERSARY_KEYS, where)
    given: dict[str, Any] = {
        key: None if value == "none" else value for key, value in table.items()
    }
    try:
        return Adversary(**given)
    except (ParameterError, TypeError) as error:
        raise ParameterError(f"policy: [{where}]: {error}") from None


def _near_duplicates(x: Any) -> Limit | None:
    if x is None:
        return None
    table = table_of(x, "near_duplicates")
    check_keys(table, DUPLICATE_KINDS, "near_duplicates")
    made = Limit(
        "near-duplicates", of="all", **read_table(table, DUPLICATE_KINDS, "near_duplicates")
    )
    return replace(made, measure=f"similarity above {made.similarity:g}")


def _reasons(x: Any) -> dict[str, str]:
    """Names of columns, each with a reason in words."""
    given = {str(name): why for name, why in table_of(x, "unmeasured_columns").items()}
    return read_table(given, dict.fromkeys(given, REASON), "unmeasured_columns")
