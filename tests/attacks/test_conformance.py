"""What every registered attack must do, whatever it scores: one suite, also for attacks that come later.

The suite knows no attack by name. Where an attack differs by design, its plan says so: the tie
rule, and the cap that makes the members of a matching set equal (DSS12's random member).
"""

from __future__ import annotations

import inspect
import json
import math
from dataclasses import replace

import numpy as np
import oracle
import pytest
from oracle import Entry, Fact, Table
from strategies import STRANGER, CutEngine, dataset, knowledge, random_table

import standout as so
from standout.attacks import attack as attack_module
from standout.errors import EngineError, ParameterError
from standout.extend import register_attack
from standout.formulas.spacing import K, p_value, spacing
from standout.scoring.plan import Plan, Tie

NAMES = so.attack_names()
CLOSE = 1e-6
N = 97

every_attack = pytest.mark.parametrize("name", NAMES)
every_engine = pytest.mark.parametrize(
    "engine", ["memory", pytest.param("gpu", marks=pytest.mark.gpu)]
)


def machine(engine: str) -> so.Engine:
    """The engine of that name; a GPU that is not there skips the test."""
    if engine == "memory":
        return so.MemoryEngine()
    from standout.engines.gpu import GpuEngine

    try:
        return GpuEngine(block_size=64, threads=64)
    except EngineError as error:
        pytest.skip(str(error))


def full_table() -> Table:
    """Values and days, some missing, events repeated. The first three records hold both ends of every scale and each
    item twice over, so that leaving out another record changes neither the catalogue nor a scale."""
    table = random_table(N, 14, 3, seed=21, missing=0.1, repeats=True)
    ends = [Entry(r, 0, v, d) for r in range(3) for v, d in ((1.0, 10_000.0), (5.0, 11_000.0))]
    catalogue = [Entry(r, i, 3.5, 10_400.0 + 7 * i) for r in (0, 1) for i in range(1, 14)]
    # thirty items more that few hold: no record but the first two then holds a third of the
    # catalogue
    few = [
        Entry(r, 100 + (r * k) % 30, float(1 + k % 5), 10_200.0 + r)
        for r in range(N)
        for k in (1, 7)
    ]
    return Table((*table.entries, *ends, *catalogue, *few))


@pytest.fixture(scope="module")
def table() -> Table:
    return full_table()


@pytest.fixture(scope="module")
def data(table) -> so.Dataset:
    return dataset(table)


@pytest.fixture(scope="module")
def presence() -> so.Dataset:
    return dataset(Table(full_table().entries, values=False, days=False))


WHO = so.Adversary(knows=4, wrong=1, value_within=1, time_within=14)


@pytest.fixture(scope="module")
def targets(data) -> np.ndarray:
    """Records to attack, heavy ones among them."""
    return WHO.eligible(data)[::3]


@pytest.fixture(scope="module")
def aux(data, targets) -> so.Knowledge:
    return WHO.sample(data, targets, seed=6)


def plan_of(attack: so.Attack, data: so.Dataset, aux: so.Knowledge) -> Plan:
    facts = aux.bind(data)
    return attack.fit(data, facts).compile(data, facts, np.full(facts.n_queries, -1, np.int64))


def check_verdicts(
    attack: so.Attack,
    data: so.Dataset,
    aux: so.Knowledge,
    watch: np.ndarray,
    engine: str = "memory",
) -> so.Verdicts:
    """run() says of the scores exactly what scores() says, by the order that the plan states."""
    v = attack.run(data, aux, machine(engine), watch=watch)
    plan = plan_of(attack, data, aux)
    scores = attack.scores(data, aux, machine(engine))
    cap = np.where(plan.tables.query.cap < 2**31 - 1, plan.score(plan.tables.query.cap), np.inf)
    scores = np.minimum(scores, cap[:, None])
    assert scores.shape == (aux.n_queries, data.n_records)
    assert not np.isnan(scores).any()
    for q, row in enumerate(scores):
        order = np.sort(row[np.isfinite(row)])[::-1]
        assert v.n_candidates[q] == order.size
        if order.size == 0:
            assert v.best[q] == -1
            assert not v.matched[q]
            continue
        first = np.flatnonzero(row == order[0])
        if plan.tie == Tie.SHORT:
            first = first[np.argsort(data.lengths[first], kind="stable")]
        assert v.best[q] in (first if plan.tie == Tie.HASH else first[:1])
        assert v.score[q] == order[0]
        check_second(v, q, row, order)
        check_watched(v, q, row, int(watch[q]), data.n_records)
    np.testing.assert_array_equal(v.answer, np.where(v.matched, v.best, -1))
    assert ((v.share >= 0) & (v.share <= 1) | np.isnan(v.share)).all()
    assert ((v.absent >= 0) & (v.absent <= 1) | np.isnan(v.absent)).all()
    assert np.isfinite(v.statistic).all()
    assert (v.n_matching <= v.n_candidates).all()
    return v


