"""The sections of a report, in reading order: text, charts and tables as plain data."""

from __future__ import annotations

from collections.abc import Mapping

from standout.audit.findings import Findings
from standout.report import aware, breakdowns, charts
from standout.report.described import described
from standout.report.evidence import data_read, evidence, limits
from standout.report.risk_chart import risk
from standout.report.section import Section, generic, heading
from standout.report.sentences import answer
from standout.report.tables import Column, ReportTable
from standout.report.theorem import theorem
from standout.report.view import Case, View, view, why_falling
from standout.report.words import percent, several

WHY = {
    "describe": "The data at a glance",
    "sparsity": "How far apart records are",
    "bounds": "What theory says about these numbers",
    "certificates": "Theorems checked on this data",
    "amplification": "What a found record reveals",
    "population": "From the sample to the population",
}
"""Sections that explain the risk, in order."""


def sections(findings: Findings) -> list[Section]:
    """Everything after the answer."""
    seen = view(findings)
    about = answer(seen).case
    made = [
        data_read(seen),
        _risk(seen),
        _attackers(seen, about),
        aware.section(seen),
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


def _risk(seen: View) -> Section:
    n = max(int(c.hit["n"]) for c in seen.cases)
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
    reasons = {why for case in seen.cases for why in case.entry["not_measured"].values()}
    text += [f"Not measured where a number is missing: {why}." for why in sorted(reasons)]
    if fewest.eligible_share < 1:
        text.append(
            f"The share counts people who have at least as many items as are known; for {fewest.words} these are "
            f"{percent(fewest.eligible_share)} of all people. The table also gives the share of all people, "
            f"where the others count as not found. {why_falling(seen)}".strip()
        )
    return Section("risk", "How few facts find a person", tuple(text), (risk(seen),))


def _attackers(seen: View, about: Case) -> Section:
    won = dict.fromkeys(seen.attacks, 0)
    for case in seen.cases:
        top = max(r["hit"]["rate"] for r in case.results)
        for r in case.results:
            won[r["attack"]["label"]] += r["hit"]["rate"] >= top
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
            "rate": c.hit["rate"],
            "low": c.hit["low"],
            "high": c.hit["high"],
            **{f"vs_{k}": v for k, v in (c.strongest or {}).get("versus", {}).items()},
        }
        for c in seen.cases
    ]
    table = ReportTable(
        "strongest",
        "The strongest attack and its lead over Scoreboard-RH",
        (
            Column("words", "known of the person", "text", "kind of knowledge"),
            Column("attack", "strongest attack", "text", "strongest attack"),
            Column("rate", "hit rate", "share", "hit rate"),
            Column("", "95% interval", "interval", "interval"),
            Column("vs_difference", "lead", "points"),
            Column("vs_low", "lead, low", "points"),
            Column("vs_high", "lead, high", "points"),
            Column("vs_p_value", "p", "p", "McNemar test"),
        ),
        tuple(rows),
    )
    shown = (charts.attackers(seen, about),) if len(seen.attacks) > 1 else ()
    return Section("attackers", "The strongest attacker", tuple(text), shown, (table,))


