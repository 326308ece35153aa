"""The parts of a report, in reading order: words, charts and tables, all plain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standout.audit.findings import Findings
from standout.report import charts, why
from standout.report.drawing import Chart
from standout.report.sentences import answer
from standout.report.tables import Column, Table
from standout.report.view import Case, View, view
from standout.report.words import number, percent, several


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, charts with their tables, and tables of their own."""

    id: str
    title: str
    text: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    """Pairs of a term and what is to be said of it."""
    parts: tuple[Section, ...] = field(default=())


WHY = {
    "describe": "The data at a glance",
    "sparsity": "How far apart records are",
    "bounds": "What theory says about these numbers",
    "certificates": "Theorems checked on this data",
    "amplification": "What a found record tells",
    "population": "From the sample to the population",
}
"""Sections that explain the risk, in order."""


def sections(findings: Findings) -> list[Section]:
    """Everything after the answer."""
    seen = view(findings)
    about = answer(seen).case
    made = [
        _risk(seen),
        _attackers(seen, about),
        _absent(seen, about),
        _bits(seen),
        _who(seen, about),
        _carries(seen, about),
        _why(seen),
        *_others(seen),
        _limits(seen),
        _evidence(seen),
    ]
    return [s for s in made if s is not None]


def _risk(seen: View) -> Section:
    n = seen.cases[0].hit["n"]
    text = (
        f"Each point is the share of people whose own record came first when somebody knew that many items about them, "
        f"for the strongest of {several(len(seen.attacks), 'attack')}. Bars are 95% intervals from {several(n, 'target')}; "
        f"a random guess finds {percent(seen.cases[0].random)}."
    )
    return Section("risk", "How few facts find a person", (text,), (charts.risk(seen),))


def _attackers(seen: View, about: Case) -> Section:
    won = {a: sum(c.attack == a for c in seen.cases) for a in seen.attacks}
    best = max(won, key=lambda a: won[a])
    text = [
        f"{best} was the strongest attack for {won[best]} of {several(len(seen.cases), 'kind')} of knowledge. "
        "The strongest is chosen on one half of the targets and measured on the other, so that the choice does not flatter it."
    ]
    rows = [
        {"words": c.words, "attack": c.attack, "rate": c.hit["rate"], "low": c.hit["low"], "high": c.hit["high"],
         **{f"vs_{k}": v for k, v in (c.strongest or {}).get("versus", {}).items()}}
        for c in seen.cases
    ]  # fmt: skip
    table = Table("strongest", "The strongest attack and its lead over Scoreboard-RH", (
        Column("words", "known of the person", "text", "kind of knowledge"),
        Column("attack", "strongest attack", "text", "strongest attack"),
        Column("rate", "hit rate", "share", "hit rate"), Column("", "95% interval", "interval", "interval"),
        Column("vs_difference", "lead", "points"), Column("vs_low", "lead, low", "points"),
        Column("vs_high", "lead, high", "points"),
        Column("vs_p_value", "p", "p", "McNemar test"),
    ), tuple(rows))  # fmt: skip
    shown = (charts.attackers(seen, about),) if len(seen.attacks) > 1 else ()
    return Section("attackers", "The strongest attacker", tuple(text), shown, (table,))


def _absent(seen: View, about: Case) -> Section:
    chart = charts.absent(seen, about)
    rows = []
    for c in seen.cases:
        tuned = c.result["calibrated"]
        if tuned is not None:
            rows.append({"words": c.words, "attack": c.attack, "right": tuned["matched_right"]["rate"],
                         "false": tuned["false_match"]["rate"],
                         "low": tuned["false_match"]["low"], "high": tuned["false_match"]["high"],
                         **{f"prior{p['prior']:g}": p["precision"] for p in tuned["precision"]}})  # fmt: skip
    if not rows:
        none = "There were too few targets to set a threshold on one half and test it on the other."
        return Section("absent", "If the person is not in the data", (f"{none} False matches were not measured.",))
    priors = [k for k in rows[0] if k.startswith("prior")]
    table = Table("precision", "Names given at the calibrated threshold, and how many of them are right", (
        Column("words", "known of the person", "text", "kind of knowledge"), Column("attack", "attack", "text", "attack"),
        Column("right", "named rightly", "share"), Column("false", "false match", "share", "false match"),
        Column("", "95% interval", "interval", "interval"),
        *(Column(k, f"precision if {percent(float(k[5:]))} are in the data", "share", "precision") for k in priors),
    ), tuple(rows))  # fmt: skip
    text = (
        "An attacker does not know whether the person is in the data at all. Every target was therefore attacked twice: with its "
        "record in the data, and with it removed. She names somebody only if the best record is far enough "
        "ahead; the threshold is "
        "set on one half of the targets, where missed and false matches are equally frequent, and measured on the other."
    )
    return Section("absent", "If the person is not in the data", (text,), (chart,) if chart else (), (table,))


