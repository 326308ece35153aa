"""`Experiment`: people of a source are attacked in a release, and the outcomes are kept, one row per person and draw.

The audit, the risk per person and the cells of a frontier run it, and count what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import seed_of_turn
from standout.adversary.knowledge import Knowledge
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.unique import is_unique, why_not_unique
from standout.data.catalog import Catalog
from standout.data.purposes import PURPOSE_REPEATED
from standout.engines.engine import Engine
from standout.engines.engine import engine as engine_of
from standout.experiment.attackers import ADAPTIVE, FITTED, NAIVE, Attacker, attackers, attacks_of
from standout.experiment.outcomes import Outcomes, Truth, attack_people
from standout.experiment.subject import Data, Protection, places, released, seed_number, source_of

Advance = Callable[[str, int], None]
"""Called with (what, number of queries answered)."""


@dataclass(frozen=True, eq=False, repr=False)
class KnownPeople:
    """The people that one adversary attacks, and what she knows of them."""

    who: Adversary
    persons: Array
    """int64: record indices in the source."""
    truth: Truth
    knowledge: Knowledge
    lengths: Array
    """int64: items of each person's record in the source, as the adversary sees it."""


class Experiment:
    """Who is attacked in which data, by whom. Running it produces `Outcomes` and nothing else.

    Knowledge is drawn from the source; attacks run on the release. Without a release the source
    itself is attacked.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a frame whose columns can be guessed.
    attacks
        Names or attacks; "all" for every attack.
    release
        What is published, if it differs from the source; records are matched by label.
    defense
        What makes the release: an object with `apply(source, seed)`; called when no release is
        given.
    seed
        Random seed, any whole number.
    engine
        Name of an engine, or an engine.
    """

    def __init__(
        self,
        source: Data,
        attacks: Attack | Sequence[str | Attack] | str,
        *,
        release: Data | None = None,
        defense: Protection | None = None,
        seed: int = 0,
        engine: str | Engine = "memory",
    ) -> None:
        self.source: Catalog = source_of(source)
        self.seed = seed_number(seed)
        self.engine = engine_of(engine, self.source)
        self.release: Catalog = released(self.source, release, defense, self.seed)
        self.place = None if self.release is self.source else places(self.source, self.release)
        """Record index in the release of every record of the source, -1 = none; None where both are the same data."""
        self.attackers: tuple[Attacker, ...] = attackers(
            attacks_of(attacks), self.source, self.release
        )

    def attackers_for(self, who: Adversary) -> tuple[Attacker, ...]:
        """The attackers that can use what this adversary sees of the release.

        Where the parameters of the defense cannot be stated for her view, nobody uses them: the
        fitted attacker takes the adaptive one's place.
        """
        if self.release.mechanism is None or seen_through(self.release, who).mechanism is not None:
            return self.attackers
        fitted = [one for one in self.attackers if one.kind == FITTED]
        left = [one for one in self.attackers if one.kind in ("", NAIVE, ADAPTIVE)]
        return tuple(fitted.pop(0) if one.kind == ADAPTIVE else one for one in left)

    def people(self, who: Adversary, persons: Array, draw: int = 0) -> KnownPeople:
        """These records of the source, with what the adversary knows of them.

        Parameters
        ----------
        who
            The adversary.
        persons
            Record indices in the source.
        draw
            Number of the draw: the same people are known by other facts in every draw. Draw 0 is
            that of an audit.
        """
        rows = seen_through(self.source, who).rows(np.unique(persons))
        at = rows.places(persons)
        return KnownPeople(
            who,
            persons,
            Truth.of(persons, self.place, rows.keys[at], self.seed),
            who.sample(self.source, persons, seed_of_turn(self.seed, PURPOSE_REPEATED, draw)),
            rows.lengths[at],
        )

    def attack(
        self,
        people: KnownPeople,
        attackers: Iterable[Attacker] | None = None,
        *,
        absent: bool = False,
        lineup: bool = False,
        advance: Advance | None = None,
    ) -> dict[str, Outcomes]:
        """Attack these people, and return what became of them, by the label of the attacker.

        Parameters
        ----------
        people
            Targets and knowledge, from `people`.
        attackers
            Who attacks. Default: all attackers of the experiment for this adversary.
        absent, lineup
            As in `attack_people`.
        advance
            Called after each batch of queries.
        """
        words = people.who.words(self.source)
        out = {}
        for label, attack, _ in self.attackers_for(people.who) if attackers is None else attackers:

            def step(n: int, what: str = f"{label}: {words}") -> None:
                if advance:
                    advance(what, n)

            out[label] = attack_people(
                attack,
                self.release,
                people.knowledge,
                people.truth,
                self.engine,
                absent=absent,
                lineup=lineup,
                progress=step,
            )
        return out

    def unique(self, people: KnownPeople) -> Array | str:
        """bool: who is unique in the release; or why that is not defined for the adversary on this release."""
        if why := why_not_unique(people.who, self.release):
            return why
        return is_unique(self.release, people.knowledge, people.truth.target, self.engine)
