"""Direct identifiers in released data: columns and labels that name people without any attack.

The description of the data in findings states them (`experiment/subject.py`), and the gate refuses
them (`gate/columns.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from standout.data.catalog import Catalog
from standout.data.reading.columns import shown_names
from standout.data.reading.profile import EMAIL, PHONE

_EMAIL, _PHONE = re.compile(EMAIL), re.compile(PHONE)
_LEAST_PHONES = 0.8
"""Share of labels that must look like phone numbers."""


def kind_of_labels(labels: Iterable[object]) -> str | None:
    """Direct identifier that labels hold: an e-mail address in any of them, or phone numbers in most; None if neither.

    >>> kind_of_labels(["Heat", "write to ann@mail.example"]), kind_of_labels(["+49 170 1234567"]), kind_of_labels(["Heat"])
    ('e-mail address', 'phone number', None)
    """
    texts = [str(label) for label in labels]
    if any(_EMAIL.search(text) for text in texts):
        return "e-mail address"
    phones = sum(_PHONE.fullmatch(text) is not None for text in texts)
    return "phone number" if texts and phones >= _LEAST_PHONES * len(texts) else None


def direct_identifiers(data: Catalog) -> list[dict[str, str]]:
    """Where the data seems to name people, and how: `where` ("column 'mail'", "items") and `kind` ("e-mail address")."""
    # a defense in memory leaves out the columns that were not measured
    roles = ("record",) if data.origin is not None else ("record", "ignored")
    in_columns = [
        {"where": f"column {shown_names([use.name])}", "kind": use.identifier}
        for use in data.cleaning.columns
        if use.identifier and (use.role in roles or use.further)
    ]
    kind = kind_of_labels(data.item_labels)
    return [*in_columns, {"where": "items", "kind": kind}] if kind else in_columns
