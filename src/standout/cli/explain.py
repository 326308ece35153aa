"""`standout explain`: why one record is found, fact by fact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from standout.cli.options import KnowledgeOptions, Reading, command
from standout.cli.outputs import check_file, print_result
from standout.cli.reading import error_console, read_data
from standout.errors import InputError, ParameterError

if TYPE_CHECKING:
    from standout.adversary.knowledge import Knowledge


@command(label="--record", record="--record-column")
def explain(
    path: str,
    /,
    reading: Reading,
    label: str | None = None,
    record_column: str | None = None,
    mentions: Path | None = None,
    attack: str = "likelihood",
    known: KnowledgeOptions = KnowledgeOptions("8", "0"),
    seed: int = 0,
    out: Path | None = None,
    hide_labels: bool = False,
    json: bool = False,
) -> None:
    """Show why a record is found: what each fact adds, which record comes second, what changes without each fact.

    Labels of records and items are shown; --hide-labels leaves them out.

    Example: standout explain ratings.csv --record 4711 --knows 6 -o why.html

    Parameters
    ----------
    label
        Label of the record to explain.
    record_column
        Column that names the person, which is --record elsewhere. Default: guessed.
    mentions
        CSV with what is known of one person: columns item, and value and time where known.
    attack
        Attack to explain.
    knows
        With --record: items drawn from the record.
    wrong
        With --record: how many of them are wrong.
    value_within
        With --record: largest error of known values, or none. Default: 0 if there are values.
    time_within
        With --record: largest error of known times: days, or 30min, 2h, 2w; none. Default: 14.
    out
        HTML page to write as well.
    hide_labels
        Leave out the labels of records and items.
    json
        Print the explanation as JSON on standard output, and nothing else there.
    """
    from standout.audit.explain import draw, find_record
    from standout.audit.explain import explain as work_out
    from standout.report.explanation import render_explanation, show_explanation

    if (label is None) == (mentions is None):
        raise ParameterError("give one of --record LABEL and --mentions FILE")
    check_file(out, [path, mentions])
    column = {} if record_column is None else {"record": record_column}
    try:
        dataset = read_data(path, reading.keywords | column, error_console(json))
    except InputError as error:
        # here --record is a label
        raise type(error)(str(error).replace("--record ", "--record-column ")) from None
    target: int | None = None
    if mentions is not None:
        knowledge = _read_mentions(mentions)
    else:
        target = find_record(dataset, str(label))
        knowledge = draw(dataset, target, known.adversary(dataset), seed)
    found = work_out(dataset, knowledge, attack, target=target, labels=not hide_labels)
    print_result(found, json, show_explanation)
    if out is not None:
        written = render_explanation(found, out)
        if not json:
            typer.echo(f"page: {written}")


def _read_mentions(mentions: Path) -> Knowledge:
    """Read what is known of one person, one fact per row."""
    import pandas as pd

    from standout.adversary.knowledge import Knowledge

    try:
        frame = pd.read_csv(mentions, dtype={"item": str})
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a CSV file with a heading"
        raise InputError(f"cannot read the mentions {str(mentions)!r}: {reason}") from None
    if "item" not in frame.columns:
        raise InputError(
            f"the mentions file needs a column 'item'. Columns: {', '.join(map(str, frame.columns))}"
        )
    if "time" in frame.columns and not pd.api.types.is_numeric_dtype(frame["time"]):
        try:
            frame["time"] = pd.to_datetime(frame["time"], format="ISO8601")
        except ValueError:
            raise InputError(
                "a time in the mentions file is not a date; write 2005-03-31, or leave the cell empty"
            ) from None
    frame["one"] = 0
    channels: dict[str, Any] = {name: name for name in ("value", "time") if name in frame.columns}
    return Knowledge.from_frame(frame, query="one", item="item", **channels)
