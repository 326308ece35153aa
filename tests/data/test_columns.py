"""Columns by role: guessed from common names, refused when two would do."""

from __future__ import annotations

import pytest

from standout.data.reading.columns import choose_columns
from standout.errors import ColumnError


def roles(names, **said):
    found = choose_columns(names.split(","), **said)
    return found.record, found.item, found.value, found.time


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("userId,movieId,rating,timestamp", ("userId", "movieId", "rating", "timestamp")),
        (
            "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country",
            ("CustomerID", "StockCode", "Quantity", "InvoiceDate"),
        ),
        (
            "Invoice,StockCode,Description,Quantity,InvoiceDate,Price,Customer ID,Country",
            ("Customer ID", "StockCode", "Quantity", "InvoiceDate"),
        ),
        ("USER,ITEM", ("USER", "ITEM", None, None)),
        ("user_id,business_id,stars,date,text", ("user_id", "business_id", "stars", "date")),
        (
            "reviewerID,asin,overall,unixReviewTime,reviewTime",
            ("reviewerID", "asin", "overall", "unixReviewTime"),
        ),
        ("user,place-id,time", ("user", "place-id", None, "time")),
        (
            "household_key,PRODUCT_ID,QUANTITY,DAY",
            ("household_key", "PRODUCT_ID", "QUANTITY", "DAY"),
        ),
        ("customer,CustomerID,product,productId", ("CustomerID", "productId", None, None)),
    ],
)
def test_common_names_are_recognized(names, expected):
    assert roles(names) == expected


@pytest.mark.parametrize(
    ("names", "role", "options"),
    [
        ("user,customer,movie", "record", "user, customer"),
        ("userid,artistid,trackid", "item", "artistid, trackid"),
        ("user,movie,rating,score", "value", "rating, score"),
        ("user,movie,created_at,timestamp", "time", "created_at, timestamp"),
    ],
)
def test_two_equally_good_columns_are_an_error_that_names_them(names, role, options):
    with pytest.raises(ColumnError) as caught:
        roles(names)
    assert f"could be the {role}: {options}. Name one with {role}='NAME'" in str(caught.value)


def test_a_named_column_settles_it():
    assert roles("user,customer,movie", record="customer") == ("customer", "movie", None, None)


def test_a_named_column_is_not_guessed_for_another_role():
    assert roles("user,product,item", record="product") == ("product", "item", None, None)


def test_an_empty_name_says_that_there_is_no_such_channel():
    assert roles("user,movie,rating,date", value="", time="") == ("user", "movie", None, None)


def test_a_wrong_name_is_met_with_the_names_and_the_likely_one():
    with pytest.raises(ColumnError) as caught:
        roles("user,movie", record="usr")
    assert (
        str(caught.value)
        == "no column 'usr' for record. Columns: user, movie. Did you mean 'user'?"
    )


def test_a_name_like_no_other_gets_no_hint():
    with pytest.raises(ColumnError) as caught:
        roles("user,movie", value="zzzz")
    assert str(caught.value) == "no column 'zzzz' for value. Columns: user, movie."


def test_no_column_that_could_be_the_record_is_an_error():
    with pytest.raises(
        ColumnError, match=r"no column looks like the person .* Columns: a, b\. .*record='NAME'"
    ):
        roles("a,b")


def test_one_column_cannot_have_two_roles():
    with pytest.raises(ColumnError, match="column 'user' cannot be record and item at once"):
        roles("user,movie", record="user", item="user")


def test_a_name_that_stands_twice_is_refused():
    with pytest.raises(ColumnError, match="column 'user' for record occurs 2 times"):
        roles("user,user,movie", record="user")


def test_the_guess_is_told():
    assert choose_columns(["user", "movie", "rating"]).notes == (
        "columns: record = user, item = movie, value = rating (guessed)",
        "no time column found",
    )
    assert choose_columns(["user", "movie"], record="user", value="", time="").notes == (
        "columns: record = user, item = movie (guessed: item)",
    )
    assert choose_columns(["a", "b"], record="a", item="b", value="", time="").notes == (
        "columns: record = a, item = b",
    )
