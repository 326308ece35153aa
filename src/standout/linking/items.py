"""Matching the items of two files by title and year: proposals for a person to confirm, never a silent match."""

from __future__ import annotations

import csv
import gzip
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from standout.data.reading.file_content import HEAD, decoded, encoding_of
from standout.data.reading.names import TIERS, is_item_like, is_record_like, plain
from standout.data.whole_file import check_regular
from standout.errors import InputError

COLUMNS = ("item_second", "item_release", "title_second", "title_release", "score", "confirm")
YES = {"yes", "y", "true", "1", "x"}
LEAST_SCORE = 80.0
"""Lowest similarity of two titles, from 0 to 100, at which a match is proposed."""
_YEAR = re.compile(r"[(\[]?\b(1[89]\d\d|20\d\d)\b[)\]]?\s*$")
_TITLES = ("title", "name", "description", "label")
_YEARS = ("year", "release_year", "released")


@dataclass(frozen=True)
class Item:
    """An item with its title, without its year, and the year if it is known."""

    label: str
    title: str
    words: str
    year: int | None


def _item_column(names: list[str]) -> str:
    """The column that is called like an item, else the first one that is not called like a person."""
    people, things = (
        {name for tier in TIERS[role] for name in tier} for role in ("record", "item")
    )
    others = [c for c in names if plain(c) not in people and not is_record_like(c)] or names
    called = [c for c in others if is_item_like(c) or plain(c) in things - set(_TITLES)]
    ids = [c for c in others if "item" in c.lower() or c.lower().endswith("id")]
    return [*ids, *called, *others][0]


def read_items(
    path: str | Path, item: str | None = None, title: str | None = None, year: str | None = None
) -> list[Item]:
    """Items of a delimited file: its item column and its title column; without a title the label is the title.

    Parameters
    ----------
    path
        A delimited text file with a header, for example a catalog; gz is read as well.
    item, title, year
        Column names. Default: the item column as for a release, a column named title, name or
        description, and one named year; a year at the end of a title counts too.
    """
    names, cells = _cells(Path(path))
    by_name = {c.lower(): c for c in names}
    named = item or _item_column(names)
    titled = title or next((by_name[c] for c in _TITLES if c in by_name), named)
    dated = year or next((by_name[c] for c in _YEARS if c in by_name), None)
    for column in (named, titled, dated):
        if column is not None and column not in names:
            raise InputError(f"no column {column!r} in {str(path)!r}. Columns: {', '.join(names)}")
    at, to = names.index(named), names.index(titled)
    kept: dict[str, Item] = {}
    for number, row in cells:
        if len(row) > len(names) and to == len(names) - 1:
            row = [*row[:to], ", ".join(part.strip() for part in row[to:])]  # commas of the title
        if len(row) != len(names):
            raise InputError(
                f"line {number:,} of {str(path)!r} has {len(row)} fields, and the header has {len(names)}: put titles with "
                "commas in quotation marks"
            )
        if row[at] and row[at] not in kept:
            kept[row[at]] = _item(
                row[at], row[to], row[names.index(dated)] if dated is not None else ""
            )
    return list(kept.values())


def _cells(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """Names of the columns, and the fields of each line with its number. The header decides about the delimiter."""
    try:
        raw = check_regular(path).read_bytes()
        raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        text = decoded(raw, encoding_of(raw[:HEAD]))
        head = next(line for line in io.StringIO(text) if line.strip())
        delimiter = max("\t,;|", key=re.sub(r'"[^"]*"', "", head).count)
        # without a delimiter in the header there is one column, and a tab is in no title
        delimiter = delimiter if delimiter in re.sub(r'"[^"]*"', "", head) else "\t"
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = [(reader.line_num, row) for row in reader if any(row)]
        return [name.strip() for name in rows[0][1]], rows[1:]
    except (OSError, EOFError, ValueError, StopIteration, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not delimited text with a header"
        raise InputError(f"cannot read the items of {str(path)!r}: {reason}") from None


def _item(label: str, title: str, year: str) -> Item:
    from rapidfuzz.utils import default_process

    found = _YEAR.search(title)
    number = int(year) if year.isdigit() else int(found[1]) if found else None
    bare = title[: found.start()] if found and found.start() > 0 else title
    # "Matrix, The" and "The Matrix" are one title
    moved = re.sub(r"^(.*), (The|A|An|Der|Die|Das|Le|La|Les|El|Il)\b", r"\2 \1", bare.strip())
    return Item(label, title, default_process(moved), number)


def propose(
    release: list[Item], second: list[Item], least: float = LEAST_SCORE
) -> list[dict[str, Any]]:
    """The most similar item of the release for each item of the second file, where one is similar enough.

    Years that are both known may differ by one at most. Equal titles come first. Nothing is
    confirmed.
    """
    from rapidfuzz import fuzz, process

    by_year: dict[int | None, list[int]] = {}
    for k, one in enumerate(release):
        by_year.setdefault(one.year, []).append(k)
    words = [one.words for one in release]
    out = []
    for one in second:
        near = (
            {one.year - 1, one.year, one.year + 1, None} if one.year is not None else set(by_year)
        )
        pool = {k: words[k] for y in near for k in by_year.get(y, [])}
        if not one.words or not pool:
            continue
        best = process.extractOne(one.words, pool, scorer=fuzz.token_sort_ratio, score_cutoff=least)
        if best is not None:
            match = release[best[2]]
            row = (one.label, match.label, one.title, match.title, round(float(best[1]), 1), "")
            out.append(dict(zip(COLUMNS, row, strict=True)))
    return sorted(out, key=lambda row: (-row["score"], str(row["item_second"])))


def read_map(path: str | Path) -> dict[str, str]:
    """Confirmed rows of a map: label in the release by label in the second file."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or "it is not CSV in UTF-8"
        raise InputError(f"cannot read the map of items {str(path)!r}: {reason}") from None
    if not rows or not {"item_second", "item_release"} <= set(rows[0]):
        raise InputError(
            f"{str(path)!r} is not a map of items: it needs the columns item_second and item_release"
        )
    # a map without the column was written by hand: all of it counts
    asked = "confirm" in rows[0]
    kept = [r for r in rows if not asked or str(r["confirm"] or "").strip().lower() in YES]
    if not kept:
        raise InputError(
            f"no row of {str(path)!r} is confirmed: write yes into its column confirm where the match is right"
        )
    if any(row["item_second"] is None or row["item_release"] is None for row in kept):
        raise InputError(
            f"{str(path)!r} has a row with too few cells: every row needs item_second and item_release"
        )
    found: dict[str, str] = {}
    for row in kept:
        if found.setdefault(row["item_second"], row["item_release"]) != row["item_release"]:
            raise InputError(
                f"{str(path)!r} maps an item of the second file to two items of the release: confirm one of them"
            )
    return found
