"""The brute force that docs/brute-force.md compares audits with: an absent person leaves no trace in what it computes."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import standout as so

SCRIPTS = Path(__file__).parents[2] / "docs" / "scripts"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import brute_force_attack
    import brute_force_data

    yield brute_force_attack, brute_force_data
    for name in ("brute_force_attack", "brute_force_data"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "options",
    [
        {"knows": 1, "value_within": None, "time_within": 14},
        {"knows": 2, "value_within": 1},
        {"knows": 3, "value_within": 1, "wrong": 1, "wrong_kind": "item"},
    ],
)
def test_without_a_person_the_brute_force_computes_what_it_does_on_data_that_never_held_them(
    scripts, options
):
    attack, made = scripts
    data = made.ratings(np.random.default_rng(4), n=120, items=40)
    who = so.Adversary(**options)
    whole = attack.BruteForce(data, who, 1)
    whole.sampled = np.arange(whole.record.size)
    n_possible = 0
    for person in whole.people()[:12]:
        stays = data.record != person
        never = attack.BruteForce(
            replace(
                data,
                **{
                    name: getattr(data, name)[stays] for name in ("record", "item", "value", "time")
                },
            ),
            who,
            1,
        )
        never.sampled = np.arange(never.record.size)
        facts, removed = whole.draw(person), whole.without([person])
        log_p = removed.log_likelihood(facts)
        np.testing.assert_allclose(log_p, never.log_likelihood(facts))
        assert removed.presence(facts, log_p) == pytest.approx(never.presence(facts, log_p))
        # with the person's events left in the counts, the evidence is another
        if np.isfinite(log_p).any():
            n_possible += 1
            assert removed.presence(facts, log_p) != pytest.approx(whole.presence(facts, log_p))
    assert n_possible > 3
