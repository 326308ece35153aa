"""Sections of the report on its basis: what was read, what the numbers do not cover, and where they come from.

`sections.py` puts them in order. The evidence of a gate, which is signed, is in `gate/evidence.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report.tables import Section, heading, make_table, written
from standout.report.view import FindingsView
from standout.report.words import number, percent, several

ROLES = {"record": "the person", "item": "the item", "value": "the value", "time": "the time"}
"""Roles that a column is used in, in words."""

DROPPED = {
    "rows_bad": "could not be parsed",
    "rows_without_record": "had no person",
    "rows_without_item": "had no item",
}

Inventory = list[Mapping[str, Any]]


def inventory(seen: FindingsView) -> tuple[Inventory, Inventory]:
    """Columns of the file that were used, and those that were not; both empty if there is no inventory."""
    columns = [
        c
        for c in (seen.data.get("cleaning") or {}).get("columns") or ()
        if isinstance(c, Mapping) and c.get("name")
    ]
    used = [c for c in columns if _use(c)]
    order = [*ROLES.values()]
    return sorted(used, key=lambda c: (*order, _use(c)).index(_use(c))), [
        c for c in columns if not _use(c)
    ]


def _use(column: Mapping[str, Any]) -> str:
    """What a column was used as, in words; empty if it was ignored."""
    role = str(column.get("role"))
    further = f"the {role}" if role.startswith(("channel ", "attribute ")) else ""
    return ROLES.get(role, further)


def _ignored_words(column: Mapping[str, Any]) -> str:
    role, reason = column.get("role"), column.get("reason")
    more = [str(x) for x in (role if role not in (None, "", "ignored") else None, reason) if x]
    return f"{column['name']} ({'; '.join(more)})" if more else str(column["name"])


def data_read(seen: FindingsView) -> Section:
    """Columns used and ignored, rows dropped: if the file was read wrongly, every number is wrong."""
    cleaning = seen.data.get("cleaning") or {}
    used, ignored = inventory(seen)
    direct = [f"{c['name']} ({c['identifier']})" for c in (*used, *ignored) if c.get("identifier")]
    points = {
        "Columns used": ", ".join(f"{c['name']} as {_use(c)}" for c in used),
        "Columns ignored": ", ".join(map(_ignored_words, ignored)),
        "Direct identifiers": direct
        and f"{', '.join(direct)}: such columns name people by themselves. Remove them before a release.",
        "Rows": _rows(cleaning, seen),
        "Repeats": _repeats(cleaning),
        "Missing": ", ".join(
            f"{number(cleaning[key])} entries without a {name}"
            for key, name in (("values_missing", "value"), ("times_missing", "time"))
            if cleaning.get(key)
        ),
    }
    # the inventory repeats these notes
    repeated = ("columns:", "ignored columns", "warning: column") if used or ignored else ()
    notes = [str(note) for note in cleaning.get("notes") or ()]
    read = [("Reading", note) for note in notes if not note.startswith(repeated)]
    return Section("data", "What was read", points=[*_present(points), *read])


def _present(points: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Points that have a text."""
    return [(term, text) for term, text in points.items() if text]


def _repeats(cleaning: Mapping[str, Any]) -> str:
    if not cleaning.get("repeated_pairs"):
        return ""
    rule = cleaning.get("repeats")
    kept = "all of them kept" if rule == "keep" else f"reduced by: {rule}"
    n = number(cleaning["repeated_pairs"])
    return f"{n} entries beyond the first for the same person and item, {kept}"


def _rows(cleaning: Mapping[str, Any], seen: FindingsView) -> str:
    entries = several(int(seen.data["n_entries"]), "entry", "entries")
    read = cleaning.get("rows_read")
    if not read:
        return f"{entries} in all"
    reasons = [f"{number(cleaning[k])} {words}" for k, words in DROPPED.items() if cleaning.get(k)]
    dropped = sum(int(cleaning.get(k) or 0) for k in DROPPED)
    if not dropped:
        return f"{number(read)} read, none dropped; {entries} in all"
    return f"{number(read)} read, {number(dropped)} dropped ({percent(dropped / read)}): {', '.join(reasons)}; {entries} in all"


