"""Findings as the report reads them: one `Case` per adversary, with the strongest attack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from standout.audit.domain import joined_with_and
from standout.audit.findings import AdversaryResult, Findings, Uncertainty
from standout.audit.judge import AttackResult, Calibrated
from standout.audit.related import RELATION
from standout.audit.strongest import Strongest
from standout.data.times import days_within
from standout.errors import InputError
from standout.formulas.rates import Rate
from standout.report.domain_words import PLAIN, in_domain_words, nouns_of
from standout.report.knowledge_words import kind_words, phrase, wrong_words
from standout.report.words import several

Plain = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """One adversary: the knowledge, the strongest attack and all others."""

    adversary: Plain
    kind: str
    """Knowledge without its amount, in words; with the number of wrong facts if two kinds differ only in it."""
    line: str
    """The same without the wrong facts where the amounts tell the cases apart: one line of the risk chart."""
    amount: str
    """Position on the axis, known items and how many of them are wrong: "4, 1 wrong"."""
    panel: str
    """The same as a heading: "4 items, 1 wrong"."""
    order: tuple[float, ...]
    """Sort key of the amount."""
    group: str
    """Points of a chart that a line connects: all facts correct (""), or some of them wrong."""
    hit: Rate
    """Hit rate of the strongest attack among people with enough items, on targets not used to choose it."""
    result: AttackResult
    """All numbers of the strongest attack."""
    results: tuple[AttackResult, ...]
    """All attacks, in the order in which they ran."""
    strongest: Strongest | None
    """None if there were too few targets to choose on one half and report on the other."""
    entry: AdversaryResult
    """The adversary's entry in the findings."""

    @property
    def hit_all(self) -> Rate:
        """The same rate as a share of all records; those with too few items count as not found."""
        return (self.strongest or self.result).hit_all

    def measure(self, name: str, of: str = "") -> Rate | None:
        """Rate of `unique`, `found` or `sure` among the same people, with `of="_all"` as a share of all records.

        None if it was not measured.
        """
        rate: Rate | None = self.entry[f"{name}{of}"]
        return rate

    @property
    def certain(self) -> str:
        """The larger of `unique` and `sure`, the two that single a person out; "" if neither was measured."""
        rates = {name: self.measure(name) for name in ("unique", "sure")}
        known = {name: rate.rate for name, rate in rates.items() if rate is not None}
        return max(known, key=lambda name: known[name], default="")

    @property
    def calibrated(self) -> Calibrated | None:
        """Numbers of the strongest attack at the threshold set on one half; None if there were too few targets."""
        return self.result.calibrated

    @property
    def columns(self) -> dict[str, Any]:
        """The knowledge, for a row of a chart's table."""
        return {
            "kind": self.line,
            "amount": self.amount,
            "panel": self.panel,
            "knows": self.knows,
            "wrong": self.entry.adversary.wrong,
        }

    @property
    def measured(self) -> list[Rate]:
        """All of the three rates that were measured."""
        return [
            rate for name in ("found", "unique", "sure") if (rate := self.measure(name)) is not None
        ]

    @property
    def eligible_share(self) -> float:
        """Share of all records that hold enough items to be attacked."""
        return self.entry.eligible_share

    @property
    def needed(self) -> int:
        """Number of items that a record must hold to be a target of this adversary."""
        who = self.entry.adversary
        whole = int(who.wrong) if who.wrong_kind == "item" and who.wrong == int(who.wrong) else 0
        return max(self.knows - whole, 1)

    @property
    def uncertainty(self) -> Uncertainty | None:
        """Remaining uncertainty in bits, and the attack it comes from."""
        return self.entry.uncertainty

    @property
    def knows(self) -> int:
        """Number of known items."""
        return self.entry.adversary.knows

    @property
    def words(self) -> str:
        """The knowledge in words."""
        return self.entry.adversary.words

    @property
    def phrase(self) -> str:
        """The knowledge as part of a sentence."""
        return phrase(self.adversary)

    @property
    def attack(self) -> str:
        """Label of the strongest attack."""
        return self.result.attack.label

    @property
    def random(self) -> float:
        """Hit rate of a random guess."""
        return self.result.baselines.random

    @property
    def guess(self) -> float:
        """Hit rate of the better of the two guesses without knowledge."""
        return max(self.random, self.result.baselines.popularity.rate)


