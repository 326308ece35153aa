"""Defenses one after the other, defenses as text, and defenses of third parties."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Table
from settings import NEUTRAL, WEAK, by_record, distinct_days, distinct_pairs, rows
from strategies import dataset, tables

import standout as so
from standout.data.mechanism import Mechanism
from standout.defenses import defense as registry
from standout.defenses.draws import stage_seed
from standout.errors import ParameterError

EXAMPLES = Path(__file__).parents[2] / "examples"


def weak(name: str) -> so.Defense:
    return so.defense(name, **WEAK[name])


@given(table=tables(values=True, days=True, repeats=True), seed=st.integers(0, 2**63))
def test_a_chain_applies_its_defenses_in_order(table: Table, seed: int) -> None:
    ds = dataset(table)
    first, second = weak("swap-entries"), weak("noise-values")
    chain = first | second
    release = chain.apply(ds, seed=seed)
    step = second.apply(first.apply(ds, seed=seed), seed=stage_seed(seed, 1))
    assert release.fingerprint == step.fingerprint
    assert release.source is ds and release.defense is chain


def test_the_mechanism_of_a_chain_is_that_of_its_defenses() -> None:
    ds = distinct_days()
    release = (
        weak("drop-entries") | weak("round-values") | weak("noise-values") | weak("drop-time")
    ).apply(ds)
    mechanism, first = release.mechanism, weak("drop-entries").apply(ds).mechanism
    assert mechanism is not None and first is not None and mechanism.dropped == {"time"}
    # where a record holds an item several times, dropped events do not always lose the item
    assert (mechanism.lost, mechanism.hidden) == (
        first.lost,
        first.hidden,
    ) and 0 < mechanism.lost <= 0.3
    assert mechanism.value is not None
    np.testing.assert_array_equal(mechanism.value.source, ds.levels)
    np.testing.assert_array_equal(mechanism.value.release, release.levels)
    np.testing.assert_allclose(mechanism.value.chance.sum(axis=1), 1)


def test_chains_of_chains_are_flat() -> None:
    a, b, c = weak("drop-entries"), weak("shift-time"), weak("coarsen-time")
    ds = distinct_days()
    assert str((a | b) | c) == str(a | (b | c))
    assert ((a | b) | c).apply(ds, seed=5).fingerprint == (a | (b | c)).apply(
        ds, seed=5
    ).fingerprint
    assert [s["name"] for s in (a | b | c).parameters["stages"]] == [
        "drop-entries",
        "shift-time",
        "coarsen-time",
    ]


def test_a_defense_that_is_applied_twice_draws_new_numbers() -> None:
    """With the same numbers the second sample would keep everybody, and half of what is published would not be true."""
    ds = distinct_days(400, n=4000)
    half = so.defense("sample-records", share=0.5)
    release = (half | half).apply(ds)
    assert release.mechanism is not None and release.mechanism.sampled == 0.25
    assert 0.17 < release.n_records / ds.n_records < 0.33


@pytest.mark.parametrize("name", sorted(WEAK))
def test_a_defense_survives_being_written_and_read(name: str) -> None:
    for made in (weak(name), so.defense(name, **NEUTRAL.get(name, {}))):
        read = so.parse_defense(str(made))
        assert read.parameters == made.parameters and read.name == name
        assert so.defense(name, **made.parameters).parameters == made.parameters
        assert repr(made) == f"<defense {made}>"


def test_a_chain_survives_being_written_and_read() -> None:
    text = "drop-entries(share=0.5) | round-values(levels=[1, 2.5]) | coarsen-time(to=month)"
    assert str(so.parse_defense(text)) == text
    spaced = so.parse_defense(
        " drop-entries( share = .5 )|round-values(levels=[1,2.5])| coarsen-time(to='month') "
    )
    assert str(spaced) == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no defense is given"),
        ("drop-entries", "missing a required argument: 'share'"),
        ("drop-entries(0.5)", "'0.5' is not PARAMETER=VALUE"),
        ("drop-entries(share=0.5", "'[(]' is not closed"),
        ("drop-entries share=0.5)", "closes nothing"),
        ("drop-entries(share=0.5) |", "'' is not NAME"),
        ("drop-entries(share=0.5, share=1)", "share is given twice"),
        ("drop-entires(share=0.5)", "Did you mean 'drop-entries'"),
        ("drop-entries(shares=0.5)", "Its parameters: share"),
        ("drop-entries(share=)", "'' is not a value"),
        ("drop-entries(share=__import__('os'))", "is not a value"),
        ("drop-entries(share=half)", "share='half': use a number"),
        ("coarsen-time(to='month)", '"\'" is not closed'),
        ("round-values(levels=[1, [2])", "closes nothing"),
    ],
)
def test_text_that_is_not_a_defense_is_refused(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        so.parse_defense(text)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(
            (name, {"share": x})
            for name in ("drop-entries", "sample-records", "swap-entries", "swap-attributes")
            for x in (-0.1, 1.1, float("nan"), "0.5", True, None)
        ),
        *(("drop-rare-items", {"min_support": x}) for x in (-1, 1.5, "2")),
        *(("keep-top-items", {"k": x}) for x in (0, 2.5)),
        *(("cap-entries", {"most": x}) for x in (0, float("inf"))),
        *(("round-values", {"step": x}) for x in (-1, float("inf"))),
        *(("round-values", {"levels": x}) for x in ([], "123", 3, [1, "a"], [float("nan")])),
        ("round-values", {}),
        ("round-values", {"step": 1, "levels": [1]}),
        *(("noise-values", {"within": x}) for x in (-1, float("inf"))),
        *(("geometric-values", {"a": x}) for x in (-0.1, 1, 1.5)),
        *(("coarsen-time", {"to": x}) for x in ("decade", 7, None)),
        *(("shift-time", {"days": x}) for x in (-1, 0.5, 1e9)),
        *(("group-items", {"groups": x}) for x in (0, 2.5, {}, [1], True)),
        *(("suppress-km", x) for x in ({"k": 0}, {"k": 2, "m": 4}, {"k": 2, "m": 0})),
        *(("randomized-response", {"epsilon": x}) for x in (-1, float("nan"))),
        ("drop-values", {"share": 1}),
        ("no-such-defense", {}),
    ],
)
def test_a_parameter_out_of_range_is_refused(name: str, parameters: dict) -> None:
    with pytest.raises(ParameterError, match=next(iter(parameters), name).split("-")[0]):
        so.defense(name, **parameters)


@pytest.mark.parametrize("seed", [0.5, "1", True, None])
def test_a_seed_that_is_no_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(ParameterError, match="seed"):
        weak("drop-entries").apply(distinct_days(), seed=seed)  # type: ignore[arg-type]


def test_a_release_without_any_entry_is_refused() -> None:
    for text in (
        "drop-entries(share=1)",
        "sample-records(share=0)",
        "drop-rare-items(min_support=1000)",
    ):
        with pytest.raises(ParameterError, match="leaves no entry"):
            so.parse_defense(text).apply(distinct_days())


def test_what_is_not_a_dataset_is_refused() -> None:
    with pytest.raises(ParameterError, match="list: use a Dataset"):
        weak("drop-entries").apply([1, 2])  # type: ignore[arg-type]


@pytest.fixture
def own_defense():
    before = dict(registry._REGISTRY)
    yield runpy.run_path(str(EXAMPLES / "own_defense.py"))
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


def test_a_third_party_adds_a_defense_in_one_file(own_defense, capsys) -> None:
    own_defense["main"]()
    shown = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in shown] == [
        "no defense",
        "own-recent-only(since=12180)",
        "own-recent-only(since=12180) | coarsen-time(to=quarter)",
    ]
    found = [float(line.split(": ")[1].split()[0]) for line in shown]
    assert found[0] > found[1] > found[2]


def test_the_defense_of_the_example_removes_what_it_says(own_defense) -> None:
    ds = distinct_pairs()
    release = so.parse_defense("own-recent-only(since=10200)").apply(ds)
    assert rows(release) == [row for row in rows(ds) if row[3] >= 10_200]
    assert by_record(release).keys() <= by_record(ds).keys()
    assert isinstance(release.mechanism, Mechanism) and release.mechanism.lost > 0.3
    assert "own-recent-only" in so.defense_names()


def test_the_example_of_an_own_defense_imports_nothing_from_inside_the_package() -> None:
    source = (EXAMPLES / "own_defense.py").read_text()
    assert "import standout as so" in source and len(source.splitlines()) <= 60
    assert source.count("from standout import extend\n") == source.count("from standout") == 1
    assert "import standout." not in source
