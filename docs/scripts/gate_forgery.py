"""Forged evidence, and what `verify` says about it.

    python docs/scripts/gate_forgery.py

prints the table and writes it into docs/gate.md. `make gate-forgery` calls it. Exit code 1 if a
forgery holds or genuine evidence does not.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from forgeries import Workshop, forgeries, genuine

PAGE = Path(__file__).resolve().parents[1] / "gate.md"
BEGIN, END = "<!-- forgeries -->\n", "<!-- end of forgeries -->\n"


def main() -> None:
    wrong = 0
    lines = ["| evidence | `verify` | first reason |", "|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        at = Workshop(Path(folder))
        for expected, cases in ((True, genuine(at)), (False, forgeries(at))):
            for it in cases:
                done = at.verify(it)
                wrong += (done.verdict == "pass") != expected
                why = next(
                    (
                        f"{r['check']}: {r['why']}"
                        for r in done.rows
                        if r["verdict"] == done.verdict != "pass"
                    ),
                    "",
                )
                lines.append(f"| {it.name} | {done.verdict} | {why} |")
                print(lines[-1], flush=True)
    page = PAGE.read_text(encoding="utf-8")
    before, after = page[: page.index(BEGIN)], page[page.index(END) :]
    PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + after, encoding="utf-8")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
