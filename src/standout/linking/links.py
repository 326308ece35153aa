"""`Links`: who of a second file is which record of the release, and how sure that is; `LinkFindings`: its numbers as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.audit.findings import freeze, naming, read_json, write_whole
from standout.errors import InputError, ParameterError
from standout.formulas.rates import Rate
from standout.formulas.spacing import benjamini_hochberg
from standout.linking.noise import LinkNoise
from standout.results import to_plain

if TYPE_CHECKING:
    import pandas as pd


SCHEMA_VERSION = 1
KIND = "link"
CUTS = (0.01, 0.05, 0.1, 0.2)
POSTERIOR_CUTS = (0.5, 0.8, 0.9, 0.95, 0.99)
RULES = ("spacing", "posterior")
EDGES = (1, 2, 4, 8, 16, 32, 64)
"""First number of items of each bin; F06's bins."""
BIN_NAMES = ("1", "2–3", "4–7", "8–15", "16–31", "32–63", "64 or more")
MEASURED = "on 55 other pairs of files with known answers, 1.7 % and 0.6 % of such names were wrong"
"""Copied from docs/linking_coverage.md; a test compares them."""
PARTS = ("data", "noise", "links", "canaries", "one_to_one", "truth", "warnings")


@dataclass(frozen=True, eq=False, repr=False)
class Links:
    """Answers for every person of the second file. Made by `standout.link`.

    Arrays have one element per query, in the order of the second file's people. Labels and record
    indices are shown nowhere unless they are asked for: `to_frame()`, `save` and the notebook view
    give aggregates.
    """

    best: Array
    """Record index, -1 = nobody."""
    posterior: Array
    """P(`best` is the person's record), calibrated by the spacing test; one-to-one if that was asked for."""
    p: Array
    """p-value of the spacing test that the best record is unrelated, corrected if absent canaries have too small ones; NaN where
    the test does not apply."""
    model_posterior: Array
    """P(best record is the person's) by the likelihood alone: too sure where people's items go together."""
    n_facts: Array
    """Facts about items that the release holds."""
    candidates: Array
    """(queries, k): records that score highest, -1 = none."""
    chances: Array
    """(queries, k): their probabilities one by one."""
    one_to_one: bool
    noise: LinkNoise
    expected_links: float
    """Expected number of queries whose `best` is right."""
    interval: tuple[float, float]
    """95 % interval of that number."""
    details: Mapping[str, Any]
    """Numbers of the run: data, canaries, one-to-one, warnings."""
    queries: Array
    """Label of each query."""
    record_labels: Array
    assigned: Array
    """Record of the best hard assignment with each record used once, -1 = none; empty unless one-to-one was asked for."""

    @property
    def n_queries(self) -> int:
        """Number of people in the second file."""
        return int(self.best.size)

    @property
    def refused(self) -> Array:
        """Queries that the spacing test does not apply to: too few candidates, or scores on a lattice."""
        return np.isnan(self.p)

    def accepted(self, fdr: float = 0.05, rule: str = "spacing") -> Array:
        """Mask of the links that are accepted at this false discovery rate.

        Parameters
        ----------
        fdr
            Largest expected share of wrong links among the accepted ones.
        rule
            "spacing": Benjamini–Hochberg on the p-values of the spacing test; refused queries are
            never accepted. "posterior": links with a posterior of at least 1 - `fdr`. It relies on
            the fitted share of found queries; where the test does not apply, on the likelihood.
        """
        if not 0 < fdr < 1:
            raise ParameterError(f"fdr={fdr}: use a number between 0 and 1")
        if rule not in RULES:
            raise ParameterError(f"rule={rule!r}: use {' or '.join(repr(r) for r in RULES)}")
        if not self.n_queries:
            return np.zeros(0, np.bool_)
        named = self.best >= 0
        if rule == "spacing":
            # one-to-one may name another record than the one that the test is about
            about = np.where(self.best != self.candidates[:, 0], np.nan, self.p)
            return np.asarray(named & (benjamini_hochberg(about) <= fdr))
        return np.asarray(named & (self.posterior >= 1 - fdr))

    @property
    def findings(self) -> LinkFindings:
        """The numbers without labels, as written to JSON and shown in the report."""
        return LinkFindings.of(self)

    def to_frame(self, labels: bool = False) -> pd.DataFrame:
        """Aggregates by number of known items, as a pandas frame; with `labels`, one row per person with both labels."""
        import pandas as pd

        if not labels:
            return self.findings.to_frame()
        label = [self.record_labels[r] if r >= 0 else None for r in self.best.tolist()]
        columns = {
            "person": self.queries,
            "record": pd.Series(label, dtype=object),
            "posterior": self.posterior,
            "p": self.p,
            "facts": self.n_facts,
            "accepted_5": self.accepted(0.05),
            "accepted_1": self.accepted(0.01),
        }
        return pd.DataFrame(columns)

    def save(self, path: str | Path) -> Path:
        """Write the aggregates as JSON; `LinkFindings.load` reads them."""
        return self.findings.save(path)

    def __str__(self) -> str:
        return str(self.findings)

    def _repr_html_(self) -> str:
        return self.findings._repr_html_()

    def __repr__(self) -> str:
        return (
            f"<Links of {self.n_queries:,} people: {self.expected_links:,.0f} expected to be right>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LinkFindings:
    """Aggregates of a linking run: how many links, how sure, and how that was checked."""

    data: Mapping[str, Any]
    noise: Mapping[str, Any]
    links: Mapping[str, Any]
    canaries: Mapping[str, Any] | None = None
    one_to_one: Mapping[str, Any] | None = None
    truth: Mapping[str, Any] | None = None
    """Comparison with the right answers, if they were given."""
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in PARTS:
            object.__setattr__(self, name, freeze(getattr(self, name)))

    @classmethod
    def of(cls, links: Links) -> LinkFindings:
        """Aggregate the answers."""
        own = {k: links.details[k] for k in PARTS if k in links.details}
        return cls(**{**own, "noise": links.noise.to_dict(), "links": aggregates(links)})

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        parts = {name: to_plain(getattr(self, name)) for name in PARTS}
        return {"schema_version": SCHEMA_VERSION, "kind": KIND, **parts}

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, completely or not at all."""
        return write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> LinkFindings:
        """Read a JSON file that `save` wrote."""
        content = read_json(path, "a file of link findings")
        with naming(path):
            return cls.from_dict(content)

    @classmethod
    def from_dict(cls, data: Any) -> LinkFindings:
        """Findings from plain data."""
        is_mine = isinstance(data, dict) and data.get("kind") == KIND
        if not is_mine or data.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"not link findings of schema version {SCHEMA_VERSION}; make them with `standout link`"
            )
        missing = [name for name in PARTS if name not in data]
        if missing or not isinstance(data["links"], dict) or "by_facts" not in data["links"]:
            lost = missing[0] if missing else "links.by_facts"
            raise InputError(
                f"the link findings lack {lost!r}; make them again with `standout link`"
            )
        return cls(**{name: data[name] for name in PARTS})

    def to_frame(self) -> pd.DataFrame:
        """One row per bin of known items, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self.links["by_facts"]])

    def __str__(self) -> str:
        """The answer in three sentences."""
        return "\n".join(sentences(self))

    def _repr_html_(self) -> str:
        return "".join(f"<p>{escape(line)}</p>" for line in sentences(self)) + str(
            self.to_frame().to_html(index=False)
        )

    def __repr__(self) -> str:
        return f"<LinkFindings: {self.data['n_queries']:,} people, {self.links['expected']:,.0f} links expected>"


