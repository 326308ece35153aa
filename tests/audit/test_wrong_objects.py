"""Wrong objects are refused with an error of standout: a path for a dataset, a mask for indices, an answer for knowledge."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.errors import ParameterError

DS = so.Dataset.from_arrays(np.repeat(np.arange(20), 4), np.arange(80) % 13, np.arange(80) % 5)
WHO = so.Adversary(knows=2)
AUX = WHO.sample(DS, [3, 4], seed=1)
RH = so.attack("scoreboard-rh")

CALLS = {
    "run without knowledge": (lambda: RH.run(DS, "who"), "knowledge is a str"),
    "run on a path": (lambda: RH.run("ratings.csv", AUX), "dataset is a str"),
    "scores without knowledge": (lambda: RH.scores(DS, None), "knowledge is a NoneType"),
    "run on no engine": (lambda: RH.run(DS, AUX, engine=None), "engine is a NoneType"),
    "sample of a path": (lambda: WHO.sample("ratings.csv"), "dataset is a str"),
    "explain a number": (lambda: so.explain(DS, 5), "knowledge is a int"),
    "attack of a list": (lambda: so.attack(["scoreboard"]), "not a list"),
    "attack with a text level": (
        lambda: so.attack("scoring", decide="spacing", level="x"),
        "level='x'",
    ),
    "audit with a number of attacks": (lambda: so.Audit(DS, attacks=5), "attacks is a int"),
    "link a path": (lambda: so.link("ratings.csv", AUX), "dataset is a str"),
    "describe a path": (lambda: so.describe("ratings.csv"), "describe needs a Dataset"),
    "bounds of a path": (lambda: so.bounds("ratings.csv"), "bounds needs a Dataset"),
    "sparsity of a path": (lambda: so.sparsity("ratings.csv"), "needs a Dataset"),
    "population of a path": (lambda: so.population("ratings.csv"), "population needs a Dataset"),
    "amplification of a path": (
        lambda: so.amplification("ratings.csv"),
        "amplification needs a Dataset",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_object_is_refused_with_its_type(name):
    call, words = CALLS[name]
    with pytest.raises(ParameterError, match=words):
        call()


@pytest.mark.parametrize(
    "exclude", [[True, False], [0.5, 1], ["a", "b"]], ids=["mask", "fractions", "labels"]
)
def test_records_to_exclude_are_never_guessed(exclude):
    """A mask of two queries was read as records 1 and 0: other people than meant were left out."""
    with pytest.raises(ParameterError, match="exclude: give one record index per query"):
        RH.run(DS, AUX, exclude=exclude)
    with pytest.raises(ParameterError, match="watch: give one record index per query"):
        RH.run(DS, AUX, watch=exclude)
