"""Sizes that the adaptive likelihood (`adaptive.py`) refers to: of records, items and their sources, and of a known length.

The model of a defended release needs how many items a record had before the defense, and how many
holders each item; the release shows both only after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.adversary import Adversary
from standout.arrays import Array
from standout.attacks.known_length import length_background, told_lengths
from standout.attacks.tables import Known
from standout.data.cache import once
from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.data.labels import find_labels
from standout.data.mechanism import Mechanism
from standout.formulas import defended as formula
from standout.scoring.factors import ByCount, BySum, RecordFactor

MOST_NODES = 24
"""Source lengths of capped records that are told apart; more are grouped by quantiles."""


@dataclass(frozen=True, eq=False, repr=False)
class ByEntries:
    """Number of entries of a record: items of the source, where several share one name in the release."""

    most: int

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        return float(self.most)

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        out = np.zeros(shard.n_records)
        for b in range(shard.n_blocks):
            part = shard.local[int(shard.ptr[b, 0]) : int(shard.ptr[b, -1])]
            count = np.bincount(
                part, minlength=min(shard.block_size, shard.n_records - b * shard.block_size)
            )
            out[b * shard.block_size : b * shard.block_size + count.size] = count
        return out


class Sizes(NamedTuple):
    """Sizes of records and items that the mechanism's model refers to."""

    length: RecordFactor
    """Items that can be picked, rare ones not counted."""
    weight: RecordFactor
    """Pairs of these items."""
    further: tuple[RecordFactor | None, ...]
    """Four factors, None where the model needs none: all items; where entries move, those that are not the person's own; under a
    rule with classes, rare items; their pairs."""
    supports: Array
    """float64 (items): (record, item) pairs of the source behind each released item, as far as the release shows them; 0 for
    items that the choice rule never picks."""
    rare: Array
    """int64 (items): 1 for rare items under a rule with classes."""
    strange: Array
    """float64 (items): probability that an entry of the item is not the person's own."""
    longest: int
    """Largest length of a record of the release: items, or entries where items are grouped and not merged."""

    @property
    def classes(self) -> bool:
        """Whether the rule picks a fixed number of facts among rare items."""
        return self.further[-1] is not None

    @property
    def totals(self) -> Array:
        """float64 (2): pairs of other and of rare items."""
        return np.bincount(self.rare, weights=self.supports, minlength=2)


def is_grouped(mechanism: Mechanism) -> bool:
    """Whether several items of the source share one name in the release."""
    return (
        mechanism.items is not None
        and np.unique(mechanism.items.release).size < mechanism.items.release.size
    )


def sizes(release: Dataset, who: Adversary, grouped: bool, merged: bool) -> Sizes:
    """Sizes for this release and the adversary's choice rule; computed on first use and cached on the release."""

    def compute() -> Sizes:
        return (
            _grouped_sizes(release, merged)
            if grouped
            else _sizes(release, *chosen_items(release, who))
        )

    # which items are rare does not depend on how many are known
    return once(
        release, "adaptive_sizes", (grouped, merged, "uniform" if grouped else who.choose), compute
    )


def strange_items(release: Dataset) -> Array:
    """Probability, per item, that an entry was moved from another record or replaced another item, uniform over the catalog."""
    mechanism, n = release.mechanism, max(release.n_items, 1)
    assert mechanism is not None
    share = np.maximum(release.supports, 0.5) / max(release.n_pairs, 1)
    return np.asarray(
        1 - (1 - mechanism.moved) * (1 - np.minimum(mechanism.replaced / n / share, 1.0))
    )


def _sizes(release: Dataset, pickable: Array | None, rare: Array | None) -> Sizes:
    longest = int(release.lengths.max(initial=0))
    count = np.arange(longest + 1, dtype=np.float64)
    supports, every = release.supports.astype(np.float64), ByCount(count)
    strange = strange_items(release)
    strangers = BySum(strange) if strange.any() else None
    none = np.zeros(release.n_items, np.int64)
    if rare is not None:
        own = supports * (1 - strange)
        return Sizes(
            ByCount(count, ~rare),
            BySum(np.where(rare, 0.0, own)),
            (every, strangers, ByCount(count, rare), BySum(np.where(rare, own, 0.0))),
            supports,
            rare.astype(np.int64),
            strange,
            longest,
        )
    length = every if pickable is None else ByCount(count, pickable)
    if pickable is not None:
        supports = np.where(pickable, supports, 0.0)
    return Sizes(
        length,
        BySum(supports * (1 - strange)),
        (every, strangers, None, None),
        supports,
        none,
        strange,
        longest,
    )


def _grouped_sizes(release: Dataset, merged: bool) -> Sizes:
    none = np.zeros(release.n_items, np.int64)
    if merged:
        n, longest = release.n_records, int(release.lengths.max(initial=0))
        # Poisson: expected number of the source's pairs behind the records that show the group
        supports = -n * np.log1p(-np.minimum(release.supports, n - 0.5) / n)
        length: RecordFactor = ByCount(np.arange(longest + 1, dtype=np.float64))
    else:
        supports = np.bincount(release.record_item, minlength=release.n_items).astype(np.float64)
        longest = int(np.diff(release.record_ptr).max(initial=0))
        length = ByEntries(longest)
    unknown = np.zeros(release.n_items)
    return Sizes(
        length, BySum(supports), (length, None, None, None), supports, none, unknown, longest
    )