def _bits(seen: View) -> Section | None:
    chart = charts.bits(seen)
    if chart is None:
        return None
    prior = chart.table.rows[0]["prior"]
    text = (
        f"Before anything is known, finding one of {several(int(seen.data['n_records']), 'record')} takes {prior:.1f} bits. "
        "What is known takes bits away; at 0 the attacker is certain, and every bit that is left doubles the "
        "number of records that "
        "still look alike to her."
    )
    return Section("bits", "Bits left", (text,), (chart,))


def _who(seen: View, about: Case) -> Section | None:
    chart = charts.lengths(seen, about)
    ks = [r["k"] for r in about.result["k_identified"]]
    rows = [
        {"words": c.words, "attack": c.attack, **{f"k{r['k']}": r["rate"] for r in c.result["k_identified"]}}
        for c in seen.cases
    ]
    table = Table("candidates", "People among the best-fitting records", (
        Column("words", "known of the person", "text", "kind of knowledge"), Column("attack", "attack", "text", "attack"),
        *(Column(f"k{k}", "alone first" if k == 1 else f"among the first {k}", "share", "k-identified") for k in ks),
    ), tuple(rows))  # fmt: skip
    text = (
        "The average hides people. Records are grouped by how many items they hold, in groups of about equal "
        "size. Being among the "
        "first few candidates is a risk too: a short list can be checked by hand."
    )
    return Section("who", "Who is at risk", (text,), (chart,) if chart else (), (table,))


def _carries(seen: View, about: Case) -> Section | None:
    texts, drawn = [], []
    if by_channel := charts.channels(seen):
        drawn.append(by_channel)
        texts.append(
            "The same targets, the same items, with values and days known exactly, roughly or not at all: the difference between "
            "two cells is what that channel gives away, and what coarsening or dropping it would take back."
        )
    if by_rarity := charts.rarity(seen, about):
        drawn.append(by_rarity)
        texts.append(
            "Rare items give people away. Targets are grouped by how many records hold the rarest item known of them: where the "
            "groups differ, leaving out rare items would help; where they do not, it would not."
        )
    return Section("channels", "What carries the risk", tuple(texts), tuple(drawn)) if drawn else None


def _why(seen: View) -> Section | None:
    parts = [_described(seen.sections["describe"])] if "describe" in seen.sections else []
    parts += [
        generic(name, title, seen.sections[name])
        for name, title in WHY.items()
        if name in seen.sections and name != "describe"
    ]
    return Section("why", "Why", parts=tuple(parts)) if parts else None


def _described(content: Mapping[str, Any]) -> Section:
    """What `describe` measured: the drawn parts as charts, the rest as tables."""
    drawn = {"information": why.information(content), "sparsity": why.sparsity(content)}
    rest = {k: v for k, v in content.items() if drawn.get(k) is None}
    rest |= rest.pop("overview", {})
    plain = generic("describe", WHY["describe"], rest)
    text = (
        "People can be found because records are sparse: each holds few of all items, most of which few others "
        "hold, so that a handful "
        "of them fits one record only. A fact about a rare item is worth more bits than one about a popular item."
    )
    return Section(
        plain.id,
        plain.title,
        (text, *plain.text),
        tuple(c for c in drawn.values() if c),
        plain.tables,
        plain.points,
        plain.parts,
    )


def _others(seen: View) -> list[Section]:
    names = {"defenses": "What defenses buy", "frontier": "What defenses buy"}
    return [
        generic(name, names.get(name, _title(name)), content)
        for name, content in seen.sections.items()
        if name not in WHY
    ]


def _limits(seen: View) -> Section:
    points = [
        ("Attacks that ran",
         f"{', '.join(seen.attacks)}. A low rate says that these attacks failed, not that none could succeed."),
        ("Where the knowledge comes from",
         "It is self-sampled: drawn from the released records themselves, then blurred. Real outside sources "
         "disagree with the data in "
         "ways that no blur imitates, so rates like these overstate what linking a real second source achieves "
         "(Wang and others, NDSS 2018)."),
        ("Which items are known", f"Chosen as stated: {', '.join(sorted({str(c.adversary['choose']) for c in seen.cases}))}. "
         "Somebody who knows the rarest items of a person does better."),
        ("Who was attacked", _eligible(seen)),
        ("Ties",
         "When several records fit equally well, “alone first” counts that against the attacker; the hit rate counts her pick."),
        ("No threshold of safety",
         "This report names no acceptable rate. That is a decision, with a source and a date for review."),
        ("What is not covered",
         "Attackers who combine several releases, who took part in making the data, or who learn about a person "
         "without finding the record."),
    ]  # fmt: skip
    points += [("Note", w) for w in seen.warnings]
    return Section("limits", "Limits and assumptions", points=tuple(points))


def _eligible(seen: View) -> str:
    fewest = min(seen.cases, key=lambda c: int(c.result["n_eligible"]))
    n, total = int(fewest.result["n_eligible"]), int(seen.data["n_records"])
    return (
        f"{several(max(int(c.result['n_targets']) for c in seen.cases), 'record')} at most, drawn at random "
        f"among those that hold enough items; "
        f"for {fewest.words} these are {number(n)} of {number(total)} ({percent(n / total)}). Nothing is said about the others."
    )


