"""Domains (ratings, purchases, visits, clicks): what is swept beside the default sweep, and the words for it.

A domain is one file of the folder `domains`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from standout.adversary.adversary import Adversary
from standout.adversary.choices import choice_names, parse_choice
from standout.audit.sweep import FEW_STEPS, fit_to_data
from standout.audit.sweep_file import (
    UNKNOWN,
    Entry,
    adversaries_of,
    check_keys,
    entries_of,
    read_toml,
)
from standout.data.catalog import Catalog
from standout.data.labels import find_labels
from standout.data.times import ticks_within
from standout.data.values import grid_step
from standout.errors import EngineError, ParameterError, unknown_name
from standout.views.view import see, view_names, view_of

DOMAINS = ("ratings", "purchases", "visits", "clicks")

ATTRIBUTES = "attributes"
"""Name in `within` of a domain's file that stands for every attribute of the person."""

SHORT_SCALE = (5, 11)
"""Fewest and most steps of a scale of ratings."""
FEW_REPEATS = 0.01
"""Largest share of entries in ratings that repeat an item."""


@dataclass(frozen=True, repr=False)
class Domain:
    """What a file of the folder `domains` says."""

    name: str
    item: tuple[str, str]
    """What an item is called, one and several."""
    event: tuple[str, str]
    """What an event is called, one and several."""
    columns: tuple[str, ...]
    """Words in names of columns that point to this domain."""
    channels: Mapping[str, Sequence[str]]
    """Names in `within` that stand for the first channel of the data with one of some names."""
    entries: tuple[Entry, ...]
    """What is swept beside the default sweep."""


@cache
def domain_named(name: str) -> Domain:
    """Read the file of a domain."""
    if name not in DOMAINS:
        raise unknown_name("domain", name, DOMAINS)
    path = Path(__file__).parent / "domains" / f"{name}.toml"
    where = f"domain {name!r}"
    content = read_toml(path, where)[1]
    check_keys(content, ("words", "detect", "channels", "adversary"), where)
    return Domain(
        name,
        tuple(content["words"]["item"]),
        tuple(content["words"]["event"]),
        tuple(content["detect"]["columns"]),
        content.get("channels", {}),
        tuple(entries_of(content, where)),
    )


@dataclass(frozen=True, repr=False)
class DomainChoice:
    """The domain of an audit, and why it is this one."""

    domain: Domain
    reason: str
    clear: bool = True
    """Whether the data says so; else the domain is that of ratings, whose words fit any items."""

    def to_dict(self) -> dict[str, Any]:
        """Name (None if unclear), reason and words, for the findings."""
        return {
            "name": self.domain.name if self.clear else None,
            "reason": self.reason,
            "item": list(self.domain.item),
            "event": list(self.domain.event),
        }

    @property
    def words(self) -> str:
        """One line: the domain and the reason."""
        if self.clear:
            return f"domain: {self.domain.name} ({self.reason})"
        return f"domain: unclear ({self.reason}); swept like ratings"


def choose_domain(dataset: Catalog, name: str | None = None) -> DomainChoice:
    """The domain that was asked for, else the one that columns and shape of the data point to.

    Parameters
    ----------
    dataset
        The source of an audit.
    name
        Name of a domain; None to detect it.
    """
    if name is not None:
        return DomainChoice(domain_named(name), "as asked")
    by_name = {one: _named_columns(dataset, domain_named(one)) for one in DOMAINS}
    others = [one for one in DOMAINS[1:] if by_name[one]]
    of_value = _column_of(dataset, "value")
    amounts = of_value is not None and any(of_value in by_name[one] for one in others)
    if not amounts and (scale := _short_scale(dataset)):
        return DomainChoice(domain_named("ratings"), scale)
    most = max(len(columns) for columns in by_name.values())
    best = [one for one in DOMAINS if most and len(by_name[one]) == most]
    if len(best) == 1:
        names = joined_with_and(by_name[best[0]])
        plural = "s" if most > 1 else ""
        return DomainChoice(domain_named(best[0]), f"column{plural} {names}")
    why = (
        f"columns fit {joined_with_and(best)}"
        if best
        else "no scale of ratings, and no telling column"
    )
    return DomainChoice(domain_named("ratings"), f"{why}; --domain states it", clear=False)


