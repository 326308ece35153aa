"""`Unique`: which records could have produced what is known, within the stated errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.adversary.grouping import Grouping
from standout.adversary.knowledge import Knowledge
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.bayes import NATS_PER_FACT, ValueTables, exact_tables
from standout.attacks.queries import query_batches
from standout.attacks.related_facts import hold_related
from standout.attacks.tables import Known
from standout.attacks.unicity import Unicity
from standout.attacks.verdicts import Outcome, Verdicts
from standout.data.catalog import Catalog
from standout.engines.engine import Engine, engine
from standout.scoring.factors import ByCount
from standout.scoring.plan import Combine, ExactTables, Plan, Tie, fixed_point
from standout.scoring.tasks import FindAbove, Score

FEW = 32
"""Candidates per query that are looked at first; two that fit settle most queries."""
AT_ONCE = 4096
"""Candidates of one query whose entries are looked at together."""


class Unique(Unicity):
    """Match iff exactly one record could have produced the knowledge of an adversary with a fixed number of wrong facts.

    Without wrong facts, these are the records that agree with every fact, as in `unicity`. With
    exactly w wrong items, a record lacks w of the items and agrees with all others. With exactly w
    wrong values, it holds all items, disagrees with w facts in every known channel and agrees with
    all others. A fact without a value or time that the adversary would know comes only from an
    entry without one, if the knowledge was drawn from this release. How facts are chosen plays no
    role, except for a relation among them (of one receipt, of one week, consecutive): a record must
    hold all facts in that relation, if the release shows it.
    """

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Agreement tables."""
        who = facts.adversary
        if who is None or not (who.wrong or _shows_a_gap(dataset, facts, who)):
            return super().compile(dataset, facts, exclude)
        known = Known.of(dataset, facts, exclude)
        everyone = ByCount(np.zeros(dataset.longest + 1))
        tables = _tables(known, who)
        return Plan(
            combine=Combine.EXACT,
            tie=Tie.INDEX,
            use_value=tables.use_value,
            use_time=tables.use_time,
            filtered=facts.length_within is not None,
            tables=known.tables(),
            scale=tables.scale,
            base=np.zeros(facts.n_queries),
            exact=tables,
            places=known.cells.places if tables.use_value else None,
            factor=everyone,
            weight=everyone,
        )

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff exactly one record could have produced the knowledge."""
        if seen.plan.exact is None:
            return super().decide(seen)
        n = seen.partials.n
        return np.where(n > 0, 1.0 / np.maximum(n, 1), 0.0), n == 1

    def review(
        self, dataset: Catalog, facts: Facts, verdicts: Verdicts, watch: Array, exclude: Array
    ) -> Verdicts:
        """Match iff exactly one of the records holds the facts in their relation."""
        grouping = facts.adversary and facts.adversary.choice.grouping
        if not grouping or grouping.lacking(dataset):
            return verdicts
        alone = self._alone(dataset, facts, grouping, exclude)
        matched = alone >= 0
        right = matched & (alone == watch)
        return replace(
            verdicts,
            best=np.where(matched, alone, verdicts.best),
            matched=matched,
            n_tied=np.where(matched, 1, verdicts.n_tied),
            rank=np.where(right, 1, verdicts.rank),
            credit=np.where(matched & (watch >= 0), right, verdicts.credit),
        )

    def _alone(self, dataset: Catalog, facts: Facts, grouping: Grouping, exclude: Array) -> Array:
        """Per query: the only record that could have produced the facts in their relation; -1 where there is none or several."""
        out = np.full(facts.n_queries, -1, np.int64)
        done = 0
        for part, gone in query_batches(dataset, facts, exclude, False, engine("memory", dataset)):
            plan = super().compile(dataset, part, gone)
            found, cut = dataset.map(Score(plan, k=FEW)), plan.tables.query.cut
            query, turn = np.nonzero(found.top_score >= cut[:, None])
            query, record = query, found.top[query, turn]
            n, last = _count(dataset, part, grouping, query, record)
            # where more records agree with the facts than were listed, two that hold them are enough
            for q in np.flatnonzero((found.n_cut > FEW) & (n < 2)).tolist():
                one = super().compile(dataset, part.part(q, q + 1), gone[q : q + 1])
                listed = dataset.map(FindAbove(one, one.tables.query.cut)).record
                n[q], last[q] = 0, -1
                for lo in range(0, listed.size, AT_ONCE):
                    some = listed[lo : lo + AT_ONCE]
                    more, held = _count(dataset, part, grouping, np.full(some.size, q), some)
                    n[q], last[q] = n[q] + more[q], max(last[q], held[q])
                    if n[q] > 1:
                        break
            out[done : done + part.n_queries] = np.where(n == 1, last, -1)
            done += part.n_queries
        return out


def _count(
    dataset: Catalog, facts: Facts, grouping: Grouping, query: Array, record: Array
) -> tuple[Array, Array]:
    """Per query: number of its candidates that hold the facts in their relation, and one of them (-1 = none)."""
    held = hold_related(dataset, facts, grouping, query, record)
    one = np.full(facts.n_queries, -1, np.int64)
    one[query[held]] = record[held]
    return np.bincount(query[held], minlength=facts.n_queries), one


def why_not_unique(who: Adversary, release: Catalog | None = None) -> str:
    """Why uniqueness is not defined for this adversary, or on this release; nothing if it is.

    Parameters
    ----------
    who
        The adversary.
    release
        The data that is searched; None for the source itself.
    """
    if who.wrong_varies:
        return "each fact may be wrong with some probability, so the facts exclude hardly any record with certainty"
    if release is None or release.origin is None:
        return ""
    view = who.view
    release, who = seen_through(release, who), who.without_view
    made = release.mechanism
    if made is None:
        what = "this view" if view else "further channels"
        return f"what the defense did cannot be stated for {what}, so a record that disagrees with the facts is not excluded"
    swapped = made.attributes > 0
    related = who.choice.grouping
    reads_time = who.tells_time(release) or (related is not None and release.has_time)
    removed = made.lost > 0 or made.hidden > 0 or made.cap is not None
    changed = [
        what
        for what, known in (
            ("removes items", made.kept_pairs < 1),
            ("removes entries", removed),
            ("moves entries to other records", made.moved > 0 or made.replaced > 0),
            ("changes values", who.tells_value(release) and (swapped or made.value is not None)),
            ("changes times", reads_time and (swapped or made.time is not None)),
            ("exchanges what belongs to an entry", related is not None and swapped),
        )
        if known
    ]
    if not changed:
        return ""
    return f"the defense {' and '.join(changed)}, so a record that disagrees with the facts is not excluded"


def is_unique(
    release: Catalog, knowledge: Knowledge, target: Array, engine_: str | Engine = "memory"
) -> Array:
    """Bool (queries): whether the target's record is the only one that could have produced what is known.

    Parameters
    ----------
    release
        The data that is searched.
    knowledge
        Drawn by an adversary with a fixed number of wrong facts (`why_not_unique`).
    target
        Record of each query in the release, -1 = not released, and so not unique.
    engine_
        Name of an engine, or an engine.
    """
    seen = Unique().run(release, knowledge, engine_, watch=target, lineup=False)
    return np.asarray(seen.matched & (seen.credit == 1.0))


def _shows_a_gap(dataset: Catalog, facts: Facts, who: Adversary) -> bool:
    """Whether a fact lacks a value or time that the adversary would know if the entry had one.

    Another release may have filled the gap, so there the fact excludes nobody.
    """
    return facts.from_release and bool(
        (who.tells_value(dataset) and np.isnan(facts.value).any())
        or (who.tells_time(dataset) and np.isnan(facts.day).any())
    )


def _tables(known: Known, who: Adversary) -> ExactTables:
    """Tables of an exact plan whose probabilities say only what is possible: 1 or 0, for every record."""
    data, n = known.dataset, known.facts.n_queries
    n_facts = np.diff(known.query_ptr)
    n_missing = known.n_known - n_facts
    wrong_items = who.wrong_kind == "item"
    # an item that the release lacks is a wrong item of every record; where values are wrong, no
    # record is possible
    wrong = (
        who.wrong - n_missing if wrong_items else np.where(n_missing > 0, n_facts + 1, who.wrong)
    )
    use_value, use_time = who.tells_value(data), who.tells_time(data)
    value = _value_tables(known, who, use_value)
    ones, nothing = np.ones(known.item.size), np.empty(0)
    return ExactTables(
        wrong_items=wrong_items,
        use_value=use_value,
        use_time=use_time,
        reach=who.time_ticks(data),
        tick_span=int(data.tick_span),
        n_marked=-1,
        most_facts=int(n_facts.max(initial=1)),
        most_wrong=int(wrong.max(initial=0)),
        wrong=np.asarray(wrong, np.int64),
        log_ways=np.zeros(n),
        total=np.full(n, 2 * known.item.size, np.int64),
        n_possible=known.n_records,
        scale=fixed_point(NATS_PER_FACT * n_facts),
        **value._asdict(),
        has_tick=known.has_tick & use_time,
        marked=np.zeros(known.item.size, np.int64),
        support=ones,
        mean_right=ones,
        gone_ptr=np.zeros(n + 1, np.int64),
        gone_item=np.empty(0, np.int64),
        log_pick=nothing,
        weight=nothing,
    )


def _value_tables(known: Known, who: Adversary, use_value: bool) -> ValueTables:
    """1 where an entry of that level may be behind a right and a wrong fact."""
    data, errors = known.dataset, who.level_errors(known.dataset)

    def inside(told: Array, which: Array, code: Array) -> Array:
        assert errors is not None
        return errors.inside(told[which], code).astype(np.float64)

    def outside(told: Array, which: Array, code: Array) -> Array:
        assert errors is not None
        return errors.outside(told[which], code).astype(np.float64)

    return exact_tables(known, use_value, inside, outside, np.ones(data.n_levels, np.bool_))
