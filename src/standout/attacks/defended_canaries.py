"""Calibration on a release that a defense made: the attacker applies the published defense to canaries once more.

Canaries are records of the release whose answer the attacker knows. The likelihood (`likelihood.py`)
calls `calibrated_again`; on a release without a defense it uses `presence.calibrated`.

A defense that removes, exchanges or replaces single entries (`Defense.per_entry`) is applied to the
canaries' facts alone. Applied to the whole release, it would make all records shorter and less
coherent than those that the targets are searched among.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import key_uniforms
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.adaptive_sizes import capped_lengths, is_grouped
from standout.attacks.own_entries import own_entries
from standout.attacks.presence import (
    CANARIES,
    Presence,
    Run,
    canaries,
    canary_seed,
    factor_of,
    fit_presence,
    fit_share,
)
from standout.attacks.ungrouped import ungrouped
from standout.attacks.verdicts import Verdicts
from standout.data.cache import once
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records, entry_values
from standout.data.labels import find_labels
from standout.data.mechanism import Mechanism
from standout.data.purposes import (
    PURPOSE_CUT,
    PURPOSE_GIVER,
    PURPOSE_HIDDEN,
    PURPOSE_LENGTH,
    PURPOSE_LOST,
    PURPOSE_MOVED,
    PURPOSE_REPLACED,
    PURPOSE_WITHHELD,
)
from standout.errors import StandoutError

DEFENDED_CANARIES = 2 * CANARIES
"""Number of canaries where single entries were changed: P(best | present) is calibrated too."""

FEWEST_CANARIES = 20
"""With fewer canaries, a defended release is not calibrated."""

MOST_AT_ONCE, MOST_BATCHES = 0.06, 8
"""Share of the records that are canaries in one changed release, and largest number of such releases."""


class DefendedCanaries(NamedTuple):
    """Canaries of one changed release."""

    release: Dataset
    """The release that is attacked; its source is what the knowledge was drawn from."""
    knowledge: Knowledge
    place: Array
    """Record of each canary in this release."""


def calibrated_again(release: Dataset, who: Adversary, run: Run) -> Presence:
    """As `presence.calibrated`, for a release that a defense made; computed once and cached on the release.

    Canaries are records of the release, and their knowledge is drawn from it. Their facts meet
    again the loss, exchange or replacement of single entries that is published; other defenses are
    applied to the whole release again. Where that is impossible because what they remove is gone,
    the release itself is attacked. Nothing is calibrated for fewer than `FEWEST_CANARIES` canaries.
    P(best | present) is calibrated only where entries are lost, exchanged or replaced.
    """
    return once(release, "presence_again", who, lambda: _fitted_presence(release, who, run))


def _fitted_presence(release: Dataset, who: Adversary, run: Run) -> Presence:
    if not callable(getattr(release.defense, "apply", None)) or release.mechanism is None:
        return Presence()
    # what the release does not show is not known of a canary either
    if who.gamma is None and not release.has_value:
        who = replace(who, value_within=None)
    if not release.has_time:
        who = replace(who, time_within=None)
    single_entries = _changes_single_entries(release)
    try:
        parts = (
            _batches_of_canaries(release, who)
            if single_entries
            else [_canaries_of_second_release(release, who)]
        )
    except StandoutError:
        return Presence()
    if sum(part.place.size for part in parts) < FEWEST_CANARIES:
        return Presence()
    both = [
        run(_all_sampled(part.release), part.knowledge, part.place)
        for part in parts
        if part.place.size
    ]
    # each canary is attacked twice: with its record in the release, and without
    present, absent = (Verdicts.concatenate([pair[k] for pair in both]) for k in (0, 1))
    factor = np.concatenate([factor_of(present), factor_of(absent)])
    found = fit_presence(
        factor,
        np.concatenate([present.share, absent.share]),
        np.repeat([True, False], [present.share.size, absent.share.size]),
    )
    if not single_entries and not is_grouped(release.mechanism):
        return found
    some = present.n_candidates > 0
    shift, slope = fit_share(present.share[some], present.credit[some])
    return replace(found, shift=shift, slope=slope)


def _all_sampled(release: Dataset) -> Dataset:
    """The release of canaries, all of whom are in it: whether a person was sampled belongs to the prior, not to the evidence."""
    origin = release.origin
    if origin is None or origin.mechanism is None or origin.mechanism.sampled == 1:
        return release
    return replace(
        release, origin=replace(origin, mechanism=replace(origin.mechanism, sampled=1.0))
    )


def _changes_single_entries(release: Dataset) -> bool:
    """Whether only the entries of canaries' facts are changed again: where single entries were, of items with their names."""
    assert release.mechanism is not None
    return release.mechanism.items is None and any(
        getattr(stage, "per_entry", False) for stage in _stages(release)
    )


def _stages(release: Dataset) -> tuple[Any, ...]:
    return tuple(getattr(release.defense, "stages", (release.defense,)))


