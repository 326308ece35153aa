"""The cost model of docs/scale.md: print it for data of any size, and its error against measured runs.

Example::

    python benchmarks/scale_plan.py             # 10^9 records and 10^11 entries on 64 nodes
    python benchmarks/scale_plan.py --check benchmarks/results/chunked.jsonl
    python benchmarks/scale_plan.py --passes    # passes over the data of a default audit
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).parent / "results" / "bench.jsonl"
MEASURED = {x["what"]: x for x in map(json.loads, BENCH.read_text().splitlines())}
"""What `make bench` measured: the numbers of docs/speed.md."""
NS_PER_POSTING, NS_PER_RECORD, NS_PER_RUN = (
    MEASURED["linear model"][f"ns_per_{part}"] for part in ("posting", "record", "run")
)
"""Core time of scoring, fitted by `standout bench --growth`."""
NS_PER_TARGET = 75_000.0
"""Core time of making tables and verdicts, from the smallest run of benchmarks/chunked.py."""
POSTING, START, SHUFFLED = 5, 4, 16
"""Bytes of a posting (record 2, code 1, tick 2), of the start of an item's run in a block, of a row that is shuffled."""
AUDIT = (
    MEASURED["default audit"]["core_seconds"]
    / MEASURED["memory"]["entries"]
    / MEASURED["default audit"]["targets"]
)
"""Core seconds of a default audit per entry and target, at Netflix Prize size."""
BLOCK = 65_536


@dataclass(frozen=True)
class Size:
    """Data, queries and machines."""

    records: float
    entries: float
    items: float
    targets: float
    knows: int
    held_by: float
    """Share of the records that hold a known item, on average: Σ s² / (N Σ s) over the supports s."""

    @property
    def postings(self) -> float:
        """Postings per target."""
        return self.knows * self.held_by * self.records

    @property
    def blocks(self) -> float:
        """Blocks of records."""
        return max(self.records / BLOCK, 1)

    @property
    def index_bytes(self) -> float:
        """Bytes of all posting lists."""
        return POSTING * self.entries + START * self.items * self.blocks

    def core_seconds(self) -> float:
        """Core seconds to score all targets once."""
        return (
            1e-9
            * self.targets
            * ns_per_target(self.postings, self.records, self.knows * self.blocks)
        )


def ns_per_target(postings: float, records: float, runs: float) -> float:
    """Core nanoseconds to score all records for one target."""
    return NS_PER_POSTING * postings + NS_PER_RECORD * records + NS_PER_RUN * runs + NS_PER_TARGET


def plan(size: Size, nodes: int, cores: int, disk: float, network: float, passes: int) -> None:
    """Print what a cluster would do; bandwidths in bytes per second and node."""
    total = nodes * cores
    score, audit, moved = (
        size.core_seconds(),
        AUDIT * size.entries * size.targets,
        SHUFFLED * size.entries,
    )
    rows = {
        "postings per target": f"{size.postings:.3g}",
        "posting lists": f"{size.index_bytes / 1e9:,.0f} GB, {size.index_bytes / nodes / 1e9:,.1f} GB per node",
        "of which starts of runs": f"{START * size.items * size.blocks / 1e9:,.0f} GB",
        "shuffle, once": f"{moved / 1e12:,.1f} TB, {moved / nodes / network:,.0f} s of network",
        "one attack, scored once": f"{score:,.0f} core seconds, {score / total:,.1f} s on {total:,} cores",
        "default audit": f"{audit:,.0f} core seconds, {audit / total / 60:,.0f} min on {total:,} cores",
        "the same from disk": f"{passes:,} passes, {passes * size.index_bytes / nodes / disk / 3600:,.1f} h of reading",
    }
    for name, text in rows.items():
        print(f"| {name} | {text} |")


def check(path: Path) -> None:
    """Print measured core times against the model."""
    for line in map(json.loads, path.read_text().splitlines()):
        n = line["score_core_ms_per_target"]
        runs = line["known"] * -(-line["records"] // 32_768)
        model = ns_per_target(line["postings_per_target"], line["records"], runs) / 1e6
        size, above = (
            f"{line['entries'] / 1e6:,.0f} M | {line['postings_per_target']:,.0f}",
            line["peak_bytes_above"] / 1e9,
        )
        print(
            f"| {line['engine']} | {size} | {model:.2f} | {n:.2f} | {n / model:.2f} | {above:.2f} GB |"
        )


def passes_of_an_audit() -> None:
    """Count how often the default audit of a small twin reads all records."""
    import standout as so
    from standout.data.synthetic import twin_dataset
    from standout.engines.chunked import ChunkedEngine

    n, usual = 0, ChunkedEngine.map

    def counting(self, task, shards):  # type: ignore[no-untyped-def]
        nonlocal n
        n += 1
        return usual(self, task, shards)

    ChunkedEngine.map = counting  # type: ignore[method-assign]
    with tempfile.TemporaryDirectory() as folder:
        twin_dataset(2000, 500, seed=1, mean_length=20).save(Path(folder, "twin"))
        n = 0
        audit = so.Audit(so.ChunkedDataset.read(Path(folder, "twin")), targets=50, describe=False)
        audit.run(progress=False)
    print(
        f"{n} passes for {len(audit.adversaries)} kinds of knowledge and {len(audit.attacks)} attacks"
    )


def main() -> None:
    """Print what was asked for."""
    ask = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    ask.add_argument("--check", type=Path)
    ask.add_argument("--passes", action="store_true")
    ask.add_argument(
        "--held-by", type=float, default=0.143, help="share of the records that hold a known item"
    )
    ask.add_argument("--n-passes", type=int, default=316)
    given = ask.parse_args()
    if given.check:
        check(given.check)
    elif given.passes:
        passes_of_an_audit()
    else:
        plan(Size(1e9, 1e11, 1e6, 1000, 8, given.held_by), 64, 16, 1e9, 1.1e9, given.n_passes)


if __name__ == "__main__":
    main()
