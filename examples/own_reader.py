"""Read a file format of your own: one function from a path to a frame, and how such a file is recognized.

Run it with `python examples/own_reader.py`. The lines of the format are `person | thing | points`, after a line `VISITS 1`.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import standout as so
from standout.extend import register_reader


@register_reader("visits", recognizes=lambda head: head.startswith(b"VISITS 1\n"))
def read_visits(path: Path) -> pa.Table:
    """A row per entry; columns are named or guessed as in other files."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:]
    rows = [[cell.strip() for cell in line.split("|")] for line in lines]
    user, item, points = zip(*rows, strict=True)
    return pa.table({"user": user, "item": item, "rating": [float(x) for x in points]})


def main() -> None:
    """Write a small file of the format and read it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.visits"
        path.write_text("VISITS 1\nann | museum | 4\nann | park | 2\nbob | park | 5\n")
        print(so.Dataset.read(path))


if __name__ == "__main__":
    main()
