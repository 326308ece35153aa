"""`standout policy init`: write a policy to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from standout.errors import ParameterError

DOMAINS = ("general", "health", "commerce", "media", "mobility", "research")


def policy(
    action: Annotated[str, typer.Argument(help="init: write a policy.")],
    domain: Annotated[str, typer.Option(help=f"Kind of data: {', '.join(DOMAINS)}.")] = "general",
    out: Annotated[Path, typer.Option("--out", "-o", help="TOML file to write.")] = Path(
        "policy.toml"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Write a commented policy for `standout check`. Its limits are proposals with a stated source; none of them means safe.

    Example: standout policy init --domain health --out policy.toml
    """
    import difflib

    from standout.audit.findings import write_whole
    from standout.gate.template import template

    if action != "init":
        raise ParameterError(f"policy {action!r}: use `standout policy init`")
    if domain not in DOMAINS:
        near = difflib.get_close_matches(domain, DOMAINS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"--domain {domain!r}: {hint}Use {', '.join(DOMAINS)}")
    if out.is_dir():
        raise ParameterError(f"--out {str(out)!r} is a folder; name a file")
    if out.exists() and not overwrite:
        raise ParameterError(f"--out {str(out)!r} exists: name another file, or use --overwrite")
    write_whole(out, template(domain))
    print(f"policy: {out}")
