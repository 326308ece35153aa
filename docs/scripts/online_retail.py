"""Make docs/online-retail.md: a year of a shop audited in the purchases domain, with receipts, amounts and the country.

    python docs/scripts/online_retail.py FOLDER [--targets 200] [--out docs/online-retail.md]

FOLDER holds online-retail/online_retail.csv.gz.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pandas as pd

import standout as so
from standout.errors import InputError
from standout.report.sentences import write_statements
from standout.report.view import view
from standout.report.words import percent

SEED = 1
PAGE = Path(__file__).parents[1] / "online-retail.md"
GIVEN: dict[str, Any] = {
    "record": "CustomerID",
    "item": "StockCode",
    "time": "InvoiceDate",
    "value": None,
    "channels": {"receipt": "InvoiceNo", "price": "UnitPrice", "quantity": "Quantity"},
    "attributes": {"country": "Country"},
    "resolution": "day",
}


def read(path: Path) -> tuple[so.Dataset, str]:
    """The purchases with one country per customer, and what reading says of the file as it is."""
    try:
        so.Dataset.read(path, **GIVEN)
        raise SystemExit("every customer has one country: this page is about those who have two")
    except InputError as error:
        said = str(error)
    rows = pd.read_csv(path, dtype={"InvoiceNo": str, "StockCode": str, "CustomerID": str})
    rows = rows.dropna(subset=["CustomerID"]).sort_values("InvoiceDate", kind="stable")
    rows["Country"] = rows.groupby("CustomerID")["Country"].transform("last")
    return so.Dataset.from_frame(rows, **GIVEN), said


def row_of(result: dict[str, Any]) -> str:
    """A line of the table: what is known, who is found, who is unique."""
    best = max(one["hit"]["rate"] for one in result["attacks"])
    alone = result["unique"]
    unique = "–" if alone is None else percent(alone["rate"])
    return f"| {result['adversary']['words']} | {percent(best)} | {unique} |"


def about(results: list[dict[str, Any]], wanted: Any) -> list[str]:
    """A table of the results that fit."""
    return [
        "| known | found | unique |",
        "|---|---|---|",
        *(row_of(one) for one in results if wanted(one["adversary"])),
    ]


def page(found: so.Findings, data: so.Dataset, said: str, targets: int) -> str:
    """The page, with the numbers of the run."""
    results = found.results
    classes = found.sections["attributes"]
    answer = "\n\n".join(write_statements(view(found))[:3])

    def whole(who: dict[str, Any]) -> bool:
        return "basket" in str(who.get("view", ""))

    def of_one(who: dict[str, Any]) -> bool:
        return str(who["choose"]).startswith("together")

    def event(who: dict[str, Any]) -> bool:
        return (
            who["choose"] == "event"
            and not who.get("view")
            and "country" not in who.get("within", {})
        )

    def country(who: dict[str, Any]) -> bool:
        bare = who["knows"] == 1 and not who.get("within") and who["time_within"] is None
        plain = bare and who["choose"] == "uniform" and not who["wrong"]
        return plain or "country" in who.get("within", {})

    return "\n".join(
        [
            "# A year of a shop, with receipts, amounts and countries",
            "",
            f"Online Retail (Chen, UCI Machine Learning Repository): {data.n_records:,} customers, {data.n_items:,} products, "
            f"{data.n_entries:,} lines of receipts from December 2010 to December 2011. Domain `purchases`, {targets} targets "
            f"for each kind of knowledge, attacks `scoreboard-rh` and `likelihood`, random seed {SEED}. "
            "Made by `make online-retail`.",
            "",
            "## The answer",
            "",
            answer,
            "",
            "## Customers with two countries",
            "",
            "Reading the file as it is stops with one line:",
            "",
            f"> {said}",
            "",
            "An attribute has one value per person. This page takes the country of the last line of each customer:",
            "",
            "```python",
            'rows["Country"] = rows.sort_values("InvoiceDate").groupby("CustomerID")["Country"].transform("last")',
            'so.Dataset.from_frame(rows, record="CustomerID", item="StockCode", time="InvoiceDate",',
            '                      value=None, resolution="day",',
            '                      channels={"receipt": "InvoiceNo", "price": "UnitPrice", "quantity": "Quantity"},',
            '                      attributes={"country": "Country"})',
            "```",
            "",
            "The other way is to read the country as a channel of the lines (`channels=`, `--channel`): then it is known of a "
            "purchase, not of a person.",
            "",
            "## Country alone, products alone, both",
            "",
            f"{classes['n_classes']:,} countries; the smallest class has {classes['smallest']:,} "
            f"{'customer' if classes['smallest'] == 1 else 'customers'} (k), {classes['n_unique']:,} customers are the only one "
            f"of their country, and {classes['n_in_small']:,} are in a class of fewer than five.",
            "",
            *about(results, country),
            "",
            "## Random purchases",
            "",
            *about(results, event),
            "",
            "## Whole receipts, and products of one receipt",
            "",
            "A whole receipt is known by its total (price × quantity of its lines), its size (number of different products) and "
            "its day ([views](views.md#baskets)).",
            "",
            *about(results, lambda who: whole(who) or of_one(who)),
            "",
            "*Found*: the best guess of the stronger of the two attacks is right. *Unique*: no other customer fits what is "
            "known.",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--out", type=Path, default=PAGE)
    arguments = parser.parse_args()
    data, said = read(arguments.folder / "online-retail" / "online_retail.csv.gz")
    audit = so.Audit(
        data,
        attacks=["scoreboard-rh", "likelihood"],
        targets=arguments.targets,
        seed=SEED,
        domain="purchases",
        describe=False,
    )
    arguments.out.write_text(page(audit.run(), data, said, arguments.targets), encoding="utf-8")
    print(arguments.out)


if __name__ == "__main__":
    main()
