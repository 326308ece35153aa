"""Conditions under which the knowledge of an adversary can be drawn from a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from standout.adversary.choosing import Condition
from standout.adversary.counts import EntryTest, ItemCount
from standout.data.background import background
from standout.data.catalog import Catalog

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def conditions(who: Adversary, data: Catalog) -> tuple[Condition, ...]:
    """Conditions that a record must satisfy to be a target of this adversary."""
    who.check_channels(data)
    pools = [(None if marks.all() else marks, n) for marks, n in who.pools(data)]
    split = who.pick_rule(data).split
    least = (who.n_right_items,) if split is None else split.least
    made = [Condition(ItemCount(marks), n) for (marks, _), n in zip(pools, least, strict=True)]
    if who.wrong_kind == "item" and who.wrong:
        # enough items that the target lacks
        held = ItemCount(pools[0][0] if split is None else None)
        made.append(Condition(held, 0, int(who.pickable(data).sum()) - who.most_wrong))
    elif (test := entry_test(who, data)) is not None:
        made += [Condition(ItemCount(marks, test), min(n, who.most_wrong)) for marks, n in pools]
    return tuple(made)


def entry_test(who: Adversary, data: Catalog) -> EntryTest | None:
    """Test for entries that can give a wrong value; None if the catalog shows that all can, or if no value is wrong."""
    if not who.wrong or who.wrong_kind == "item":
        return None
    levels = np.empty(0, np.bool_)
    counted = background(data)
    says = 0
    if (errors := who.level_errors(data)) is not None:
        levels = errors.can_be_wrong(data.n_levels)
        says = max(says, int(counted.all_values.sum()))
    reach = who.time_ticks(data) if who.tells_time(data) else -1
    if reach >= 0:
        says = max(says, int(counted.all_days.sum()))
    room = not levels.size or not counted.all_values[~levels].any()
    # every tick has another one at a distance of at least half the span
    if says == data.n_entries and room and -(-data.tick_span // 2) > reach:
        return None
    return EntryTest(levels, reach, int(data.tick_span), int(data.no_tick))
