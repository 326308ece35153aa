"""The answer in three statements, made from the numbers: singling out, linkability, inference.

"Singled out" is said of people who are unique or of whom an attacker is sure. What only the best
guess finds is said apart.
"""

from __future__ import annotations

import math
from typing import Literal

from standout.audit.domain import listed
from standout.audit.findings import Findings
from standout.audit.judge import AttackResult
from standout.errors import ParameterError
from standout.formulas.rates import Rate, at_least, at_most, precision
from standout.report.choice_range import MORE, range_by_choice
from standout.report.view import (
    Case,
    View,
    strongest_knowledge,
    unmeasured,
    untried,
    view,
    weaker_first,
)
from standout.report.words import between, number, percent, several

MOST = 0.5
"""A kind of knowledge finds "most" people if the interval lies above this."""

RESOLVED = 0.05
"""An audit that saw nothing may say so when its bound is at most this, or ten times the guess. It chooses
words; it is no limit of safety."""

FEW_ELIGIBLE = 0.5
"""Share of people with enough items below which the first sentence also says what finds most of all people."""

ANY_ITEM = ("uniform", "event", "popular", "favorite", "rarest")
"""Choices of which any item of a person can be one of the known ones."""

FEW = 10
"""Number of candidates below which a group may reveal something about its members."""

PRIOR = 0.1
"""Assumed share of people in the data among those an attacker looks up; it can be changed where it is printed."""

Level = Literal["most", "some", "none", "open"]
"""The four possible conclusions from the numbers."""


def statements_of(findings: Findings) -> tuple[str, str, str]:
    """The three sentences about findings."""
    return write_statements(view(findings))


def write_statements(seen: View, prior: float = PRIOR) -> tuple[str, str, str]:
    """Write the three statements; `prior` is the assumed share of people in the data among those an attacker looks up."""
    level, case = judge_level(seen)
    found = _singling_out(level, case, seen) + ("" if level == "none" else unmeasured(seen))
    return (
        _named(seen) + seen.in_words(found),
        seen.in_words(linkability(case, prior)),
        seen.in_words(_inference(level, case, seen)),
    )


def _named(seen: View) -> str:
    """Sentences on direct identifiers, which no attack is needed for; empty if none were noticed."""
    if not seen.identifiers:
        return ""
    return (
        f"The data seems to name people directly: {listed(seen.identifiers)}. No attack is needed for that, and no rate below "
        "counts it. "
    )


def judge_level(seen: View) -> tuple[Level, Case]:
    """Choose the conclusion and the case it is about.

    "most": the least knowledge that singles most people out, or else by which the best guess finds
    most people. "some": the highest rate, where one of the three beats guessing by more than chance
    allows (Bonferroni over the kinds of knowledge). "none": no rate of any kind of knowledge beats
    guessing, and the bound for the strongest knowledge tried is small. "open": that bound is too wide
    to mean anything, or labels name other people in the release.
    """
    cases = sorted(seen.cases, key=weaker_first)
    kinds_of_rate = [(c, _certain(c)) for c in cases], [(c, c.hit) for c in cases]
    for rates in kinds_of_rate:
        for case, rate in rates:
            if rate.low > MOST:
                return "most", case
    for rates in kinds_of_rate:
        beating = [(c, rate) for c, rate in rates if _beats(rate, c.guess, len(cases))]
        if beating:
            return "some", max(beating, key=lambda pair: float(pair[1].rate))[0]
    # the largest of several one-sided bounds is a bound for the largest rate: no correction is
    # needed
    worst = max(strongest_knowledge(cases), key=bound)
    # with a handful of records ten times the guess is everybody
    limit = max(RESOLVED, min(10 * worst.guess, MOST))
    return ("none" if bound(worst) <= limit and not seen.other_labels else "open"), worst


NOTHING = Rate(count=0, n=1, rate=0.0, low=0.0, high=1.0)
"""Stands for a rate that was not measured, where it must not decide."""


def _certain(case: Case) -> Rate:
    """Rate of people singled out."""
    return (case.measure(case.certain) if case.certain else None) or NOTHING


