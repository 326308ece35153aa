"""Write docs/speed.md from what `standout bench` and benchmarks/gpu_census.py measured.

make bench     # standout bench at Netflix Prize size, then this script

On a machine with a GPU::

    python benchmarks/gpu_census.py --work /tmp/census \\
        --out benchmarks/results/gpu_census_h200.jsonl --tune
"""

from __future__ import annotations

import json
from pathlib import Path
from string import Template

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
RATIOS = {
    "ours_over_theirs": "ours is {:.2f} × this",
    "theirs_over_ours": "this is {:.1f} × ours",
    "times_rh": "{:.2f} × scoreboard-rh",
    "full_over_this": "the full run is {:.2f} × this",
}

PAGE = Template("""# Speed

Made by `python docs/scripts/speed.py` from measurements; its first lines give the commands. No test depends on times.

$summary

## CPU

$cpu, $cores cores, Python $python. The load was $load at the start; wall times depend on other programs, so
**ratios are of core time**: CPU seconds of the process, summed over threads, best of several rounds taken in turn. The data are
our own synthetic twin of the Netflix Prize data ($entries entries); 8 known items, 2 of them wrong, values ±1, days ±14. The C
loop (`benchmarks/reference/scalar.c`) reads the same posting lists; it is compiled with `gcc -O3 -march=native -funroll-loops`
and may reorder sums. Peers that only count items in common are compared with our engine doing the same.

$scoring

With all $cores cores, scoreboard-rh is $speed_up × as fast as with one (wall time). More cores were not measured on this version;
`standout bench` prints the figure of any machine.

The index takes $index MiB; a batch of 300 queries adds $batch MiB of tables. On first use the kernel is compiled, which takes
$compile s; later starts load it from disk in $load_again s (a small attack included).

$reading

### A default audit

An audit of $audit_targets targets with the default $audit_kinds kinds of knowledge asks $audit_queries queries: three attacks,
each with the target in the release and without. It takes $audit_core core seconds, with drawing knowledge, calibrating on 200
canaries per kind, and judging. The C loop scores as many queries with the tables of `scoreboard-rh` in $audit_c core seconds:
the audit takes $audit_ratio × that (load at the start: $audit_load).

### Growth

![core time against records, entries, known items and targets](images/growth.png)

Fitted exponents: $exponents.

Time is a sum of three parts, each linear: $per_posting ns per posting, $per_record ns per record (cleared and read once)
and $per_run ns per run (an item's postings in a block); together they fit every point of the four curves within $miss. The
exponents of records and targets are near 1 because all parts grow with them. With more known items the records stay; with more
entries the records and the runs stay, and at 6 entries per record those two take most of the time.

## GPU

One NVIDIA H200 and 16 CPU cores. Each record with at least 8 items of the same twin is attacked; best, second and σ are exact.

$census

Launch shapes, on 20,000 of the targets:

$shapes

On a sample of 2,000 targets and for both attacks, best, second, scores, ranks and decisions $same
those of the CPU engine; σ and posteriors differ by at most $gap (relative).
From the packed folder to findings (`Audit` of everyone by scoreboard-rh: present, absent, ranks, lineup), in a fresh process
with compiled kernels on disk: $findings.
""")


def summary(bench: list[dict], census: list[dict]) -> str:
    """Return the main figures of this page as a table."""
    of = {x["what"]: x for x in bench}
    topn, sql = of["sparse_dot_topn, presence only"], of["DuckDB SQL, full score"]
    kernel = {x["attack"]: x["kernel_s"] for x in census if x["what"] == "census"}
    slowest = max(x["wall_s"] for x in census if x["what"] == "findings")
    rows = [
        ["CPU engine, core time against the C loop", f"{of['C loop']['ours_over_theirs']:.2f} ×"],
        [
            "default audit, core time against the C loop",
            f"{of['default audit']['ours_over_theirs']:.2f} ×",
        ],
        ["core time of sparse_dot_topn against ours", f"{topn['theirs_over_ours']:.1f} ×"],
        ["core time of DuckDB SQL against ours", f"{sql['theirs_over_ours']:.0f} ×"],
        ["index of 99 M entries", f"{of['memory']['index_mib']:.0f} MiB"],
        ["everyone on one H200, scoreboard-rh", f"{kernel['scoreboard-rh']:.2f} s of kernel time"],
        ["everyone on one H200, likelihood", f"{kernel['likelihood']:.2f} s of kernel time"],
        ["packed folder to findings on one H200, slower run", f"{slowest:.1f} s"],
    ]
    return table(["what", "measured"], rows)


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (RESULTS / name).read_text().splitlines()]


