"""Bayes' rule by brute force: plain arrays, every record for every query, no code of the package."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from itertools import permutations
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt
from brute_force_data import MINUTES_PER_DAY, Events
from scipy.optimize import minimize
from scipy.special import expit

import standout as so

Array = npt.NDArray[Any]

DRAWS = 6
"""Times that the brute force draws knowledge of each person."""
SHRINK = 10.0
SAMPLE = 2000
"""Entries from which the distribution of values and times over all items is estimated."""
SURE = 0.95


class BruteForce:
    """Every record evaluated for every query."""

    def __init__(self, data: Events, who: so.Adversary, seed: int) -> None:
        self.data, self.who, self.rng = data, who, np.random.default_rng(seed)
        order = np.lexsort((data.record, data.item))
        self.record, self.item = data.record[order], data.item[order]
        self.value = None if data.value is None or who.value_within is None else data.value[order]
        self.time = None if data.time is None or who.time_within is None else data.time[order]
        self.n = int(data.record.max()) + 1
        self.start = np.searchsorted(self.item, np.arange(int(data.item.max()) + 2))
        pairs = np.unique(np.stack([data.record, data.item]), axis=1)
        self.length = np.bincount(pairs[0], minlength=self.n)
        self.support = np.bincount(pairs[1], minlength=int(data.item.max()) + 1)
        self.held = [pairs[1][pairs[0] == r] for r in range(self.n)]
        self.sampled = self.rng.integers(0, self.record.size, SAMPLE)
        if self.time is not None:
            self.first, self.last = int(data.time.min()), int(data.time.max())
            per_day = 1 if data.resolution == "day" else MINUTES_PER_DAY
            within = who.time_within
            self.time_within = (
                int(within[:-3]) if isinstance(within, str) else int(within) * per_day
            )
        if self.value is not None:
            self.levels = np.unique(data.value)
            self.is_share = isinstance(who.value_within, str)
            self.value_within = float(str(who.value_within).rstrip("%")) / (
                100 if self.is_share else 1
            )
            step = float(np.diff(self.levels).min())
            n_steps = 0 if self.is_share else round(self.value_within / step)
            self.steps = step * np.arange(-n_steps, n_steps + 1)

    def people(self) -> Array:
        """People with enough items for the adversary."""
        who = self.who
        return np.flatnonzero(
            self.length >= who.knows - (who.wrong if who.wrong_kind == "item" else 0)
        )

    def run(self) -> dict[str, float]:
        """Shares of eligible people who are unique, found and sure, on average over the draws."""
        unique, credit, present, absent = [], [], [], []
        for person in self.people():
            others = self.without([person])
            for _ in range(DRAWS):
                facts = self.draw(person)
                log_p = self.log_likelihood(facts)
                possible = np.isfinite(log_p)
                unique.append(possible.sum() == 1 and possible[person])
                credit.append(_credit(log_p, person))
                present.append(self.presence(facts, log_p))
                absent.append(others.presence(facts, others.log_likelihood(facts)))
        chosen = self.rng.permutation(len(credit)) < len(credit) // 2
        fitted = _fitted(np.array(present)[chosen], np.array(absent)[chosen])
        sure = (_posterior(fitted, np.array(present)) >= SURE) * np.array(credit)
        return {
            "unique": float(np.mean(unique)),
            "found": float(np.mean(credit)),
            "sure": float(sure[~chosen].mean()),
        }

    def stated_sure(self) -> tuple[float, int]:
        """Right answers, and answers with a posterior of at least `SURE`, where half of the people were never in the data.

        The posterior is calibrated with people of the other half, who are removed one at a time, as
        in `run`. It is then applied to new draws of them, and to as many draws of people who are
        absent.
        """
        people = self.rng.permutation(self.people())
        away, here = np.split(people, [people.size // 2])
        release = self.without(away)
        present, absent, right, stated = [], [], 0.0, 0
        for person in here:
            others = release.without([person])
            for _ in range(DRAWS):
                facts = release.draw(person)
                present.append(release.presence(facts, release.log_likelihood(facts)))
                absent.append(others.presence(facts, others.log_likelihood(facts)))
        fitted = _fitted(np.array(present), np.array(absent))
        for person, source in [*((p, release) for p in here), *((p, self) for p in away)]:
            facts = source.draw(person)
            log_p = release.log_likelihood(facts)
            if _posterior(fitted, np.array([release.presence(facts, log_p)]))[0] >= SURE:
                stated += 1
                right += _credit(log_p, person)
        return right, stated

    def without(self, people: Array | list[int]) -> BruteForce:
        """The same data without these people's events: what an attacker sees if they are absent."""
        out, stays = copy(self), ~np.isin(self.record, people)
        out.record, out.item = self.record[stays], self.item[stays]
        out.value = None if self.value is None else self.value[stays]
        out.time = None if self.time is None else self.time[stays]
        out.start = np.searchsorted(out.item, np.arange(self.start.size))
        out.sampled = (np.cumsum(stays) - 1)[self.sampled[stays[self.sampled]]]
        out.length, out.support, out.held = self.length.copy(), self.support.copy(), [*self.held]
        for person in people:
            out.length[person] = 0
            out.support[self.held[person]] -= 1
            out.held[person] = self.held[person][:0]
        return out

    def draw(self, person: int) -> list[tuple[int, float, float]]:
        """Known facts of a person: item, value and time; NaN = not known."""
        who, rng = self.who, self.rng
        n_right = who.knows - (who.wrong if who.wrong_kind == "item" else 0)
        mine = rng.choice(self.held[person], n_right, replace=False)
        wrong_values = who.wrong if who.wrong_kind == "value" else 0
        facts = [self._fact(item, person, k < wrong_values) for k, item in enumerate(mine)]
        seen = set(self.held[person].tolist())
        for _ in range(who.wrong if who.wrong_kind == "item" else 0):
            weight = np.where(np.isin(np.arange(self.support.size), list(seen)), 0, self.support)
            item = int(rng.choice(self.support.size, p=weight / weight.sum()))
            seen.add(item)
            holders = np.unique(self.record[self._events(item)])
            facts.append(self._fact(item, int(rng.choice(holders)), False))
        rng.shuffle(facts)
        return facts

    def _events(self, item: int) -> slice:
        return slice(self.start[item], self.start[item + 1])

    def _fact(self, item: int, person: int, is_wrong: bool) -> tuple[int, float, float]:
        events = np.flatnonzero(self.record[self._events(item)] == person) + self.start[item]
        event = int(self.rng.choice(events))
        value = np.nan if self.value is None else self._seen_value(self.value[event], is_wrong)
        time = np.nan if self.time is None else self._seen_time(self.time[event], is_wrong)
        return int(item), value, time

    def _seen_value(self, true: float, is_wrong: bool) -> float:
        if is_wrong:
            return float(
                self.rng.choice(self.levels[np.abs(self.levels - true) > self.value_within + 1e-9])
            )
        if self.is_share:
            moved = true * (1 + self.value_within * self.rng.uniform(-1, 1))
        else:
            moved = true + self.rng.choice(self.steps)
        return float(np.clip(moved, self.levels[0], self.levels[-1]))

    def _seen_time(self, true: int, is_wrong: bool) -> float:
        d = self.time_within
        if not is_wrong:
            return float(true + self.rng.integers(-d, d, endpoint=True))
        outside = np.arange(self.first, self.last + 1)
        return float(self.rng.choice(outside[np.abs(outside - true) > d]))

    def log_likelihood(self, facts: list[tuple[int, float, float]]) -> Array:
        """log P(facts | record) of every record; -inf = it cannot have produced them."""
        who, m = self.who, len(facts)
        holds = np.array([self._mean(f, lambda v, t: 1.0) for f in facts])
        near = np.array([self._mean(f, lambda v, t, f=f: self._kernel(f, v, t)) for f in facts])
        with np.errstate(divide="ignore", invalid="ignore"):
            if who.wrong_kind == "item" and who.wrong:
                return self._with_wrong_items(facts, holds > 0, near)
            ways = np.zeros((who.wrong + 1, self.n))
            ways[0] = 1.0
            far = np.zeros((m, self.n))
            if who.wrong:
                far = np.array(
                    [self._mean(f, lambda v, t, f=f: self._outside(f, v, t)) for f in facts]
                )
            for k in range(m):
                ways[1:] = ways[1:] * near[k] + ways[:-1] * far[k]
                ways[0] = ways[0] * near[k]
            return (
                np.log(ways[who.wrong]) - _log_falling(self.length, m) - np.log(comb(m, who.wrong))
            )

    def _with_wrong_items(
        self, facts: list[tuple[int, float, float]], holds: Array, near: Array
    ) -> Array:
        m, w = len(facts), self.who.wrong
        out = np.full(self.n, -np.inf)
        own = np.array([self.support[h].sum() for h in self.held])
        total = self.support.sum()
        background = [self._background(f) for f in facts]
        for r in np.flatnonzero(holds.sum(axis=0) == m - w):
            right = holds[:, r]
            support = [self.support[facts[k][0]] for k in np.flatnonzero(~right)]
            orders = list(permutations(support))
            left = total - own[r]
            chance = np.mean(
                [np.prod([s / (left - sum(o[:k])) for k, s in enumerate(o)]) for o in orders]
            )
            # the probability of one order; all orders of the wrong items lead to the same facts
            chance *= np.prod([background[k] for k in np.flatnonzero(~right)])
            out[r] = (
                np.log(np.prod(near[right, r]) * chance)
                - _log_falling(self.length[r], m - w)
                - np.log(comb(m, w))
            )
        return out

    def _mean(self, fact: tuple[int, float, float], of: Callable[..., Any]) -> Array:
        """Mean over the events of the fact's item, per record; 0 where a record lacks the item."""
        events = self._events(fact[0])
        records = self.record[events]
        value = None if self.value is None else self.value[events]
        time = None if self.time is None else self.time[events]
        each = np.broadcast_to(of(value, time), records.shape)
        count = np.bincount(records, minlength=self.n)
        return np.bincount(records, each, minlength=self.n) / np.maximum(count, 1)

    def _kernel(
        self, fact: tuple[int, float, float], value: Array | None, time: Array | None
    ) -> Any:
        """P(seen | true) of a right fact."""
        p: Any = 1.0
        if value is not None:
            p = p * self._value_kernel(fact[1], value)
        if time is not None:
            p = p * (np.abs(time - fact[2]) <= self.time_within) / (2 * self.time_within + 1)
        return p

    def _value_kernel(self, seen: float, value: Array) -> Array:
        low, high = self.levels[0], self.levels[-1]
        if self.is_share:
            width = self.value_within * value
            if seen >= high:
                return np.clip((value + width - high) / (2 * width), 0, 1)
            if seen <= low:
                return np.clip((low - (value - width)) / (2 * width), 0, 1)
            return (np.abs(seen - value) <= width) / (2 * width)
        moved = np.clip(value[:, None] + self.steps[None, :], low, high)
        return (np.abs(moved - seen) < 1e-9).mean(axis=1)

    def _outside(
        self, fact: tuple[int, float, float], value: Array | None, time: Array | None
    ) -> Any:
        """P(seen | true) of a wrong fact: every known channel is outside its tolerance."""
        p: Any = 1.0
        if value is not None:
            far = np.abs(self.levels[None, :] - value[:, None]) > self.value_within + 1e-9
            p = (
                p
                * (np.abs(fact[1] - value) > self.value_within + 1e-9)
                / np.maximum(far.sum(axis=1), 1)
            )
        if time is not None:
            d, spans = self.time_within, np.arange(self.first, self.last + 1)
            if d * 2 + 1 < spans.size:
                n_far = spans.size - (
                    np.minimum(time + d, self.last) - np.maximum(time - d, self.first) + 1
                )
                p = p * (np.abs(time - fact[2]) > d) / np.maximum(n_far, 1)
        return p

    def _background(self, fact: tuple[int, float, float]) -> float:
        """Probability of the seen value and time among the item's own pairs."""
        near = self._mean(fact, lambda v, t: self._kernel(fact, v, t))
        return float(near.sum() / max(self.support[fact[0]], 1))

    def log_absent(self, facts: list[tuple[int, float, float]]) -> float:
        """log P(facts | absent) by popularity alone; the calibration corrects it."""
        total = self.support.sum()
        some = [
            None if channel is None else channel[self.sampled]
            for channel in (self.value, self.time)
        ]
        out = 0.0
        for fact in facts:
            common = float(np.mean(self._kernel(fact, *some)))
            # an item that no record holds can still be an absent person's
            own, n = self._background(fact), self.support[fact[0]]
            out += np.log(max(n, 0.5) / total) + np.log(
                max((n * own + SHRINK * common) / (n + SHRINK), 1e-12)
            )
        return out

    def presence(self, facts: list[tuple[int, float, float]], log_p: Array) -> tuple[float, float]:
        """Log Bayes factor of presence, and share of the best record among all."""
        top = log_p.max()
        if not np.isfinite(top):
            return -np.inf, 1.0
        mass = np.exp(log_p - top).sum()
        return top + np.log(mass / self.n) - self.log_absent(facts), 1.0 / mass