def canaries_of(release: Dataset, who: Adversary) -> tuple[Dataset, Array]:
    """Canaries of a release that a defense made, and the data that their knowledge is drawn from.

    Where single entries were changed, a fact is about an entry of the person, never about one that
    came from somebody else. Where items were grouped, it is about an item behind the group.
    """
    assert release.mechanism is not None
    seed, moves = canary_seed(who), release.mechanism.moved > 0 or release.mechanism.replaced > 0
    if is_grouped(release.mechanism):
        view = ungrouped(release)
        return view, who.choose_targets(view, DEFENDED_CANARIES, seed)[1]
    if not _changes_single_entries(release):
        return release, canaries(release, who)
    records = who.choose_targets(release, (2 if moves else 1) * DEFENDED_CANARIES, seed)[1]
    if not moves:
        return release, records
    view = release.with_entries(own_entries(release, records, seed))
    return view, records[np.isin(records, who.eligible(view))][:DEFENDED_CANARIES]


def _defended_again(release: Dataset, who: Adversary, defense: Any) -> Dataset:
    """The release after the defense was applied again; the release itself if that is impossible."""
    try:
        changed = defense.again(release) if hasattr(defense, "again") else defense
        again: Dataset = changed.apply(release, seed=canary_seed(who))
    except StandoutError:
        return release
    if (
        again.mechanism is not None
        and again.origin is not None
        and release.mechanism is not None
        and release.mechanism.items is None
    ):
        # what the defense removed the first time, it cannot remove again: its parameters stay those
        # of the release, except for the change of values, which starts from the release's levels,
        # and for the lowered limit
        now = again.mechanism
        same = replace(release.mechanism, value=now.value)
        if now.cap is not None:
            same = replace(same, cap=now.cap, source_lengths=now.source_lengths)
        again = replace(again, origin=replace(again.origin, mechanism=same))
    return again


def _canaries_of_second_release(release: Dataset, who: Adversary) -> DefendedCanaries:
    """Canaries of the release after the whole defense was applied again."""
    assert release.mechanism is not None and release.origin is not None
    again = _defended_again(release, who, release.defense)
    view, records = canaries_of(release, who)
    if view is not release:
        mechanism = release.mechanism
        if again.mechanism is not None and again is not release:
            names = replace(Mechanism(), items=mechanism.items).then(again.mechanism).items
            mechanism = replace(again.mechanism, items=names)
        again = replace(again, origin=replace(release.origin, source=view, mechanism=mechanism))
    place = find_labels(again.record_labels, release.record_labels[records])
    records, place = records[place >= 0], place[place >= 0]
    return DefendedCanaries(
        again,
        _withheld(who.sample(view, records, canary_seed(who)), release, again, records),
        place,
    )


def _batches_of_canaries(release: Dataset, who: Adversary) -> list[DefendedCanaries]:
    """Canaries in batches; in the release of a batch, only the entries that its canaries' facts are about are changed.

    Stages of the defense that do not change single entries are applied to the whole release again.
    """
    assert release.mechanism is not None and release.origin is not None
    rest = [stage for stage in _stages(release) if not getattr(stage, "per_entry", False)]
    seed = canary_seed(who)
    again = _defended_again(release, who, reduce(or_, rest)) if rest else release
    mechanism = (
        again.mechanism
        if again is not release and again.mechanism is not None
        else release.mechanism
    )
    view, records = canaries_of(release, who)
    place = find_labels(again.record_labels, release.record_labels[records])
    records, place = records[place >= 0], place[place >= 0]
    n_parts = int(
        np.clip(np.ceil(records.size / (MOST_AT_ONCE * release.n_records)), 1, MOST_BATCHES)
    )
    out = []
    for part in np.array_split(np.arange(records.size), n_parts):
        knowledge = who.sample(view, records[part], seed)
        knowledge = _withheld(knowledge, release, again, records[part])
        item = knowledge.bind(again).item
        changed = _facts_changed_again(
            again, place[part], np.diff(knowledge.query_ptr), item, mechanism, seed
        )
        changed = replace(changed, origin=replace(release.origin, source=view, mechanism=mechanism))
        left = changed.lengths[place[part]] > 0
        knowledge = _withheld(
            who.sample(view, records[part][left], seed), release, changed, records[part][left]
        )
        out.append(DefendedCanaries(changed, knowledge, place[part][left]))
    return out