def beside_sweep(
    chosen: Domain,
    dataset: Catalog,
    tried: Sequence[Adversary],
    release: Catalog | None = None,
) -> tuple[list[Adversary], list[str]]:
    """Adversaries of a domain beside those of the default sweep, and notes on what could not be tried.

    An entry applies where the data has what it needs: its channels, times as fine as its tolerance,
    repeats for random events, a choice and a view that are registered. Where few records hold as
    many items, fewer are known: the largest number that the sweep tries.

    Parameters
    ----------
    chosen
        The domain.
    dataset
        The source of the audit.
    tried
        The default sweep.
    release
        The release that is attacked, if it is not the source: a view must be possible there too.
    """
    made: list[Adversary] = []
    notes: list[str] = []
    amounts = sorted({who.knows for who in tried if who.knows})
    for number, entry in enumerate(chosen.entries, 1):
        settled = _settled(entry, chosen, dataset)
        if settled is None:
            continue
        where = f"domain {chosen.name!r}: adversary {number}"
        for who in adversaries_of({**settled, "knows": _knows(entry, amounts)}, where):
            try:
                fitted = fit_to_data(who, dataset)
            except EngineError:
                view = who.to_dict()["view"]
                notes.append(f"View {view} needs the records in memory: not tried.")
                continue
            except ParameterError:
                if who.view is None:
                    raise
                continue  # the view needs what the data lacks, such as times of day
            if lacking := _lacking(fitted, dataset, dataset if release is None else release):
                notes.append(lacking)
            elif fitted not in (*tried, *made):
                made.append(fitted)
    return made, list(dict.fromkeys(notes))


def _lacking(who: Adversary, source: Catalog, release: Catalog) -> str:
    """Note on knowledge of the source that can be compared with nothing in the release; nothing if it can."""
    view = view_of(who.view)
    if not who.knows and not any(name in release.attributes for name in who.within or ()):
        names = " and no ".join(who.within or ())
        return f"The release has no {names}: what is known of the person alone is not tried."
    if view is None or release is source:
        return ""
    try:
        shown = see(release, view)
    except (EngineError, ParameterError) as error:
        return f"{who.describe()}: not tried, because the release does not show it ({error})."
    is_renamed = shown.mechanism is not None and shown.mechanism.items is not None
    if not is_renamed and (find_labels(shown.item_labels, see(source, view).item_labels) < 0).all():
        return f"{who.describe()}: not tried, because the release has none of these items."
    return ""


def _knows(entry: Entry, amounts: Sequence[int]) -> list[int]:
    """Numbers of known items that the data has records for, each once."""
    wanted = entry["knows"] if isinstance(entry["knows"], list) else [entry["knows"]]
    return list(
        dict.fromkeys(
            max((k for k in amounts if k <= n), default=amounts[0]) if n else 0 for n in wanted
        )
    )


def _settled(given: Entry, chosen: Domain, dataset: Catalog) -> Entry | None:
    """The entry with names of channels of this data; None if the data lacks what it needs."""
    entry = _with_names(given, chosen, dataset)
    if entry is None:
        return None
    choose, view = str(entry.get("choose", "uniform")), entry.get("view")
    if choose.partition(":")[0] not in choice_names() or parse_choice(choose).lacking(dataset):
        return None
    if choose == "event" and view is None and not dataset.has_repeats:
        return None  # the same as any items; a view may add repeats
    if view is not None and re.split(r"[:|?]", str(view))[0].strip() not in view_names():
        return None
    within = _channels_of(entry, chosen, dataset)
    if within is None:
        return None
    time = entry.get("time_within", within.get("time", UNKNOWN))
    if time != UNKNOWN and not _has_times(dataset, time):
        return None
    return {**entry, "within": within} if within else entry


