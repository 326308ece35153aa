"""`diff`: compare the risk of two releases on the same people, or of two audits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.audit.audit import Audit
from standout.audit.canonical import canonical
from standout.audit.defaults import ATTACKS, TARGETS
from standout.audit.domain import joined_with_and
from standout.audit.findings import Findings
from standout.audit.known import known_names
from standout.audit.strongest import paired
from standout.audit.sweep import default_sweep, fit_to_data
from standout.data.channels import level_names
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.whole import whole_of
from standout.engines.engine import Engine
from standout.errors import EligibilityError, ParameterError
from standout.experiment.attackers import ADAPTIVE, FITTED
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import Data, places, source_of, target_number
from standout.formulas.differences import newcombe, p_larger
from standout.formulas.exact_tests import holm
from standout.formulas.rates import Rate
from standout.gate.columns import column_list
from standout.results import Part, to_plain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RateChange(Part):
    """Change of the hit rate of an adversary with an attack, with the 95 % interval of the difference."""

    adversary: str
    attack: str
    n: int
    n_old: int
    old: float
    new: float
    difference: float
    low: float
    high: float
    p_rose: float
    """p-value of no rise."""
    p_rose_holm: float = 1.0
    """The same, all rows considered together."""


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Change of the hit rates from old to new, one row per adversary and attack."""

    rows: tuple[RateChange, ...]
    paired: bool
    """Whether the same people were attacked in both."""
    alpha: float = 0.05
    not_compared: tuple[str, ...] = ()
    """Columns of the new release that nobody who was compared knows, and that are not harmless."""
    added: tuple[str, ...] = ()
    """Those of them that the old release does not have."""

    @property
    def rose(self) -> tuple[RateChange, ...]:
        """Rows in which the risk rose, all rows considered together (Holm)."""
        return tuple(row for row in self.rows if row.p_rose_holm <= self.alpha)

    @property
    def verdict(self) -> str:
        """The word "fail" if the risk rose beyond the error, else "pass"; "unclear" if nothing could be compared, or not all."""
        return "fail" if self.rose else "pass" if self.rows and not self.added else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.verdict,
            "paired": self.paired,
            "alpha": self.alpha,
            "not_compared": list(self.not_compared),
            "added": list(self.added),
            "rows": to_plain(self.rows),
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per adversary and attack, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(to_plain(self.rows))

    def __str__(self) -> str:
        if not self.rows:
            return "nothing can be compared: the two have no adversary and attack in common"
        most = max(self.rose or self.rows, key=lambda row: row.difference)
        lost = f". Not compared: {joined_with_and(self.not_compared)}" if self.not_compared else ""
        if self.rose:
            return f"the risk rose: {_change(most)}{lost}"
        name = "largest rise" if most.difference >= 0 else "smallest fall"
        same = f"the risk did not rise beyond the error; {name}: {_change(most)}{lost}"
        if not self.added:
            return same
        return f"cannot tell: new and not compared: {joined_with_and(self.added)}. For what was compared, {same}"

    def __repr__(self) -> str:
        return f"<Regression: {len(self.rows)} comparisons, risk rose in {len(self.rose)}>"


def diff(
    old: Findings | Data,
    new: Findings | Data,
    *,
    source: Data | None = None,
    adversaries: Sequence[Adversary] | None = None,
    attacks: Sequence[str] = ATTACKS,
    targets: int | str | None = TARGETS,
    seed: int = 0,
    engine: str | Engine = "memory",
    confidence: float = 0.95,
    progress: Progress | bool | None = None,
) -> Regression:
    """Compare the risk of two releases, or of two audits.

    Two findings are compared rate by rate, as measured on different people. Two datasets are
    attacked on the same people, matched by record label.

    Parameters
    ----------
    old, new
        Two `Findings`, or two datasets (or frames).
    source
        The true data of the people, from which knowledge is drawn for both releases. None = each
        release is its own source.
    adversaries
        What is known. Default: the sweep of the source, or of the new release.
    attacks
        Names of attacks.
    targets
        Number of people to attack per adversary, or "all".
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    confidence
        1 minus the error of "the risk rose", over all adversaries and attacks together.
    progress
        As in `check`.
    """
    if not 0 < confidence < 1:
        raise ParameterError(f"confidence={confidence}: use a number between 0 and 1")
    lost: list[str] = []
    added: list[str] = []
    if isinstance(old, Findings) and isinstance(new, Findings):
        rows = list(_of_findings(old, new))
        before_lost, lost = (list(one.data.get("not_measured", ())) for one in (old, new))
        added = [name for name in lost if name not in before_lost]
    elif isinstance(old, Findings) or isinstance(new, Findings):
        raise ParameterError(
            "one is an audit's findings and the other is data: compare two findings or two releases"
        )
    else:
        what = "a comparison"
        before, after = (
            in_memory(source_of(x, name), what) for x, name in ((old, "old"), (new, "new"))
        )
        truth = None if source is None else in_memory(source_of(source), what)
        wanted = target_number(targets)
        sources = (before, after) if truth is None else (truth, truth)
        who = _known(default_sweep(sources[1]) if adversaries is None else adversaries, sources)
        first, second = (
            Audit(data, who, list(attacks), wanted, seed, engine, release=release, describe=False)
            for data, release in zip(sources, (before, after), strict=True)
        )
        lost = _not_measured(after, known_names(sources[1], who))
        added = [name for name in lost if name not in _columns(before)]
        # of a source for both, the same records; else those with the same label
        same = places(before, after) if truth is None else np.arange(truth.n_records)
        with reporting(progress) as report:
            rows = list(_of_releases(first, second, same, report))
    adjusted = holm([row.p_rose for row in rows])
    done = tuple(replace(row, p_rose_holm=p) for row, p in zip(rows, adjusted, strict=True))
    alpha = round(1 - confidence, 12)
    return Regression(done, not isinstance(old, Findings), alpha, tuple(lost), tuple(added))


