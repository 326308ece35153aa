"""The section on attributes of the person: alone, beside items, and the classes of people who share them."""

from __future__ import annotations

from standout.audit.findings import named_rate
from standout.report.tables import Section, make_table
from standout.report.view import Case, FindingsView
from standout.report.words import percent, several

NAME = "attributes"
"""Key of the classes in the findings."""


def attributes_section(seen: FindingsView) -> Section | None:
    """Attributes only, items only, both, and the equivalence classes; None if the data has no attributes."""
    classes = seen.sections.get(NAME)
    if classes is None:
        return None
    names, n = classes["names"], int(classes["n_records"])
    k = int(classes["smallest"])
    text = [
        f"Attributes of the person ({', '.join(names)}) are published beside the items. All of them together divide "
        f"{several(n, 'person', 'people')} into {several(int(classes['n_classes']), 'class', 'classes')} of people who have "
        f"them in common. The smallest class holds {several(k, 'person', 'people')} (k = {k}); {classes['n_unique']:,} of {n:,} "
        f"people ({percent(classes['unique_share'])}) are the only one of their class, so that the attributes alone single "
        f"them out, and {classes['n_in_small']:,} ({percent(classes['small_share'])}) are in a class of fewer than five. "
        "These numbers are counted over all records, without sampling. They say nothing of the items."
    ]
    rows = [
        {
            "words": case.words,
            **{
                key: x
                for name in ("unique", "sure", "found")
                for key, x in named_rate(name, case.measure(name)).items()
            },
        }
        for case in _compared(seen)
    ]
    tables = [make_table(NAME, rows)] if rows else []
    if rows:
        text.append(
            "The table compares what the attributes alone, items alone and both together find. Rates are shares of people with "
            "enough items."
        )
    return Section(NAME, "What attributes of the person add", text, tables=tables)


def _compared(seen: FindingsView) -> list[Case]:
    """Cases with attributes, and those that know the same items without them."""
    given = [c for c in seen.cases if c.adversary.get("attributes") and not c.entry.adversary.wrong]
    alike = {_items(c) for c in given}
    items_only = [
        c for c in seen.cases if not c.adversary.get("within") and _items(c) in alike and c.knows
    ]
    alone = [c for c in given if not c.knows]
    return [*alone, *items_only, *(c for c in given if c.knows)]


def _items(case: Case) -> tuple[object, ...]:
    """What is known beside the attributes."""
    keys = ("knows", "wrong", "choose", "value_within", "time_within", "view")
    return tuple(case.adversary.get(key) for key in keys)
