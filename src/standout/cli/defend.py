"""`standout defend`: apply a defense and write the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


@options.reads()
def defend(
    path: options.DataPath,
    reading: options.Reading,
    apply: Annotated[
        str | None,
        typer.Option(
            help="Defense to apply, or several: 'drop-entries(share=0.5) | coarsen-time(to=month)'."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the release (.csv, .parquet, or as the input); FILE.manifest.json is written beside it."
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Random seed. Keep it secret: it undoes the defense. Default: a random one that is not stored."
        ),
    ] = None,
    new_ids: Annotated[
        bool,
        typer.Option(
            "--new-ids",
            help="Replace the ids of the records by random ones. The release can then not be compared with its source.",
        ),
    ] = False,
    id_map: Annotated[
        Path | None,
        typer.Option(
            help="With --new-ids: write old and new ids to this CSV file. It undoes --new-ids: keep it secret."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the output if it exists.")
    ] = False,
) -> None:
    """Apply a defense and write the release, with a manifest of the published parameters.

    The release has the columns for record, item, value and time, called as in the input; all other
    columns are left out. The ids of the records are kept, so that `standout audit SOURCE --release
    FILE` can judge the release; --new-ids replaces them. `standout frontier` compares defenses.

    Example: standout defend ratings.csv --apply "drop-entries(share=0.5) | coarsen-time(to=month)"
    --out release.csv
    """
    from secrets import randbits

    from rich.console import Console

    from standout.cli.waiting import read_quietly
    from standout.data import writing
    from standout.defenses.manifest import manifest_path, write_manifest
    from standout.defenses.parse import parse_defense

    if apply is None:
        raise ParameterError(
            "name a defense with --apply; `standout frontier PATH` compares defenses"
        )
    if out is None:
        raise ParameterError("the release needs a file: name it with --out FILE")
    if id_map is not None and not new_ids:
        raise ParameterError("--id-map is for --new-ids: give both")
    defense = parse_defense(apply)
    _check_outputs(out, id_map, path, overwrite)
    source = read_quietly(path, False, **reading.keywords)
    with Console(stderr=True).status("applying the defense …"):
        release = defense.apply(source, seed=randbits(63) if seed is None else seed)
        layout = writing.layout_like(path, reading.keywords, source, out)
        # a manifest of an earlier release must not describe this one
        manifest_path(out).unlink(missing_ok=True)
        ids = writing.new_ids(release) if new_ids else None
        if ids is not None and id_map is not None:
            writing.write_ids(release, ids, id_map)
        writing.write_entries(release, layout, out, ids)
        write_manifest(release, layout, out)
    for line in _summary(source, release, out, id_map, new_ids):
        typer.echo(line)


def _check_outputs(out: Path, id_map: Path | None, path: str, overwrite: bool) -> None:
    """Refuse files that cannot or should not be written, before any data is read."""
    from standout.data.writing import check_suffix
    from standout.defenses.manifest import manifest_path

    _check_out(out, path, overwrite)
    if id_map is not None:
        _check_out(id_map, path, overwrite, "--id-map")
        if id_map.resolve() in (out.resolve(), manifest_path(out).resolve()):
            raise ParameterError(
                "--id-map and --out name the same file, or its manifest: give each its own"
            )
    check_suffix(out, path)


def _check_out(out: Path, path: str, overwrite: bool, option: str = "--out") -> None:
    from standout.cli.outputs import refuse_inputs

    if out.is_dir():
        raise ParameterError(f"{option} {str(out)!r} is a folder: name a file")
    if not out.parent.is_dir():
        raise ParameterError(
            f"{option} {str(out)!r}: the folder {str(out.parent)!r} does not exist"
        )
    refuse_inputs([out], [path])
    if out.exists() and not overwrite:
        raise ParameterError(f"{option} {str(out)!r} exists: name another file, or use --overwrite")


def _summary(
    source: Dataset, release: Dataset, out: Path, id_map: Path | None, new_ids: bool
) -> list[str]:
    """What is left, in counts only, and what was written."""
    from standout.defenses.manifest import manifest_path

    lines = [
        f"{release.defense}",
        f"{release.n_records:,} of {source.n_records:,} records, {release.n_items:,} of {source.n_items:,} items, "
        f"{release.n_entries:,} of {source.n_entries:,} entries",
    ]
    mechanism = release.mechanism
    if mechanism is not None and (mechanism.moved > 0 or mechanism.replaced > 0):
        lines.append(
            f"{mechanism.n_collided:,} entries were lost to collisions: "
            "an exchanged or replaced item that the record held already."
        )
    if release.n_records < source.n_records:
        lines.append(
            "The other records are not in the release, because they were not sampled or have no entry left."
        )
    lines += [f"release: {out}", f"manifest: {manifest_path(out)}"]
    if not new_ids:
        lines.append(
            "The release holds the original ids: anyone who knows the id of a person finds the record. "
            "Replace them with --new-ids before you publish."
        )
    elif id_map is not None:
        lines.append(f"old and new ids, keep them secret: {id_map}")
    return lines
