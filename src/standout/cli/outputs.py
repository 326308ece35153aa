"""What a command writes: checked before any work, searched for labels on request, printed as JSON or as tables."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, is_dataclass
from glob import glob
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from standout.errors import InputError, ParameterError

if TYPE_CHECKING:
    from rich.console import Console, OverflowMethod
    from rich.table import Table


T = TypeVar("T")

_WRITTEN = (".json", ".html", ".pdf", ".xml", ".sarif")


def check_file(
    out: Path | None,
    read: Iterable[str | Path | None] = (),
    option: str = "--out",
    *,
    overwrite: bool = True,
    in_folder: bool = False,
) -> None:
    """Refuse a file that cannot or should not be written, before any data is read.

    Parameters
    ----------
    out
        The file; None for no file.
    read
        What the command reads.
    option
        Option that names the file.
    overwrite
        Whether an existing file may be replaced.
    in_folder
        Whether its folder must exist: data on people is not written to a mistyped place.
    """
    if out is None:
        return
    name = f"{option} {str(out)!r}"
    if out.is_dir():
        raise ParameterError(f"{name} is a folder; name a file")
    if in_folder and not out.parent.is_dir():
        raise ParameterError(f"{name}: the folder {str(out.parent)!r} does not exist")
    refuse_inputs([out], read)
    if out.exists() and not overwrite:
        raise ParameterError(f"{name} exists: name another file, or use --overwrite")
    _check_writable(out.parent, name)


def check_folder(out: Path, files: Iterable[str] = (), what: str = "") -> None:
    """Refuse a folder that cannot be written to, or that holds one of the files of an earlier run (`what`)."""
    name = f"--out {str(out)!r}"
    if out.exists() and not out.is_dir():
        raise ParameterError(f"{name} is a file; name a folder")
    if any((out / file).exists() for file in files):
        raise ParameterError(f"{name} holds {what}: name another folder, or use --overwrite")
    _check_writable(out, name, beside=True)


def _check_writable(folder: Path, name: str, *, beside: bool = False) -> None:
    """Refuse a folder that cannot be written to, and leave nothing behind; a draft may be written `beside` it."""
    place = folder
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        for where in {place, place.parent if beside and place == folder and place.name else place}:
            handle, draft = tempfile.mkstemp(dir=where, prefix=".standout.")
            os.close(handle)
            Path(draft).unlink()
    except OSError as error:
        raise ParameterError(
            f"{name} cannot be written to: {error.strerror}; name another folder"
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
    check_file(out, [read], in_folder=True)
    if labels and out is None:
        raise ParameterError("--labels adds labels to the file of --out: name that file too")


def write_people(found: Any, out: Path | None, *, labels: bool, quiet: bool) -> None:
    """Write one row per person as CSV, if a file is named: `found` has `to_frame`."""
    from standout.audit.findings import write_whole

    if out is not None:
        write_whole(out, found.to_frame(labels=labels).to_csv(index=False))
        if not quiet:
            typer.echo(f"one row per person: {out}")


def refuse_labels(outputs: dict[str, str], *datasets: Any) -> None:
    """Stop before anything is written if an output holds a label; otherwise print how many were searched for."""
    from standout.gate.formats import find_labels_in

    clean, why = find_labels_in(outputs, *(data for data in datasets if data is not None))
    if not clean:
        raise InputError(
            f"--redact: {why}; nothing was written. Does a title, a file name or a name in a policy equal a label?"
        )
    print(f"standout: {why}", file=sys.stderr)


def print_result(found: T, json: bool, show: Callable[[T, Console], None]) -> None:
    """Print a result as JSON, or as `show` shows it."""
    if json:
        print(dumps(plain(found), indent=1, allow_nan=False, ensure_ascii=False))
        return
    from rich.console import Console

    show(found, Console(highlight=False))


def plain(found: Any) -> Any:
    """A result as plain data."""
    if hasattr(found, "to_dict"):
        return found.to_dict()
    return asdict(found) if is_dataclass(found) and not isinstance(found, type) else found


def captured(found: T, show: Callable[[T, Console], None]) -> str:
    """What `show` prints, as text."""
    from rich.console import Console

    console = Console(highlight=False)
    with console.capture() as capture:
        show(found, console)
    return capture.get()


def plain_table(
    *columns: str, left: int = 1, title: str | None = None, overflow: OverflowMethod = "ellipsis"
) -> Table:
    """A table without lines; the first columns are aligned to the left, the others to the right."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", overflow=overflow)
    return table
