"""Favorite, recent and rarest items: draws, candidates, posteriors and unique shares against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import combinations, permutations

import numpy as np
import pytest

import standout as so
from standout.adversary.ranked import rank_of_codes
from standout.adversary.seen import seen_through
from standout.errors import EngineError, ParameterError
from standout.formulas.ranked import log_ranked_ways
from standout.scoring.ranked_ways import RankedWays
from standout.views.ranks import competition_ranks

CHOICES = ("favorite", "recent", "rarest")


def visits(seed=0, n=60, per=14, places=10):
    """Visits (person, place, day, value) with a favorite or two each, many ties, and some visits without a day."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, places + 1)
    person = np.repeat(np.arange(n), per)
    home = rng.permuted(np.tile(np.arange(places), (n, 1)), axis=1)
    place = home[person, rng.choice(places, person.size, p=share / share.sum())]
    day = rng.integers(0, 12, person.size).astype(float)
    day[rng.random(person.size) < 0.05] = np.nan
    return {
        "person": person,
        "place": place,
        "day": day,
        "value": rng.integers(1, 4, person.size).astype(float),
    }


def read(columns, **more):
    return so.Dataset.from_arrays(
        columns["person"], columns["place"], columns["value"], columns["day"], **more
    )


class Oracle:
    """What a ranked choice can say of each person, from a dictionary of events."""

    def __init__(self, columns, choose, knows):
        self.knows, held = knows, defaultdict(lambda: defaultdict(list))
        for r, i, d, v in zip(
            *(columns[x].tolist() for x in ("person", "place", "day", "value")), strict=True
        ):
            held[r][i].append((d, v))
        support = Counter(i for own in held.values() for i in own)
        self.events, self.rank = {}, {}
        for r, own in held.items():
            if choose == "recent":
                own = {i: [e for e in ev if not math.isnan(e[0])] for i, ev in own.items()}
                own = {i: ev for i, ev in own.items() if ev}
                last = {i: max(d for d, _ in ev) for i, ev in own.items()}
                own = {i: [e for e in ev if e[0] == last[i]] for i, ev in own.items()}
                key = {i: -d for i, d in last.items()}
            elif choose == "favorite":
                key = {i: -len(ev) for i, ev in own.items()}
            else:
                key = {i: support[i] for i in own}
            self.events[r] = own
            self.rank[r] = {i: 1 + sum(k < key[i] for k in key.values()) for i in key}

    def sets(self, r):
        """Each set of items that can be known of a person, with its chance: all orders of ties are equally likely."""
        rank = self.rank[r]
        some = sorted(rank, key=lambda i: (rank[i], i))
        if len(some) < self.knows:
            return {}
        border = rank[some[self.knows - 1]]
        sure = [i for i in some if rank[i] < border]
        tied = [i for i in some if rank[i] == border]
        made = [frozenset([*sure, *more]) for more in combinations(tied, self.knows - len(sure))]
        return {one: 1 / len(made) for one in made}

    def chance(self, r, facts, told):
        """P(items, ranks and what is told | person); a known event is a random one of those of its item."""
        p = self.sets(r).get(frozenset(i for i, _, _ in facts), 0.0)
        for item, rank, seen in facts:
            if p == 0.0 or self.rank[r].get(item) != rank:
                return 0.0
            events = self.events[r][item]
            p *= sum(told(seen, e) for e in events) / len(events)
        return p


def facts_of(known, q):
    return [
        (
            int(known.item[f]),
            int(known.channels["rank"][f]),
            (float(known.time[f]), float(known.value[f])),
        )
        for f in range(*known.query_ptr[q : q + 2])
    ]


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


TOLD = {
    "items": ({"value_within": None}, lambda seen, event: 1.0),
    "values": ({}, lambda seen, event: float(same(seen[1], event[1]))),
    "both": (
        {"value_within": 0, "time_within": 0},
        lambda seen, event: float(same(seen[1], event[1]) and same(seen[0], event[0])),
    ),
}


@pytest.mark.parametrize("known", TOLD)
@pytest.mark.parametrize("knows", [1, 2, 4])
@pytest.mark.parametrize("choose", CHOICES)
def test_candidates_posteriors_and_unique_people_are_those_of_an_enumeration(choose, knows, known):
    columns = visits(seed=knows)
    data, oracle = read(columns), Oracle(columns, choose, knows)
    within, told = TOLD[known]
    who = so.Adversary(knows=knows, choose=choose, **within)
    able = [r for r in oracle.rank if oracle.sets(r)]
    assert who.eligible(data).tolist() == able
    targets = who.eligible(data)
    aux = who.sample(data, targets, seed=3)
    seen = so.attack("likelihood", calibrate=False).run(data, aux, watch=targets)
    unique = so.attack("unicity").run(data, aux, watch=targets)
    for q, target in enumerate(targets.tolist()):
        facts = facts_of(aux, q)
        p = np.array([oracle.chance(r, facts, told) for r in range(data.n_records)])
        assert p[target] > 0
        assert seen.n_candidates[q] == (p > 0).sum()
        assert p[seen.best[q]] == pytest.approx(p.max(), rel=1e-6)
        assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)
        if known != "both":  # in unicity, a missing day excludes nobody
            assert unique.matched[q] == ((p > 0).sum() == 1)


