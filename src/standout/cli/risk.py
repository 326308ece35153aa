"""`standout risk`, `standout worst-case`: how the risk is spread over people, over draws or over all combinations of facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.cli.option_values import target_count
from standout.cli.options import KnowledgeOptions, Reading, command
from standout.cli.outputs import check_people_file, plain_table, print_result, write_people
from standout.cli.reading import error_console, progress_on, read_data

if TYPE_CHECKING:
    from rich.console import Console

    from standout.audit.risk import Risk
    from standout.audit.worst_case import WorstCase


@command()
def risk(
    path: str,
    /,
    reading: Reading,
    known: KnowledgeOptions = KnowledgeOptions("4", "0", value_within="none", time_within="none"),
    attack: str = "likelihood",
    draws: int = 8,
    targets: str = "all",
    seed: int = 0,
    out: Path | None = None,
    labels: bool = False,
    json: bool = False,
) -> None:
    """Show how the risk is spread over people: chance of each to be unique, found, or surely found.

    Printed are aggregates. --out writes one row per person who holds enough items.

    Example: standout risk ratings.csv --knows 4 --time-within 14 --out risk.csv

    Parameters
    ----------
    attack
        Attack that guesses.
    draws
        Draws of known items per person.
    targets
        Number of people, or all.
    out
        CSV file with one row per person; record numbers only.
    """
    from standout.audit.risk import risk as measure

    who, count, log = known.adversary(), target_count(targets), error_console(json)
    check_people_file(out, path, labels=labels)
    dataset = read_data(path, reading.keywords, log)
    with progress_on(log) as progress:
        found = measure(
            dataset, who, attack, targets=count, draws=draws, seed=seed, progress=progress
        )
    print_result(found, json, _show_risk)
    write_people(found, out, labels=labels, quiet=json)


@command()
def worst_case(
    path: str,
    /,
    reading: Reading,
    knows: int = 2,
    known: str = "items",
    to: str | None = None,
    within: float = 0.0,
    targets: str = "all",
    seed: int = 0,
    out: Path | None = None,
    labels: bool = False,
    json: bool = False,
) -> None:
    """Show the risk of each person over every combination of k facts: the worst one, and the mean.

    The risk of a combination is 1/(number of records that match it). Printed are aggregates.

    Example: standout worst-case visits.csv --knows 2 --known times --to hour

    Parameters
    ----------
    knows
        Facts that are known.
    known
        Kind of facts: items, set, sequence, times, counts, shares, proportions or favorites.
    to
        For times: year, month, week, day, hour, minute or second.
    within
        For counts, shares and proportions: tolerance, 0.5 = 50 %.
    targets
        Number of people, or all.
    out
        CSV file with one row per person; record numbers only.
    """
    from standout.audit.worst_case import worst_case as measure

    count = target_count(targets)
    check_people_file(out, path, labels=labels)
    dataset = read_data(path, reading.keywords, error_console(json))
    found = measure(dataset, knows, known, resolution=to, within=within, targets=count, seed=seed)
    print_result(found, json, _show_worst_case)
    write_people(found, out, labels=labels, quiet=json)


def _show_risk(found: Risk, console: Console) -> None:
    """Print the aggregates."""
    from standout.audit.domain import joined_with_and

    seen = found.to_dict()
    lost = f" Not measured: {joined_with_and(found.not_measured)}." if found.not_measured else ""
    console.print(
        f"{found.words}: {seen['n_people']:,} people, {found.draws} draw{'s' if found.draws > 1 else ''} each. "
        f"{found.n_records - found.n_eligible:,} of {found.n_records:,} people hold too few items and were not attacked.{lost}"
    )
    _show_chances(
        console,
        "chance of a person",
        {name: seen[name] for name in ("unique", "found", "sure")},
        {
            "mean": "mean",
            "median": 0.5,
            "95 % of people below": 0.95,
            "at least 1/2": "at_risk",
            "always": "always",
            "never": "never",
        },
    )


def _show_worst_case(found: WorstCase, console: Console) -> None:
    """Print the aggregates."""
    seen = found.to_dict()
    console.print(
        f"Known: {found.words}. {seen['n_people']:,} people, {seen['combinations']:,.0f} combinations of facts."
    )
    _show_chances(
        console,
        "risk of a person",
        {
            "worst combination": seen["worst"],
            "random combination": seen["expected"],
            "share of combinations that are unique": seen["unique"],
        },
        {"mean": "mean", "median": 0.5, "at least 1/2": "at_risk", "always 1": "always"},
    )


def _show_chances(
    console: Console, title: str, rows: dict[str, Any], columns: dict[str, str | float]
) -> None:
    """Print one row per kind of chance; a column is a summary of it, or a quantile."""
    table = plain_table(title, *columns)
    for name, chances in rows.items():
        if chances is None:
            table.add_row(name, *["not measured"] * len(columns))
            continue
        values = chances | {row["level"]: row["chance"] for row in chances["quantiles"]}
        table.add_row(name, *(f"{100 * values[key]:.1f} %" for key in columns.values()))
    console.print(table)
