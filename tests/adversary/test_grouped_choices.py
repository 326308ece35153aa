"""Related items: of one receipt, of one week, consecutive: who can be known, what is drawn, and whose facts are unique."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import combinations, permutations, product

import numpy as np
import pytest

import standout as so
from standout.attacks.unique import Unique, is_unique
from standout.errors import EligibilityError, ParameterError

CHOICES = ("together:receipt", "together:day", "window:7d", "consecutive")
NAMES = "record", "item", "time", "receipt", "price"


def shop(seed=0, n=500, people=25, items=8, days=40):
    """Events of a shop, some without a receipt, a time or a price; receipts span several days and are shared by nobody."""
    rng = np.random.default_rng(seed)
    record, time = rng.integers(0, people, n), rng.integers(0, days, n).astype(float)
    receipt = np.array([f"{r}-{x}" for r, x in zip(record, rng.integers(0, 6, n), strict=True)])
    receipt = receipt.astype(object)
    price = rng.choice([1.0, 2.0, 5.0], n)
    receipt[rng.random(n) < 0.1] = None
    time[rng.random(n) < 0.1] = np.nan
    price[rng.random(n) < 0.1] = np.nan
    return [record, rng.integers(0, items, n), time, receipt, price]


def dataset(columns, order=slice(None), record=lambda x: x):
    own = dict(zip(NAMES, columns, strict=True))
    channels = {name: own[name][order] for name in ("receipt", "price")}
    return so.Dataset.from_arrays(
        record(own["record"][order]), own["item"][order], time=own["time"][order], channels=channels
    )


def events_of(columns):
    """Events of each record: dictionaries with None for what is missing."""
    out = defaultdict(list)
    for row in zip(*columns, strict=True):
        event = {
            name: None if x is None or (isinstance(x, float) and np.isnan(x)) else x
            for name, x in zip(NAMES, row, strict=True)
        }
        out[event["record"]].append(event)
    return out


def windows(events, choose):
    """Groups that the choice draws from, each equally likely: lists of events."""
    if choose.startswith("together"):
        name = "time" if choose == "together:day" else "receipt"
        there = sorted({e[name] for e in events if e[name] is not None})
        return [[e for e in events if e[name] == g] for g in there]
    timed = [e for e in events if e["time"] is not None]
    return [[e for e in timed if 0 <= e["time"] - s["time"] < 7] for s in timed]


def orders(events):
    """All orders of the events in time."""
    days = sorted({e["time"] for e in events if e["time"] is not None})
    parts = [permutations([e for e in events if e["time"] == d]) for d in days]
    return [[e for part in one for e in part] for one in product(*parts)]


def first_items(order, start, knows):
    """The first events of distinct items from a start on; None if they are too few."""
    out = []
    for e in order[start:]:
        if e["item"] not in [x["item"] for x in out]:
            out.append(e)
        if len(out) == knows:
            return out
    return None


def is_eligible(events, choose, knows):
    if choose == "consecutive":
        return len({e["item"] for e in events if e["time"] is not None}) >= knows
    return any(len({e["item"] for e in group}) >= knows for group in windows(events, choose))


def agrees(event, fact):
    return event["item"] == fact["item"] and all(
        (event[name] is None and seen is None)
        or (None not in (event[name], seen) and abs(event[name] - seen) <= within)
        for name, (seen, within) in fact["told"].items()
    )


def could_produce(events, facts, choose):
    """Whether a record's events contain the facts in their relation: by enumeration."""
    if choose == "consecutive":
        return any(
            (found := first_items(order, start, len(facts))) is not None
            and {e["item"] for e in found} == {f["item"] for f in facts}
            and all(any(agrees(e, f) for e in found) for f in facts)
            for order in orders(events)
            for start in range(len(order))
        )
    return any(
        all(any(agrees(e, f) for e in group) for f in facts) for group in windows(events, choose)
    )


