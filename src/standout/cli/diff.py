"""`standout diff`: compare the risk of two releases or audits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.audit.defaults import ATTACKS as DEFAULT_ATTACKS
from standout.audit.defaults import TARGETS
from standout.cli import options
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.gate.regression import Regression

ATTACKS = ",".join(DEFAULT_ATTACKS)
Data = Annotated[
    str, typer.Argument(help="findings.json, a folder that contains it, or a release.")
]


@options.reads()
def diff(
    old: Data,
    new: Data,
    reading: options.Reading,
    source: Annotated[
        str | None, typer.Option(help="The true data of the people, if both releases are changed.")
    ] = None,
    targets: options.Targets = str(TARGETS),
    seed: options.Seed = 0,
    attacks: options.Attacks = ATTACKS,
    engine: options.Engine = "memory",
    json: Annotated[bool, typer.Option("--json", help="Print the comparison as JSON.")] = False,
) -> None:
    """Compare the risk of two releases on the same people, or of two audits. Exit code: 0 not risen, 1 risen, 3 cannot tell.

    Two findings are compared as measured on different people; two releases are attacked on the
    people whose label is in both.

    Example: standout diff old.csv new.csv
    """
    from standout.cli.session import Session, attack_list, target_count
    from standout.cli.waiting import waiting

    Session(Path(), json=json).check(attacks, targets, engine)
    first, second = _load(old, json, reading.keywords), _load(new, json, reading.keywords)
    truth = None if source is None else _load(source, json, reading.keywords)
    with waiting(json) as progress:
        from standout.gate.regression import diff as run

        done = run(
            first,
            second,
            source=truth,
            attacks=attack_list(attacks),
            targets=target_count(targets),
            seed=seed,
            engine=engine,
            progress=progress,
        )
    if json:
        import json as json_text

        print(json_text.dumps(done.to_dict(), indent=1, ensure_ascii=False))
    else:
        _show(done)
    sys.exit({"pass": 0, "fail": 1, "unclear": 3}[done.verdict])


def _load(path: str, quiet: bool, columns: dict[str, Any]) -> Any:
    """Findings or a release."""
    from standout.audit.findings import Findings
    from standout.cli.waiting import read_quietly

    file = Path(path)
    if (file / "findings.json").is_file():
        file = file / "findings.json"
    if file.is_file() and file.suffix == ".json":
        if columns:
            raise ParameterError(
                f"{str(path)!r} holds findings: leave out the options about reading data"
            )
        return Findings.load(file)
    return read_quietly(path, quiet, **columns)


def _show(done: Regression) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    console.print(Text(str(done)), soft_wrap=not console.is_terminal)
    grid = Table(box=None, pad_edge=False)
    for name, side in (
        ("knows", "left"),
        ("attack", "left"),
        ("n", "right"),
        ("old", "right"),
        ("new", "right"),
        ("change, points", "right"),
        ("p (Holm)", "right"),
    ):
        grid.add_column(name, justify=side)  # type: ignore[arg-type]
    for row in sorted(done.rows, key=lambda row: -row["difference"])[:20]:
        change = (
            f"{100 * row['difference']:+.1f} ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
        )
        cells = (
            row["adversary"],
            row["attack"],
            f"{row['n']:,}",
            f"{100 * row['old']:.1f}%",
            f"{100 * row['new']:.1f}%",
            change,
            f"{row['p_rose_holm']:.2g}",
        )
        grid.add_row(*(Text(cell) for cell in cells))
    console.print(grid)
