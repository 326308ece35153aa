"""Domains: how they are detected, what they sweep beside the default sweep, and their words."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.audit.domain import DOMAINS, beside_sweep, choose_domain, domain_named
from standout.audit.sweep import default_sweep
from standout.errors import ParameterError
from standout.report.sections import sections
from standout.report.sentences import write_statements
from standout.report.view import view

N = 150


def drawn(repeats: bool, per: int = 10, m: int = 40):
    """People and items; each item once, or again and again."""
    rng = np.random.default_rng(3)
    record = np.repeat(np.arange(N), per)
    if repeats:
        return rng, record, rng.zipf(1.4, record.size) % m
    return rng, record, np.concatenate([rng.choice(m, per, replace=False) for _ in range(N)])


def written(path, columns, rows):
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]))
    return so.Dataset.read(path)


def file_of(folder, name):
    rng, record, item = drawn(repeats=name != "ratings")
    n = record.size
    day = rng.integers(1, 28, n)
    days = [f"2024-03-{d:02}" for d in day]
    times = [
        f"{d} {h:02}:{k:02}:00"
        for d, h, k in zip(days, rng.integers(0, 24, n), rng.integers(0, 60, n), strict=True)
    ]
    path = folder / f"{name}.csv"
    if name == "ratings":
        rows = zip(record, item, rng.integers(1, 6, n), days, strict=True)
        return written(path, ("user", "item", "value", "date"), rows)
    if name == "purchases":
        rows = zip(record, item, np.round(rng.lognormal(2, 1, n), 2), days, strict=True)
        return written(path, ("CustomerID", "StockCode", "UnitPrice", "InvoiceDate"), rows)
    if name == "visits":
        return written(path, ("user", "venue", "time"), zip(record, item, times, strict=True))
    return written(path, ("user", "page", "timestamp"), zip(record, item, times, strict=True))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("domains")
    return {name: file_of(folder, name) for name in DOMAINS}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ratings", "values on a scale of 5 steps, hardly an item repeated"),
        ("purchases", "columns CustomerID, StockCode, UnitPrice and InvoiceDate"),
        ("visits", "column venue"),
        ("clicks", "column page"),
    ],
)
def test_a_domain_is_detected_from_columns_and_shape_with_a_reason(data, name, reason):
    chosen = choose_domain(data[name])
    assert (chosen.domain.name, chosen.reason, chosen.clear) == (name, reason, True)
    assert chosen.words == f"domain: {name} ({reason})"


def test_data_that_says_nothing_is_unclear_and_swept_like_ratings():
    _, record, item = drawn(repeats=True)
    audit = so.Audit(so.Dataset.from_arrays(record, item))
    assert not audit.domain.clear and audit.domain.words.startswith("domain: unclear (no scale")
    asked = so.Audit(audit.source, domain="ratings")
    assert asked.adversaries == audit.adversaries
    assert [a.choose for a in audit.adversaries[-2:]] == ["popular", "event"]


def test_names_of_two_domains_are_unclear(tmp_path):
    rng, record, item = drawn(repeats=True)
    rows = zip(record, item, np.round(rng.lognormal(2, 1, record.size), 2), strict=True)
    chosen = choose_domain(written(tmp_path / "x.csv", ("user", "page", "price"), rows))
    assert not chosen.clear and chosen.reason.startswith("columns fit purchases and clicks")


def test_a_short_scale_of_quantities_is_no_scale_of_ratings(tmp_path):
    rng, record, item = drawn(repeats=False)
    rows = zip(record, item, rng.integers(1, 6, record.size), strict=True)
    chosen = choose_domain(written(tmp_path / "x.csv", ("customer", "product", "quantity"), rows))
    assert chosen.domain.name == "purchases"


def test_plain_ratings_keep_the_default_sweep_and_popular_items(data):
    ratings = data["ratings"]
    plain = default_sweep(ratings)
    adversaries = so.Audit(ratings).adversaries
    assert adversaries[:-1] == plain
    assert adversaries[-1] == so.Adversary(4, 0, "item", None, None, choose="popular")


@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_tries_a_choice_that_favors_the_attacker_less(data, name):
    for chosen in (name, None):
        choices = {a.choose for a in so.Audit(data[name], domain=chosen).adversaries}
        assert choices & {"popular", "event"}
    assert any(e.get("choose") in ("popular", "event") for e in domain_named(name).entries)


def said(audit) -> set[tuple[object, ...]]:
    return {
        (a.knows, a.choose, a.value_within, a.time_within) for a in audit.adversaries if not a.wrong
    }


def test_purchases_are_known_as_random_ones_to_the_day_and_by_amount(data):
    tried = said(so.Audit(data["purchases"]))
    assert {
        (1, "event", None, 0),
        (2, "event", None, 0),
        (1, "event", "10%", None),
        (2, "event", "10%", 0),
        (4, "event", None, None),
        (4, "popular", None, None),
    } <= tried
    assert not any(a.time_within == "12h" for a in so.Audit(data["purchases"]).adversaries)
    assert len(tried) == len(
        {x for x in tried if x[1] != "uniform"} | said_of(default_sweep(data["purchases"]))
    )


def said_of(sweep):
    return {(a.knows, a.choose, a.value_within, a.time_within) for a in sweep if not a.wrong}


@pytest.mark.parametrize("name", ["visits", "clicks"])
def test_visits_and_clicks_are_known_to_the_day_and_as_exactly_as_they_are(data, name):
    tried = said(so.Audit(data[name]))
    assert {(2, "event", None, 0), (2, "event", None, "12h"), (4, "event", None, None)} <= tried
    assert ((1, "event", None, "30min") in tried) == (name == "visits")


def test_names_of_amounts_stand_for_the_channels_of_the_data():
    rng, record, item = drawn(repeats=True)
    channels = {"qty": rng.integers(1, 9, record.size), "total": rng.lognormal(2, 1, record.size)}
    data = so.Dataset.from_arrays(record, item, channels=channels)
    assert choose_domain(data).words == "domain: purchases (column qty)"
    within = [a.within for a in so.Audit(data).adversaries if a.within]
    assert {"total": "10%"} in within and {"qty": 0} in within
    assert {"total": "10%", "qty": 0} in within and {"total": "round:1"} in within
    bare = so.Dataset.from_arrays(record, item)
    assert not [a for a in so.Audit(bare, domain="purchases").adversaries if a.within]


@pytest.mark.parametrize(
    ("column", "known"),
    [("Quantity", {0}), ("UnitPrice", {"10%", "round:1"}), ("spent", {"10%", "round:1"})],
)
def test_the_value_is_the_amount_unless_its_column_is_a_quantity(tmp_path, column, known):
    rng, record, item = drawn(repeats=True)
    rows = zip(record, item, rng.integers(1, 90, record.size), strict=True)
    path = tmp_path / "x.csv"
    path.write_text(
        "\n".join([f"customer,product,{column}", *(",".join(map(str, row)) for row in rows)])
    )
    data = so.Dataset.read(path, record="customer", item="product", value=column)
    audit = so.Audit(data, domain="purchases")
    events = {a.value_within for a in audit.adversaries if a.choose == "event"}
    assert events == {None} | known


def test_attributes_are_tried_alone_and_beside_one_item():
    rng, record, item = drawn(repeats=False)
    age = rng.integers(20, 50, N)
    data = so.Dataset.from_arrays(record, item, attributes={"age": age[record]})
    more = so.Audit(data).adversaries[-2:]
    assert [(a.knows, a.within) for a in more] == [(0, {"age": 0}), (1, {"age": 0})]
    assert so.Adversary(1, 0, "item", None) in so.Audit(data).adversaries


def test_attributes_that_the_release_lacks_are_not_tried_alone():
    rng, record, item = drawn(repeats=False)
    age, release = rng.integers(20, 50, N), so.Dataset.from_arrays(record, item)
    data = so.Dataset.from_arrays(record, item, attributes={"age": age[record]})
    found = so.Audit(data, targets=20, release=release, describe=False).run(progress=False)
    assert not [one for one in found.results if one["adversary"]["knows"] == 0]
    note = "The release has no age: what is known of the person alone is not tried."
    assert note in found.warnings
    with pytest.raises(ParameterError, match="none of the known attributes, and no item is known"):
        so.risk(data, so.Adversary(knows=0, within={"age": 0}), release=release, draws=1)


def test_visits_are_audited_where_the_release_has_no_times(data):
    """Hours and tolerances of hours are known of the source; in the release there is nothing to compare them with."""
    source = data["visits"]
    assert source.time_resolution != "day"
    release = so.defense("drop-time").apply(source, seed=1)
    audit = so.Audit(source, release=release, domain="visits", targets=20)
    assert any("the release does not show it" in note for note in audit.not_tried)
    hours, bare = (so.Adversary(2, 0, "item", None, time_within=t) for t in ("2h", None))
    found, same = (
        so.Audit(source, who, release=release, targets=20, describe=False).run(progress=False)
        for who in (hours, bare)
    )
    assert [one["hit"] for one in found.results[0]["attacks"]] == [
        one["hit"] for one in same.results[0]["attacks"]
    ]


def test_few_items_lower_what_is_known_to_what_the_sweep_tries():
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(90), 2)
    data = so.Dataset.from_arrays(record, rng.integers(0, 9, record.size))
    tried = default_sweep(data)
    more, _ = beside_sweep(domain_named("clicks"), data, tried)
    assert {a.knows for a in more} <= {a.knows for a in tried}


def test_an_unknown_domain_is_refused_with_the_known_ones(data):
    with pytest.raises(ParameterError, match="no domain 'shop'"):
        so.Audit(data["ratings"], domain="shop")


def test_adversaries_that_are_given_are_the_only_ones(data):
    who = so.Adversary(knows=2, value_within=None)
    assert so.Audit(data["visits"], who, domain="visits").adversaries == [who]


def test_the_answer_is_in_the_words_of_the_domain(data):
    whos = [
        so.Adversary(2, 0, "item", None, choose=choose)
        for choose in ("uniform", "event", "popular")
    ]
    found = so.Audit(
        data["purchases"], whos, ["scoreboard-rh"], targets=100, domain="purchases", describe=False
    ).run()
    assert found.provenance["domain"]["item"] == ("product", "products")
    text = " ".join(write_statements(view(found)))
    assert "product" in text and " item" not in text and " event" not in text
    assert view(found).cases[1].phrase == "2 random purchases"
    same = so.Audit(
        data["purchases"], whos, ["scoreboard-rh"], targets=100, domain="ratings", describe=False
    )
    plain = " ".join(write_statements(view(same.run())))
    assert "product" not in plain and "item" in plain


@pytest.mark.parametrize(
    ("other", "words"),
    [("popular", "(popular products more likely) to"), ("event", "(random purchases) to")],
)
def test_the_answer_gives_the_range_over_choices_in_the_words_of_the_domain(other, words):
    rng = np.random.default_rng(3)
    record = np.repeat(np.arange(300), 10)
    data = so.Dataset.from_arrays(record, rng.zipf(1.4, record.size) % 40)
    whos = [so.Adversary(3, 0, "item", None, None, choose=choose) for choose in ("uniform", other)]
    found = so.Audit(
        data, whos, ["scoreboard-rh"], targets="all", domain="purchases", describe=False
    ).run()
    answer = write_statements(view(found))[0]
    assert "of 3 products, the best guess finds from" in answer
    assert words in answer and "(any products)" in answer


def test_a_channel_with_the_name_of_a_word_keeps_it():
    rng, record, item = drawn(repeats=True)
    data = so.Dataset.from_arrays(record, item, channels={"items": rng.integers(1, 9, record.size)})
    who = so.Adversary(knows=2, within={"items": 0})
    found = so.Audit(data, who, ["scoreboard"], targets=40, domain="visits", describe=False).run()
    assert "exact items" in write_statements(view(found))[0]


def test_the_report_compares_attributes_items_and_both_and_counts_classes():
    rng, record, item = drawn(repeats=False)
    age, town = rng.integers(20, 50, N).astype(float), rng.choice(["a", "b"], N)
    # a missing age is no age of the next town
    age[:5], age[5:9], town[:9] = np.nan, 20.0, ["a"] * 5 + ["b"] * 4
    data = so.Dataset.from_arrays(
        record, item, attributes={"town": town[record], "age": age[record]}
    )
    whos = [
        so.Adversary(knows=0, within={"age": 0, "town": 0}),
        so.Adversary(1, 0, "value", None),
        so.Adversary(knows=1, within={"age": 0, "town": 0}),
    ]
    found = so.Audit(data, whos, ["likelihood"], targets="all", describe=False).run()
    counted = found.sections["attributes"]
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.connect()
    rows.execute("create table people (age double, town text)")
    rows.executemany(
        "insert into people values (?, ?)",
        [(None if np.isnan(a) else a, t) for a, t in zip(age.tolist(), town.tolist(), strict=True)],
    )
    query = "select count(*) as n from people group by age, town"
    classes, least, unique, small = rows.execute(
        f"select count(*), min(n), sum(case when n = 1 then 1 else 0 end), sum(case when n < 5 then n else 0 end) from ({query})"
    ).fetchone()
    assert (counted["n_classes"], counted["smallest"]) == (classes, least)
    assert (counted["n_unique"], counted["n_in_small"]) == (unique, small)
    assert 0 < unique < N
    # every person is attacked; half of them choose the strongest attack, the rest are reported
    alone = so.risk(data, whos[0]).to_frame()["unique"]
    assert alone.sum() == unique
    section = next(s for s in sections(found) if s.id == "attributes")
    assert f"{unique:,} of {N:,} people" in section.text[0]
    assert [row["words"] for row in section.tables[0].rows] == [
        whos[0].words(data),
        whos[1].words(data),
        whos[2].words(data),
    ]


def test_data_without_attributes_has_no_section_on_them(data):
    found = so.Audit(
        data["ratings"], so.Adversary(2), ["scoreboard"], targets=20, describe=False
    ).run()
    assert "attributes" not in found.sections
    assert "attributes" not in {s.id for s in sections(found)}


def receipts(**names):
    """Purchases by receipts: the number of one is that of the customer and the day."""
    rng, record, item = drawn(repeats=False)
    day = rng.integers(0, 30, record.size).astype(float)
    columns = {
        "receipt": np.char.add("r", (100 * record + day).astype(int).astype(str)),
        "price": rng.integers(1, 90, record.size) / 4,
        "quantity": rng.integers(1, 5, record.size),
    }
    channels = {name: columns[column] for column, name in names.items()}
    return so.Dataset.from_arrays(record, item, time=day, channels=channels)


def test_receipts_are_known_as_wholes_and_as_products_of_one(data):
    shop = receipts(receipt="InvoiceNo", price="UnitPrice", quantity="Quantity")
    tried = so.Audit(shop, domain="purchases").adversaries
    assert {"together:InvoiceNo"} == {a.choose for a in tried if a.choose.startswith("together")}
    baskets = {
        (a.knows, a.view.text, *sorted((a.within or {}).items()), a.time_within)
        for a in tried
        if a.view
    }
    whole = "?total=UnitPrice*Quantity"
    assert baskets == {
        (1, f"baskets:InvoiceNo{whole}", ("total", "10%"), 0),
        (2, f"baskets:InvoiceNo@day{whole}", ("total", "10%"), None),
        (1, "baskets:InvoiceNo", ("size", 0), 0),
    }
    assert not any(a.view for a in so.Audit(data["purchases"]).adversaries)


@pytest.mark.parametrize(
    ("names", "total"),
    [
        ({"receipt": "order_id", "price": "price"}, "?total=price"),
        ({"receipt": "basket", "price": "total"}, "?total=total"),
        ({"receipt": "receipt"}, None),
    ],
)
def test_the_total_of_a_receipt_is_summed_up_from_the_amounts_that_there_are(names, total):
    tried = so.Audit(receipts(**names), domain="purchases").adversaries
    totals = {
        a.view.text.partition("?")[2] for a in tried if a.view and "total" in (a.within or {})
    }
    assert totals == ({total[1:]} if total else set())
    assert any(a.view and a.within == {"size": 0} for a in tried)


def test_a_release_without_receipts_is_audited_and_the_notes_say_what_is_not_tried():
    shop = receipts(receipt="receipt", price="price")
    release = shop.with_entries(drop=["receipt"])
    audit = so.Audit(
        shop, None, ["scoreboard"], 20, release=release, domain="purchases", describe=False
    )
    assert not any(a.view for a in audit.adversaries)
    notes = [note for note in audit.run().warnings if "the release does not show it" in note]
    assert len(notes) == 3 and all("--channel receipt=COLUMN" in note for note in notes)
