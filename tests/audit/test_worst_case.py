"""`worst_case` beside a brute force that compares every combination with every record, and published numbers."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import standout as so
from standout.audit.combinations import _prefers_bits, _units_of
from standout.audit.fact_conditions import HOLDS, MatchRule
from standout.audit.worst_case import _facts
from standout.errors import InputError, ParameterError

TOY = {
    1: "A3.08 B3.09 C3.10 D4.10",
    2: "A3.08 C3.09 A4.10 B4.11",
    3: "B3.08 C3.09 A4.10 D4.11",
    4: "C4.10 B4.11 D4.12",
    5: "C4.10 D4.11 A5.12",
    6: "A4.10 B4.11",
    7: "A4.10 A4.11 D5.12",
}
"""Seven people, four places: place, day of February 2011 and hour of each visit (the toy of scikit-mobility's tests)."""

T = 1 / 3
# risks of persons 1 to 7 for k = 2 and k = 3, as scikit-mobility 1.3.1 computes them
PUBLISHED: list[tuple[dict[str, Any], list[float], list[float]]] = [
    ({"known": "items"}, [T, 0.5, T, T, 0.25, 0.25, 0.5], [0.5, 1, 0.5, T, T, 0.25, 1]),
    ({"known": "sequence"}, [0.5, 0.5, 1, 0.5, 1, T, 0.5], [1, 1, 1, 1, 1, T, 1]),
    ({"known": "times"}, [1, 1, 1, 1, 1, 0.5, 1], [1, 1, 1, 1, 1, 0.5, 1]),
    (
        {"known": "times", "resolution": "day"},
        [1, 1, 1, 1, 1, 0.5, 1],
        [1, 1, 1, 1, 1, 0.5, 1],
    ),
    (
        {"known": "times", "resolution": "month"},
        [T, 0.5, T, T, 0.25, 0.25, 0.5],
        [0.5, 1, 0.5, T, T, 0.25, 1],
    ),
    ({"known": "set"}, [T, 0.25, T, T, 0.25, 0.25, 0.25], [0.5, T, 0.5, T, T, 0.25, 0.25]),
    ({"known": "counts"}, [T, 1, T, T, T, T, 1], [0.5, 1, 0.5, T, T, T, 1]),
    (
        {"known": "counts", "within": 0.5},
        [T, 1, T, T, 0.25, 0.25, 1],
        [0.5, 1, 0.5, T, T, 0.25, 1],
    ),
    ({"known": "shares", "within": 0.5}, [T, 0.5, T, T, 0.25, 1, 1], [0.5, 1, 0.5, T, T, 1, 1]),
    (
        {"known": "proportions", "within": 0.5},
        [T, 0.25, T, T, T, T, 0.25],
        [0.5, T, 0.5, T, T, T, 0.25],
    ),
]


def toy() -> so.Dataset:
    rows = [(person, visit[0], visit[1:]) for person, text in TOY.items() for visit in text.split()]
    person, place, when = zip(*rows, strict=True)
    time = [np.datetime64(f"2011-02-{int(w[0]):02d}T{w[2:]}", "h") for w in when]
    return so.Dataset.from_arrays(np.array(person), np.array(place), time=np.array(time))


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("row", range(len(PUBLISHED)))
def test_the_toy_of_scikit_mobility_has_its_published_risks(row: int, k: int) -> None:
    asked, *risks = PUBLISHED[row]
    got = so.worst_case(toy(), k, **asked)
    np.testing.assert_allclose(got.worst, risks[k - 2], rtol=1e-12)


def test_home_and_work_of_scikit_mobility_are_the_two_least_frequent_places() -> None:
    # it sorts by frequency in ascending order, ties by latitude (B, C, D, A); turned around, its
    # published risks are those of the two favorites
    rank = {place: n for n, place in enumerate("BCDA")}
    person, place = [], []
    for who, text in TOY.items():
        for name, n in Counter(visit[0] for visit in text.split()).items():
            repeats = 10 * (4 - n) - rank[name]
            person += [who] * repeats
            place += [name] * repeats
    data = so.Dataset.from_arrays(np.array(person), np.array(place))
    got = so.worst_case(data, 2, "favorites")
    np.testing.assert_allclose(got.worst, [0.25, 0.25, 0.25, 0.25, 1, 1, 1])


def events_of(data: so.Dataset) -> list[list[tuple[int, int]]]:
    """(item, tick) of each record's events in the order of time."""
    out = []
    for r in range(data.n_records):
        part = slice(data.record_ptr[r], data.record_ptr[r + 1])
        ticks = data.record_tick[part] if data.has_time else np.zeros(part.stop - part.start, int)
        pairs = zip(data.record_item[part].tolist(), ticks.tolist(), strict=True)
        out.append(sorted(pairs, key=lambda pair: (pair[1], pair[0])))
    return out


def brute_force(
    data: so.Dataset, k: int, known: str, within: float = 0.0, first: int | None = None
) -> list[tuple[float, float, float]]:
    """Worst, expected, unique of each record, or of the first ones, from the definitions: all combinations and records."""
    people = events_of(data)
    counts = [Counter(item for item, _ in events) for events in people]

    def near(x: float, own: float) -> bool:
        return own * (1 - within) - 1e-12 <= x <= own * (1 + within) + 1e-12

    def facts(r: int) -> list[Any]:
        if known in ("items", "sequence"):
            return [item for item, _ in people[r]]
        if known == "times":
            return people[r]
        total = sum(counts[r].values()) if known == "shares" else 1
        return [(item, n / total) for item, n in sorted(counts[r].items())]

    def tops(r: int, k: int) -> set[frozenset[int]]:
        best = sorted(counts[r].values(), reverse=True)[:k]
        return {
            frozenset(chosen)
            for chosen in combinations(counts[r], min(k, len(counts[r])))
            if sorted((counts[r][i] for i in chosen), reverse=True) == best
        }

    def agrees(r: int, chosen: tuple[Any, ...]) -> bool:
        if known in ("items", "times"):
            own = Counter(facts(r))
            return all(own[fact] >= n for fact, n in Counter(chosen).items())
        if known == "sequence":
            rest = iter(facts(r))
            return all(item in rest for item in chosen)
        own = dict(facts(r))
        if not all(item in own for item, _ in chosen):
            return False
        if known == "set":
            return True
        if known == "favorites":
            return frozenset(item for item, _ in chosen) in tops(r, len(chosen))
        mine, hers = 1.0, 1.0
        if known == "proportions":
            mine, hers = max(x for _, x in chosen), max(own[item] for item, _ in chosen)
        return all(near(x / mine, own[item] / hers) for item, x in chosen)

    out = []
    for r in range(len(people))[:first]:
        n = min(k, len(facts(r)))
        chosen = list(combinations(facts(r), n))
        if known == "favorites":
            chosen = [c for c in chosen if agrees(r, c)]
        matching = [sum(agrees(c, one) for c in range(len(people))) for one in chosen]
        chances = [1 / m for m in matching]
        out.append((max(chances), float(np.mean(chances)), float(np.mean(np.array(matching) == 1))))
    return out


@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("known", ["items", "set", "sequence", "times", "counts", "shares"])
def test_every_kind_equals_the_brute_force(known: str, k: int) -> None:
    data = random_visits(seed=k)
    got = so.worst_case(data, k, known)
    expected = brute_force(data, k, known)
    np.testing.assert_allclose(np.c_[got.worst, got.expected, got.unique], expected, rtol=1e-9)


@pytest.mark.parametrize("known", ["items", "set", "counts"])
@pytest.mark.parametrize("n_places", [20, 4000])
def test_pairs_equal_the_brute_force_where_places_have_many_visitors_and_where_few(
    known: str, n_places: int
) -> None:
    # sets of bits are read where facts have many holders, lists of holders where they have few
    rng = np.random.default_rng(n_places)
    person = np.repeat(np.arange(2000), 4)
    place = rng.integers(0, n_places, person.size)
    place[1::4] = np.where(rng.random(2000) < 0.3, place[::4], place[1::4])
    data = so.Dataset.from_arrays(person, place)
    facts = _facts(data, known, None)
    unit = [_units_of(facts, MatchRule(HOLDS, 2, 0.0), r) for r in range(50)]
    assert {bool(_prefers_bits(facts, one)) for one in unit} == {n_places == 20}
    got = so.worst_case(data, 2, known)
    expected = brute_force(data, 2, known, first=10)
    seen = np.c_[got.worst, got.expected, got.unique][:10]
    np.testing.assert_allclose(seen, expected, rtol=1e-9)


@pytest.mark.parametrize("within", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("known", ["counts", "shares", "proportions"])
def test_a_tolerance_widens_the_matching_records_as_enumerated(known: str, within: float) -> None:
    data = random_visits(seed=9)
    got = so.worst_case(data, 2, known, within=within)
    expected = brute_force(data, 2, known, within)
    np.testing.assert_allclose(np.c_[got.worst, got.expected, got.unique], expected, rtol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_favorites_equal_the_brute_force_with_ties(k: int) -> None:
    data = random_visits(seed=20 + k)
    got = so.worst_case(data, k, "favorites")
    expected = brute_force(data, k, "favorites")
    np.testing.assert_allclose(np.c_[got.worst, got.expected, got.unique], expected, rtol=1e-9)


def random_visits(seed: int) -> so.Dataset:
    """40 people with 1 to 9 visits to 6 places, on 5 days."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(40), rng.integers(1, 10, 40))
    place, day = rng.integers(0, 6, person.size), rng.integers(15_000, 15_005, person.size)
    return so.Dataset.from_arrays(person, place, time=day)


def test_a_planted_place_makes_its_visitor_unique_and_a_twin_halves_the_risk() -> None:
    person = [0, 0, 1, 1, 2, 2]
    alone = so.worst_case(so.Dataset.from_arrays(person, list("abacax")), 1)
    twins = so.worst_case(so.Dataset.from_arrays(person, list("abacac")), 1)
    assert alone.worst.tolist() == [1.0, 1.0, 1.0]
    assert twins.worst.tolist() == [1.0, 0.5, 0.5]


def test_the_order_of_people_and_a_sample_of_them_change_nobodys_risk() -> None:
    rng = np.random.default_rng(3)
    person = np.repeat(np.arange(50), 6)
    place = rng.integers(0, 12, person.size)
    whole = so.worst_case(so.Dataset.from_arrays(person, place), 2)
    other = so.worst_case(so.Dataset.from_arrays(49 - person, place), 2)
    assert whole.worst.tolist() == other.worst[::-1].tolist()
    some = so.worst_case(so.Dataset.from_arrays(person, place), 2, targets=7, seed=5)
    assert some.record.size == 7
    assert some.expected.tolist() == whole.expected[some.record].tolist()


def test_aggregates_name_nobody_and_rows_show_labels_only_when_asked() -> None:
    got = so.worst_case(so.Dataset.from_arrays(["anna", "bert"], ["x", "y"]), 1)
    assert "anna" not in repr(got) + str(got.to_dict()) + str(got.to_frame())
    assert got.to_frame(labels=True)["label"].tolist() == ["anna", "bert"]
    assert got.to_dict()["worst"]["always"] == 1.0


def test_words_have_the_right_number() -> None:
    data = so.Dataset.from_arrays([0, 1], ["a", "b"])
    assert so.worst_case(data, 1, "favorites").words == "the 1 most frequent item"
    assert so.worst_case(data, 2, "counts", within=0.5).words == (
        "2 items and how often each occurs, to within 50 %"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": "places"}, "known='places': use items, set"),
        ({"knows": 0}, "knows=0: use a whole number"),
        ({"known": "items", "within": 0.5}, "within=0.5"),
        ({"known": "times"}, "the data has no times"),
        ({"known": "set", "resolution": "day"}, "resolution='day'"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], message: str) -> None:
    data = so.Dataset.from_arrays([0, 1], ["a", "b"])
    with pytest.raises(ParameterError, match=message):
        so.worst_case(data, **options)


def test_finer_times_than_the_data_has_and_missing_ones_are_refused() -> None:
    data = so.Dataset.from_arrays([0, 1], ["a", "b"], time=[15_000, 15_001])
    with pytest.raises(ParameterError, match="kept to the day"):
        so.worst_case(data, known="times", resolution="hour")
    gaps = so.Dataset.from_arrays([0, 1], ["a", "b"], time=[15_000, np.nan])
    with pytest.raises(InputError, match="1 entries have no time"):
        so.worst_case(gaps, known="sequence")


def test_weeks_start_on_monday() -> None:
    days = np.array(["2020-01-06", "2020-01-12", "2020-01-13"], "datetime64[D]")
    data = so.Dataset.from_arrays([0, 1, 2], ["a", "a", "a"], time=days)
    frame = so.worst_case(data, knows=1, known="times", resolution="week").to_frame()
    assert frame["worst"].tolist() == [0.5, 0.5, 1.0]


def test_too_many_combinations_are_refused_before_memory_runs_out() -> None:
    data = so.Dataset.from_arrays(np.zeros(300, int), np.arange(300))
    with pytest.raises(ParameterError, match="lower knows"):
        so.worst_case(data, 6)


def test_the_command_prints_aggregates_and_writes_rows_on_request(run: Any, ratings: Path) -> None:
    out = ratings.parent / "people.csv"
    code, printed, _ = run("worst-case", ratings, "--known", "set", "--out", out)
    assert code == 0 and "2 different items" in printed and "U0001x" not in printed
    lines = out.read_text().splitlines()
    assert lines[0] == "record,worst,expected,unique,combinations" and len(lines) == 81
    code, _, said = run("worst-case", ratings, "--known", "places")
    assert code == 2 and "use items, set" in said
