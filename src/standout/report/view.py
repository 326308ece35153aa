"""Findings as the report looks at them: one `Case` per adversary, with its strongest attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from standout.audit.findings import Findings
from standout.errors import InputError

Plain = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One adversary: what she knows, her strongest attack and all others."""

    adversary: Plain
    kind: str
    """Knowledge without its amount, in words: one line of the risk chart."""
    hit: Plain
    """Rate of the strongest attack, on targets that did not choose it."""
    result: Plain
    """All numbers of the strongest attack."""
    results: tuple[Plain, ...]
    """All attacks, in the order in which they ran."""
    strongest: Plain | None
    """None where there were too few targets to choose on one half and report on the other."""

    @property
    def knows(self) -> int:
        """Number of known items."""
        return int(self.adversary["knows"])

    @property
    def words(self) -> str:
        """Her knowledge in words."""
        return str(self.adversary["words"])

    @property
    def phrase(self) -> str:
        """Her knowledge as part of a sentence."""
        return phrase(self.adversary)

    @property
    def attack(self) -> str:
        """Label of the strongest attack."""
        return str(self.result["attack"]["label"])

    @property
    def random(self) -> float:
        """Hit rate of a random guess."""
        return float(self.result["baselines"]["random"])

    @property
    def guess(self) -> float:
        """Hit rate of the better guess that needs no knowledge."""
        return max(self.random, float(self.result["baselines"]["popularity"]["rate"]))


@dataclass(frozen=True)
class View:
    """Everything the report shows, in one place."""

    data: Plain
    cases: tuple[Case, ...]
    attacks: tuple[str, ...]
    warnings: tuple[str, ...]
    provenance: Plain
    sections: Plain

    @property
    def kinds(self) -> list[str]:
        """Kinds of knowledge, the most exact first."""
        return list(
            dict.fromkeys(c.kind for c in sorted(self.cases, key=lambda c: _exactness(c.adversary), reverse=True))
        )

    @property
    def amounts(self) -> list[int]:
        """Numbers of known items, rising."""
        return sorted({c.knows for c in self.cases})

    def of_kind(self, kind: str) -> list[Case]:
        """Cases of one kind, by number of known items."""
        return sorted((c for c in self.cases if c.kind == kind), key=lambda c: c.knows)


def view(findings: Findings | Plain) -> View:
    """Take findings, or the plain data of their JSON file, apart."""
    plain = findings.to_dict() if isinstance(findings, Findings) else findings
    if not plain.get("results"):
        # an empty page would read as good news
        raise InputError("the findings hold no result; make them with `standout audit`")
    groups: dict[tuple[Any, ...], list[Plain]] = {}
    for result in plain["results"]:
        groups.setdefault(_key(result["adversary"]), []).append(result)
    winners = {_key(w["adversary"]): w for w in plain["strongest"]}
    adversaries = [group[0]["adversary"] for group in groups.values()]
    kinds = _kinds(adversaries)
    cases = tuple(
        _case(tuple(group), winners.get(key), kind) for (key, group), kind in zip(groups.items(), kinds, strict=True)
    )
    attacks = tuple(dict.fromkeys(r["attack"]["label"] for r in plain["results"]))
    return View(plain["data"], cases, attacks, tuple(plain["warnings"]), plain["provenance"], plain["sections"])


def _key(adversary: Plain) -> tuple[Any, ...]:
    return tuple(sorted((k, repr(v)) for k, v in adversary.items()))


def _case(results: tuple[Plain, ...], winner: Plain | None, kind: str) -> Case:
    best = max(results, key=lambda r: float(r["hit"]["rate"]))
    if winner is not None:
        named = [r for r in results if r["attack"]["label"] == winner["attack"]]
        if not named:
            raise InputError(f"the findings name {winner['attack']!r} as strongest attack, but hold no result of it")
        best = named[0]
    return Case(results[0]["adversary"], kind, winner["hit"] if winner else best["hit"], best, results, winner)


def _kinds(adversaries: Sequence[Plain]) -> list[str]:
    """Name the kind of each: channels and choice; how many are wrong too, where that alone tells two apart."""
    plain = [kind_words(a) for a in adversaries]
    pairs = [(k, a["knows"]) for k, a in zip(plain, adversaries, strict=True)]
    if len(set(pairs)) == len(pairs):
        return plain
    return [
        k + (f", {a['wrong']} wrong {a['wrong_kind']}{'s' if a['wrong'] > 1 else ''}" if a["wrong"] else ", none wrong")
        for k, a in zip(plain, adversaries, strict=True)
    ]


def kind_words(adversary: Plain) -> str:
    """Knowledge without its amount.

    >>> kind_words({"value_within": 1, "time_within": None, "gamma": None, "choose": "uniform", "length_within": None})
    'values ±1'
    """
    words = []
    if adversary.get("gamma") is not None:
        words.append(f"values ±{adversary['gamma']:g} of the scale")
    elif adversary["value_within"] is not None:
        words.append("values exact" if adversary["value_within"] == 0 else f"values ±{adversary['value_within']:g}")
    if adversary["time_within"] is not None:
        words.append("days exact" if adversary["time_within"] == 0 else f"days ±{adversary['time_within']:g}")
    if adversary["choose"] != "uniform":
        words.append(str(adversary["choose"]))
    if adversary.get("length_within") is not None:
        words.append(f"length ±{100 * adversary['length_within']:g}%")
    return ", ".join(words) or "items only"


def phrase(adversary: Plain) -> str:
    """Knowledge as part of a sentence.

    >>> a = {"knows": 8, "wrong": 2, "wrong_kind": "value", "value_within": 1, "time_within": 14, "choose": "uniform"}
    >>> phrase(a)
    '8 items, their values to within 1 and days to within 14, 2 of them wrong'
    """
    n, wrong = adversary["knows"], adversary["wrong"]
    parts = []
    if adversary.get("gamma") is not None:
        parts.append(f"values to within {100 * adversary['gamma']:g}% of the scale")
    elif adversary["value_within"] is not None:
        parts.append(
            "exact values" if adversary["value_within"] == 0 else f"values to within {adversary['value_within']:g}"
        )
    if adversary["time_within"] is not None:
        parts.append("exact days" if adversary["time_within"] == 0 else f"days to within {adversary['time_within']:g}")
    text = f"{n} item{'s' if n > 1 else ''}"
    if parts:
        text += f", {'their' if n > 1 else 'its'} {' and '.join(parts)}"
    if wrong:
        what = "" if adversary["wrong_kind"] == "value" else " items the person does not have"
        text += f", {wrong} of them wrong" if not what else f", {wrong} of them{what}"
    choose = str(adversary["choose"])
    if choose.startswith("outside-top:"):
        text += f", none among the {int(choose.split(':')[1]):,} most popular"
    elif choose != "uniform":
        text += f" (choice: {choose})"
    if adversary.get("length_within") is not None:
        text += f", and the length of the record to within {100 * adversary['length_within']:g}%"
    return text


def _exactness(adversary: Plain) -> tuple[float, float, float]:
    """Order of knowledge from vague to exact, for the same number of items."""
    time, value = adversary["time_within"], adversary["value_within"]
    return (
        0.0 if time is None else 1 / (1 + float(time)),
        0.0 if value is None else 1 / (1 + float(value)),
        -float(adversary["wrong"]),
    )


def weaker_first(case: Case) -> tuple[Any, ...]:
    """Sort key: fewest items first, then the vaguest knowledge."""
    return (case.knows, *_exactness(case.adversary))
