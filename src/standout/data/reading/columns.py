"""Which column is the record, the item, the value and the time: as named, or guessed from common names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from standout.errors import ColumnError

# fmt: off
_PERSONS = (
    "user", "customer", "client", "subscriber", "member", "person", "reviewer", "visitor", "account", "patient",
    "reader", "viewer", "listener", "player", "student", "buyer", "shopper", "borrower", "cardholder", "patron",
)
_THINGS = (
    "movie", "item", "product", "article", "place", "poi", "venue", "url", "page", "track", "song", "artist", "book",
    "film", "anime", "game", "business", "location", "merchant", "host", "domain", "beer", "recipe", "show", "query",
    "app", "course", "link", "site", "station", "diagnosis", "tag",
)
_MOMENTS = (
    "timestamp", "datetime", "ts", "datestamp", "unixtimestamp", "unixreviewtime", "invoicedate", "orderdate",
    "purchasedate", "transactiondate", "ratingdate", "reviewdate", "checkindate", "eventdate", "ratedat", "createdat",
    "orderedat", "purchasedat", "visitedat", "listenedat", "watchedat", "eventtime", "checkintime", "querytime",
    "visittime", "transactiontime", "ordertime",
)

# Names as `_plain` leaves them, in tiers: the first tier with a column of that name wins.
# Identifiers come before bare nouns, because a table may hold CustomerID and the customer's name.
_TIERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "record": (
        ("record", "recordid", "uid", "userhash", *(f"{p}id" for p in _PERSONS), *(f"{p}number" for p in _PERSONS)),
        (*_PERSONS, "users", "customers", "username", "anonid"),
        ("device", "deviceid", "household", "householdid", "householdkey", "cookie", "cookieid", "card", "cardid"),
    ),
    "item": (
        ("stockcode", "sku", "asin", "isbn", "ean", "upc", "gtin", "iid",
         *(f"{t}id" for t in _THINGS), *(f"{t}code" for t in _THINGS)),
        (*_THINGS, "items", "clickurl"),
        ("title", "description", "category", "categoryid", "name"),
    ),
    "value": (
        ("rating", "ratings", "stars", "score", "overall", "reviewscore", "starrating"),
        ("quantity", "qty", "value", "amount", "count", "plays", "playcount", "weight", "visits", "clicks", "views",
         "listens", "hours"),
        ("price", "unitprice", "spend", "sales", "total"),
    ),
    "time": (
        _MOMENTS,
        ("date", "reviewtime"),
        ("time", "day", "epoch", "week"),
    ),
}
# fmt: on

_MEANINGS = {
    "record": "the person (user, customer, member …)",
    "item": "the thing (movie, product, place …)",
}


@dataclass(frozen=True)
class Roles:
    """Columns by role; None = the data has no such channel."""

    record: str
    item: str
    value: str | None
    time: str | None
    notes: tuple[str, ...]

    def chosen(self) -> dict[str, str]:
        """Role → column, for the roles that have one."""
        pairs = {"record": self.record, "item": self.item, "value": self.value, "time": self.time}
        return {role: column for role, column in pairs.items() if column is not None}


def choose_columns(
    names: Sequence[str],
    *,
    record: str | None = None,
    item: str | None = None,
    value: str | None = None,
    time: str | None = None,
) -> Roles:
    """Column for each role: the one that was named, else the one whose name is common for it.

    >>> choose_columns(["userId", "movieId", "rating"]).notes[0]
    'columns: record = userId, item = movieId, value = rating (guessed)'
    """
    said = {"record": record, "item": item, "value": value, "time": time}
    found: dict[str, str | None] = {}
    for role, name in said.items():
        if name == "" and role in ("value", "time"):
            found[role] = None
        elif name is not None:
            found[role] = _named(names, name, role)
    _check_apart(found)
    for role in said:
        if role not in found:
            taken = {column for column in found.values() if column is not None}
            found[role] = _guessed([n for n in names if n not in taken], role, names)
    chosen = {role: column for role, column in found.items() if column is not None}
    guessed = [role for role in chosen if said[role] is None]
    note = "columns: " + ", ".join(f"{role} = {chosen[role]}" for role in said if role in chosen)
    if guessed:
        note += " (guessed)" if len(guessed) == len(chosen) else f" (guessed: {', '.join(guessed)})"
    notes = [note]
    missing = [role for role in ("value", "time") if found[role] is None and said[role] is None]
    if missing:
        notes.append(f"no {' and no '.join(missing)} column found")
    assert found["record"] is not None and found["item"] is not None
    return Roles(found["record"], found["item"], found["value"], found["time"], tuple(notes))


def _plain(name: str) -> str:
    """Name without case, underscores, hyphens, dots and spaces."""
    return re.sub(r"[\s_.\-]+", "", name).lower()


def _named(names: Sequence[str], name: str, role: str) -> str:
    times = Counter(names)[name]
    if times == 1:
        return name
    if times > 1:
        raise ColumnError(f"column {name!r} for {role} stands {times} times: rename all but one")
    lower = {n.lower(): n for n in names}
    near = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    hint = f" Did you mean {lower[near[0]]!r}?" if near else ""
    raise ColumnError(f"no column {name!r} for {role}. Columns: {', '.join(names)}.{hint}")


def _check_apart(found: dict[str, str | None]) -> None:
    """Refuse one column in two roles."""
    roles_of: dict[str, list[str]] = {}
    for role, column in found.items():
        if column is not None:
            roles_of.setdefault(column, []).append(role)
    for column, roles in roles_of.items():
        if len(roles) > 1:
            raise ColumnError(f"column {column!r} cannot be {' and '.join(roles)} at once: name another one")


def _guessed(free: Sequence[str], role: str, names: Sequence[str]) -> str | None:
    """The one column of the best tier; None for a value or time that there is not."""
    for tier in _TIERS[role]:
        options = [n for n in free if _plain(n) in tier]
        if len(options) == 1:
            return options[0]
        if options:
            none = f", or none with {role}='' (--{role} '')" if role in ("value", "time") else ""
            raise ColumnError(
                f"more than one column could be the {role}: {', '.join(options)}. Name one with --{role} NAME{none}"
            )
    if role in ("value", "time"):
        return None
    raise ColumnError(
        f"no column looks like {_MEANINGS[role]}. Columns: {', '.join(names)}. Name it with --{role} NAME"
    )
