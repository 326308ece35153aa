"""What verbs that run an audit share: say what was read, show progress, write all of the output or none of it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

from standout.cli.options import target_count
from standout.errors import InputError, ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress

    from standout.adversary.adversary import Adversary
    from standout.audit.findings import Findings
    from standout.data.dataset import Dataset

T = TypeVar("T")

MOST_TO_DESCRIBE = 20_000_000
"""Entries up to which an audit also says why the data is as it is; `standout describe` does it at any size."""


class Session:
    """One run: a console on stderr, and an output folder that appears when everything is done."""

    def __init__(self, out: Path, *, json: bool = False) -> None:
        from rich.console import Console

        self.out, self.json = out, json
        self.log = Console(stderr=True, quiet=json, highlight=False)
        self._draft: Path | None = None

    def __enter__(self) -> Session:
        if self.out.exists() and not self.out.is_dir():
            raise ParameterError(f"--out {str(self.out)!r} is a file; name a folder")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._draft is not None:
            shutil.rmtree(self._draft, ignore_errors=True)
        if kind is KeyboardInterrupt:
            self.log.print("stopped; nothing was written")

    def busy(self, what: str, work: Callable[[], T]) -> T:
        """Run `work` with a spinner."""
        with self.log.status(f"{what} …"):
            return work()

    def say_data(self, dataset: Dataset) -> None:
        """Say what was read and what cleaning did."""
        c = dataset.cleaning
        self.log.print(
            f"{dataset.n_records:,} records × {dataset.n_items:,} items, {dataset.n_entries:,} entries"
            f" from {c.rows_read:,} rows", markup=False,
        )  # fmt: skip
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

    def audit(self, dataset: Dataset, adversaries: Sequence[Adversary] | None, attacks: str, targets: str, seed: int,
              engine: str) -> Findings:  # fmt: skip
        """Run the audit, write findings and report, print the table."""
        from standout.audit.audit import Audit

        names = [name.strip() for name in attacks.split(",")]
        job = Audit(dataset, adversaries, names, target_count(targets), seed, engine)
        bar = self._bar()
        with bar:
            task = bar.add_task("attacking", total=None)

            def progress(what: str, done: int, total: int) -> None:
                bar.update(task, description=what, completed=done, total=total)

            findings = job.run(progress)
        if dataset.n_entries <= MOST_TO_DESCRIBE:
            from standout.theory.describe import describe

            shape = self.busy("describing the data", lambda: describe(dataset, seed=seed).to_dict())
            findings = findings.with_section("describe", shape)
        findings = findings.with_provenance(command=["standout", *_public(sys.argv[1:])])
        self.write(findings)
        return findings

    def _bar(self) -> Progress:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        return Progress(
            TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(),
            console=self.log, disable=not self.log.is_terminal, transient=True,
        )  # fmt: skip

    def write(self, findings: Findings) -> None:
        """Put findings.json and report.html into the output folder, together."""
        from standout.report.page import render

        try:
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self._draft = Path(tempfile.mkdtemp(dir=self.out.parent, prefix=f".{self.out.name}."))
        except OSError as error:
            raise InputError(f"cannot write to {str(self.out)!r}: {error.strerror}") from None
        findings.save(self._draft / "findings.json")
        self.busy("drawing the report", lambda: render(findings, self._draft / "report.html"))  # type: ignore[operator]
        self.out.mkdir(exist_ok=True)
        for name in ("findings.json", "report.html"):
            (self._draft / name).replace(self.out / name)
        if self.json:
            print(findings.to_json(), end="")
        else:
            from rich.console import Console

            from standout.report.terminal import show

            console = Console(highlight=False)
            show(findings, console)
            console.print(f"report: {self.out / 'report.html'}", markup=False, soft_wrap=True)


def _public(arguments: list[str]) -> list[str]:
    """Command line for the record, with folders left out: they may name people."""
    return [Path(a).name if "/" in a else a for a in arguments]