def table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def scoring(bench: list[dict]) -> str:
    rows = []
    for x in bench:
        if "ms_per_target" in x:
            ratio = next((words.format(x[k]) for k, words in RATIOS.items() if k in x), "")
            same = {True: "yes", False: "**no**"}.get(x.get("same"), "")
            rows.append(
                [
                    x["what"],
                    f"{x['ms_per_target']:.3g}",
                    f"{x['ns_per_posting_core']:.3g}",
                    ratio,
                    same,
                ]
            )
        elif "skipped" in x:
            rows.append([x["what"], f"left out: {x['skipped']}", "", "", ""])
    return table(
        [
            "what",
            "ms per target (wall)",
            "core ns per posting",
            "ratio of core time",
            "same answers",
        ],
        rows,
    )


def reading(bench: list[dict]) -> str:
    mine = [x for x in bench if {"seconds", "peak_mib"} <= x.keys()]
    rows = [[x["what"], f"{x['seconds']:.1f}", f"{x['peak_mib']:,.0f}"] for x in mine]
    return table(["what", "seconds (wall)", "peak MiB"], rows)


def census_table(census: list[dict]) -> str:
    rows = [
        [
            x["attack"],
            f"{x['targets']:,}",
            f"{x['kernel_s']:.2f}",
            f"{x['mass_kernel_s']:.2f}",
            f"{x['us_per_target']:.2f}",
        ]
        for x in census
        if x["what"] == "census"
    ]
    return table(["attack", "targets", "kernel s", "lineup kernel s", "µs per target"], rows)


def shape_table(census: list[dict]) -> str:
    rows = [
        [
            x["attack"],
            f"{x['block']:,}",
            str(x["threads"]),
            str(x["per_sm"]),
            f"{x['us_per_target']:.2f}",
        ]
        for x in census
        if x["what"] == "shape"
    ]
    return table(["attack", "records per block", "threads", "blocks per SM", "µs per target"], rows)


def main() -> None:
    bench, census = lines("bench.jsonl"), lines("gpu_census_h200.jsonl")
    machine, of = bench[0], {x["what"]: x for x in bench}
    memory, slopes, audit = of["memory"], of["exponents"], of["default audit"]
    compared = [x for x in census if x["what"] == "compare"]
    page = PAGE.substitute(
        cpu=machine["cpu"],
        cores=machine["cores"],
        python=machine["python"],
        load=f"{machine['load']:.1f}",
        entries=f"{memory['entries']:,}",
        index=f"{memory['index_mib']:.0f}",
        batch=f"{memory['batch_mib']:.1f}",
        speed_up=f"{of['all cores against one']['speed_up']:.1f}",
        scoring=scoring(bench),
        reading=reading(bench),
        exponents=", ".join(f"{k} {v:.2f}" for k, v in slopes.items() if k != "what"),
        census=census_table(census),
        shapes=shape_table(census),
        same="are exactly" if all(all(x["same"].values()) for x in compared) else "**are not**",
        gap=f"{max(x['relative'][k] for x in compared for k in ('sigma', 'share')):.0e}",
        summary=summary(bench, census),
        compile=f"{of['first use: compile the kernel']['start_s']:.0f}",
        load_again=f"{of['later starts: load it']['start_s']:.1f}",
        per_posting=f"{of['linear model']['ns_per_posting']:.2f}",
        per_record=f"{of['linear model']['ns_per_record']:.2f}",
        per_run=f"{of['linear model']['ns_per_run']:.0f}",
        miss=f"{of['linear model']['largest_miss']:.0%}",
        audit_targets=f"{audit['targets']:,}",
        audit_kinds=audit["kinds"],
        audit_queries=f"{6 * audit['targets'] * audit['kinds']:,}",
        audit_core=f"{audit['core_seconds']:.0f}",
        audit_c=f"{audit['c_core_seconds']:.0f}",
        audit_ratio=f"{audit['ours_over_theirs']:.2f}",
        audit_load=f"{audit.get('load', machine['load']):.1f}",
        findings=" and ".join(f"{x['wall_s']:.1f} s" for x in census if x["what"] == "findings"),
    )
    (ROOT / "docs" / "speed.md").write_text(page)


if __name__ == "__main__":
    main()