def _beats(rate: Rate, guess: float, n_kinds: int) -> bool:
    return at_least(rate.count, rate.n, 1 - 0.05 / n_kinds) > guess


def bound(case: Case) -> float:
    """One-sided 95% bound on the largest of the three rates."""
    return max(at_most(rate.count, rate.n) for rate in case.measured)


def hits(rate: Rate) -> str:
    """Number of hits; with one decimal if ties give fractions of a hit and there are few hits, or nearly all are hits."""
    count = float(rate.count)
    if round(count) == rate.n and count < rate.n:
        return number(math.floor(10 * count) / 10)
    return number(round(count) if count >= 10 else round(count, 1))


def _tested(rate: Rate) -> str:
    return f"{hits(rate)} of {rate.n:,} people tested"


def _comma(case: Case) -> str:
    """A comma after the knowledge, if it is a list."""
    return "," if "," in case.phrase else ""


def _holders(case: Case) -> str:
    """People of whom so much can be known: the number of their items decides only where any item can be known."""
    if case.adversary["choose"] in ANY_ITEM and not case.adversary.get("view"):
        return f"people with at least {several(case.needed, 'item')}"
    return "people of whom that much can be known"


def _both(case: Case, name: str) -> tuple[Rate, Rate]:
    rate, of_all = case.measure(name), case.measure(name, "_all")
    assert rate is not None and of_all is not None
    return rate, of_all


def _share(case: Case, name: str) -> str:
    """Rate among people with enough items, and among all people if it differs."""
    rate, of_all = _both(case, name)
    if case.eligible_share == 1:
        return f"{percent(rate.rate)} of all people"
    return (
        f"{percent(rate.rate)} of {_holders(case)}, which is {percent(of_all.rate)} of all people"
    )


def _numbers(case: Case, name: str) -> str:
    """Intervals, counts and the guess behind a rate."""
    rate, of_all = _both(case, name)
    both = f"95% interval {between(rate)}"
    if case.eligible_share < 1:
        both = f"95% intervals {between(rate)} and {between(of_all)}"
    wide = "; the interval is wide, so test more people" if rate.high - rate.low > 0.3 else ""
    return f"{both}; {_tested(rate)}; {_guess(case)}{wide}"


def _guess(case: Case) -> str:
    return f"a random guess: {percent(case.random)}"


HOW = {
    "unique": "no other record fits what is known",
    "sure": "the attacker names the right record and can be at least 95% sure of it",
}


def _singling_out(level: Level, case: Case, seen: View) -> str:
    if level in ("most", "some"):
        most = ", the most of all knowledge tried" if level == "some" else ""
        by_guess = not _beats(_certain(case), case.guess, len(seen.cases))
        lead, guessing = ("", most) if by_guess else (most, "")
        return f"{_lead(case, lead)}{_guessing(case, seen, guessing)}{_most_of_all(case, seen)}"
    if level == "none":
        limit = bound(case)
        all_people = f" ({percent(limit * case.eligible_share, 1)} of all people)"
        whom = "all people" if case.eligible_share == 1 else f"{_holders(case)}{all_people}"
        return (
            f"No attack singled people out, or found them, more often than a guess would. With the strongest knowledge tried, "
            f"{case.phrase}, at most {percent(limit, 1)} of {whom} are found (95% confidence; {_tested(case.hit)}; the strongest "
            f"of {several(len(seen.attacks), 'attack')}; {_guess(case)}). Not tried: {listed(untried(seen))}."
        )
    if seen.other_labels:
        return (
            "This audit cannot tell: records or items of source and release with the same label do not resemble each other, so "
            f"people count as not found although their records may be there ({_tested(case.hit)}; {_guess(case)})."
        )
    return (
        f"This audit cannot tell: with the strongest knowledge tried, {case.phrase}, the best guess found {_tested(case.hit)}, "
        f"which fits any rate up to {percent(bound(case), 1)} (95% confidence; {_guess(case)})."
    )


