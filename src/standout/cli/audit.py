"""`standout audit`: attack a release and report how many people are found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.audit.defaults import ATTACKS as DEFAULT_ATTACKS
from standout.audit.defaults import SWEEPS, TARGETS
from standout.cli import options
from standout.cli.cluster import Master, read_on_spark, spark_for
from standout.cli.redacting import Redact
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.audit.sweep import Axes, Within
    from standout.data.catalog import Catalog

ATTACKS = ",".join(DEFAULT_ATTACKS)

Out = Annotated[
    Path | None,
    typer.Option(
        help="Folder for findings.json and report.html. Default: standout-out, or the next free standout-out-2, …"
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace the findings that the output folder holds.")
]
Title = Annotated[
    str | None, typer.Option(help="Name of the dataset, shown in the title of the report.")
]
Pdf = Annotated[bool, typer.Option("--pdf", help="Write report.pdf as well. Needs chromium.")]
Release = Annotated[
    Path | None,
    typer.Option(
        help="Release made from PATH, read with the same options: knowledge comes from PATH, the release is attacked."
    ),
]
DefenseText = Annotated[
    str | None,
    typer.Option(
        "--defense",
        help="Defense that made the release. Default: as in FILE.manifest.json, else unknown.",
    ),
]
SplitTime = Annotated[
    str | None,
    typer.Option(
        help="First day of the release, e.g. 2011-06-01, or a share of the entries: knowledge comes from before, and no "
        "entry is in both. Writes links.json and links.html."
    ),
]
Sweep = Annotated[str, typer.Option(help="Kinds of knowledge to try: default (about 30) or full.")]


@options.reads()
def audit(
    path: options.DataPath,
    reading: options.Reading,
    out: Out = None,
    overwrite: Overwrite = False,
    title: Title = None,
    pdf: Pdf = False,
    targets: options.Targets = str(TARGETS),
    seed: options.Seed = 0,
    attacks: options.Attacks = ATTACKS,
    engine: options.Engine = "memory",
    memory: options.Memory = None,
    master: Master = None,
    sweep: Sweep = "default",
    knows: Annotated[str | None, typer.Option(help="Numbers of known items, e.g. 2,4,8.")] = None,
    wrong: Annotated[
        str | None, typer.Option(help="Wrong facts among them, e.g. 0,2, or a share, e.g. 25%.")
    ] = None,
    wrong_kind: Annotated[
        str | None, typer.Option(help="What a wrong fact is: value or item.")
    ] = None,
    value_within: Annotated[
        str | None,
        typer.Option(
            help="Largest error of known values, e.g. 0,1,10%,none (none: values are not known)."
        ),
    ] = None,
    time_within: Annotated[
        str | None,
        typer.Option(
            help="Largest error of known times in days, e.g. 0,14,2h,30min,none (none: not known)."
        ),
    ] = None,
    choose: Annotated[
        str,
        typer.Option(
            help="How known items are chosen: uniform, event, popular, outside-top:K, rare:SHARE@T."
        ),
    ] = "uniform",
    view: options.View = None,
    release: Release = None,
    defense: DefenseText = None,
    split_time: SplitTime = None,
    redact: Redact = False,
    fresh: options.Fresh = False,
    json: options.Json = False,
) -> None:
    """Attack a release and report how many people are found with how much knowledge.

    The sweep tries 1, 2, 4, 8 and 16 known items, all of them right and with a quarter wrong, with
    values and days unknown, rough and exact, as far as the data has them. --knows, --wrong,
    --value-within, --time-within and --choose replace that part of the sweep.

    --split-time takes the knowledge from before a day and releases what came after: no entry is in both.

    --release judges protected data: records are matched by label, and the attacker knows the defense if it is published.

    Example: standout audit ratings.csv --knows 4,8 --time-within 14
    """
    from standout.cli.budget import budget_for
    from standout.cli.release import read_release
    from standout.cli.session import Session
    from standout.data.dataset import Dataset
    from standout.data.loading import in_memory
    from standout.views.view import view_of

    if defense is not None and release is None:
        raise ParameterError("--defense describes a release: name its file with --release")
    if defense is not None:
        from standout.defenses.parse import parse_defense

        parse_defense(defense)
    if split_time is not None:
        from standout.cli.link import audit_split

        if release is not None:
            raise ParameterError("--split-time makes its own release: leave out --release")
        if redact:
            raise ParameterError(
                "--redact does not search links.json and links.html: leave it out with --split-time"
            )
        if view is not None:
            raise ParameterError("--split-time does not take a view: leave out --view")
        audit_split(path, reading.keywords, split_time, out, seed, engine, json, fresh)
        return
    asked = _axes(sweep, knows, wrong, wrong_kind, value_within, time_within, choose)
    asked = replace(asked, view=view_of(view))
    with Session(
        out, json=json, overwrite=overwrite, title=title, pdf=pdf, redact=redact, fresh=fresh
    ) as session:
        cluster = spark_for(engine, master)
        session.check(attacks, targets, engine)
        budget = None if cluster is not None else budget_for(path, engine, memory, session.log)
        keywords = reading.keywords
        dataset: Catalog
        if cluster is not None:
            dataset = session.busy(
                "reading on Spark", lambda: read_on_spark(path, cluster, keywords)
            )
        elif budget is not None:
            dataset = session.read_in_parts(path, budget, keywords)
        else:
            dataset = whole = session.busy("reading", lambda: Dataset.read(path, **keywords))
            session.propose_split(whole)
        session.say_data(dataset)
        judged = None
        if release is not None:
            judged = session.busy(
                "reading the release",
                lambda: read_release(
                    release, in_memory(dataset, "--release"), reading.keywords, defense
                ),
            )
            session.say_data(judged)
            session.log.print(f"  release: {judged.defense or 'no defense is known'}", markup=False)
        session.audit(dataset, attacks, targets, seed, engine, sweep, asked, judged)


def _axes(
    sweep: str,
    knows: str | None,
    wrong: str | None,
    kind: str | None,
    value_within: str | None,
    time_within: str | None,
    choose: str,
) -> Axes:
    """The options as axes of the sweep; invalid values are refused before the data is read."""
    from standout.adversary.adversary import Adversary
    from standout.audit.sweep import Axes

    if sweep not in SWEEPS:
        raise ParameterError(f"--sweep {sweep!r}: use {' or '.join(SWEEPS)}")
    asked = Axes(
        knows=None if knows is None else tuple(options.whole_numbers(knows, "knows")),
        wrong=None
        if wrong is None
        else tuple(_share_or_count(part, wrong) for part in wrong.split(",")),
        wrong_kind=kind,
        value_within=None
        if value_within is None
        else tuple(_tolerance(part, value_within) for part in value_within.split(",")),
        time_within=None if time_within is None else options.time_tolerances(time_within),
        choose=choose,
    )
    most = max(asked.knows or (16,))
    for k in asked.knows or (most,):
        Adversary(knows=k, wrong_kind=kind or "value", choose=choose)
    for w in asked.wrong or ():
        Adversary(knows=most, wrong=w)
    for v in asked.value_within or ():
        Adversary(value_within=v)
    for t in asked.time_within or ():
        Adversary(time_within=t)
    return asked


def _tolerance(part: str, text: str) -> Within:
    """A number, a share like 10%, or None for `none`."""
    word = part.strip().lower()
    if word.endswith("%"):
        return word
    try:
        number = options.numbers(word, "value-within")[0]
    except ParameterError:
        raise ParameterError(
            f"--value-within {text!r}: use numbers or shares like 10% separated by commas, or none"
        ) from None
    return int(number) if number is not None and number.is_integer() else number


def _share_or_count(part: str, text: str) -> float:
    """A number of facts, or a share of them."""
    word = part.strip()
    try:
        number = float(word[:-1]) / 100 if word.endswith("%") else float(word)
    except ValueError:
        number = -1.0
    if number < 0 or (number >= 1 and not number.is_integer()):
        raise ParameterError(
            f"--wrong {text!r}: use whole numbers, or shares like 25%, separated by commas"
        )
    return int(number) if number.is_integer() else number
