"""`standout audit`: attack a release and report how many people are found; `standout demo`: the same with synthetic data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from standout.audit.defaults import ATTACKS as DEFAULT_ATTACKS
from standout.audit.defaults import SWEEPS, TARGETS
from standout.cli.first_run import CompilingBeside
from standout.cli.option_values import attack_options
from standout.cli.options import KnowledgeOptions, Reading, command
from standout.cli.reading import (
    check_defense,
    error_console,
    memory_budget,
    progress_on,
    read_on_spark,
    read_release,
    spark_for,
)
from standout.cli.session import Session
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary
    from standout.data.catalog import Catalog
    from standout.data.dataset import Dataset

ATTACKS = ",".join(DEFAULT_ATTACKS)


@command()
def demo(
    out: Path | None = None,
    overwrite: bool = False,
    records: int = 20_000,
    targets: str = "500",
    seed: int = 0,
    attacks: str = ATTACKS,
    fresh: bool = False,
    json: bool = False,
) -> None:
    """Audit a built-in synthetic release with ratings and dates. No data is needed.

    Example: standout demo --out demo-out

    Parameters
    ----------
    records
        Size of the synthetic release.
    """
    from standout.audit.audit import Audit
    from standout.data.synthetic import twin_dataset

    with (
        Session(out, json=json, overwrite=overwrite, fresh=fresh) as session,
        CompilingBeside(session.log),
    ):
        names, count = attack_options(attacks, targets, "memory")
        with session.log.status("making a synthetic release …"):
            dataset = twin_dataset(n_records=records, seed=seed)
        session.print_data(dataset)
        session.run(Audit(dataset, None, names, count, seed, journal=session.journal))


@command()
def audit(
    path: str,
    /,
    reading: Reading,
    out: Path | None = None,
    overwrite: bool = False,
    title: str | None = None,
    pdf: bool = False,
    targets: str = str(TARGETS),
    seed: int = 0,
    attacks: str = ATTACKS,
    engine: str = "memory",
    memory: str | None = None,
    master: str | None = None,
    sweep: str = "default",
    domain: str | None = None,
    known: KnowledgeOptions = KnowledgeOptions(),
    release: Path | None = None,
    defense: str | None = None,
    split_time: str | None = None,
    redact: bool = False,
    fresh: bool = False,
    json: bool = False,
) -> None:
    """Attack a release and report how many people are found with how much knowledge.

    The sweep tries 1, 2, 4, 8 and 16 known items, all right and with a quarter wrong, values and times unknown, rough and exact.

    --knows, --wrong, --value-within, --time-within and --choose replace that part of it; --within and --view hold for all of it.

    --split-time takes the knowledge from before a day and releases what came after: no entry is in both.

    --release judges protected data: records are matched by label, and the attacker knows the defense if it is published.

    Example: standout audit ratings.csv --knows 4,8 --time-within 14

    Parameters
    ----------
    title
        Name of the dataset, shown in the title of the report.
    pdf
        Write report.pdf as well. Needs chromium.
    sweep
        Kinds of knowledge to try: default (about 30), full, or a file of one's own: my.toml. See
        docs/domains.md.
    domain
        What the data is about: ratings, purchases, visits or clicks. It adds kinds of knowledge to
        the sweep and gives the words of the report. Default: detected.
    knows
        Numbers of known items, e.g. 2,4,8.
    wrong
        Wrong facts among them, e.g. 0,2, or a share, e.g. 25%.
    value_within
        Largest error of known values, e.g. 0,1,10%,round:5,none (none: values are not known).
    time_within
        Largest error of known times in days, e.g. 0,14,2h,30min,none (none: not known).
    release
        Release made from PATH, read with the same options: knowledge comes from PATH, the release
        is attacked.
    split_time
        First day of the release, e.g. 2011-06-01, or a share of the entries: knowledge comes from
        before, and no entry is in both. Writes links.json and links.html.
    """
    from standout.audit.audit import Audit
    from standout.audit.domain import domain_named
    from standout.audit.sweep import Axes, default_sweep
    from standout.data.loading import in_memory

    check_defense(defense, release)
    if split_time is not None:
        from standout.cli.link import FOLDER, audit_split

        if release is not None:
            raise ParameterError("--split-time makes its own release: leave out --release")
        if known.view is not None:
            raise ParameterError("--split-time does not take a view: leave out --view")
        if redact:
            raise ParameterError(
                "--redact does not search links.json and links.html: leave it out with --split-time"
            )
        log = error_console(json)
        audit_split(path, reading.keywords, split_time, out or FOLDER, seed, engine, fresh, log)
        return
    asked, own = known.axes(), _own_sweep(sweep, known)
    if domain is not None:
        domain_named(domain)
    with (
        Session(out, json=json, overwrite=overwrite, pdf=pdf, fresh=fresh) as session,
        CompilingBeside(session.log, engine),
    ):
        names, count = attack_options(attacks, targets, engine)
        dataset = _read(path, reading, engine, memory, master, session)
        judged = None
        if release is not None:
            source = in_memory(dataset, "--release")
            with session.log.status("reading the release …"):
                judged = read_release(release, source, reading.keywords, defense)
            session.print_data(judged)
            session.log.print(f"  release: {judged.defense or 'no defense is known'}", markup=False)
        job = Audit(
            dataset,
            own or (default_sweep(dataset, sweep, asked) if asked != Axes() else None),
            names,
            count,
            seed,
            engine,
            sweep=sweep,
            domain=domain,
            release=judged,
            defense=None if judged is None else judged.defense,
            journal=session.journal,
        )
        session.log.print(f"  {job.domain.words}", markup=False)
        session.run(job, title, redact=redact)


def _own_sweep(sweep: str, known: KnowledgeOptions) -> list[Adversary] | None:
    """Adversaries of a sweep file; None if --sweep names a sweep."""
    from standout.audit.sweep_file import load_sweep

    if sweep in SWEEPS:
        return None
    if not sweep.endswith(".toml"):
        raise ParameterError(
            f"--sweep {sweep!r}: use {', '.join(SWEEPS)} or a file that ends in .toml"
        )
    if known != KnowledgeOptions():
        raise ParameterError(
            f"--sweep {sweep!r} states all that is known: leave out --knows, --wrong, --within, --choose, --view and the like"
        )
    return load_sweep(sweep)


def _read(
    path: str,
    reading: Reading,
    engine: str,
    memory: str | None,
    master: str | None,
    session: Session,
) -> Catalog:
    """Read the source where the engine needs it, and print what was read."""
    from standout.data.chunked.dataset import ChunkedDataset
    from standout.data.dataset import Dataset

    log, keywords = session.log, reading.keywords
    cluster = spark_for(engine, master)
    dataset: Catalog
    if cluster is not None:
        with log.status("reading on Spark …"):
            dataset = read_on_spark(path, cluster, keywords)
    elif (budget := memory_budget(path, engine, memory, log)) is not None:
        # the records lie in the work folder until the audit is done
        with progress_on(log) as progress:
            dataset = ChunkedDataset.read(
                path, memory=budget, work=session.work.data, progress=progress, **keywords
            )
    else:
        with log.status("reading …"):
            dataset = whole = Dataset.read(path, **keywords)
        _propose_split(whole, session)
    session.print_data(dataset)
    return dataset


def _propose_split(dataset: Dataset, session: Session) -> None:
    """Propose a time-shifted audit for data in which people repeat items."""
    from standout.linking.link import proposed_split

    day = proposed_split(dataset)
    if day is not None:
        session.log.print(
            f"  people repeat items: --split-time {day} measures whether habits from before link to what came after",
            markup=False,
        )