def _lead(case: Case, most: str) -> str:
    """The people singled out: the larger of unique and sure."""
    name = case.certain
    if not name:
        return f"Whom knowing {case.phrase} singles out was not measured{_reason(case)}."
    rate = _certain(case)
    if not rate.count:
        limit = percent(at_most(0, rate.n), 1)
        return f"Knowing {case.phrase} singled out none of {rate.n:,} people tested (at most {limit}, 95% confidence)."
    verb = "is enough to single out" if rate.low > MOST else "singles out"
    return (
        f"Knowing {case.phrase}{_comma(case)} {verb} {_share(case, name)}: {HOW[name]} ({_numbers(case, name)}){most}."
        f"{_other(case, name)}"
    )


def _other(case: Case, lead: str) -> str:
    """The smaller of unique and sure, if it was measured and differs."""
    name = "sure" if lead == "unique" else "unique"
    rate = case.measure(name)
    if rate is None or _certain(case).rate - rate.rate < MORE:
        return ""
    if name == "unique":
        return f" {percent(rate.rate)} are unique: {HOW[name]}."
    of = percent(rate.rate) if rate.count else "nobody tested"
    return f" Not knowing whether the person is in the data, the attacker can be at least 95% sure of {of}."


def _reason(case: Case) -> str:
    reasons = dict.fromkeys(case.entry.not_measured.values())
    return f": {'; '.join(reasons)}" if reasons else ""


def _guessing(case: Case, seen: View, most: str) -> str:
    """What the best guess adds to the people singled out, and on which assumption."""
    chosen = ", if the known items are a random sample of the person's items, so that short records are likelier"
    if not case.knows:
        chosen = ": where several records fit equally well, it is one of them at random"
    elif case.adversary["choose"] != "uniform":
        chosen = ", if the known items were chosen as stated"
    if case.hit.rate - _certain(case).rate >= MORE or not case.certain:
        said = f" The best guess is right for {_share(case, 'found')} ({_numbers(case, 'found')}){most}{chosen}."
    elif _certain(case).rate - case.hit.rate >= MORE:
        said = f" The attacks that ran found fewer ({percent(case.hit.rate)}): another attack would find more."
    else:
        said = " The best guess finds hardly anybody else." if _certain(case).rate < 1 else ""
    weaker = [c for c in sorted(seen.cases, key=weaker_first) if c.hit.low > MOST]
    if weaker and weaker_first(weaker[0]) < weaker_first(case) and _certain(case).low > MOST:
        known = f"{weaker[0].phrase}{_comma(weaker[0])}"
        said += f" A best guess from {known} is already right for {_share(weaker[0], 'found')}."
    if compared := range_by_choice(seen):
        return f"{said}{compared}"
    if case.hit.rate < 1:
        return f"{said} Rare items find more people, popular ones far fewer."
    return f"{said} Popular items may find fewer people."


def _most_of_all(case: Case, seen: View) -> str:
    """Knowledge that finds most of all people, if the case is about a minority of them."""
    if case.eligible_share >= FEW_ELIGIBLE:
        return ""
    best = max(seen.cases, key=lambda c: float(c.hit_all.rate))
    if best.hit_all.rate <= case.hit_all.rate:
        return " No knowledge tried finds more of all people."
    return f" Of all people, the best guess finds most knowing {best.phrase}: {percent(best.hit_all.rate)}."


def _inference(level: Level, case: Case, seen: View) -> str:
    if level in ("most", "some"):
        rest = "Finding a record also reveals the rest of it"
        more = case.entry.more_items
        if more is None:
            return f"{rest}."
        short = number(round(more)) if more >= 10 else number(round(more, 1))
        beyond = f"{short} more item{'' if short == '1' else 's'} than the {case.knows} known"
        if not case.knows or case.adversary.get("view"):
            beyond = f"{short} item{'' if short == '1' else 's'}"
        whom = f"for {_holders(case)}, " if case.knows else ""
        return f"{rest}: {whom}on average {beyond}{_dates(seen)}."
    if level == "open" and seen.other_labels:
        return "Nothing follows for inference either way: give source and release the same labels before deciding."
    if level == "open":
        need = math.ceil(math.log(0.05) / math.log(1 - RESOLVED))
        short = (
            ""
            if case.hit.n >= need
            else f" on at least {2 * need:,} targets (half of them set the threshold)"
        )
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
    left = min(2**bits.mean, n_records)
    # a small group can have a secret in common, even if its members cannot be distinguished
    follows = (
        "so little can be inferred about one person"
        if left >= FEW
        else "few enough to infer what they have in common"
    )
    return f"What is known narrows {several(n_records, 'record')} down to about {number(round(left))}, {follows}; {limits}"


