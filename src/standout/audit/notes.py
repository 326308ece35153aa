"""Notes about how an audit ran, one sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from standout.adversary.seen import seen_through
from standout.audit.related import relation_note
from standout.audit.sweep import AMOUNTS
from standout.data.catalog import Catalog
from standout.data.channels import further_channels, level_names
from standout.data.times import cut_words, finer_than
from standout.views.view import view_notes

if TYPE_CHECKING:
    from standout.audit.audit import Audit
    from standout.audit.findings import AdversaryResult

Results = Sequence["AdversaryResult"]


def warnings(audit: Audit, results: Results) -> list[str]:
    """All notes, each at most once."""
    made = [
        _other_labels(audit),
        _left_out(audit, results),
        _not_tried(audit),
        *audit.not_tried,
        _all_attacked(audit, results),
        _not_released(results),
        *_other_scales(audit),
        _not_described(audit),
        *_coarser_than_source(audit.source),
        *_without_candidates(results),
        *_weights_not_used(audit),
        *(relation_note(r.adversary.words, r.relation) for r in results if r.relation),
        *_of_views(audit),
        *_of_channels(audit),
        *_not_in_release(audit),
    ]
    return [note for note in made if note]


def _not_described(audit: Audit) -> str:
    home = audit.release.home_engine
    if not audit.describe or home is None or home.name != "spark":
        return ""
    return "The released data is not described: that needs the records in memory, and they stay on Spark."


def _coarser_than_source(source: Catalog) -> list[str]:
    """Notes on what was read more coarsely than the source has it: more exact knowledge finds more people."""
    cut, made = source.cleaning.finest_time, []
    if source.has_time and finer_than(cut, source.time_resolution):
        words = cut_words(cut, source.time_resolution)
        made.append(
            f"{words[0].upper()}{words[1:]}. Knowledge of times to the {cut} was not measured."
        )
    # times that were cut to days are days already
    if (
        (n := source.cleaning.times_midnight)
        and source.has_time
        and source.time_resolution != "day"
    ):
        made.append(
            f"{n:,} times are exactly 0:00, as dates without a time of day are read. If they are such dates, knowledge of their "
            f"times to the {source.time_resolution} is not real, and rates with known times may be too high."
        )
    return made


def _weights_not_used(audit: Audit) -> list[str]:
    """Notes on attacks that do not use exactly how likely each item was to be known."""
    weighted = [a for a in audit.adversaries if a.pick_rule(audit.source).weighted]
    if not weighted:
        return []
    made, names = [], ", ".join(sorted({a.choose for a in weighted}))
    if audit.release is not audit.source and audit.release.mechanism is not None:
        made.append(
            f"The attack that knows the defense takes all items of a person as equally likely to be known, also where they "
            f"were chosen otherwise ({names}): an attacker who uses the choice may find more."
        )
    if any(a.wrong_varies for a in weighted):
        made.append(
            f"Where each fact is wrong with some probability, the likelihood takes the items as drawn independently of each "
            f"other, also where they were chosen by weight without replacement ({names})."
        )
    return made


def _left_out(audit: Audit, results: Results) -> str:
    tried = {r.adversary.words for r in results}
    asked = dict.fromkeys(a.words(audit.source) for a in audit.adversaries)
    lost = [words for words in asked if words not in tried]
    if not lost:
        return ""
    more = "" if len(lost) == 1 else f" and {len(lost) - 1} more"
    return f"No record holds enough items for an adversary who knows {lost[0]}{more}: not tried."


def _not_tried(audit: Audit) -> str:
    if audit.sweep is None:
        return ""
    most = max(a.knows for a in audit.adversaries)
    lost = [k for k in AMOUNTS if k > most]
    if not lost:
        return ""
    seen, who = seen_through(audit.source, audit.adversaries[0]), audit.adversaries[0]
    if related := who.choice.grouping:
        amount = who.choice.amount(lost[0])
        return (
            f"Too few records hold {amount}: the sweep stops at {most} known items {related.words}."
        )
    held = int(seen.length_counts[lost[0] :].sum())
    return f"Too few records ({held:,}) hold {lost[0]} items or more: the sweep stops at {most} known items."


def _all_attacked(audit: Audit, results: Results) -> str:
    """One note for all kinds of knowledge with fewer eligible records than requested."""
    few = [
        r.n_eligible for r in results if audit.targets is not None and r.n_eligible < audit.targets
    ]
    if not few:
        return ""
    low, high = min(few), max(few)
    count = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return (
        f"Fewer than the {audit.targets:,} targets asked for are eligible ({count} records) for {len(few)} of "
        f"{len(results)} kinds of knowledge: all of them are attacked."
    )


def _not_released(results: Results) -> str:
    n = max(r.n_not_released for r in results)
    if not n:
        return ""
    return f"Up to {n:,} targets have no record in the release. They cannot be found and count as not found."


def _other_labels(audit: Audit) -> str:
    """Note on labels that name other people or items in the release; the gate refuses such a release."""
    note = audit.other_labels
    return (
        f"{note[0].upper()}{note[1:]}. The rates of this audit may be far too low." if note else ""
    )


def _of_channels(audit: Audit) -> list[str]:
    """Which attackers ran on a release that a defense made, where further channels are known."""
    if audit.release.mechanism is None or not any(who.further_known for who in audit.adversaries):
        return []
    return [
        "Further channels and attributes: the published parameters of the defense cannot be stated for several channels at "
        "once; the fitted attacker, who estimates the errors from the data, takes the adaptive attacker's place."
    ]


def _not_in_release(audit: Audit) -> list[str]:
    """Note on known channels and attributes that the release lacks."""
    lost = list(
        dict.fromkeys(
            name
            for who in audit.adversaries
            for name in who.within or ()
            if name not in level_names(seen_through(audit.release, who))
        )
    )
    if not lost:
        return []
    return [
        f"The release has no {' and no '.join(lost)}: what is known of {'it' if len(lost) == 1 else 'them'} is not compared "
        "with anything."
    ]


def _of_views(audit: Audit) -> list[str]:
    """What the views noted, and which attackers ran on a release that a defense made."""
    made = []
    release = audit.release
    viewed = [who for who in audit.adversaries if who.view is not None or who.ranking is not None]
    for who in {(who.view, who.ranking): who for who in viewed}.values():
        seen = seen_through(release, who)
        made += [f"View {note}." for note in view_notes(release, seen)]
        if who.view is None:  # what a defense did to ranks is said of all further channels
            continue
        view = who.to_dict()["view"]
        if release.mechanism is None or not any(a.kind for a in audit.experiment.attackers):
            continue
        made.append(
            f"View {view}: the adaptive attacker uses the published parameters of {release.defense} as they read after the view."
            if seen.mechanism is not None
            else f"View {view}: the published parameters of {release.defense} cannot be stated after the view; the fitted "
            "attacker, who estimates the errors from the data, takes the adaptive attacker's place."
        )
    return list(dict.fromkeys(made))


def _other_scales(audit: Audit) -> list[str]:
    """Notes on channels of a release without a known defense that share nothing with the source: another unit, or shifted."""
    source, release = audit.source, audit.release
    if release is source or release.mechanism is not None:
        return []
    made = []
    if source.has_value and release.has_value and not np.isin(source.levels, release.levels).any():
        made.append(
            "No value of the source occurs in the release: where values are known, the attacks find too few people if the "
            "release only uses another unit. Give both the same unit, or state the defense."
        )
    own, published = further_channels(source), further_channels(release)
    apart = [
        name
        for name in own.keys() & published.keys()
        if not np.isin(own[name].label_or_level, published[name].label_or_level).any()
    ]
    if apart:
        made.append(
            f"No level of {' and of '.join(sorted(apart))} of the source occurs in the release: where it is known, the attacks "
            "find too few people if the release only writes it in another way. Write it alike in both."
        )
    if source.has_time and release.has_time and _apart(source, release):
        made.append(
            "The times of the release do not overlap with those of the source: where times are known, the attacks find too few "
            "people if all times were only shifted. Shift them back, or state the defense."
        )
    return made


def _apart(source: Catalog, release: Catalog) -> bool:
    """Whether the days of the two do not overlap."""
    first, last = (
        [
            (data.first_tick + more * data.tick_span) // data.ticks_per_day
            for data in (source, release)
        ]
        for more in (0, 1)
    )
    return max(first) > min(last)


def _without_candidates(results: Results) -> list[str]:
    """One note per attack whose filter left no candidate for some queries."""
    lost: dict[str, int] = {}
    asked: dict[str, int] = {}
    for result in results:
        for one in result.attacks:
            label = one.attack.label
            lost[label] = lost.get(label, 0) + (one.n_without_candidates or 0)
            asked[label] = asked.get(label, 0) + result.n_targets
    return [
        f"{label} left no candidate for {n:,} of {asked[label]:,} queries. These queries identify nobody."
        for label, n in lost.items()
        if n
    ]