def facts_of(aux, q, who):
    out = []
    for f in range(aux.query_ptr[q], aux.query_ptr[q + 1]):
        told = {}
        if who.time_within is not None:
            told["time"] = (aux.time[f], who.time_within)
        for name, within in (who.within or {}).items():
            told[name] = (aux.channels[name][f], within)
        told = {
            name: (None if np.isnan(seen) else seen, within)
            for name, (seen, within) in told.items()
        }
        out.append({"item": aux.item[f], "told": told})
    return out


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("knows", [2, 3])
def test_people_with_a_large_enough_group_are_eligible(choose, knows):
    columns = shop(n=100, people=25, days=6)
    ds, events = dataset(columns), events_of(columns)
    who = so.Adversary(knows=knows, value_within=None, choose=choose)
    expected = [r for r in sorted(events) if is_eligible(events[r], choose, knows)]
    found = ds.record_labels[who.eligible(ds)].tolist()
    assert found == expected and found
    assert len(found) < len(events)
    assert who.n_eligible(ds) == len(expected)


@pytest.mark.parametrize("choose", CHOICES)
def test_shards_and_rows_decide_alike_who_is_eligible(choose):
    ds = dataset(shop(n=130))
    who = so.Adversary(knows=3, value_within=None, choose=choose)
    size = who.choice.grouping.size(ds)
    whole = size.of(ds.rows(np.arange(ds.n_records)))
    for n in (1, 3):
        np.testing.assert_array_equal(
            np.concatenate([size.of(shard) for shard in ds.shards(n)]), whole
        )


def chances(events, choose, knows):
    """Probability of each set of drawn events, by their positions."""
    out = Counter()
    if choose == "consecutive":
        all_orders = orders(events)
        for order in all_orders:
            found = [first_items(order, s, knows) for s in range(len(order))]
            able = [one for one in found if one is not None]
            for one in able:
                key = frozenset(e["position"] for e in one)
                out[key] += 1 / len(all_orders) / len(able)
        return out
    able = [g for g in windows(events, choose) if len({e["item"] for e in g}) >= knows]
    for group in able:
        items = sorted({e["item"] for e in group})
        picks = list(combinations(items, knows))
        for pick in picks:
            ways = list(product(*([e for e in group if e["item"] == i] for i in pick)))
            for way in ways:
                key = frozenset(e["position"] for e in way)
                out[key] += 1 / len(able) / len(picks) / len(ways)
    return out


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize("knows", [1, 2])
def test_draws_are_as_frequent_as_an_enumeration_says(choose, knows):
    # one person with 7 events, many times; the price names the event
    item = [0, 1, 1, 2, 3, 0, 2]
    time = [0, 0, 3, 3, 8, 8, 20]
    receipt = ["a", "a", "a", "b", "b", "a", "c"]
    n = 400
    own = np.tile(np.arange(7), n)
    columns = [
        np.repeat(np.arange(n), 7),
        np.array(item)[own],
        np.array(time, float)[own],
        np.array(receipt, object)[own],
        own + 1.0,
    ]
    # what else the records hold makes their draws differ
    extra = [
        np.arange(n),
        np.full(n, 9),
        np.full(n, np.nan),
        np.full(n, None),
        np.arange(n) + 100.0,
    ]
    ds = dataset([np.concatenate([a, b]) for a, b in zip(columns, extra, strict=True)])
    who = so.Adversary(knows=knows, value_within=None, within={"price": 0}, choose=choose)
    seen, draws = Counter(), 20
    for seed in range(draws):
        aux = who.sample(ds, np.arange(n), seed)
        told = aux.channels["price"].reshape(n, knows) - 1
        seen.update(frozenset(row) for row in told.astype(int).tolist())
    events = [
        {"item": i, "time": t, "receipt": g, "position": p}
        for p, (i, t, g) in enumerate(zip(item, time, receipt, strict=True))
    ]
    expected = chances(events, choose, knows)
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    for key, p in expected.items():
        total = draws * n
        assert abs(seen[key] - total * p) < 5 * np.sqrt(total * p * (1 - p)) + 1


@pytest.mark.parametrize("choose", CHOICES)
@pytest.mark.parametrize(
    "known",
    [
        {},
        {"time_within": 2},
        {"within": {"price": 0}},
        {"within": {"price": 1}, "time_within": 1},
    ],
)
@pytest.mark.parametrize("knows", [1, 2, 3])
def test_unique_people_are_those_of_an_enumeration(choose, known, knows):
    columns = shop(n=150, people=20, days=9)
    ds, events = dataset(columns), events_of(columns)
    who = so.Adversary(knows=knows, value_within=None, choose=choose, **known)
    targets = who.eligible(ds)
    aux = who.sample(ds, targets, seed=3)
    expected = []
    for q in range(targets.size):
        facts = facts_of(aux, q, who)
        fits = [r for r in sorted(events) if could_produce(events[r], facts, choose)]
        assert ds.record_labels[targets[q]] in fits
        expected.append(len(fits) == 1)
    assert is_unique(ds, aux, targets).tolist() == expected


