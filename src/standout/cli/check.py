"""`standout check`: does a release keep a policy? The exit code says so."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.cli import options
from standout.cli.redacting import Redact
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset
    from standout.gate.policy import Policy
    from standout.gate.verdict import GateVerdict

Targets = Annotated[
    str | None, typer.Option(help="Number of records to attack, or all. Default: the policy's.")
]
Release = Annotated[
    Path | None,
    typer.Option(help="What is published, if PATH is the source: records are matched by label."),
]
DefenseText = Annotated[
    str | None,
    typer.Option(
        "--defense",
        help="Defense that made the release. Default: as in FILE.manifest.json, else unknown.",
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the verdict as JSON, and nothing else, on standard output."),
]


@options.reads()
def check(
    path: options.DataPath,
    reading: options.Reading,
    policy: Annotated[
        Path, typer.Option(help="TOML file with the limits; `standout policy init` writes one.")
    ],
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
    out: Annotated[
        Path | None, typer.Option(help="Write the verdict as JSON to this file.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write the page that a person signs to this HTML file.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(help="Write JUnit XML to this file.")] = None,
    sarif: Annotated[Path | None, typer.Option(help="Write SARIF 2.1.0 to this file.")] = None,
    evidence: Annotated[
        Path | None, typer.Option(help="Write evidence for `standout verify` to this file.")
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the evidence with this private key (Ed25519, PEM, no password)."),
    ] = None,
    redact: Redact = False,
    github: Annotated[
        bool, typer.Option("--github", help="Print GitHub annotations on standard output.")
    ] = False,
    json: Json = False,
) -> None:
    """Check a release against a policy. Exit code: 0 pass, 1 fail, 3 cannot tell, 2 bad input.

    A limit counts as kept only if a one-sided 95 % bound of the measured rate lies below it: too
    few targets never pass.

    Example: standout check ratings.csv --policy policy.toml --junit check.xml
    """
    from standout.cli.outputs import check_writable, refuse_inputs
    from standout.cli.session import target_count
    from standout.cli.waiting import waiting
    from standout.engines.engine import engine as engine_of
    from standout.gate.policy import Policy

    rules = with_self_test(Policy.load(policy), self_test)
    wanted = None if targets is None else target_count(targets)
    engine_of(engine)
    if sign is not None and evidence is None:
        raise ParameterError("--sign signs the evidence: name its file with --evidence")
    if sign is not None:
        from standout.gate.evidence import check_private_key

        check_private_key(sign)
    if json and github:
        raise ParameterError("--json and --github: choose one")
    files = [file for file in (out, page, junit, sarif, evidence) if file is not None]
    for file in files:
        if file.is_dir():
            raise ParameterError(f"{str(file)!r} is a folder; name a file")
        if files.count(file) > 1:
            raise ParameterError(f"{str(file)!r} is named for two outputs; give each its own file")
        check_writable(file.parent)
    refuse_inputs(files, (path, release, policy, sign))
    quiet = json or github
    keywords = reading.keywords
    source, published = read_both(path, release, defense, quiet, keywords)
    with waiting(quiet) as progress:
        from standout.gate.verdict import check as run

        verdict = run(
            source,
            rules,
            release=published,
            targets=wanted,
            seed=seed,
            engine=engine,
            progress=progress,
        )
    name = Path(path if release is None else release).name
    texts = _texts(
        verdict, name, out=out, page=page, junit=junit, sarif=sarif, evidence=evidence, key=sign
    )
    said = _printed(verdict, "json" if json else "github" if github else "table")
    if redact:
        from standout.cli.redacting import refuse_labels

        refuse_labels(
            {**{str(file): text for file, text in texts.items()}, "standard output": said},
            source,
            published,
        )
    write(texts)
    print(said, end="")
    sys.exit(verdict.exit_code)


def read_both(
    path: str, release: Path | None, defense: str | None, quiet: bool, keywords: dict[str, Any]
) -> tuple[Dataset, Dataset | None]:
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


def _texts(
    verdict: GateVerdict,
    name: str,
    *,
    out: Path | None,
    page: Path | None,
    junit: Path | None,
    sarif: Path | None,
    evidence: Path | None,
    key: Path | None,
) -> dict[Path, str]:
    """Content of each requested file. `name` is the name of the data without its folder, which may name people."""
    from standout.gate import formats
    from standout.gate.evidence import evidence_text
    from standout.report.gate import page as page_text

    texts: dict[Path, str] = {}
    if out is not None:
        texts[out] = verdict.to_json()
    if junit is not None:
        texts[junit] = formats.junit(verdict)
    if sarif is not None:
        texts[sarif] = formats.sarif(verdict, name)
    if page is not None:
        texts[page] = page_text(verdict.to_dict())
    if evidence is not None:
        texts[evidence] = evidence_text(verdict, key)
    return texts


def _printed(verdict: GateVerdict, form: str) -> str:
    """What goes to standard output."""
    if form == "json":
        return verdict.to_json()
    if form == "github":
        from standout.gate.formats import github_annotations

        return github_annotations(verdict)
    from rich.console import Console

    from standout.report.gate import show

    console = Console(highlight=False)
    with console.capture() as captured:
        show(verdict.to_dict(), console)
    return captured.get()


def write(texts: dict[Path, str]) -> None:
    """Write the requested files."""
    from standout.audit.findings import write_whole

    for file, text in texts.items():
        write_whole(file, text)
