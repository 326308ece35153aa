"""Canaries: people whose answer is known, made from the release, run like the queries of the second file.

A present canary is a record of the release, copied with the fitted noise: how many of them are
found is the recall. An absent canary is a whole person of the release whose record is left out
(`exclude`): its items go together as a real person's do, and every match is false. The model's own
random draws would not show that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_values
from standout.data.purposes import PURPOSE_LINK_CANARIES
from standout.formulas.rates import Rate
from standout.formulas.spacing import benjamini_hochberg
from standout.kernels.bins import Bins
from standout.linking.attack import LinkLikelihood, candidates
from standout.linking.em import N_CANDIDATES
from standout.linking.groups import TopScores
from standout.linking.noise import LinkNoise

N_CANARIES = 200
FEWEST_ABSENT = 20
"""Fewest absent canaries that say something about the null distribution of the test."""

Drawn = tuple[Array, Array, Array]
"""Items, values and days of a canary."""


class Canaries(NamedTuple):
    """Queries about known records, and what the attack said of them."""

    record: Array
    """The record of each query."""
    is_absent: Array
    """Whether the record is left out."""
    top: TopScores

    @property
    def right(self) -> Array:
        """Whether the best record is that of the query."""
        return np.asarray(self.top.record[:, 0] == self.record)

    @property
    def null_mean(self) -> float:
        """Mean of -log p of absent canaries, at least 1."""
        p = self.top.p[self.top.applies & self.is_absent]
        return max(1.0, float(-np.log(p).mean())) if p.size >= FEWEST_ABSENT else 1.0

    @property
    def false_share(self) -> Rate:
        """Absent canaries with p ≤ 5 %."""
        return Rate.of(self.top.p[self.is_absent] <= 0.05)

    def report(self, real: Array, null_mean: float) -> dict[str, Any]:
        """Recall and false matches at the cuts that the p-values of the real queries give.

        Parameters
        ----------
        real
            p-values of the real queries.
        null_mean
            Mean of -log p of absent people that these were corrected for.
        """
        p = np.nan_to_num(self.top.p, nan=1.0) ** (1.0 / null_mean)
        absent, adjusted = self.is_absent, benjamini_hochberg(real)
        rows = []
        for fdr in (0.01, 0.05):
            cut = float(real[adjusted <= fdr].max(initial=0.0))
            recall, false = Rate.of((self.right & (p <= cut))[~absent]), Rate.of((p <= cut)[absent])
            rows.append({"fdr": fdr, "p_cut": cut, "recall": recall, "false": false})
        return {
            "n_present": int((~absent).sum()),
            "n_absent": int(absent.sum()),
            "found": Rate.of(self.right[~absent]),
            "absent_below_5": self.false_share,
            "null_mean": self.null_mean,
            "cuts": rows,
        }


def run_canaries(
    dataset: Dataset, knowledge: Knowledge, attack: LinkLikelihood, engine: Any, seed: int = 0
) -> Canaries | None:
    """Copy records into queries as long as those of the second file, and score them; None if there is no record to copy.

    Parameters
    ----------
    dataset, knowledge
        The release, and the folded second file.
    attack
        The likelihood with the fitted noise, which present canaries have.
    engine
        Engine that scores.
    seed
        Random seed. The draws of a canary depend on its record's contents, not on its label.
    """
    n = 2 * N_CANARIES
    chosen = sample_targets(dataset, np.flatnonzero(dataset.lengths > 0), n, seed + 2**41)
    if chosen.size < 4:
        return None
    sizes = np.sort(np.diff(knowledge.query_ptr))
    popularity = np.cumsum(dataset.supports) / dataset.supports.sum()
    copied = dataset.take(chosen, drop_empty=False)
    values, days = entry_values(copied), entry_days(copied)
    row = np.argsort(np.argsort(chosen))
    facts: list[Drawn] = []
    absent = np.arange(chosen.size) % 2 == 1
    for k, record in enumerate(chosen.tolist()):
        key = int(dataset.record_keys[record]) % 2**63
        rng = np.random.default_rng([seed % 2**63, PURPOSE_LINK_CANARIES, key])
        size = int(sizes[int(rng.random() * sizes.size)])
        item, at = _some_entries(copied, int(row[k]), max(size, 1), rng)
        nothing = np.full(at.size, np.nan)
        value, day = (nothing if x is None else x[at] for x in (values, days))
        drawn = (item, value, day)
        facts.append(drawn if absent[k] else _noisy(dataset, drawn, attack.noise, popularity, rng))
    item, value, time = (np.concatenate(x) for x in zip(*facts, strict=True))
    nothing = np.full(item.size, np.nan)
    made = Knowledge(
        query_ptr=np.concatenate([[0], np.cumsum([x[0].size for x in facts])]).astype(np.int64),
        item=dataset.item_labels[item],
        value=nothing if np.isnan(knowledge.value).all() else value,
        time=nothing if np.isnan(knowledge.time).all() else time,
        queries=np.arange(chosen.size),
        length=np.full(chosen.size, np.nan),
        _index=item,
        _labels=dataset.item_labels,
    )
    gone = np.where(absent, chosen, -1)
    not_counted = attack.with_options(own=False)
    top = candidates(dataset, made, not_counted, N_CANDIDATES, engine, exclude=gone)
    return Canaries(chosen, absent, top)


def _some_entries(
    dataset: Dataset, record: int, size: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Items and positions of at most `size` entries of a record, one per item."""
    lo, hi = int(dataset.record_ptr[record]), int(dataset.record_ptr[record + 1])
    order = rng.permutation(hi - lo)
    item, first = np.unique(dataset.record_item[lo:hi][order].astype(np.int64), return_index=True)
    kept = np.sort(rng.permutation(item.size)[:size])
    return item[kept], lo + order[first[kept]]


def _noisy(
    dataset: Dataset, facts: Drawn, noise: LinkNoise, popularity: Array, rng: np.random.Generator
) -> Drawn:
    """Facts with the fitted noise: wrong items, wrong values and days, and gaps of right ones."""
    item, value, day = facts
    wrong = rng.random(item.size) < noise.e[0]
    item[wrong] = np.searchsorted(popularity, rng.random(int(wrong.sum())), side="right")
    # a wrong item may repeat another: keep the first
    _, first = np.unique(item, return_index=True)
    item, value, day, wrong = item[first], value[first], day[first], wrong[first]
    lost = wrong | (rng.random(item.size) < noise.h)
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
    known = np.flatnonzero(~np.isnan(true))
    kept = ~lost[known]
    # a number for the bin, if there is one, then a number for the place
    numbers = rng.random(known.size + int(kept.sum()))
    last = np.cumsum(1 + kept) - 1
    out, inside = true.copy(), numbers[last]
    out[known] = scale[(inside * scale.size).astype(np.int64)]
    out[known[kept]] = kernel.draw(true[known[kept]], numbers[last[kept] - 1], scale, inside[kept])
    return out
