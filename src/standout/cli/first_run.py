"""The first audit on a machine: a second process compiles the attacks while the audit still reads its data.

Without it, all functions are compiled one after the other where they are first called, about a
minute of one processor.
"""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

LAST = "standout.scoring.exact"
"""Module whose functions an audit compiles last."""
NOTE = "first audit on this machine: compiling the attacks, once, which takes about a minute …"


class CompilingBeside:
    """Within `with`: a process that compiles what an audit needs, if nothing is compiled yet.

    Parameters
    ----------
    log
        Console for the note that the first audit takes longer.
    engine
        Name of the engine of the audit. Attacks on a GPU or on Spark are compiled elsewhere.
    """

    def __init__(self, log: Console, engine: str = "memory") -> None:
        self._log, self._is_here = log, engine not in ("gpu", "spark")
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> CompilingBeside:
        from standout.data.assemble import cores
        from standout.jit import is_new

        if self._is_here and is_new(LAST):
            self._log.print(NOTE, markup=False)
            if cores() > 1:
                # -P: no module of the folder that the audit runs in is taken for one of ours
                self.process = subprocess.Popen(
                    [sys.executable, "-P", "-m", __name__],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()  # it writes nothing but whole files of compiled functions
            self.process.wait()


def compile_attacks() -> None:
    """Attack a small release of ratings, with the attack first that an audit runs last."""
    import numpy as np

    from standout.audit.audit import Audit
    from standout.data.dataset import Dataset

    rng, n = np.random.default_rng(0), 9000
    item = (300 * rng.random(n) ** 3).astype(np.int64)
    value, day = rng.integers(1, 6, n), rng.integers(12_000, 13_000, n)
    data = Dataset.from_arrays(rng.integers(0, 400, n), item, value, day)
    for attack in ("likelihood", "scoreboard", "scoreboard-rh"):
        Audit(data, attacks=(attack,), targets=20).run(progress=False)


if __name__ == "__main__":
    compile_attacks()
