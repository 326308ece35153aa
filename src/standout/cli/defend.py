"""`standout defend`: compare defenses by risk and utility, or make a release that is harder to attack."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset

Apply = Annotated[
    str | None,
    typer.Option(
        help="Defense to apply, or several: 'drop-entries(share=0.5) | coarsen-time(to=month)'. Needs --out."
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="With --apply: file for the release (.csv, .parquet, or as the input); FILE.manifest.json is written beside it. "
        "Else: folder for frontier.json and frontier.html. Default: standout-defend."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Random seed. With --apply keep it secret: it undoes the defense; default: a random one that is not stored. "
        "Else: 0."
    ),
]
NewIds = Annotated[
    bool,
    typer.Option(
        "--new-ids",
        help="With --apply: replace the ids of the records by random ones. The release can then not be compared with its source.",
    ),
]
IdMap = Annotated[
    Path | None,
    typer.Option(
        help="With --new-ids: write old and new ids to this CSV file. It undoes --new-ids: keep it secret."
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it exists.")]
Defenses = Annotated[
    str,
    typer.Option(
        help="Defenses to compare, comma-separated: names, or texts as for --apply. Default: all."
    ),
]
Strengths = Annotated[
    str | None,
    typer.Option(
        help="Settings to compare: '0.2,0.5' for every named defense, or 'drop-entries=0.2,0.5; cap-entries=10'."
    ),
]
Measure = Annotated[
    str,
    typer.Option(
        help="Loss that counts as the cost: ndcg, recall, rating, popularity, pairs, time or entries."
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the frontier as JSON on standard output, and nothing else there."
    ),
]


@options.reads()
def defend(
    path: options.DataPath,
    reading: options.Reading,
    apply: Apply = None,
    defenses: Defenses = "all",
    strengths: Strengths = None,
    targets: options.Targets = "1000",
    measure: Measure = "ndcg",
    out: Out = None,
    seed: Seed = None,
    new_ids: NewIds = False,
    id_map: IdMap = None,
    overwrite: Overwrite = False,
    fresh: options.Fresh = False,
    json: Json = False,
) -> None:
    """Compare defenses by risk and utility, or apply one and write the release.

    Without --apply: every defense is tried at several strengths. The result is a table, a chart and
    the least costly defense that brings the share of people found below 5%. A run that was stopped
    goes on where it was.

    Example: standout defend ratings.csv --defenses drop-entries,coarsen-time,drop-time --out
    frontier

    With --apply: the release is written, with a manifest of the published parameters. It has the
    columns for record, item, value and time, called as in the input; all other columns are left
    out. The ids of the records are kept, so that `standout audit SOURCE --release FILE` can judge
    the release; --new-ids replaces them.

    Example: standout defend ratings.csv --apply "drop-entries(share=0.5) | coarsen-time(to=month)"
    --out release.csv
    """
    if id_map is not None and not new_ids:
        raise ParameterError("--id-map is for --new-ids: give both")
    if apply is None:
        if new_ids:
            raise ParameterError("--new-ids is for the release that --apply writes: give both")
        from standout.cli.defend_frontier import show_frontier

        show_frontier(
            path,
            reading,
            defenses=defenses,
            strengths=strengths,
            targets=targets,
            seed=seed or 0,
            measure=measure,
            out=out,
            overwrite=overwrite,
            fresh=fresh,
            json=json,
        )
        return
    if json or fresh or defenses != "all" or strengths is not None:
        raise ParameterError(
            "--json, --fresh, --defenses and --strengths compare defenses: leave them out with --apply"
        )
    write_release(
        path, reading, apply, out, seed, new_ids=new_ids, id_map=id_map, overwrite=overwrite
    )


def write_release(
    path: str,
    reading: options.Reading,
    text: str,
    out: Path | None,
    seed: int | None,
    *,
    new_ids: bool = False,
    id_map: Path | None = None,
    overwrite: bool,
) -> None:
    """Read the data, apply the defense that `text` describes, write the release, its manifest and, if asked for, the ids."""
    from secrets import randbits

    from rich.console import Console

    from standout.cli.waiting import read_quietly
    from standout.data import writing
    from standout.data.writing import check_suffix, layout_like, write_entries
    from standout.defenses.manifest import manifest_path, write_manifest
    from standout.defenses.parse import parse_defense

    defense = parse_defense(text)
    if out is None:
        raise ParameterError("--apply writes a release: name the file with --out FILE")
    _check_out(out, path, overwrite)
    if id_map is not None:
        _check_out(id_map, path, overwrite, "--id-map")
        if id_map.resolve() in (out.resolve(), manifest_path(out).resolve()):
            raise ParameterError(
                "--id-map and --out name the same file, or its manifest: give each its own"
            )
    check_suffix(out, path)
    source = read_quietly(path, False, **reading.keywords)
    with Console(stderr=True).status("applying the defense …"):
        release = defense.apply(source, seed=randbits(63) if seed is None else seed)
        layout = layout_like(path, reading.keywords, source, out)
        # a manifest of an earlier release must not describe this one
        manifest_path(out).unlink(missing_ok=True)
        ids = writing.new_ids(release) if new_ids else None
        if ids is not None and id_map is not None:
            writing.write_ids(release, ids, id_map)
        write_entries(release, layout, out, ids)
        write_manifest(release, layout, out)
    for line in _summary(source, release):
        typer.echo(line)
    typer.echo(f"release: {out}")
    typer.echo(f"manifest: {manifest_path(out)}")
    if ids is None:
        typer.echo(
            "The release holds the original ids: anyone who knows the id of a person finds the record. "
            "Replace them with --new-ids before you publish."
        )
    elif id_map is not None:
        typer.echo(f"old and new ids, keep them secret: {id_map}")


def _check_out(out: Path, path: str, overwrite: bool, option: str = "--out") -> None:
    """Refuse a file that cannot or should not be written, before any data is read."""
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


def _summary(source: Dataset, release: Dataset) -> list[str]:
    """What is left, in words: counts only."""
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
    return lines