@pytest.mark.parametrize("choose", CHOICES)
def test_the_chance_of_a_pick_is_that_of_all_orders_of_the_ties(choose):
    columns = visits(seed=4, n=25, per=6, places=6)
    oracle = Oracle(columns, choose, 3)
    for r, rank in oracle.rank.items():
        sets = Counter()
        orders = [o for o in permutations(rank) if [rank[i] for i in o] == sorted(rank.values())]
        for order in orders:
            sets[frozenset(order[:3])] += 1 / len(orders)
        n = np.array([sum(x <= 3 for x in rank.values())])
        last = np.array([max((x for x in rank.values() if x <= 3), default=0)])
        ways = log_ranked_ways(n, last, 3)[0]
        if len(rank) < 3:
            assert math.isinf(ways)
            continue
        mine = oracle.sets(r)
        assert mine.keys() == sets.keys()
        for one, p in sets.items():
            assert abs(mine[one] - p) < 1e-9
            assert abs(math.exp(-ways) * math.factorial(3) - p) < 1e-9


@pytest.mark.parametrize("choose", CHOICES)
def test_draws_have_the_chances_of_the_enumeration(choose):
    columns = visits(seed=5, n=12, per=8, places=8)
    data, oracle = read(columns), Oracle(columns, choose, 2)
    who = so.Adversary(knows=2, choose=choose, value_within=None)
    targets, draws = who.eligible(data), 2000
    seen = defaultdict(Counter)
    for seed in range(draws):
        aux = who.sample(data, targets, seed=seed)
        for q, r in enumerate(targets.tolist()):
            seen[r][frozenset(i for i, _, _ in facts_of(aux, q))] += 1
    for r, counts in seen.items():
        chance = oracle.sets(r)
        assert counts.keys() == chance.keys()
        for one, n in counts.items():
            error = 4.5 * math.sqrt(chance[one] * (1 - chance[one]) / draws)
            assert abs(n / draws - chance[one]) <= error + 1e-12


