"""`standout COMMAND`: all commands. An error prints one line and exits with code 2."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from typing import Annotated

import typer

from standout.errors import StandoutError

VERBS = ("demo", "audit", "columns", "describe", "bound", "reproduce", "twin", "defend", "report", "explain", "check",
         "policy", "bench", "doctor")  # fmt: skip
"""In the order of `--help`. `standout.cli.NAME` has a function of the same name."""

app = typer.Typer(
    name="standout",
    help="How few facts find a person in your ratings, purchases or check-ins? Measure it before you release them.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

for _verb in VERBS:
    app.command(_verb)(getattr(import_module(f"standout.cli.{_verb}"), _verb))


def _print_version(wanted: bool) -> None:
    if wanted:
        from standout import __version__

        typer.echo(f"standout {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Options of `standout` itself."""


def _note(message: Warning | str, *_: object, **__: object) -> None:
    print(f"standout: {message}", file=sys.stderr)


def main() -> None:
    """Run the command line; errors that a user can fix print one line and exit with code 2."""
    # without the line of code that Python adds to a warning
    warnings.showwarning = _note
    try:
        app()
    except StandoutError as error:
        print(f"standout: {error}", file=sys.stderr)
        sys.exit(2)