def _has_times(dataset: Catalog, within: float | str) -> bool:
    """Whether the data has times as fine as a tolerance, and more than one of them."""
    if not dataset.has_time or not dataset.tick_span:
        return False
    try:
        return dataset.tick_span > 2 * ticks_within(within, dataset.time_resolution)
    except ParameterError:  # no whole number of ticks: the times are coarser
        return False


def _channels_of(entry: Entry, chosen: Domain, dataset: Catalog) -> dict[str, Any] | None:
    """Tolerances by names of this data; None if it lacks one of them."""
    made: dict[str, Any] = {}
    for name, tolerance in entry.get("within", {}).items():
        if name == ATTRIBUTES:
            if not dataset.attributes:
                return None
            made |= dict.fromkeys(dataset.attributes, tolerance)
        elif name == "time":
            made["time"] = tolerance
        elif "view" in entry and name not in chosen.channels:
            made[name] = tolerance  # the view adds the channel
        elif (found := _channel_named(name, chosen, dataset)) is None:
            return None
        else:
            made[found] = tolerance
    return made


def _with_names(entry: Entry, chosen: Domain, dataset: Catalog) -> Entry | None:
    """The entry with channels of this data in the place of `{NAME}`, and of `{*NAME}`, which may be missing; None if one is."""
    made = dict(entry)
    for key in ("choose", "view"):
        for whole, sign, name in re.findall(r"(\{(\*?)(\w+)\})", str(entry.get(key, ""))):
            found = _channel_named(name, chosen, dataset)
            if found is None and not sign:
                return None
            made[key] = made[key].replace(whole, f"{sign}{found}" if found else "")
    return made


def _channel_named(name: str, chosen: Domain, dataset: Catalog) -> str | None:
    """The first channel of this data that a name of a domain's file stands for; None if there is none."""
    there = {channel.name.lower(): channel.name for channel in dataset.channels}
    if dataset.has_value:
        column = (_column_of(dataset, "value") or "value").lower()
        if not any(column in names for names in chosen.channels.values()):
            column = "value"  # a name that says nothing
        # a further channel of that name comes first
        there = {column: "value"} | there
    return next((there[x] for x in chosen.channels.get(name, (name,)) if x in there), None)


def _column_of(dataset: Catalog, role: str) -> str | None:
    """Name of the column with a role; None if the source has no columns."""
    return next((use.name for use in dataset.cleaning.columns if use.role == role), None)


def _named_columns(dataset: Catalog, chosen: Domain) -> list[str]:
    """Names of columns that point to a domain: those of items, values or channels, or else two of any kind."""
    channels = [channel.name for channel in dataset.channels]
    named = [use.name for use in dataset.cleaning.columns if _tells(use.name, chosen.columns)]
    named += [name for name in channels if name not in named and _tells(name, chosen.columns)]
    strong = {*channels, *(_column_of(dataset, role) for role in ("item", "value"))}
    return named if len(named) > 1 or strong & set(named) else []


def _tells(column: str, words: Iterable[str]) -> bool:
    """Whether a name of a column contains one of the words.

    >>> _tells("UnitPrice", ["price"]), _tells("order_id", ["order"]), _tells("border", ["order"])
    (True, True, False)
    """
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column)
    return not {part.lower() for part in parts}.isdisjoint(words)


def _short_scale(dataset: Catalog) -> str:
    """Why the values look like ratings; empty if they do not."""
    if not dataset.has_value or not SHORT_SCALE[0] <= dataset.n_levels <= SHORT_SCALE[1]:
        return ""
    step = grid_step(dataset.levels)
    repeated = dataset.n_entries - dataset.n_pairs
    span = dataset.levels[-1] - dataset.levels[0]
    if step is None or span > FEW_STEPS * step or repeated > FEW_REPEATS * dataset.n_entries:
        return ""
    return f"values on a scale of {dataset.n_levels} steps, hardly an item repeated"


def joined_with_and(names: Sequence[str]) -> str:
    """Names with commas and "and".

    >>> joined_with_and(["price"]), joined_with_and(["price", "time", "age"])
    ('price', 'price, time and age')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
