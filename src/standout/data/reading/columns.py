"""Which column is the record, the item, the value and the time: as named, or guessed from content and name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from standout.data.cleaning import ColumnUse, identifier_notes, ignored_note
from standout.data.positions import LAT, LON, PLACE_NOTE
from standout.data.reading import names as by_name
from standout.data.reading.further import FurtherColumn, latitude_column
from standout.data.reading.options import GUESS, Column
from standout.data.reading.profile import Profile
from standout.errors import ColumnError, option

_MEANINGS = {
    "record": "the person (user, customer, member …)",
    "item": "the thing (movie, product, place …)",
}
ROLES = ("record", "item", "value", "time")

Tiers = list[tuple[str, list[str]]]
"""Candidates of decreasing rank, with the reason for a guess among them."""


@dataclass(frozen=True)
class Roles:
    """Columns by role; None = the data has no such channel."""

    record: str
    item: str
    value: str | None
    time: str | None
    notes: tuple[str, ...]
    columns: tuple[ColumnUse, ...] = ()
    """Every column of the source, in its order, and what it is used for."""
    further: tuple[FurtherColumn, ...] = ()
    """Columns of channels beside the value, and of attributes."""
    item_is_place: bool = False
    """Whether there are no items but places: latitude and longitude. `item` is then the column of latitudes."""

    def chosen(self) -> dict[str, str]:
        """Role → column, for the roles that have one; a further channel or attribute has its name in SQL for a role."""
        pairs = {"record": self.record, "item": self.item, "value": self.value, "time": self.time}
        chosen = {role: column for role, column in pairs.items() if column is not None}
        return chosen | {one.sql_name: one.column for one in self.further}


def choose_columns(
    names: Sequence[str],
    *,
    record: Column = GUESS,
    item: Column = GUESS,
    value: Column = GUESS,
    time: Column = GUESS,
    profiles: Mapping[str, Profile] | None = None,
    constant_per: Callable[[str, str], bool] = lambda column, by: False,
    ignore: Sequence[str] = (),
    further: Mapping[str, Mapping[str, str]] | None = None,
) -> Roles:
    """Column for each role: the one that was named, else the only one whose content and name fit.

    Parameters
    ----------
    names
        All columns.
    record, item, value, time
        A column, None or "" for no such channel, or `GUESS`.
    profiles
        What the columns hold; without it, only names decide.
    constant_per
        Whether rows with the same content in the second column have the same content in the first.
    ignore
        Columns that are not to be guessed.
    further
        Columns by name of the channels beside the value ("channel") and of the attributes
        ("attribute").

    Raises
    ------
    ColumnError
        If a named column is missing or the choice is ambiguous. The message names the options that
        settle it.

    Examples
    --------
    >>> choose_columns(["userId", "movieId", "rating"]).notes[0]
    'columns: record = userId, item = movieId, value = rating (guessed)'
    """
    said: dict[str, Column] = {"record": record, "item": item, "value": value, "time": time}
    found: dict[str, str | None] = {}
    for role, column in said.items():
        if column is None or column == "":
            found[role] = None
        elif isinstance(column, str):
            found[role] = _named(names, column, role)
    more = [
        FurtherColumn(kind, name, _named(names, column, f"{kind} {name}"), f"further_{kind}_{k}")
        for kind, columns in (further or {}).items()
        for k, (name, column) in enumerate(columns.items())
    ]
    found |= {one.role: one.column for one in more}
    _check_apart(found)
    place = latitude_column(more)
    free = [n for n in names if n not in ignore]
    chooser = _Chooser(
        by_name.FirstLine(free) if isinstance(names, by_name.FirstLine) else free,
        dict(profiles or {}),
        constant_per,
        found,
        has_place=place is not None,
    )
    for role in ("record", "item", "time", "value"):  # a time is not a value
        if role not in found:
            found[role] = chooser.guess(role)
    assert found["record"] is not None and (found["item"] is not None or place is not None)
    guessed = {role for role, column in said.items() if column is GUESS}
    columns = inventory(names, found, guessed, profiles or {}, chooser.reasons)
    notes = _notes(found, guessed, columns, profiles is not None)
    item_is_place = found["item"] is None
    if item_is_place:
        notes = (*notes, PLACE_NOTE)
    chosen = found["record"], found["item"] or place or "", found["value"], found["time"]
    return Roles(*chosen, notes, columns, tuple(more), item_is_place)


def inventory(
    names: Sequence[str],
    found: Mapping[str, str | None],
    guessed: set[str],
    profiles: Mapping[str, Profile],
    reasons: Mapping[str, str],
    unused: str = "ignored",
) -> tuple[ColumnUse, ...]:
    """Each column with its role (`unused` for none), the reason, and the direct identifier that it looks like."""
    role_of = {column: role for role, column in found.items() if column is not None}
    uses = []
    for name in names:
        profile = profiles.get(name)
        role = role_of.get(name, unused)
        reason = "" if profile is None else profile.words
        if name in role_of:
            how = f"guessed from the {reasons.get(role, 'name')}" if role in guessed else "named"
            reason = f"{how}; {reason}" if reason else how
        uses.append(ColumnUse(name, role, reason, None if profile is None else profile.identifier))
    return tuple(uses)


def _notes(
    found: Mapping[str, str | None], guessable: set[str], columns: Sequence[ColumnUse], looked: bool
) -> tuple[str, ...]:
    """Notes on the choice: columns used, missing channels, columns ignored, identifiers."""
    further = [role for role in found if role not in ROLES]
    chosen = {role: found[role] for role in (*ROLES, *further) if found.get(role) is not None}
    guessed = [role for role in chosen if role in guessable]
    note = "columns: " + ", ".join(f"{role} = {column}" for role, column in chosen.items())
    if guessed:
        note += " (guessed)" if len(guessed) == len(chosen) else f" (guessed: {', '.join(guessed)})"
    notes = [note]
    missing = [role for role in ("value", "time") if found[role] is None and role in guessable]
    if missing:
        notes.append(f"no {' and no '.join(missing)} column found")
    if looked:
        notes += ignored_note(columns)
        notes += identifier_notes(columns)
    return tuple(notes)


def _named(names: Sequence[str], name: str, role: str) -> str:
    times = Counter(names)[name]
    if times == 1:
        return name
    if times > 1:
        raise ColumnError(f"column {name!r} for {role} occurs {times} times: rename all but one")
    lower = {n.lower(): n for n in names}
    near = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.6)
    hint = (
        f" Did you mean {lower[near[0]]!r}?"
        if near and not isinstance(names, by_name.FirstLine)
        else ""
    )
    flag = {"channel": " (--channel)", "attribute": " (--attributes)"}.get(
        role.partition(" ")[0], ""
    )
    raise ColumnError(f"no column {name!r} for {role}{flag}. Columns: {shown_names(names)}.{hint}")


def shown_names(names: Sequence[str], of: Sequence[str] | None = None) -> str:
    """The names, shortened if they are many or long; only their number if they may be cells of a file without a header.

    Parameters
    ----------
    names
        The names to show.
    of
        All names, where `names` are some of them.
    """
    if isinstance(names if of is None else of, by_name.FirstLine):
        hidden = "not shown because the first line may hold data"
        return f"{len(names):,}, {hidden} ({option('header', None)} says that it holds names)"
    shown = ", ".join(
        "…" if "@" in name else name if len(name) <= 40 else f"{name[:40]}…" for name in names[:40]
    )
    return shown + (f" and {len(names) - 40:,} more" if len(names) > 40 else "")


def check_ignored(ignored: Sequence[str] | str | None, names: Sequence[str]) -> tuple[str, ...]:
    """The columns to ignore; refuses one that there is not."""
    for name in ignored or ():
        if name not in names:
            raise ColumnError(f"no column {name!r} to ignore. Columns: {shown_names(names)}")
    return tuple(ignored or ())


def _check_apart(found: dict[str, str | None]) -> None:
    """Refuse one column in two roles."""
    roles_of: dict[str, list[str]] = {}
    for role, column in found.items():
        if column is not None:
            roles_of.setdefault(column, []).append(role)
    for column, roles in roles_of.items():
        if len(roles) > 1:
            raise ColumnError(
                f"column {column!r} cannot be {' and '.join(roles)} at once: name another one"
            )


@dataclass
class _Chooser:
    """Guesses columns; `found` is shared with the caller and grows."""

    names: Sequence[str]
    profiles: dict[str, Profile]
    constant_per: Callable[[str, str], bool]
    found: dict[str, str | None]
    reasons: dict[str, str] = field(default_factory=dict)
    """Role → reason for the guess."""
    has_place: bool = False
    """Whether an entry needs no item, because it has a latitude and a longitude."""

    def guess(self, role: str) -> str | None:
        """The only column of the best tier; None if there is no value or time, or no item where there are places."""
        taken = {column for column in self.found.values() if column is not None}
        free = [n for n in self.names if n not in taken]
        for reason, options in {
            "record": self._records,
            "item": self._items,
            "value": self._values,
            "time": self._times,
        }[role](free):
            if len(options) == 1:
                self.reasons[role] = reason
                return options[0]
            if options:
                raise ColumnError(
                    f"more than one column could be the {role}: {shown_names(options, self.names)}. Name one with {option(role)}"
                    f"{_or_none(role)}"
                )
        if role in ("value", "time") or (role == "item" and self.has_place):
            return None
        hint = ""
        if role == "item" and (place := by_name.position(self.names)):
            lat, lon = place
            hint = f". The file holds positions: {option(LAT, lat)} {option(LON, lon)} makes the place the item"
        elif self._looks_wide(free):
            hint = f". If each row is a person and each column an item, use {option('wide', None)}"
        raise ColumnError(
            f"no column looks like {_MEANINGS[role]}. Columns: {shown_names(self.names)}. Name it with {option(role)}{hint}"
        )

    def _by_name(self, role: str, free: list[str]) -> tuple[list[list[str]], set[str]]:
        """The columns of each tier of names, and all of these columns."""
        tiers = [[n for n in free if by_name.plain(n) in tier] for tier in by_name.TIERS[role]]
        return tiers, {n for tier in tiers for n in tier}

    def _records(self, free: list[str]) -> Tiers:
        tiers, _ = self._by_name("record", free)
        tiers.insert(1, [n for n in free if by_name.is_record_like(n) and n not in tiers[0]])
        return self._fitting_first(tiers, "whole", "text", "epoch")

    def _items(self, free: list[str]) -> Tiers:
        tiers, known = self._by_name("item", free)
        tiers.insert(1, [n for n in free if by_name.is_item_like(n) and n not in known])
        others = [n for n in free if by_name.is_some_identifier(n) and n not in known]
        others = [n for n in others if not self._profile(n).numbers_rows]
        tiers[-1] = [n for n in free if n in tiers[-1] or n in others]
        return self._fitting_first(tiers, "whole", "text", "epoch")

    def _values(self, free: list[str]) -> Tiers:
        tiers, known = self._by_name("value", free)
        options = self._fitting_first(tiers, "whole", "real", "flag", "epoch")
        numbers = [n for n in free if self._profile(n).is_number and self._varies(n)]
        like = [n for n in numbers if by_name.is_value_like(n) and n not in known]
        others = [
            n
            for n in numbers
            if not by_name.is_identifier(n)
            and not by_name.is_attribute(n)
            and not by_name.is_time_like(n)
            and by_name.plain(n) not in by_name.TIERS["time"][2]
        ]
        n_tiers = len(tiers)
        like_tier, last = ("name and content", like), ("content", others)
        return [*options[:n_tiers], like_tier, *options[n_tiers:], last]

    def _times(self, free: list[str]) -> Tiers:
        tiers, known = self._by_name("time", free)
        if not self.profiles:
            return [("name", tier) for tier in tiers]
        dated = [n for n in free if self.profiles[n].is_time]
        unknown = [n for n in dated if n not in known]
        like = [n for n in unknown if by_name.is_time_like(n) and not by_name.is_identifier(n)]
        others = [
            n
            for n in unknown
            if n not in like and self.profiles[n].kind == "date" and self._may_be_time(n)
        ]
        options = [("name and content", [n for n in tier if n in dated]) for tier in tiers]
        options += [("name and content", like), ("content", others)]
        # numbers and texts that are not dates: their meaning is checked when they are read
        options += [
            ("name", [n for n in tier if n not in dated and self.profiles[n].kind != "clock"])
            for tier in tiers
        ]
        if not any(tier for _, tier in options):
            self._ask_about_epochs(free)
        return options

    def _may_be_time(self, name: str) -> bool:
        """Whether a column that could hold times has neither another meaning nor describes the record or the item."""
        values = frozenset().union(*by_name.TIERS["value"])
        return (
            not by_name.is_foreign_date(name)
            and by_name.plain(name) not in values
            and not self._depends(name)
        )

    def _ask_about_epochs(self, free: list[str]) -> None:
        """Ask about numbers that could be seconds since 1970, in a column whose name does not say so."""
        numbers = [n for n in free if self.profiles[n].kind == "epoch"]
        could = [n for n in numbers if not by_name.is_identifier(n) and self._may_be_time(n)]
        if could:
            raise ColumnError(
                f"column {could[0]!r} holds numbers that could be times since 1970. Name it with {option('time', could[0])}"
                f"{_or_none('time')}"
            )

    def _fitting_first(self, tiers: list[list[str]], *kinds: str) -> Tiers:
        """The tiers with the columns whose content fits, then the same tiers with the others."""

        def fits(name: str) -> bool:
            profile = self.profiles.get(name)
            return profile is None or (profile.kind in kinds and not profile.is_constant)

        reason = "name and content" if self.profiles else "name"
        fitting = [(reason, [n for n in tier if fits(n)]) for tier in tiers]
        return fitting + [("name", [n for n in tier if not fits(n)]) for tier in tiers]

    def _profile(self, name: str) -> Profile:
        """Profile of the column; one of no rows where nothing is known of its content."""
        return self.profiles.get(name, Profile(name, "empty", 0, 0, 0))

    def _depends(self, name: str) -> bool:
        """Whether the column describes the record or the item instead of the entry."""
        by = [self.found.get("record"), self.found.get("item")]
        return any(column is not None and self.constant_per(name, column) for column in by)

    def _varies(self, name: str) -> bool:
        profile = self.profiles[name]
        numbered = profile.kind == "whole" and profile.numbers_rows
        return not numbered and not profile.is_constant and not self._depends(name)

    def _looks_wide(self, free: list[str]) -> bool:
        known = [self.profiles[n] for n in free if n in self.profiles]
        numbers = [profile for profile in known if profile.is_number or not profile.present]
        return len(numbers) >= 10 and 2 * len(numbers) > len(free)


def _or_none(role: str) -> str:
    return f", or none with {option(role, '')}" if role in ("value", "time") else ""
