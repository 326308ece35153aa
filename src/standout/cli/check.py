"""`standout check`: does a release keep a policy? The exit code says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.cli import options
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset
    from standout.gate.policy import Policy
    from standout.gate.verdict import Verdict

Targets = Annotated[str | None, typer.Option(help="Number of records to attack, or all. Default: the policy's.")]
Release = Annotated[
    Path | None, typer.Option(help="What is published, if PATH is the source: records are matched by label.")
]
DefenseText = Annotated[
    str | None,
    typer.Option("--defense", help="Defense that made the release. Default: as in FILE.manifest.json, else unknown."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the verdict as JSON, and nothing else, on standard output.")]


@options.reads()
def check(
    path: options.DataPath,
    reading: options.Reading,
    policy: Annotated[Path, typer.Option(help="TOML file with the limits; `standout policy init` writes one.")],
    release: Release = None,
    defense: DefenseText = None,
    targets: Targets = None,
    seed: options.Seed = 0,
    engine: options.Engine = "memory",
    self_test: Annotated[
        bool | None,
        typer.Option(
            "--self-test/--no-self-test",
            help="Plant known people in the data, in memory, and require that they are found. Default: on.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the verdict as JSON to this file.")] = None,
    page: Annotated[Path | None, typer.Option(help="Write the page that a person signs to this HTML file.")] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 to this file.")] = None,
    evidence: Annotated[Path | None, typer.Option(help="Write evidence for `standout verify` to this file.")] = None,
    sign: Annotated[
        Path | None, typer.Option(help="Sign the evidence with this private key (Ed25519, PEM, no password).")
    ] = None,
    github: Annotated[bool, typer.Option("--github", help="Print GitHub annotations on standard output.")] = False,
    json: Json = False,
) -> None:
    """Check a release against a policy. Exit code: 0 pass, 1 fail, 3 cannot tell, 2 bad input.

    A limit counts as kept only if a one-sided 95 % bound of the measured rate lies below it: too few targets never pass.

    Example: standout check ratings.csv --policy policy.toml --junit check.xml
    """
    from standout.cli.session import _check_writable, _target_count
    from standout.cli.waiting import waiting
    from standout.engines.engine import engine as engine_of
    from standout.gate.policy import Policy

    rules = with_self_test(Policy.load(policy), self_test)
    wanted = None if targets is None else _target_count(targets)
    engine_of(engine)
    if sign is not None and evidence is None:
        raise ParameterError("--sign signs the evidence: name its file with --evidence")
    if sign is not None:
        from standout.gate.evidence import check_private_key

        check_private_key(sign)
    if json and github:
        raise ParameterError("--json and --github: choose one")
    for file in (out, page, junit, sarif, evidence):
        if file is not None:
            if file.is_dir():
                raise ParameterError(f"{str(file)!r} is a folder; name a file")
            _check_writable(file.parent)
    quiet = json or github
    keywords = reading.keywords_for(*(who.time_within for who in rules.adversaries.values()))
    source, published = read_both(path, release, defense, quiet, keywords)
    with waiting(quiet) as progress:
        from standout.gate.check import check as run

        verdict = run(source, rules, release=published, targets=wanted, seed=seed, engine=engine, progress=progress)
    write(verdict, path if release is None else str(release), out=out, page=page, junit=junit, sarif=sarif)
    if evidence is not None:
        from standout.gate.evidence import save_evidence

        save_evidence(verdict, evidence, sign)
    if json:
        print(verdict.to_json(), end="")
    elif github:
        from standout.gate.formats import github_annotations

        print(github_annotations(verdict), end="")
    else:
        from rich.console import Console

        from standout.report.gate import show

        show(verdict.to_dict(), Console(highlight=False))
    sys.exit(verdict.exit_code)


def read_both(path: str, release: Path | None, defense: str | None, quiet: bool,
              keywords: dict[str, Any]) -> tuple[Dataset, Dataset | None]:  # fmt: skip
    """Read the source and, if it is named, the release with the defense that made it."""
    from standout.cli.release import read_release
    from standout.cli.waiting import read_quietly

    if defense is not None:
        from standout.defenses.parse import parse_defense

        if release is None:
            raise ParameterError("--defense describes a release: name its file with --release")
        parse_defense(defense)
    source = read_quietly(path, quiet, **keywords)
    return source, None if release is None else read_release(release, source, keywords, defense)


def with_self_test(policy: Policy, wanted: bool | None) -> Policy:
    """The policy, with its self-test switched on or off where the command line says so."""
    from dataclasses import replace

    return policy if wanted is None else replace(policy, self_test=wanted)


def write(verdict: Verdict, path: str, *, out: Path | None, page: Path | None, junit: Path | None,
          sarif: Path | None) -> None:  # fmt: skip
    """Write the requested files."""
    from standout.audit.findings import write_whole
    from standout.gate import formats

    # the folder of the data may name people; its file name is enough
    name = Path(path).name
    if out is not None:
        verdict.save(out)
    if junit is not None:
        write_whole(junit, formats.junit(verdict))
    if sarif is not None:
        write_whole(sarif, formats.sarif(verdict, name))
    if page is not None:
        from standout.report.gate import render_verdict

        render_verdict(verdict.to_dict(), page)
