"""`Policy`: the limits that a release must keep, read from TOML or a dict."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from standout.adversary.adversary import Adversary
from standout.attacks.attack import Attack, attack
from standout.audit.canonical import canonical
from standout.audit.defaults import ATTACKS, SWEEPS, TARGETS
from standout.data.whole_file import check_regular
from standout.errors import InputError, ParameterError
from standout.gate.fields import (
    check_keys,
    flag,
    named,
    reasons,
    share,
    table_of,
    text,
    texts,
    whole,
)

RISK = ("unique", "found", "sure", "matched-right")
"""Measures of risk; they also exist as rates of all records."""

HARM = ("matched-wrong", "false-match", "false-discovery")
"""Measures of harm to bystanders, which say nothing about people who are found."""

MEASURES = (*RISK, *HARM)
"""What a limit may be about. See docs/gate.md."""

ALIASES = {"hit": "found"}

OF = ("eligible", "all")
GROUPS = ("none", "length", "rarity", "risk")
MOST_BYTES = 2**20
END = "[end]"
"""Last line of a policy file: a file that was cut off, and so lacks limits, does not have it."""

POLICY_KEYS = (
    "version",
    "name",
    "confidence",
    "targets",
    "min_targets",
    "sequential",
    "attacks",
    "required_attacks",
    "adaptive",
    "max_age_days",
    "self_test",
    "smallest_group",
    "limit",
    "adversary",
    "near_duplicates",
    "unmeasured_columns",
    "end",
)
LIMIT_KEYS = ("name", "measure", "max", "of", "adversaries", "attacks", "by", "source")
ADVERSARY_KEYS = (
    "knows",
    "wrong",
    "wrong_kind",
    "value_within",
    "time_within",
    "choose",
    "gamma",
    "length_within",
    "view",
)
DUPLICATE_KEYS = ("max", "similarity", "source")


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


@dataclass(frozen=True)
class NearDuplicates:
    """Limit on the share of records with a neighbor more similar than `similarity`: they halve every hit rate."""

    max: float
    similarity: float = 0.9
    source: str = ""


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
    near_duplicates: NearDuplicates | None = None
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
        try:
            with check_regular(path).open("rb") as file:
                content = file.read(MOST_BYTES + 1)
            if len(content) > MOST_BYTES:
                raise InputError(
                    f"policy {str(path)!r} is larger than {MOST_BYTES:,} bytes: is it a policy?"
                )
            written = content.decode("utf-8")
            made = cls.from_dict(tomllib.loads(written))
        except OSError as error:
            raise InputError(f"cannot read policy {str(path)!r}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InputError(f"policy {str(path)!r} is not UTF-8 text") from None
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"policy {str(path)!r} is not TOML: {str(error)[:200]}") from None
        except RecursionError:
            raise InputError(f"policy {str(path)!r} is nested too deeply") from None
        if last_line(written) != END:
            raise InputError(
                f"policy {str(path)!r} does not end with the line {END}: limits may be missing from its end. If the file is "
                f"complete, add this as its last line:\n{END}"
            )
        return made

    @classmethod
    def from_dict(cls, data: Any) -> Policy:
        """Read plain data with the keys of the TOML file."""
        if not isinstance(data, Mapping):
            raise ParameterError(
                f"policy is a {type(data).__name__}: use a dict, a Policy or the path of a TOML file"
            )
        check_keys(data, POLICY_KEYS, "")
        if "end" in data and table_of(data["end"], "end"):
            raise ParameterError(
                f"policy: {named(next(iter(data['end'])), 'end')}: {END} is the last line of a policy"
            )
        version = whole(data, "version", "", 1)
        if version != 1:
            raise ParameterError(f"policy: 'version' is {version}: this program reads version 1")
        adversaries = {
            name: _adversary(name, x)
            for name, x in table_of(data.get("adversary", {}), "adversary").items()
        }
        attacks = _attack_names(texts(data, "attacks", "", ATTACKS), "attacks")
        required = _attack_names(texts(data, "required_attacks", "", ()), "required_attacks")
        made = cls(
            limits=_limits(data.get("limit", ()), adversaries, (*attacks, *required)),
            name=text(data, "name", "", ""),
            confidence=share(data, "confidence", "", 0.95, open_ends=True),
            targets=_targets(data),
            min_targets=whole(data, "min_targets", "", 1) or 1,
            sequential=flag(data, "sequential", "", True),
            attacks=attacks,
            required_attacks=required,
            adaptive=flag(data, "adaptive", "", True),
            max_age_days=whole(data, "max_age_days", "", None),
            self_test=flag(data, "self_test", "", True),
            smallest_group=whole(data, "smallest_group", "", 10) or 10,
            adversaries=adversaries,
            near_duplicates=_near_duplicates(data.get("near_duplicates")),
            unmeasured_columns=reasons(data, "unmeasured_columns"),
            given=_plain({key: x for key, x in data.items() if key != "end"}),
        )
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


def _limits(
    given: Any, adversaries: Mapping[str, Adversary], attacks: tuple[str, ...]
) -> tuple[Limit, ...]:
    if not isinstance(given, list | tuple):
        raise ParameterError(
            "policy: 'limit' is a table: write [[limit]] with two brackets, once per limit"
        )
    made = [_limit(k + 1, table_of(x, "limit"), adversaries, attacks) for k, x in enumerate(given)]
    if not made:
        raise ParameterError(
            "policy: no [[limit]]: a policy without limits would let every release pass"
        )
    names = [x.name for x in made]
    if twice := [n for n in names if names.count(n) > 1]:
        raise ParameterError(f"policy: two limits are named {twice[0]!r}: give each its own name")
    return tuple(made)


def _limit(
    k: int, x: Mapping[str, Any], adversaries: Mapping[str, Adversary], attacks: tuple[str, ...]
) -> Limit:
    where = f"limit {k}"
    check_keys(x, LIMIT_KEYS, where)
    word = text(x, "measure", where, "found", (*MEASURES, *ALIASES))
    made = Limit(
        name=text(x, "name", where, f"limit {k}"),
        max=share(x, "max", where),
        measure=ALIASES.get(word, word),
        of=text(x, "of", where, "eligible", OF),
        adversaries=_scope(x, where, adversaries),
        attacks=texts(x, "attacks", where, ()) if "attacks" in x else None,
        by=text(x, "by", where, "none", GROUPS),
        source=text(x, "source", where, ""),
    )
    if made.attacks is not None and (
        odd := [a for a in made.attacks if a not in attacks] or not made.attacks
    ):
        said = repr(odd[0]) if isinstance(odd, list) else "nothing"
        raise ParameterError(
            f"policy: {named('attacks', where)} names {said}: use some of the policy's attacks, {', '.join(attacks)}"
        )
    if made.of == "all" and (made.measure not in RISK or made.by != "none"):
        raise ParameterError(
            f"policy: {named('of', where)} is 'all': a rate of all records exists only for {', '.join(RISK)}, and for "
            'all targets together; use of = "eligible"'
        )
    if made.measure == "unique" and made.attacks is not None:
        raise ParameterError(
            f"policy: {named('attacks', where)}: who is unique does not depend on an attack; remove attacks"
        )
    if made.measure == "sure" and not any(
        states_posterior(attack(a)) for a in made.attacks or attacks
    ):
        raise ParameterError(
            f"policy: {named('measure', where)} is 'sure': no attack of the limit states a probability; add likelihood to attacks"
        )
    return made


def states_posterior(one: Attack) -> bool:
    """Whether an attack states the probability that its answer is right."""
    return type(one).posterior is not Attack.posterior


def _scope(
    x: Mapping[str, Any], where: str, adversaries: Mapping[str, Adversary]
) -> str | tuple[str, ...]:
    """The sweep or the names of the adversaries of a limit."""
    if isinstance(x.get("adversaries", "default"), str):
        word = text(x, "adversaries", where, "default")
        if word not in SWEEPS:
            raise ParameterError(
                f'policy: {named("adversaries", where)} is {word!r}: write "default" or "full" for a sweep, or a list of '
                "names of [adversary.NAME] tables"
            )
        return word
    names = texts(x, "adversaries", where, ())
    if unknown := [n for n in names if n not in adversaries] or not names:
        said = f"names {unknown[0]!r}" if isinstance(unknown, list) else "is empty"
        there = ", ".join(adversaries) or "there is none"
        raise ParameterError(
            f"policy: {named('adversaries', where)} {said}: use names of [adversary.NAME] tables: {there}"
        )
    return names


def _adversary(name: str, x: Any) -> Adversary:
    """An adversary; the text "none" stands for a channel that is not known."""
    where = f"adversary.{name}"
    table = table_of(x, where)
    check_keys(table, ADVERSARY_KEYS, where)
    try:
        given: dict[str, Any] = {
            key: None if value == "none" else value for key, value in table.items()
        }
        return Adversary(**given)
    except (ParameterError, TypeError) as error:
        raise ParameterError(f"policy: [{where}]: {error}") from None


def _near_duplicates(x: Any) -> NearDuplicates | None:
    if x is None:
        return None
    table = table_of(x, "near_duplicates")
    check_keys(table, DUPLICATE_KEYS, "near_duplicates")
    return NearDuplicates(
        share(table, "max", "near_duplicates"),
        share(table, "similarity", "near_duplicates", 0.9),
        text(table, "source", "near_duplicates", ""),
    )


def _attack_names(names: tuple[str, ...], key: str) -> tuple[str, ...]:
    for name in names:
        try:
            attack(name)
        except ParameterError as error:
            raise ParameterError(f"policy: {key!r}: {error}") from None
    return names


def _targets(data: Mapping[str, Any]) -> int | None:
    return None if data.get("targets") == "all" else whole(data, "targets", "", TARGETS)


def _plain(x: Any) -> Any:
    """Copy of the policy as plain data; dates and other values that no key takes were refused before."""
    if isinstance(x, Mapping):
        return {str(k): _plain(v) for k, v in x.items()}
    return [_plain(v) for v in x] if isinstance(x, list | tuple) else x