def _columns(data: Dataset) -> list[str]:
    """Columns of a release; of arrays, which have none, what they hold."""
    own = ["time"] if data.has_time else []
    return [use.name for use in whole_of(data).columns] or [*own, *level_names(data)]


def _not_measured(data: Dataset, known: Collection[str]) -> list[str]:
    """Columns of a release that nobody knows and that are not harmless."""
    if whole_of(data).columns:
        rows = column_list(whole_of(data), known)
        return [row["name"] for row in rows if row["status"] == "not measured"]
    return [name for name in _columns(data) if name not in known]


def _of_findings(old: Findings, new: Findings) -> Iterator[RateChange]:
    """Adversaries and attacks that both audits have."""
    before = {key: rate for key, _, rate in _rates(old)}
    for key, words, second in _rates(new):
        if key in before:
            first = before[key]
            counts = second.count, second.n, first.count, first.n
            rates = second.n, first.n, first.rate, second.rate
            yield RateChange(words, key[-1], *rates, *newcombe(*counts), p_larger(*counts))


def _rates(findings: Findings) -> Iterator[tuple[tuple[bytes, str], str, Rate]]:
    """Hit rate of each adversary and attack: what identifies them, the adversary in words, and the rate."""
    for result in findings.results:
        who = to_plain(result.adversary)
        words = who.pop("words")
        for one in result.attacks:
            yield (canonical(who), one.attack.label), words, one.hit


def _known(adversaries: Sequence[Adversary], sources: Sequence[Dataset]) -> list[Adversary]:
    """The adversaries whose knowledge all of these data have."""
    known = [who for who in adversaries if all(_fits(who, data) for data in sources)]
    if not known:
        raise EligibilityError(
            "no adversary fits both releases: do both have values and days? Give adversaries"
        )
    return known


def _fits(who: Adversary, data: Dataset) -> bool:
    try:
        return fit_to_data(who, data) == who
    except ParameterError:
        return False


def _of_releases(old: Audit, new: Audit, same: Array, report: Progress) -> Iterator[RateChange]:
    """Attack the same people in both releases; `same`: the record in the new source of every record of the old one."""
    for k, who in enumerate(old.adversaries):
        words = who.words(new.source)
        report(words, k, len(old.adversaries))
        # index -1 (not in the new release) reads the last element, which is False
        fits = np.zeros(new.source.n_records + 1, np.bool_)
        fits[who.eligible(new.source)] = True
        eligible = who.eligible(old.source)
        people = eligible[fits[same[eligible]]]
        if people.size == 0:
            continue
        source = in_memory(old.source, "a comparison")
        people = sample_targets(source, people, old.targets, old.seed)
        before, after = _credits(old, who, people), _credits(new, who, same[people])
        for label in before:
            it = paired(after[label], before[label])
            # the test is two-sided: half of its p-value, on the side of the change
            p_rose = it.p_value / 2 if it.difference > 0 else 1.0
            first, second = Rate.of(before[label]), Rate.of(after[label])
            rates = second.n, first.n, first.rate, second.rate
            yield RateChange(words, label, *rates, it.difference, it.low, it.high, p_rose)


def _credits(job: Audit, who: Adversary, people: Array) -> dict[str, Array]:
    """Credit per person and attack; of several attackers with one attack, the one who knows the defense."""
    able = job.experiment.attackers_for(who)
    aware = ADAPTIVE if any(one.kind == ADAPTIVE for one in able) else FITTED
    knowing = [one for one in able if one.kind in ("", aware)]
    found = job.experiment.attack(job.experiment.people(who, people), knowing)
    return {one.label_without_kind: found[one.label].credit for one in knowing}


def _change(row: RateChange) -> str:
    """The change in words."""
    change = f"{100 * row.difference:+.1f} points ({100 * row.low:+.1f} to {100 * row.high:+.1f})"
    return f"{change} for {row.adversary}, {row.attack}"
