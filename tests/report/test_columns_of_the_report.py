"""What the report says of further channels and attributes, and of knowledge without items."""

from __future__ import annotations

import pytest

import standout as so
from standout.formulas.rates import Rate
from standout.report.evidence import data_read, limits
from standout.report.sentences import hits, statements_of
from standout.report.view import view


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Findings on 40 people whose area and price are read, of which the area is known."""
    path = tmp_path_factory.mktemp("data") / "shop.csv"
    rows = [
        f"u{r},i{(r * 7 + k * 5) % 23},{1 + r % 3 + k / 4},a{r % 25},x{r}"
        for r in range(40)
        for k in range(4)
    ]
    path.write_text("user,item,price,area,comment\n" + "\n".join(rows) + "\n")
    data = so.Dataset.read(path, value=None, channels="price", attributes="area")
    who = so.Adversary(knows=0, within={"area": 0})
    return so.Audit(data, [who], ["scoreboard-rh"], "all", describe=False).run(progress=False)


def test_channels_and_attributes_are_no_ignored_columns(found):
    points = dict(data_read(view(found)).points)
    assert "area as the attribute area" in points["Columns used"]
    assert "price as the channel price" in points["Columns used"]
    assert points["Columns ignored"].startswith("comment")


def test_a_channel_that_nobody_knew_was_not_part_of_the_attacks(found):
    points = dict(limits(view(found)).points)
    assert points["Columns not covered"].startswith("The file also has price, comment.")


def test_the_answer_about_attributes_alone_assumes_no_choice_of_items(found):
    said = statements_of(found)[0]
    assert "The best guess is right" in said and "if the known items" not in said


@pytest.mark.parametrize(
    ("count", "shown"), [(49.5, "49.5"), (49.97, "49.9"), (50, "50"), (12.5, "12"), (3.25, "3.2")]
)
def test_not_all_people_are_said_to_be_found_where_some_tie(count, shown):
    assert hits(Rate.from_count(count, 50)) == shown
