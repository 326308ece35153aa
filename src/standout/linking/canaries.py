"""Canaries: people whose answer is known, made from the release, run like the queries of the second file.

A present canary is a record of the release, copied with the fitted noise: how many of them are
found is the recall. An absent canary is a whole person of the release whose record is left out
(`exclude`): its items go together as a real person's do, and every match is false. The model's own
random draws would not show that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_LINK_CANARIES
from standout.kernels.bins import Bins
from standout.linking.noise import LinkNoise

N_CANARIES = 200


@dataclass(frozen=True, eq=False, repr=False)
class Canaries:
    """Queries about known records."""

    knowledge: Knowledge
    record: Array
    """The record of each query."""
    is_absent: Array
    """Whether the record is left out."""

    @property
    def exclude(self) -> Array:
        """One record per query for `Attack.run`, -1 = none."""
        return np.where(self.is_absent, self.record, -1)


def make_canaries(
    dataset: Dataset, knowledge: Knowledge, noise: LinkNoise, seed: int = 0
) -> Canaries | None:
    """Copy records into queries as long as those of the second file; None if there is no record to copy.

    Parameters
    ----------
    dataset, knowledge
        The release, and the folded second file.
    noise
        The fitted noise, for present canaries.
    seed
        Random seed. The draws of a canary depend on its record's contents, not on its label.
    """
    chosen = sample_targets(
        dataset, np.flatnonzero(dataset.lengths > 0), 2 * N_CANARIES, seed + 2**41
    )
    if chosen.size < 4:
        return None
    sizes = np.sort(np.diff(knowledge.query_ptr))
    has_value, has_time = ~np.isnan(knowledge.value).all(), ~np.isnan(knowledge.time).all()
    popularity = np.cumsum(dataset.supports) / dataset.supports.sum()
    facts: list[tuple[Array, Array, Array]] = []
    absent = np.arange(chosen.size) % 2 == 1
    for k, record in enumerate(chosen.tolist()):
        rng = np.random.default_rng(
            [seed % 2**63, PURPOSE_LINK_CANARIES, int(dataset.record_keys[record]) % 2**63]
        )
        size = int(sizes[int(rng.random() * sizes.size)])
        drawn = _copied(dataset, record, max(size, 1), rng)
        if not absent[k]:
            drawn = _noisy(dataset, drawn, noise, popularity, rng)
        facts.append(drawn)
    item, value, time = (np.concatenate(x) for x in zip(*facts, strict=True))
    ptr = np.concatenate([[0], np.cumsum([x[0].size for x in facts])]).astype(np.int64)
    made = Knowledge(
        query_ptr=ptr,
        item=dataset.item_labels[item],
        value=value if has_value else np.full(item.size, np.nan),
        time=time if has_time else np.full(item.size, np.nan),
        queries=np.arange(chosen.size),
        length=np.full(chosen.size, np.nan),
        _index=item,
        _labels=dataset.item_labels,
    )
    return Canaries(made, chosen, absent)


def _copied(
    dataset: Dataset, record: int, size: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """Items, values and days of at most `size` entries of a record, one per item."""
    lo, hi = int(dataset.record_ptr[record]), int(dataset.record_ptr[record + 1])
    order = rng.permutation(hi - lo)
    item, first = np.unique(dataset.record_item[lo:hi][order].astype(np.int64), return_index=True)
    kept = np.sort(rng.permutation(item.size)[:size])
    at = lo + order[first[kept]]
    value = day = np.full(kept.size, np.nan)
    if dataset.has_value and dataset.n_levels:
        value = np.append(dataset.levels, np.nan)[
            np.minimum(dataset.record_code[at].astype(np.int64), dataset.n_levels)
        ]
    if dataset.has_time:
        offset = dataset.record_tick[at].astype(np.int64)
        day = np.where(
            offset == dataset.no_tick,
            np.nan,
            (offset + float(dataset.first_tick)) / dataset.ticks_per_day,
        )
    return item[kept], value, day


def _noisy(
    dataset: Dataset,
    facts: tuple[Array, Array, Array],
    noise: LinkNoise,
    popularity: Array,
    rng: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Facts with the fitted noise: wrong items, wrong values and days, and gaps of right ones."""
    item, value, day = (x.copy() for x in facts)
    wrong_item = rng.random(item.size) < noise.e[0]
    item[wrong_item] = np.searchsorted(popularity, rng.random(int(wrong_item.sum())), side="right")
    # a wrong item may repeat another: keep the first
    _, first = np.unique(item, return_index=True)
    item, value, day, wrong_item = item[first], value[first], day[first], wrong_item[first]
    lost = wrong_item | (rng.random(item.size) < noise.h)
    if noise.value is not None:
        value = _moved(value, noise.value, dataset.levels, lost, rng)
    if noise.time is not None:
        ticks = dataset.first_tick + np.arange(dataset.tick_span + 1, dtype=np.float64)
        unrelated = rng.random() < noise.unrelated
        tick = np.round(day * dataset.ticks_per_day)
        day = _moved(tick, noise.time, ticks, lost | unrelated, rng) / dataset.ticks_per_day
    return item, value, day


def _moved(true: Array, kernel: Bins, scale: Array, lost: Array, rng: np.random.Generator) -> Array:
    """Each number moved by a gap from the kernel's bins to a place on the scale; lost ones go anywhere on it."""
    told = np.flatnonzero(~np.isnan(true))
    kept = ~lost[told]
    # a number for the bin, if there is one, then a number for the place
    numbers = rng.random(told.size + int(kept.sum()))
    last = np.cumsum(1 + kept) - 1
    out, inside = true.copy(), numbers[last]
    out[told] = scale[(inside * scale.size).astype(np.int64)]
    out[told[kept]] = kernel.draw(true[told[kept]], numbers[last[kept] - 1], scale, inside[kept])
    return out
