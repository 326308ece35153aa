"""`standout verify`: check evidence against the data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from standout.cli import options
from standout.cli.check import DefenseText, Release, read_both


@options.reads()
def verify(
    evidence: Annotated[Path, typer.Argument(help="File that `standout check --evidence` wrote.")],
    path: options.DataPath,
    reading: options.Reading,
    release: Release = None,
    defense: DefenseText = None,
    policy: Annotated[
        Path | None, typer.Option(help="The policy that the evidence must be about.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="Public key (Ed25519, PEM) of the signer.")
    ] = None,
    cells: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Pairs of adversary and attack to run again, chosen at random. Default: all.",
        ),
    ] = None,
    engine: options.Engine = "memory",
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check evidence against the data: run it again, and derive its tests, table and verdict from the counts.

    With --cells, only some pairs are run again. Then the evidence holds only if --key shows who
    made the other counts.

    Exit code: 0 the evidence is genuine and its verdict is pass, 1 it is genuine and its verdict is
    fail, 3 it is too old or cannot be judged, 4 it is contradicted (forged, damaged, or about other
    data or another policy), 2 bad input.

    Example: standout verify evidence.json ratings.csv --policy policy.toml --key release.pub
    """
    import json as json_text

    from standout.cli.waiting import waiting
    from standout.engines.engine import engine as engine_of
    from standout.gate.evidence import load_evidence
    from standout.gate.policy import Policy

    Policy.from_dict(
        load_evidence(evidence)["policy"]
    )  # refuses damaged evidence before the data is read
    wanted = None if policy is None else Policy.load(policy)
    engine_of(engine)
    keywords = reading.keywords
    source, published = read_both(path, release, defense, json, keywords)
    with waiting(json) as progress:
        from standout.gate.verify import verify as run

        done = run(
            evidence,
            source,
            release=published,
            policy=wanted,
            key=key,
            cells=cells,
            engine=engine,
            progress=progress,
        )
    print(json_text.dumps(done.to_dict(), indent=1, ensure_ascii=False) if json else done)
    sys.exit(done.exit_code)
