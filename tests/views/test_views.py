"""A view shows the same people with other items: what is computed by hand from the shown data is what the audit says."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from same_findings import differences

import standout as so
from standout.adversary.seen import seen_through
from standout.attacks.unique import is_unique
from standout.errors import EngineError, InputError, ParameterError
from standout.extend import GroupsView
from standout.views import view as registry
from standout.views.view import parse_view, public_view, see

EXAMPLES = Path(__file__).parents[2] / "examples"


def visits(seed=0, n=80, n_items=60, per=12, repeats=True):
    """Entries (record, item, value, day) as arrays; a person may hold an item several times."""
    rng = np.random.default_rng(seed)
    record = np.repeat(np.arange(n), per)
    item = (rng.random(record.size) ** 2 * n_items).astype(int)
    if not repeats:
        item = np.concatenate([rng.choice(n_items, per, replace=False) for _ in range(n)])
    return record, item, rng.integers(1, 6, record.size), rng.integers(12_000, 12_060, record.size)


def shops(**more):
    record, item, value, day = visits(**more)
    return so.Dataset.from_arrays(record, [f"p{i:02d}" for i in item], value, day)


CATEGORY = {f"p{i:02d}": f"c{i % 9}" for i in range(60)}
CATEGORIES = GroupsView(CATEGORY, name="categories")


def grouped_by_hand(data, category=CATEGORY):
    """The same people with categories as items, read anew, with the keys of the original."""
    record = np.repeat(np.arange(data.n_records), np.diff(data.record_ptr))
    made = so.Dataset.from_arrays(
        data.record_labels[record],
        [category[x] for x in data.item_labels[data.record_item].tolist()],
        data.levels[data.record_code],
        data.record_tick.astype(float) + data.first_tick,
    )
    made.__dict__["lazy_keys"] = data.lazy_keys
    return made


def written(tmp_path, lines, name="categories.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# records, keys and targets stay


@given(st.integers(0, 10_000), st.sampled_from(["categories", "sequence"]))
def test_a_view_keeps_records_labels_and_keys(seed, name):
    data = shops(seed=seed, n=12, per=5)
    shown = see(data, CATEGORIES if name == "categories" else parse_view(name))
    assert shown.record_labels is data.record_labels
    np.testing.assert_array_equal(shown.record_keys, data.record_keys)
    np.testing.assert_array_equal(shown.shards(3)[1].keys, data.shards(3)[1].keys)


def test_the_keys_are_not_those_that_the_shown_entries_would_have():
    data = shops()
    shown = see(data, CATEGORIES)
    anew = so.Dataset.from_arrays(
        np.repeat(shown.record_labels, np.diff(shown.record_ptr)),
        shown.item_labels[shown.record_item],
    )
    assert not np.isin(anew.record_keys, shown.record_keys).any()


def test_a_view_that_only_renames_items_changes_neither_targets_nor_draws_nor_hits():
    data = shops()
    renamed = so.Adversary(knows=3, view=GroupsView({k: f"x{k}" for k in CATEGORY}))
    plain = so.Adversary(knows=3)
    assert renamed.choose_targets(data, 30, 5)[0] == plain.choose_targets(data, 30, 5)[0]
    targets = plain.choose_targets(data, 30, 5)[1]
    np.testing.assert_array_equal(renamed.choose_targets(data, 30, 5)[1], targets)
    one, other = (who.sample(data, targets, seed=5) for who in (plain, renamed))
    assert [f"x{item}" for item in one.item.tolist()] == other.item.tolist()
    np.testing.assert_array_equal(one.value, other.value)
    both = so.Audit(data, [plain, renamed], ["likelihood", "unicity"], 30, seed=5).run().results
    for result in both:
        for one in result["attacks"]:
            assert one["hit"] == next(
                x["hit"] for x in both[0]["attacks"] if x["attack"] == one["attack"]
            )


def test_a_view_is_computed_once_and_views_with_the_same_content_are_one_view():
    data = shops()
    again = GroupsView(dict(CATEGORY), name="categories")
    assert again == CATEGORIES and again is not CATEGORIES
    assert see(data, again) is see(data, CATEGORIES)
    other = GroupsView({**CATEGORY, "p00": "c8"}, name="categories")
    assert other != CATEGORIES and see(data, other) is not see(data, CATEGORIES)
    assert so.Adversary(view=again) == so.Adversary(view=CATEGORIES) != so.Adversary(view=other)


def test_a_view_that_changes_the_records_is_refused():
    class Fewer(registry.View):
        words = "half of the people"

        def apply(self, dataset):
            return dataset.take(np.arange(dataset.n_records // 2))

    with pytest.raises(ParameterError, match="changed the records"):
        so.Adversary(knows=1, view=Fewer()).eligible(shops())


class WithoutValues(registry.View):
    words = "values not seen"

    def apply(self, dataset):
        return dataset.with_entries(drop=["value"])


def test_a_channel_that_a_view_drops_is_not_known():
    data, view = shops(), WithoutValues()
    found = so.Audit(data, so.Adversary(knows=2, view=view), "unicity", 20).run().results[0]
    assert found["adversary"]["value_within"] is None
    with pytest.raises(ParameterError, match="the data has no values"):
        so.Audit(data, so.Adversary(knows=2, value_within=1, view=view), "unicity", 20)


# what is found through a view is what brute force finds in the shown data


def holders(aux, held, value):
    """bool (queries, records): who holds every known group, with the known value where there is one."""
    out = []
    for lo, hi in zip(aux.query_ptr[:-1], aux.query_ptr[1:], strict=True):
        facts = list(zip(aux.item[lo:hi].tolist(), aux.value[lo:hi].tolist(), strict=True))
        out.append(
            [
                all((g, v) in mine if value else g in {x for x, _ in mine} for g, v in facts)
                for mine in held
            ]
        )
    return np.array(out)


@pytest.mark.parametrize("value", [None, 0])
def test_unique_and_found_through_groups_equal_brute_force(value):
    record, item, values, _ = visits(seed=3)
    data = shops(seed=3)
    held = [
        {
            (f"c{i % 25}", float(v))
            for i, v in zip(item[record == r], values[record == r], strict=True)
        }
        for r in range(80)
    ]
    shelves = GroupsView({f"p{i:02d}": f"c{i % 25}" for i in range(60)})
    who = so.Adversary(knows=3, value_within=value, view=shelves)
    targets = who.eligible(data)
    aux = who.sample(data, targets, seed=11)
    fits = holders(aux, held, value == 0)
    assert fits[np.arange(targets.size), targets].all()
    alone = fits.sum(axis=1) == 1
    assert 0 < alone.sum() < targets.size
    np.testing.assert_array_equal(is_unique(data, aux, targets), alone)
    attack = so.attack("unicity", value_within=0 if value == 0 else 9)
    np.testing.assert_allclose(
        attack.run(data, aux, watch=targets).credit, 1 / fits.sum(axis=1), rtol=1e-12
    )
    np.testing.assert_array_equal(attack.scores(data, aux) == 1, fits)
    found = so.Audit(data, who, attack, "all", seed=11).run().results[0]
    assert found["attacks"][0]["hit"]["count"] == pytest.approx((1 / fits.sum(axis=1)).sum())


@pytest.mark.parametrize(
    "options",
    [
        {"knows": 2},
        {"knows": 3, "time_within": 2, "value_within": 1},
        {"knows": 4, "wrong": 1, "wrong_kind": "item", "value_within": None},
        {"knows": 3, "wrong": 0.2, "time_within": 5},
        {"knows": 2, "choose": "outside-top:3", "length_within": 0.2},
    ],
    ids=str,
)
def test_an_audit_through_groups_is_the_audit_of_data_that_was_grouped_by_hand(options):
    data = shops(seed=1)
    attacks = ["scoreboard-rh", "likelihood", "unicity"]
    seen = so.Audit(data, so.Adversary(**options, view=CATEGORIES), attacks, 40, seed=3).run()
    hand = so.Audit(grouped_by_hand(data), so.Adversary(**options), attacks, 40, seed=3).run()
    one, other = seen.to_dict()["results"], hand.to_dict()["results"]
    assert one[0].pop("adversary")["view"] == "groups:categories"
    assert other[0].pop("adversary").get("view") is None
    # a record that is found reveals its products, not only their groups
    assert one[0].pop("more_items") > other[0].pop("more_items")
    assert not differences(one, other)


def test_a_person_is_found_through_categories_that_nobody_else_combines():
    record, item, _, _ = visits(seed=2)
    item = np.where((item == 7) | (item == 8), 9, item)
    record = np.append(record, [5, 5])
    item = np.append(item, [7, 8])
    names = np.array([f"p{i:02d}" for i in item])
    data = so.Dataset.from_arrays(record, names)
    kinds = dict.fromkeys(np.unique(names), "daily") | {"p07": "opera", "p08": "fishing"}
    who = so.Adversary(knows=3, value_within=None, view=GroupsView(kinds))
    assert who.eligible(data).tolist() == [5]
    aux = who.sample(data, [5], seed=1)
    assert sorted(aux.item.tolist()) == ["daily", "fishing", "opera"]
    answer = so.attack("likelihood").run(data, aux, watch=[5])
    assert answer.best.tolist() == [5] and answer.credit.tolist() == [1.0]
    assert so.attack("likelihood").run(data, aux, exclude=[5]).best.tolist() != [5]
    told = so.explain(data, aux, "scoreboard", target=5)
    assert told["target"]["rank"] == 1 and told["target"]["n_items"] == 3
    assert {fact["item"] for fact in told["facts"]} == {"daily", "fishing", "opera"}


def test_renaming_and_reordering_records_changes_nothing():
    record, item, value, day = visits(seed=4)
    names, order = np.random.default_rng(1).permutation(80), np.random.default_rng(2)
    shuffled = order.permutation(record.size)
    one = so.Dataset.from_arrays(record, [f"p{i:02d}" for i in item], value, day)
    other = so.Dataset.from_arrays(
        [f"person {names[r]}" for r in record[shuffled]],
        [f"p{i:02d}" for i in item[shuffled]],
        value[shuffled],
        day[shuffled],
    )
    for view in (CATEGORIES, parse_view("sequence")):
        who = so.Adversary(knows=2, time_within=3, view=view)
        found = [
            so.Audit(x, who, ["likelihood", "unicity"], 30, seed=9).run() for x in (one, other)
        ]
        assert not differences(found[0].to_dict()["results"], found[1].to_dict()["results"])


# groups


def test_an_entry_of_an_item_with_two_groups_becomes_two_entries_and_repeats_are_kept():
    data = so.Dataset.from_arrays([0, 0, 0, 1], ["a", "a", "b", "b"], [1, 2, 3, 4], [5, 6, 7, 8])
    shown = see(data, GroupsView({"a": "x", "b": ["x", "y"]}))
    rows = shown.to_frame().drop(columns="time").to_numpy().tolist()
    assert rows == [[0, "x", 1], [0, "x", 2], [0, "x", 3], [0, "y", 3], [1, "x", 4], [1, "y", 4]]
    assert shown.lengths.tolist() == [2, 2] and shown.n_entries == 6


@pytest.mark.parametrize(
    "lines",
    [
        ["item,group", "1,x", "2,y"],
        ["1,x", "2,y", "2,y"],
        ["\ufeffitem;group", "1;x", "", '"2";"y"'],
        ["film\tgenre", "1\tx", "2\ty"],
    ],
    ids=["header", "twice", "semicolons", "tabs"],
)
def test_a_map_is_read_with_and_without_a_header(tmp_path, lines):
    data = so.Dataset.from_arrays([0, 0, 1], [1, 2, 2])
    shown = see(data, parse_view(f"groups:{written(tmp_path, lines)}"))
    assert shown.item_labels.tolist() == ["x", "y"] and shown.n_entries == 3
    assert shown.cleaning.notes == data.cleaning.notes


def test_a_map_may_be_a_frame():
    import pandas as pd

    pairs = pd.DataFrame({"product": list(CATEGORY), "kind": list(CATEGORY.values())})
    assert see(shops(), GroupsView(pairs)).fingerprint == see(shops(), CATEGORIES).fingerprint


def test_items_without_a_group_are_an_error_or_groups_of_their_own(tmp_path):
    data = so.Dataset.from_arrays([0, 0, 1, 1], [1, 2, 2, 3])
    path = written(tmp_path, ["1,x", "2,x"])
    with pytest.raises(InputError, match=r"1 of 3 items .* not in the map.*\?missing=own") as error:
        so.Adversary(knows=1, view=f"groups:{path}").eligible(data)
    assert str(tmp_path) not in str(error.value) and "\n" not in str(error.value)
    own = so.Adversary(knows=1, view=f"groups:{path}?missing=own")
    assert seen_through(data, own).item_labels.tolist() == ["3", "x"]
    assert own.words(data).endswith("items known as categories")
    with pytest.raises(InputError, match="1 items that the map lacks are named like a group"):
        see(data, GroupsView({1: "3", 2: "x"}, missing="own"))


def test_items_that_the_data_lacks_are_a_note_and_a_map_of_other_items_is_an_error(tmp_path):
    data = shops()
    more = GroupsView(CATEGORY | {"p98": "c1", "p99": "c2"}, name="categories")
    found = so.Audit(data, so.Adversary(knows=2, view=more), "unicity", 20).run()
    assert [w for w in found.warnings if "view" in w.lower()] == [
        "View groups:categories: 2 items of the map are not in the data."
    ]
    path = written(tmp_path, ["item,group", "q1,x", "q2,y"])
    with pytest.raises(InputError, match="none of the 2 items of the map is in the data"):
        see(data, GroupsView(path))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("groups:none.csv", "cannot read 'none.csv'"),
        ("groups:empty.csv", "'empty.csv' is empty"),
        ("groups:three.csv", "1 of 2 lines of 'three.csv' do not have two columns"),
        ("groups:blank.csv", "1 of 2 rows of the map have no group"),
        ("groups:latin.csv", "'latin.csv' is not UTF-8"),
        ("groups:three.csv?missing=drop", "missing='drop': use 'own'"),
        ("groups:three.csv?absent=own", "absent"),
        ("groups", "groups"),
        ("grops:three.csv", "no view 'grops'.*Did you mean 'groups'"),
        ("", "NAME:TEXT"),
        ("sequence || sequence", "NAME:TEXT"),
        (7, "view is a int"),
    ],
)
def test_a_wrong_view_is_a_one_line_error(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, [""], "empty.csv")
    written(tmp_path, ["1,x", "2,x,y"], "three.csv")
    written(tmp_path, ["1,x", "2,"], "blank.csv")
    (tmp_path / "latin.csv").write_bytes("1,caf\xe9\n".encode("latin-1"))
    with pytest.raises(so.StandoutError, match=words) as error:
        so.Adversary(view=text)
    assert "\n" not in str(error.value)


# sequences, and views one after the other


def test_a_sequence_holds_each_entry_with_the_next_in_time():
    data = so.Dataset.from_arrays(
        ["u", "u", "u", "u", "v", "w", "w"],
        ["b", "a", "b", "c", "a", "b", "a"],
        time=[3, 2, 1, np.nan, 1, 4, 4],
    )
    shown = see(data, parse_view("sequence"))
    rows = shown.to_frame()
    assert shown.record_labels.tolist() == ["u", "v", "w"] and shown.lengths.tolist() == [2, 0, 1]
    assert rows["item"].tolist() == ["a → b", "b → a", "a → b"]
    assert rows["time"].dt.day.tolist() == [3, 2, 5]
    assert shown.cleaning.notes[-1] == "sequence: 1 entry without a time is left out"
    with pytest.raises(ParameterError, match="needs times"):
        see(so.Dataset.from_arrays([0, 1], [1, 1]), parse_view("sequence"))


def test_views_are_applied_one_after_the_other(tmp_path):
    data = shops()
    path = written(tmp_path, [f"{item},{group}" for item, group in CATEGORY.items()])
    both = parse_view(f"groups:{path} | sequence")
    assert both.text == "groups:categories.csv | sequence"
    assert both == GroupsView(path) | parse_view("sequence")
    shown = see(data, both)
    assert set(shown.item_labels[0].split(" → ")) <= set(CATEGORY.values())
    np.testing.assert_array_equal(shown.record_keys, data.record_keys)
    who = so.Adversary(knows=2, time_within=0, view=both)
    assert who.words(data).endswith(
        "items known as categories, then items known with the one that follows"
    )
    assert public_view(f"groups:{path} | sequence") == both.text


# where the data lies, and authors of their own views


def test_a_dataset_on_disk_is_loaded_if_it_fits_and_is_refused_otherwise(tmp_path, monkeypatch):
    data = shops()
    data.save(tmp_path / "saved")
    disk = so.ChunkedDataset.open(tmp_path / "saved")
    who = so.Adversary(knows=3, time_within=2, view=CATEGORIES)
    attacks = ["scoreboard-rh", "unicity"]
    found = [so.Audit(x, who, attacks, 20, describe=False).run().to_dict() for x in (data, disk)]
    assert not differences(found[0]["results"], found[1]["results"])
    monkeypatch.setattr(so.ChunkedDataset, "loaded", lambda self: None)
    disk = so.ChunkedDataset.open(tmp_path / "saved")
    with pytest.raises(EngineError, match="needs the records in memory: read the data with"):
        who.eligible(disk)


def test_a_third_party_adds_a_view_in_one_file(capsys):
    before = dict(registry._REGISTRY)
    try:
        made = runpy.run_path(str(EXAMPLES / "own_view.py"))
        made["main"]()
        rates = [
            float(line.split(": ")[1].split()[0]) for line in capsys.readouterr().out.splitlines()
        ]
        assert rates[0] >= rates[1] > rates[2]
        assert "own-first-letters" in registry.view_names()
        shown = see(shops(), parse_view("own-first-letters:2"))
        assert shown.item_labels.tolist() == [f"p{k}" for k in range(6)]
        assert so.Adversary(view="own-first-letters:2") == so.Adversary(view="own-first-letters:2")
        with pytest.raises(ParameterError, match="own-first-letters"):
            parse_view("own-first-letters:many")
    finally:
        registry._REGISTRY.clear()
        registry._REGISTRY.update(before)


def test_the_example_imports_nothing_from_inside_the_package():
    source = (EXAMPLES / "own_view.py").read_text()
    assert len(source.splitlines()) <= 60 and "import standout as so" in source
    assert source.count("from standout import extend\n") == source.count("from standout") == 1
