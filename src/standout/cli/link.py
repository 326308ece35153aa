"""`standout link`: how many people of a second file could be linked to a release; `match-items`: a map of items for it.

`app.py` calls both by name. `audit_split` is for `standout audit --split-time`, which links two
periods of one file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from standout.cli.options import Reading, command
from standout.cli.outputs import check_file, check_folder
from standout.cli.reading import error_console, progress_on, read_data
from standout.errors import ColumnError, InputError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from standout.data.dataset import Dataset
    from standout.linking.links import Links

FOLDER = Path("standout-link")
LAWFUL = (
    "The pairs name people: linking them is processing of personal data and needs a lawful basis and a purpose, such as a "
    "test of your own release."
)


@command()
def link(
    release: str,
    knowledge: str,
    /,
    reading: Reading,
    person: str | None = None,
    known_item: str | None = None,
    known_value: str | None = None,
    known_time: str | None = None,
    truth: str | None = None,
    items: Path | None = None,
    one_to_one: bool = False,
    overlap: str | None = None,
    pairs: Path | None = None,
    out: Path = FOLDER,
    seed: int = 0,
    engine: str = "memory",
    fresh: bool = False,
    json: bool = False,
) -> None:
    """Link the people of a second file to a release, without ground truth, and say how sure an attacker would be.

    The noise between the two files is fitted. A link is accepted by the gap between the best record
    and the others. Only counts are written, unless --pairs asks for the pairs. A run that was
    stopped goes on where it was.

    Example: standout link ratings.csv tags.csv --known-time timestamp --truth userId

    Parameters
    ----------
    release
        The release: file, folder or glob, as for audit.
    knowledge
        The second file: what is known of people, one row per fact.
    person
        Second file: column that names the person.
    known_item
        Second file: column of the item.
    known_value
        Second file: column of the value; '' for none.
    known_time
        Second file: column of the time; '' for none.
    truth
        Second file: column with the person's record in the release, to judge the links.
    items
        Map of items, made with `standout match-items` and confirmed.
    one_to_one
        A record belongs to one person at most.
    overlap
        Share of these people who are in the release: 'fit' to estimate it, or a share like 0.4.
    pairs
        Write the pairs, with labels, to this CSV file.
    out
        Folder for links.json and links.html.
    """
    from standout.cli.workfolder import journaled, print_reused
    from standout.engines.engine import engine as engine_of
    from standout.linking.items import read_map
    from standout.linking.link import link as run

    engine_of(engine)
    check_folder(out)
    check_file(pairs, (release, knowledge, items), "--pairs")
    share = _overlap(overlap)
    named = read_map(items) if items is not None else None
    log = error_console(json)
    data = read_data(release, reading.keywords, log, "reading the release")
    columns = {"record": person, "item": known_item, "value": known_value, "time": known_time}
    # what is not named is guessed
    given = {role: column for role, column in columns.items() if column is not None}
    try:
        second = read_data(knowledge, given, log, "reading the second file")
    except ColumnError as error:
        raise ColumnError(
            f"{error} (for the second file: --person, --known-item, --known-value, --known-time)"
        ) from None
    right = _truth(knowledge, second, data, truth) if truth is not None else None
    with journaled(out, fresh=fresh) as journal, progress_on(log) as progress:
        found = run(
            data,
            second,
            one_to_one=one_to_one,
            items=named,
            overlap=share,
            engine=engine,
            seed=seed,
            progress=progress,
        )
        if right is not None:
            from standout.linking.truth import judged

            found = judged(found, data, second, right, named, progress=progress)
    print_reused(journal, log)
    _write(found, out, pairs, json)


def audit_split(
    path: str,
    keywords: dict[str, Any],
    at: str,
    out: Path,
    seed: int,
    engine: str,
    fresh: bool,
    log: Console,
) -> None:
    """`standout audit --split-time`: knowledge from before a day, the release from that day on."""
    from standout.cli.workfolder import journaled, print_reused
    from standout.engines.engine import engine as engine_of
    from standout.linking.history import split_day
    from standout.linking.link import time_shifted

    engine_of(engine)
    check_folder(out)
    data = read_data(path, keywords, log)
    log.print(
        f"  knowledge from before {split_day(data, at)}, the release from that day on", markup=False
    )
    with journaled(out, fresh=fresh) as journal, progress_on(log) as progress:
        found = time_shifted(data, at, engine=engine, seed=seed, progress=progress)
    print_reused(journal, log)
    _write(found, out, None, json=log.quiet)


def _overlap(text: str | None) -> str | float | None:
    """`--overlap` as `linking.link` takes it: None, "fit" or a share."""
    from standout.linking.totals import check_overlap

    try:
        share: str | float | None = float(text) if text is not None else None
    except ValueError:
        share = text
    check_overlap(share)
    return share


def _truth(path: str, second: Dataset, data: Dataset, column: str) -> Any:
    """Record of each person of the second file, by a column of that file."""
    import numpy as np

    from standout.data.dataset import Dataset
    from standout.linking.truth import truth_of

    person = next((use.name for use in second.cleaning.columns if use.role == "record"), None)
    if person is None:
        raise InputError(
            f"--truth {column!r}: the second file has no columns; use a delimited file"
        )
    if column == person:
        return truth_of(data, second.record_labels)
    records = Dataset.read(path, record=person, item=column, value="", time="", repeats="first")
    if (records.lengths > 1).any():
        raise InputError(
            f"--truth {column!r}: {int((records.lengths > 1).sum()):,} people have several records there"
        )
    label = np.full(second.n_records, None, object)
    at = np.searchsorted(second.record_labels, records.record_labels)
    label[at] = records.item_labels[records.record_item[records.record_ptr[:-1]]].astype(object)
    has_truth = np.array([x is not None for x in label])
    out = np.full(second.n_records, -1, np.int64)
    out[has_truth] = truth_of(data, np.array([str(x) for x in label[has_truth]]))
    return out


def _write(found: Links, out: Path, pairs: Path | None, json: bool) -> None:
    from rich.console import Console

    from standout.audit.findings import write_whole
    from standout.report.linking import page, show
    from standout.report.tables import csv_text

    numbers = found.findings
    # made before anything is written
    html, text = page(numbers), numbers.to_json()
    if pairs is not None:
        frame = found.to_frame(labels=True)
        rows = [[None if x != x else x for x in row] for row in frame.itertuples(index=False)]
        write_whole(pairs, csv_text([str(c) for c in frame.columns], rows))
        typer.echo(LAWFUL, err=True)
    write_whole(out / "links.json", text)
    write_whole(out / "links.html", html)
    if json:
        print(text, end="")
        return
    show(numbers, Console(highlight=False))
    typer.echo(f"report: {out / 'links.html'}")


@command()
def match_items(
    release: str,
    second: str,
    /,
    out: Path = Path("map.csv"),
    item: str | None = None,
    title: str | None = None,
    year: str | None = None,
    second_item: str | None = None,
    second_title: str | None = None,
    second_year: str | None = None,
    least: float = 80.0,
) -> None:
    """Propose a map of items for `standout link --items`. Write yes into its column confirm where a match is right.

    Example: standout match-items movies.csv forum.csv --out map.csv

    Parameters
    ----------
    release
        Delimited file with the release's items and their titles.
    second
        The same of the second file.
    out
        CSV file for the proposals.
    item
        Column of the release's item. Default: guessed.
    title
        Column of the release's title. Default: guessed.
    year
        Column of the release's year. Default: guessed.
    second_item
        Column of the second file's item.
    second_title
        Column of the second file's title.
    second_year
        Column of the second file's year.
    least
        Lowest similarity of titles, 0 to 100.
    """
    from standout.audit.findings import write_whole
    from standout.linking.items import COLUMNS, propose, read_items
    from standout.report.tables import csv_text

    if not 0 <= least <= 100:
        raise ParameterError(f"--least {least:g}: use a number from 0 to 100")
    check_file(out, (release, second))
    with error_console().status("matching items …"):
        other = read_items(second, second_item, second_title, second_year)
        rows = propose(read_items(release, item, title, year), other, least)
    write_whole(out, csv_text(COLUMNS, ([row[c] for c in COLUMNS] for row in rows)))
    same = sum(row["score"] == 100 for row in rows)
    typer.echo(
        f"{len(rows):,} of {len(other):,} items have a proposed match, {same:,} of them with the same title. "
        f"Nothing is confirmed: write yes into the column confirm of {out} where a match is right."
    )