def limits(seen: FindingsView) -> Section:
    """What the numbers do not say."""
    chosen = ", ".join(sorted({c.entry.adversary.choose for c in seen.cases}))
    used, ignored = inventory(seen)
    # what was read and nobody knew is named in the findings as "the channel price"
    not_known = [c for c in used if _use(c) in seen.not_measured]
    others = ", ".join(str(c["name"]) for c in (*not_known, *ignored))
    points = {
        "Attacks that ran": f"{', '.join(seen.attacks)}. A low rate says that these attacks failed, not that none could succeed.",
        "Source of the knowledge": "It was sampled from the released records themselves and then blurred. Real outside "
        "sources disagree with the data in other ways as well, so these rates overstate what linking a real second source "
        "achieves (Wang and others, NDSS 2018).",
        "Which items are known": f"Chosen as stated: {chosen}. An attacker who knows rare items of a person finds more "
        "people, one who knows popular items far fewer. What the best guess finds beyond the people who are unique depends on "
        "this choice.",
        "Who was attacked": _eligible(seen),
        "Ties": "If several records fit equally well, a hit counts as one divided by their number; "
        "“alone first” does not count ties.",
        "No threshold of safety": "This report states no acceptable rate. Setting one is a decision that needs a source and a "
        "date for review.",
        "What is not covered": "Attackers who combine several releases, who took part in making the data, or who learn about "
        "a person without finding the record.",
        "Columns not covered": others
        and f"The file also has {others}. They were not part of the attacks. If they are released, people may be found more "
        "easily than stated here.",
    }
    notes = [("Note", w) for w in seen.warnings]
    return Section("limits", "Limits and assumptions", points=[*_present(points), *notes])


def _eligible(seen: FindingsView) -> str:
    fewest = min(seen.cases, key=lambda c: c.entry.n_eligible)
    n, total = fewest.entry.n_eligible, int(seen.data["n_records"])
    return (
        f"At most {several(max(c.entry.n_targets for c in seen.cases), 'record')}, drawn at random "
        f"among those that hold enough items. For {fewest.words} these are {number(n)} of {number(total)} "
        f"({percent(n / total)}). The rates say nothing about the others."
    )


NAMES = {
    "data_sha256": "SHA-256 of the data",
    "created": "Created",
    "seed": "Random seed",
    "targets": "Targets asked for",
    "engine": "Engine",
    "n_attacks": "Attacks tried",
    "n_adversaries": "Kinds of knowledge tried",
    "wall_seconds": "Run time in seconds",
    "platform": "Platform",
    "command": "Command that repeats it",
}


def evidence(seen: FindingsView) -> Section:
    """Where the numbers come from, and how to repeat them."""
    proof, data = seen.provenance, seen.data
    entries = several(data["n_entries"], "entry", "entries")
    points = {
        "Data": f"{several(data['n_records'], 'record')}, {several(data['n_items'], 'item')}, {entries}"
    }
    if v := data.get("values"):
        points["Values"] = (
            f"{number(v['levels'])} levels from {number(v['low'])} to {number(v['high'])}"
        )
    if days := data.get("days"):
        resolution = days.get("resolution", "day")
        finer = "" if resolution == "day" else f", read to the {resolution}"
        points["Days"] = f"{days['first']} to {days['last']}{finer}"
    hidden = (*NAMES, "versions", "title")
    more = [(NAMES[k], _evidence_text(k, proof[k])) for k in NAMES if proof.get(k) is not None]
    more += [
        (heading(k), written(x)) for k, x in proof.items() if k not in hidden and x is not None
    ]
    if proof.get("versions"):
        more.append(("Versions", ", ".join(f"{k} {x}" for k, x in proof["versions"].items())))
    attacks = {r.attack.label: r.attack for case in seen.cases for r in case.results}
    rows = [
        {
            "label": label,
            "options": ", ".join(_option(k, v) for k, v in a.options.items() if v is not None)
            or "none",
        }
        for label, a in attacks.items()
    ]
    return Section(
        "evidence",
        "Evidence",
        tables=[make_table("parameters", rows)],
        points=[*points.items(), *more],
    )


OPTIONS = {
    "phi": "smallest lead to name a record (phi)",
    "rho0": "scale of value differences (rho0)",
    "d0": "scale of day differences (d0)",
    "alpha": "smallest similarity of a match (alpha)",
    "prior": "assumed probability that the person is in the data (prior)",
    "cut": "smallest probability to name a record (cut)",
}
"""Options in words."""


def _option(name: str, value: Any) -> str:
    return f"{OPTIONS.get(name, name.replace('_', ' '))} = {written(value)}"


def _evidence_text(key: str, x: Any) -> str:
    if key == "command" and isinstance(x, list | tuple):
        from shlex import join

        return join(str(part) for part in x)
    return str(x)
