"""Tables of `Combine.ADAPTIVE`: an adversary's knowledge and a defense's mechanism, as the compiled kernel takes them."""

from __future__ import annotations

from typing import NamedTuple

from standout.arrays import Array


class AdaptiveTables(NamedTuple):
    """Tables of one batch of queries. Symbols are those of `formulas.defended`."""

    use_value: bool
    use_time: bool
    wrong_items: bool
    """Whether wrong facts are items that the target lacks."""
    wrong_values: bool
    """Whether wrong facts have a wrong value and day."""
    n_wrong: int
    """Exact number of wrong facts; 0 if each fact is wrong independently."""
    share_wrong: float
    """Probability that a fact is wrong, independently of the others; 0 if their number is known."""
    floor: float
    """Added to every factor, so that no single fact excludes a record."""
    kept_pairs: float
    grouped: bool
    """Whether several items of the source share one item of the release: every entry counts as an item."""
    merged: bool
    """Whether a record's entries of a group were merged into one of them."""
    together: int
    """Most facts of a query about one released item."""
    most_facts: int
    cap: int
    """Records with this many items may have lost some; -1 = no cap."""
    miss: float
    """Probability that an item of the source is not in the released record; for records below the cap."""
    lost: float
    """Probability that an entry was removed."""
    within: int
    """Largest error of a known time, in ticks."""
    per_day: int
    """Ticks of a day."""
    shift: int
    """Largest shift of a person's dates, in days."""
    period_first: bool
    span_first: int
    """First tick of the source, as an offset from the release's first tick."""
    span: int
    """Ticks from the source's first to its last one."""
    day_tick: int
    """Ticks of the release's first day before its first tick."""
    bucket: Array
    """int64 (days of the release and of the shifts before and after): length in ticks of the period that starts on each,
    0 = none. Empty: every tick is a period of its own."""
    near: Array
    """float64 (days): for merged groups, probability per tick of another entry of the record by its distance in days."""
    slack: int
    """Ticks by which a shown time may lie before the true one: the longest period."""
    rho: Array
    """float64 (lengths, held facts + 1): ρ by the number of released items and of held facts."""
    node_log: Array
    """float64 (nodes): log weight of each source length of capped records."""
    node_rho: Array
    """float64 (nodes, held facts + 1): ρ."""
    node_miss: Array
    """float64 (nodes, held facts + 1, lost facts + 1): miss."""
    node_low: Array
    node_high: Array
    """float64 (nodes): shortest and longest source length of a node."""
    classes: bool
    """Whether a choice rule picks a fixed number of facts among rare items, and the rest among the others."""
    lose: float
    """Probability that an item of a record's source is not in the release, for the known length."""
    know_length: bool
    low: Array
    high: Array
    """float64 (queries): shortest and longest source length that agrees with the known one."""
    told: Array
    """float64 (queries): the known length."""
    length_back: Array
    """float64 (queries): density of the known length of a person outside the release, as in `adaptive_records.log_length`."""
    log_ways: Array
    """float64 (queries): logarithm of the number of ways to choose the wrong facts."""
    start: Array
    """float64 (queries, wrong facts + 1): polynomial of the facts about items that the release withholds."""
    total: Array
    """float64 (queries, 2): (record, item) pairs of the release that can be picked, other and rare ones, those of the excluded
    record not counted."""
    n_possible: Array
    """int64 (queries): records that may be the target."""
    scale: Array
    """float64 (queries): integer units per nat."""
    gone_ptr: Array
    gone_item: Array
    gone_weight: Array
    gone_inside: Array
    gone_rare: Array
    """Range of each query's excluded record, its items, the weight of each, the part of it that counts in Q_r, and whether it
    is rare."""
    rare: Array
    """int64 (facts): 1 for a rare item under a choice rule with classes."""
    right_value: Array
    """float64 (facts, levels + 1): probability of the known value by released level, last = no value."""
    wrong_value: Array
    """float64 (facts, levels + 1): the same if the fact is wrong."""
    has_tick: Array
    """bool (facts)."""
    tick_back: Array
    """float64 (facts): background of the known time, for entries without one."""
    tick_back_wrong: Array
    q_g: Array
    """float64 (facts): probability of the fact about a person outside the release."""
    q: Array
    """float64 (facts): share of the item in the pairs of the source."""
    by_chance_right: Array
    by_chance_wrong: Array
    """float64 (facts): A, before miss/(1-Q_r)."""
    lost_right: Array
    lost_wrong: Array
    """float64 (facts): factor of a lost entry, before miss/(1-Q_r)."""
    outside: Array
    """float64 (facts): factor of a wrong item, before 1/(1-Q_r)."""
    strange: Array
    """float64 (facts): probability that a held item is not the person's own."""
    own: Array
    mix_right: Array
    mix_wrong: Array
    """float64 (facts): 1-x_i, and x_i times the mean chance among the holders."""
    chance: Array
    """float64 (facts): probability that the item is the one that the fact is about."""
    same: Array
    n_same: Array
    """int64 (facts): first fact of the query about the same item, by its place in the query, and their number."""
    length: Array
    """float64 (records of a shard; empty in a plan): items of each record that can be picked, rare ones not counted. A shard
    computes it with `Plan.factor`."""
    weight: Array
    """float64 (records of a shard; empty in a plan): pairs of these items. Computed with `Plan.weight`."""
    every_length: Array
    strangers: Array
    rare_length: Array
    rare_weight: Array
    """float64 (records of a shard; empty in a plan): all items, expected number of those that are not the person's own, rare
    items, and their pairs. Computed with `Plan.further`; empty where entries do not move, and without classes."""
