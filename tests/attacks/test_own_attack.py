"""The examples run, and what they show is true."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout.attacks import attack as registry

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def own_attack():
    before = dict(registry._REGISTRY)
    yield runpy.run_path(str(EXAMPLES / "own_attack.py"))
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


def test_a_third_party_adds_an_attack_in_one_file(own_attack, capsys):
    own_attack["main"]()
    shown = capsys.readouterr().out
    assert "overlap" in shown and "likelihood" in shown


def test_the_attack_of_the_example_counts_shared_items(own_attack):
    dataset = so.Dataset.from_arrays([0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3])
    scores = so.attack("overlap").scores(dataset, so.Knowledge.from_arrays([0, 0], [1, 2]))
    np.testing.assert_array_equal(scores, [[2, 1, 0]])
    assert "overlap" in so.attack_names()


def test_the_example_of_an_own_attack_imports_nothing_from_inside_the_package():
    source = (EXAMPLES / "own_attack.py").read_text()
    assert "import standout as so" in source
    assert source.count("from standout import extend\n") == source.count("from standout") == 1
    assert "import standout." not in source