def aggregates(links: Links) -> dict[str, Any]:
    """Counts of the links by cut and by number of known items."""
    low, high = links.interval
    named, posterior, place = links.best >= 0, links.posterior, bins(links.n_facts)
    accepted = {(rule, fdr): links.accepted(fdr, rule) for rule in RULES for fdr in CUTS}
    above = {cut: (posterior >= cut) & named for cut in POSTERIOR_CUTS}

    def wrong(mask: Array) -> float | None:
        return float((1 - posterior[mask]).mean()) if mask.any() else None

    def counted(b: int) -> dict[str, Any]:
        inside = place == b
        return {
            "items": BIN_NAMES[b],
            "people": int(inside.sum()),
            "expected": float(posterior[inside].sum()),
            "accepted_5": int(accepted["spacing", 0.05][inside].sum()),
            "accepted_1": int(accepted["spacing", 0.01][inside].sum()),
            "refused": int(links.refused[inside].sum()),
        }

    return {
        "n": links.n_queries,
        "expected": links.expected_links,
        "low": low,
        "high": high,
        "estimates": links.details.get("estimates"),
        "overlap": links.details.get("overlap"),
        "refused": int(links.refused.sum()),
        "named": int(named.sum()),
        "accepted": [
            {"rule": rule, "fdr": fdr, "accepted": int(x.sum()), "expected_false": wrong(x)}
            for (rule, fdr), x in accepted.items()
        ],
        "by_posterior": [
            {"cut": cut, "links": int(x.sum()), "expected_false": wrong(x)}
            for cut, x in above.items()
        ],
        "model_expected": float(links.model_posterior.sum()),
        "model_above_95": int((links.model_posterior > 0.95).sum()),
        "by_facts": [counted(b) for b in range(len(EDGES)) if (place == b).any()],
    }


