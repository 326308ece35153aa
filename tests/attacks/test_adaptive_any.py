"""Laws of attackers on defended releases, for any defense, strength, data and knowledge."""

from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Table
from strategies import dataset, tables
from test_adaptive_laws import credit, people

import standout as so
from standout.data.mechanism import Mechanism, Origin
from standout.defenses.parse import parse_defense
from standout.errors import ParameterError

FAR = 4.0
"""Standard errors beyond which a difference is not sampling error; Hypothesis looks for the worst of many."""

shares = st.sampled_from([0.1, 0.3, 0.5, 0.7])
DEFENSES = st.one_of(
    st.builds("drop-entries(share={})".format, shares),
    st.builds("drop-rare-items(min_support={})".format, st.integers(2, 12)),
    st.builds("keep-top-items(k={})".format, st.integers(10, 40)),
    st.builds("cap-entries(most={})".format, st.integers(4, 15)),
    st.builds("sample-records(share={})".format, shares),
    st.builds("round-values(step={})".format, st.integers(2, 4)),
    st.builds("noise-values(within={})".format, st.integers(1, 3)),
    st.builds("geometric-values(a={})".format, shares),
    st.builds("coarsen-time(to={})".format, st.sampled_from(["week", "month", "quarter", "year"])),
    st.builds("shift-time(days={})".format, st.integers(5, 90)),
    st.builds("swap-entries(share={})".format, shares),
    st.builds("swap-attributes(share={})".format, shares),
    st.builds("suppress-km(k={}, m=2)".format, st.integers(2, 5)),
    st.builds("randomized-response(epsilon={})".format, st.integers(3, 7)),
    st.sampled_from(["drop-values()", "drop-time()", "opaque-items()", "group-items(groups=25)"]),
)
CHAINS = st.one_of(DEFENSES, st.builds("drop-entries(share=0.3) | {}".format, DEFENSES))


@st.composite
def adversaries(draw: st.DrawFn) -> so.Adversary:
    knows = draw(st.integers(1, 4))
    time = draw(st.sampled_from([None, 0, 3, 14]))
    wrong = draw(st.sampled_from([0, 1, 0.25])) if knows > 1 else 0
    rule = draw(st.sampled_from(["uniform", "uniform", "outside-top:10"]))
    return so.Adversary(
        knows=knows,
        wrong=wrong,
        wrong_kind=draw(st.sampled_from(["value", "item"])),
        value_within=draw(st.sampled_from([0, 1])),
        time_within=time,
        choose=rule,
        length_within=draw(st.sampled_from([None, None, 0.3])),
    )


@lru_cache
def data(seed: int) -> so.Dataset:
    return people(seed, n=110, n_items=50)


def beyond(first, second) -> float:
    """Lead of the second rate, in standard errors of the paired difference."""
    gap = second - first
    ties = (first * (1 - first) + second * (1 - second)).mean()
    return float(gap.mean() / max(np.sqrt((gap.var() + ties) / gap.size), 1e-9))


@settings(max_examples=40)
@given(text=CHAINS, who=adversaries(), seed=st.integers(0, 3), knowledge=st.integers(0, 9))
def test_the_adaptive_attack_is_no_worse_than_unaware_ones_and_no_better_than_without_a_defense(
    text, who, seed, knowledge
):
    source = data(seed)
    release = parse_defense(text).apply(source, seed=seed)
    adaptive = credit(source, release, who, knowledge)
    for unaware in (False, "ignore"):
        assert beyond(adaptive, credit(source, release, who, knowledge, adapt=unaware)) < FAR
    assert beyond(credit(source, source, who, knowledge), adaptive) < FAR


TIMES = (
    "drop-time()",
    "coarsen-time(to=year)",
    "coarsen-time(to=quarter)",
    "coarsen-time(to=month)",
    "coarsen-time(to=week)",
)
VALUES = ("drop-values()", "round-values(step=4)", "round-values(step=2)")


@settings(max_examples=15)
@given(
    chain=st.sampled_from([TIMES, VALUES]),
    at=st.lists(st.integers(0, 4), min_size=2, max_size=2, unique=True),
    knows=st.integers(1, 3),
    seed=st.integers(0, 3),
    knowledge=st.integers(0, 9),
)
def test_a_dropped_channel_finds_no_more_people_than_a_coarse_one_and_a_coarse_one_no_more_than_the_source(
    chain, at, knows, seed, knowledge
):
    source, who = data(seed), so.Adversary(knows=knows, value_within=1, time_within=3)
    chosen = sorted({0, *(k % len(chain) for k in at)})
    found = [
        credit(source, parse_defense(chain[k]).apply(source, seed=seed), who, knowledge)
        for k in chosen
    ]
    for stronger, weaker in pairwise([*found, credit(source, source, who, knowledge)]):
        assert beyond(weaker, stronger) < FAR


@settings(max_examples=25)
@given(
    table=tables(values=True, days=True, min_records=2),
    knows=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_a_release_without_entries_is_a_guess_among_all_records(
    table: Table, knows: int, seed: int
):
    source = dataset(table)
    who = so.Adversary(knows=knows, value_within=None)
    if who.eligible(source).size == 0:
        return
    empty = source.with_entries(np.zeros(source.n_entries, np.bool_))
    release = replace(empty, origin=Origin(source, None, Mechanism(lost=1.0)))
    assert credit(source, release, who, seed) == pytest.approx(1 / source.n_records)


@settings(max_examples=25)
@given(table=tables(values=True, days=True, min_records=2), seed=st.integers(0, 2**64 - 1))
def test_a_defense_that_removes_everything_says_that_only_a_guess_is_left(table: Table, seed: int):
    source = dataset(table)
    for text in ("drop-entries(share=1)", "drop-rare-items(min_support=1000)"):
        with pytest.raises(ParameterError, match=f"leaves no entry.* 1 in {source.n_records}"):
            parse_defense(text).apply(source, seed=seed)
