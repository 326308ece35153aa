"""`standout defend`: apply a defense and write the release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from standout.cli.options import Reading, command
from standout.cli.outputs import check_file
from standout.cli.reading import error_console, read_data
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


@command()
def defend(
    path: str,
    /,
    reading: Reading,
    apply: str | None = None,
    out: Path | None = None,
    seed: int | None = None,
    new_ids: bool = False,
    id_map: Path | None = None,
    overwrite: bool = False,
) -> None:
    """Apply a defense and write the release, with a manifest of the published parameters.

    The release has the columns for record, item, value and time and those of --channel and --attributes, called as
    in the input; all other columns are left out. The ids of the records are kept, so that `standout audit SOURCE
    --release FILE` can judge the release; --new-ids replaces them. `standout frontier` compares defenses.

    Example: standout defend ratings.csv --apply "drop-entries(share=0.5) | coarsen-time(to=month)"
    --out release.csv

    Parameters
    ----------
    apply
        Defense to apply, or several: 'drop-entries(share=0.5) | coarsen-time(to=month)'.
    out
        File for the release (.csv, .parquet, or as the input); FILE.manifest.json is written beside
        it.
    seed
        Random seed. Keep it secret: it undoes the defense. Default: a random one that is not
        stored.
    new_ids
        Replace the ids of the records by random ones. The release can then not be compared with its
        source.
    id_map
        With --new-ids: write old and new ids to this CSV file. It undoes --new-ids: keep it secret.
    overwrite
        Replace the output if it exists.
    """
    from secrets import randbits

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
    check_file(out, [path], overwrite=overwrite, in_folder=True)
    check_file(id_map, [path], "--id-map", overwrite=overwrite, in_folder=True)
    if id_map is not None and id_map.resolve() in (out.resolve(), manifest_path(out).resolve()):
        raise ParameterError(
            "--id-map and --out name the same file, or its manifest: give each its own"
        )
    writing.check_suffix(out, path)
    log = error_console()
    source = read_data(path, reading.keywords, log)
    with log.status("applying the defense …"):
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


def _summary(
    source: Dataset, release: Dataset, out: Path, id_map: Path | None, new_ids: bool
) -> list[str]:
    """What is left, in counts only, and what was written."""
    from standout.defenses.manifest import lost_to_collisions, manifest_path

    lines = [
        f"{release.defense}",
        f"{release.n_records:,} of {source.n_records:,} records, {release.n_items:,} of {source.n_items:,} items, "
        f"{release.n_entries:,} of {source.n_entries:,} entries",
    ]
    if (lost := lost_to_collisions(release)) is not None:
        lines.append(
            f"{lost:,} entries were lost to collisions: an exchanged or replaced item that the record held already."
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