def linkability(case: Case, prior: float = PRIOR) -> str:
    """The statement, from the attack's own rule for naming a record."""
    if not 0 < prior < 1:
        raise ParameterError(f"prior={prior}: use a share between 0 and 1")
    one = linker(case)
    right, wrong, false = one.matched_right, one.matched_wrong, one.false_match
    if case.entry.n_not_released:
        return (
            f"No second source was linked. {case.entry.n_not_released:,} of {case.entry.n_targets:,} people tested have no "
            f"record in the release. {_rule(one)} names the right record for {percent(right.rate)} and a wrong one for "
            f"{percent(wrong.rate)} of all people tested."
        )
    start = f"No second source was linked. {_rule(one)}"
    missed = (
        f"a wrong one for {percent(wrong.rate)}, and for people who are not in the data a false one for "
        f"{percent(false.rate)}"
    )
    if not right.count:
        return (
            f"{start} names the right record for none of {right.n:,} people in the data "
            f"(at most {percent(at_most(0, right.n), 1)}, 95% confidence), {missed}."
        )
    if wrong.count or false.count:
        worth = percent(precision(right.rate, false.rate, prior, wrong.rate))
    else:
        most = at_most(0, false.n), at_most(0, wrong.n)
        worth = f"at least {percent(precision(right.rate, most[0], prior, most[1]), -1)}"
    whom = f"{right.n:,} people in the data"
    if case.eligible_share < 1:
        whom += f" with enough items ({percent(right.rate * case.eligible_share)} of all people)"
    part = "one in ten" if prior == PRIOR else percent(prior)
    return (
        f"{start} names the right record for {percent(right.rate)} of {whom}, {missed}. If {part} of those looked up "
        f"{'is' if prior == PRIOR else 'are'} in the data, which is an assumption, {worth} of the names given are right."
    )


def linker(case: Case) -> AttackResult:
    """Numbers of the attack whose rule is used: the one that is sure most often, else the likelihood, else the strongest."""
    labels = {one.attack.label: one for one in case.results}
    sure = labels.get(case.entry.sure_attack or "")
    model = [one for one in case.results if one.attack.name == "likelihood"]
    return sure or (model[0] if model else case.result)


def _rule(one: AttackResult) -> str:
    """The attack and the rule by which it names a record."""
    cut = one.attack.options.get("cut")
    if one.attack.name != "likelihood" or cut is None:
        return f"By its own rule, {one.attack.label}"
    return f"Naming a record if its probability is at least {percent(cut)}, {one.attack.label}"


def next_steps(seen: View) -> list[str]:
    """At most two lines, each with a command or an action. FILE is the data that was audited."""
    level, _ = judge_level(seen)
    if level == "open":
        if seen.other_labels:
            return ["Give source and release the same labels, then audit again."]
        return [
            "`standout audit FILE --targets all` narrows the intervals; nothing is shown to be safe yet."
        ]
    steps = []
    if seen.identifiers:
        steps.append("Remove what names people directly, then audit again.")
    if level == "none":
        more = (
            "`standout audit FILE --sweep full` tries more kinds of knowledge"
            if seen.provenance.get("sweep") != "full"
            else "`standout link FILE OTHER` tries a real second file"
        )
        return [*steps, f"{more}; `standout check` tests the data against a policy."]
    defended = "stronger protections" if seen.provenance.get("defense") else "protections"
    return [
        *steps,
        f"`standout frontier FILE --out frontier` compares {defended}; `standout explain FILE --record LABEL` shows why one "
        "record is found.",
    ]
