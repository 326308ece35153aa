"""`risk`: attack every person several times, each time with other facts, and count per person.

It is `so.risk` in Python and `standout risk` on the command line. `worst_case.py` has the other risk
per person: over all combinations of facts, and without attacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.eligible import none_eligible
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.audit.known import not_known
from standout.audit.measures import is_sure
from standout.audit.related import RELATION
from standout.audit.sweep import fit_to_data
from standout.data.loading import in_memory
from standout.engines.engine import Engine
from standout.errors import EligibilityError, ParameterError
from standout.experiment.experiment import Experiment
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import Data, Protection, target_number

if TYPE_CHECKING:
    import pandas as pd


DRAWS = 8
"""Default number of draws per person."""
AT_ONCE = 4096
"""People who are attacked together: what is kept in memory grows with it, no number does."""
LEVELS = (0.5, 0.75, 0.9, 0.95, 0.99)
"""Quantiles over people that `Risk.to_dict` has."""
RISKY = 0.5
"""A person is at risk if found in at least this share of the draws."""


@dataclass(frozen=True, eq=False, repr=False)
class Risk:
    """Chances of each person, over what the adversary may happen to know."""

    words: str
    """What is known, in words."""
    attack: str
    """Label of the attack that guesses."""
    draws: int
    n_records: int
    """People in the source."""
    record: Array
    """int64: record indices in the source of the people who were attacked."""
    found: Array
    """float64: share of the draws in which the best guess is right; ties are shared."""
    unique: Array | None
    """float64: share of the draws in which no other record fits; None where that is not defined for the adversary."""
    sure: Array | None
    """float64: share of the draws in which the attacker is right and at least 95 % sure; None without a posterior."""
    n_eligible: int
    """People who hold enough items for the adversary."""
    label: Array
    """Labels of the people who were attacked; only `to_frame(labels=True)` shows them."""
    not_measured: tuple[str, ...] = ()
    """What the data has and the adversary does not know, and what the attack does not use, in words."""

    def to_frame(self, *, labels: bool = False) -> pd.DataFrame:
        """One row per person who was attacked, as a pandas frame; people with too few items have no row.

        Parameters
        ----------
        labels
            Whether to add the labels of the records.
        """
        import pandas as pd

        columns: dict[str, Any] = {"record": self.record}
        if labels:
            columns["label"] = self.label
        columns["draws"] = self.draws
        columns |= {name: x for name, x in self._measures() if x is not None}
        return pd.DataFrame(columns)

    def _measures(self) -> list[tuple[str, Array | None]]:
        return [("unique", self.unique), ("found", self.found), ("sure", self.sure)]

    def to_dict(self) -> dict[str, Any]:
        """Aggregates over the people as plain data: means, quantiles, and the share of people who are at risk."""
        out: dict[str, Any] = {
            "adversary": self.words,
            "attack": self.attack,
            "draws": self.draws,
            "n_people": int(self.record.size),
            "n_eligible": self.n_eligible,
            "n_records": self.n_records,
            "not_measured": list(self.not_measured),
        }
        for name, x in self._measures():
            out[name] = x if x is None else chance_summary(x)
        return out

    def __repr__(self) -> str:
        return f"<Risk of {self.record.size:,} people: {self.words}>"


def risk(
    source: Data,
    adversary: Adversary,
    attack: str | Attack = "likelihood",
    *,
    release: Data | None = None,
    defense: Protection | None = None,
    targets: int | str | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    engine: str | Engine = "memory",
    progress: Progress | bool | None = None,
) -> Risk:
    """Chance of each person of being found, of being unique, and of an attacker who is sure.

    Every person is attacked several times, each time with other facts that the adversary may know.
    With one draw, the mean of `found` is the attack's hit rate in an audit with the same targets and
    seed.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a frame whose columns can be guessed.
    adversary
        What may be known.
    attack
        Name of an attack, or an attack. On a defended release the likelihood knows the published
        parameters of the defense.
    release, defense
        As in `Audit`.
    targets
        Number of people, drawn at random; "all" or None for everyone who holds enough items.
    draws
        Draws per person.
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    progress
        As in `Audit.run`.

    Examples
    --------
    >>> import standout as so
    >>> data = so.Dataset.from_arrays([0, 0, 1, 1, 2, 2], ["a", "x", "a", "y", "a", "z"])
    >>> so.risk(data, so.Adversary(knows=2)).to_frame()["unique"].tolist()
    [1.0, 1.0, 1.0]
    """
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise ParameterError(f"draws={draws!r}: use a whole number ≥ 1")
    if not isinstance(adversary, Adversary):
        raise ParameterError("adversary: use Adversary(knows=…, …)")
    job = Experiment(source, [attack], release=release, defense=defense, seed=seed, engine=engine)
    data = in_memory(job.source, "the risk of each person")
    who = fit_to_data(adversary, data)
    n_eligible, persons = who.choose_targets(data, target_number(targets), job.seed)
    if persons.size == 0:
        raise EligibilityError(none_eligible(who, data))
    persons = np.sort(persons)
    guesser = job.attackers_for(who)[:1]
    sums = {name: np.zeros(persons.size) for name in ("unique", "found", "sure")}
    undefined: set[str] = set()
    with reporting(progress) as report:
        for draw in range(draws):
            for lo in range(0, persons.size, AT_ONCE):
                part = slice(lo, lo + AT_ONCE)
                people = job.people(who, persons[part], draw)
                outcomes = job.attack(people, guesser)[guesser[0].label]
                sums["found"][part] += outcomes.credit
                unique = job.unique(people)
                if isinstance(unique, str):
                    undefined.add("unique")
                else:
                    sums["unique"][part] += unique
                if outcomes.has_posterior:
                    sums["sure"][part] += is_sure(outcomes)
                else:
                    undefined.add("sure")
                done = draw * persons.size + min(lo + AT_ONCE, persons.size)
                report(who.words(data), done, draws * persons.size)
    chances = {name: None if name in undefined else total / draws for name, total in sums.items()}
    found = chances["found"]
    assert found is not None
    return Risk(
        who.words(data),
        guesser[0].label,
        int(draws),
        data.n_records,
        persons,
        found,
        chances["unique"],
        chances["sure"],
        n_eligible,
        data.record_labels[persons],
        (*not_known(data, [who]), *([RELATION] if who.choice.grouping else [])),
    )


def chance_summary(chance: Array) -> dict[str, Any]:
    """Mean, quantiles and tails of a chance per person, as plain data."""
    return {
        "mean": float(chance.mean()),
        "quantiles": [
            {"level": p, "chance": float(x)}
            for p, x in zip(LEVELS, np.quantile(chance, LEVELS), strict=True)
        ],
        "at_risk": float((chance >= RISKY).mean()),
        "always": float((chance == 1.0).mean()),
        "never": float((chance == 0.0).mean()),
    }
