"""`standout COMMAND`: all commands. An error prints one line and exits with code 2."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from standout.cli.stopping import Stop, clean_stop, print_stopped
from standout.data.reading.remote import without_secrets
from standout.errors import StandoutError, command_line

VERBS = {
    "demo": "audit",
    "audit": "audit",
    "columns": "describe",
    "describe": "describe",
    "bound": "describe",
    "reproduce": "reproduce",
    "twin": "reproduce",
    "defend": "defend",
    "frontier": "frontier",
    "link": "link",
    "match-items": "link",
    "report": "report",
    "explain": "explain",
    "risk": "risk",
    "worst-case": "risk",
    "unicity": "unicity",
    "check": "check",
    "policy": "check",
    "verify": "check",
    "diff": "check",
    "bench": "machine",
    "doctor": "machine",
}
"""Commands in the order of `--help`, and the module of `standout.cli` with a function of the same name, with _ for -."""

_INTERNAL = 70
"""Exit code for an error in this program, as in sysexits.h."""
_FULL = ": is a disk full, or a quota reached? Make room, or set TMPDIR to another disk"
_LOCKED = ": choose folders that you may write (--out, TMPDIR)"
_HINTS = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: _FULL,
    errno.EACCES: _LOCKED,
    errno.EROFS: _LOCKED,
}
_stop = Stop()


class _Group(TyperGroup):
    """All commands. What they print on failure holds no credentials, labels or values."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with _safe_usage():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        try:
            with _safe_usage():
                return super().invoke(ctx)
        except (Exception, KeyboardInterrupt) as error:
            if _stop.signum is None and not isinstance(error, KeyboardInterrupt):
                raise
            # whatever it raised, it was stopped: DuckDB has its own exception for it
            print_stopped(getattr(error, "__notes__", []))
            raise typer.Exit(_stop.code) from None


@contextmanager
def _safe_usage() -> Iterator[None]:
    """Remove credentials of addresses from messages about options, which quote what was typed."""
    try:
        yield
    except Exception as error:
        if isinstance(message := getattr(error, "message", None), str):
            error.message = without_secrets(message)  # type: ignore[attr-defined]
        raise


app = typer.Typer(
    name="standout",
    cls=_Group,
    help="How few facts find a person in your ratings, purchases or check-ins? Measure it before you release them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

for _verb, _module in VERBS.items():
    app.command(_verb)(getattr(import_module(f"standout.cli.{_module}"), _verb.replace("-", "_")))


def _print_version(wanted: bool) -> None:
    if wanted:
        from standout import __version__

        typer.echo(f"standout {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of `standout` itself."""


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"standout: {message}", file=sys.stderr)


def main() -> None:
    """Run the command line. Errors that a user can fix print one line and exit with code 2, our own with 70."""
    global _stop
    # without the line of code that Python adds to a warning
    warnings.showwarning = _note
    try:
        with clean_stop() as _stop, command_line():
            app()
    except StandoutError as error:
        _fail(str(error), 2)
    except MemoryError:
        _fail("not enough memory", 2)
    except OSError as error:
        _fail(f"{error.strerror or type(error).__name__}{_HINTS.get(error.errno or 0, '')}", 2)
    except Exception as error:
        if os.environ.get("STANDOUT_TRACEBACK"):
            raise
        _fail(_internal(error), _INTERNAL)
    except KeyboardInterrupt:  # before the first command ran, or after the last
        print_stopped([])
        sys.exit(_stop.code)


def _fail(message: str, code: int) -> None:
    print(f"standout: {without_secrets(message)}", file=sys.stderr)
    sys.exit(code)


def _internal(error: Exception) -> str:
    """Where an error in this program happened: its own text may quote labels or values."""
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    return (
        f"internal error ({type(error).__name__} at {' > '.join(places[-4:])}). Please report this line. "
        "STANDOUT_TRACEBACK=1 shows the whole error, which may quote the data"
    )