def check_second(v: so.Verdicts, q: int, row: np.ndarray, order: np.ndarray) -> None:
    if order.size < 2:
        assert np.isnan(v.second[q])
        assert v.runner_up[q] == -1
        assert v.eccentricity[q] == 0
        return
    assert v.second[q] == order[1]
    assert row[v.runner_up[q]] == order[1]
    assert v.runner_up[q] != v.best[q]
    sd, slack = float(order.std()), oracle.sigma_slack(order)
    assert v.sigma[q] == pytest.approx(sd, rel=0, abs=slack)
    if order[0] == order[1]:
        assert v.eccentricity[q] == 0
    elif sd > 2 * slack:
        assert v.eccentricity[q] == pytest.approx((order[0] - order[1]) / sd, rel=2 * slack / sd)


def check_watched(v: so.Verdicts, q: int, row: np.ndarray, w: int, n_records: int) -> None:
    if np.isfinite(row[w]):
        assert v.rank[q] == (row >= row[w]).sum()
    else:
        assert v.rank[q] == v.n_candidates[q] + 1
    if not np.isnan(v.share[q]):
        assert np.isfinite(v.bits[q])
        assert v.bits[q] >= 0
        if w == v.best[q] and v.share[q] > 0:
            assert v.bits[q] == pytest.approx(-math.log2(v.share[q]), abs=1e-9)


def assert_same(a: so.Verdicts, b: so.Verdicts) -> None:
    for field in [
        "best",
        "runner_up",
        "score",
        "second",
        "matched",
        "n_candidates",
        "n_matching",
        "rank",
    ]:
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field), err_msg=field)
    for field in ["sigma", "eccentricity", "statistic", "share", "bits", "absent"]:
        np.testing.assert_allclose(
            getattr(a, field), getattr(b, field), rtol=1e-9, atol=1e-7, err_msg=field
        )


# --- run and scores
# ------------------------------------------------------------------------------------------------


@every_engine
@every_attack
def test_run_says_of_the_scores_what_scores_says(name, data, aux, targets, engine):
    v = check_verdicts(so.attack(name), data, aux, targets, engine)
    assert v.best.size == targets.size


@every_attack
def test_watching_the_best_record_gives_the_share_as_bits(name, data, aux, targets):
    attack = so.attack(name)
    check_verdicts(attack, data, aux, attack.run(data, aux).best.clip(0))


@every_attack
def test_the_same_run_twice_gives_the_same(name, data, aux, targets):
    assert_same(
        so.attack(name).run(data, aux, watch=targets), so.attack(name).run(data, aux, watch=targets)
    )


@every_attack
def test_a_used_attack_answers_as_a_new_one(name, data, aux, targets, presence):
    used = so.attack(name)
    used.run(presence, knowledge([[Fact(0)]]))
    assert_same(used.run(data, aux, watch=targets), so.attack(name).run(data, aux, watch=targets))


@every_attack
def test_who_is_watched_decides_nothing(name, data, aux, targets):
    plain, watched = so.attack(name).run(data, aux), so.attack(name).run(data, aux, watch=targets)
    for field in ["best", "score", "second", "matched", "eccentricity", "statistic", "share"]:
        np.testing.assert_array_equal(getattr(plain, field), getattr(watched, field), err_msg=field)
    assert (plain.rank == 0).all()
    assert np.isnan(plain.bits).all()


