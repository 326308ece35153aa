"""How commands read their data: in memory, in parts or on Spark, and a release beside its source."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.errors import ParameterError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from rich.console import Console

    from standout.data.catalog import Catalog
    from standout.data.dataset import Dataset
    from standout.engines.spark import SparkEngine
    from standout.engines.spark_dataset import SparkDataset
    from standout.experiment.progress import Progress

SHARE = 0.8
"""Share of the free memory that data may take as a whole."""

OF_ENTRIES = ("repeats", "skip_bad", "max_bad")
"""Options of reading that apply to the release as well if its manifest says how to read it."""

_NOT_ON_SPARK = ("encoding", "delimiter", "header", "names", "wide", "zeros", "table")
_FURTHER = ("channels", "attributes", "lat", "lon")
_ROLES = ("record", "item", "value", "time")


def error_console(quiet: bool = False) -> Console:
    """Console on standard error."""
    from rich.console import Console

    return Console(stderr=True, quiet=quiet, highlight=False)


def progress_on(log: Console) -> AbstractContextManager[Progress]:
    """A progress bar on this console, shown only in a terminal."""
    from standout.experiment.progress import progress_bar

    return progress_bar(log)


def read_data(path: str, keywords: dict[str, Any], log: Console, what: str = "reading") -> Dataset:
    """Read data into memory and print what cleaning did."""
    from standout.data.dataset import Dataset

    with log.status(f"{what} …"):
        dataset = Dataset.read(path, **keywords)
    print_data(dataset, log)
    return dataset


def print_data(dataset: Catalog, log: Console) -> None:
    """Print what was read and what cleaning did."""
    c = dataset.cleaning
    log.print(
        f"{dataset.n_records:,} records × {dataset.n_items:,} items, {dataset.n_entries:,} entries"
        f" from {c.rows_read:,} rows",
        markup=False,
    )
    for note in c.notes:
        log.print(f"  {note}", markup=False)
    counted = (
        (c.rows_bad, "rows that do not parse dropped"),
        (c.rows_without_record, "rows without a record dropped"),
        (c.rows_without_item, "rows without an item dropped"),
        (c.repeated_pairs, f"repeats of a (record, item) pair ({c.repeats})"),
        (c.values_missing, "entries without a value: that channel is unknown for them"),
        (c.times_missing, "entries without a time: that channel is unknown for them"),
    )
    for n, what in counted:
        if n:
            log.print(f"  {n:,} {what}", markup=False)


def memory_budget(path: str, engine: str, memory: str | None, log: Console) -> int | None:
    """Bytes of memory for data that is read in parts; None to hold it in memory.

    Without --memory and --engine chunked, an estimate of the data's size decides, and a sentence
    says so.
    """
    from standout.data.chunked.memory import (
        LEAST,
        MEMORY,
        available_memory,
        bytes_of,
        in_words,
        needed_memory,
    )

    if engine not in ("memory", "chunked"):
        if memory is not None:
            raise ParameterError(
                f"--memory is for --engine chunked, which reads data in parts; --engine is {engine}"
            )
        return None
    if memory is not None or engine == "chunked":
        return bytes_of(memory or MEMORY)
    needed, free = needed_memory(path), available_memory()
    if needed is None or needed <= SHARE * free:
        return None
    budget = max(int(free / 2), LEAST)
    log.print(
        f"about {in_words(needed)} are needed to hold this data, and {in_words(free)} are free: records stay on disk and "
        f"are read in parts (--engine chunked --memory {budget // 10**6}MB)",
        markup=False,
    )
    return budget


def spark_for(engine: str, master: str | None) -> SparkEngine | None:
    """The Spark engine, started, if that is the one; None for every other engine."""
    if engine != "spark":
        if master is not None:
            raise ParameterError(
                f"--master is for --engine spark, and the engine is {engine!r}: leave it out"
            )
        return None
    from standout.engines.spark import SparkEngine

    return SparkEngine(master=master)


def read_on_spark(path: str, engine: SparkEngine, keywords: dict[str, Any]) -> SparkDataset:
    """Read a table, or a path that Spark can read, into shards on the cluster."""
    from standout.engines.spark_dataset import SparkDataset

    if any(name in keywords for name in _FURTHER):
        raise ParameterError(
            "--channel, --attributes, --lat and --lon are read in memory alone: leave them out with --engine spark, or use "
            "--engine memory"
        )
    given = [name for name in _NOT_ON_SPARK if name in keywords]
    if given:
        raise ParameterError(
            f"{', '.join(given)}: Spark reads the files itself; leave it out with --engine spark"
        )
    return SparkDataset.read(path, engine=engine, **keywords)


def check_defense(defense: str | None, release: Path | None) -> None:
    """Refuse a defense without a release, or one that is not a defense, before any data is read."""
    if defense is not None:
        from standout.defenses.parse import parse_defense

        if release is None:
            raise ParameterError("--defense describes a release: name its file with --release")
        parse_defense(defense)


def read_both(
    path: str, release: Path | None, defense: str | None, keywords: dict[str, Any], log: Console
) -> tuple[Dataset, Dataset | None]:
    """Read the source and, if it is named, the release with the defense that made it."""
    check_defense(defense, release)
    source = read_data(path, keywords, log)
    return source, None if release is None else read_release(release, source, keywords, defense)


def read_release(
    path: Path, source: Dataset, keywords: dict[str, Any], defense: str | None
) -> Dataset:
    """Read a release and attach its source and the published parameters of its defense.

    Parameters
    ----------
    path
        File of the release.
    source
        The data that the release was made from.
    keywords
        Keywords that the source was read with.
    defense
        The defense as text; None: as in the manifest, or not known.
    """
    from standout.data.dataset import Dataset
    from standout.data.whole import carry
    from standout.defenses.manifest import read_manifest
    from standout.defenses.parse import parse_defense

    manifest = read_manifest(path)
    stated, how = manifest or (None, _as_source(path, source, keywords))
    if manifest is not None:
        how = {name: keywords[name] for name in OF_ENTRIES if name in keywords} | how
    known = parse_defense(defense) if defense is not None else stated
    if known and source.has_time and how.get("time") != "":  # a defense changes ticks of the source
        how = {**how, "resolution": source.time_resolution}
    release = _with_notes(Dataset.read(path, **how), source)
    if not known:
        return release
    described = known.describe(source, release)
    carry(release, described)
    return described


def _with_notes(release: Dataset, source: Dataset) -> Dataset:
    """The release, with a note on each channel and attribute of the source that it lacks."""
    from dataclasses import replace

    from standout.data.channels import level_names
    from standout.data.whole import carry

    missing = [name for name in level_names(source) if name not in (*level_names(release), "value")]
    if not missing:
        return release
    note = (
        f"the release has no {' and no '.join(missing)}: nothing is compared there "
        "(if a column has it under another name, rename the column)"
    )
    cleaning = replace(release.cleaning, notes=(*release.cleaning.notes, note))
    noted = replace(release, cleaning=cleaning)
    carry(release, noted)
    return noted


def _as_source(path: Path, source: Dataset, keywords: dict[str, Any]) -> dict[str, Any]:
    """Keywords of the source, with the columns that it uses; values and times may be missing in the release.

    A column for values or times that the release lacks is guessed among the columns that the source
    does not have: it may have another name there, and without it the risk would look lower.
    """
    from standout.data.positions import is_position
    from standout.data.reading.options import ReadOptions
    from standout.data.reading.read import inspect_columns

    used = {use.role: use.name for use in source.cleaning.columns if use.role in _ROLES}
    if keywords.get("wide") or not used:
        return keywords
    bare = {name: x for name, x in keywords.items() if name not in (*_ROLES, "ignore", *_FURTHER)}
    there = {use.name for use in inspect_columns(path, ReadOptions(**bare)).columns}
    roles = {role: used[role] for role in ("record", "item") if used.get(role) in there}
    renamed = there - {use.name for use in source.cleaning.columns}
    for role in ("value", "time"):
        if used.get(role) in there:
            roles[role] = used[role]
        elif role not in used or not renamed:
            roles[role] = ""
    given = ReadOptions(**{name: keywords[name] for name in _FURTHER if name in keywords}).further
    more = {
        option: {name: column for name, column in columns.items() if column in there}
        for option, columns in zip(("channels", "attributes"), given.values(), strict=True)
    }
    if "item" not in used and is_position(more["channels"]):
        roles["item"] = ""  # the place, as in the source
    known = sorted(name for name in there - renamed - set(roles.values()) if name)
    return {**bare, **roles, **more, **({"ignore": known} if known else {})}