def chosen_items(release: Dataset, who: Adversary) -> tuple[Array | None, Array | None]:
    """Items of the release that the choice rule can pick, and those that it takes as rare; None where it makes no difference.

    The rule refers to the source, and the adversary who picked by it knows which items it covers.
    If the names are replaced, the items are ranked as the release shows them.
    """
    mechanism, source = release.mechanism, release.source
    if source is None:
        return None, None
    renamed = mechanism is not None and mechanism.items is not None
    data = release if renamed else source
    split = who.pick_rule(data).split
    marks = who.pickable(data) if split is None else split.first
    if split is None and marks.all():
        return None, None
    if not renamed:
        at = find_labels(source.item_labels, release.item_labels)
        marks = np.where(at >= 0, marks[np.maximum(at, 0)], split is None)
    return (marks, None) if split is None else (None, marks)


def source_lengths(
    mechanism: Mechanism, size: Sizes, most_facts: int, n_right: int, merged: bool
) -> dict[str, Any]:
    """Tables of the source lengths behind the records: ρ by released length and held facts, and the nodes of capped records."""
    stays = (1 - mechanism.moved) * (1 - mechanism.replaced)
    survives = max((1 - mechanism.lost) * stays, 1e-9)
    count = np.arange(size.longest + 1, dtype=np.float64)
    if merged:
        count = formula.grouped_length(count, size.supports / max(size.supports.sum(), 1e-9))
    held = np.arange(most_facts + 1)
    keeps = max(mechanism.kept_pairs, 1e-9) * survives
    out: dict[str, Any] = {
        "rho": formula.held_share(count[:, None], held, keeps),
        "miss": 1 - survives,
        "lost": mechanism.lost,
    }
    if mechanism.cap is None:
        return out
    node = capped_lengths(mechanism, n_right)
    z = node.length[:, None]
    fits = np.minimum(
        mechanism.cap * stays / np.maximum(z * mechanism.kept_pairs, 1e-9),
        stays * (1 - mechanism.lost),
    )
    return out | {
        "cap": int(mechanism.cap),
        "node_log": np.log(node.weight),
        "node_rho": formula.held_share(z, held, stays),
        "node_miss": formula.lost_share(
            (z * (1 - fits))[:, :, None], z[:, :, None], held[None, :, None], held
        ),
        "node_low": node.low,
        "node_high": node.high,
    }


class Nodes(NamedTuple):
    """Source lengths of records at the cap: mean, probability, and range of each group of lengths."""

    length: Array
    weight: Array
    low: Array
    high: Array


def capped_lengths(mechanism: Mechanism, at_least: int) -> Nodes:
    """Source lengths of records at the cap; at most `MOST_NODES` groups of them.

    Without published lengths, one, two and four times the cap are equally likely.
    """
    assert mechanism.cap is not None
    least = max(mechanism.cap / max(mechanism.kept_pairs * (1 - mechanism.lost), 1e-9), at_least, 1)
    if mechanism.source_lengths is None:
        some = least * np.array([1.0, 2.0, 4.0])
        return Nodes(some, np.full(3, 1 / 3), np.floor(some / 1.5), np.ceil(some * 1.5))
    counts = np.asarray(mechanism.source_lengths, np.float64)
    lengths = np.flatnonzero((counts > 0) & (np.arange(counts.size) >= least))
    if lengths.size == 0:
        one = np.array([least])
        return Nodes(one, np.ones(1), one, one)
    weight = counts[lengths] / counts[lengths].sum()
    each = lengths.astype(np.float64)
    if lengths.size <= MOST_NODES:
        return Nodes(each, weight, each, each)
    group = np.minimum((np.cumsum(weight) - weight / 2) * MOST_NODES, MOST_NODES - 1).astype(
        np.int64
    )
    _, first, group = np.unique(group, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    whole = np.bincount(group, weights=weight)
    return Nodes(
        np.bincount(group, weights=weight * lengths) / whole,
        whole,
        each[first],
        each[np.append(first[1:] - 1, -1)],
    )


def known_lengths(
    known: Known, who: Adversary, mechanism: Mechanism, grouped: bool
) -> dict[str, Any]:
    """Tables of a known length of the target; neutral if none is known, or if items are grouped."""
    n, share, told = known.facts.n_queries, who.length_within, known.facts.length
    out: dict[str, Any] = {
        "know_length": False,
        "low": np.zeros(n),
        "high": np.full(n, 2.0**62),
        "told": np.ones(n),
        "length_back": np.ones(n),
    }
    if share is None or grouped or told is None or np.isnan(told).any():
        return out
    low, high = known.length_window(share)
    keeps = max(mechanism.kept_pairs * (1 - mechanism.lost) * (1 - mechanism.collided), 1e-9)
    return out | {
        "know_length": True,
        "low": low.astype(np.float64),
        "high": high.astype(np.float64),
        "lose": 1 - keeps,
        "told": told_lengths(known),
        "length_back": length_background(known, low, high, keeps),
    }
