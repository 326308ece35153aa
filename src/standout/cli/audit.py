"""`standout audit`: attack a release and say who stands out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary

ATTACKS = "scoreboard,scoreboard-rh,likelihood"


@options.reads()
def audit(
    path: options.DataPath,
    reading: options.Reading,
    out: options.Out = Path("standout-out"),
    targets: options.Targets = "1000",
    seed: options.Seed = 0,
    attacks: options.Attacks = ATTACKS,
    engine: options.Engine = "memory",
    knows: Annotated[str | None, typer.Option(help="Items she knows, e.g. 2,4,8. Default: a sweep.")] = None,
    wrong: Annotated[str, typer.Option(help="How many of them are wrong, e.g. 0,2.")] = "0",
    wrong_kind: Annotated[str, typer.Option(help="What a wrong fact is: value or item.")] = "value",
    value_within: Annotated[str, typer.Option(help="Largest error of known values, e.g. 0,1,none.")] = "0",
    time_within: Annotated[str, typer.Option(help="Largest error of known days, e.g. 3,14,none.")] = "none",
    choose: Annotated[str, typer.Option(help="Items she may know: uniform, outside-top:K, rare:SHARE@T.")] = "uniform",
    json: options.Json = False,
) -> None:
    """Attack a release and say who stands out.

    Without --knows, a sweep: 2, 4 and 8 known items (0, 1 and 2 of them wrong), values exact and ±1, days ±3, ±14 and unknown.

    Example: standout audit ratings.csv --knows 4,8 --time-within 14
    """
    from standout.cli.session import Session
    from standout.data.dataset import Dataset

    adversaries = None if knows is None else _adversaries(knows, wrong, wrong_kind, value_within, time_within, choose)
    with Session(out, json=json) as session:
        dataset = session.busy(
            "reading",
            lambda: Dataset.read(path, **reading.keywords),
        )
        session.say_data(dataset)
        session.audit(dataset, adversaries, attacks, targets, seed, engine)


def _adversaries(
    knows: str, wrong: str, kind: str, value_within: str, time_within: str, choose: str
) -> list[Adversary]:
    """Every combination of the lists, where no more is wrong than known."""
    from standout.adversary.adversary import Adversary

    return [
        Adversary(knows=k, wrong=w, wrong_kind=kind, value_within=v, time_within=t, choose=choose)
        for k in options.whole_numbers(knows, "knows")
        for w in options.whole_numbers(wrong, "wrong")
        for v in options.numbers(value_within, "value-within")
        for t in options.numbers(time_within, "time-within")
        if w <= k or len(options.whole_numbers(wrong, "wrong")) == 1
    ]
