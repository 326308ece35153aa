"""Time tables are indexed by signed gaps: known time minus the entry's time."""

import numpy as np
import pytest

import standout as so
from standout.attacks.attack import Attack
from standout.attacks.scoreboard import threshold_tables
from standout.attacks.tables import Known
from standout.kernels.moments import Window
from standout.scoring.plan import Combine

REACH = 5


class OneSided(Attack):
    """Adds a value table and a time table without any symmetry, drawn at random."""

    def __init__(self, shift=0, combine=Combine.SUM, veto=False, values=True):
        rng = np.random.default_rng(5)
        self.shift, self.combine = shift, combine
        self.value = rng.integers(1, 9, (7, 6 if values else 1)).astype(float)
        self.time = rng.integers(1, 99, (3, 2 * REACH + 2)).astype(float)
        if veto:
            self.time[:, 2] = -np.inf

    def compile(self, dataset, facts, exclude):
        known = Known.of(dataset, facts, exclude)
        return known.plan(
            self.combine,
            self.value[known.item % 7],
            self.time,
            time_row=known.item % 3,
            gap_shift=self.shift,
        )

    def decide(self, seen):
        return seen.score, seen.score > 0


def dense(data, queries, attack):
    """The score of every record, entry by entry."""
    out = np.zeros((len(queries), data.n_records))
    for q, facts in enumerate(queries):
        for r in range(data.n_records):
            parts = []
            for item, day in facts:
                mine = [
                    k
                    for k in range(data.record_ptr[r], data.record_ptr[r + 1])
                    if data.record_item[k] == item
                ]
                scores = []
                for k in mine:
                    code = int(data.record_code[k]) if attack.value.shape[1] > 1 else 0
                    column = 2 * REACH + 1
                    if data.record_tick[k] != data.no_tick:
                        gap = day - (int(data.record_tick[k]) + data.first_tick)
                        step = 2**attack.shift
                        column = min(max((gap + step // 2) // step, -REACH), REACH) + REACH
                    scores.append(attack.value[item % 7, code] + attack.time[item % 3, column])
                if mine:
                    parts.append(max(scores))
            finite = [max(x, 0.0) if np.isfinite(x) else 0.0 for x in parts]
            if attack.combine == Combine.SUM:
                out[q, r] = sum(finite)
            elif len(parts) == len(facts):
                out[q, r] = min(finite)
    return out


def release(missing, repeats, values=True):
    rng = np.random.default_rng(11)
    record, item = np.divmod(np.flatnonzero(rng.random(60 * 12) < 0.6), 12)
    if repeats:
        record, item = np.tile(record, 2), np.tile(item, 2)
    day = rng.integers(20_000, 20_030, record.size).astype(float)
    if missing:
        day[rng.random(day.size) < 0.2] = np.nan
    value = rng.integers(1, 6, record.size) if values else None
    return so.Dataset.from_arrays(record, item, value, day)


@pytest.mark.parametrize("combine", [Combine.SUM, Combine.MIN])
@pytest.mark.parametrize("shift", [0, 1, 2])
@pytest.mark.parametrize(
    ("missing", "repeats", "values", "veto"),
    [
        (False, False, True, False),
        (True, False, True, True),
        (True, True, True, False),
        (True, False, False, False),
    ],
)
def test_tables_without_symmetry_score_as_the_dense_sum(
    combine, shift, missing, repeats, values, veto
):
    data = release(missing, repeats, values)
    rng = np.random.default_rng(2)
    queries = [
        [(int(i), int(rng.integers(19_990, 20_040))) for i in rng.choice(12, 3, replace=False)]
        for _ in range(20)
    ]
    facts = [(q, item, day) for q, query in enumerate(queries) for item, day in query]
    query, item, day = zip(*facts, strict=True)
    attack = OneSided(shift, combine, veto, values)
    got = attack.scores(
        data, so.Knowledge.from_arrays(query, item, None if not values else np.ones(len(item)), day)
    )
    np.testing.assert_allclose(got, dense(data, queries, attack), atol=1e-6)
    assert np.unique(got).size > 3


def test_an_entry_that_is_vetoed_adds_nothing_beside_the_largest_contribution_of_the_other_table():
    data = release(missing=False, repeats=False)
    attack = OneSided()
    attack.value[:], attack.time[:] = 0.0, 1.0
    attack.value[:, 2] = -np.inf
    aux = so.Knowledge.from_arrays([0], [3], [1.0], [20_010.0])
    expected = dense(data, [[(3, 20_010)]], attack)[0]
    assert set(expected) == {0.0, 1.0}
    np.testing.assert_array_equal(attack.scores(data, aux)[0], expected)
    np.testing.assert_array_equal(
        attack.scores_of(data, aux, np.arange(data.n_records))[0], expected
    )


def test_equal_facts_share_rows_of_the_time_table():
    data = release(missing=False, repeats=False)
    who = so.Adversary(knows=4, time_within=14)
    facts = who.sample(data, who.eligible(data)[:40]).bind(data)
    nobody = np.full(40, -1, np.int64)
    made = threshold_tables(Known.of(data, facts, nobody), np.ones(160), 0.0, 14)
    assert made.time.shape == (2, 2 * 15 + 2)
    odds = so.attack("likelihood", noise=so.Noise(0.1, 0.1, None, Window(14)))
    assert odds.compile(data, facts, nobody).tables.row.odds_time.shape[0] <= 2