def _evidence(seen: View) -> Section:
    proof, data = seen.provenance, seen.data
    points = [
        (
            "Data",
            f"{several(data['n_records'], 'record')}, {several(data['n_items'], 'item')}, "
            f"{several(data['n_entries'], 'entry').replace('entrys', 'entries')}",
        )
    ]
    if data.get("values"):
        points.append(
            (
                "Values",
                f"{data['values']['levels']} levels from {number(data['values']['low'])} to {number(data['values']['high'])}",
            )
        )
    if data.get("days"):
        points.append(("Days", f"{data['days']['first']} to {data['days']['last']}"))
    names = {"data_sha256": "SHA-256 of the data", "created": "Made", "seed": "Seed", "targets": "Targets asked for",
             "engine": "Engine",
             "n_attacks": "Attacks tried", "n_adversaries": "Kinds of knowledge "
             "tried", "wall_seconds": "Seconds", "platform": "Platform",
             "command": "Command that repeats it"}  # fmt: skip
    points += [(title, _evidence_text(key, proof[key])) for key, title in names.items() if proof.get(key) is not None]
    points += [(_title(k), _said(v)) for k, v in proof.items() if k not in names and k != "versions" and v is not None]
    if proof.get("versions"):
        points.append(("Versions", ", ".join(f"{k} {v}" for k, v in proof["versions"].items())))
    cleaning = {k: v for k, v in data.get("cleaning", {}).items() if v not in (0, 0.0, None, []) and k != "columns"}
    if cleaning:
        points.append(("Reading", "; ".join(f"{_title(k).lower()}: {_said(v)}" for k, v in cleaning.items())))
    rows = []
    for r in {c["attack"]["label"]: c["attack"] for case in seen.cases for c in case.results}.values():
        rows.append(
            {
                "label": r["label"],
                "options": ", ".join(f"{k} = {_said(v)}" for k, v in r["options"].items() if v is not None) or "none",
            }
        )
    table = Table(
        "parameters",
        "Attacks and their options",
        (Column("label", "attack"), Column("options", "options")),
        tuple(rows),
    )
    return Section("evidence", "Evidence", tables=(table,), points=tuple(points))


def _evidence_text(key: str, x: Any) -> str:
    if key == "command" and isinstance(x, list | tuple):
        from shlex import join

        return join(str(part) for part in x)
    return str(x)


def _said(x: Any) -> str:
    if isinstance(x, Mapping):
        return ", ".join(f"{k} {_said(v)}" for k, v in x.items())
    return "; ".join(map(_said, x)) if isinstance(x, list | tuple) else number(x)


def _title(name: str) -> str:
    return name.removeprefix("n_").replace("_", " ").replace("-", " ").capitalize()


MOST_ROWS = 200


def generic(name: str, title: str, content: Any) -> Section:
    """Any section as headings, pairs and tables, whatever its shape.

    >>> generic("x", "X", {"mean": 2.5, "rows": [{"k": 1, "p": 0.1}]}).points
    (('Mean', '2.5'),)
    """
    if not isinstance(content, Mapping):
        content = {"result": content}
    points: list[tuple[str, str]] = []
    tables: list[Table] = []
    parts: list[Section] = []
    text: list[str] = []
    for key, x in content.items():
        if isinstance(x, Mapping) and not any(isinstance(v, Mapping | list | tuple) for v in x.values()):
            points.append((_title(key), _said({_title(k).lower(): v for k, v in x.items()}) or "–"))
        elif isinstance(x, Mapping):
            parts.append(generic(f"{name}-{key}", _title(key), x))
        elif isinstance(x, list | tuple) and x and all(isinstance(r, Mapping) for r in x):
            tables.append(_table(f"{name}-{key}", _title(key), list(x)))
        elif isinstance(x, list | tuple):
            points.append((_title(key), _said(x[:MOST_ROWS]) or "–"))
        elif key in ("words", "summary", "text", "note") and isinstance(x, str):
            text.append(x)
        else:
            points.append((_title(key), number(x)))
    return Section(name, title, tuple(text), (), tuple(tables), tuple(points), tuple(parts))


def _table(name: str, title: str, rows: list[Mapping[str, Any]]) -> Table:
    """A table of whatever columns the rows have; nested cells are written out."""
    flat = []
    for row in rows[:MOST_ROWS]:
        one: dict[str, Any] = {}
        for k, v in row.items():
            if isinstance(v, Mapping):
                one |= {
                    f"{k}_{inner}": x if not isinstance(x, Mapping | list | tuple) else _said(x)
                    for inner, x in v.items()
                }
            else:
                one[k] = _said(v) if isinstance(v, list | tuple) else v
        flat.append(one)
    keys = list(dict.fromkeys(k for row in flat for k in row))
    numeric = {k for k in keys if all(row.get(k) is None or isinstance(row.get(k), int | float) for row in flat)}
    columns = tuple(Column(k, _title(k).lower(), "number" if k in numeric else "text") for k in keys)
    shown = title if len(rows) <= MOST_ROWS else f"{title} (first {MOST_ROWS} of {len(rows):,})"
    return Table(name, shown, columns, tuple(flat))
