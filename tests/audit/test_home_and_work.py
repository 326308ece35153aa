"""Planted home and work: `favorite` knows them, and random visits to the hour single out whom enumeration says."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import checkins
import numpy as np
import pytest

import standout as so


@pytest.fixture(scope="module")
def town():
    return checkins.made()


def planted(town, knows):
    """What is known of each person, in order: home, then work."""
    return list(zip(*[town.home.tolist(), town.work.tolist()][:knows], strict=True))


@pytest.mark.parametrize("coordinates", [False, True])
@pytest.mark.parametrize("knows", [1, 2])
def test_favorites_are_home_and_work_and_find_who_alone_has_them(town, knows, coordinates):
    data = town.read(coordinates=coordinates)
    view = "grid:500m" if coordinates else None
    who = so.Adversary(knows=knows, choose="favorite", view=view)
    truth = planted(town, knows)
    sharing = Counter(truth)
    n_sharing = np.array([sharing[one] for one in truth])
    assert 5 < (n_sharing == 1).sum() < 195

    found = so.risk(data, who, draws=1, seed=3)
    assert found.record.tolist() == list(range(200))
    assert found.unique.tolist() == (n_sharing == 1).tolist()
    # all who have the same home, and the same work, fit equally well
    assert np.allclose(found.found, 1 / n_sharing)
    known = who.sample(data, found.record, seed=3)
    if not coordinates:
        drawn = np.asarray(known.item).reshape(-1, knows)
        assert [sorted(row) for row in drawn.tolist()] == [sorted(one) for one in truth]


def facts_of(known):
    """Per query: places and hours since 1970 that are known."""
    hours = np.rint(np.asarray(known.time) * 24).astype(int)
    items = np.asarray(known.item)
    return [
        list(zip(items[a:b].tolist(), hours[a:b].tolist(), strict=True))
        for a, b in pairwise(known.query_ptr)
    ]


@pytest.mark.parametrize("hours", [0, 1])
@pytest.mark.parametrize("knows", [1, 2])
def test_random_visits_to_the_hour_single_out_whom_enumeration_says(town, knows, hours):
    data = town.read()
    who = so.Adversary(knows=knows, choose="event", time_within=f"{hours}h")
    people = who.eligible(data)
    known = who.sample(data, people, seed=5)
    held = defaultdict(set)
    for r, p, t in zip(town.person.tolist(), town.place.tolist(), town.hour.tolist(), strict=True):
        held[r].add((p, t))

    def fits(r, facts):
        return all(any((p, t + h) in held[r] for h in range(-hours, hours + 1)) for p, t in facts)

    facts = facts_of(known)
    assert all(fits(r, own) for r, own in zip(people.tolist(), facts, strict=True))
    alone = [sum(fits(r, own) for r in held) == 1 for own in facts]
    found = so.attack("unicity").run(data, known, watch=people)
    assert found.matched.tolist() == alone and sum(alone) > 0
    if hours == 0 and knows == 1:  # it is a visit of the person, not one that nobody made
        assert all(set(own) <= held[r] for r, own in zip(people.tolist(), facts, strict=True))


def test_one_random_visit_is_unique_as_often_as_all_visits_are(town):
    data = town.read()
    events = list(zip(town.place.tolist(), town.hour.tolist(), strict=True))
    holders = defaultdict(set)
    for r, event in zip(town.person.tolist(), events, strict=True):
        holders[event].add(r)
    alone = np.array([len(holders[event]) == 1 for event in events], float)
    draws = 8
    found = so.risk(data, so.Adversary(knows=1, choose="event", time_within=0), draws=draws)
    spread = np.sqrt(alone.mean() * (1 - alone.mean()) / (draws * data.n_records))
    assert abs(found.unique.mean() - alone.mean()) < 4 * spread
    # a place first and then one of its visits would be another number
    by_place = so.risk(data, so.Adversary(knows=1, time_within=0), draws=draws)
    assert abs(by_place.unique.mean() - alone.mean()) > 4 * spread
    cell = so.unicity(data, 1, times=["hour"], targets="all").cells[0].unique
    assert abs(cell.rate - alone.mean()) < 4 * np.sqrt(draws) * spread
