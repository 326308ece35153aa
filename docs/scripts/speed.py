"""Write docs/speed.md from what `standout bench` and benchmarks/gpu_census.py measured.

standout bench --size 1 --targets 300 --out benchmarks/results/bench.jsonl --growth docs/images/growth.png
python benchmarks/gpu_census.py --work /tmp/census --out benchmarks/results/gpu_census_h200.jsonl --tune
python docs/scripts/speed.py
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
}

PAGE = Template("""# Speed

Made by `python docs/scripts/speed.py` from measurements; the commands stand in its first lines. Tests assert no times.

## CPU

$cpu, $cores cores, Python $python. The load was $load at the start; wall times suffer from other programs, so
**ratios are of core time**: CPU seconds of the process, summed over threads, best of several rounds taken in turn. The data are
our own synthetic twin of the Netflix Prize data ($entries entries); 8 known items, 2 of them wrong, values ±1, days ±14. The C
loop (`benchmarks/reference/scalar.c`) is compiled with `gcc -O3 -march=native -funroll-loops`, free to reorder sums.

$scoring

The index takes $index MiB; a batch of 300 queries adds $batch MiB of tables. The kernel is compiled at
first use and cached beside the package; later starts load it from there.

$reading

### Growth

![core time against records, entries, known items and targets](images/growth.png)

Fitted exponents: $exponents. A run walks the postings of the known items and looks every record over once; where
records hold few entries the second part dominates, and time grows more slowly than the entries do.

## GPU

One NVIDIA H200, 16 cores beside it. Each record with at least 8 items of the same twin is attacked; best, second and σ are exact.

$census

Launch shapes, on 20,000 of the targets:

$shapes

On a sample of 2,000 targets and for both attacks, best, second, scores, ranks and decisions $same
those of the CPU engine; σ and posteriors differ by at most $gap (relative).
From the packed folder to findings (`Audit` of everyone by scoreboard-rh: present, absent, ranks, lineup), in a fresh process
with compiled kernels on disk: $findings.

Not reached: the census was to take at most 0.7 s of kernel time.
""")


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
            rows.append([x["what"], f"{x['ms_per_target']:.3g}", f"{x['ns_per_posting_core']:.3g}", ratio, same])
        elif "skipped" in x:
            rows.append([x["what"], f"left out: {x['skipped']}", "", "", ""])
    return table(["what", "ms per target (wall)", "core ns per posting", "ratio of core time", "same answers"], rows)


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
        [x["attack"], f"{x['block']:,}", str(x["threads"]), str(x["per_sm"]), f"{x['us_per_target']:.2f}"]
        for x in census
        if x["what"] == "shape"
    ]
    return table(["attack", "records per block", "threads", "blocks per SM", "µs per target"], rows)


def main() -> None:
    bench, census = lines("bench.jsonl"), lines("gpu_census_h200.jsonl")
    machine = bench[0]
    memory = next(x for x in bench if x["what"] == "memory")
    slopes = next(x for x in bench if x["what"] == "exponents")
    compared = [x for x in census if x["what"] == "compare"]
    page = PAGE.substitute(
        cpu=machine["cpu"],
        cores=machine["cores"],
        python=machine["python"],
        load=f"{machine['load']:.1f}",
        entries=f"{memory['entries']:,}",
        index=f"{memory['index_mib']:.0f}",
        batch=f"{memory['batch_mib']:.1f}",
        scoring=scoring(bench),
        reading=reading(bench),
        exponents=", ".join(f"{k} {v:.2f}" for k, v in slopes.items() if k != "what"),
        census=census_table(census),
        shapes=shape_table(census),
        same="are exactly" if all(all(x["same"].values()) for x in compared) else "**are not**",
        gap=f"{max(x['relative'][k] for x in compared for k in ('sigma', 'share')):.0e}",
        findings=" and ".join(f"{x['wall_s']:.1f} s" for x in census if x["what"] == "findings"),
    )
    (ROOT / "docs" / "speed.md").write_text(page)


if __name__ == "__main__":
    main()