@every_attack
def test_a_run_without_a_lineup_decides_alike(name, data, aux, targets):
    full, bare = so.attack(name).run(data, aux), so.attack(name).run(data, aux, lineup=False)
    for field in ["best", "score", "second", "matched", "eccentricity", "statistic"]:
        np.testing.assert_array_equal(getattr(full, field), getattr(bare, field), err_msg=field)


# --- the same answer everywhere
# ------------------------------------------------------------------------------------


@every_attack
@pytest.mark.parametrize("block", [1, 10, 97, 4096])
def test_no_cut_block_or_thread_changes_a_verdict(name, data, aux, targets, block):
    attack = so.attack(name)
    usual = attack.run(data, aux, watch=targets)
    for edges, threads in [([0, N], 2), ([0, 1, 40, 41, N], 1)]:
        engine = CutEngine(data.shards_at(edges, block)[::-1], threads)
        assert_same(attack.run(data, aux, engine=engine, watch=targets), usual)
        np.testing.assert_array_equal(attack.scores(data, aux, engine), attack.scores(data, aux))


@every_attack
@pytest.mark.parametrize(("budget", "most"), [(1, 4096), (48 * 2**20, 5)])
def test_the_size_of_a_batch_changes_nothing(name, data, aux, targets, monkeypatch, budget, most):
    gone = np.where(np.arange(targets.size) % 3 == 0, np.roll(targets, 2), -1)
    attack = so.attack(name)
    usual = (
        attack.run(data, aux, watch=targets, exclude=gone),
        attack.scores(data, aux, exclude=gone),
    )
    monkeypatch.setattr(so.MemoryEngine, "batch_bytes", budget)
    monkeypatch.setattr(so.MemoryEngine, "batch_queries", most)
    assert_same(attack.run(data, aux, watch=targets, exclude=gone), usual[0])
    np.testing.assert_array_equal(attack.scores(data, aux, exclude=gone), usual[1])


# --- a record that is not there
# ------------------------------------------------------------------------------------


@every_attack
@pytest.mark.parametrize("gone", [3, 40, N - 1])
def test_an_excluded_record_is_as_if_it_had_never_been_there(name, table, data, aux, targets, gone):
    rest = dataset(table.without(gone))
    assert rest.n_items == data.n_items
    kept = np.arange(N) != gone
    attack = so.attack(name)
    here = replace(aux, source=rest)
    old, new = (
        attack.scores(data, aux, exclude=np.full(targets.size, gone)),
        attack.scores(rest, here),
    )
    assert np.isneginf(old[:, gone]).all()
    np.testing.assert_array_equal(np.isfinite(old[:, kept]), np.isfinite(new))
    finite = np.isfinite(new)
    np.testing.assert_allclose(old[:, kept][finite], new[finite], atol=CLOSE, rtol=0)
    watch = np.where(targets == gone, 5, targets)
    a = attack.run(data, aux, exclude=np.full(targets.size, gone), watch=watch)
    b = attack.run(rest, here, watch=watch - (watch > gone))
    assert a.n_candidates.tolist() == b.n_candidates.tolist()
    assert a.n_matching.tolist() == b.n_matching.tolist()
    assert not (a.best == gone).any()
    np.testing.assert_allclose(a.score, b.score, atol=CLOSE)
    np.testing.assert_allclose(a.sigma, b.sigma, atol=CLOSE)
    np.testing.assert_allclose(a.share, b.share, atol=1e-4)
    np.testing.assert_allclose(a.bits, b.bits, atol=1e-3)
    clear = np.abs(a.score - a.second) > CLOSE
    np.testing.assert_array_equal((a.best - (a.best > gone))[clear], b.best[clear])


@every_attack
def test_an_item_that_only_the_excluded_record_held_helps_nobody(name, table):
    lonely = Table((*table.entries, Entry(50, 900, 3.0, 10_500.0)))
    data = dataset(lonely)
    attack = so.attack(name)
    v = attack.run(data, knowledge([[Fact(900, 3.0, 10_500.0)]]), exclude=[50])
    assert v.best[0] != 50
    assert not v.matched[0]
    assert v.score[0] == v.second[0]


