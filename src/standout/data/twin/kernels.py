"""Draws people and their entries: the compiled half of the Netflix twin.

Every number is a function of (seed, purpose, record): a record draws from its own stream, so
neither the size of a batch, nor the number of threads, nor the number of records changes what a
record holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.jit import njit

PEOPLE, DAYS, TASTE, ITEMS, VALUES = 1, 2, 3, 4, 5
"""Purposes: each has its own stream per record."""

Z_MAX = 5.0
"""Quantile functions are tabulated over normal scores from -Z_MAX to Z_MAX."""


class People(NamedTuple):
    """Parameters of the length, first day, span and number of days of a record."""

    join_cdf: Array
    """Share of records whose first day lies before day d; n_days + 1 numbers."""
    log_length: Array
    """Log of the entries per record, over the normal score."""
    log_days: Array
    """Log of the distinct days per record, over the normal score."""
    knobs: Array
    """Correlations and spreads; see `model.KNOBS` for names and values."""
    calendar: Array
    """Cumulative activity by day, n_days + 1 numbers: distribution of a record's days in its span."""
    longest: int
    """Cap on the entries of a record."""


class ItemModel(NamedTuple):
    """Parameters of the items and values of a record's entries."""

    class_edges: Array
    """Record lengths at which the next popularity class begins."""
    weight: Array
    """(classes, groups, items): draw weight of an item for a record of a class in a latent group, before age."""
    total: Array
    """(classes, groups): sum of the weights."""
    accept: Array
    """(classes, groups, items) alias tables: probability of keeping the slot's own item."""
    alias: Array
    """(classes, groups, items) alias tables: the item taken otherwise."""
    entry_day: Array
    """First day on which an item can be rated."""
    age_profile: Array
    """Relative activity of an item by days since its entry, in steps of AGE_STEP days; largest is 1."""
    quality: Array
    """Latent mean value of each item."""
    cuts: Array
    """Four cuts that turn the latent value into 1 to 5."""
    label: Array
    """Public number of each item; internally, items are numbered by popularity."""
    knobs: Array
    """Spread of tastes, share of leniency in a value."""


AGE_STEP = 10