@dataclass(frozen=True)
class FindingsView:
    """Everything the report shows, in one place."""

    data: Plain
    cases: tuple[Case, ...]
    attacks: tuple[str, ...]
    warnings: tuple[str, ...]
    provenance: Plain
    sections: Plain
    not_measured: tuple[str, ...] = ()
    """Knowledge that the source allows and that reading made coarser."""
    nouns: Mapping[str, tuple[str, str]] = field(default_factory=lambda: PLAIN)
    """What an item and an event are called, one and several."""
    other_labels: bool = False
    """Whether labels of the release seem to name other people or items than in the source."""

    @property
    def identifiers(self) -> list[str]:
        """Columns and labels of the attacked data that seem to name people, each with what it looks like."""
        return [f"{x['where']} ({x['kind']})" for x in self.data.get("identifiers") or ()]

    @cached_property
    def charted(self) -> list[Case]:
        """All cases in the order of charts: the most exact kind of knowledge first, each by its amount."""
        exact = sorted(self.cases, key=lambda c: _exactness(c.adversary), reverse=True)
        kinds = list(dict.fromkeys(c.kind for c in exact))
        by_kind = sorted(self.cases, key=lambda c: kinds.index(c.kind))
        lines = list(dict.fromkeys(c.line for c in by_kind))
        return sorted(by_kind, key=lambda c: (lines.index(c.line), c.order))

    def in_words(self, text: str) -> str:
        """Write a sentence in the words of the domain, unless a name in it could be taken for one of its words."""
        names = {
            name
            for c in self.cases
            for name in (*c.adversary.get("within", ()), c.adversary.get("view", ""))
        }
        if any(in_domain_words(name, self.nouns) != name for name in names):
            return text
        return in_domain_words(text, self.nouns)

    def like(self, about: Case) -> list[Case]:
        """Cases of the same kind, by amount; if some have errors and some do not, only those like `about`."""
        return [c for c in self.charted if (c.line, c.group) == (about.line, about.group)]


def view(findings: Findings) -> FindingsView:
    """The view of the report on these findings."""
    if not findings.results:
        # an empty report would look like a safe release
        raise InputError("the findings hold no result; make them with `standout audit`")
    data = findings.source or findings.data
    # how values and times are written depends on how finely they were read
    resolution = (data.get("days") or {}).get("resolution", "day")
    nouns = nouns_of(findings.provenance.get("domain"))
    more: Plain = {"resolution": resolution}
    if nouns != PLAIN:
        more = {**more, "event": nouns["event"]}
    known = [{**result.adversary, **more} for result in findings.results]
    cases = tuple(map(_case, findings.results, known, _names(known)))
    attacks = tuple(dict.fromkeys(r.attack.label for case in cases for r in case.results))
    return FindingsView(
        findings.data,
        cases,
        attacks,
        findings.warnings,
        findings.provenance,
        findings.sections,
        tuple(data.get("not_measured", ())),
        nouns,
        bool(data.get("other_labels")),
    )


def _case(entry: AdversaryResult, known: Plain, name: dict[str, Any]) -> Case:
    winner = entry.strongest
    if winner is None:
        best = max(entry.attacks, key=lambda r: r.hit.rate)
    else:
        best = next(r for r in entry.attacks if r.attack.label == winner.attack)
    return Case(
        **name,
        adversary=known,
        hit=(winner or best).hit,
        result=best,
        results=entry.attacks,
        strongest=winner,
        entry=entry,
    )


def _names(adversaries: Sequence[Plain]) -> list[dict[str, Any]]:
    """Kind, line, amount, panel, order and group of each case."""

    def repeated(names: list[str], *extras: list[str]) -> bool:
        numbers = [a["knows"] for a in adversaries]
        return len(set(zip(names, numbers, *extras, strict=True))) < len(numbers)

    lines = kinds = [kind_words(a) for a in adversaries]
    extras = [wrong_words(a) for a in adversaries]
    longer = [wrong_words(a, kind=True) for a in adversaries]
    if repeated(kinds):
        kinds = [k + (wrong or ", none wrong") for k, wrong in zip(kinds, longer, strict=True)]
    if repeated(lines, extras):
        extras = longer
    if repeated(lines, extras):
        lines = kinds
    # if a number of items occurs with and without errors, the cases with errors get a separate part
    # of the axis
    apart = repeated(lines)
    names = []
    for a, kind, line, extra in zip(adversaries, kinds, lines, extras, strict=True):
        wrong, knows = float(a["wrong"]), int(a["knows"])
        names.append(
            {
                "kind": kind,
                "line": line,
                "amount": f"{knows}{extra}",
                "panel": f"{several(knows, 'item')}{extra}",
                "order": (float(wrong > 0), knows, wrong) if apart else (knows, wrong),
                "group": "some wrong" if wrong and apart else "",
            }
        )
    return names