@pytest.mark.parametrize("choose", CHOICES)
def test_attributes_of_the_person_are_known_beside_related_items(choose):
    columns = shop(n=150, people=20, days=9)
    age = columns[0] % 3 + 30.0
    own = dict(zip(NAMES, columns, strict=True))
    ds = so.Dataset.from_arrays(
        own["record"],
        own["item"],
        time=own["time"],
        channels={"receipt": own["receipt"], "price": own["price"]},
        attributes={"age": age},
    )
    events = events_of(columns)
    who = so.Adversary(knows=2, value_within=None, within={"price": 0, "age": 1}, choose=choose)
    targets = who.eligible(ds)
    aux = who.sample(ds, targets, seed=3)
    only_price = so.Adversary(knows=2, value_within=None, within={"price": 0}, choose=choose)
    expected = []
    for q in range(targets.size):
        *facts, _ = facts_of(aux, q, only_price)
        seen = aux.channels["age"][aux.query_ptr[q + 1] - 1]
        fits = [
            r
            for r in events
            if abs(r % 3 + 30 - seen) <= 1 and could_produce(events[r], facts, choose)
        ]
        expected.append(len(fits) == 1)
    assert is_unique(ds, aux, targets).tolist() == expected


def test_a_pair_of_items_that_is_on_one_receipt_of_one_person_makes_her_unique():
    # person 0 bought a and b together; everybody else holds both, on different receipts
    record = [0, 0] + [r for r in range(1, 60) for _ in range(2)]
    item = ["a", "b"] * 60
    receipt = ["0", "0"] + [f"{r}{x}" for r in range(1, 60) for x in "ab"]
    ds = so.Dataset.from_arrays(record, item, channels={"receipt": np.array(receipt, object)})
    who = so.Adversary(knows=2, choose="together:receipt")
    found = so.risk(ds, who, draws=2)
    assert found.n_eligible == 1
    assert found.to_frame()["unique"].tolist() == [1.0]
    # whoever does not know that it was one receipt is left with everybody
    aux = so.Adversary(knows=2).sample(ds, [0])
    assert not is_unique(ds, aux, np.array([0])).any()


@pytest.mark.parametrize("choose", CHOICES)
def test_a_target_that_is_removed_leaves_the_other_records_that_fit(choose):
    columns = shop(n=150, people=20, days=9)
    ds, events = dataset(columns), events_of(columns)
    who = so.Adversary(knows=2, value_within=None, choose=choose)
    targets = who.eligible(ds)
    aux = who.sample(ds, targets, seed=2)
    here, gone = Unique().run_both(ds, aux, targets)
    alone = Unique().run(ds, aux, exclude=targets)
    np.testing.assert_array_equal(gone.answer, alone.answer)
    for q in range(targets.size):
        facts = facts_of(aux, q, who)
        fits = [k for k, r in enumerate(sorted(events)) if could_produce(events[r], facts, choose)]
        others = [k for k in fits if k != targets[q]]
        assert here.answer[q] == (fits[0] if len(fits) == 1 else -1)
        assert gone.answer[q] == (others[0] if len(others) == 1 else -1)


@pytest.mark.parametrize("choose", CHOICES)
def test_many_candidates_are_looked_at_until_the_answer_is_known(choose, monkeypatch):
    from standout.attacks import unique

    ds = dataset(shop(n=400, people=40, items=4))
    who = so.Adversary(knows=2, value_within=None, choose=choose)
    targets = who.eligible(ds)
    aux = who.sample(ds, targets, seed=1)
    whole = is_unique(ds, aux, targets)
    monkeypatch.setattr(unique, "FEW", 2)
    monkeypatch.setattr(unique, "AT_ONCE", 3)
    np.testing.assert_array_equal(is_unique(ds, aux, targets), whole)


