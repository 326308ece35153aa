"""The adaptive attack uses the adversary's choice rule and the known length of the target."""

from dataclasses import replace

import numpy as np
import pytest
from test_adaptive import scores
from test_adaptive_laws import below, credit, people

import standout as so
from standout.data.mechanism import Mechanism, Origin
from standout.defenses.parse import parse_defense
from standout.engines.memory import MemoryEngine
from standout.scoring.partials import LOWEST
from standout.scoring.tasks import AllScores

RULES = {
    "outside-top": so.Adversary(knows=3, value_within=1, time_within=14, choose="outside-top:20"),
    "outside-top, one wrong": so.Adversary(
        knows=3, wrong=1, value_within=1, time_within=14, choose="outside-top:20"
    ),
    "rare": so.Adversary(knows=3, value_within=1, time_within=14, choose="rare:0.5@0.22"),
    "length": so.Adversary(knows=3, value_within=1, time_within=14, length_within=0.3),
    "rule and length": so.Adversary(
        knows=2, value_within=1, time_within=14, choose="outside-top:10", length_within=0.4
    ),
}
DEFENSES = [
    "drop-entries(share=0.4)",
    "drop-rare-items(min_support=10)",
    "cap-entries(most=10)",
    "swap-entries(share=0.3)",
    "randomized-response(epsilon=5)",
    "coarsen-time(to=month)",
    "opaque-items()",
]


@pytest.fixture(scope="module")
def source():
    return people(4, n=150, n_items=70)


@pytest.mark.parametrize("rule", RULES)
def test_an_unchanged_release_is_scored_as_the_exact_likelihood_scores_the_source(source, rule):
    # values alone, so that several records fit
    who = replace(RULES[rule], knows=2, time_within=None)
    targets = who.eligible(source)[:40]
    knowledge = who.sample(source, targets, 3)
    release = replace(source, origin=Origin(source, None, Mechanism(lost=1e-13)))
    found, _ = scores(release, knowledge, np.full(targets.size, -1), 0.0)
    attack = so.attack("likelihood", calibrate=False).fit(source, knowledge)
    plan = attack.compile(source, knowledge.bind(source), np.full(targets.size, -1))
    exact = (
        MemoryEngine().map(AllScores(plan, source.n_records), [source.index]).score.astype(float)
    )
    exact = np.where(exact == LOWEST, np.nan, exact / plan.scale[:, None])
    compared = 0
    for q in range(targets.size):
        # records that both allow: the scores differ by the probability of an absent person, which
        # is the same for all
        both = np.isfinite(exact[q]) & (found[q] > found[q, targets[q]] - 12)
        assert both[targets[q]]
        gap = found[q, both] - exact[q, both]
        assert gap == pytest.approx(gap[0], abs=1e-4)
        compared += both.sum() - 1
        excluded = np.isnan(exact[q])
        assert (found[q, excluded] < found[q, targets[q]] - 8).all()
    assert compared > 10


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("text", DEFENSES)
def test_a_rule_or_a_known_length_is_no_disadvantage_to_the_adaptive_attack(source, text, rule):
    who, release = RULES[rule], parse_defense(text).apply(source, seed=5)
    adaptive = credit(source, release, who)
    assert not below(adaptive, credit(source, release, who, adapt=False))
    assert not below(adaptive, credit(source, release, who, adapt="ignore"))
    assert not below(credit(source, source, who), adaptive)


@pytest.mark.parametrize(
    "text", ["drop-entries(share=0.4)", "cap-entries(most=10)", "swap-entries(share=0.3)"]
)
def test_a_known_length_helps_the_adaptive_attack(source, text):
    release = parse_defense(text).apply(source, seed=5)
    plain = so.Adversary(knows=2, value_within=None, time_within=None)
    told = replace(plain, length_within=0.05)
    assert credit(source, release, told).mean() > credit(source, release, plain).mean() + 0.08


def test_a_rule_helps_the_adaptive_attack_to_count_only_items_that_can_be_known(source):
    release = parse_defense("drop-entries(share=0.4)").apply(source, seed=5)
    who = so.Adversary(knows=2, value_within=None, time_within=None, choose="outside-top:20")
    targets = who.eligible(source)
    knowledge = who.sample(source, targets, 3)
    found, _ = scores(release, knowledge, np.full(targets.size, -1), 1e-6)
    # two records that hold both items, and equally many items of the rule, are equally likely
    # whatever else they hold
    pickable = (
        source.popularity_rank[np.searchsorted(source.item_labels, release.item_labels)] >= 20
    )
    same = 0
    facts = knowledge.bind(release)
    for q in range(targets.size):
        items = facts.item[facts.query_ptr[q] : facts.query_ptr[q + 1]]
        seen = {}
        for r in range(release.n_records):
            row = release.record_item[release.record_ptr[r] : release.record_ptr[r + 1]]
            if (items >= 0).all() and np.isin(items, row).all():
                seen.setdefault(int(pickable[row].sum()), []).append((found[q, r], row.size))
        for some in seen.values():
            assert np.ptp([score for score, _ in some]) < 1e-6
            same += len({size for _, size in some}) > 1
    assert same > 0
