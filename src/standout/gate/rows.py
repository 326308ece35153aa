"""Rows of the verdict: one per limit and requirement, one per test, one per adversary and attack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from standout.adversary.seen import seen_through
from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.data.dataset import Dataset
from standout.experiment.attackers import ADAPTIVE, is_source_of
from standout.formulas.exact_tests import fewest_to_pass, holm, p_above, p_below
from standout.formulas.rates import Rate, at_least, at_most
from standout.gate.columns import ROW as COLUMNS
from standout.gate.columns import dropped_rows, requirement
from standout.gate.groups import SMALLEST_SHARE
from standout.gate.measure import Progress
from standout.gate.policy import HARM, Limit, Policy
from standout.gate.question import Question
from standout.gate.selftest import SelfTest
from standout.gate.words import percent

Row = dict[str, Any]

EMPTY = (
    "measure",
    "of",
    "max",
    "by",
    "adversary",
    "attack",
    "group",
    "n",
    "rate",
    "lower",
    "upper",
)
REQUIREMENT: Row = {"kind": "requirement", **dict.fromkeys(EMPTY), "n_tests": 0, "source": ""}
"""A row of what is required beside the limits."""

COMPARED, SIMILAR = 250, 0.9
"""Records of a single file that are compared with all others, and the share of common entries that counts as similar."""


def table(
    policy: Policy,
    questions: list[Question],
    copies: Row | None,
    tested: SelfTest | None,
    job: Audit,
    columns: list[Row],
) -> tuple[list[Row], list[Row]]:
    """The rows of the table, and those of all tests.

    Parameters
    ----------
    policy
        The policy.
    questions
        What had to be measured; those that were not reached count as p = 1.
    copies
        Test of the near-duplicates, if there is a limit on them.
    tested
        Result of the self-test, None if it was switched off.
    job
        Source, release and attacks.
    columns
        Columns of the release.
    """
    adjusted = holm([q.p_exceeded for q in questions] + ([copies["p_exceeded"]] if copies else []))
    met = holm([q.p_met for q in questions])
    made = [
        (q, _test(q, above, below, policy))
        for q, above, below in zip(questions, adjusted, met, strict=False)
    ]  # the adjusted value of the near-duplicates is left over
    rows = []
    for limit in policy.limits:
        of_limit = [(q, row) for q, row in made if q.limit is limit]
        own = [(q, row) for q, row in of_limit if q.is_done]
        rows.append(_limit_row(limit, own, len(of_limit) - len(own)))
    if copies:
        rows.append(_near_row(copies, adjusted[len(questions)], policy))
    rows += _requirements(policy, tested, job, columns)
    return rows, [row for q, row in made if q.is_done]


def _test(question: Question, above: float, below: float, policy: Policy) -> Row:
    """One test, as plain data. Counts of small groups are left out."""
    verdict = "pass" if question.is_met else "fail" if above <= policy.alpha else "unclear"
    small, limit = question.is_hidden, question.limit
    return {
        "limit": limit.name,
        "verdict": verdict,
        "measure": limit.measure,
        "of": limit.of,
        "max": limit.max,
        "adversary": question.sofar.words,
        "attack": question.label,
        "group": question.group.words if question.group else None,
        "n": None if small else question.n,
        "rate": None if small or not question.n else question.scale * question.count / question.n,
        "lower": None if small else question.lower,
        "upper": None if small else question.upper,
        # a p-value of a small group would give away its counts
        "p_met": None if small else question.p_met,
        "p_met_holm": None if small else below,
        "p_exceeded": None if small else question.p_exceeded,
        "p_exceeded_holm": None if small else above,
    }


def _limit_row(limit: Limit, own: list[tuple[Question, Row]], n_missing: int) -> Row:
    """One limit: its verdict, and the test that decides it. A limit that was measured in part is never kept."""
    base: Row = {
        "limit": limit.name,
        "kind": "limit",
        "measure": limit.measure,
        "of": limit.of,
        "max": limit.max,
        "by": limit.by,
        "n_tests": len(own),
        "source": limit.source,
    }
    empty = dict.fromkeys(("adversary", "attack", "group", "n", "rate", "lower", "upper"))
    failed = [(q, row) for q, row in own if row["verdict"] == "fail"]
    open_ones = [(q, row) for q, row in own if row["verdict"] == "unclear"]
    if n_missing and not failed and not open_ones:
        why = (
            f"{n_missing:,} of {n_missing + len(own):,} tests of this limit (each for one adversary, attack and group of people) "
            "were not made, because another limit was exceeded before"
        )
        return {**base, "verdict": "unclear", **empty, "why": why}
    verdict = "fail" if failed else "unclear" if open_ones else "pass"
    _, worst = max(failed or open_ones or own, key=lambda pair: (pair[0].upper, pair[0].lower))
    question = next(q for q, row in own if row is worst)
    shown = {key: worst[key] for key in empty}
    return {
        **base,
        "verdict": verdict,
        **shown,
        "why": _why(question, verdict, worst) + _smallest(limit),
    }


def _smallest(limit: Limit) -> str:
    """Smallest group that a verdict about groups covers, in words."""
    tested = f"; groups of fewer than {percent(SMALLEST_SHARE)} of the people are not tested alone"
    return "" if limit.by == "none" else tested


def _why(question: Question, verdict: str, row: Row) -> str:
    """Why a limit has its verdict, in one sentence."""
    limit = percent(question.limit.max)
    if verdict == "unclear":
        return question.why()
    if question.always_met:
        return f"only {percent(question.scale)} of all records are eligible: the limit of {limit} cannot be exceeded"
    if row["upper"] is None:
        return f"a group of few targets is {'below' if verdict == 'pass' else 'above'} the limit of {limit}"
    if verdict == "pass":
        return f"at most {percent(row['upper'], 1)}, below the limit of {limit}"
    return f"at least {percent(row['lower'], -1)}, above the limit of {limit}"


def _requirements(
    policy: Policy, tested: SelfTest | None, job: Audit, columns: list[Row]
) -> Iterator[Row]:
    """Rows of what the policy requires beside its limits."""
    base = REQUIREMENT
    if all(limit.measure in HARM for limit in policy.limits):
        why = "every limit is about wrong or false matches, so people who are found do not count; limit found, unique or sure"
        yield {**base, "limit": "limit on risk", "verdict": "unclear", "why": why}
    if policy.required_attacks:
        ran = {one.name for one in job.attacks}
        missing = [name for name in policy.required_attacks if name not in ran]
        why = (
            f"{missing[0]} did not run" if missing else f"{', '.join(policy.required_attacks)} ran"
        )
        yield {
            **base,
            "limit": "required attacks",
            "verdict": "unclear" if missing else "pass",
            "why": why,
        }
    if policy.adaptive and job.release is not job.source:
        adapts, why = adaptive(job)
        yield {
            **base,
            "limit": "adaptive attacker",
            "verdict": "pass" if adapts else "unclear",
            "why": why,
        }
    if tested is not None:
        verdict = "pass" if tested.passed else "unclear"
        yield {**base, "limit": "self-test", "verdict": verdict, "why": tested.words()}
    if (judged := requirement(columns, policy)) is not None:
        yield {**base, "limit": COLUMNS, "verdict": judged[0], "why": judged[1]}
    if (judged := dropped_rows(job.release)) is not None:
        yield {**base, "limit": "rows", "verdict": judged[0], "why": judged[1]}


def adaptive(job: Audit) -> tuple[bool, str]:
    """Whether an attacker who knows the defense took part, and a sentence about it."""
    if job.release.mechanism is None or not is_source_of(job.source, job.release):
        return False, (
            "the release differs from the source and its defense is not known, so nobody who knows the defense attacked it; "
            "make it with so.defense(…).apply(source), or set adaptive = false"
        )
    knowing = [one.attack.name for one in job.experiment.attackers if one.kind == ADAPTIVE]
    if not knowing:
        return False, "no attack of the policy adapts to the defense; add likelihood to attacks"
    for who in job.adversaries:
        if seen_through(job.release, who).mechanism is None:
            what = f"the view {who.to_dict()['view']}" if who.view else "further channels"
            return False, (
                f"the parameters of the defense cannot be stated for {what}, so nobody who knows the defense attacked with "
                "what is known there; leave it out, or set adaptive = false"
            )
    return True, f"{', '.join(sorted(set(knowing)))} knew the published parameters of the defense"


def _similar(release: Dataset, n: int | None, similarity: float, seed: int) -> Rate:
    """Share of `n` records (None = all) with a neighbor that is more similar."""
    from standout.theory.sparsity import delta_at, fitting_records, sparsity

    wanted = release.n_records if n is None else min(n, release.n_records)
    return delta_at(sparsity(release, records=fitting_records(release, wanted, seed)), similarity)


def one_record_each(release: Dataset, job: Audit) -> Row:
    """Row of a single file: each record counts as one person, which the file alone cannot show."""
    rate = _similar(release, COMPARED, SIMILAR, job.seed)
    neighbor = f"a neighbor that shares {percent(SIMILAR)} of the entries"
    why = f"assumed: {percent(rate.rate)} of {rate.n:,} records compared have {neighbor}"
    if rate.count:
        why += "; if such records can be of the same person, the rates are too low: merge them, or set [near_duplicates]"
    return {**REQUIREMENT, "limit": "one record per person", "verdict": "pass", "why": why}


def near_duplicates(release: Dataset, policy: Policy, job: Audit) -> Row:
    """Test of the share of records with a very similar neighbor."""
    limit = policy.near_duplicates
    assert limit is not None
    rate = _similar(release, job.targets, limit.similarity, job.seed)
    count = int(rate.count)
    return {
        "max": limit.max,
        "similarity": limit.similarity,
        "source": limit.source,
        "n_records": release.n_records,
        "n": rate.n,
        "rate": rate.rate,
        "upper": at_most(count, rate.n, policy.confidence),
        "lower": at_least(count, rate.n, policy.confidence),
        "p_met": p_below(count, rate.n, limit.max),
        "p_exceeded": p_above(count, rate.n, limit.max),
    }


def _near_row(copies: Row, above: float, policy: Policy) -> Row:
    limit = percent(copies["max"])
    least = min(policy.min_targets, copies["n_records"])
    if copies["n"] < least:
        verdict, why = (
            "unclear",
            f"{copies['n']} records were compared, and the policy asks for at least {least}",
        )
    elif copies["p_met"] <= policy.alpha:
        verdict, why = "pass", f"at most {percent(copies['upper'], 1)}, below the limit of {limit}"
    elif above <= policy.alpha:
        verdict, why = (
            "fail",
            f"at least {percent(copies['lower'], -1)}, above the limit of {limit}",
        )
    elif copies["n"] < (need := fewest_to_pass(copies["max"], policy.alpha)) < float("inf"):
        verdict, why = "unclear", f"{copies['n']} records are too few: at least {need} are needed"
    else:
        between = f"{percent(copies['lower'], -1)} and {percent(copies['upper'], 1)}"
        verdict, why = "unclear", f"between {between}: the records compared do not decide"
    return {
        "limit": "near-duplicates",
        "kind": "limit",
        "measure": f"similarity above {copies['similarity']:g}",
        "of": "all",
        "max": copies["max"],
        "by": "none",
        "n_tests": 1,
        "source": copies["source"],
        "verdict": verdict,
        "adversary": None,
        "attack": None,
        "group": None,
        "n": copies["n"],
        "rate": copies["rate"],
        "lower": copies["lower"],
        "upper": copies["upper"],
        "why": why,
    }


def cells(people: list[Progress], attacks: dict[str, Attack], hidden_below: int) -> Iterator[Row]:
    """Counts per adversary, attack and group after each batch, which a second run reproduces.

    Parameters
    ----------
    people
        What was measured.
    attacks
        Attacks by label.
    hidden_below
        Counts of groups with fewer targets are left out: verify measures them again.
    """
    for sofar in people:
        for label, sizes in sofar.sizes.items():
            looks = [sofar.counts(label, k) for k in range(len(sizes))]
            if sofar.group is not None and sofar.attacked(label) < hidden_below:
                looks = [
                    {name: n if name == "n_targets" else None for name, n in look.items()}
                    for look in looks
                ]
            head = cell_head(sofar, label, attacks[label])
            yield {**head, "n_eligible": sofar.n_eligible, **looks[-1], "looks": looks}


def cell_head(sofar: Progress, label: str, one: Attack) -> Row:
    """What a cell is about: no two cells of a check have the same head."""
    return {
        "adversary": {**sofar.who.to_dict(), "words": sofar.words},
        "attack": {"label": label, "name": one.name, "options": one.options()},
        "group": sofar.group.to_dict() if sofar.group else None,
        "source": sofar.source,
    }