def _credit(log_p: Array, person: int) -> float:
    """1 over the number of records tied at the top if the person is among them, else 0."""
    best = log_p >= log_p.max() - 1e-9
    return float(np.isfinite(log_p[person]) * best[person] / best.sum())


def _fitted(present: Array, absent: Array) -> Array:
    """Coefficients of a logistic map from (1, log Bayes factor, log share) to the odds of presence."""
    both = np.concatenate([present, absent])
    some = np.isfinite(both[:, 0])
    sign = np.repeat([1.0, -1.0], len(present))[some]
    x = _covariates(both[some])

    def loss(p: Array) -> float:
        pull = (p - [0, 1, 0]) / [3, 1, 1]
        return float(np.logaddexp(0, -sign * (p @ x)).sum() + 0.5 * pull @ pull)

    return minimize(
        loss, [0.0, 1.0, 0.0], method="L-BFGS-B", bounds=[(None, None), (0.01, None), (None, None)]
    ).x


def _posterior(fitted: Array, stated: Array) -> Array:
    """Posterior of the best record at even odds of presence; 0 where no record is possible."""
    some = np.isfinite(stated[:, 0])
    out = np.zeros(len(stated))
    out[some] = expit(fitted @ _covariates(stated[some])) * stated[some, 1]
    return out


def _covariates(stated: Array) -> Array:
    return np.stack([np.ones(len(stated)), stated[:, 0], np.log(stated[:, 1])])


def _log_falling(n: Array, k: int) -> Array:
    """Logarithm of n·(n-1)···(n-k+1); inf where n < k, so that such a record cannot have produced k facts."""
    n = np.asarray(n, float)
    return np.where(n >= k, sum(np.log(np.maximum(n - step, 1.0)) for step in range(k)), np.inf)
