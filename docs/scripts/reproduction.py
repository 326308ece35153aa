"""Fill the tables of docs/reproduction.md and draw docs/images/reproduction, all from recipes.

Example::

    python docs/scripts/reproduction.py figures --movielens DATA/ml-latest-small
    python docs/scripts/reproduction.py full --twin twin.parquet --targets 500
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from small_png import small_png

from standout.data.dataset import Dataset
from standout.data.synthetic import twin_dataset, write_twin
from standout.papers.mentions import read_mentions
from standout.papers.recipe import Recipe, RecipeInputs, Rows, recipes
from standout.papers.summary import Summary, markdown_table, specification
from standout.report.drawing import picture

DOCS = Path(__file__).resolve().parent.parent
PAGE, IMAGES = DOCS / "reproduction.md", DOCS / "images" / "reproduction"
FULL = "fig04,fig05,fig06,fig08,fig09,fig10,fig11,fig12,table"


def run(paper: str, setting: RecipeInputs, only: str | None = None) -> Summary:
    """Measure a paper's figures."""
    figures: list[tuple[Recipe, Rows]] = []
    for recipe in recipes(paper, only):
        print(paper, recipe.id, flush=True)
        figures.append((recipe, recipe.run(setting)))
    return Summary.of(setting, figures)


def draw(setting: RecipeInputs, summary: Summary) -> None:
    """Write a small PNG of each figure."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for recipe, rows in summary.figures:
        png = picture(specification(setting, recipe, rows), "png", 1.5)
        (IMAGES / f"{recipe.paper}-{recipe.id}.png").write_bytes(small_png(png))


def tables(summary: Summary) -> str:
    """Both tables of a summary, with what was measured."""
    lines = [
        "  \n".join(summary.about),
        "",
        *markdown_table(summary.lines),
    ]
    if summary.claims:
        lines += ["", "Claims of the text, compared on the same targets:", ""]
        lines += markdown_table(summary.claims)
    return "\n".join(lines)


def pictures(summary: Summary) -> str:
    """Links to the pictures."""
    return "\n\n".join(
        f"![{r.label}: {r.title}](images/reproduction/{r.paper}-{r.id}.png)"
        for r, _ in summary.figures
    )


def fill(name: str, text: str) -> None:
    """Replace the text between the two marks of a block."""
    page = PAGE.read_text(encoding="utf-8")
    mark = re.compile(rf"(<!-- begin {name} -->\n).*?(\n?<!-- end {name} -->)", re.DOTALL)
    if not mark.search(page):
        raise SystemExit(f"{PAGE.name} has no block {name!r}")
    PAGE.write_text(mark.sub(lambda m: f"{m[1]}\n{text}\n{m[2]}", page), encoding="utf-8")


def figures(records: int, targets: int, movielens: Path | None) -> None:
    """NS08 and DSS12 on a small twin, F06 on MovieLens."""
    dataset = twin_dataset(records)
    for paper in ("ns08", "dss12"):
        setting = RecipeInputs(
            dataset,
            targets,
            source=f"a synthetic twin of the Netflix Prize data, {records:,} records",
        )
        summary = run(paper, setting)
        draw(setting, summary)
        fill(f"{paper} small", tables(summary))
        fill(f"{paper} pictures", pictures(summary))
    if movielens is None:
        print("no --movielens: the F06 part stays as it is")
        return
    ratings = Dataset.read(movielens / "ratings.csv.gz", resolution="day")
    mentions = read_mentions(str(movielens / "tags.csv"), ratings)
    setting = RecipeInputs(
        ratings, None, mentions=mentions, source="MovieLens latest-small, ratings and tags"
    )
    summary = run("f06", setting)
    draw(setting, summary)
    fill("f06 movielens", tables(summary))
    fill("f06 pictures", pictures(summary))


def full(twin: Path, targets: int) -> None:
    """The printed rates on a twin of full size; the file is written first if it is missing."""
    if not twin.exists():
        write_twin(twin)
    dataset = Dataset.open(twin) if twin.is_dir() else Dataset.read(twin)
    setting = RecipeInputs(
        dataset, targets, source="a synthetic twin of the Netflix Prize data, full size"
    )
    fill("ns08 full", tables(run("ns08", setting, FULL)))
    fill("dss12 full", tables(run("dss12", setting, "table1,fig01,sec61")))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    small = verbs.add_parser(
        "figures", help="pictures and tables on a twin of 20,000 records and on MovieLens"
    )
    small.add_argument("--records", type=int, default=20_000)
    small.add_argument("--targets", type=int, default=1000)
    small.add_argument("--movielens", type=Path, help="folder with ratings.csv.gz and tags.csv")
    large = verbs.add_parser("full", help="tables on a twin of 480,189 records")
    large.add_argument(
        "--twin",
        type=Path,
        required=True,
        help="Parquet file, written where missing, or a saved folder",
    )
    large.add_argument("--targets", type=int, default=500)
    asked = parser.parse_args()
    if asked.verb == "figures":
        figures(asked.records, asked.targets, asked.movielens)
    else:
        full(asked.twin, asked.targets)


if __name__ == "__main__":
    main()
