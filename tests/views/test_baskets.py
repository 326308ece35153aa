"""Baskets: a receipt as one entry with its total, size and time, against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import permutations

import numpy as np
import pytest

import standout as so
from standout.errors import ParameterError
from standout.views.baskets import BasketsView
from standout.views.view import parse_view, see

N = 40
START = 19_000
"""First day."""


def lines(seed=0):
    """Lines of receipts: (person, receipt, shop, product, day, price, quantity); some have no receipt or no price."""
    rng = np.random.default_rng(seed)
    out = []
    for person in range(N):
        for k in range(int(rng.integers(2, 6))):
            # numbers of receipts begin again with each shop: two people, and two shops, share them
            receipt, shop = str(rng.integers(0, 9) if k else person), str(rng.choice(["a", "b"]))
            day = int(rng.integers(0, 8))
            for _ in range(int(rng.integers(1, 5))):
                out.append(
                    (
                        person,
                        None if rng.random() < 0.05 else receipt,
                        None if rng.random() < 0.03 else shop,
                        int(rng.integers(0, 12)),
                        START + day + int(rng.random() < 0.1),
                        math.nan if rng.random() < 0.1 else float(rng.integers(1, 9)) / 10,
                        float(rng.integers(1, 3)),
                    )
                )
    order = rng.permutation(len(out))
    return [out[k] for k in order]


def read(rows, **more):
    person, receipt, shop, product, day, price, quantity = (
        list(x) for x in zip(*rows, strict=True)
    )
    return so.Dataset.from_arrays(
        person,
        product,
        time=np.array(day, float),
        channels={
            "receipt": np.array(receipt, object),
            "shop": np.array(shop, object),
            "price": np.array(price),
            "quantity": np.array(quantity),
        },
        **more,
    )


def baskets_by_hand(rows, by, total):
    """Per person: the baskets as (item, day, size, total); a total of None where no line has an amount."""
    found = defaultdict(list)
    for person, receipt, shop, product, day, price, quantity in rows:
        if receipt is not None and (shop is not None or "shop" not in by):
            key = person, receipt, shop if "shop" in by else None
            amount = price * quantity if "*" in total else price
            found[key].append((product, day, amount))
    held = defaultdict(list)
    for (person, _, shop), own in found.items():
        day = min(d for _, d, _ in own)
        parts = {"shop": shop, "day": str(np.datetime64(day, "D"))}
        item = " · ".join(parts[x] for x in by) or "basket"
        amounts = [a for _, _, a in own if not math.isnan(a)]
        spent = round(math.fsum(amounts), 6) if amounts else None
        held[person].append((item, day, len({p for p, _, _ in own}), spent))
    return held


VIEWS = {
    "baskets:receipt?total=price": ((), "price"),
    "baskets:receipt@shop?total=price*quantity": (("shop",), "price*quantity"),
    "baskets:receipt@day?total=price": (("day",), "price"),
    "baskets:receipt@shop+day?total=price*quantity": (("shop", "day"), "price*quantity"),
}


def shown_baskets(shown):
    names = [channel.name for channel in shown.channels]
    size, total = (
        np.append(shown.channels[names.index(name)].levels, np.nan)[
            shown.further.columns()[names.index(name)]
        ]
        for name in ("size", "total")
    )
    held = defaultdict(list)
    for r in range(shown.n_records):
        for k in range(shown.record_ptr[r], shown.record_ptr[r + 1]):
            held[int(shown.record_labels[r])].append(
                (
                    str(shown.item_labels[shown.record_item[k]]),
                    int(shown.record_tick[k]) + shown.first_tick,
                    int(size[k]),
                    None if math.isnan(total[k]) else round(float(total[k]), 6),
                )
            )
    return held


@pytest.mark.parametrize("view", VIEWS)
def test_baskets_are_what_is_grouped_by_hand(view):
    rows = lines()
    expected = baskets_by_hand(rows, *VIEWS[view])
    shown = see(read(rows), parse_view(view))
    assert {r: sorted(x, key=str) for r, x in shown_baskets(shown).items()} == {
        r: sorted(x, key=str) for r, x in expected.items()
    }
    assert [c.name for c in shown.channels] == ["size", "total"] and not shown.has_value
    lost = sum(r[1] is None or (r[2] is None and "shop" in VIEWS[view][0]) for r in rows)
    lacks = "receipt or shop" if "shop" in VIEWS[view][0] else "receipt"
    assert any(f"{lost:,} entries without {lacks} left out" in x for x in shown.cleaning.notes)


def chance(own, facts, known, within, knows):
    """P(facts | baskets of a person): random baskets until the items are distinct, then the errors of time and total."""
    n = defaultdict(int)
    for item, *_ in own:
        n[item] += 1
    if len(n) < knows or any(known.item[f] not in n for f in facts):
        return 0.0
    picked = 0.0
    for order in permutations([known.item[f] for f in facts]):
        left, p = len(own), 1.0
        for item in order:
            p *= n[item] / left
            left -= n[item]
        picked += p
    for f in facts:
        p = 0.0
        for item, day, size, total in own:
            if item != known.item[f]:
                continue
            q = 1.0
            if "time" in within:
                q *= (abs(known.time[f] - day) <= within["time"]) / (2 * within["time"] + 1)
            if "size" in within:
                q *= known.channels["size"][f] == size
            if "total" in within:
                told = known.channels["total"][f]
                gone = total is None or math.isnan(told)
                if gone:
                    q *= total is None and math.isnan(told)
                elif within["total"] == "20%":
                    # at the ends of the scale, densities become lumps: those are not compared
                    q *= (abs(told - total) <= 0.2 * total + 1e-9) / max(0.4 * total, 1e-9)
                else:
                    q *= abs(told - total) < 1e-9
            p += q
        picked *= p / n[known.item[f]]
    return picked


ASKED = [
    ("baskets:receipt?total=price", 1, {"total": 0, "time": 0}),
    ("baskets:receipt?total=price", 1, {"total": 0, "time": 1}),
    ("baskets:receipt?total=price", 1, {"size": 0, "time": 2}),
    ("baskets:receipt?total=price", 1, {"total": "20%"}),
    ("baskets:receipt@shop?total=price*quantity", 2, {"total": 0, "time": 1}),
    ("baskets:receipt@day?total=price", 2, {"size": 0}),
    ("baskets:receipt@day?total=price", 2, {"total": "20%"}),
    ("baskets:receipt@shop+day?total=price*quantity", 2, {"total": 0}),
]


@pytest.mark.parametrize(("view", "knows", "within"), ASKED)
def test_who_could_have_the_known_baskets_and_how_likely_is_enumerated(view, knows, within):
    rows = lines(seed=1)
    data, held = read(rows), baskets_by_hand(rows, *VIEWS[view])
    who = so.Adversary(knows=knows, within=within, view=view, choose="event")
    targets = who.eligible(data)
    distinct = [len({b[0] for b in held[r]}) for r in range(N)]
    assert targets.tolist() == [r for r in range(N) if distinct[r] >= knows]
    known = who.sample(data, targets, seed=3)
    seen = so.attack("likelihood", calibrate=False).run(data, known, watch=targets)
    unique = so.attack("unicity").run(data, known, watch=targets)
    ends = [t for own in held.values() for *_, t in own if t is not None]
    for q in range(targets.size):
        facts = range(*known.query_ptr[q : q + 2])
        p = np.array([chance(held[r], facts, known, within, knows) for r in range(N)])
        assert p[targets[q]] > 0
        assert seen.n_candidates[q] == (p > 0).sum()
        told = [known.channels["total"][f] for f in facts] if "total" in within else []
        if not within.get("total") or not {min(ends), max(ends)} & {*told}:
            assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)
        fits = [_fits(held[r], facts, known, within) for r in range(N)]
        assert unique.matched[q] == (sum(fits) == 1)


def _fits(own, facts, known, within):
    """Whether the person has a basket for each fact, within the tolerances; what is not known excludes nobody."""
    for f in facts:
        some = [b for b in own if b[0] == known.item[f]]
        if "time" in within:
            some = [b for b in some if abs(b[1] - known.time[f]) <= within["time"]]
        if "size" in within:
            some = [b for b in some if b[2] == known.channels["size"][f]]
        if "total" in within and not math.isnan(told := known.channels["total"][f]):
            share = 0.2 if within["total"] == "20%" else 0.0
            some = [b for b in some if b[3] is not None and abs(told - b[3]) <= share * b[3] + 1e-9]
        if not some:
            return False
    return True


def test_a_planted_basket_finds_its_person_and_wider_tolerances_leave_more_people():
    rows = [r for r in lines(seed=2) if r[0] != 7 and r[4] <= START + 7]
    rows += [(7, "77", "a", k, START + 3, 50.0, 1.0) for k in range(3)]
    data = read(rows)
    view = "baskets:receipt?total=price"
    who = so.Adversary(knows=1, within={"total": "10%"}, view=view)
    found = so.attack("likelihood").run(data, who.sample(data, np.array([7]), seed=1))
    assert found.best[0] == 7 and found.n_candidates[0] == 1
    left = []
    for within in (
        {"total": 0, "time": 0},
        {"total": "10%", "time": 1},
        {"total": "50%", "time": 4},
    ):
        wide = so.Adversary(knows=1, within=within, view=view)
        known = wide.sample(data, np.arange(N), seed=1)
        left.append(so.attack("likelihood").run(data, known).n_candidates.mean())
    assert left[0] < left[1] < left[2]


@pytest.mark.parametrize("view", ["baskets:receipt", "baskets:receipt@day", "baskets:receipt@shop"])
def test_finding_a_basket_reveals_the_products_of_the_record(view):
    """All baskets of `baskets:receipt` are one item: it was said that nothing more is revealed."""
    rows = [
        (r, f"p{r}-{k}", f"{r}-{k // 3}", "ab"[k // 3], 20_000 + 3 * r + k // 3)
        for r in range(30)
        for k in range(6)
    ]
    person, item, receipt, shop, day = (list(x) for x in zip(*rows, strict=True))
    data = so.Dataset.from_arrays(
        person, item, time=day, channels={"receipt": receipt, "shop": shop}
    )
    who = so.Adversary(knows=1, within={"time": 0}, view=view, choose="event")
    found = so.Audit(data, who, ["likelihood", "unicity"], 30, seed=1).run()
    assert found.results[0]["more_items"] == 6
    assert "on average 6 more products, each with its day." in str(found)


def test_the_number_of_a_receipt_says_nothing():
    rows = lines(seed=4)
    renamed = [(r[0], r[1] and f"{r[0]}/{r[1]}", *r[2:]) for r in rows]
    who = so.Adversary(knows=2, within={"total": 0}, view="baskets:receipt@day?total=price")
    a, b = read(rows), read(renamed)
    targets = who.eligible(a)
    np.testing.assert_array_equal(targets, who.eligible(b))
    one, two = (
        so.attack("likelihood").run(x, who.sample(x, targets, seed=1), watch=targets)
        for x in (a, b)
    )
    np.testing.assert_array_equal(one.n_candidates, two.n_candidates)


def test_values_are_the_total_where_the_view_names_no_other():
    data = so.Dataset.from_arrays(
        [0, 0, 0, 1], ["x", "x", "y", "x"], [1.5, 1.5, 2, 9], channels={"receipt": [1, 1, 1, 2]}
    )
    shown = see(data, parse_view("baskets"))
    size, total = shown.channels
    assert total.levels.tolist() == [5.0, 9.0] and size.levels.tolist() == [1.0, 2.0]
    assert shown.lengths.tolist() == [1, 1] and shown.item_labels.tolist() == ["basket"]
    bare = so.Dataset.from_arrays([0, 1], ["x", "y"], channels={"receipt": [1, 2]})
    assert [c.name for c in see(bare, parse_view("baskets")).channels] == ["size"]


def test_attributes_of_the_person_are_known_beside_baskets():
    rows = lines(seed=5)
    age = {r: 20 + r % 7 for r in range(N)}
    data = read(rows, attributes={"age": [age[r[0]] for r in rows]})
    view = "baskets:receipt?total=price"
    unique = [
        so.risk(data, so.Adversary(knows=1, within=within, view=view)).to_frame()["unique"].mean()
        for within in ({"total": 0}, {"total": 0, "age": 0})
    ]
    assert unique[0] < unique[1]


def test_every_attack_runs_on_baskets():
    data = read(lines(seed=6))
    who = so.Adversary(
        knows=1, within={"total": "10%", "time": 0}, view="baskets:receipt?total=price"
    )
    made = so.Audit(data, who, so.attack_names(), 40, seed=1, describe=False).run()
    # the view adds the channel
    assert not any("The release has no" in note for note in made.warnings)
    found = made.results[0]
    assert found["adversary"]["words"].endswith("whole baskets by receipt")
    rates = {a["attack"]["name"]: a["hit"]["rate"] for a in found["attacks"]}
    assert max(rates.values()) == rates["likelihood"] > 0.5


def test_a_defended_release_is_seen_through_the_view_and_nobody_is_called_unique():
    data = read(lines(seed=7))
    release = so.defense("drop-entries", share=0.2).apply(data, seed=7)
    who = so.Adversary(
        knows=1, within={"total": "10%", "time": 0}, view="baskets:receipt?total=price"
    )
    found = so.Audit(data, who, ["likelihood"], 40, seed=1, release=release).run()
    assert found.results[0]["unique"] is None
    assert any("cannot be stated after the view" in note for note in found.warnings)


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("baskets:invoice", r"no channel 'invoice' .*--channel invoice=COLUMN"),
        ("baskets:receipt@store", r"no channel 'store' .*--channel store=COLUMN"),
        ("baskets:receipt?total=cost", r"no channel 'cost' .*--channel cost=COLUMN"),
        ("baskets:receipt?total=value", r"no channel 'value' .*--value COLUMN"),
        ("baskets:receipt?total=price*shop", "which have no sum"),
    ],
)
def test_a_missing_column_is_one_line_that_names_the_option(view, message):
    with pytest.raises(ParameterError, match=message) as error:
        so.Adversary(knows=1, view=view).eligible(read(lines()))
    assert "\n" not in str(error.value)


def test_days_tell_baskets_apart_only_where_there_are_days():
    data = so.Dataset.from_arrays([0, 1], ["x", "y"], channels={"receipt": [1, 2]})
    with pytest.raises(ParameterError, match="--time COLUMN"):
        see(data, parse_view("baskets:receipt@day"))
    days = so.Dataset.from_arrays([0, 1], ["x", "y"], channels={"receipt": [1, 2], "day": [5, 6]})
    assert see(days, parse_view("baskets:receipt@day")).item_labels.tolist() == ["5.0", "6.0"]


@pytest.mark.parametrize(
    "text", ["baskets:", "baskets:a@", "baskets:a@a", "baskets:a@b+b", "baskets:a?total=2*b"]
)
def test_a_misspelled_view_is_refused_with_the_forms_that_are_right(text):
    with pytest.raises(ParameterError, match="use baskets:RECEIPT"):
        parse_view(text)


def test_a_view_is_read_from_its_text():
    for text in VIEWS:
        assert parse_view(text).text == text
    assert BasketsView("receipt@day", total="price").text == "baskets:receipt@day?total=price"


def test_a_record_found_by_a_basket_reveals_all_of_its_products():
    data = read(lines())
    who = so.Adversary(knows=1, within={"size": 0}, view="baskets:receipt")
    found = so.Audit(data, who, "scoreboard", targets=None).run(progress=False).results[0]
    assert found.more_items == pytest.approx(data.lengths.mean()) and found.more_items > 2