@pytest.mark.parametrize("n_shards", [1, 4])
def test_each_shard_counts_the_ways_of_its_own_records(n_shards):
    columns = visits(seed=12)
    who, oracle = so.Adversary(knows=3, choose="favorite"), Oracle(columns, "favorite", 3)
    seen = seen_through(read(columns), who)
    ways = RankedWays(rank_of_codes(seen), 3, None, int(seen.longest))
    found = np.concatenate([ways.compute(shard) for shard in seen.shards(n_shards)])
    expected = [
        math.log(6 * len(oracle.sets(r))) if oracle.sets(r) else math.inf for r in range(60)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert found[np.isfinite(found)].max() <= ways.largest


def test_data_on_disk_is_loaded_if_it_fits_and_is_refused_otherwise(tmp_path, monkeypatch):
    data = read(visits())
    data.save(tmp_path / "there")
    who = so.Adversary(knows=1, choose="favorite")
    disk = so.ChunkedDataset.open(tmp_path / "there")
    np.testing.assert_array_equal(who.eligible(disk), who.eligible(data))
    monkeypatch.setattr(so.ChunkedDataset, "loaded", lambda self: None)
    with pytest.raises(EngineError, match="needs the records in memory"):
        who.eligible(so.ChunkedDataset.open(tmp_path / "there"))


def test_ranks_are_those_of_a_competition():
    ranks = competition_ranks(np.array([1, 0, 1, 1, 1]), np.array([3.0, 9.0, 2.0, 3.0, 7.0]))
    assert ranks.tolist() == [2, 1, 1, 2, 4]


def test_a_planted_favorite_finds_its_person_and_a_popular_one_does_not():
    columns = visits(seed=6)
    of_seven = columns["person"] == 7
    place = np.where(of_seven & (np.cumsum(of_seven) <= 6), 99, columns["place"])
    visitor = np.flatnonzero((columns["person"] != 7) & (np.arange(place.size) % 14 == 3))
    place[visitor] = 99  # many people go there, but it is nobody else's favorite
    columns["place"] = place
    oracle = Oracle(columns, "favorite", 1)
    assert [r for r, rank in oracle.rank.items() if rank.get(99) == 1] == [7]
    data = read(columns)
    favorite, any_item = (
        so.Adversary(knows=1, choose=c, value_within=None) for c in ("favorite", "uniform")
    )
    found = so.attack("likelihood").run(data, favorite.sample(data, np.array([7]), seed=1))
    assert found.best[0] == 7 and found.n_candidates[0] == 1
    assert (
        so.attack("likelihood")
        .run(data, any_item.sample(data, np.array([7]), seed=1))
        .n_candidates[0]
        > 5
    )


def test_the_favorite_that_belongs_to_nobody_else_is_counted_as_duckdb_counts_it():
    duckdb = pytest.importorskip("duckdb")
    columns = visits(seed=7, n=400, per=12, places=900)
    data = read(columns)
    duckdb.register("frame", data.to_frame())
    counted = duckdb.sql(
        """
        with counts as (select record, item, count(*) n from frame group by all),
        firsts as (select record, item from counts qualify rank() over (partition by record order by n desc) = 1),
        holders as (select item, count(*) people from firsts group by item)
        select record, avg(case when people = 1 then 1.0 else 0.0 end) share, count(*) ties
        from firsts join holders using (item) group by record order by record
        """
    ).fetchall()
    of = {str(record): (share, ties) for record, share, ties in counted}
    who = so.Adversary(knows=1, choose="favorite", value_within=None)
    risk = so.risk(data, who, targets="all", draws=3, seed=2).to_frame(labels=True)
    compared = 0
    for row in risk.to_dict("records"):
        share, ties = of[str(row["record"])]
        if ties == 1 or share in (0.0, 1.0):
            compared += 1
            assert row["unique"] == share
    assert compared > 150 and 0.1 < np.mean([share for share, _ in of.values()]) < 0.9


def test_favorites_beside_an_attribute_and_a_view():
    columns = visits(seed=8)
    age = np.arange(60) % 7
    data = read(columns, attributes={"age": age[columns["person"]].astype(float)})
    who = so.Adversary(knows=2, choose="favorite", within={"age": 0})
    plain = so.Adversary(knows=2, choose="favorite", value_within=None)
    targets = who.eligible(data)
    oracle = Oracle(columns, "favorite", 2)
    aux = who.sample(data, targets, seed=3)
    seen = so.attack("likelihood", calibrate=False).run(data, aux)
    for q, target in enumerate(targets.tolist()):
        lo = aux.query_ptr[q]
        facts = [(int(aux.item[f]), int(aux.channels["rank"][f]), None) for f in (lo, lo + 1)]
        p = np.array(
            [
                oracle.chance(r, facts, lambda *_: 1.0) * (age[r] == age[target])
                for r in range(data.n_records)
            ]
        )
        assert seen.n_candidates[q] == (p > 0).sum()
        assert seen.share[q] == pytest.approx(p.max() / p.sum(), rel=1e-6)
    np.testing.assert_array_equal(targets, plain.eligible(data))
    hours = so.Adversary(knows=1, choose="recent", view="weekday", within={"weekday": 1})
    assert [c.name for c in seen_through(data, hours).channels_read] == ["weekday", "rank"]


@pytest.mark.parametrize("choose", CHOICES)
def test_an_audit_measures_ranked_choices_and_says_what_is_known(choose, tmp_path):
    data = read(visits(seed=9, n=120, places=40))
    who = so.Adversary(knows=2, choose=choose, value_within=None)
    found = so.Audit(data, who, ["likelihood", "unicity", "scoreboard-rh"], 60, seed=1).run()
    words = {
        "favorite": "the 2 most frequent items, in order",
        "recent": "the 2 last items",
        "rarest": "the 2 rarest items",
    }[choose]
    assert found.results[0]["adversary"]["words"].startswith(words)
    assert found.results[0]["unique"]["rate"] > 0
    assert found.results[0]["more_items"] > 3
    assert ("entries without a time are left out" in " ".join(found.warnings)) == (
        choose == "recent"
    )
    page = so.render(found, tmp_path / "report.html").read_text()
    assert words.replace("the 2", "the") in page


def test_after_a_defense_the_fitted_attacker_runs_and_nobody_is_called_unique():
    data = read(visits(seed=10, n=120))
    release = so.defense("drop-entries", share=0.2).apply(data, seed=7)
    who = so.Adversary(knows=2, choose="favorite", value_within=None)
    found = so.Audit(data, who, ["likelihood"], 40, seed=1, release=release).run()
    assert [one["attack"]["label"] for one in found.results[0]["attacks"]] == [
        "likelihood (fitted)",
        "likelihood (naive)",
    ]
    assert found.results[0]["unique"] is None
    assert any("fitted attacker" in note for note in found.warnings)


def test_what_a_ranked_choice_cannot_be_combined_with_is_refused():
    columns = visits()
    for more, message in (
        ({"wrong": 1}, "a wrong fact does not have"),
        ({"wrong": 0.2, "wrong_kind": "item"}, "a wrong fact does not have"),
        ({"length_within": 0.5}, "length_within=0.5: not possible"),
        ({"within": {"rank": 1}}, "knows the rank of each item exactly"),
    ):
        with pytest.raises(ParameterError, match=message):
            so.Adversary(knows=2, choose="favorite", **more)
    untimed = so.Dataset.from_arrays(columns["person"], columns["place"])
    with pytest.raises(ParameterError, match="needs times"):
        so.Adversary(knows=1, choose="recent").eligible(untimed)
    taken = read(columns, channels={"rank": columns["value"]})
    with pytest.raises(ParameterError, match="has a channel 'rank' already"):
        so.Adversary(knows=1, choose="rarest").eligible(taken)


def test_the_sweep_of_a_ranked_choice_has_no_wrong_facts():
    from standout.audit.sweep import Axes, default_sweep

    made = default_sweep(read(visits(seed=11)), asked=Axes(choose="favorite"))
    assert {who.wrong for who in made} == {0} and len(made) > 5
