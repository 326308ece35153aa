"""Datta, Sharma and Sinha 2012: Table 1, Figs. 1–6 and the unperturbed case of section 6.1.

An item is t-rare if 1/log2 of its support is at least t. That is a number of records, so on a
release of another size the same t has another meaning. Here t is converted to the same *share* of
records (t = 0.07: 4.16 % of them); on a release of 480,189 records it is the published one. Table 1
is given both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from standout.errors import EligibilityError
from standout.formulas.rates import Rate
from standout.papers.recipe import Claim, RecipeInputs, Row, Rows, columns_of
from standout.results import to_plain

N_PAPER = 480_189
SIZES, TS = (8, 10, 20), (0.07, 0.075)
DELTA = 0.75
N_RUNS = 60
"""Runs of Algorithm 3 for 1,000 targets or more; proportionally fewer for fewer targets."""

ETA_1 = (0.7, 0.8, 0.9, 1.0)
ETA_2 = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def same_share(t: float, n_records: int) -> float:
    """The t at which an item is rare if at most the same share of records holds it as in the paper's data.

    >>> same_share(0.07, 480_189)
    0.07
    >>> round(2 ** (1 / same_share(0.07, 20_000)))
    832
    """
    if n_records == N_PAPER:
        return t
    support = max(2.0 ** (1.0 / t) * n_records / N_PAPER, 2.0)
    return float(1.0 / np.log2(support))


def _table_1(setting: RecipeInputs) -> Rows:
    from standout.theory.certificates import filtered_out

    n = setting.dataset.n_records
    out: Rows = []
    for t in TS:
        for words, used in (("same share of records", same_share(t, n)), ("t as published", t)):
            frame = filtered_out(setting.dataset, SIZES, (used,), DELTA)
            out += [
                {
                    "rare": words,
                    "t": t,
                    "t_used": used,
                    "m": int(m),
                    "group": f"m = {m}, t = {t:g}",
                    "n": n,
                    "rate": float(share),
                }
                for m, share in zip(frame["knows"], frame["filtered_out"], strict=True)
            ]
    return sorted(out, key=lambda r: (r["rare"], r["t"], r["m"]))


def certified(setting: RecipeInputs, m: int, gamma: float, t: float) -> Any:
    """Certificates of Theorem 2 for one point, computed once."""
    from standout.theory.certificates import Certificates, certificates

    used = same_share(t, setting.dataset.n_records)

    def work() -> dict[str, Any]:
        made = certificates(
            setting.dataset,
            m,
            gamma,
            used,
            DELTA,
            setting.targets,
            setting.seed,
            engine=setting.engine,
        )
        parts = {field.name: getattr(made, field.name) for field in fields(made)}
        return {**parts, "rate": to_plain(made.rate), "right": to_plain(made.right)}

    parts = setting.once(("dss12", m, gamma, t), work)
    return Certificates(**{**parts, "rate": Rate(**parts["rate"]), "right": Rate(**parts["right"])})


def _point(setting: RecipeInputs, m: int, gamma: float, t: float) -> Row:
    columns = {"m": f"m = {m}", "gamma": gamma, "t": t}
    try:
        found = certified(setting, m, gamma, t)
    except EligibilityError as error:
        return {**columns, "n": 0, "rate": None, "note": str(error)}
    rate = found.rate
    return {
        **columns,
        "t_used": found.t,
        **columns_of(rate),
        "right": found.right.rate,
        "violations": found.violations,
        "eligible": found.eligible,
        "of_all": found.of_all,
        "of_all_low": rate.low * found.eligible,
        "of_all_high": rate.high * found.eligible,
    }


def _isolation(t: float) -> Callable[[RecipeInputs], Rows]:
    from standout.theory.certificates import GAMMAS

    return lambda setting: [_point(setting, m, gamma, t) for m in (10, 20) for gamma in GAMMAS]


def _unperturbed(setting: RecipeInputs) -> Rows:
    """γ = 0, m = 8: share of the eligible, and of all records."""
    out: Rows = []
    for t in TS:
        row = _point(setting, 8, 0.0, t) | {"of": "eligible records", "t": f"t = {t:g}"}
        out.append(row)
        if row["rate"] is not None:
            keys = {"rate": "of_all", "low": "of_all_low", "high": "of_all_high"}
            of_all = {key: row[source] for key, source in keys.items()}
            out.append(row | of_all | {"of": "all records"})
    return sorted(out, key=lambda r: str(r["of"]), reverse=True)


def _surface(m: int, gamma: float, eta3: float) -> Callable[[RecipeInputs], Rows]:
    """f_D over (η1, η2); t = 0.07, which the paper leaves open for these figures."""

    def run(setting: RecipeInputs) -> Rows:
        from standout.theory.amplification import PER_RUN, amplification

        used = same_share(TS[0], setting.dataset.n_records)
        runs = (
            N_RUNS
            if setting.targets is None
            else max(2, min(N_RUNS, round(N_RUNS * setting.targets / 1000)))
        )

        def work() -> Rows:
            made = amplification(
                setting.dataset,
                m,
                gamma,
                used,
                ETA_1,
                ETA_2,
                (0.75, 0.9),
                setting.seed,
                per_run=PER_RUN,
                runs=runs,
                engine=setting.engine,
            )
            rows: Rows = made.to_frame().to_dict("records")
            return rows

        try:
            points = setting.once(("dss12 f_D", m, gamma), work)
        except EligibilityError as error:
            return [
                {"eta1": a, "eta2": b, "eta3": eta3, "f": None, "note": str(error)}
                for a in ETA_1
                for b in ETA_2
            ]
        return [
            _whole({**r, "n": PER_RUN * runs, "t_used": used})
            for r in points
            if np.isclose(r["eta3"], eta3)
        ]

    return run


def _whole(row: Row) -> Row:
    """A point of f_D; without a number but with the reason if it cannot be measured."""
    if row["f"] is not None and np.isfinite(row["f"]):
        return row
    empty = {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in row.items()}
    return {
        **empty,
        "f": None,
        "n": 0,
        "note": f"no record has enough rare items: share η1 = {row['eta1']:g}",
    }


def _claims_1(setting: RecipeInputs) -> list[Claim]:
    out = []
    for text, first, second in (
        ("more items certify more: m = 20 ≥ m = 10 (γ = 0.1)", (20, 0.1), (10, 0.1)),
        ("less noise certifies more: γ = 0.07 ≥ γ = 0.2 (m = 10)", (10, 0.07), (10, 0.2)),
    ):
        try:
            a, b = (certified(setting, m, g, TS[0]) for m, g in (first, second))
        except EligibilityError:
            out.append(Claim.not_measurable(text))
            continue
        out.append(Claim.paired(text, (a.targets, a.isolated), (b.targets, b.isolated)))
    return out


RUNS = {
    "table1": _table_1,
    "fig01": _isolation(0.07),
    "fig02": _isolation(0.075),
    "sec61": _unperturbed,
    "fig03": _surface(10, 0.07, 0.9),
    "fig04": _surface(10, 0.1, 0.9),
    "fig05": _surface(20, 0.0, 0.75),
    "fig06": _surface(20, 0.0, 0.9),
}
CLAIMS = {"fig01": _claims_1}