@pytest.mark.parametrize("choose", CHOICES)
def test_order_of_rows_and_labels_of_records_change_nothing(choose):
    columns = shop(n=300)
    ds = dataset(columns)
    order = np.random.default_rng(1).permutation(columns[0].size)
    other = dataset(columns, order, lambda r: 1000 - r)
    who = so.Adversary(knows=2, value_within=None, time_within=1, choose=choose)
    targets = who.eligible(ds)
    same = ds.n_records - 1 - targets
    one, two = who.sample(ds, targets, 5), who.sample(other, same, 5)
    np.testing.assert_array_equal(one.item, two.item)
    np.testing.assert_array_equal(one.time, two.time)
    np.testing.assert_array_equal(is_unique(ds, one, targets), is_unique(other, two, same))


def test_names_of_items_and_receipts_do_not_change_who_is_unique():
    columns = shop(n=300)
    ds = dataset(columns)
    who = so.Adversary(knows=2, value_within=None, time_within=1, choose="together:receipt")
    targets = who.eligible(ds)
    aux = who.sample(ds, targets, 5)
    renamed = [*columns]
    renamed[1] = 100 - columns[1]
    renamed[3] = np.array([None if x is None else x[::-1] + "x" for x in columns[3]], object)
    other = dataset(renamed)
    told = so.Knowledge.from_arrays(aux.query, 100 - aux.item, time=aux.time)
    told = type(told)(**{**vars(told), "adversary": who, "source": other})
    np.testing.assert_array_equal(is_unique(other, told, targets), is_unique(ds, aux, targets))


@pytest.mark.parametrize(
    "choose, words",
    [
        ("together:receipt", "2 items of one receipt"),
        ("together:day", "2 items of one day"),
        ("window:7d", "2 items of one week (7 days)"),
        ("window:2w", "2 items of one span of 2 weeks"),
        ("consecutive", "2 consecutive items"),
    ],
)
def test_words_name_the_relation(choose, words):
    who = so.Adversary(knows=2, value_within=None, choose=choose)
    assert who.describe() == words


def test_bad_input_names_what_to_do():
    ds = so.Dataset.from_arrays([0, 0, 1, 1], ["a", "b", "a", "c"])
    receipts = np.array(["1", "2", "3", "4"], object)
    own = so.Dataset.from_arrays([0, 0, 1, 1], ["a", "b", "a", "c"], channels={"receipt": receipts})
    two = {"knows": 2, "value_within": None}
    with pytest.raises(ParameterError, match=r"no channel 'receipt'.*--channel receipt"):
        so.Adversary(**two, choose="together:receipt").eligible(ds)
    with pytest.raises(ParameterError, match="need times"):
        so.Adversary(**two, choose="window:7d").eligible(ds)
    with pytest.raises(ParameterError, match="all facts are right"):
        so.Adversary(knows=2, wrong=1, choose="consecutive")
    with pytest.raises(ParameterError, match="together:COLUMN"):
        so.Adversary(knows=2, choose="together")
    with pytest.raises(ParameterError, match="window:7d"):
        so.Adversary(knows=2, choose="window:0d")
    with pytest.raises(EligibilityError, match="at most 1 item of one receipt"):
        so.Adversary(**two, choose="together:receipt").sample(own)


@pytest.mark.parametrize("choose", ["together:day", "window:7d", "consecutive"])
def test_data_larger_than_memory_gives_the_same_people_and_draws(choose, tmp_path):
    own = dict(zip(NAMES, shop(n=150, people=20, days=9), strict=True))
    ds = so.Dataset.from_arrays(own["record"], own["item"], time=own["time"])
    ds.save(tmp_path / "saved")
    disk = so.ChunkedDataset.open(tmp_path / "saved")
    who = so.Adversary(knows=2, value_within=None, time_within=0, choose=choose)
    targets = who.eligible(ds)
    assert who.eligible(disk).tolist() == targets.tolist()
    one, two = who.sample(ds, targets, 1), who.sample(disk, targets, 1)
    np.testing.assert_array_equal(one.item, two.item)
    np.testing.assert_array_equal(one.time, two.time)
    np.testing.assert_array_equal(
        is_unique(ds, one, targets, "memory"), is_unique(disk, two, targets, "chunked")
    )
