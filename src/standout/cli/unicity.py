"""`standout unicity`: share of people whose record alone contains p random points, by the resolution of place and time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from standout.cli.option_values import target_count, whole_numbers
from standout.cli.options import Reading, command
from standout.cli.outputs import check_file, print_result
from standout.cli.reading import error_console, progress_on, read_data
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.audit.place_time import UnicityTable

PICTURES = (".svg", ".png", ".pdf")
KINDS = (".json", ".csv", *PICTURES)
"""Kinds of files that the command writes."""


@command()
def unicity(
    path: str,
    /,
    reading: Reading,
    points: str = "4",
    places: str | None = None,
    times: str | None = None,
    targets: str = "2500",
    seed: int = 0,
    out: Path | None = None,
    json: bool = False,
) -> None:
    """Show how many people are unique by p random points, each a place and a time, at several resolutions of both.

    The points of a person are drawn once, and shown more and more coarsely: cells of a grid, and
    periods of time.

    Example: standout unicity visits.csv --lat latitude --lon longitude --points 1,4 --places
    100m,1km,10km --times hour,6h,day --out unicity.svg

    Parameters
    ----------
    points
        Numbers of points, comma-separated.
    places
        Edges of the cells of a grid, item for the places as the data names them, or
        groups:FILE.csv. Default: 100m,1km,10km with --lat and --lon, else item.
    times
        Lengths of periods: 15min, hour, 6h, day, week, month, year, or none. Default:
        hour,6h,day,week, as far as the data has them.
    targets
        Number of people, or all.
    out
        File for the numbers (.json, .csv) or the chart (.svg, .png, .pdf).
    """
    from standout.audit.place_time import unicity as measure
    from standout.report.unicity import show_unicity

    numbers, count, log = (
        whole_numbers(points, "points"),
        target_count(targets),
        error_console(json),
    )
    if out is not None and out.suffix.lower() not in KINDS:
        raise ParameterError(f"--out {str(out)!r}: let the name end in {', '.join(KINDS)}")
    check_file(out, [path])
    dataset = read_data(path, reading.keywords, log)
    with progress_on(log) as progress:
        found = measure(
            dataset,
            numbers,
            _listed(places),
            _listed(times),
            targets=count,
            seed=seed,
            progress=progress,
        )
    print_result(found, json, show_unicity)
    if out is not None:
        _write(found, out)


def _listed(text: str | None) -> list[str] | None:
    """Parts of a list separated by commas."""
    return None if text is None else [part.strip() for part in text.split(",")]


def _write(found: UnicityTable, out: Path) -> None:
    """Write the numbers or the chart, as the name of the file says."""
    from standout.audit.findings import write_whole
    from standout.data.writing import write_file
    from standout.report.unicity import unicity_chart

    suffix = out.suffix.lower()
    if suffix == ".json":
        found.save(out)
    elif suffix == ".csv":
        write_whole(out, found.to_frame().to_csv(index=False))
    else:
        picture = unicity_chart(found).to_bytes(suffix[1:])
        out.parent.mkdir(parents=True, exist_ok=True)
        write_file(out, lambda draft: draft.write_bytes(picture))
