"""Conditions under which the knowledge of an adversary can be drawn from a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from standout.adversary.choosing import Condition
from standout.adversary.counts import CountRecords, EntryTest, ItemCount
from standout.adversary.grouping import GroupSize
from standout.adversary.level_errors import channels_of
from standout.adversary.seen import seen_through
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.channels import check_names
from standout.data.values import rounding_unit
from standout.errors import ParameterError
from standout.formulas.pick_order import MOST_UNDETERMINED

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def conditions(who: Adversary, data: Catalog, *, related: bool = True) -> tuple[Condition, ...]:
    """Conditions that a record must satisfy to be a target of this adversary.

    Parameters
    ----------
    who, data
        The adversary, and the data as she sees it.
    related
        Whether the relation among the known items is one of them.
    """
    check_channels(who, data)
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
    if related and (grouping := who.choice.grouping):
        made.append(Condition(grouping.size(data), who.knows))
    return tuple(made)


def none_eligible(who: Adversary, dataset: Catalog) -> str:
    """Error: no record can be a target of this adversary."""
    words, largest = who.words(dataset), ""
    another = "" if who.choose == "uniform" else ", or use another choice"
    if grouping := who.choice.grouping:
        seen = seen_through(dataset, who)
        most = largest_group(grouping.size(seen), seen)
        largest = f" (at most {most:,} item{'' if most == 1 else 's'} {grouping.words})"
    return f"no record holds enough items for an adversary who knows {words}{largest}; lower knows={who.knows}{another}"


def largest_group(size: GroupSize, data: Catalog) -> int:
    """Most items that can be known of any record."""
    return int(np.flatnonzero(data.map(CountRecords(size, data.longest)).total).max(initial=0))


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


def check_channels(who: Adversary, dataset: Catalog) -> None:
    """Refuse knowledge that the data does not hold, and wrong facts that cannot be drawn from it."""
    check_names(dataset, who.further_known)
    if lacking := who.choice.lacking(dataset):
        raise ParameterError(lacking)
    if who.knows == 0 and not who.given(dataset):
        raise ParameterError(
            "knows=0: no attribute of the person is known; name one (within=), or use knows=1"
        )
    # gamma is not refused: the theorems of DSS12 take it as a parameter, and hold for data
    # without values (T = 1)
    asked = who.value_within is not None and not who.value_is_default
    if asked and "value" not in [name for name, _, _ in channels_of(dataset)]:
        raise ParameterError(
            f"value_within={who.value_within!r}: the data has no values; use value_within=None (--value-within none)"
        )
    if who.time_within is not None and not dataset.has_time:
        raise ParameterError(
            f"time_within={who.time_within}: the data has no times; use time_within=None (--time-within none)"
        )
    reach = who.time_ticks(dataset)
    if not who.wrong or who.wrong_kind == "item":
        return
    if who.knows > MOST_UNDETERMINED and who.pick_rule(dataset).weighted:
        raise ParameterError(
            f"knows={who.knows}: with choose={who.choose!r} and wrong values, use at most {MOST_UNDETERMINED} items, "
            "or wrong_kind='item'"
        )
    if not (who.tells_value(dataset) or who.tells_time(dataset)):
        raise ParameterError(
            f"wrong={who.wrong}: no value and no time is known that could be wrong; use wrong_kind='item'"
        )
    if any(rounding_unit(x) for x in (who.value_within, *who.further_known.values())):
        raise ParameterError(
            f"wrong={who.wrong}: wrong values are not drawn where numbers are rounded; use wrong_kind='item', or a tolerance "
            "in place of round:"
        )
    errors = who.level_errors(dataset)
    if errors is not None and not all(
        part.given or part.can_be_wrong().any() for part in errors.parts
    ):
        raise ParameterError(
            f"wrong={who.wrong}: all values of the data lie within the tolerance of each other, so no value can be wrong; "
            "lower value_within, or use wrong_kind='item'"
        )
    if who.tells_time(dataset) and dataset.tick_span <= reach:
        unit = dataset.time_resolution
        raise ParameterError(
            f"wrong={who.wrong}: the data spans {dataset.tick_span + 1} {unit}s, so no {unit} lies more than "
            f"time_within={who.time_within} off; lower time_within, or use wrong_kind='item'"
        )
