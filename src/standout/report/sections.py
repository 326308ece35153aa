"""The sections of a report, in reading order: text, charts and tables as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.audit.findings import Findings, named_rate
from standout.experiment.attackers import FITTED
from standout.formulas.rates import Rate
from standout.report import charts
from standout.report.attributes import NAME as ATTRIBUTES
from standout.report.attributes import attributes_section
from standout.report.breakdowns import breakdown, channels
from standout.report.evidence import data_read, evidence, limits
from standout.report.sentences import judge_level
from standout.report.tables import (
    Section,
    generic,
    heading,
    make_table,
    rate_cells,
)
from standout.report.view import Case, FindingsView, view, why_falling
from standout.report.why import data_section, theorem
from standout.report.words import percent, rate_words, several

WHY = {
    "describe": "The data at a glance",
    "sparsity": "How far apart records are",
    "bounds": "What theory says about these numbers",
    "certificates": "Theorems checked on this data",
    "amplification": "What a found record reveals",
    "population": "From the sample to the population",
}
"""Sections that explain the risk, in order."""

TALL = 0.1
"""Length that the calibration adds to an interval of *sure* from which it is explained."""


def sections(findings: Findings) -> list[Section]:
    """Everything after the answer."""
    seen = view(findings)
    about = judge_level(seen)[1]
    made = [
        data_read(seen),
        _risk(seen),
        attributes_section(seen),
        _attackers(seen, about),
        _awareness(seen),
        _absent(seen, about),
        _bits(seen),
        _who(seen, about),
        _carries(seen, about),
        _why(seen),
        *_others(seen),
        limits(seen),
        evidence(seen),
    ]
    return [s for s in made if s is not None]


def _risk(seen: FindingsView) -> Section:
    n = max(c.hit.n for c in seen.cases)
    fewest = min(seen.cases, key=lambda c: c.eligible_share)
    text = [
        "Three words say how much is certain. Unique: the person's record is the only one that could have produced what is "
        "known, within the stated errors. Sure: the attacker names the right record, and the calibrated probability of it is at "
        "least 95%, if half of those whom the attacker looks up are in the data. Found: the best guess is right. People who are "
        "unique, or of whom the attacker is sure, are singled out. The best guess finds more, because it uses how the known "
        "items were chosen: as a random sample of a person's items they make short records likelier. Rare items find more people "
        "than a random sample, popular ones far fewer.",
        f"Each point of the chart is a share of people with enough items, when somebody knew that many items about them. "
        f"The best guess is that of the strongest of {several(len(seen.attacks), 'attack')}. Bars are 95% intervals from "
        f"{several(n, 'target')} or fewer; a random guess finds {percent(seen.cases[0].random)}.",
    ]
    if any(_by_calibration(case.measure("sure")) for case in seen.cases):
        text.append(
            "Bars of Sure also cover the error of the calibration: where many probabilities are close to 95%, it decides "
            "about many people at once, and the bar is tall."
        )
    reasons = {why for case in seen.cases for why in case.entry.not_measured.values()}
    text += [f"Not measured where a number is missing: {why}." for why in sorted(reasons)]
    if fewest.eligible_share < 1:
        text.append(
            f"The share counts people of whom as much can be known; for {fewest.words} these are "
            f"{percent(fewest.eligible_share)} of all people. The table also gives the share of all people, "
            f"where the others count as not found. {why_falling(seen)}".strip()
        )
    return Section("risk", "How few facts find a person", text, [charts.risk(seen)])


def _by_calibration(sure: Rate | None) -> bool:
    """Whether the calibration makes the interval of *sure* clearly longer than its number of people does."""
    if sure is None:
        return False
    counted = Rate.from_count(sure.count, sure.n)
    return (sure.high - sure.low) - (counted.high - counted.low) > TALL


def _attackers(seen: FindingsView, about: Case) -> Section:
    won = dict.fromkeys(seen.attacks, 0)
    for case in seen.cases:
        top = max(r.hit.rate for r in case.results)
        for r in case.results:
            won[r.attack.label] += r.hit.rate >= top
    best = max(won, key=lambda a: won[a])
    text = [
        f"{best} found the most people, or as many as the best other attack, for {won[best]} of "
        f"{several(len(seen.cases), 'kind')} of knowledge. Which attack counts as strongest is chosen on one half of the targets "
        "and its rate is measured on the other, so that the choice does not raise the rate."
    ]
    rows = [
        {
            "words": c.words,
            "attack": c.attack,
            **rate_cells(c.hit),
            **{f"vs_{k}": v for k, v in ((c.strongest and c.strongest.versus) or {}).items()},
        }
        for c in seen.cases
    ]
    table = make_table("strongest", rows)
    shown = [charts.attackers(seen, about)] if len(seen.attacks) > 1 else []
    return Section("attackers", "The strongest attacker", text, shown, [table])


AWARENESS_KINDS = {"naive": "naive", "unaware": "best unaware", "adaptive": "adaptive"}
AWARENESS = (
    "The release was made by a defense. The naive attacker treats it as unchanged data. The best unaware attacker is the "
    "strongest of the naive one, of one who leaves out the values or times that the defense changed (and finds items with "
    "secret names by their popularity), and of one who estimates the errors from the data. "
    "The adaptive attacker knows the published parameters of the defense."
)
STANDS_IN = (
    "Where the published parameters of the defense cannot be stated for what is known, nobody can use them: the numbers in "
    "the column of the adaptive attacker are those of the attacker who estimates the errors from the data."
)


def awareness_cells(seen: FindingsView) -> list[list[str]]:
    """A table as text: each rate with its 95 % interval, the heading first; empty if no defense made the release."""
    rows = [
        [case.words, *(rate_words(found[kind].hit) for kind in AWARENESS_KINDS)]
        for case in seen.cases
        if (found := case.entry.awareness)
    ]
    return [["known of the person", *AWARENESS_KINDS.values()], *rows] if rows else []


def _awareness(seen: FindingsView) -> Section | None:
    """What it is worth to an attacker to know the defense; None if no defense made the release."""
    rows, text = [], [AWARENESS]
    for case in seen.cases:
        if found := case.entry.awareness:
            if found.adaptive.attack.endswith(f"({FITTED})"):
                text = [AWARENESS, STANDS_IN]
            row: dict[str, Any] = {"words": case.words, "by": found.unaware.attack}
            for kind in AWARENESS_KINDS:
                row |= named_rate(kind, found[kind].hit)
            rows.append(row)
    if not rows:
        return None
    table = make_table("awareness", rows)
    return Section("awareness", "If the attacker knows the defense", text, tables=[table])


def _absent(seen: FindingsView, about: Case) -> Section:
    title = "If the person is not in the data"
    calibrated = [(c, c.calibrated) for c in seen.cases if c.calibrated is not None]
    if not calibrated:
        none = "There were too few targets to set a threshold on one half and test it on the other."
        return Section("absent", title, [f"{none} False matches were not measured."])
    rows = [
        {
            "words": c.words,
            "attack": c.attack,
            "right": tuned.matched_right.rate,
            "false": tuned.false_match.rate,
            "low": tuned.false_match.low,
            "high": tuned.false_match.high,
            **{f"prior{p.prior:g}": p.precision for p in tuned.precision},
        }
        for c, tuned in calibrated
    ]
    priors = [
        (f"prior{p:g}", f"precision if {percent(p)} are in the data", "share", "precision")
        for p in (one.prior for one in calibrated[0][1].precision)
    ]
    table = make_table("precision", rows, *priors)
    text = (
        "An attacker does not know whether the person is in the data at all. Every target was therefore attacked twice: with its "
        "record in the data, and with the record removed. The attacker names somebody only if the best record is far enough "
        "ahead. This threshold is set on one half of the targets, where missed and false matches are equally frequent, "
        "and measured on the other half."
    )
    chart = charts.absent(seen, about)
    return Section("absent", title, [text], [chart] if chart else [], [table])


def _bits(seen: FindingsView) -> Section | None:
    chart = charts.bits(seen)
    if chart is None:
        return None
    prior = chart.table.rows[0]["prior"]
    text = (
        f"Uncertainty is counted in bits. If nothing is known, {several(int(seen.data['n_records']), 'record')} are equally "
        f"likely: {prior:.1f} bits. Each known fact lowers the number. At 0 bits the attacker is certain; each remaining "
        "bit doubles the number of records that still look alike."
    )
    return Section("bits", "Remaining uncertainty", [text], [chart])


def _who(seen: FindingsView, about: Case) -> Section:
    chart = breakdown("lengths", seen, about)
    rows = [
        {
            "words": c.words,
            "attack": c.attack,
            **{f"k{r.k}": r.rate for r in c.result.k_identified},
        }
        for c in seen.cases
    ]
    lists = [
        (f"k{k}", "alone first" if k == 1 else f"among the first {k}", "share", "k-identified")
        for k in (r.k for r in about.result.k_identified)
    ]
    table = make_table("candidates", rows, *lists)
    text = (
        "An average hides differences between people. Here records are grouped by how many items they hold, in groups of about "
        "equal size. Being among the first few candidates is a risk too: a short list can be checked by hand."
    )
    return Section("who", "Who is at risk", [text], [chart] if chart else [], [table])


def _carries(seen: FindingsView, about: Case) -> Section | None:
    texts, drawn = [], []
    if by_channel := channels(seen):
        drawn.append(by_channel)
        texts.append(
            "The same targets with values and days known exactly, roughly or not at all. The difference between two cells is "
            "what that column gives away. Rounding or dropping the column before the release takes it back."
        )
    if by_rarity := breakdown("rarity", seen, about):
        drawn.append(by_rarity)
        texts.append(
            "Targets are grouped by how many records hold the rarest item known of them. Where the groups differ, rare items "
            "carry the risk, and leaving them out would help. Where they do not differ, it would not."
        )
    return Section("channels", "What carries the risk", texts, drawn) if drawn else None


def _why(seen: FindingsView) -> Section | None:
    parts = []
    for name, title in WHY.items():
        content = seen.sections.get(name)
        if name == "describe" and isinstance(content, Mapping):
            parts.append(data_section(content, title))
            if explained := theorem(seen):
                parts.append(explained)
        elif content is not None:
            parts.append(generic(name, title, content))
    return Section("why", "Why", parts=parts) if parts else None


def _others(seen: FindingsView) -> list[Section]:
    names = {"defenses": "What defenses buy", "frontier": "What defenses buy"}
    return [
        generic(name, names.get(name, heading(name)), content)
        for name, content in seen.sections.items()
        if name not in (*WHY, ATTRIBUTES)
    ]
