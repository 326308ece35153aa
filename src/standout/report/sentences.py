"""The answer in three sentences, made from the numbers: singling out, linkability, inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from standout.audit.findings import Findings
from standout.formulas.rates import at_least, at_most, precision
from standout.report.view import Case, View, strongest_knowledge, unmeasured, untried, view, weaker_first
from standout.report.words import between, number, percent, several

MOST = 0.5
"""A kind of knowledge finds "most" people if the interval lies above this."""

RESOLVED = 0.05
"""An audit that saw nothing may say so when its bound is at most this, or ten times the guess. It chooses
words; it is no limit of safety."""

FEW_ELIGIBLE = 0.5
"""Share of people with enough items below which the first sentence also says what finds most of all people."""

PRIOR = 0.1

FEW = 10
"""Number of candidates below which a group may reveal something about its members."""


class Level(StrEnum):
    """The four possible conclusions from the numbers."""

    MOST = "most"
    SOME = "some"
    NONE = "none"
    OPEN = "open"


@dataclass(frozen=True)
class Answer:
    """Three sentences and the case that they are about."""

    level: Level
    case: Case
    sentences: tuple[str, str, str]


def said(findings: Findings) -> tuple[str, str, str]:
    """The three sentences about findings."""
    return answer(view(findings)).sentences


def answer(seen: View) -> Answer:
    """Write the three sentences."""
    level, case = judge_level(seen)
    found = _singling_out(level, case, seen) + ("" if level is Level.NONE else unmeasured(seen))
    return Answer(level, case, (found, _linkability(level, case), _inference(level, case, seen)))


def judge_level(seen: View) -> tuple[Level, Case]:
    """Choose the conclusion and the case it is about.

    MOST: the least knowledge that finds most people. SOME: the highest rate, where it beats guessing by more than
    chance allows (Bonferroni over the kinds of knowledge). NONE: no kind of knowledge beats guessing, and the bound
    for the strongest knowledge tried is small. OPEN: that bound is too wide to mean anything, or labels name other people
    in the release.
    """
    cases = sorted(seen.cases, key=weaker_first)
    for case in cases:
        if case.hit["low"] > MOST:
            return Level.MOST, case
    beating = [c for c in cases if at_least(c.hit["count"], c.hit["n"], 1 - 0.05 / len(cases)) > c.guess]
    if beating:
        return Level.SOME, max(beating, key=lambda c: float(c.hit["rate"]))
    # the largest of several one-sided bounds is a bound for the largest rate: no correction is needed
    worst = max(strongest_knowledge(cases), key=bound)
    # with a handful of records ten times the guess is everybody
    limit = max(RESOLVED, min(10 * worst.guess, MOST))
    return (Level.NONE if bound(worst) <= limit and not seen.other_labels else Level.OPEN), worst


def bound(case: Case) -> float:
    """One-sided 95% bound on the hit rate."""
    return at_most(case.hit["count"], case.hit["n"])


def hits(case: Case) -> str:
    """Number of hits; with one decimal if ties give fractions of a hit and there are few hits."""
    count = float(case.hit["count"])
    return number(round(count) if count >= 10 else round(count, 1))


def _tested(case: Case) -> str:
    return f"{hits(case)} of {case.hit['n']:,} people tested"


def _comma(case: Case) -> str:
    """A comma after the knowledge, if it is a list."""
    return "," if "," in case.phrase else ""


def _holders(case: Case) -> str:
    return f"people with at least {several(case.needed, 'item')}"


def _found(case: Case) -> str:
    """Rate among people with enough items, and among all people if it differs."""
    if case.eligible_share == 1:
        return f"{percent(case.hit['rate'])} of all people"
    return f"{percent(case.hit['rate'])} of {_holders(case)}, which is {percent(case.hit_all['rate'])} of all people"


def _interval(case: Case) -> str:
    if case.eligible_share == 1:
        return f"95% interval {between(case.hit)}"
    return f"95% intervals {between(case.hit)} and {between(case.hit_all)}"


def _singling_out(level: Level, case: Case, seen: View) -> str:
    guess = f"a random guess: {percent(case.random)}"
    if level is Level.MOST:
        return (
            f"Knowing {case.phrase}{_comma(case)} is enough to single out {_found(case)} "
            f"({_interval(case)}; {_tested(case)}; {guess}){_most_of_all(case, seen)}."
        )
    if level is Level.SOME:
        wide = "; the interval is wide, so test more people" if case.hit["high"] - case.hit["low"] > 0.3 else ""
        return (
            f"Knowing {case.phrase}{_comma(case)} singles out {_found(case)} "
            f"({_interval(case)}; {_tested(case)}; {guess}), the most of all knowledge tried{wide}"
            f"{_most_of_all(case, seen)}."
        )
    if level is Level.NONE:
        limit = bound(case)
        all_people = f" ({percent(limit * case.eligible_share, 1)} of all people)"
        found = "all people" if case.eligible_share == 1 else f"{_holders(case)}{all_people}"
        return (
            f"No attack singled people out more often than a guess would. With the strongest knowledge tried, {case.phrase}, "
            f"at most {percent(limit, 1)} of {found} are found (95% confidence; {_tested(case)}; the strongest of "
            f"{several(len(seen.attacks), 'attack')}; {guess}). Not tried: {_listed(untried(seen))}."
        )
    if seen.other_labels:
        return (
            "This audit cannot tell: records or items of source and release with the same label do not resemble each other, so "
            f"people count as not found although their records may be there ({_tested(case)}; {guess})."
        )
    return (
        f"This audit cannot tell: the strongest knowledge tried, {case.phrase}, singled out {_tested(case)}, "
        f"which fits any rate up to {percent(bound(case), 1)} (95% confidence; {guess})."
    )


def _listed(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _most_of_all(case: Case, seen: View) -> str:
    """Knowledge that finds most of all people, if the case is about a minority of them."""
    if case.eligible_share >= FEW_ELIGIBLE:
        return ""
    best = max(seen.cases, key=lambda c: float(c.hit_all["rate"]))
    if best.hit_all["rate"] <= case.hit_all["rate"]:
        return "; no knowledge tried finds more of all people"
    return f"; of all people, most are found knowing {best.phrase}: {percent(best.hit_all['rate'])}"


def _linkability(level: Level, case: Case) -> str:
    tuned = case.result["calibrated"]
    if tuned is None:
        return (
            "Linkability was not measured: with so few targets no threshold could be set on one half and tested on the other, "
            "so nothing is known about false matches."
        )
    right, false = tuned["matched_right"], tuned["false_match"]
    if right["count"] == 0:
        return (
            f"Used to link people with another source, {case.attack} named the right record for none of {right['n']:,} "
            f"(at most {percent(at_most(0, right['n']), 1)}, 95% confidence), and somebody else's for "
            f"{percent(false['rate'])} of people who are not in the data."
        )
    if false["count"]:
        worth = f"{percent(precision(right['rate'], false['rate'], PRIOR))} of the names given are right"
    else:
        sure = precision(right["rate"], at_most(0, false["n"]), PRIOR)
        worth = f"at least {percent(sure, -1)} of the names given are right"
    whom = "" if case.eligible_share == 1 else f" of them ({percent(tuned['matched_right_all'])} of all people)"
    return (
        f"Linking people with another source, the same attacker names the right record for "
        f"{percent(right['rate'])}{whom} and a false one for {percent(false['rate'])} of people who are not in the data: "
        f"if one in ten of those looked up is in the data, {worth}."
    )


def _inference(level: Level, case: Case, seen: View) -> str:
    if level in (Level.MOST, Level.SOME):
        rest = "Finding a record also reveals the rest of it"
        more = case.entry["more_items"]
        if more is None:
            return f"{rest}."
        short = number(round(more)) if more >= 10 else number(round(more, 1))
        return (
            f"{rest}: for {_holders(case)}, on average {short} more item{'' if short == '1' else 's'} than the "
            f"{case.knows} known{_dates(seen)}."
        )
    if level is Level.OPEN and seen.other_labels:
        return "Nothing follows for inference either way: give source and release the same labels before deciding."
    if level is Level.OPEN:
        need = math.ceil(math.log(0.05) / math.log(1 - RESOLVED))
        short = "" if case.hit["n"] >= need else f" on at least {2 * need:,} targets (half of them set the threshold)"
        return f"Nothing follows for inference either way: run the audit again{short or ' with more targets'} before deciding."
    return _narrowing(case, int(seen.data["n_records"]))


def _dates(seen: View) -> str:
    time = "day" if (seen.data.get("days") or {}).get("resolution", "day") == "day" else "time"
    channels = [name for name, key in (("value", "values"), (time, "days")) if seen.data.get(key)]
    return f", each with its {' and '.join(channels)}" if channels else ""


def _narrowing(case: Case, n_records: int) -> str:
    bits = case.uncertainty
    limits = "this holds for the attacks and the knowledge that were tried, and is no proof against others."
    if not bits:
        return limits[0].upper() + limits[1:]
    left = min(2 ** float(bits["mean"]), n_records)
    # a small group can have a secret in common, even if its members cannot be distinguished
    follows = (
        "so little can be inferred about one person" if left >= FEW else "few enough to infer what they have in common"
    )
    return (
        f"What is known narrows {several(n_records, 'record')} down to about {number(round(left))}, {follows}; {limits}"
    )
