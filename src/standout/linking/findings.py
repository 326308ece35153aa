"""`LinkFindings`: the numbers of a linking run as JSON. No labels, no record indices."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.audit.findings import freeze, strict_json, thaw, write_whole
from standout.data.whole_file import check_regular
from standout.errors import InputError
from standout.formulas.rates import Rate

if TYPE_CHECKING:
    import pandas as pd

    from standout.linking.links import Links


SCHEMA_VERSION = 1
KIND = "link"
CUTS = (0.01, 0.05, 0.1, 0.2)
POSTERIOR_CUTS = (0.5, 0.8, 0.9, 0.95, 0.99)
EDGES = (1, 2, 4, 8, 16, 32, 64)
"""First number of items of each bin; F06's bins."""
BIN_NAMES = ("1", "2–3", "4–7", "8–15", "16–31", "32–63", "64 or more")
MEASURED = "on 55 other pairs of files with known answers, 1.7 % and 0.6 % of such names were wrong"
"""Copied from docs/linking_coverage.md; a test compares them."""
PARTS = ("data", "noise", "links", "canaries", "one_to_one", "truth", "warnings")


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
        details = links.details
        return cls(
            data=details["data"],
            noise=links.noise.to_dict(),
            links=aggregates(links),
            canaries=details.get("canaries"),
            one_to_one=details.get("one_to_one"),
            truth=details.get("truth"),
            warnings=tuple(details.get("warnings", ())),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": KIND,
            **{name: thaw(getattr(self, name)) for name in PARTS},
        }

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, completely or not at all."""
        return write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> LinkFindings:
        """Read a JSON file that `save` wrote."""
        try:
            data = strict_json(check_regular(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read link findings {str(path)!r}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{str(path)!r} is not a file of link findings: not JSON") from None
        return cls.from_dict(data)

    @classmethod
    def from_dict(cls, data: Any) -> LinkFindings:
        """Findings from plain data."""
        if (
            not isinstance(data, dict)
            or data.get("kind") != KIND
            or data.get("schema_version") != SCHEMA_VERSION
        ):
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
    return {
        "n": links.n_queries,
        "expected": links.expected_links,
        "low": low,
        "high": high,
        "estimates": links.details.get("estimates"),
        "overlap": links.details.get("overlap"),
        "refused": int(links.refused.sum()),
        "named": int((links.best >= 0).sum()),
        "accepted": [_cut(links, fdr, rule) for rule in ("spacing", "posterior") for fdr in CUTS],
        "by_posterior": [_above(links, cut) for cut in POSTERIOR_CUTS],
        "model_expected": float(links.model_posterior.sum()),
        "model_above_95": int((links.model_posterior > 0.95).sum()),
        "by_facts": [_bin(links, b) for b in range(len(EDGES)) if (bins(links.n_facts) == b).any()],
    }


def bins(n_facts: Array) -> Array:
    """Bin of each number of known items; nobody without facts is in a bin (-1)."""
    return np.searchsorted(np.asarray(EDGES), n_facts, side="right") - 1


def _cut(links: Links, fdr: float, rule: str) -> dict[str, Any]:
    mask = links.accepted(fdr, rule)
    wrong = float((1 - links.posterior[mask]).mean()) if mask.any() else None
    return {"rule": rule, "fdr": fdr, "accepted": int(mask.sum()), "expected_false": wrong}


def _above(links: Links, cut: float) -> dict[str, Any]:
    mask = (links.posterior >= cut) & (links.best >= 0)
    wrong = float((1 - links.posterior[mask]).mean()) if mask.any() else None
    return {"cut": cut, "links": int(mask.sum()), "expected_false": wrong}


def _bin(links: Links, b: int) -> dict[str, Any]:
    inside = bins(links.n_facts) == b
    return {
        "items": BIN_NAMES[b],
        "people": int(inside.sum()),
        "expected": float(links.posterior[inside].sum()),
        "accepted_5": int(links.accepted(0.05)[inside].sum()),
        "accepted_1": int(links.accepted(0.01)[inside].sum()),
        "refused": int(links.refused[inside].sum()),
    }


def accepted_at(found: LinkFindings, fdr: float, rule: str = "spacing") -> Mapping[str, Any]:
    """The row of a false discovery rate."""
    row: Mapping[str, Any] = next(
        r for r in found.links["accepted"] if r["fdr"] == fdr and r["rule"] == rule
    )
    return row


def sentences(found: LinkFindings) -> list[str]:
    """Three sentences on the result."""
    n, links = found.data["n_queries"], found.links
    out = [
        f"An attacker who links {n:,} people of the second file to the release is expected to be right for "
        f"{links['low']:,.0f} to {links['high']:,.0f} of them (95 % interval; the posteriors add up to "
        f"{links['expected']:,.0f}).",
        f"She can name {accepted_at(found, 0.05)['accepted']:,} people with at most about 5 % wrong, and "
        f"{accepted_at(found, 0.01)['accepted']:,} with at most about 1 %, without knowing who is in the release ({MEASURED}).",
    ]
    if links["refused"]:
        out.append(
            f"For {links['refused']:,} {'person' if links['refused'] == 1 else 'people'} the test does not apply, because too "
            "little is known of them, and none of them is counted as named. They are not safe for that: by posteriors of at "
            f"least 95 %, which rely on the model, she can name {accepted_at(found, 0.05, 'posterior')['accepted']:,} of all "
            "people with at most about 5 % wrong."
        )
    if links.get("overlap"):
        o = links["overlap"]
        out.append(
            f"About {100 * o['rate']:.0f} % of the people of the second file are in the release (95 % interval "
            f"{100 * o['low']:.0f} to {100 * o['high']:.0f} %)."
        )
    if found.truth:
        rate = Rate.from_count(found.truth["right"], found.truth["n_present"])
        out.append(
            f"In truth {found.truth['n_present']:,} of them are in the release, and the best record is the right one for "
            f"{rate.count:,.0f} ({100 * rate.rate:.0f} %, {100 * rate.low:.0f} to {100 * rate.high:.0f} %)."
        )
    return out
