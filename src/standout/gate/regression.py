"""`diff`: compare the risk of two releases on the same people, or of two audits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.audit.audit import Audit
from standout.audit.defaults import ATTACKS, TARGETS
from standout.audit.findings import Findings
from standout.audit.strongest import paired
from standout.audit.sweep import default_sweep, fitting
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.engines.engine import Engine
from standout.errors import EligibilityError, ParameterError
from standout.experiment.attackers import ADAPTIVE, FITTED
from standout.experiment.progress import Progress as Reporter
from standout.experiment.progress import reporting
from standout.experiment.subject import Data, places, source_of, target_number
from standout.formulas.differences import newcombe, p_larger
from standout.formulas.exact_tests import holm
from standout.formulas.rates import Rate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Change of the hit rates from old to new, one row per adversary and attack."""

    rows: tuple[Mapping[str, Any], ...]
    paired: bool
    """Whether the same people were attacked in both."""
    alpha: float = 0.05

    @property
    def rose(self) -> tuple[Mapping[str, Any], ...]:
        """Rows in which the risk rose, all rows considered together (Holm)."""
        return tuple(row for row in self.rows if row["p_rose_holm"] <= self.alpha)

    @property
    def verdict(self) -> str:
        """The word "fail" if the risk rose beyond the error, else "pass"; "unclear" if nothing could be compared."""
        return "fail" if self.rose else "pass" if self.rows else "unclear"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.verdict,
            "paired": self.paired,
            "alpha": self.alpha,
            "rows": [dict(r) for r in self.rows],
        }

    def to_frame(self) -> pd.DataFrame:
        """One row per adversary and attack, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.rows])

    def __str__(self) -> str:
        if not self.rows:
            return "nothing can be compared: the two have no adversary and attack in common"
        most = max(self.rows, key=lambda row: row["difference"])
        if self.rose:
            most = max(self.rose, key=lambda row: row["difference"])
            return f"the risk rose: {_said(most)}"
        name = "largest rise" if most["difference"] >= 0 else "smallest fall"
        return f"the risk did not rise beyond the error; {name}: {_said(most)}"

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
    progress: Reporter | bool | None = None,
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
    if isinstance(old, Findings) and isinstance(new, Findings):
        rows = list(_findings_rows(old, new))
    elif isinstance(old, Findings) or isinstance(new, Findings):
        raise ParameterError(
            "one is an audit's findings and the other is data: compare two findings or two releases"
        )
    else:
        before, after = (
            in_memory(source_of(data, name), "a comparison")
            for data, name in ((old, "old"), (new, "new"))
        )
        truth = None if source is None else in_memory(source_of(source), "a comparison")
        wanted = target_number(targets)
        with reporting(progress) as report:
            rows = list(
                _paired_rows(
                    before, after, truth, adversaries, attacks, wanted, seed, engine, report
                )
            )
    adjusted = holm([row["p_rose"] for row in rows])
    done = tuple({**row, "p_rose_holm": p} for row, p in zip(rows, adjusted, strict=True))
    return Regression(done, not isinstance(old, Findings), round(1 - confidence, 12))


def _findings_rows(old: Findings, new: Findings) -> Iterator[dict[str, Any]]:
    """Adversaries and attacks that both audits have."""
    before = {key: one for key, _, one in _cells(old)}
    for key, words, one in _cells(new):
        if key not in before:
            continue
        first, second = before[key]["hit"], one["hit"]
        change, low, high = newcombe(second["count"], second["n"], first["count"], first["n"])
        yield {
            "adversary": words,
            "attack": one["attack"]["label"],
            "n": second["n"],
            "n_old": first["n"],
            "old": first["rate"],
            "new": second["rate"],
            "difference": change,
            "low": low,
            "high": high,
            "p_rose": p_larger(second["count"], second["n"], first["count"], first["n"]),
        }


def _cells(findings: Findings) -> Iterator[tuple[tuple[Any, ...], str, Mapping[str, Any]]]:
    for result in findings.results:
        who = {k: v for k, v in result["adversary"].items() if k != "words"}
        for one in result["attacks"]:
            yield (
                (*sorted(who.items(), key=lambda x: x[0]), one["attack"]["label"]),
                result["adversary"]["words"],
                one,
            )


def _paired_rows(
    old: Dataset,
    new: Dataset,
    truth: Dataset | None,
    adversaries: Sequence[Adversary] | None,
    attacks: Sequence[str],
    targets: int | None,
    seed: int,
    engine: Any,
    report: Reporter,
) -> Iterator[dict[str, Any]]:
    """Attack the same people in both releases."""
    sources = (old, new) if truth is None else (truth, truth)
    wanted = list(adversaries) if adversaries is not None else default_sweep(sources[1])
    known = [who for who in wanted if _fits(who, sources[0]) and _fits(who, sources[1])]
    if not known:
        raise EligibilityError(
            "no adversary fits both releases: do both have values and days? Give adversaries"
        )
    jobs = [
        Audit(source, known, list(attacks), targets, seed, engine, release=release, describe=False)
        for source, release in zip(sources, (old, new), strict=True)
    ]
    shared = np.arange(sources[0].n_records) if truth is not None else places(old, new)
    for k, who in enumerate(known):
        report(who.words(sources[1]), k, len(known))
        people = _people(who, jobs, shared, truth is None)
        if people[0].size == 0:
            continue
        credits = [_credits(job, who, chosen) for job, chosen in zip(jobs, people, strict=True)]
        for label in credits[0]:
            yield _compared(who.words(sources[1]), label, credits[0][label], credits[1][label])


def _people(who: Adversary, jobs: list[Audit], shared: Array, own_sources: bool) -> list[Array]:
    """Record indices of the same people in both sources: eligible in both."""
    old = jobs[0]
    source = in_memory(old.source, "a comparison")
    first = who.eligible(source)
    if not own_sources:
        chosen = sample_targets(source, first, old.targets, old.seed)
        return [chosen, chosen]
    fits = np.zeros(jobs[1].source.n_records + 1, np.bool_)
    fits[who.eligible(jobs[1].source)] = True
    # index -1 (not in the new release) reads the last element, which is False
    both = first[fits[shared[first]]]
    chosen = sample_targets(source, both, old.targets, old.seed) if both.size else both
    return [chosen, shared[chosen]]


def _credits(job: Audit, who: Adversary, people: Array) -> dict[str, Array]:
    """Credit per person and attack; of several attackers with one attack, the one who knows the defense."""
    able = job.experiment.attackers_for(who)
    aware = ADAPTIVE if any(one.kind == ADAPTIVE for one in able) else FITTED
    knowing = [one for one in able if one.kind in ("", aware)]
    found = job.experiment.attack(job.experiment.people(who, people), knowing)
    return {one.label_without_kind: found[one.label].credit for one in knowing}


def _compared(words: str, label: str, before: Array, after: Array) -> dict[str, Any]:
    it = paired(after, before)
    # the test is two-sided: half of its p-value, on the side of the change
    p_rose = it["p_value"] / 2 if it["difference"] > 0 else 1.0
    return {
        "adversary": words,
        "attack": label,
        "n": it["n"],
        "n_old": it["n"],
        "old": Rate.of(before).rate,
        "new": Rate.of(after).rate,
        "difference": it["difference"],
        "low": it["low"],
        "high": it["high"],
        "p_rose": p_rose,
    }


def _fits(who: Adversary, data: Dataset) -> bool:
    try:
        return fitting(who, data) == who
    except ParameterError:
        return False


def _said(row: Mapping[str, Any]) -> str:
    change = f"{100 * row['difference']:+.1f} points ({100 * row['low']:+.1f} to {100 * row['high']:+.1f})"
    return f"{change} for {row['adversary']}, {row['attack']}"
