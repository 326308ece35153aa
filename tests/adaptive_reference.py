"""Dense reference of the adaptive likelihood: every record, every shift and every source length, in plain loops."""

from functools import lru_cache
from itertools import combinations, permutations
from math import comb, lgamma

import numpy as np

from standout.kernels.moments import Periods

SHRINK = 10.0
BIN = 30


def falling(n, k):
    """n(n-1)…(n-k+1); 0 if n is too small."""
    return np.prod([float(n - i) for i in range(k)]) if n > k - 1 else 0.0


class Reference:
    """LLR(r) of one query, computed entry by entry from a release, its mechanism and the adversary."""

    def __init__(self, release, who, floor, exclude=-1):
        self.release, self.mechanism, self.source, self.who = (
            release,
            release.mechanism,
            release.source,
            who,
        )
        self.floor, self.exclude = floor, exclude
        self.rows = []
        for r in range(release.n_records):
            row = {}
            for k in range(release.record_ptr[r], release.record_ptr[r + 1]):
                code = int(release.record_code[k]) if release.has_value else None
                day = int(release.record_tick[k]) if release.has_time else None
                row.setdefault(int(release.record_item[k]), []).append((code, day))
            self.rows.append(row)
        self.others = [row for r, row in enumerate(self.rows) if r != exclude]
        names = self.mechanism.items
        self.grouped = names is not None and len(set(names.release.tolist())) < len(names.release)
        self.merged = self.grouped and not release.source.has_repeats
        self.support = np.zeros(release.n_items)
        for row in self.others:
            for i, events in row.items():
                self.support[i] += len(events) if self.grouped else 1
        if self.merged:
            n = release.n_records
            self.support = -n * np.log1p(-np.minimum(release.supports, n - 0.5) / n)
        self.total = self.support.sum()
        self.change = self._change()
        for name in (
            "prior",
            "said",
            "day_back",
            "days_behind",
            "chances",
            "backs",
            "mean",
            "near",
        ):
            setattr(self, name, lru_cache(None)(getattr(self, name)))

    def _change(self):
        if not self.release.has_value:
            return None
        if self.mechanism.value is not None:
            return self.mechanism.value.chance.toarray()
        return (self.source.levels[:, None] == self.release.levels[None, :]).astype(float)

    def prior(self, item):
        """Distribution of the item's source values, by 20 steps of EM from the common one."""
        n = self.release.n_levels
        own, every = np.zeros(n), np.ones(n)
        for row in self.others:
            for i, events in row.items():
                for code, _ in events:
                    every[code] += 1
                    own[code] += i == item
        every /= every.sum()
        first = np.full(self.source.n_levels, 1 / self.source.n_levels)
        mixed = (own + SHRINK * every) / (own.sum() + SHRINK)
        return self.em(mixed, self.em(every, first))

    def em(self, h, pi):
        for _ in range(20):
            new = np.zeros(pi.size)
            for c in range(h.size):
                if pi @ self.change[:, c] > 0:
                    new += h[c] * pi * self.change[:, c] / (pi @ self.change[:, c])
            pi = new / new.sum()
        return pi

    def said(self, value):
        """N(y|v) for each source level: uniform steps within the tolerance, clipped; and the chance of a wrong value."""
        levels, tol = self.source.levels, float(self.who.value_within or 0)
        right, wrong = np.zeros(levels.size), np.zeros(levels.size)
        for k, v in enumerate(levels):
            ends = [min(max(v + s, levels[0]), levels[-1]) for s in range(-int(tol), int(tol) + 1)]
            right[k] = np.mean([e == value for e in ends])
            outside = [u for u in levels if abs(u - v) > tol]
            wrong[k] = np.mean([u == value for u in outside]) if outside else 0.0
        return right, wrong

    def day_back(self, item, day):
        """Smoothed density of the item's true days: released days in bins, spread over the days that lead to the bin."""
        shift = self.mechanism.time.shift if self.mechanism.time else 0
        span = int(self.release.tick_span)
        own, every = np.zeros(span // BIN + 1), np.ones(span // BIN + 1)
        for row in self.others:
            for i, events in row.items():
                for _, d in events:
                    every[d // BIN] += 1
                    own[d // BIN] += i == item
        every /= every.sum()
        mixed = (own + SHRINK * every) / (own.sum() + SHRINK)
        bins = np.array([self.released(d) // BIN for d in range(span + 1)])
        out = []
        for z in range(-shift, shift + 1):
            at = bins[min(max(day + z, 0), span)]
            out.append(mixed[at] / (bins == at).sum())
        return float(np.mean(out))

    def released(self, day):
        change = self.mechanism.time
        if change is None or change.period is None or change.period_first:
            return day
        first = int(self.release.first_tick)
        return max(int(Periods(change.period).draw(np.array([day + first]))[0]) - first, 0)

    def days_behind(self, day, z):
        """True days that a released day stands for, if the person's dates were shifted by z."""
        change, first = self.mechanism.time, int(self.release.first_tick)
        if change is None or change.period is None:
            return [day - z]
        start = day - z if change.period_first else day
        if Periods(change.period).draw(np.array([start + first]))[0] != start + first:
            return []
        inside = [
            d
            for d in range(start, start + 400)
            if Periods(change.period).draw(np.array([d + first]))[0] == start + first
        ]
        return inside if change.period_first else [d - z for d in inside]

    def chances(self, fact, code, day, z):
        """Probability of the fact's value and day behind one released entry: right, wrong."""
        item, value, known = fact
        right = wrong = 1.0
        if self.release.has_value and not np.isnan(value):
            pi, (n, u) = self.prior(item), self.said(value)
            below = pi @ self.change[:, code]
            right, wrong = (
                (pi * self.change[:, code]) @ n / below,
                (pi * self.change[:, code]) @ u / below,
            )
        if self.release.has_time and not np.isnan(known):
            w, behind = int(self.who.time_within), self.days_behind(day, z)
            if not behind:
                return 0.0, 0.0
            right *= np.mean([abs(known - d) <= w for d in behind]) / (2 * w + 1)
            first, span = (
                int(self.source.first_tick) - int(self.release.first_tick),
                int(self.source.tick_span),
            )
            middle = min(max(behind[(len(behind) - 1) // 2] - first, 0), span)
            shifted = self.mechanism.time is not None and self.mechanism.time.shift > 0
            outside = span - 2 * w if shifted else max(0, middle - w) + max(0, span - middle - w)
            wrong *= (
                np.mean([abs(known - d) > w for d in behind])
                / max(outside, 1)
                * (first <= known <= first + span)
            )
        return float(right), float(wrong)

    def backs(self, fact):
        item, value, known = fact
        g = off = 1.0
        if self.release.has_value and not np.isnan(value):
            pi, (n, u) = self.prior(item), self.said(value)
            g, off = g * max(pi @ n, 1e-12), off * max(pi @ u, 1e-12)
        if self.release.has_time and not np.isnan(known):
            g, off = g * self.day_back(item, int(known)), off / (self.source.tick_span + 1)
        return g, off

    def shifts(self):
        s = self.mechanism.time.shift if self.mechanism.time and self.release.has_time else 0
        return range(-s, s + 1)

    def mean(self, fact):
        """gm: mean of the chances over the item's released entries and all shifts."""
        pairs = [
            self.chances(fact, *event, z)
            for row in self.others
            for event in row.get(fact[0], [])
            for z in self.shifts()
        ]
        return np.mean(pairs, axis=0) if pairs else np.zeros(2)

    def llr(self, r, facts, n_gone=0, chance=None):
        """Log of the ratio for record r."""
        c, who, row = self.mechanism, self.who, self.rows[r]
        m, exact = len(facts) + n_gone, not who.wrong_varies and not self.grouped
        w, share = (int(who.wrong), 0.0) if exact else (0, who.wrong_share)
        items = who.wrong_kind == "item" and who.wrong > 0
        n_right = who.n_right_items if exact or not items else 1
        length = sum(len(e) for e in row.values()) if self.grouped else len(row)
        if self.merged:
            length = self.source_length(len(row))
        stays = (1 - c.moved) * (1 - c.replaced)
        q_r = sum(self.support[i] * (1 - self.strange(i)) for i in row) / self.total
        strangers = np.mean([self.strange(i) for i in row]) if row else 0.0
        if self.grouped:
            q_r, strangers = sum(self.support[i] for i in row) / self.total, 1 - stays
        n_held = 1 if self.merged else sum(f[0] in row for f in facts)
        nodes = [
            (
                1.0,
                max(length, n_held),
                c.kept_pairs * (1 - c.lost) * stays,
                1 - (1 - c.lost) * (1 - strangers),
            )
        ]
        if c.cap is not None and length >= c.cap:
            z = [
                (n, k)
                for k, n in enumerate(c.source_lengths)
                if n and k >= max(c.cap / (c.kept_pairs * (1 - c.lost)), n_right)
            ]
            all_ = sum(n for n, _ in z)
            wrong_items = w if items else 0
            k_lost = (
                min(len(facts) - n_held, 1)
                if items and share
                else max(len(facts) - n_held - wrong_items, 0)
            )
            nodes = []
            for n, k in z:
                gone = k * (1 - min(c.cap * stays / (k * c.kept_pairs), stays * (1 - c.lost)))
                miss = (falling(gone, k_lost) / falling(k - n_held, k_lost)) ** (1 / max(k_lost, 1))
                nodes.append((n / all_, k, stays, miss))
        whole = 0.0
        for weight, believed, keeps, miss in nodes:
            rho = keeps * falling(believed, n_held) ** (-1 / n_held) if n_held else 1.0
            for z in self.shifts():
                right, wrong = np.ones(m), np.ones(m)
                for j, fact in enumerate(facts):
                    right[j], wrong[j] = self.factors(row, fact, z, rho, miss, q_r, items)
                    p = 1.0 if chance is None else chance[j]
                    right[j] = p * right[j] + 1 - p + self.floor
                    wrong[j] = p * wrong[j] + 1 - p + self.floor
                if self.grouped:
                    product = self.together(row, facts, z, rho, miss, q_r, share, items)
                elif exact:
                    product = sum(
                        np.prod([wrong[j] if j in some else right[j] for j in range(m)])
                        for some in combinations(range(m), w)
                    ) / comb(m, w)
                else:
                    product = np.prod((1 - share) * right + share * wrong)
                whole += weight * product / len(self.shifts())
        return np.log(whole) if whole > 0 else -np.inf

    def strange(self, item):
        """Probability that an entry of the item came from another record or replaced another item."""
        q = max(self.support[item], 0.5) / self.total
        noise = min(self.mechanism.replaced / self.release.n_items / q, 1.0)
        return 1 - (1 - self.mechanism.moved) * (1 - noise)

    def factors(self, row, fact, z, rho, miss, q_r, items):
        c, item = self.mechanism, fact[0]
        g, off = self.backs(fact)
        h = 0.0 if items else self.who.wrong_share
        absent = (1 - h) * g + h * off
        gm, gm_off = self.mean(fact) if c.moved or c.attributes else (g, off)
        q = max(self.support[item], 0.5) / self.total
        strange = self.strange(item)
        moved = c.moved / (c.moved + c.lost + c.replaced) if c.moved else 0.0
        rest, rest_kept = max(1 - q_r, 1e-9), max(1 - c.kept_pairs * q_r, 1e-9)
        if item not in row:
            right = miss * (moved * gm + (1 - moved) * g) / absent / rest
            wrong = (
                g / absent / rest_kept
                if items
                else miss * (moved * gm_off + (1 - moved) * off) / absent / rest
            )
            return right, wrong
        k, u = np.mean([self.chances(fact, *event, z) for event in row[item]], axis=0)
        n = self.support[item]
        x = (
            (c.attributes - (1 - (1 - c.attributes) ** n) / n) * n / max(n - 1, 1)
            if c.attributes
            else 0.0
        )
        own = 1 - x
        # another entry of the record must have been this one
        by_chance = miss * strange / absent / rest if c.moved or c.replaced else 0.0
        ratio = rho / (c.kept_pairs * q * absent)
        k, u = (
            (1 - c.hidden) * (own * a + x * b) + c.hidden * d
            for a, b, d in ((k, gm, g), (u, gm_off, off))
        )
        right = by_chance * gm + ratio * k
        wrong = strange * g / absent / rest_kept if items else by_chance * gm_off + ratio * u
        return right, wrong

    def source_length(self, shown):
        """Source length at which a record is expected to show that many groups."""
        q = self.support / self.total
        shown, low, high = min(shown, q.size - 0.5), 0.0, 50.0 * q.size
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if (1 - np.exp(-middle * q)).sum() < shown else (low, middle)
        return low

    def near(self, gap):
        """Probability of a known day that far from the shown one, for an earlier entry of the same record."""
        w, n = int(self.who.time_within), int(self.release.tick_span) + 1
        count, entries = (
            np.zeros(n),
            [(r, d) for r, row in enumerate(self.rows) for i in sorted(row) for _, d in row[i]],
        )
        for stride in (1, 2, 3, 5, 8, 13):
            for (r, d), (s, e) in zip(entries, entries[stride:], strict=False):
                count[abs(d - e)] += r == s
        share = 0.95 * count / max(count.sum(), 1.0) + 0.05 / n

        def chance(gap):
            return 0.0 if abs(gap) >= n else share[abs(gap)] / (2 if gap else 1)

        return 0.0 if gap > w else 2 * np.mean([chance(int(gap) + e) for e in range(-w, w + 1)])

    def from_merged(self, facts, event, z, mu):
        """Sum over the number n of source items in the group: one of them at random is shown."""
        k, ratio, other = len(facts), [], []
        for fact in facts:
            g, off = self.backs(fact)
            h = 0.0 if self.who.wrong_kind == "item" else self.who.wrong_share
            right, wrong = self.chances(fact, *event, z)
            absent = (1 - h) * g + h * off
            ratio.append(((1 - h) * right + h * wrong) / absent)
            near = 1.0
            if not np.isnan(fact[2]):
                near = self.near(fact[2] - event[1]) / self.day_back(fact[0], int(fact[2]))
            other.append(((1 - h) * g * near + h * off) / absent)
        shown = sum(
            ratio[j] * np.prod([o for i, o in enumerate(other) if i != j]) for j in range(k)
        )
        total = 0.0
        for n in range(max(k, 1), 150):
            weight = np.exp(n * np.log(mu) - mu - lgamma(n + 1)) / (1 - np.exp(-mu))
            picks = np.prod([(n - i) / mu for i in range(k)])
            total += weight * picks * (shown / n + (1 - k / n) * np.prod(other))
        return total

    def together(self, row, facts, z, rho, miss, q_r, share, items):
        """Grouped items: sum over all ways in which facts come from distinct entries, are lost or are wrong."""
        out = 1.0
        for item in {f[0] for f in facts}:
            mine = [f for f in facts if f[0] == item]
            events = row.get(item, [])
            rest, rest_kept = (
                (1.0, 1.0) if events else (1 - q_r, 1 - self.mechanism.kept_pairs * q_r)
            )
            total = 0.0
            for n in range(len(mine) + 1):
                for some in combinations(range(len(mine)), n):
                    lost = 1.0
                    for j in set(range(len(mine))) - set(some):
                        g, off = self.backs(mine[j])
                        h = 0.0 if items else self.who.wrong_share
                        absent = (1 - h) * g + h * off
                        right = miss * g / absent / rest
                        wrong = g / absent / rest_kept if items else miss * off / absent / rest
                        lost *= (1 - share) * right + share * wrong + self.floor
                    if self.merged and events:
                        told = [mine[j] for j in some]
                        mu = self.support[item] / self.total / rho
                        sure = (1 - share) ** n if items else 1.0
                        total += (
                            lost * sure * (self.from_merged(told, events[0], z, mu) if n else 1.0)
                        )
                        continue
                    for chosen in permutations(events, n):
                        part = lost
                        for j, event in zip(some, chosen, strict=True):
                            k, u = self.chances(mine[j], *event, z)
                            g, off = self.backs(mine[j])
                            h = 0.0 if items else self.who.wrong_share
                            q = self.support[item] / self.total
                            told = (1 - share) * k + (0.0 if items else share * u)
                            part *= (
                                rho
                                * told
                                / (self.mechanism.kept_pairs * q * ((1 - h) * g + h * off))
                            )
                        total += part
            out *= total
        return out
