"""`Unique`: which records could have produced what is known, within the stated errors."""

from __future__ import annotations

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Facts, Knowledge
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.bayes import NATS_PER_FACT, ValueTables, exact_tables
from standout.attacks.tables import Known
from standout.attacks.unicity import Unicity
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.engines.engine import Engine
from standout.scoring.factors import ByCount
from standout.scoring.plan import Combine, ExactTables, Plan, Tie, fixed_point


class Unique(Unicity):
    """Match iff exactly one record could have produced the knowledge of an adversary with a fixed number of wrong facts.

    Without wrong facts, these are the records that agree with every fact, as in `unicity`. With
    exactly w wrong items, a record lacks w of the items and agrees with all others. With exactly w
    wrong values, it holds all items, disagrees with w facts in every known channel and agrees with
    all others. A fact without a value or time that the adversary would know comes only from an
    entry without one, if the knowledge was drawn from this release. How facts are chosen plays no
    role.
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
    removed = made.lost > 0 or made.hidden > 0 or made.cap is not None
    changed = [
        what
        for what, known in (
            ("removes items", made.kept_pairs < 1),
            ("removes entries", removed),
            ("moves entries to other records", made.moved > 0 or made.replaced > 0),
            ("changes values", who.tells_value(release) and (swapped or made.value is not None)),
            ("changes times", who.tells_time(release) and (swapped or made.time is not None)),
        )
        if known
    ]
    if not changed:
        return ""
    return f"the defense {' and '.join(changed)}, so a record that disagrees with the facts is not excluded"


def is_unique(
    release: Catalog, knowledge: Knowledge, target: Array, engine: str | Engine = "memory"
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
    engine
        Name of an engine, or an engine.
    """
    seen = Unique().run(release, knowledge, engine, watch=target, lineup=False)
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