def _absent(seen: View, about: Case) -> Section:
    chart = charts.absent(seen, about)
    rows = []
    for c in seen.cases:
        tuned = c.result["calibrated"]
        if tuned is not None:
            rows.append(
                {
                    "words": c.words,
                    "attack": c.attack,
                    "right": tuned["matched_right"]["rate"],
                    "false": tuned["false_match"]["rate"],
                    "low": tuned["false_match"]["low"],
                    "high": tuned["false_match"]["high"],
                    **{f"prior{p['prior']:g}": p["precision"] for p in tuned["precision"]},
                }
            )
    if not rows:
        none = "There were too few targets to set a threshold on one half and test it on the other."
        return Section(
            "absent",
            "If the person is not in the data",
            (f"{none} False matches were not measured.",),
        )
    priors = [k for k in rows[0] if k.startswith("prior")]
    table = ReportTable(
        "precision",
        "Names given at the calibrated threshold, and how many of them are correct",
        (
            Column("words", "known of the person", "text", "kind of knowledge"),
            Column("attack", "attack", "text", "attack"),
            Column("right", "named correctly", "share", "named correctly"),
            Column("false", "false match", "share", "false match"),
            Column("", "95% interval", "interval", "interval"),
            *(
                Column(
                    k, f"precision if {percent(float(k[5:]))} are in the data", "share", "precision"
                )
                for k in priors
            ),
        ),
        tuple(rows),
    )
    text = (
        "An attacker does not know whether the person is in the data at all. Every target was therefore attacked twice: with its "
        "record in the data, and with the record removed. The attacker names somebody only if the best record is far enough "
        "ahead. This threshold is set on one half of the targets, where missed and false matches are equally frequent, "
        "and measured on the other half."
    )
    return Section(
        "absent", "If the person is not in the data", (text,), (chart,) if chart else (), (table,)
    )


def _bits(seen: View) -> Section | None:
    chart = charts.bits(seen)
    if chart is None:
        return None
    prior = chart.table.rows[0]["prior"]
    text = (
        f"Uncertainty is counted in bits. If nothing is known, {several(int(seen.data['n_records']), 'record')} are equally "
        f"likely: {prior:.1f} bits. Each known fact lowers the number. At 0 bits the attacker is certain; each remaining "
        "bit doubles the number of records that still look alike."
    )
    return Section("bits", "Remaining uncertainty", (text,), (chart,))


def _who(seen: View, about: Case) -> Section | None:
    chart = breakdowns.lengths(seen, about)
    ks = [r["k"] for r in about.result["k_identified"]]
    rows = [
        {
            "words": c.words,
            "attack": c.attack,
            **{f"k{r['k']}": r["rate"] for r in c.result["k_identified"]},
        }
        for c in seen.cases
    ]
    table = ReportTable(
        "candidates",
        "People among the best-fitting records",
        (
            Column("words", "known of the person", "text", "kind of knowledge"),
            Column("attack", "attack", "text", "attack"),
            *(
                Column(
                    f"k{k}",
                    "alone first" if k == 1 else f"among the first {k}",
                    "share",
                    "k-identified",
                )
                for k in ks
            ),
        ),
        tuple(rows),
    )
    text = (
        "An average hides differences between people. Here records are grouped by how many items they hold, in groups of about "
        "equal size. Being among the first few candidates is a risk too: a short list can be checked by hand."
    )
    return Section("who", "Who is at risk", (text,), (chart,) if chart else (), (table,))


def _carries(seen: View, about: Case) -> Section | None:
    texts, drawn = [], []
    if by_channel := breakdowns.channels(seen):
        drawn.append(by_channel)
        texts.append(
            "The same targets with values and days known exactly, roughly or not at all. The difference between two cells is "
            "what that column gives away. Rounding or dropping the column before the release takes it back."
        )
    if by_rarity := breakdowns.rarity(seen, about):
        drawn.append(by_rarity)
        texts.append(
            "Targets are grouped by how many records hold the rarest item known of them. Where the groups differ, rare items "
            "carry the risk, and leaving them out would help. Where they do not differ, it would not."
        )
    return (
        Section("channels", "What carries the risk", tuple(texts), tuple(drawn)) if drawn else None
    )


def _why(seen: View) -> Section | None:
    parts = []
    for name, title in WHY.items():
        content = seen.sections.get(name)
        if name == "describe" and isinstance(content, Mapping):
            parts.append(described(content, title))
            if explained := theorem(seen):
                parts.append(explained)
        elif content is not None:
            parts.append(generic(name, title, content))
    return Section("why", "Why", parts=tuple(parts)) if parts else None


def _others(seen: View) -> list[Section]:
    names = {"defenses": "What defenses buy", "frontier": "What defenses buy"}
    return [
        generic(name, names.get(name, heading(name)), content)
        for name, content in seen.sections.items()
        if name not in WHY
    ]