@njit(inline="always")
def _mix(x: np.uint64) -> np.uint64:
    """Finalizer of splitmix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@njit(cache=True)
def _open_stream(state: Array, seed: int, purpose: int, record: int) -> None:
    """Set `state` to the start of the stream of (seed, purpose, record)."""
    x = _mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    x = _mix(x + np.uint64(purpose) * np.uint64(0xD1B54A32D192ED03))
    state[0] = _mix(x + np.uint64(record) * np.uint64(0x8CB92BA72F3D8DD7))


@njit(inline="always")
def _uniform(state: Array) -> float:
    """Next number in (0, 1)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return (np.float64(_mix(state[0]) >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)


@njit(inline="always")
def _normal(state: Array) -> float:
    """Next standard normal number (Box and Muller; the sine is not used, to keep streams simple)."""
    radius = math.sqrt(-2.0 * math.log(_uniform(state)))
    return radius * math.cos(2.0 * math.pi * _uniform(state))


@njit(inline="always")
def _phi(z: float) -> float:
    """Normal distribution function."""
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


@njit(cache=True)
def _look_up(table: Array, z: float) -> float:
    """Linear interpolation in a table over normal scores."""
    x = (min(max(z, -Z_MAX), Z_MAX) + Z_MAX) / (2.0 * Z_MAX) * (table.size - 1)
    k = min(int(x), table.size - 2)
    return table[k] + (x - k) * (table[k + 1] - table[k])  # type: ignore[no-any-return]


@njit(cache=True)
def _person(state: Array, people: People) -> tuple[int, int, int, int]:
    """Draw (entries, first day, span in days, distinct days) of one record.

    Four normal scores, chained by correlations: early joiners have more entries, records with more
    entries have more days, records with more days have a longer span.
    """
    knobs = people.knobs
    last = people.join_cdf.size - 2
    early = _normal(state)
    first = min(np.searchsorted(people.join_cdf, 1.0 - _phi(early), side="right") - 1, last)
    z_length = knobs[0] * early + math.sqrt(1.0 - knobs[0] ** 2) * _normal(state)
    length = int(math.exp(_look_up(people.log_length, z_length)) + 0.5)
    length = max(1, min(length, people.longest))
    z_days = knobs[1] * z_length + math.sqrt(1.0 - knobs[1] ** 2) * _normal(state)
    n_days = max(1, min(length, int(math.exp(_look_up(people.log_days, z_days)) + 0.5)))
    z_span = knobs[2] * z_days + math.sqrt(1.0 - knobs[2] ** 2) * _normal(state)
    room = last - first
    if n_days == 1 or room < 1:
        return length, first, 0, 1
    span = max(
        1, int(room * _phi(knobs[3] + knobs[4] * z_span + knobs[9] * (z_span * z_span - 1.0)) + 0.5)
    )
    # a record with more days than its span gets a longer span, up to the last day of the data
    span = min(room, max(span, n_days + n_days // 2))
    return length, first, span, min(n_days, span + 1)


@njit(nogil=True, cache=True)
def draw_people(first: int, stop: int, seed: int, people: People, out: Array) -> None:
    """Fill `out` (records, 4) with entries, first day, span and distinct days of the records."""
    state = np.empty(1, np.uint64)
    for r in range(first, stop):
        _open_stream(state, seed, PEOPLE, r)
        row = out[r - first]
        row[0], row[1], row[2], row[3] = _person(state, people)


@njit(cache=True)
def _draw_days(
    state: Array, people: People, first: int, span: int, n_days: int, used: Array, days: Array
) -> None:
    """Fill `days[:n_days]` with distinct ascending days: the first, the last, the others by the calendar."""
    used[: span + 1] = False
    used[0] = used[span] = True
    left = n_days - 2
    low = people.calendar[first]
    width = people.calendar[first + span + 1] - low
    tries = 0
    while left > 0 and tries < 20 * n_days:
        tries += 1
        day = np.searchsorted(people.calendar, low + width * _uniform(state), side="right") - 1
        d = min(max(day - first, 0), span)
        if not used[d]:
            used[d] = True
            left -= 1
    d = span
    while left > 0:
        if not used[d]:
            used[d] = True
            left -= 1
        d -= 1
    k = 0
    for d in range(span + 1):
        if used[d]:
            days[k] = first + d
            k += 1


@njit(cache=True)
def _draw_sizes(
    state: Array, knobs: Array, length: int, n_days: int, weight: Array, size: Array
) -> None:
    """Fill `size[:n_days]` with the entries of each day: one or two each, the rest in bursts.

    The rest goes to days in proportion to log-normal weights: a few days take most of it.
    """
    spread = knobs[5] * math.exp(knobs[6] * _normal(state))
    total = 0.0
    left = length - n_days
    for k in range(n_days):
        size[k] = 1
        if left > 0 and _uniform(state) < knobs[8]:
            size[k] = 2
            left -= 1
        w = math.exp(spread * _normal(state))
        if k == 0:
            w *= knobs[7]
        total += w
        weight[k] = total
    for _ in range(left):
        k = np.searchsorted(weight[:n_days], total * _uniform(state), side="right")
        size[min(k, n_days - 1)] += 1


@njit(cache=True)
def _schedule(
    state: Array,
    people: People,
    seed: int,
    r: int,
    used: Array,
    weight: Array,
    days: Array,
    size: Array,
) -> tuple[int, int]:
    """Fill the days of one record and the entries on each; return (entries, number of days)."""
    _open_stream(state, seed, PEOPLE, r)
    length, first, span, n_days = _person(state, people)
    _open_stream(state, seed, DAYS, r)
    if n_days == 1:
        days[0] = first
        size[0] = length
    else:
        _draw_days(state, people, first, span, n_days, used, days)
        _draw_sizes(state, people.knobs, length, n_days, weight, size)
    return length, n_days


@njit(cache=True)
def _mix_groups(catalog: ItemModel, c: int, taste: Array, mixed: Array) -> None:
    """Fill `mixed` with the record's own draw weight of every item, before age."""
    mixed[:] = 0.0
    for g in range(taste.size):
        for i in range(mixed.size):
            mixed[i] += taste[g] * catalog.weight[c, g, i]


@njit(cache=True)
def _sweep(
    state: Array,
    catalog: ItemModel,
    mixed: Array,
    day: int,
    count: int,
    stamp: Array,
    r: int,
    cumulative: Array,
    out: Array,
    at: int,
) -> int:
    """Draw up to `count` items of one day from the items still free; return their number.

    Same distribution as rejection sampling, for records where nearly every proposal would be a
    repeat. The sums are recomputed when repeats become frequent again.
    """
    n_items = stamp.size
    done = 0
    while done < count:
        total = 0.0
        for i in range(n_items):
            if stamp[i] != r and catalog.entry_day[i] <= day:
                total += mixed[i] * catalog.age_profile[(day - catalog.entry_day[i]) // AGE_STEP]
            cumulative[i] = total
        if total <= 0.0:
            break
        misses = 0
        while done < count and misses < 500:
            i = np.searchsorted(cumulative, total * _uniform(state), side="right")
            if i >= n_items or stamp[i] == r or catalog.entry_day[i] > day:
                misses += 1
                continue
            stamp[i] = r
            out[at + done] = i
            done += 1
    return done


@njit(cache=True)
def _propose(
    state: Array,
    catalog: ItemModel,
    c: int,
    groups: Array,
    day: int,
    count: int,
    stamp: Array,
    r: int,
    out: Array,
    at: int,
) -> int:
    """Draw items of one day that the record does not hold yet, until there are `count` or it takes too long.

    A latent group by the record's taste (`groups` are its cumulative shares), an item by the
    group's alias table, kept with a probability by its age; repeats are drawn again. Returns the
    number found.
    """
    n_items = stamp.size
    n_groups = groups.size
    for k in range(count):
        tries = 0
        while True:
            tries += 1
            if tries > 300:
                return k
            u = _uniform(state) * groups[n_groups - 1]
            g = 0
            while groups[g] < u and g < n_groups - 1:
                g += 1
            x = _uniform(state) * n_items
            i = min(int(x), n_items - 1)
            if x - i > catalog.accept[c, g, i]:
                i = catalog.alias[c, g, i]
            age = day - catalog.entry_day[i]
            if age < 0 or stamp[i] == r:
                continue
            if _uniform(state) < catalog.age_profile[age // AGE_STEP]:
                stamp[i] = r
                out[at + k] = i
                break
    return count


@njit(nogil=True, cache=True)
def draw_entries(
    first: int,
    stop: int,
    seed: int,
    people: People,
    catalog: ItemModel,
    record: Array,
    item: Array,
    value: Array,
    day: Array,
) -> int:
    """Fill the four columns with the entries of records `first … stop-1`, by record, then day; return their number."""
    n_days_all = people.join_cdf.size - 1
    n_items = catalog.entry_day.size
    n_groups = catalog.weight.shape[1]
    knobs = catalog.knobs
    state = np.empty(1, np.uint64)
    used = np.empty(n_days_all, np.bool_)
    days = np.empty(n_days_all + 1, np.int64)
    size = np.empty(n_days_all + 1, np.int64)
    weight = np.empty(n_days_all + 1, np.float64)
    stamp = np.full(n_items, -1, np.int64)
    taste = np.empty(n_groups, np.float64)
    groups = np.empty(n_groups, np.float64)
    mixed = np.empty(n_items, np.float64)
    cumulative = np.empty(n_items, np.float64)
    at = 0
    for r in range(first, stop):
        length, n_days = _schedule(state, people, seed, r, used, weight, days, size)
        _open_stream(state, seed, TASTE, r)
        c = np.searchsorted(catalog.class_edges, length, side="right")
        total = 0.0
        for g in range(n_groups):
            taste[g] = math.exp(knobs[0] * _normal(state))
            total += taste[g] * catalog.total[c, g]
            groups[g] = total
        _open_stream(state, seed, ITEMS, r)
        begin = at
        owed = 0
        is_mixed = False
        for k in range(n_days):
            owed += size[k]
            # entries that do not fit on a day because the catalog is used up move to the next day
            n = _propose(state, catalog, c, groups, days[k], owed, stamp, r, item, at)
            if n < owed:
                if not is_mixed:
                    _mix_groups(catalog, c, taste, mixed)
                    is_mixed = True
                n += _sweep(
                    state, catalog, mixed, days[k], owed - n, stamp, r, cumulative, item, at + n
                )
            for j in range(at, at + n):
                day[j] = days[k]
            at += n
            owed -= n
        _open_stream(state, seed, VALUES, r)
        leniency = knobs[1] * _normal(state)
        noise = math.sqrt(1.0 - knobs[1] ** 2)
        for j in range(begin, at):
            record[j] = r
            y = catalog.quality[item[j]] + leniency + noise * _normal(state)
            v = 1
            for cut in catalog.cuts:
                if y > cut:
                    v += 1
            value[j] = v
            item[j] = catalog.label[item[j]]
    return at
