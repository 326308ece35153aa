"""Write docs/twin.md: the marginals of the Netflix twin compared with the real ones.

Example::

    python docs/scripts/twin_marginals.py --file twin.parquet --out docs/twin.md
    python docs/scripts/twin_marginals.py --records 20000
"""

from __future__ import annotations

import argparse
from itertools import groupby
from pathlib import Path

import numpy as np
from marginals import SHARES, Row, compare, marginals

from standout.data.synthetic import twin_arrays
from standout.data.twin.model import N_RECORDS

INTRO = """# The Netflix twin: its marginals compared with the real ones

Made by `docs/scripts/twin_marginals.py` from {source}: {records:,} records, {items:,} items, {entries:,} entries.
Real: aggregates of the Netflix Prize training data without two of its movies (`netflix_marginals.json`), and Table 1 of
Datta, Sharma and Sinha (2012), named `filtered_out`. The twin is fitted to these marginals and to nothing else; no
attack result was used.

Aim: shares within 2 points, other numbers within 10 % (small whole numbers within 1). **{good} of {total} numbers are
within.** The others:

{others}
"""


def columns(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Read a twin that `write_twin` wrote."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    day = table["day"].cast(pa.int32()).to_numpy()
    return table["record"].to_numpy(), table["item"].to_numpy(), table["value"].to_numpy(), day


def number(x: float) -> str:
    """Four digits, thousands with commas."""
    return f"{x:,.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def off(row: Row) -> str:
    """Difference in points or percent, bold where it is too large."""
    text = f"{100 * row.difference:+.1f}" + (" pt" if row.name.split(" ")[0] in SHARES else " %")
    return text if row.within else f"**{text}**"


def sections(rows: list[Row]) -> str:
    """One table per marginal: labels across, real, twin and difference down."""
    out = []
    for name, group in groupby(rows, key=lambda row: row.name.split(" ")[0]):
        members = list(group)
        out.append(f"## {name.replace('_', ' ')}\n")
        for k in range(0, len(members), 12):
            part = members[k : k + 12]
            labels = [row.name.removeprefix(name).strip() or "all" for row in part]
            lines = [["", *labels], ["---"] * (len(part) + 1)]
            lines.append(["real", *(number(row.real) for row in part)])
            lines.append(["twin", *(number(row.twin) for row in part)])
            lines.append(["difference", *(off(row) for row in part)])
            out.append("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")
    return "\n".join(out)


def main() -> None:
    """Measure a twin and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--file", type=Path, help="a Parquet file that write_twin wrote")
    parser.add_argument(
        "--records", type=int, default=20_000, help="make a twin of this many records instead"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="Markdown file; standard output when left out")
    options = parser.parse_args()
    if options.file:
        data, source = columns(options.file), "a twin written by `standout twin netflix-prize`"
    else:
        data = twin_arrays(options.records, seed=options.seed)
        source = f"`twin_arrays({options.records}, seed={options.seed})`"
    n_records, n_items = np.unique(data[0]).size, np.unique(data[1]).size
    rows = compare(marginals(*data), record_share=n_records / N_RECORDS)
    bad = [row for row in rows if not row.within]
    others = "\n".join(
        f"- {row.name}: real {number(row.real)}, twin {number(row.twin)}, {off(row)}" for row in bad
    )
    page = INTRO.format(
        source=source,
        records=n_records,
        items=n_items,
        entries=data[0].size,
        good=len(rows) - len(bad),
        total=len(rows),
        others=others or "none.",
    )
    page += "\n" + sections(rows)
    if options.out:
        options.out.write_text(page, encoding="utf-8")
    else:
        print(page)


if __name__ == "__main__":
    main()