# --- whatever the data or the knowledge lacks
# ----------------------------------------------------------------------


@every_engine
@every_attack
def test_a_release_of_presence_alone_can_be_attacked(name, presence, targets, engine):
    who = so.Adversary(knows=3, value_within=None, time_within=None)
    v = check_verdicts(
        so.attack(name), presence, who.sample(presence, targets, seed=2), targets, engine
    )
    assert (v.best >= 0).all()


@every_attack
def test_knowledge_of_channels_that_the_release_lacks_is_knowledge_of_items(name, presence):
    attack = so.attack(name)
    known = attack.scores(presence, knowledge([[Fact(1, 3.0, 10_500.0), Fact(2, 1.0)]]))
    np.testing.assert_array_equal(known, attack.scores(presence, knowledge([[Fact(1), Fact(2)]])))


@every_attack
def test_knowledge_of_items_alone_is_enough(name, data, targets):
    who = so.Adversary(knows=3, value_within=None, time_within=None)
    check_verdicts(so.attack(name), data, who.sample(data, targets, seed=2), targets)
    check_verdicts(
        so.attack(name), data, knowledge([[Fact(1)], [Fact(3), Fact(4)]]), np.array([5, 9])
    )


@every_attack
@pytest.mark.parametrize(
    "fact", [Fact(5, 3.0), Fact(5, day=10_435.0), Fact(5, 3.3, 9_000.0)], ids=str
)
def test_one_query_of_one_fact_is_enough(name, data, fact):
    v = check_verdicts(so.attack(name), data, knowledge([[fact]]), np.array([1]))
    assert v.best.shape == (1,)


@every_attack
def test_outside_knowledge_of_many_queries_is_attacked(name, data, aux, targets):
    outside = so.Knowledge.from_arrays(aux.query, aux.item, aux.value, aux.time)
    check_verdicts(so.attack(name), data, outside, targets)


@every_attack
def test_items_that_the_release_does_not_hold_are_no_error(name, data):
    queries = [[Fact(1, 3.0), Fact(STRANGER, 2.0)], [Fact(STRANGER)], [Fact(2, day=10_414.0)]]
    v = check_verdicts(so.attack(name), data, knowledge(queries), np.array([4, 5, 6]))
    assert not v.matched[1]
    assert v.score[1] == v.second[1]


@every_attack
def test_an_item_known_twice_is_no_error(name, data):
    check_verdicts(
        so.attack(name), data, knowledge([[Fact(1, 3.0), Fact(1, 5.0), Fact(2)]]), np.array([4])
    )


@every_engine
@every_attack
def test_a_known_length_bars_records_of_other_lengths(name, data, targets, engine):
    who = so.Adversary(knows=3, value_within=0, time_within=3, length_within=0.2)
    aux = who.sample(data, targets, seed=3)
    outside = np.abs(aux.length[:, None] - data.lengths) > 0.2 * data.lengths + 1e-9
    scores = so.attack(name).scores(data, aux)
    assert outside.any()
    assert np.isneginf(scores[outside]).all()
    check_verdicts(so.attack(name), data, aux, targets, engine)


@every_attack
def test_a_release_of_one_record_or_of_one_item_is_no_error(name):
    one = dataset(Table(tuple(Entry(0, i, 2.0 + i, 9.0 + i) for i in range(1, 9))))
    v = check_verdicts(so.attack(name), one, knowledge([[Fact(1, 3.0, 10.0)]]), np.array([0]))
    assert v.eccentricity[0] == 0
    flat = dataset(Table(tuple(Entry(r, 1, float(r % 5), 10.0 + r) for r in range(6))))
    check_verdicts(so.attack(name), flat, knowledge([[Fact(1, 3.0, 13.0)]]), np.array([3]))


@every_attack
def test_a_record_that_holds_every_item_is_no_error(name, table):
    data = dataset(Table((*table.entries, *(Entry(500, i, 3.0, 10_300.0) for i in table.items))))
    queries = [[Fact(i, 3.0, 10_300.0) for i in table.items], [Fact(1, 3.0, 10_300.0)]]
    check_verdicts(so.attack(name), data, knowledge(queries), np.array([N, N]))


