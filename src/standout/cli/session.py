"""A run of an audit command: print what was read, show progress, write all of the output or nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from standout.cli.outputs import check_writable
from standout.errors import InputError, ParameterError

if TYPE_CHECKING:
    from standout.audit.findings import Findings
    from standout.audit.sweep import Axes
    from standout.cli.workfolder import WorkFolder
    from standout.data.catalog import Catalog
    from standout.data.chunked.dataset import ChunkedDataset
    from standout.data.dataset import Dataset

T = TypeVar("T")

FOLDER = Path("standout-out")
"""Default output folder."""

FILES = ("findings.json", "report.html", "report.pdf")


class Session:
    """One run: a console on stderr, and an output folder that is written at the end.

    Parameters
    ----------
    out
        Output folder. None: `standout-out`, or the next free `standout-out-2`, … where that holds
        findings already.
    json
        Whether standard output is for JSON alone.
    overwrite
        Whether findings in the output folder may be replaced.
    title
        Name of the dataset, for the report.
    pdf
        Whether to write the report as PDF too.
    redact
        Whether to search everything for labels of the data before it is written.
    fresh
        Whether to ignore finished parts of an earlier run.
    """

    def __init__(
        self,
        out: Path | None,
        *,
        json: bool = False,
        overwrite: bool = False,
        title: str | None = None,
        pdf: bool = False,
        redact: bool = False,
        fresh: bool = False,
    ) -> None:
        from rich.console import Console

        self._redact, self._fresh = redact, fresh
        self._title, self._pdf = title, pdf
        self.out, self.json = out or FOLDER, json
        self._named, self._overwrite = out is not None, overwrite
        self.log = Console(stderr=True, quiet=json, highlight=False)
        self._drafts = ExitStack()
        self._work: WorkFolder | None = None
        self._elsewhere = False
        """Whether the output goes to another folder than usual, which is not printed yet."""

    def __enter__(self) -> Session:
        if self._pdf:
            from standout.report.pdf import check_browser

            check_browser()
        if self.out.exists() and not self.out.is_dir():
            raise ParameterError(f"--out {str(self.out)!r} is a file; name a folder")
        if not self._overwrite and _holds_findings(self.out):
            if self._named:
                raise ParameterError(
                    f"--out {str(self.out)!r} holds the findings of another audit: name another folder, or use --overwrite"
                )
            self.out = _next_free(self.out)
            self._elsewhere = True
        check_writable(self.out)
        self._take_work_folder()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._drafts.close()
        if self._work is not None:
            self._work.end(error)

    def _take_work_folder(self) -> None:
        """Lock the output folder against a second audit; without a named folder, use the next free one."""
        from standout.cli.workfolder import WorkFolder

        work = WorkFolder(self.out)
        try:
            while not work.take(fresh=self._fresh):
                if self._named:
                    raise ParameterError(
                        f"another run is writing to {str(self.out)!r}: wait for it, or name another folder with --out"
                    )
                self.out = _next_free(self.out, taken=self.out)
                work = WorkFolder(self.out)
        except OSError as error:
            raise ParameterError(
                f"--out {str(self.out)!r} cannot be written to: {error.strerror}"
            ) from None
        self._work = work

    def busy(self, what: str, work: Callable[[], T]) -> T:
        """Run `work` with a spinner."""
        with self.log.status(f"{what} …"):
            return work()

    def read_in_parts(self, path: str, memory: int, keywords: dict[str, Any]) -> ChunkedDataset:
        """Read a source that may be larger than memory; its records lie in the work folder until the audit is done."""
        from standout.data.chunked.dataset import ChunkedDataset
        from standout.experiment.progress import progress_bar

        work = None if self._work is None else self._work.data
        with progress_bar(self.log) as progress:
            return ChunkedDataset.read(
                path, memory=memory, work=work, progress=progress, **keywords
            )

    def say_data(self, dataset: Catalog) -> None:
        """Print what was read and what cleaning did, and before it a folder that nobody named."""
        if self._elsewhere:
            self.log.print(
                f"{FOLDER} holds the findings of another audit; writing to {self.out}", markup=False
            )
            self._elsewhere = False
        c = dataset.cleaning
        self.log.print(
            f"{dataset.n_records:,} records × {dataset.n_items:,} items, {dataset.n_entries:,} entries"
            f" from {c.rows_read:,} rows",
            markup=False,
        )
        for note in c.notes:
            self.log.print(f"  {note}", markup=False)
        counted = (
            (c.rows_bad, "rows that do not parse dropped"),
            (c.rows_without_record, "rows without a record dropped"),
            (c.rows_without_item, "rows without an item dropped"),
            (c.repeated_pairs, f"repeats of a (record, item) pair ({c.repeats})"),
            (c.values_missing, "entries without a value: that channel is unknown for them"),
            (c.times_missing, "entries without a time: that channel is unknown for them"),
        )
        for n, what in counted:
            if n:
                self.log.print(f"  {n:,} {what}", markup=False)

    def propose_split(self, dataset: Dataset) -> None:
        """Propose a time-shifted audit for data in which people repeat items."""
        from standout.linking.link import proposed_split

        day = proposed_split(dataset)
        if day is not None:
            self.log.print(
                f"  people repeat items: --split-time {day} measures whether habits from before link to what came after",
                markup=False,
            )

    def check(self, attacks: str, targets: str, engine: str) -> None:
        """Check the options before any data is read."""
        from standout.attacks.attack import attack
        from standout.engines.engine import engine as engine_of

        for name in attack_list(attacks):
            if name != "all" or len(attack_list(attacks)) > 1:
                attack(name)
        target_count(targets)
        engine_of(engine)

    def audit(
        self,
        dataset: Catalog,
        attacks: str,
        targets: str,
        seed: int,
        engine: str,
        sweep: str = "default",
        asked: Axes | None = None,
        release: Catalog | None = None,
    ) -> Findings:
        """Run the audit, write findings and report, print the table; without a release the dataset itself is attacked."""
        from standout.audit.audit import Audit
        from standout.audit.sweep import Axes, default_sweep
        from standout.cli.workfolder import say_reused
        from standout.experiment.journal import Journal
        from standout.experiment.progress import progress_bar

        chosen = (
            default_sweep(dataset, sweep, asked) if asked is not None and asked != Axes() else None
        )
        made_by = None if release is None else release.defense
        job = Audit(
            dataset,
            chosen,
            attack_list(attacks),
            target_count(targets),
            seed,
            engine,
            sweep=sweep,
            release=release,
            defense=made_by,
            journal=None if self._work is None else Journal(self._work.path),
        )
        job.check_labels()
        with progress_bar(self.log) as progress:
            findings = job.run(progress)
        if job.journal is not None:
            say_reused(job.journal, self.log)
        findings = findings.with_provenance(command=["standout", *_public(sys.argv[1:])])
        if self._title is not None:
            findings = findings.with_provenance(title=self._title)
        self.write(findings, *((dataset, release) if self._redact else ()))
        return findings

    def write(self, findings: Findings, *searched: Dataset | None) -> None:
        """Write findings.json, report.html and the PDF, if requested, to the output folder in one step.

        Parameters
        ----------
        findings
            The numbers.
        searched
            Datasets whose labels must not occur in what is written and printed.
        """
        from standout.data.scratch import scratch_folder
        from standout.report.page import render

        if not self._overwrite and _holds_findings(self.out):
            # another audit wrote there in the meantime
            self.out = _next_free(self.out)
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            draft = (
                self._drafts.enter_context(
                    scratch_folder(self.out.parent, f".{self.out.name[:100]}.")
                )
                / "files"
            )
            draft.mkdir()
            findings.save(draft / FILES[0])
            self.busy("drawing the report", lambda: render(findings, draft / FILES[1]))
            if self._pdf:
                from standout.report.pdf import render_pdf

                self.busy("printing the report", lambda: render_pdf(findings, draft / FILES[2]))
            said = self._said(findings)
            if searched:
                from standout.cli.redacting import refuse_labels

                texts = {name: (draft / name).read_text(encoding="utf-8") for name in FILES[:2]}
                refuse_labels({**texts, "standard output": said}, *searched)
            _move(draft, self.out)
            if self._work is not None:
                # at once: a kill from here on leaves complete output and nothing else
                self._work.give_back(keep=False)
            self._drafts.close()
        except OSError as error:
            raise InputError(f"cannot write to {str(self.out)!r}: {error.strerror}") from None
        print(said, end="", flush=True)
        for name in FILES[1:]:
            if not self.json and (self.out / name).exists():
                print(f"report: {self.out / name}")

    def _said(self, findings: Findings) -> str:
        """What goes to standard output."""
        if self.json:
            return findings.to_json()
        from rich.console import Console

        from standout.report.terminal import show

        console = Console(highlight=False)
        with console.capture() as captured:
            show(findings, console)
        return captured.get()


def _holds_findings(folder: Path) -> bool:
    return any((folder / name).exists() for name in FILES)


def _next_free(folder: Path, taken: Path | None = None) -> Path:
    """The first of NAME-2, NAME-3, … that does not exist; after `taken`, if that is one of them."""
    base = FOLDER if taken is not None else folder
    n = 2 if taken in (None, base) else int(str(taken).rpartition("-")[2]) + 1
    while (numbered := base.with_name(f"{base.name}-{n}")).exists():
        n += 1
    return numbered


def _move(draft: Path, folder: Path) -> None:
    """Rename the draft to the output folder, or move its files into an existing one."""
    if folder.exists():
        for name in FILES:
            # remove the PDF of an earlier audit, which does not match the new findings
            (folder / name).unlink(missing_ok=True)
            if (draft / name).exists():
                (draft / name).replace(folder / name)
        return
    draft.rename(folder)


def attack_list(attacks: str) -> list[str]:
    """Names of a comma-separated list."""
    return [name.strip() for name in attacks.split(",")]


def target_count(text: str) -> int | str:
    """Read the number of targets, or `all`."""
    if text == "all":
        return text
    if not text.strip().isdecimal() or int(text) < 1:
        raise ParameterError(f"--targets {text!r}: use a whole number ≥ 1, or all")
    return int(text)


def _public(arguments: list[str]) -> list[str]:
    """Command line as recorded in the findings: no folders of paths, which may name people, and no credentials."""
    from standout.data.reading.remote import without_secrets
    from standout.views.view import public_view

    flags, paths = _option_kinds(arguments[0]) if arguments else (set(), set())
    out: list[str] = []
    before = ""
    for word in arguments:
        name, equals, value = word.partition("=")
        if before == "--view":
            out.append(public_view(word))
        elif name == "--view" and equals:
            out.append(f"{name}={public_view(value)}")
        elif "://" in word:
            out.append(without_secrets(word))
        elif word.startswith("-") and equals:
            out.append(f"{name}={_last(value)}" if name in paths else word)
        elif word.startswith("-"):
            out.append(word)
        else:
            is_path = before in paths or not before.startswith("-") or before in flags
            out.append(_last(word) if is_path else word)
        before = word
    return out


def _last(path: str) -> str:
    return Path(path).name if "/" in path or "\\" in path else path


def _option_kinds(verb: str) -> tuple[set[str], set[str]]:
    """Options of a command that take no value, and options that take a path."""
    from standout.cli.app import VERBS

    flags, paths = set[str](), {"--out", "-o"}
    if verb not in VERBS:
        return flags, paths
    function = getattr(import_module(f"standout.cli.{verb}"), verb)
    for name, hint in get_type_hints(function, include_extras=True).items():
        plain, *extras = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        given = {x for extra in extras for x in getattr(extra, "param_decls", None) or ()}
        names = given or {f"--{name.replace('_', '-')}"}
        if plain is bool:
            flags |= names
        elif plain is Path or Path in get_args(plain):
            paths |= names
    return flags, paths
