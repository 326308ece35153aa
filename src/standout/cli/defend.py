"""`standout defend`: make a release that is harder to attack."""

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
    typer.Option(help="Defense to apply, or several: 'drop-entries(share=0.5) | coarsen-time(to=month)'. Needs --out."),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="File for the release: .csv, .parquet, or as the input. FILE.manifest.json is written beside it."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Random seed. Keep it secret: it undoes the defense. Default: a random one that is not stored."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")]


@options.reads()
def defend(
    path: options.DataPath,
    reading: options.Reading,
    apply: Apply = None,
    out: Out = None,
    seed: Seed = None,
    overwrite: Overwrite = False,
) -> None:
    """Apply a defense and write the release, with a manifest of the published parameters.

    The release has the columns for record, item, value and time, called as in the input; all other columns are left out.
    Record labels are kept, so that `standout audit SOURCE --release FILE` can judge the release: replace them before you publish.

    Example: standout defend ratings.csv --apply "drop-entries(share=0.5) | coarsen-time(to=month)" --out release.csv
    """
    if apply is None:
        raise ParameterError("say what to do: --apply 'drop-entries(share=0.5)' --out release.csv")
    write_release(path, reading, apply, out, seed, overwrite=overwrite)


def write_release(
    path: str, reading: options.Reading, text: str, out: Path | None, seed: int | None, *, overwrite: bool
) -> None:
    """Read the data, apply the defense that `text` describes, write the release and its manifest."""
    from secrets import randbits

    from rich.console import Console

    from standout.cli.waiting import read_quietly
    from standout.data.writing import check_suffix, layout_like, write_entries
    from standout.defenses.manifest import manifest_path, write_manifest
    from standout.defenses.parse import parse_defense

    defense = parse_defense(text)
    if out is None:
        raise ParameterError("--apply writes a release: name the file with --out FILE")
    _check_out(out, path, overwrite)
    check_suffix(out, path)
    source = read_quietly(path, False, **reading.keywords)
    with Console(stderr=True).status("applying the defense …"):
        release = defense.apply(source, seed=randbits(63) if seed is None else seed)
        layout = layout_like(path, reading.keywords, source, out)
        # a manifest of an earlier release must not describe this one
        manifest_path(out).unlink(missing_ok=True)
        write_entries(release, layout, out)
        write_manifest(release, layout, out)
    for line in _summary(source, release):
        typer.echo(line)
    typer.echo(f"release: {out}")
    typer.echo(f"manifest: {manifest_path(out)}")


def _check_out(out: Path, path: str, overwrite: bool) -> None:
    """Refuse a file that cannot or should not be written, before any data is read."""
    if out.is_dir():
        raise ParameterError(f"--out {str(out)!r} is a folder: name a file")
    if not out.parent.is_dir():
        raise ParameterError(f"--out {str(out)!r}: the folder {str(out.parent)!r} does not exist")
    if out.exists() and Path(path).exists() and out.samefile(path):
        raise ParameterError(f"--out {str(out)!r} is the file that is read: name another one")
    if out.exists() and not overwrite:
        raise ParameterError(f"--out {str(out)!r} exists: name another file, or use --overwrite")


def _summary(source: Dataset, release: Dataset) -> list[str]:
    """What is left, in words: counts only."""
    lines = [
        f"{release.defense}",
        f"{release.n_records:,} of {source.n_records:,} records, {release.n_items:,} of {source.n_items:,} items, "
        f"{release.n_entries:,} of {source.n_entries:,} entries",
    ]
    if release.n_records < source.n_records:
        lines.append("The other records are not in the release, because they were not sampled or have no entry left.")
    return lines
