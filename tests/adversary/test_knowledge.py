"""Knowledge from outside: facts go in as they are, queries keep their order, labels find their items."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Table
from strategies import dataset, knowledge

import standout as so
from standout.adversary.knowledge import _renamed
from standout.attacks.tables import Known
from standout.data.cache import once
from standout.data.mechanism import ItemMap
from standout.errors import InputError, ParameterError

channel = st.one_of(st.just(NAN), st.integers(-5, 5).map(float))
rows = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 9), channel, channel), min_size=1, max_size=20
)


def listed(aux: so.Knowledge) -> list[list[tuple[object, ...]]]:
    """Facts by query."""
    facts = list(
        zip(aux.item.tolist(), *(map(str, x.tolist()) for x in (aux.value, aux.time)), strict=True)
    )
    return [facts[lo:hi] for lo, hi in zip(aux.query_ptr[:-1], aux.query_ptr[1:], strict=True)]


@given(rows=rows)
def test_facts_go_in_as_they_are_and_queries_are_numbered_by_first_appearance(rows):
    query, item, value, time = (list(x) for x in zip(*rows, strict=True))
    aux = so.Knowledge.from_arrays(query, item, value, time)
    order = list(dict.fromkeys(query))
    assert aux.queries.tolist() == order
    assert aux.n_queries == len(order)
    assert aux.n_facts == len(rows)
    expected = [[(i, str(v), str(t)) for q, i, v, t in rows if q == which] for which in order]
    assert listed(aux) == expected
    assert aux.query.tolist() == [k for k, facts in enumerate(expected) for _ in facts]
    assert np.isnan(aux.length).all()
    assert aux.adversary is None


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_a_frame_gives_the_same_knowledge_as_its_columns(frame):
    columns = {
        "who": ["b", "a", "b"],
        "what": [3, 1, 2],
        "stars": [4.0, NAN, 1.5],
        "day": [17_000, 17_010, 17_020],
    }
    aux = so.Knowledge.from_frame(
        frame(columns), query="who", item="what", value="stars", time="day"
    )
    same = so.Knowledge.from_arrays(
        columns["who"], columns["what"], columns["stars"], columns["day"]
    )
    assert listed(aux) == listed(same)
    assert aux.queries.tolist() == ["b", "a"]
    bare = so.Knowledge.from_frame(frame(columns), query="who", item="what")
    assert np.isnan(bare.value).all()
    assert np.isnan(bare.time).all()


def test_a_frame_may_lack_a_value_or_a_day_here_and_there():
    frame = pd.DataFrame(
        {
            "q": [0, 0, 1],
            "i": [1, 2, 3],
            "v": pd.array([4, None, 1], dtype="Int64"),
            "t": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        }
    )
    aux = so.Knowledge.from_frame(frame, query="q", item="i", value="v", time="t")
    np.testing.assert_array_equal(aux.value, [4, NAN, 1])
    np.testing.assert_array_equal(aux.time, [18_262, NAN, 18_264])


@pytest.mark.parametrize("unit", [None, "s"])
def test_times_of_a_frame_are_read_in_the_unit_they_are_written_in(unit):
    frame = pd.DataFrame(
        {"q": [0, 0], "i": [1, 2], "t": [18_262 * 86_400 + 5, 18_264 * 86_400 - 1]}
    )
    aux = so.Knowledge.from_frame(frame, query="q", item="i", time="t", time_unit=unit)
    assert (aux.time * 86_400).round().tolist() == [18_262 * 86_400 + 5, 18_264 * 86_400 - 1]
    with pytest.raises(ParameterError, match="time_unit"):
        so.Knowledge.from_frame(frame, query="q", item="i", time="t", time_unit="fortnight")


def test_a_missing_column_is_named_with_those_that_are_there():
    frame = pd.DataFrame({"q": [0], "i": [1]})
    with pytest.raises(InputError, match=r"'item'.*q, i"):
        so.Knowledge.from_frame(frame, query="q", item="item")


@pytest.mark.parametrize(
    ("resolution", "expected"), [("day", [2, -1]), ("hour", [71, -12]), ("minute", [4319, -720])]
)
def test_times_are_cut_to_the_resolution_of_the_release_and_a_missing_date_is_unknown(
    resolution, expected
):
    aux = so.Knowledge.from_arrays(
        [0, 0], [1, 2], time=np.array(["1970-01-03T23:59", "NaT"], "datetime64[s]")
    )
    np.testing.assert_allclose(aux.time, [2 + 1439 / 1440, NAN])
    before = so.Knowledge.from_arrays([0], [1], time=[-0.5])
    ds = so.Dataset.from_arrays([1, 2], [1, 2], time=[0.0, 9.0], resolution=resolution)
    found = [Known.of(ds, x.bind(ds), np.array([-1])).tick[0] for x in (aux, before)]
    assert found == expected


@pytest.mark.parametrize(
    ("columns", "error", "words"),
    [
        (([], []), InputError, "no facts"),
        (([0, 1], [1]), ParameterError, "item 1"),
        (([0, 1], [1, 2], [1.0]), ParameterError, "value has 1"),
        (([0, 1], [1, 2], None, [1, 2, 3]), ParameterError, "time has 3"),
        (([0], [1], ["five"]), InputError, "not numeric"),
        (([0], [1], [np.inf]), InputError, "infinite"),
        (([0], [1], None, [np.inf]), InputError, "infinite"),
        (([0], [1], None, [True]), InputError, "time holds"),
        (([0, None], [1, 2]), InputError, "1 of 2 facts have no query"),
        (([0, 0, 0], [1, np.nan, np.nan]), InputError, "2 of 3 facts have no item"),
    ],
    ids=[
        "empty",
        "items",
        "values",
        "times",
        "text",
        "infinite",
        "never",
        "truth",
        "no-query",
        "no-item",
    ],
)
def test_facts_that_do_not_fit_together_are_refused(columns, error, words):
    with pytest.raises(error, match=words):
        so.Knowledge.from_arrays(*columns)


def test_knowledge_says_how_much_it_holds_and_nothing_of_what():
    aux = so.Knowledge.from_arrays(["alice", "alice"], ["secret-item", "other"])
    assert repr(aux) == "<Knowledge 1 queries, 2 facts, from outside>"


# --- labels
# --------------------------------------------------------------------------------------------------------


def release(labels: list[object]) -> so.Dataset:
    """Two records; the first holds every item, the second the first one."""
    return so.Dataset.from_arrays([0] * len(labels) + [1], [*labels, labels[0]])


@pytest.mark.parametrize(
    ("labels", "asked"),
    [
        ([7, 11, 300], ["7", "11", "300"]),
        ([7, 11, 300], [7.0, 11.0, 300.0]),
        ([7, 11, 300], np.array([7, 11, 300], np.uint16)),
        ([-4, 0, 9], ["-4", "0", "9"]),
        (["7", "11", "x"], [7, 11, "x"]),
        (["a", "é", "大"], ["a", "é", "大"]),
        ([2**60, 2**60 + 1, 2**60 + 2], [str(2**60), str(2**60 + 1), str(2**60 + 2)]),
        ([2**60, 2**60 + 1, 2**60 + 2], [2**60, 2**60 + 1, 2**60 + 2]),
    ],
    ids=["text", "float", "unsigned", "negative", "mixed", "unicode", "huge-text", "huge"],
)
def test_a_label_finds_its_item_however_it_is_written(labels, asked):
    data = release(labels)
    known = np.array(asked, dtype=object) if isinstance(asked, list) else asked
    facts = so.Knowledge.from_arrays([0] * 3, known).bind(data)
    found = [str(data.item_labels[i]) for i in facts.item]
    assert (facts.item >= 0).all()
    assert found == [str(x) for x in labels]


@pytest.mark.parametrize(
    "stranger", ["seven", "7.5", "nan", "1e400", 10**30, -1, 2**60, "0x7", 7.5], ids=str
)
def test_a_label_that_is_not_in_the_release_is_a_stranger_and_no_error(stranger):
    data = release([7, 11, 300])
    facts = so.Knowledge.from_arrays([0, 0], np.array([7, stranger], dtype=object)).bind(data)
    assert facts.item.tolist() == [0, -1]


def test_knowledge_none_of_whose_items_is_in_the_release_is_an_error_and_not_a_zero():
    with pytest.raises(InputError, match="none of the known items"):
        so.attack("scoreboard").run(release([7, 11]), so.Knowledge.from_arrays([0], [8]))


def test_sampled_knowledge_binds_to_another_release_by_its_labels():
    first = dataset(Table((Entry(0, 5), Entry(0, 9), Entry(1, 5)), values=False, days=False))
    second = dataset(Table((Entry(0, 1), Entry(0, 9), Entry(1, 5)), values=False, days=False))
    aux = so.Adversary(knows=2, value_within=None).sample(first, [0], seed=0)
    by_label = dict(zip(aux.item.tolist(), aux.bind(second).item.tolist(), strict=True))
    assert by_label == {5: 1, 9: 2}


def test_a_part_of_the_facts_is_what_those_queries_know():
    data = release([7, 11, 300])
    facts = knowledge([[Fact(7, 1.0)], [Fact(11), Fact(300, 2.0, 5.0)], [Fact(8)]]).bind(data)
    part = facts.part(1, 3)
    assert part.n_queries == 2
    assert part.query_ptr.tolist() == [0, 2, 3]
    assert part.item.tolist() == [1, 2, -1]
    assert part.query.tolist() == [0, 0, 1]


def test_what_is_kept_of_some_facts_is_not_taken_for_other_facts():
    release = so.Dataset.from_arrays([0, 0, 1, 1], [1, 2, 1, 3])
    facts = so.Knowledge.from_arrays([0, 0, 1], [1, 2, 3]).bind(release)
    assert once(facts, "sum", "items", facts.item.sum) == once(facts, "sum", "items", lambda: -1)
    for others in (facts.part(1, 2), replace(facts, item=facts.item[::-1])):
        assert once(others, "sum", "items", lambda: -1) == -1
    for key in range(3):
        once(facts, "few", key, lambda key=key: key, most=2)
    assert [once(facts, "few", key, lambda: -1, most=2) for key in (2, 1, 0)] == [2, 1, -1]


def test_every_item_is_found_under_its_published_name_and_no_other():
    source, release = np.array(["d", "a", "c"]), np.array(["name of d", "name of a", "name of c"])
    published = np.sort(release)
    names = ItemMap(source, release, np.array([0.4, 0.1, 0.3]))
    index, chance = _renamed(np.array(["a", "b", "c", "d", "a"]), names, published)
    found = [None if k < 0 else str(published[k]) for k in index]
    assert found == ["name of a", None, "name of c", "name of d", "name of a"]
    assert chance.tolist() == [0.1, 1.0, 0.3, 0.4, 0.1]