# --- the measurer
# --------------------------------------------------------------------------------------------------


@every_attack
def test_a_record_whose_items_nobody_else_holds_is_matched(name, table):
    mine = [Entry(700, 300 + k, float(1 + k), 10_100.0 + 50 * k) for k in range(4)]
    data = dataset(Table((*table.entries, *mine)))
    aux = so.Adversary(knows=3, value_within=0, time_within=0).sample(data, [N], seed=1)
    v = so.attack(name).run(data, aux, watch=[N])
    assert v.answer.tolist() == [N]
    assert v.rank.tolist() == [1]


@every_attack
@pytest.mark.parametrize("knows", [1, 3, 12])
def test_twins_are_never_told_apart(name, table, knows):
    mine = [
        Entry(r, 300 + k, float(1 + k % 5), 10_100.0 + 9 * k)
        for r in (700, 701)
        for k in range(knows)
    ]
    data = dataset(Table((*table.entries, *mine)))
    aux = so.Adversary(knows=knows, value_within=0, time_within=0).sample(data, [N, N + 1], seed=1)
    v = so.attack(name).run(data, aux, watch=[N, N + 1])
    assert (v.eccentricity == 0).all()
    assert v.rank.tolist() == [2, 2]
    assert (v.bits >= 1 - 1e-9).all()
    # a matching set may hold both; whoever names one person must not
    assert (~v.matched | (v.n_matching == 2)).all()


@every_attack
def test_where_every_record_is_equal_nobody_is_told_apart(name):
    rows = [(i, float(1 + i % 5), 10_000.0 + 9 * i) for i in range(4)]
    fill = [Entry(r, 50 + i, 1.0, 10_000.0) for r in (90, 91) for i in range(20)]
    data = dataset(Table((*(Entry(r, *row) for r in range(40) for row in rows), *fill)))
    aux = so.Adversary(knows=2, value_within=0, time_within=3).sample(data, np.arange(40), seed=1)
    v = so.attack(name).run(data, aux, watch=np.arange(40))
    assert (v.rank == 40).all()
    assert (v.eccentricity == 0).all()
    assert (~v.matched | (v.n_matching == 40)).all()
    np.testing.assert_array_less(np.log2(40) - 1e-6, v.bits)


@every_attack
def test_the_attack_finds_people_and_shuffled_truth_falls_to_chance(name, data, targets):
    from scipy.stats import binomtest

    who = so.Adversary(knows=4, value_within=0, time_within=0)
    everyone = who.eligible(data)
    best = so.attack(name).run(data, who.sample(data, everyone, seed=3)).best
    assert (best == everyone).mean() > 10 / everyone.size
    rng = np.random.default_rng(0)
    hits = sum(int((best == rng.permutation(everyone)).sum()) for _ in range(50))
    assert binomtest(hits, 50 * everyone.size, 1 / everyone.size).pvalue > 1e-3


# --- ties
# ----------------------------------------------------------------------------------------------------------


def relabeled(table: Table, order: np.ndarray) -> Table:
    """The same release with record r renamed to order[r]."""
    return Table(
        tuple(e._replace(record=int(order[e.record])) for e in table.entries),
        table.values,
        table.days,
    )


@every_engine
@every_attack
@pytest.mark.parametrize("channels", [True, False], ids=["all-channels", "items-only"])
def test_no_renaming_of_records_changes_a_credit(name, table, channels, engine):
    table = Table(table.entries, values=channels, days=channels)
    release = dataset(table)
    who = so.Adversary(
        knows=2, value_within=1 if channels else None, time_within=30 if channels else None
    )
    targets = who.eligible(release)
    aux = who.sample(release, targets, seed=8)
    usual = so.attack(name).run(release, aux, watch=targets)
    assert (usual.n_tied > 1).any()
    by_length = np.argsort(np.argsort(release.lengths, kind="stable"))
    for order in (by_length, N - 1 - by_length, np.arange(N)[::-1]):
        renamed = dataset(relabeled(table, order))
        v = so.attack(name).run(
            renamed, replace(aux, source=renamed), machine(engine), watch=order[targets]
        )
        np.testing.assert_allclose(v.credit, usual.credit, rtol=1e-12, err_msg="credit")
        assert v.n_tied.tolist() == usual.n_tied.tolist()


