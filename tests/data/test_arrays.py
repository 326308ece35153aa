"""Arrays in memory become a dataset: compared with plain dictionaries, whatever the labels are."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from standout.data.dataset import Dataset
from standout.errors import InputError, ParameterError


def entries(ds: Dataset) -> Counter[tuple[object, object, float | None, int | None]]:
    """What a dataset holds, by label: (record, item, value, day) and how often."""
    held: Counter[tuple[object, object, float | None, int | None]] = Counter()
    for r in range(ds.n_records):
        for k in range(ds.record_ptr[r], ds.record_ptr[r + 1]):
            value = day = None
            if ds.has_value and ds.record_code[k] < ds.n_levels:
                value = float(ds.levels[ds.record_code[k]])
            if ds.has_time and ds.record_tick[k] != ds.no_tick:
                day = int(ds.record_tick[k]) + ds.first_tick
            held[
                ds.record_labels[r].item(), ds.item_labels[ds.record_item[k]].item(), value, day
            ] += 1
    return held


rows = st.lists(
    st.tuples(
        st.sampled_from([-5, 0, 7]),
        st.sampled_from(["a", "b", "é", "日本", "", "zz", None]),
        st.one_of(st.none(), st.integers(-3, 3).map(lambda x: x / 2)),
        st.one_of(
            st.none(),
            st.sampled_from([-1.5, 3.0, 3.25]),
            st.floats(-40_000, 40_000, allow_nan=False),
        ),
    ),
    min_size=1,
    max_size=60,
)


def columns(table):
    record, item, value, time = (list(column) for column in zip(*table, strict=True))
    return (
        record,
        item,
        [np.nan if v is None else v for v in value],
        [np.nan if t is None else t for t in time],
    )


def usable(table):
    kept = [row for row in table if row[1]]
    return (
        kept and any(row[2] is not None for row in kept) and any(row[3] is not None for row in kept)
    )


@given(rows.filter(usable))
def test_the_dataset_holds_what_the_rows_hold(table):
    ds = Dataset.from_arrays(*columns(table), resolution="day")
    kept = [row for row in table if row[1]]
    expected = Counter((r, i, v, None if t is None else int(np.floor(t))) for r, i, v, t in kept)
    assert entries(ds) == expected
    assert ds.cleaning.rows_read == len(table)
    assert ds.cleaning.rows_without_item == len(table) - len(kept)
    assert ds.cleaning.values_missing == sum(row[2] is None for row in kept)
    assert ds.cleaning.times_missing == sum(row[3] is None for row in kept)
    pairs = {(r, i) for r, i, _, _ in kept}
    assert ds.n_pairs == len(pairs)
    assert ds.cleaning.repeated_pairs == len(kept) - len(pairs)
    assert ds.supports.tolist() == [sum(i == label for _, i in pairs) for label in ds.item_labels]
    assert ds.lengths.tolist() == [sum(r == label for r, _ in pairs) for label in ds.record_labels]


@given(rows.filter(usable), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_change_the_fingerprint(table, random):
    shuffled = list(table)
    random.shuffle(shuffled)
    assert (
        Dataset.from_arrays(*columns(table)).fingerprint
        == Dataset.from_arrays(*columns(shuffled)).fingerprint
    )


@given(rows.filter(usable))
def test_another_value_changes_the_fingerprint(table):
    record, item, value, time = columns(table)
    kept = [k for k, label in enumerate(item) if label]
    other = list(value)
    other[kept[0]] = 77.0
    ds = Dataset.from_arrays(record, item, value, time)
    assert ds.fingerprint != Dataset.from_arrays(record, item, other, time).fingerprint


def test_zero_and_minus_zero_are_one_level_in_any_order():
    one = Dataset.from_arrays([1, 2], [1, 1], [0.0, -0.0])
    other = Dataset.from_arrays([1, 2], [1, 1], [-0.0, 0.0])
    assert one.n_levels == 1
    assert one.fingerprint == other.fingerprint


@given(rows.filter(usable), st.sampled_from(["last", "first", "max", "sum", "count"]))
def test_merged_repeats_are_those_of_a_dictionary(table, how):
    groups = defaultdict(list)
    for r, i, v, t in table:
        if i:
            groups[r, i].append((v, t))
    expected = Counter((r, i, *merged(events, how)) for (r, i), events in groups.items())
    if all(v is None for _, _, v, _ in expected) or all(t is None for *_, t in expected):
        with pytest.raises(InputError, match=f"repeats='{how}' keeps no row that has a"):
            Dataset.from_arrays(*columns(table), repeats=how, resolution="day")
        return
    ds = Dataset.from_arrays(*columns(table), repeats=how, resolution="day")
    assert entries(ds) == expected
    assert not ds.has_repeats
    assert ds.cleaning.repeats == how
    assert ds.cleaning.repeated_pairs == sum(map(len, groups.values())) - len(groups)


def merged(events, how):
    """Value and day of the events of one pair, written to be obviously right."""
    in_time = sorted(
        events, key=lambda e: -np.inf if e[1] is None else e[1]
    )  # stable: equal times stay in row order
    values = [v for v, _ in events if v is not None]
    if how == "first":
        value, time = in_time[0]
    elif how == "max":
        best = max(values) if values else None
        value, time = [e for e in in_time if e[0] == best][-1]
    else:
        value, time = in_time[-1]
        if how == "sum":
            value = sum(values) if values else None
        if how == "count":
            value = len(events)
    return value, None if time is None else int(np.floor(time))


@pytest.mark.parametrize(("how", "value"), [("last", 2.0), ("first", 3.0)])
@pytest.mark.parametrize("time", [None, [5, 5, 5], [np.nan, np.nan, np.nan, 1]])
def test_equal_times_go_by_row(how, value, time):
    records, values = [1, 1, 1], [3.0, 1.0, 2.0]
    if time is not None and len(time) > len(records):
        records, values = [*records, 2], [*values, 9.0]
    ds = Dataset.from_arrays(records, ["x"] * len(records), values, time, repeats=how)
    assert ds.levels[ds.record_code[0]] == value


@pytest.mark.parametrize(
    ("how", "value", "time", "emptied"),
    [("last", [5.0, np.nan], [1, 2], "value"), ("first", [5.0, 4.0], [np.nan, 2], "time")],
)
def test_a_channel_that_merging_empties_is_refused(how, value, time, emptied):
    with pytest.raises(
        InputError, match=f"repeats='{how}' keeps no row that has a {emptied}: choose another way"
    ):
        Dataset.from_arrays([1, 1], ["x", "x"], value, time, repeats=how)


def test_counting_repeats_needs_no_values():
    ds = Dataset.from_arrays([1, 1, 1, 2], ["x", "x", "y", "x"], repeats="count")
    assert entries(ds) == {(1, "x", 2.0, None): 1, (1, "y", 1.0, None): 1, (2, "x", 1.0, None): 1}


def test_sums_are_one_level_whatever_the_order_of_the_rows():
    ds = Dataset.from_arrays(
        [1, 1, 1, 2, 2, 2], ["x"] * 6, [0.1, 0.2, 0.3, 0.3, 0.2, 0.1], repeats="sum"
    )
    assert ds.levels.tolist() == [0.6]


@pytest.mark.parametrize("how", ["max", "sum"])
def test_merging_values_that_are_not_there_is_refused(how):
    with pytest.raises(ParameterError, match=f"repeats='{how}' needs values"):
        Dataset.from_arrays([1], [1], repeats=how)


def test_an_unknown_way_to_handle_repeats_is_refused():
    with pytest.raises(ParameterError, match="repeats='newest': choose one of keep, last"):
        Dataset.from_arrays([1], [1], repeats="newest")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, -1, 3], [-1, 3]),
        ([2**62, -(2**62), 0], [-(2**62), 0, 2**62]),
        ([2**63, 5, 2**64 - 1], [5, 2**63, 2**64 - 1]),
        (np.array([2.0, 10.0, np.nan]), [2, 10]),
        ([2.0, None, 10], [2, 10]),
        ([1.5, 2.0, 1.5], [1.5, 2.0]),
        (["b", "a", "ä"], ["a", "b", "ä"]),
        (["10", "9", "010"], ["010", "10", "9"]),
        ([b"b", b"a", b"b"], ["a", "b"]),
        ([True, False, True], [0, 1]),
        (
            np.array(["2020-01-02", "NaT", "2020-01-01"], "datetime64[D]"),
            ["2020-01-01", "2020-01-02"],
        ),
        (np.ma.masked_array([1, 2, 3], mask=[False, True, False]), [1, 3]),
        (np.array(["x", None, float("nan"), "y"], object), ["x", "y"]),
    ],
)
def test_labels_of_any_kind_are_kept_and_sorted(labels, expected):
    ds = Dataset.from_arrays(labels, ["i"] * len(labels))
    assert ds.record_labels.tolist() == expected
    assert ds.cleaning.rows_without_record == len(labels) - ds.n_entries


def test_integers_beyond_64_bits_stay_apart_as_text():
    big = [10**30, 10**30 + 1, -5]
    ds = Dataset.from_arrays(big, [1, 1, 1])
    assert ds.record_labels.tolist() == sorted(str(x) for x in big)
    assert any("beyond 64 bits" in note for note in ds.cleaning.notes)


def test_labels_of_mixed_kinds_become_text_and_that_is_said():
    ds = Dataset.from_arrays([1, "b", 2.0], [1, 1, 1])
    assert ds.record_labels.tolist() == ["1", "2", "b"]
    assert any("mixed kinds" in note for note in ds.cleaning.notes)


def test_labels_of_dropped_rows_leave_no_trace():
    ds = Dataset.from_arrays(["a", "a very long label", "b"], ["x", None, "x"])
    assert ds.fingerprint == Dataset.from_arrays(["a", "b"], ["x", "x"]).fingerprint


@pytest.mark.parametrize(
    ("times", "days"),
    [
        ([0.99, -0.01, 5], [0, -1, 5]),
        (np.array(["1969-12-31T23:59:59", "1970-01-01", "NaT"], "datetime64[s]"), [-1, 0, None]),
        ([date(1950, 1, 1), None, datetime(1970, 1, 2, 23)], [-7305, None, 1]),
        (["2020-01-01", "", "2019-12-31T12:00"], [18262, None, 18261]),
        (np.array([1, 2, 3], object), [1, 2, 3]),
    ],
)
def test_times_are_floored_to_days(times, days):
    ds = Dataset.from_arrays([1, 2, 3], ["i"] * 3, time=times, resolution="day")
    assert {r: d for r, _, _, d in entries(ds)} == dict(zip([1, 2, 3], days, strict=True))


def test_values_of_other_number_types_are_numbers():
    ds = Dataset.from_arrays([1, 2, 3], [1, 1, 1], value=[Decimal("2.5"), True, None])
    assert ds.levels.tolist() == [1.0, 2.5]
    assert ds.cleaning.values_missing == 1


def test_masked_values_are_missing():
    ds = Dataset.from_arrays(
        [1, 2], [1, 1], value=np.ma.masked_array([1.0, 99.0], mask=[False, True])
    )
    assert ds.levels.tolist() == [1.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([1, 2], [1]), ParameterError, r"differ in length \(record 2, item 1\)"),
        (([1, 2], [1, 2], [1.0]), ParameterError, "value 1"),
        (([[1], [2]], [1, 2]), ParameterError, "record has 2 dimensions"),
        ((7, [1]), ParameterError, "record has 0 dimensions"),
        (([], []), InputError, "no row has both a record and an item; rows read: 0"),
        (([None], [1]), InputError, "rows read: 1"),
        (([1], [1], [np.inf]), InputError, "1 infinite values"),
        (([1], [1], [np.nan]), InputError, "value is missing in every row: leave value out"),
        (([1], [1], None, [np.nan]), InputError, "time is missing in every row: leave time out"),
        (([1], [1], None, [np.inf]), InputError, "infinite times"),
        (([1], [1], ["good"]), InputError, "where numbers belong"),
        (([1], [1], None, ["yesterday"]), InputError, "where days or dates belong"),
        (
            ([1, 2], [1, 1], None, [0, 1e9]),
            InputError,
            "the times span 2,737,851 years: is the unit right",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Dataset.from_arrays(*arguments)


def test_an_error_does_not_quote_the_cells():
    with pytest.raises(InputError) as caught:
        Dataset.from_arrays(["alice"], ["diary"], ["secret"])
    assert not {"alice", "diary", "secret"} & set(str(caught.value).split())


def test_a_sparse_matrix_keeps_its_stored_numbers():
    matrix = sparse.csr_matrix(
        (np.array([2.0, 0.0, 5.0]), (np.array([0, 0, 3]), np.array([1, 4, 1]))), shape=(5, 6)
    )
    ds = Dataset.from_sparse(matrix)
    assert entries(ds) == {(0, 1, 2.0, None): 1, (0, 4, 0.0, None): 1, (3, 1, 5.0, None): 1}
    assert "sparse matrix: 3 empty rows and 4 empty columns left out" in ds.cleaning.notes


def test_a_sparse_matrix_adds_what_it_stores_twice():
    ds = Dataset.from_sparse(
        sparse.coo_array((np.array([2, 3]), (np.array([0, 0]), np.array([0, 0]))))
    )
    assert entries(ds) == {(0, 0, 5.0, None): 1}
    assert ds.cleaning.repeated_pairs == 1


def test_a_sparse_matrix_of_booleans_has_no_values():
    ds = Dataset.from_sparse(sparse.csr_matrix(np.eye(3, dtype=bool)))
    assert not ds.has_value
    assert ds.n_entries == 3


def test_from_sparse_refuses_what_is_not_sparse_or_holds_nothing():
    with pytest.raises(ParameterError, match="not ndarray"):
        Dataset.from_sparse(np.eye(2))
    with pytest.raises(InputError, match="holds no entry"):
        Dataset.from_sparse(sparse.csr_matrix((2, 2)))