def _facts_changed_again(
    again: Dataset, place: Array, n_facts: Array, item: Array, mechanism: Mechanism, seed: int
) -> Dataset:
    """The release in which the entries of the canaries' facts were lost, exchanged or replaced by chance once more."""
    n, record = again.n_items, entry_records(again)
    number = np.arange(item.size) - np.repeat(np.cumsum(n_facts) - n_facts, n_facts)
    of, key = (
        np.repeat(place, n_facts),
        again.record_keys[np.repeat(place, n_facts)] + number.astype(np.uint64),
    )
    pair = record * n + again.record_item.astype(np.int64)
    fact, first = np.unique(np.where(item >= 0, of * n + item, -1), return_index=True)
    key, fact = key[first][fact >= 0], fact[fact >= 0]
    lost = key_uniforms(seed, PURPOSE_LOST, key) < mechanism.lost
    keep = ~np.isin(pair, fact[lost])
    # entries of facts: which fact, and a random key of each
    at = np.flatnonzero(keep & np.isin(pair, fact))
    which = np.searchsorted(fact, pair[at])
    _, first_of_pair, pair_of = np.unique(which, return_index=True, return_inverse=True)
    number_in_pair = np.arange(at.size) - first_of_pair[pair_of]
    event = key[which] + (number_in_pair.astype(np.uint64) << np.uint64(32))
    if mechanism.hidden > 0:
        hide = key_uniforms(seed, PURPOSE_HIDDEN, event) < mechanism.hidden
        # the first of the pair's entries stays, so that the pair is not lost
        hide[first_of_pair] = False
        keep[at[hide]] = False
        at, which, event = at[~hide], which[~hide], event[~hide]
    moved = key_uniforms(seed, PURPOSE_MOVED, event) < mechanism.moved
    cut = key_uniforms(seed, PURPOSE_CUT, event) < _cut_share(again, record[at], mechanism, seed)
    new = key_uniforms(seed, PURPOSE_REPLACED, event) < mechanism.replaced
    chance = key_uniforms(seed, PURPOSE_GIVER, event)
    # an exchanged entry becomes a random one; one above the limit does as well, so that the record
    # stays at the limit the order of the records must not matter
    by_key = np.argsort(again.record_keys[record], kind="stable")
    by_item = np.lexsort((again.record_keys[record], again.record_item))
    giver = by_key[np.minimum((chance * again.n_entries).astype(np.int64), again.n_entries - 1)]
    start = np.concatenate([[0], np.cumsum(np.bincount(again.record_item, minlength=n))])
    other = np.minimum((chance * n).astype(np.int64), n - 1)
    inside = (chance * n - other) * (start[other + 1] - start[other])
    giver = np.where(
        new & ~moved & ~cut,
        by_item[np.minimum(start[other] + inside.astype(np.int64), by_item.size - 1)],
        giver,
    )
    change = moved | cut | new
    return _with_copies(again, keep, at[change], giver[change], pair)


def _cut_share(again: Dataset, record: Array, mechanism: Mechanism, seed: int) -> Array:
    """Probability that an entry of each record was removed by the limit, for a source length drawn for the record."""
    if mechanism.cap is None:
        return np.zeros(record.size)
    node = capped_lengths(mechanism, 1)
    drawn = key_uniforms(seed, PURPOSE_LENGTH, again.record_keys[record])
    length = node.length[
        np.minimum(np.searchsorted(np.cumsum(node.weight), drawn), node.length.size - 1)
    ]
    return np.where(
        again.lengths[record] >= mechanism.cap,
        1 - np.minimum(mechanism.cap / np.maximum(length, 1), 1),
        0.0,
    )


def _with_copies(again: Dataset, keep: Array, at: Array, giver: Array, pair: Array) -> Dataset:
    """The kept entries, those at `at` replaced by copies of other entries; one that the record holds already is left out."""
    item = again.record_item.astype(np.int64)
    to = pair[at] - item[at] + item[giver]
    held = np.isin(to, pair)
    _, once_only = np.unique(to, return_index=True)
    twice = np.ones(to.size, np.bool_)
    twice[once_only] = False
    lost = (held | twice) & (not again.has_repeats)
    keep = keep.copy()
    keep[at[lost]] = False
    comes_from = np.arange(again.n_entries)
    comes_from[at[~lost]] = giver[~lost]
    comes_from = comes_from[keep]
    if not at.size:
        return again.with_entries(keep)
    value, day = entry_values(again), entry_days(again)
    columns = {name: x[comes_from] for name, x in (("value", value), ("day", day)) if x is not None}
    return again.with_entries(keep, item=item[comes_from], **columns)


def _withheld(knowledge: Knowledge, release: Dataset, again: Dataset, records: Array) -> Knowledge:
    """The knowledge with as many facts about withheld items as the targets' knowledge is expected to have."""
    mechanism = release.mechanism
    if mechanism is None or mechanism.kept_pairs >= 1 or mechanism.items is not None:
        return knowledge
    each = np.repeat(release.record_keys[records], np.diff(knowledge.query_ptr))
    number = np.arange(each.size, dtype=np.uint64) - np.repeat(
        knowledge.query_ptr[:-1], np.diff(knowledge.query_ptr)
    )
    withheld = (
        key_uniforms(knowledge.seed or 0, PURPOSE_WITHHELD, each + number.astype(np.uint64))
        >= mechanism.kept_pairs
    )
    index = np.where(withheld, -1, find_labels(again.item_labels, knowledge.item))
    return replace(knowledge, _index=index, _labels=again.item_labels)
