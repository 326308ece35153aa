"""The answer in three sentences, made from the numbers: singling out, linkability, inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from standout.formulas.rates import at_most, precision
from standout.report.view import Case, View, weaker_first
from standout.report.words import between, number, percent, several

MOST = 0.5
"""A kind of knowledge finds "most" people when the interval lies above this."""

RESOLVED = 0.05
"""An audit that saw nothing may say so when its bound is at most this, or ten times the guess. It chooses "
"words; it is no limit of safety."""

PRIOR = 0.1

FEW = 10
"""Candidates below which a group may give its members away."""


class Level(StrEnum):
    """Which of four things the numbers say."""

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


def answer(seen: View) -> Answer:
    """Say what the findings mean."""
    level, case = judge_level(seen)
    return Answer(
        level, case, (_singling_out(level, case, seen), _linkability(level, case), _inference(level, case, seen))
    )


def judge_level(seen: View) -> tuple[Level, Case]:
    """Choose what to say, and of whom.

    MOST: the least knowledge that finds most people. SOME: the highest rate, where it beats guessing by more than
    chance allows (Bonferroni over the kinds of knowledge). NONE: the highest bound. OPEN: no difference from guessing,
    and a bound too wide to mean anything.
    """
    cases = sorted(seen.cases, key=weaker_first)
    for case in cases:
        if case.hit["low"] > MOST:
            return Level.MOST, case
    beating = [c for c in cases if _at_least(c, 1 - 0.05 / len(cases)) > c.guess]
    if beating:
        return Level.SOME, max(beating, key=lambda c: float(c.hit["rate"]))
    # the largest of several one-sided bounds is a bound for the largest rate: no correction is needed
    worst = max(cases, key=bound)
    limit = max(RESOLVED, 10 * worst.guess)
    return (Level.NONE if bound(worst) <= limit else Level.OPEN), worst


def bound(case: Case) -> float:
    """One-sided 95% bound on the hit rate."""
    return at_most(case.hit["count"], case.hit["n"])


def _at_least(case: Case, confidence: float) -> float:
    count, n = case.hit["count"], case.hit["n"]
    return 1 - at_most(n - count, n, confidence)


def _tested(case: Case) -> str:
    return f"{case.hit['count']:,} of {case.hit['n']:,} people tested"


def _comma(case: Case) -> str:
    """Close the list of what she knows, where it is one."""
    return "," if "," in case.phrase else ""


def _singling_out(level: Level, case: Case, seen: View) -> str:
    guess = f"a random guess: {percent(case.random)}"
    if level is Level.MOST:
        return (
            f"Knowing {case.phrase}{_comma(case)} is enough to single out {percent(case.hit['rate'])} of people "
            f"(95% interval {between(case.hit)}; {_tested(case)}; {guess})."
        )
    if level is Level.SOME:
        wide = "; the interval is wide, so test more people" if case.hit["high"] - case.hit["low"] > 0.3 else ""
        return (
            f"Knowing {case.phrase}{_comma(case)} singles out {percent(case.hit['rate'])} of people "
            f"(95% interval {between(case.hit)}; {_tested(case)}; {guess}), the most of all knowledge tried{wide}."
        )
    if level is Level.NONE:
        return (
            f"No attack singled people out more often than a guess would: at most {percent(bound(case), 1)} of people are found "
            f"(95% confidence; {_tested(case)}) by the strongest of {several(len(seen.attacks), 'attack')}, "
            f"knowing {case.phrase}; {guess}."
        )
    return (
        f"This audit cannot tell: knowing {case.phrase}{_comma(case)} singled out {_tested(case)}, "
        f"which fits any rate up to {percent(bound(case), 1)} (95% confidence; {guess})."
    )


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
    return (
        f"Used to link people with another source, the same attacker names the right record for {percent(right['rate'])} "
        f"and a false one for {percent(false['rate'])} of people who are not in the data: "
        f"if one in ten of those looked up is in the data, {worth}."
    )


def _inference(level: Level, case: Case, seen: View) -> str:
    n_records = int(seen.data["n_records"])
    if level in (Level.MOST, Level.SOME):
        mean = float(seen.data["n_pairs"]) / n_records
        more = max(mean - case.knows, 0.0)
        short = number(round(more)) if more >= 10 else number(round(more, 1))
        return (
            f"Who finds a record can infer the rest of it: on average {short} more "
            f"item{'' if short == '1' else 's'} than the {case.knows} known{_dates(seen)}."
        )
    if level is Level.OPEN:
        need = math.ceil(math.log(0.05) / math.log(1 - RESOLVED))
        short = "" if case.hit["n"] >= need else f" on at least {2 * need:,} targets (half of them set the threshold)"
        return f"Nothing follows for inference either way: run the audit again{short or ' with more targets'} before deciding."
    return _narrowing(case, n_records)


def _dates(seen: View) -> str:
    channels = [name for name, key in (("value", "values"), ("day", "days")) if seen.data.get(key)]
    return f", each with its {' and '.join(channels)}" if channels else ""


def _narrowing(case: Case, n_records: int) -> str:
    bits = case.result["bits"]
    limits = "this holds for the attacks and the knowledge that were tried, and is no proof against others."
    if not bits:
        return limits[0].upper() + limits[1:]
    left = min(2 ** float(bits["mean"]), n_records)
    # a small group can share what is to be kept secret, even if nobody in it is told apart
    follows = (
        "so little can be inferred about one person" if left >= FEW else "few enough to infer what they have in common"
    )
    return (
        f"What is known narrows {several(n_records, 'record')} down to about {number(round(left))}, {follows}; {limits}"
    )