def bins(n_facts: Array) -> Array:
    """Bin of each number of known items; nobody without facts is in a bin (-1)."""
    return np.searchsorted(np.asarray(EDGES), n_facts, side="right") - 1


def accepted_at(found: LinkFindings, fdr: float, rule: str = "spacing") -> int:
    """Number of links that are accepted at a false discovery rate."""
    rows = found.links["accepted"]
    return int(next(r["accepted"] for r in rows if (r["fdr"], r["rule"]) == (fdr, rule)))


def sentences(found: LinkFindings) -> list[str]:
    """Three sentences on the result."""
    n, links = found.data["n_queries"], found.links
    out = [
        f"An attacker who links {n:,} people of the second file to the release is expected to be right for "
        f"{links['low']:,.0f} to {links['high']:,.0f} of them (95 % interval; the posteriors add up to "
        f"{links['expected']:,.0f}).",
        f"She can name {accepted_at(found, 0.05):,} people with at most about 5 % wrong, and "
        f"{accepted_at(found, 0.01):,} with at most about 1 %, without knowing who is in the release ({MEASURED}).",
    ]
    if links["refused"]:
        out.append(
            f"For {links['refused']:,} {'person' if links['refused'] == 1 else 'people'} the test does not apply, because too "
            "little is known of them, and none of them is counted as named. They are not safe for that: by posteriors of at "
            f"least 95 %, which rely on the model, she can name {accepted_at(found, 0.05, 'posterior'):,} of all "
            "people with at most about 5 % wrong."
        )
    if links.get("overlap"):
        rate, low, high = (100 * links["overlap"][name] for name in ("rate", "low", "high"))
        out.append(
            f"About {rate:.0f} % of the people of the second file are in the release (95 % interval {low:.0f} to {high:.0f} %)."
        )
    if found.truth:
        rate = Rate.from_count(found.truth["right"], found.truth["n_present"])
        out.append(
            f"In truth {found.truth['n_present']:,} of them are in the release, and the best record is the right one for "
            f"{rate.count:,.0f} ({100 * rate.rate:.0f} %, {100 * rate.low:.0f} to {100 * rate.high:.0f} %)."
        )
    return out


def time_shift_sentence(found: LinkFindings) -> str:
    """The sentence for a data-protection officer."""
    truth, day = found.truth, found.data.get("split")
    if not truth or not day:
        raise ParameterError("these findings are not those of a time-shifted audit")
    top = next(r for r in truth["k_identified"][0]["rates"] if r["k"] == 1)
    rate = f"{100 * top['rate']:.0f} % ({100 * top['low']:.0f} to {100 * top['high']:.0f} %)"
    named = accepted_at(found, 0.05)
    wrong = next(
        d["false"] for d in truth["discoveries"] if d["rule"] == "spacing" and d["fdr"] == 0.05
    )
    told = f", {100 * wrong['rate']:.0f} % of them wrong" if wrong else ""
    if top["low"] <= 1 / found.data["n_records"]:
        follows = "That is not more than guessing would find: this test does not show that habits lead to people."
    else:
        follows = "Removing names and old entries therefore does not make this data anonymous: habits alone lead to people."
    return (
        f"Someone who knows only what people did before {day} finds the record of {rate} of the {top['n']:,} who are still "
        f"there, among the {found.data['n_records']:,} records of what came after, although the two periods share no entry. "
        f"Without a list of who is there she can name {named:,} people{told}. {follows}"
    )
