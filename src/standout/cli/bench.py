"""`standout bench`: time scoring on this machine, compared with plain C and with other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

SIZES = (0.01, 0.1, 1.0)


def bench(
    size: Annotated[
        float, typer.Option(help="Share of the Netflix Prize's records: 0.01, 0.1 or 1.")
    ] = 0.1,
    targets: Annotated[
        int, typer.Option(help="Targets that our engine and the C loop attack.")
    ] = 500,
    out: Annotated[
        Path | None, typer.Option(help="File for one JSON line per measurement.")
    ] = None,
    peers: Annotated[
        bool, typer.Option(help="Also time sparse_dot_topn, SciPy and DuckDB SQL.")
    ] = True,
    reading: Annotated[
        bool, typer.Option(help="Also time reading and indexing against DuckDB.")
    ] = True,
    starting: Annotated[
        bool, typer.Option(help="Also time the first use, with compilation, and later starts.")
    ] = True,
    audit: Annotated[
        bool, typer.Option(help="Also time a default audit, against the C loop.")
    ] = True,
    growth: Annotated[
        Path | None, typer.Option(help="Measure growth, and draw it into this .png or .svg file.")
    ] = None,
) -> None:
    """Time reading, indexing and scoring on this machine. Synthetic data are made once and cached.

    Example: standout bench --size 0.1 --out bench.jsonl
    """
    import json

    from rich.console import Console

    from standout.bench import measure
    from standout.bench.case import BenchCase, twin_file
    from standout.bench.growth import chart, exponents, linear
    from standout.bench.growth import measure as measure_growth
    from standout.errors import ParameterError
    from standout.report.drawing import picture

    if not 0 < size <= 1:
        raise ParameterError(
            f"--size {size}: use a share above 0 and at most 1, such as {', '.join(map(str, SIZES))}"
        )
    if targets < 1:
        raise ParameterError(f"--targets {targets}: at least one")
    if growth is not None and growth.suffix not in (".png", ".svg"):
        raise ParameterError(f"--growth {str(growth)!r}: name a .png or .svg file")
    busy = Console(stderr=True).status
    lines: list[dict[str, Any]] = [{**measure.machine(), "size": size}]
    with busy("making the data, once …"):
        twin_file(size)
    with busy("reading …"):
        case = BenchCase.make(size, targets)
        lines.append(measure.index_size(case))
    if starting:
        with busy("starting …"):
            lines += measure.starting()
    with busy("scoring …"):
        lines += measure.kernels(case)
    if audit:
        with busy("a whole audit …"):
            lines.append(measure.default_audit(case))
    if peers:
        with busy("the others …"):
            lines += measure.others(case, min(40, targets))
    if reading:
        with busy("reading, ours and DuckDB's …"):
            lines += measure.reading(size, case.threads)
    if growth is not None:
        with busy("growth …"):
            points = list(measure_growth(size))
        lines += [
            *points,
            {"what": "exponents", **exponents(points)},
            {"what": "linear model", **linear(points)},
        ]
        growth.write_bytes(picture(chart(points), growth.suffix[1:]))
    _show(lines)
    if out is not None:
        out.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _show(lines: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    first = lines[0]
    title = f"{first['cpu']}, {first['cores']} cores (load {first['load']:.1f} at the start); size {first['size']:g}"
    table = Table(
        "",
        "ms per target",
        "core ns per posting",
        "ratio of core time",
        "same answers",
        "peak MiB",
        title=title,
    )
    for line in lines[1:]:
        if line["what"] == "growth":
            continue
        ratio = next((f"{line[k]:.2f} {w}" for k, w in _RATIOS.items() if k in line), "")
        same = {True: "yes", False: "NO"}.get(line.get("same"), "")  # type: ignore[arg-type]
        rest = line.get("skipped") or ", ".join(
            f"{k} {v:.3g}" for k, v in line.items() if k not in _COLUMNS and isinstance(v, float)
        )
        table.add_row(
            line["what"],
            _number(line, "ms_per_target"),
            _number(line, "ns_per_posting_core"),
            ratio or rest,
            same,
            _number(line, "peak_mib", 0),
        )
    # a file or a pipe has no width: do not wrap lines there
    wide = None if Console().is_terminal else 150
    Console(highlight=False, markup=False, width=wide).print(table)


_RATIOS = {
    "ours_over_theirs": "× C",
    "theirs_over_ours": "× ours",
    "times_rh": "× scoreboard-rh",
    "full_over_this": "× faster than full",
}
_COLUMNS = {"what", "ms_per_target", "ns_per_posting_core", "peak_mib", *_RATIOS}


def _number(line: dict[str, Any], key: str, digits: int = 3) -> str:
    return f"{line[key]:,.{digits}f}" if key in line else ""
