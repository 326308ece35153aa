"""Which columns that reading leaves out could be channels of the entries or attributes of the records."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from shlex import quote

from standout.data.reading import names as by_name
from standout.data.reading.columns import Roles
from standout.data.reading.profile import Profile
from standout.data.scale import RESERVED

MOST_LABELS = 0.1
"""Text with more distinct cells than this share of the rows (and than `FEW_LABELS`) is free text or an id."""
FEW_LABELS = 20
RECEIPT = "receipt"
"""Name of the channel of receipts, by which the domain of purchases finds it."""
MOST_RECEIPTS = 0.8
"""A column with more distinct cells than this share of the rows numbers rows, not receipts."""


def proposed(
    profiles: Mapping[str, Profile], roles: Roles, follows: Callable[[str, str], bool]
) -> tuple[str, ...]:
    """One sentence that names the options for them; nothing if there is no such column.

    Parameters
    ----------
    profiles
        What the columns hold, in a sample of the rows.
    roles
        What the columns are used for.
    follows
        Whether the sample's rows with the same content in the second column have the same content
        in the first.
    """
    flags: dict[str, list[str]] = {"--channel": [], "--attributes": []}
    taken = {one.name for one in roles.further}
    place = by_name.position([use.name for use in roles.columns if use.role == "ignored"])
    if place and not all(profiles[name].is_number for name in place if name in profiles):
        place = None
    for use in roles.columns:
        profile = profiles.get(use.name)
        if use.role != "ignored" or use.identifier or profile is None:
            continue
        if place and use.name in place:
            continue
        if _may_be_receipt(profile) and follows(roles.record, use.name):
            name: str | None = RECEIPT
        else:
            name = _option_name(use.name) if _fits(profile) else None
        if name is None or name in taken or follows(use.name, roles.item):
            continue
        taken.add(name)
        flag = "--attributes" if follows(use.name, roles.record) else "--channel"
        flags[flag].append(name if name == use.name else f"{name}={use.name}")
    parts = [f"{flag} '{','.join(columns)}'" for flag, columns in flags.items() if columns]
    if place:
        parts.append(f"--lat {quote(place[0])} --lon {quote(place[1])}")
    if not parts:
        return ()
    return (f"columns whose risk could be measured, judged by a sample: {' '.join(parts)}",)


def _fits(profile: Profile) -> bool:
    """Whether a column holds numbers or a few labels, and neither ids nor free text."""
    if profile.distinct < 2 or profile.numbers_rows or by_name.is_identifier(profile.name):
        return False
    few = profile.distinct <= max(FEW_LABELS, MOST_LABELS * profile.rows)
    return profile.is_number or (profile.kind == "text" and few)


def _may_be_receipt(profile: Profile) -> bool:
    """Whether a column has the name of receipts, and several rows for most of its cells; all of one person, if they are."""
    return by_name.is_receipt(profile.name) and 1 < profile.distinct <= MOST_RECEIPTS * profile.rows


def _option_name(column: str) -> str | None:
    """A name for a column that the options take; None for a column that they cannot name."""
    if "," in column or "=" in column:
        return None
    if column.isidentifier():
        return column if column not in RESERVED else f"{column}_"
    name = re.sub(r"\W+", "_", column).strip("_")
    return name if name.isidentifier() and name not in RESERVED else None
