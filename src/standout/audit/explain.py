"""`explain`: why a record comes first for one query, fact by fact. Labels are included unless `labels=False`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Knowledge
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.attack import Attack, attack
from standout.attacks.queries import bound
from standout.attacks.verdicts import Verdicts
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.times import tick_text, to_ticks
from standout.engines.engine import Engine
from standout.errors import EligibilityError, InputError, ParameterError

if TYPE_CHECKING:
    import pandas as pd


DEFAULT = "likelihood"
"""Default attack to explain: usually the strongest one."""


class Explanation(dict[str, Any]):
    """The answer to one query, explained: a mapping of plain data with a notebook view.

    `to_frame` has one row per fact, the rarest item first.
    """

    def to_frame(self) -> pd.DataFrame:
        """One row per fact as a pandas frame: what is known, what the records hold, what the fact adds."""
        import pandas as pd

        return pd.DataFrame([_flat_fact(f) for f in self["facts"]])

    def sentences(self) -> list[str]:
        """What happened, in words; with labels if the explanation has them."""
        from standout.report.explanation import sentences

        return sentences(self)

    def _repr_html_(self) -> str:
        """For notebooks: sentences, charts and the table of facts."""
        from standout.report.page import explanation_html

        return explanation_html(self)

    def __repr__(self) -> str:
        return f"<Explanation: {self['attack']['name']}, {len(self['facts'])} facts on {self['n_records']:,} records>"


def _flat_fact(fact: dict[str, Any]) -> dict[str, Any]:
    row = {k: fact[k] for k in ("item", "value", "day", "support", "share")}
    for who in ("best", "runner_up", "target"):
        part = fact[who]
        held = part["holds"] if part else None
        row |= {
            f"{who}_holds": held is not None if part else None,
            f"{who}_value": held["value"] if held else None,
            f"{who}_day": held["day"] if held else None,
            f"{who}_contribution": part["contribution"] if part else None,
        }
    without = fact["without"]
    row |= {
        "same_best_without": without["same_best"] if without else None,
        "eccentricity_without": without["eccentricity"] if without else None,
        "rank_so_far": fact["after"]["rank"],
        "bits_so_far": fact["after"]["bits"],
    }
    return row


def find_record(dataset: Dataset, label: Any) -> int:
    """Return the index of the record with this label. Errors do not repeat the label."""
    at = int(find_labels(dataset.record_labels, np.array([label]))[0])
    if at < 0:
        raise InputError(
            "no record has the label that was given; labels are those of the record column"
        )
    return at


def draw(dataset: Dataset, record: int, adversary: Adversary, seed: int = 0) -> Knowledge:
    """Draw what an adversary knows of one record. If the record has fewer items, all of them are known."""
    length = int(seen_through(dataset, adversary).lengths[record])
    who = adversary
    if adversary.n_right_items > length:
        who = replace(adversary, knows=length, wrong=min(adversary.wrong, max(length - 1, 0)))
    if record not in who.eligible(dataset):
        raise EligibilityError(
            f"the record does not hold enough items for an adversary who knows {who.words(dataset)}; lower --knows"
        )
    return who.sample(dataset, [record], seed)


def explain(
    dataset: Dataset,
    knowledge: Knowledge,
    attack_: str | Attack = DEFAULT,
    *,
    target: int | None = None,
    labels: bool = True,
    engine: str | Engine = "memory",
) -> Explanation:
    """Explain the answer to one query.

    The attack answers three kinds of queries: all facts, all facts but one, and the facts up to
    each, the rarest item first. A fact's contribution to a record is what its score loses without
    the fact.

    Parameters
    ----------
    dataset
        The release.
    knowledge
        One query.
    attack_
        Name of an attack, or an attack.
    target
        Index of the record that the query is about, where that is known. Bits are counted for it,
        else for the best record.
    labels
        Whether to include the labels of records and items.
    engine
        Name of an engine, or an engine.

    Returns
    -------
    Explanation
        A mapping of plain data: `best`, `runner_up`, `target`, `facts` (the rarest first), `bits`.
    """
    bound(dataset, knowledge)
    if knowledge.n_queries != 1:
        raise ParameterError(f"explain takes one query, not {knowledge.n_queries}; choose one")
    how = attack_ if isinstance(attack_, Attack) else attack(attack_)
    known = knowledge.adversary.words(dataset) if knowledge.adversary else None
    dataset = seen_through(dataset, knowledge.adversary)
    facts = knowledge.bind(dataset)
    knowledge = replace(knowledge, adversary=facts.adversary)
    support = np.where(facts.item >= 0, dataset.supports[np.maximum(facts.item, 0)], 0)
    order = np.argsort(support, kind="stable")
    sets = _fact_sets(order)
    asked = _subqueries(knowledge, sets)
    # run separately: an attack may score a complete query more exactly than a part of one
    all_facts = _subqueries(knowledge, sets[:1])
    first = how.run(dataset, all_facts, engine)
    watched = int(first.best[0]) if target is None else target
    whole = how.run(dataset, all_facts, engine, watch=[watched])
    best, second = _first_two(whole, target)
    seen = how.run(dataset, asked, engine, watch=np.full(len(sets), watched))
    if second < 0 and int(seen.best[0]) == best:
        # an exact score may exclude all other records; then the second comes from the scores of
        # partial queries
        second = int(seen.runner_up[0])
    compared = sorted({r for r in (best, second, target) if r is not None and r >= 0})
    scores = dict(zip(compared, how.scores_of(dataset, asked, compared, engine).T, strict=True))
    shown = {
        "best": best,
        "runner_up": second,
        "target": None if target in (best, second) else target,
    }
    rows = [
        {
            **_fact(dataset, knowledge, f, int(support[f]), labels),
            **{
                name: _share(dataset, record, facts, f, scores, 1 + place)
                for name, record in shown.items()
            },
            **_turns(seen, whole, place, order.size, best),
        }
        for place, f in enumerate(order.tolist())
    ]
    return Explanation(
        {
            "attack": {"name": how.name, "options": how.options()},
            "n_records": dataset.n_records,
            "known": known or f"{order.size} facts from outside",
            "verdict": _verdict(whole, 0) | {"n_tied": int(whole.n_tied[0])},
            "best": _who(dataset, best, labels) | {"score": _number(scores[best][0])},
            "runner_up": _who(dataset, second, labels) | {"score": _number(scores[second][0])}
            if second >= 0
            else None,
            "target": None
            if target is None
            else _who(dataset, target, labels)
            | {
                "score": _number(scores[target][0]),
                "rank": int(whole.rank[0]),
                "found": bool(whole.credit[0] > 0),
            },
            "bits": {"prior": float(np.log2(dataset.n_records)), "left": _bits(whole, 0)},
            "facts": rows,
        }
    )


def _first_two(whole: Verdicts, target: int | None) -> tuple[int, int]:
    """The best record and the second. A target tied at the top counts as the best."""
    best, second = int(whole.best[0]), int(whole.runner_up[0])
    if target is None or target == best or not whole.credit[0] > 0:
        return best, second
    return target, best


def _turns(seen: Verdicts, whole: Verdicts, place: int, n: int, best: int) -> dict[str, Any]:
    """The verdict without the fact at this position, and rank and bits of the watched record after the facts up to it."""
    without = 1 + place
    rest = _verdict(seen, without) | {"same_best": int(seen.best[without]) == best}
    run, at = (whole, 0) if place == n - 1 else (seen, 1 + n + place)
    return {
        "without": rest if n > 1 else None,
        "after": {"rank": int(run.rank[at]), "bits": _bits(run, at)},
    }


def _fact_sets(order: Array) -> list[Array]:
    """All facts; all but one, for each; then the first, the first two, … Facts keep their order within a set."""
    if order.size > 1:
        but_one = [np.sort(np.delete(order, k)) for k in range(order.size)]
    else:
        # one fact alone: nothing is left without it, so the query itself is used
        but_one = [order]
    return [np.sort(order), *but_one, *(np.sort(order[: k + 1]) for k in range(order.size))]


def _subqueries(knowledge: Knowledge, sets: list[Array]) -> Knowledge:
    """One query per set of facts; everything else is unchanged."""
    chosen = np.concatenate(sets)
    ptr = np.zeros(len(sets) + 1, np.int64)
    np.cumsum([s.size for s in sets], out=ptr[1:])
    return replace(
        knowledge,
        query_ptr=ptr,
        item=knowledge.item[chosen],
        value=knowledge.value[chosen],
        time=knowledge.time[chosen],
        queries=np.arange(len(sets)),
        length=np.repeat(knowledge.length, len(sets)),
        _index=None if knowledge._index is None else knowledge._index[chosen],
    )


def _fact(
    dataset: Dataset, knowledge: Knowledge, f: int, support: int, labels: bool
) -> dict[str, Any]:
    value, time = float(knowledge.value[f]), float(knowledge.time[f])
    return {
        "item": _text(knowledge.item[f]) if labels else None,
        "value": None if np.isnan(value) else value,
        "day": None if np.isnan(time) else _time_text(time, dataset),
        "support": support,
        "share": support / dataset.n_records,
    }


def _share(
    dataset: Dataset, record: int | None, facts: Any, f: int, scores: dict[int, Array], without: int
) -> dict[str, Any] | None:
    """What a record holds of a fact, and what the fact adds to its score."""
    if record is None or record < 0:
        return None
    # a query without facts gives every record the score 0
    rest = scores[record][without] if facts.item.size > 1 else 0.0
    added = _number(scores[record][0] - rest) if np.isfinite(rest) else None
    return {
        "holds": _held(dataset, record, int(facts.item[f]), float(facts.day[f])),
        "contribution": added,
    }


def _held(dataset: Dataset, record: int, item: int, day: float) -> dict[str, Any] | None:
    """The record's entry for an item, the nearest in time where there are several; None where it has none."""
    lo, hi = int(dataset.record_ptr[record]), int(dataset.record_ptr[record + 1])
    places = (
        lo + np.flatnonzero(dataset.record_item[lo:hi] == item)
        if item >= 0
        else np.empty(0, np.int64)
    )
    if places.size == 0:
        return None
    days = np.full(places.size, np.nan)
    if dataset.has_time:
        raw = dataset.record_tick[places].astype(np.int64)
        days = np.where(
            raw == dataset.no_tick,
            np.nan,
            (raw + float(dataset.first_tick)) / dataset.ticks_per_day,
        )
    gaps = np.abs(days - day)
    k = 0 if np.isnan(gaps).all() else int(np.nanargmin(gaps))
    code = int(dataset.record_code[places[k]]) if dataset.has_value else dataset.n_levels
    return {
        "value": float(dataset.levels[code]) if code < dataset.n_levels else None,
        "day": None if np.isnan(days[k]) else _time_text(float(days[k]), dataset),
    }