def amount_labels(cases: Sequence[Case]) -> list[str]:
    """Amounts of knowledge in the order of the axis."""
    return list(dict.fromkeys(c.amount for c in sorted(cases, key=lambda c: c.order)))


def exactness(within: float | str | None) -> float:
    """How exactly a channel is known, from 0 (not at all) to 1 (exactly).

    >>> exactness(None), exactness(1), exactness("10%"), exactness(0)
    (0.0, 0.5, 0.5, 1.0)
    """
    if within is None:
        return 0.0
    # a share of the value cannot be compared with a number; it lies between unknown and exact
    return 0.5 if isinstance(within, str) else 1 / (1 + float(within))


def _exactness(adversary: Plain) -> tuple[float, float, float]:
    """Order of knowledge from vague to exact, for the same number of items."""
    value = adversary["value_within"] if adversary.get("gamma") is None else adversary["gamma"]
    time = adversary["time_within"]
    days = None if time is None else float(days_within(time) if isinstance(time, str) else time)
    return exactness(days), exactness(value), -float(adversary["wrong"])


def weaker_first(case: Case) -> tuple[Any, ...]:
    """Sort key: fewest items first, then the vaguest knowledge."""
    return (case.knows, *_exactness(case.adversary))


def _strength(case: Case) -> tuple[float, ...]:
    """What is known, each part larger for more: right facts, share of right facts, times, values."""
    wrong = float(case.adversary["wrong"])
    expected = wrong * case.knows if wrong < 1 else wrong
    return (case.knows - expected, -expected / max(case.knows, 1), *_exactness(case.adversary)[:2])


def _exceeds(one: Case, other: Case) -> bool:
    """Whether `one` knows as much as `other` in every respect, and more in one."""
    parts = list(zip(_strength(one), _strength(other), strict=True))
    alike = all(
        one.adversary.get(key) == other.adversary.get(key) for key in ("choose", "view", "within")
    )
    return alike and all(a >= b for a, b in parts) and any(a > b for a, b in parts)


def strongest_knowledge(cases: Sequence[Case]) -> list[Case]:
    """Cases that no other case exceeds in what is known."""
    return [c for c in cases if not any(_exceeds(d, c) for d in cases)]


def why_falling(seen: FindingsView) -> str:
    """Why a case finds fewer of all people than one with fewer items known in the same way; empty if none does."""
    right = [c for c in seen.cases if not c.entry.adversary.wrong]
    for case in sorted(right, key=weaker_first):
        fewer = [c for c in right if c.kind == case.kind and c.knows < case.knows]
        if case.eligible_share < 1 and any(
            c.hit_all.rate > case.hit_all.rate and c.hit.rate <= case.hit.rate for c in fewer
        ):
            return (
                f"The share of all people falls where more items are known than many people hold: {case.knows} items can be "
                f"known of {100 * case.eligible_share:.0f}% of people, and the others count as not found."
            )
    return ""


def unmeasured(seen: FindingsView) -> str:
    """Sentence on what was read more coarsely than the source has it; empty if nothing was."""
    return f" Not measured: {joined_with_and(seen.not_measured)}." if seen.not_measured else ""


def untried(seen: FindingsView) -> list[str]:
    """Knowledge beyond everything that was tried, as parts of a sentence."""
    who = [c.adversary for c in seen.cases]
    most = max(c.knows for c in seen.cases)
    out = [f"more than {most} item{'s' if most > 1 else ''}"]
    lost = seen.not_measured
    exact_values = "the values" in lost or any(a["value_within"] == 0 for a in who)
    exact_times = "the times" in lost or any(a["time_within"] == 0 for a in who)
    if seen.data.get("values") and not exact_values:
        out.append("exact values")
    if seen.data.get("days") and not exact_times:
        out.append(
            "exact days" if seen.data["days"].get("resolution", "day") == "day" else "exact times"
        )
    out += lost
    if any(c.entry.get("relation", {}).get("shown") for c in seen.cases):
        out.append(RELATION)
    if all(a["wrong"] for a in who):
        out.append("facts that are all right")
    if not any(str(a["choose"]).startswith("rare") for a in who):
        out.append("a person's rarest items")
    return out
