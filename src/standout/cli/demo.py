"""`standout demo`: the audit of a built-in synthetic release."""

from __future__ import annotations

from typing import Annotated

import typer

from standout.cli import options
from standout.cli.audit import ATTACKS, Out, Overwrite


def demo(
    out: Out = None,
    overwrite: Overwrite = False,
    records: Annotated[int, typer.Option(help="Size of the synthetic release.")] = 20_000,
    targets: options.Targets = "500",
    seed: options.Seed = 0,
    attacks: options.Attacks = ATTACKS,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> None:
    """Audit a built-in synthetic release with ratings and dates. No data is needed.

    Example: standout demo --out demo-out
    """
    from standout.cli.session import Session
    from standout.data.synthetic import twin_dataset

    with Session(out, json=json, overwrite=overwrite, fresh=fresh) as session:
        session.check(attacks, targets, "memory")
        dataset = session.busy(
            "making a synthetic release", lambda: twin_dataset(n_records=records, seed=seed)
        )
        session.say_data(dataset)
        session.audit(dataset, attacks, targets, seed, "memory")