def _time_text(day: float, dataset: Dataset) -> str:
    """A time in days since 1970-01-01 as text, as finely as the dataset keeps times."""
    return tick_text(int(to_ticks(day, dataset.time_resolution)), dataset.time_resolution)


def _verdict(seen: Verdicts, q: int) -> dict[str, Any]:
    return {
        "score": _number(seen.score[q]),
        "second": _number(seen.second[q]),
        "sigma": _number(seen.sigma[q]),
        "eccentricity": _number(seen.eccentricity[q]),
        "statistic": _number(seen.statistic[q]),
        "matched": bool(seen.matched[q]),
        "posterior": _number(seen.posterior[q]),
        "absent": _number(seen.absent[q]),
    }


def _who(dataset: Dataset, record: int, labels: bool) -> dict[str, Any]:
    return {
        "label": _text(dataset.record_labels[record]) if labels else None,
        "n_items": int(dataset.lengths[record]),
    }


def _bits(seen: Verdicts, q: int) -> float | None:
    return _number(seen.bits[q])


def _number(x: Any) -> float | None:
    """A plain number; None where it is not finite, because JSON has neither NaN nor infinity."""
    return float(x) if np.isfinite(x) else None


def _text(label: Any) -> str:
    return str(label.item() if isinstance(label, np.generic) else label)
