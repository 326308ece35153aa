"""A run of an audit command: print what was read, show progress, write all of the output or nothing."""

from __future__ import annotations

import inspect
import sys
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, get_args

from standout.cli.outputs import captured, check_folder, refuse_labels
from standout.cli.reading import error_console, print_data, progress_on
from standout.errors import InputError

if TYPE_CHECKING:
    from standout.audit.audit import Audit
    from standout.audit.findings import Findings
    from standout.cli.workfolder import WorkFolder
    from standout.data.catalog import Catalog
    from standout.experiment.journal import Journal

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
    pdf
        Whether to write the report as PDF too.
    fresh
        Whether to ignore finished parts of an earlier run.
    """

    work: WorkFolder
    """The locked folder beside the output, between `__enter__` and `__exit__`."""

    def __init__(
        self,
        out: Path | None,
        *,
        json: bool = False,
        overwrite: bool = False,
        pdf: bool = False,
        fresh: bool = False,
    ) -> None:
        self.out, self._named = out or FOLDER, out is not None
        self._json, self._overwrite, self._pdf, self._fresh = json, overwrite, pdf, fresh
        self.log = error_console(json)
        self._drafts = ExitStack()
        self._elsewhere = False
        """Whether the output goes to another folder than usual, which is not printed yet."""

    def __enter__(self) -> Session:
        from standout.cli.workfolder import in_use, take_folder

        if self._pdf:
            from standout.report.pdf import check_browser

            check_browser()
        if not self._named and not self._overwrite and _holds_findings(self.out):
            self.out = _next_free(self.out)
            self._elsewhere = True
        check_folder(self.out, () if self._overwrite else FILES, "the findings of another audit")
        while (work := take_folder(self.out, fresh=self._fresh)) is None:
            if self._named:
                raise in_use(self.out)
            self.out = _next_free(self.out, taken=self.out)
        self.work = work
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._drafts.close()
        self.work.end(error)

    @property
    def journal(self) -> Journal:
        """Where finished parts are kept."""
        from standout.experiment.journal import Journal

        return Journal(self.work.path)

    def print_data(self, dataset: Catalog) -> None:
        """Print what was read, and before it a folder that nobody named."""
        if self._elsewhere:
            self.log.print(
                f"{FOLDER} holds the findings of another audit; writing to {self.out}", markup=False
            )
            self._elsewhere = False
        print_data(dataset, self.log)

    def run(self, job: Audit, title: str | None = None, *, redact: bool = False) -> None:
        """Run an audit, write findings and report, print the table.

        Parameters
        ----------
        job
            The audit.
        title
            Name of the dataset, for the report.
        redact
            Whether to search everything for labels of the data before it is written.
        """
        from standout.cli.workfolder import print_reused

        job.check_labels()
        with progress_on(self.log) as progress:
            findings = job.run(progress)
        if job.journal is not None:
            print_reused(job.journal, self.log)
        findings = findings.with_provenance(command=["standout", *_public(sys.argv[1:])])
        if title is not None:
            findings = findings.with_provenance(title=title)
        printed = self._write(findings, (job.source, job.release) if redact else ())
        print(printed, end="", flush=True)
        for name in FILES[1:]:
            if not self._json and (self.out / name).exists():
                print(f"report: {self.out / name}")

    def _write(self, findings: Findings, searched: tuple[Catalog | None, ...]) -> str:
        """Write findings.json, report.html and the PDF, if requested, in one step; return what is to be printed.

        Labels of the data that is `searched` must not occur in any of it.
        """
        from standout.data.scratch import scratch_folder
        from standout.report import terminal
        from standout.report.page import render

        if not self._overwrite and _holds_findings(self.out):
            # another audit wrote there in the meantime
            self.out = _next_free(self.out)
        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            scratch = scratch_folder(self.out.parent, f".{self.out.name[:100]}.")
            draft = self._drafts.enter_context(scratch) / "files"
            draft.mkdir()
            findings.save(draft / FILES[0])
            with self.log.status("drawing the report …"):
                render(findings, draft / FILES[1])
            if self._pdf:
                from standout.report.pdf import render_pdf

                with self.log.status("printing the report …"):
                    render_pdf(findings, draft / FILES[2])
            printed = findings.to_json() if self._json else captured(findings, terminal.show)
            if searched:
                texts = {name: (draft / name).read_text(encoding="utf-8") for name in FILES[:2]}
                refuse_labels({**texts, "standard output": printed}, *searched)
            _move(draft, self.out)
            # at once: a kill from here on leaves complete output and nothing else
            self.work.give_back(keep=False)
            self._drafts.close()
        except OSError as error:
            raise InputError(f"cannot write to {str(self.out)!r}: {error.strerror}") from None
        return printed


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

    # a sweep may be a file of one's own
    flags, paths = set[str](), {"--out", "-o", "--sweep"}
    if verb not in VERBS:
        return flags, paths
    function = getattr(import_module(f"standout.cli.{VERBS[verb]}"), verb.replace("-", "_"))
    for name, option in inspect.signature(function).parameters.items():
        plain, info = get_args(option.annotation)
        names = {*(info.param_decls or ())} or {f"--{name.replace('_', '-')}"}
        if plain is bool:
            flags |= names
        elif plain is Path or Path in get_args(plain):
            paths |= names
    return flags, paths