@every_attack
def test_the_credits_of_all_candidates_of_a_query_add_up_to_one(name, data, aux, targets):
    credit = sum(
        np.nan_to_num(
            so.attack(name).run(data, aux, watch=np.full(targets.size, r), lineup=False).credit
        )
        for r in range(N)
    )
    np.testing.assert_allclose(credit, 1.0)


# --- the spacing test
# ----------------------------------------------------------------------------------------------


@every_attack
def test_the_spacing_test_is_offered_as_a_decision_rule(name, data, aux, targets):
    usual = so.attack(name).run(data, aux, watch=targets)
    assert np.isnan(usual.spacing).all()
    told = so.attack(name).run(data, aux, watch=targets, spacing=True)
    assert_same(told, usual)
    scores = so.attack(name).scores(data, aux)
    plan = plan_of(so.attack(name), data, aux)
    cap = np.where(plan.tables.query.cap < 2**31 - 1, plan.score(plan.tables.query.cap), np.inf)
    top = -np.sort(-np.minimum(scores, cap[:, None]), axis=1)[:, : K + 1]
    np.testing.assert_allclose(
        told.spacing, p_value(spacing(np.where(np.isfinite(top), top, np.nan))), rtol=1e-6
    )
    ruled = so.attack(name, decide="spacing", level=0.3).run(data, aux, watch=targets)
    np.testing.assert_array_equal(ruled.spacing, told.spacing)
    np.testing.assert_array_equal(ruled.matched, told.spacing <= 0.3)
    np.testing.assert_array_equal(ruled.credit, usual.credit)
    assert np.isfinite(ruled.statistic).all()


@every_attack
def test_the_decision_rule_is_part_of_the_options_and_of_the_name_on_screen(name):
    options = so.attack(name, decide="spacing", level=0.01).options()
    assert (options["decide"], options["level"]) == ("spacing", 0.01)
    assert so.attack(name, **options).options() == options
    assert "spacing" in repr(so.attack(name, **options))
    assert "decide" not in so.attack(name).options()


@pytest.mark.parametrize(
    "options",
    [{"decide": "guess"}, {"decide": "spacing", "level": 0}, {"decide": "spacing", "level": 1.5}],
)
def test_a_decision_rule_that_does_not_exist_is_refused(options):
    with pytest.raises(ParameterError, match=r"decide='guess'|level="):
        so.attack("scoreboard-rh", **options)


# --- the attack as an object
# ---------------------------------------------------------------------------------------


@every_attack
def test_options_are_plain_data_and_rebuild_the_attack(name, data, aux, targets):
    attack = so.attack(name)
    attack.run(data, aux)
    options = attack.options()
    assert json.loads(json.dumps(options)) == options
    assert so.attack(name, **options).options() == options
    takes = set(inspect.signature(type(attack).__init__).parameters) - {"self", "args", "kwargs"}
    assert options or not takes
    assert attack.name == name
    assert name in repr(attack)


def test_an_attack_registered_by_a_user_is_found_by_name_and_listed_after_the_built_in_ones(
    data, aux, monkeypatch
):
    from standout.attacks.scoreboard import ScoreboardRH

    monkeypatch.setattr(attack_module, "_REGISTRY", dict(attack_module._REGISTRY))

    @register_attack("items-only")
    class ItemsOnly(ScoreboardRH):
        """Scoreboard-RH under another name."""

    assert so.attack_names() == [*NAMES, "items-only"]
    mine = so.attack("items-only", phi=0.5)
    assert mine.name == "items-only"
    np.testing.assert_array_equal(
        mine.scores(data, aux), so.attack("scoreboard-rh").scores(data, aux)
    )


def test_no_attack_is_listed_twice():
    assert {"scoreboard", "scoreboard-rh"} <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)
