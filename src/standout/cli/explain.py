"""`standout explain`: why one record is found, fact by fact."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from standout.adversary.knowledge import Knowledge
    from standout.data.dataset import Dataset


@options.reads(record="--record-column")
def explain(
    path: options.DataPath,
    reading: options.Reading,
    label: Annotated[
        str | None, typer.Option("--record", help="Label of the record to explain.")
    ] = None,
    mentions: Annotated[
        Path | None,
        typer.Option(
            help="CSV with what is known of one person: columns item, and value and time where known."
        ),
    ] = None,
    attack: Annotated[str, typer.Option(help="Attack to explain.")] = "likelihood",
    knows: Annotated[int, typer.Option(help="With --record: items drawn from the record.")] = 8,
    wrong: Annotated[int, typer.Option(help="With --record: how many of them are wrong.")] = 0,
    value_within: Annotated[
        str | None,
        typer.Option(
            help="With --record: largest error of known values, or none. Default: 0 if there are values."
        ),
    ] = None,
    time_within: Annotated[
        str | None,
        typer.Option(
            help="With --record: largest error of known times: days, or 30min, 2h, 2w; none. Default: 14."
        ),
    ] = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="HTML page to write as well.")
    ] = None,
    hide_labels: Annotated[
        bool, typer.Option("--hide-labels", help="Leave out the labels of records and items.")
    ] = False,
    json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print the explanation as JSON on standard output, and nothing else there.",
        ),
    ] = False,
) -> None:
    """Show why a record is found: what each fact adds, which record comes second, what changes without each fact.

    Labels of records and items are shown; --hide-labels leaves them out.

    Example: standout explain ratings.csv --record 4711 --knows 6 -o why.html
    """
    from standout.audit.explain import explain as work_out
    from standout.audit.explain import find_record
    from standout.cli.outputs import refuse_inputs
    from standout.cli.waiting import read_quietly
    from standout.errors import ParameterError
    from standout.report.explanation import render_explanation, show_explanation

    if (label is None) == (mentions is None):
        raise ParameterError("give one of --record LABEL and --mentions FILE")
    refuse_inputs([out], [path, mentions])
    dataset = read_quietly(path, json, **reading.keywords)
    target = find_record(dataset, label) if label is not None else None
    known = (
        _draw(dataset, target, knows, wrong, value_within, time_within, seed)
        if target is not None
        else _read(mentions)
    )
    found = work_out(dataset, known, attack, target=target, labels=not hide_labels)
    if json:
        from json import dumps

        print(dumps(found, indent=1, allow_nan=False, ensure_ascii=False))
    else:
        from rich.console import Console

        show_explanation(found, Console(highlight=False))
    if out is not None:
        written = render_explanation(found, out)
        if not json:
            typer.echo(f"page: {written}")


def _draw(
    dataset: Dataset,
    target: int,
    knows: int,
    wrong: int,
    value_within: str | None,
    time_within: str | None,
    seed: int,
) -> Knowledge:
    from standout.adversary.adversary import Adversary
    from standout.audit.explain import draw
    from standout.errors import ParameterError

    value = _within(value_within, "value", dataset.has_value, 0.0)
    time: float | str | None = 14 if dataset.has_time else None
    if time_within is not None:
        time = options.time_tolerances(time_within)[0]
    if time is not None and not dataset.has_time:
        raise ParameterError(
            f"--time-within {time_within}: the data has no time column; leave the option out"
        )
    return draw(
        dataset,
        target,
        Adversary(knows=knows, wrong=wrong, value_within=value, time_within=time),
        seed,
    )


def _within(text: str | None, channel: str, there: bool, default: float) -> float | None:
    """Tolerance of a channel; an error if the data does not have the channel."""
    from standout.errors import ParameterError

    if text is None:
        return default if there else None
    within = options.numbers(text, f"{channel}-within")[0]
    if within is not None and not there:
        raise ParameterError(
            f"--{channel}-within {text}: the data has no {channel} column; leave the option out"
        )
    return within


def _read(mentions: Path | None) -> Knowledge:
    """Read what is known of one person, one fact per row."""
    import pandas as pd

    from standout.adversary.knowledge import Knowledge
    from standout.errors import InputError

    assert mentions is not None
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
    return Knowledge.from_frame(
        frame,
        query="one",
        item="item",
        value="value" if "value" in frame.columns else None,
        time="time" if "time" in frame.columns else None,
    )
