"""Checks of what a command will write, before any work: a folder that can be written to, and no input."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any

import typer

from standout.errors import ParameterError

_WRITTEN = (".json", ".html", ".pdf", ".xml", ".sarif")


def check_writable(folder: Path) -> None:
    """Refuse a folder that cannot be written to, and leave nothing behind."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        # the draft is written beside the folder, then its files are moved
        for where in {place, place.parent if place == folder and place.name else place}:
            handle, name = tempfile.mkstemp(dir=where, prefix=".standout.")
            os.close(handle)
            Path(name).unlink()
    except OSError as error:
        raise ParameterError(
            f"--out {str(folder)!r} cannot be written to: {error.strerror}; name another folder"
        ) from None


def refuse_inputs(outputs: Iterable[Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Refuse an output that would replace a file that is read; of a folder, a file that is not of a kind that is written."""
    read = [str(one).partition("::")[0] for one in inputs if one is not None]
    read += [file for one in read for file in glob(one)]  # noqa: PTH207 (a pattern with folders)
    for out in (one for one in outputs if one is not None and one.exists()):
        for given in map(Path, read):
            with suppress(OSError):  # too long for a name of a file, as a text or an address may be
                inside = given.is_dir() and out.resolve().is_relative_to(given.resolve())
                if (inside and out.suffix not in _WRITTEN) or (
                    given.exists() and out.samefile(given)
                ):
                    raise ParameterError(
                        f"{str(out)!r} is the file that is read: name another one for the output"
                    )


def check_people_file(out: Path | None, read: str, *, labels: bool) -> None:
    """Refuse a file with one row per person that cannot be written, or that is the file that is read."""
    refuse_inputs([out], [read])
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise ParameterError(f"--out {str(out)!r}: use the name of a file in a folder that exists")
    if labels and out is None:
        raise ParameterError("--labels adds labels to the file of --out: name that file too")


def write_people(found: Any, out: Path | None, *, labels: bool, quiet: bool) -> None:
    """Write one row per person as CSV, if a file is named: `found` has `to_frame`."""
    from standout.audit.findings import write_whole

    if out is not None:
        write_whole(out, found.to_frame(labels=labels).to_csv(index=False))
        if not quiet:
            typer.echo(f"one row per person: {out}")
