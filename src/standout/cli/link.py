"""`standout link`: how many people of a second file could be linked to a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.cli import options
from standout.errors import ColumnError, ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset
    from standout.linking.links import Links

FOLDER = Path("standout-link")
LAWFUL = (
    "The pairs name people: linking them is processing of personal data and needs a lawful basis and a purpose, such as a "
    "test of your own release."
)


@options.reads()
def link(
    release: Annotated[
        str, typer.Argument(help="The release: file, folder or glob, as for audit.")
    ],
    knowledge: Annotated[
        str, typer.Argument(help="The second file: what is known of people, one row per fact.")
    ],
    reading: options.Reading,
    person: Annotated[
        str | None, typer.Option(help="Second file: column that names the person.")
    ] = None,
    known_item: Annotated[str | None, typer.Option(help="Second file: column of the item.")] = None,
    known_value: Annotated[
        str | None, typer.Option(help="Second file: column of the value; '' for none.")
    ] = None,
    known_time: Annotated[
        str | None, typer.Option(help="Second file: column of the time; '' for none.")
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            help="Second file: column with the person's record in the release, to judge the links."
        ),
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="Map of items, made with `standout match-items` and confirmed."),
    ] = None,
    one_to_one: Annotated[
        bool, typer.Option("--one-to-one", help="A record belongs to one person at most.")
    ] = False,
    overlap: Annotated[
        str | None,
        typer.Option(
            help="Share of these people who are in the release: 'fit' to estimate it, or a share like 0.4."
        ),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Write the pairs, with labels, to this CSV file.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for links.json and links.html.")] = FOLDER,
    seed: options.Seed = 0,
    engine: options.Engine = "memory",
    fresh: options.Fresh = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the findings as JSON on standard output, and nothing else there."
        ),
    ] = False,
) -> None:
    """Link the people of a second file to a release, without ground truth, and say how sure an attacker would be.

    The noise between the two files is fitted. A link is accepted by the gap between the best record
    and the others. Only counts are written, unless --pairs asks for the pairs. A run that was
    stopped goes on where it was.

    Example: standout link ratings.csv tags.csv --known-time timestamp --truth userId
    """
    from standout.cli.outputs import check_writable
    from standout.cli.session import Session
    from standout.cli.waiting import waiting
    from standout.cli.workfolder import journaled, say_reused
    from standout.data.dataset import Dataset
    from standout.engines.engine import engine as engine_of
    from standout.linking.items import read_map
    from standout.linking.link import link as run

    engine_of(engine)
    _check_out(out)
    check_writable(out)
    if pairs is not None and pairs.is_dir():
        raise ParameterError(f"--pairs {str(pairs)!r} is a folder; name a file")
    share = _overlap(overlap)
    named = read_map(items) if items is not None else None
    session = Session(out, json=json)
    data = session.busy("reading the release", lambda: Dataset.read(release, **reading.keywords))
    session.say_data(data)
    asked = _columns(person, known_item, known_value, known_time)
    try:
        second = session.busy("reading the second file", lambda: Dataset.read(knowledge, **asked))
    except ColumnError as error:
        raise ColumnError(
            f"{error} (for the second file: --person, --known-item, --known-value, --known-time)"
        ) from None
    session.say_data(second)
    right = _truth(knowledge, second, data, truth) if truth is not None else None
    with journaled(out, fresh=fresh) as journal, waiting(json) as progress:
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
    say_reused(journal, session.log)
    _write(found, out, pairs, json)


def audit_split(
    path: str,
    keywords: dict[str, Any],
    at: str,
    out: Path | None,
    seed: int,
    engine: str,
    json: bool,
    fresh: bool,
) -> None:
    """`standout audit --split-time`: knowledge from before a day, the release from that day on."""
    from standout.cli.outputs import check_writable
    from standout.cli.session import Session
    from standout.cli.waiting import waiting
    from standout.cli.workfolder import journaled, say_reused
    from standout.data.dataset import Dataset
    from standout.engines.engine import engine as engine_of
    from standout.linking.history import split_day
    from standout.linking.link import time_shifted

    engine_of(engine)
    folder = out or FOLDER
    _check_out(folder)
    check_writable(folder)
    session = Session(folder, json=json)
    data = session.busy("reading", lambda: Dataset.read(path, **keywords))
    session.say_data(data)
    session.log.print(
        f"  knowledge from before {split_day(data, at)}, the release from that day on", markup=False
    )
    with journaled(folder, fresh=fresh) as journal, waiting(json) as progress:
        found = time_shifted(data, at, engine=engine, seed=seed, progress=progress)
    say_reused(journal, session.log)
    _write(found, folder, None, json)


def _overlap(text: str | None) -> str | float | None:
    """The option as `link` takes it."""
    from standout.linking.totals import check_overlap

    try:
        share: str | float | None = float(text) if text is not None else None
    except ValueError:
        share = text
    check_overlap(share)
    return share


def _check_out(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ParameterError(f"--out {str(out)!r} is a file; name a folder")


def _columns(
    person: str | None, item: str | None, value: str | None, time: str | None
) -> dict[str, Any]:
    """Keywords of reading the second file; what is not named is guessed."""
    named = {"record": person, "item": item, "value": value, "time": time}
    return {name: column for name, column in named.items() if column is not None}


def _truth(path: str, second: Dataset, data: Dataset, column: str) -> Any:
    """Record of each person of the second file, by a column of that file."""
    import numpy as np

    from standout.data.dataset import Dataset
    from standout.errors import InputError
    from standout.linking.truth import truth_of

    person = next((use.name for use in second.cleaning.columns if use.role == "record"), None)
    if person is None:
        raise InputError(
            f"--truth {column!r}: the second file has no columns; use a delimited file"
        )
    if column == person:
        return truth_of(data, second.record_labels)
    told = Dataset.read(path, record=person, item=column, value="", time="", repeats="first")
    if (told.lengths > 1).any():
        raise InputError(
            f"--truth {column!r}: {int((told.lengths > 1).sum()):,} people have several records there"
        )
    label = np.full(second.n_records, None, object)
    at = np.searchsorted(second.record_labels, told.record_labels)
    label[at] = told.item_labels[told.record_item[told.record_ptr[:-1]]].astype(object)
    here = np.array([x is not None for x in label])
    out = np.full(second.n_records, -1, np.int64)
    out[here] = truth_of(data, np.array([str(x) for x in label[here]]))
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
