"""`standout check`, `verify`, `policy`: does a release keep a policy? `standout diff`: compare the risk of two releases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.audit.defaults import TARGETS
from standout.cli.audit import ATTACKS
from standout.cli.option_values import attack_options, target_count
from standout.cli.options import Reading, command
from standout.cli.outputs import captured, check_file, plain_table, print_result, refuse_labels
from standout.cli.reading import error_console, progress_on, read_both, read_data
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from standout.gate.regression import Regression
    from standout.gate.verdict import GateVerdict

DOMAINS = ("general", "health", "commerce", "media", "mobility", "research")


@command()
def check(
    path: str,
    /,
    reading: Reading,
    policy: Path,
    release: Path | None = None,
    defense: str | None = None,
    targets: str | None = None,
    seed: int = 0,
    engine: str = "memory",
    self_test: bool | None = None,
    out: Path | None = None,
    page: Path | None = None,
    junit: Path | None = None,
    sarif: Path | None = None,
    evidence: Path | None = None,
    sign: Path | None = None,
    redact: bool = False,
    github: bool = False,
    json: bool = False,
) -> None:
    """Check a release against a policy. Exit code: 0 pass, 1 fail, 3 cannot tell, 2 bad input.

    A limit counts as kept only if a one-sided 95 % bound of the measured rate lies below it: too
    few targets never pass.

    Example: standout check ratings.csv --policy policy.toml --junit check.xml

    Parameters
    ----------
    policy
        TOML file with the limits; `standout policy init` writes one.
    release
        What is published, if PATH is the source: records are matched by label.
    targets
        Number of records to attack, or all. Default: the policy's.
    self_test
        Plant known people in the data, in memory, and require that they are found. Default: on.
    out
        Write the verdict as JSON to this file.
    page
        Write the page that a person signs to this HTML file.
    junit
        Write JUnit XML to this file.
    sarif
        Write SARIF 2.1.0 to this file.
    evidence
        Write evidence for `standout verify` to this file.
    sign
        Sign the evidence with this private key (Ed25519, PEM, no password).
    github
        Print GitHub annotations on standard output.
    json
        Print the verdict as JSON, and nothing else, on standard output.
    """
    from standout.audit.findings import write_whole
    from standout.engines.engine import engine as engine_of
    from standout.gate.policy import Policy
    from standout.gate.verdict import check as run

    rules = Policy.load(policy)
    if self_test is not None:
        rules = replace(rules, self_test=self_test)
    wanted = None if targets is None else target_count(targets)
    engine_of(engine)
    if sign is not None and evidence is None:
        raise ParameterError("--sign signs the evidence: name its file with --evidence")
    if sign is not None:
        from standout.gate.evidence import check_private_key

        check_private_key(sign)
    if json and github:
        raise ParameterError("--json and --github: choose one")
    files = {"out": out, "junit": junit, "sarif": sarif, "page": page, "evidence": evidence}
    _check_files(files, (path, release, policy, sign))
    log = error_console(json or github)
    source, published = read_both(path, release, defense, reading.keywords, log)
    with progress_on(log) as progress:
        verdict = run(
            source,
            rules,
            release=published,
            targets=wanted,
            seed=seed,
            engine=engine,
            progress=progress,
        )
    # the name of the data without its folder, which may name people
    texts = _texts(verdict, Path(path if release is None else release).name, files, sign)
    printed = _printed(verdict, json, github)
    if redact:
        outputs = {str(file): text for file, text in texts.items()} | {"standard output": printed}
        refuse_labels(outputs, source, published)
    for file, text in texts.items():
        write_whole(file, text)
    print(printed, end="")
    sys.exit(verdict.exit_code)


def _check_files(files: dict[str, Path | None], read: tuple[str | Path | None, ...]) -> None:
    """Refuse files that cannot be written, or that are named twice."""
    named = list(files.values())
    for option, file in files.items():
        check_file(file, read, f"--{option}")
        if file is not None and named.count(file) > 1:
            raise ParameterError(f"{str(file)!r} is named for two outputs; give each its own file")


def _texts(
    verdict: GateVerdict, name: str, files: dict[str, Path | None], key: Path | None
) -> dict[Path, str]:
    """Content of each requested file."""
    from standout.gate import formats
    from standout.gate.evidence import evidence_text
    from standout.report import gate

    writers: dict[str, Callable[[], str]] = {
        "out": verdict.to_json,
        "junit": partial(formats.junit, verdict),
        "sarif": partial(formats.sarif, verdict, name),
        "page": partial(gate.page, verdict.to_dict()),
        "evidence": partial(evidence_text, verdict, key),
    }
    return {file: writers[option]() for option, file in files.items() if file is not None}


def _printed(verdict: GateVerdict, json: bool, github: bool) -> str:
    """What goes to standard output."""
    if json:
        return verdict.to_json()
    if github:
        from standout.gate.formats import github_annotations

        return github_annotations(verdict)
    from standout.report.gate import show

    return captured(verdict.to_dict(), show)


@command()
def verify(
    evidence: Path,
    path: str,
    /,
    reading: Reading,
    release: Path | None = None,
    defense: str | None = None,
    policy: Path | None = None,
    key: Path | None = None,
    cells: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Pairs of adversary and attack to run again, chosen at random. Default: all.",
        ),
    ] = None,
    engine: str = "memory",
    json: bool = False,
) -> None:
    """Check evidence against the data: run it again, and derive its tests, table and verdict from the counts.

    With --cells, only some pairs are run again. Then the evidence holds only if --key shows who
    made the other counts.

    Exit code: 0 the evidence is genuine and its verdict is pass, 1 it is genuine and its verdict is
    fail, 3 it is too old or cannot be judged, 4 it is contradicted (forged, damaged, or about other
    data or another policy), 2 bad input.

    Example: standout verify evidence.json ratings.csv --policy policy.toml --key release.pub

    Parameters
    ----------
    evidence
        File that `standout check --evidence` wrote.
    release
        What is published, if PATH is the source: records are matched by label.
    policy
        The policy that the evidence must be about.
    key
        Public key (Ed25519, PEM) of the signer.
    json
        Print the result as JSON.
    """
    from standout.engines.engine import engine as engine_of
    from standout.gate.evidence import load_evidence
    from standout.gate.policy import Policy
    from standout.gate.verify import verify as run

    # refuses damaged evidence before the data is read
    Policy.from_dict(load_evidence(evidence)["policy"])
    wanted = None if policy is None else Policy.load(policy)
    engine_of(engine)
    log = error_console(json)
    source, published = read_both(path, release, defense, reading.keywords, log)
    with progress_on(log) as progress:
        done = run(
            evidence,
            source,
            release=published,
            policy=wanted,
            key=key,
            cells=cells,
            engine=engine,
            progress=progress,
        )
    print_result(done, json, lambda found, console: print(found))
    sys.exit(done.exit_code)


@command()
def policy(
    action: str,
    /,
    domain: str = "general",
    out: Path = Path("policy.toml"),
    overwrite: bool = False,
) -> None:
    """Write a commented policy for `standout check`. Its limits are proposals with a stated source; none of them means safe.

    Example: standout policy init --domain health --out policy.toml

    Parameters
    ----------
    action
        init: write a policy.
    domain
        Kind of data: general, health, commerce, media, mobility, research.
    out
        TOML file to write.
    overwrite
        Replace the file if it exists.
    """
    import difflib

    from standout.audit.findings import write_whole
    from standout.gate.template import template

    if action != "init":
        raise ParameterError(f"policy {action!r}: use `standout policy init`")
    if domain not in DOMAINS:
        near = difflib.get_close_matches(domain, DOMAINS, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(f"--domain {domain!r}: {hint}use {', '.join(DOMAINS)}")
    check_file(out, overwrite=overwrite)
    write_whole(out, template(domain))
    print(f"policy: {out}")


@command()
def diff(
    old: str,
    new: str,
    /,
    reading: Reading,
    source: str | None = None,
    targets: str = str(TARGETS),
    seed: int = 0,
    attacks: str = ATTACKS,
    engine: str = "memory",
    json: bool = False,
) -> None:
    """Compare the risk of two releases on the same people, or of two audits. Exit code: 0 not risen, 1 risen, 3 cannot tell.

    Two findings are compared as measured on different people; two releases are attacked on the
    people whose label is in both.

    Example: standout diff old.csv new.csv

    Parameters
    ----------
    old
        findings.json, a folder that contains it, or a release.
    new
        findings.json, a folder that contains it, or a release.
    source
        The true data of the people, if both releases are changed.
    json
        Print the comparison as JSON.
    """
    from standout.gate.regression import diff as run

    names, count = attack_options(attacks, targets, engine)
    keywords, log = reading.keywords, error_console(json)
    first, second = _load(old, keywords, log), _load(new, keywords, log)
    truth = None if source is None else _load(source, keywords, log)
    with progress_on(log) as progress:
        done = run(
            first,
            second,
            source=truth,
            attacks=names,
            targets=count,
            seed=seed,
            engine=engine,
            progress=progress,
        )
    print_result(done, json, _show_changes)
    sys.exit({"pass": 0, "fail": 1, "unclear": 3}[done.verdict])


def _load(path: str, keywords: dict[str, Any], log: Console) -> Any:
    """Findings or a release."""
    from standout.audit.findings import Findings

    file = Path(path)
    if (file / "findings.json").is_file():
        file = file / "findings.json"
    if not (file.is_file() and file.suffix == ".json"):
        return read_data(path, keywords, log)
    if keywords:
        raise ParameterError(
            f"{str(path)!r} holds findings: leave out the options about reading data"
        )
    return Findings.load(file)


def _show_changes(done: Regression, console: Console) -> None:
    from rich.text import Text

    console.print(Text(str(done)), soft_wrap=not console.is_terminal)
    grid = plain_table("knows", "attack", "n", "old", "new", "change, points", "p (Holm)", left=2)
    for row in sorted(done.rows, key=lambda row: -row.difference)[:20]:
        change = f"{100 * row.difference:+.1f} ({100 * row.low:+.1f} to {100 * row.high:+.1f})"
        cells = (
            row.adversary,
            row.attack,
            f"{row.n:,}",
            f"{100 * row.old:.1f}%",
            f"{100 * row.new:.1f}%",
            change,
            f"{row.p_rose_holm:.2g}",
        )
        grid.add_row(*(Text(cell) for cell in cells))
    console.print(grid)
