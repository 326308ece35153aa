"""`Truth`: who is behind each query. `Outcomes`: what became of each person, one row per person and draw.

Findings, gate, frontier, comparisons, papers and theorems aggregate outcomes. No other module
compares answers with the truth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from standout.adversary.choosing import key_uniforms, starts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.verdicts import Verdicts
from standout.data.catalog import Catalog
from standout.data.purposes import PURPOSE_SPLIT, PURPOSE_TIES
from standout.engines.engine import Engine
from standout.errors import ParameterError


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The answer key: the record behind each query, kept separate from the knowledge."""

    target: Array
    """Record index in the release, -1 where the person is not in the release and can never be found."""
    calibration: Array
    """Queries on which thresholds and the strongest attack are chosen; rates are reported on the others."""
    pick: Array | None = None
    """float64 in [0, 1): the random number with which an attacker picks one of several tied records."""

    @classmethod
    def of(cls, persons: Array, place: Array | None, keys: Array, seed: int) -> Truth:
        """Answer key for these records of the source; half of them, chosen by hash, are for calibration.

        Parameters
        ----------
        persons
            Record indices in the source, one per query.
        place
            Record index in the release of every record of the source, -1 = none; None where both
            are the same data.
        keys
            Keys of these records, from which their random draws start.
        seed
            Random seed.
        """
        order = np.argsort(starts(seed, PURPOSE_SPLIT, keys), kind="stable")
        calibration = np.zeros(persons.size, np.bool_)
        calibration[order[: persons.size // 2]] = True
        pick = key_uniforms(seed, PURPOSE_TIES, keys)
        return cls(persons if place is None else place[persons], calibration, pick)


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """What one attack did to each person: one row per query, in order.

    Arrays of the target's absence have size 0 if that was not measured.
    """

    target: Array
    """int64: record index in the release, -1 where the person is not in the release."""
    on_top: Array
    """bool: whether the target is one of the records tied at the top."""
    n_tied: Array
    """int64: records tied at the top."""
    rank: Array
    """int64: candidates with at least the score of the target, itself included; one more than all candidates where the target
    is not one of them; 0 = it is not in the release."""
    n_candidates: Array
    n_matching: Array
    """int64: candidates in the matching set, for attacks that have one."""
    matched: Array
    """bool: whether the attack names a record."""
    statistic: Array
    share: Array
    """Π(best record), NaN for attacks without a lineup."""
    bits: Array
    """Bits left for the target, NaN where it is not in the release or there is no lineup."""
    posterior: Array
    """P(the best record is the target), NaN for attacks without a model."""
    absent: Array
    """P(the target is not in the release), NaN for attacks without a model."""
    presence_error: Array
    """Standard error of logit P(present), from the calibration; 0 = not calibrated."""
    absent_matched: Array
    """bool: whether the attack names a record when the target is removed."""
    absent_statistic: Array
    absent_posterior: Array
    pick: Array
    """float64: the random number with which an attacker picks one of several tied records; size 0 if unknown."""
    prior: float = 0.5
    """P(the target is in the release) that the posterior starts from."""

    @classmethod
    def of(
        cls,
        present: Verdicts,
        truth: Truth,
        without: Verdicts | None = None,
        prior: float = 0.5,
    ) -> Outcomes:
        """Compare the answers of an attack with the truth.

        Parameters
        ----------
        present
            Answers with the targets in the release; the attack ran with `watch=truth.target`.
        truth
            The answer key.
        without
            Answers with each target removed.
        prior
            P(the target is in the release) that the attack assumes.
        """
        answers = [v for v in (present, without) if v is not None]
        if any(v.best.size != truth.target.size for v in answers):
            raise ParameterError(
                "verdicts and truth differ in length: every query needs exactly one answer"
            )
        is_there = truth.target >= 0
        credit = np.asarray(present.credit, dtype=np.float64)
        if np.isnan(credit[is_there]).any():
            raise ParameterError(
                "the targets were not watched: run the attack with watch=truth.target"
            )
        nothing = np.empty(0)
        return cls(
            target=truth.target,
            on_top=is_there & (np.nan_to_num(credit) > 0),
            n_tied=present.n_tied,
            rank=np.where(is_there, present.rank, 0),
            n_candidates=present.n_candidates,
            n_matching=present.n_matching,
            matched=np.asarray(present.matched, np.bool_),
            statistic=present.statistic,
            share=present.share,
            bits=present.bits,
            posterior=present.posterior,
            absent=present.absent,
            presence_error=present.presence_error,
            absent_matched=nothing.astype(np.bool_) if without is None else without.matched,
            absent_statistic=nothing if without is None else without.statistic,
            absent_posterior=nothing if without is None else without.posterior,
            pick=nothing if truth.pick is None else truth.pick,
            prior=prior,
        )

    @property
    def n(self) -> int:
        """Number of queries."""
        return int(self.target.size)

    @property
    def credit(self) -> Array:
        """float64: 1/(tied records) if the target is one of them, else 0."""
        return np.where(self.on_top, 1.0 / np.maximum(self.n_tied, 1), 0.0)

    @property
    def is_candidate(self) -> Array:
        """bool: whether the target can be the answer. A filter may leave it out, or leave no candidate."""
        return np.asarray((self.rank > 0) & (self.rank <= self.n_candidates))

    @property
    def missed(self) -> Array:
        """bool: whether the best guess is more likely wrong than right."""
        return np.asarray(self.credit < 0.5)

    @property
    def rank_bits(self) -> Array:
        """log2(rank), NaN where the target is not a candidate."""
        return np.where(self.is_candidate, np.log2(np.maximum(self.rank, 1)), np.nan)

    @property
    def found(self) -> Array:
        """bool: whether the target is the one record that the attacker picks among the tied ones."""
        return np.asarray(self.pick < self.credit)

    @property
    def has_lineup(self) -> bool:
        """Whether the attack gives a distribution over the records."""
        return self.n > 0 and not bool(np.isnan(self.share).all())

    @property
    def has_posterior(self) -> bool:
        """Whether the attack states the probability that its answer is right."""
        return self.n > 0 and not bool(np.isnan(self.posterior).any())

    def take(self, which: Array | slice) -> Outcomes:
        """Some of the queries."""
        return self.from_arrays((x[which] if x.size else x for x in self.arrays), self.prior)

    @classmethod
    def concatenate(cls, parts: Sequence[Outcomes]) -> Outcomes:
        """Outcomes of several batches, one after the other."""
        arrays = zip(*(part.arrays for part in parts), strict=True)
        return cls.from_arrays(map(np.concatenate, arrays), parts[0].prior)

    @classmethod
    def from_arrays(cls, arrays: Iterable[Array], prior: float = 0.5) -> Outcomes:
        """Outcomes from `arrays`."""
        return cls(**dict(zip(_ARRAYS, arrays, strict=True)), prior=prior)

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in the order of the fields: what a journal keeps."""
        return tuple(getattr(self, name) for name in _ARRAYS)

    def __repr__(self) -> str:
        return f"<Outcomes of {self.n:,} queries>"


_ARRAYS = tuple(f.name for f in fields(Outcomes) if f.name != "prior")


def attack_people(
    attack: Attack,
    release: Catalog,
    knowledge: Knowledge,
    truth: Truth | Array,
    engine: str | Engine = "memory",
    *,
    absent: bool = False,
    lineup: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Outcomes:
    """Attack everyone the knowledge is about, and compare the answers with the truth.

    Parameters
    ----------
    attack, release, knowledge, engine, progress
        As in `Attack.run`.
    truth
        The answer key, or only the record of each query (-1 = not in the release).
    absent
        Whether to attack everyone a second time as if the target were not in the release.
    lineup
        Whether to compute the distribution over the records (`share`, `bits`); always with
        `absent`.
    """
    if not isinstance(truth, Truth):
        truth = Truth(np.asarray(truth, np.int64), np.zeros(np.size(truth), np.bool_))
    without = None
    if absent:
        present, without = attack.run_both(release, knowledge, truth.target, engine, progress)
    else:
        present = attack.run(
            release, knowledge, engine, watch=truth.target, lineup=lineup, progress=progress
        )
    return Outcomes.of(present, truth, without, float(getattr(attack, "prior", 0.5)))
