"""Rows of the verdict: one per limit and requirement, one per test, one per adversary and attack.

`GateRun` (`run.py`) makes the table, the tests and the cells of a verdict with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from standout.adversary.seen import seen_through
from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.audit.matching import MOST_HIDDEN, Match
from standout.data.dataset import Dataset
from standout.experiment.attackers import ADAPTIVE, is_source_of
from standout.formulas.exact_tests import fewest_to_pass, holm, p_above, p_below
from standout.formulas.rates import Rate, at_least, at_most
from standout.gate.columns import ROW as COLUMNS
from standout.gate.columns import dropped_rows, requirement
from standout.gate.groups import SMALLEST_SHARE
from standout.gate.measure import Measurement, Question, percent
from standout.gate.policy import HARM, Limit, Policy

Row = dict[str, Any]

OF_LIMIT = ("measure", "of", "max", "by")
OF_TEST = ("adversary", "attack", "group", "n", "rate", "lower", "upper")

COMPARED, SIMILAR = 250, 0.9
"""Records of a single file that are compared with all others, and the share of common entries that counts as similar."""


def table(
    policy: Policy,
    questions: list[Question],
    copies: Rate | None,
    tested: tuple[bool, str] | None,
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
        Share of near-duplicates, if there is a limit on them.
    tested
        Result of the self-test and a sentence about it, None if it was switched off.
    job
        Source, release and attacks.
    columns
        Columns of the release.
    """
    p_exceeded = [q.p_exceeded for q in questions]
    if policy.near_duplicates and copies:
        p_exceeded.append(p_above(int(copies.count), copies.n, policy.near_duplicates.max))
    adjusted = holm(p_exceeded)
    met = holm([q.p_met for q in questions])
    # the adjusted value of the near-duplicates is left over
    asked = [
        (q, _test(q, policy.alpha, above, below))
        for q, above, below in zip(questions, adjusted, met, strict=False)
    ]
    rows = []
    for limit in policy.limits:
        of_limit = [(q, row) for q, row in asked if q.limit is limit]
        answered = [(q, row) for q, row in of_limit if q.is_done]
        rows.append(_limit_row(limit, answered, len(of_limit) - len(answered)))
    if policy.near_duplicates and copies:
        rows.append(_near_duplicates_row(policy, copies, adjusted[-1], job.release.n_records))
    rows += _requirements(policy, tested, job, columns)
    return rows, [row for q, row in asked if q.is_done]


def _test(question: Question, alpha: float, above: float, below: float) -> Row:
    """One test, as plain data. Counts of small groups are left out."""
    limit, measured = question.limit, question.measured
    numbers = {
        "n": question.n,
        "rate": question.scale * question.count / question.n if question.n else None,
        "lower": question.lower,
        "upper": question.upper,
        "p_met": question.p_met,
        "p_met_holm": below,
        "p_exceeded": question.p_exceeded,
        "p_exceeded_holm": above,
    }
    return {
        "limit": limit.name,
        "verdict": "pass" if question.is_met else "fail" if above <= alpha else "unclear",
        "measure": limit.measure,
        "of": limit.of,
        "max": limit.max,
        "adversary": measured.words,
        "attack": question.label,
        "group": measured.group.words if measured.group else None,
        # a p-value of a small group would give away its counts
        **(dict.fromkeys(numbers) if question.is_hidden else numbers),
    }


def _row_of_limit(limit: Limit, verdict: str, why: str, n_tests: int, test: Row) -> Row:
    return {
        "limit": limit.name,
        "kind": "limit",
        **{key: getattr(limit, key) for key in OF_LIMIT},
        "n_tests": n_tests,
        "source": limit.source,
        "verdict": verdict,
        **{key: test.get(key) for key in OF_TEST},
        "why": why,
    }


def required_row(name: str, verdict: str, why: str, n_tests: int = 0) -> Row:
    """A row of what is required beside the limits."""
    return {
        "kind": "requirement",
        **dict.fromkeys((*OF_LIMIT, *OF_TEST)),
        "n_tests": n_tests,
        "source": "",
        "limit": name,
        "verdict": verdict,
        "why": why,
    }


def _limit_row(limit: Limit, done: list[tuple[Question, Row]], n_missing: int) -> Row:
    """One limit: its verdict, and the test that decides it. A limit that was measured in part is never kept."""
    n = len(done)
    failed = [one for one in done if one[1]["verdict"] == "fail"]
    unclear = [one for one in done if one[1]["verdict"] == "unclear"]
    if n_missing and not failed and not unclear:
        why = (
            f"{n_missing:,} of {n_missing + n:,} tests of this limit (each for one adversary, attack and group of people) "
            "were not made, because another limit was exceeded before"
        )
        return _row_of_limit(limit, "unclear", why, n, {})
    question, worst = max(failed or unclear or done, key=lambda one: (one[0].upper, one[0].lower))
    why = _why(question, worst)
    if limit.by != "none":
        why += (
            f"; groups of fewer than {percent(SMALLEST_SHARE)} of the people are not tested alone"
        )
    return _row_of_limit(limit, worst["verdict"], why, n, worst)


def _why(question: Question, test: Row) -> str:
    """Why a limit has the verdict of its test, in one sentence."""
    limit = percent(question.limit.max)
    if test["verdict"] == "unclear":
        return question.why()
    if question.always_met:
        return f"only {percent(question.scale)} of all records are eligible: the limit of {limit} cannot be exceeded"
    below = test["verdict"] == "pass"
    if test["upper"] is None:
        return f"a group of few targets is {'below' if below else 'above'} the limit of {limit}"
    return _bound(below, test["lower"], test["upper"], limit)


def _bound(below: bool, lower: float, upper: float, limit: str) -> str:
    if below:
        return f"at most {percent(upper, 1)}, below the limit of {limit}"
    return f"at least {percent(lower, -1)}, above the limit of {limit}"


def _requirements(
    policy: Policy, tested: tuple[bool, str] | None, job: Audit, columns: list[Row]
) -> Iterator[Row]:
    """Rows of what the policy requires beside its limits."""
    if all(limit.measure in HARM for limit in policy.limits):
        why = "every limit is about wrong or false matches, so people who are found do not count; limit found, unique or sure"
        yield required_row("limit on risk", "unclear", why)
    if policy.required_attacks:
        ran = {one.name for one in job.attacks}
        missing = [name for name in policy.required_attacks if name not in ran]
        why = (
            f"{missing[0]} did not run" if missing else f"{', '.join(policy.required_attacks)} ran"
        )
        yield required_row("required attacks", "unclear" if missing else "pass", why)
    if policy.adaptive and job.release is not job.source:
        adapts, why = adaptive_attacker_ran(job)
        yield required_row("adaptive attacker", "pass" if adapts else "unclear", why)
    if tested is not None:
        yield required_row("self-test", "pass" if tested[0] else "unclear", tested[1])
    if (judged := requirement(columns, policy)) is not None:
        yield required_row(COLUMNS, *judged)
    if (judged := dropped_rows(job.release)) is not None:
        yield required_row("rows", *judged)


def adaptive_attacker_ran(job: Audit) -> tuple[bool, str]:
    """Whether an attacker who knows the defense took part, and a sentence about it."""
    if job.release.mechanism is None or not is_source_of(job.source, job.release):
        return False, (
            "the release differs from the source and its defense is not known, so nobody who knows the defense attacked it; "
            "make it with so.defense(…).apply(source), or set adaptive = false"
        )
    knowing = {one.attack.name for one in job.experiment.attackers if one.kind == ADAPTIVE}
    if not knowing:
        return False, "no attack of the policy adapts to the defense; add likelihood to attacks"
    for who in job.adversaries:
        if seen_through(job.release, who).mechanism is None:
            what = f"the view {who.to_dict()['view']}" if who.view else "further channels"
            return False, (
                f"the parameters of the defense cannot be stated for {what}, so nobody who knows the defense attacked with "
                "what is known there; leave it out, or set adaptive = false"
            )
    return True, f"{', '.join(sorted(knowing))} knew the published parameters of the defense"


def near_duplicates(release: Dataset, n: int | None, similarity: float, seed: int) -> Rate:
    """Share of `n` records (None = all) with a neighbor that is more similar."""
    from standout.theory.sparsity import delta_at, fitting_records, sparsity

    wanted = release.n_records if n is None else min(n, release.n_records)
    return delta_at(sparsity(release, records=fitting_records(release, wanted, seed)), similarity)


def one_record_each(release: Dataset, job: Audit) -> Row:
    """Row of a single file: each record counts as one person, which the file alone cannot show."""
    rate = near_duplicates(release, COMPARED, SIMILAR, job.seed)
    neighbor = f"a neighbor that shares {percent(SIMILAR)} of the entries"
    why = f"assumed: {percent(rate.rate)} of {rate.n:,} records compared have {neighbor}"
    if rate.count:
        why += "; if such records can be of the same person, the rates are too low: merge them, or set [near_duplicates]"
    return required_row("one record per person", "pass", why)


def _near_duplicates_row(policy: Policy, copies: Rate, above: float, n_records: int) -> Row:
    """Row of the limit on near-duplicates; `above` is the corrected p-value of an exceeded limit."""
    limit, count, n = policy.near_duplicates, int(copies.count), copies.n
    assert limit is not None
    lower, upper = (bound(count, n, policy.confidence) for bound in (at_least, at_most))
    least = min(policy.min_targets, n_records)
    need = fewest_to_pass(limit.max, policy.alpha)
    verdict = "unclear"
    if n < least:
        why = f"{n} records were compared, and the policy asks for at least {least}"
    elif (met := p_below(count, n, limit.max) <= policy.alpha) or above <= policy.alpha:
        verdict, why = "pass" if met else "fail", _bound(met, lower, upper, percent(limit.max))
    elif n < need < float("inf"):
        why = f"{n} records are too few: at least {need} are needed"
    else:
        why = f"between {percent(lower, -1)} and {percent(upper, 1)}: the records compared do not decide"
    test = {"n": n, "rate": copies.rate, "lower": lower, "upper": upper}
    return _row_of_limit(limit, verdict, why, 1, test)


def match_rows(match: Match, own: list[Question], alpha: float) -> Iterator[Row]:
    """Rows of a release that differs from its source: whose records it holds, and the attack on it as its own source.

    Parameters
    ----------
    match
        How far the release is what its labels and its defense say.
    own
        Questions about the release as its own source.
    alpha
        Error of each verdict.
    """
    limit, upper = percent(MOST_HIDDEN), percent(match.hidden_upper, 1)
    if match.n_added:
        few = match.added_share <= MOST_HIDDEN
        why = f"{match.n_added:,} records belong to nobody in the source and were left out of the attack"
        if not few:
            why += f": more than {limit} of the people could hide behind them; remove them, or use the source's labels"
        yield required_row("added records", "pass" if few else "unclear", why)
    alone, of_alone = _own_source(own, alpha)
    labels, as_own_source = "labels and defense", "release as its own source"
    compared = f"({match.n_compared:,} compared)"
    if match.is_shown:
        people = f"at most {upper} of the people carry the label of somebody else {compared}"
        yield required_row(labels, "pass", people)
        why = f"{of_alone}; it does not decide, because labels and defense are as stated"
        yield required_row(as_own_source, "pass", why)
        return
    if match.doubts:
        doubt = match.doubts[0]
    elif match.hidden_upper >= 1:
        doubt = "records do not resemble those of the same label enough to tell whose they are"
    else:
        doubt = f"up to {upper} of the people may carry the label of somebody else, more than {limit} {compared}"
    if alone == "pass":
        yield required_row(
            labels, "pass", f"{doubt}; the release keeps the limits as its own source"
        )
    else:
        wrong = match.is_wrong and alone == "fail"
        yield required_row(labels, "fail" if wrong else "unclear", doubt)
    decided = "unclear" if alone == "fail" and not match.is_wrong else alone
    yield required_row(as_own_source, decided, of_alone, len(own))


def _own_source(own: list[Question], alpha: float) -> tuple[str, str]:
    """Verdict and sentence about the release as its own source."""
    measured = [q for q in own if q.is_done and q.below]
    if not measured:
        return "unclear", "not measured"
    worst = max(measured, key=lambda q: (q.lower - q.limit.max, q.upper - q.limit.max))
    found = f"with knowledge drawn from the release itself, between {percent(worst.lower, -1)} and {percent(worst.upper, 1)}"
    why = f"{found} are found (limit {percent(worst.limit.max)})"
    if min(holm([q.p_exceeded for q in own])) <= alpha:
        return "fail", why
    return ("pass" if all(q.is_met for q in own) else "unclear"), why


def cells(
    people: list[Measurement], attacks: dict[str, Attack], hidden_below: int
) -> Iterator[Row]:
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
    for measured in people:
        for label, sizes in measured.sizes.items():
            looks = [measured.counts(label, k) for k in range(len(sizes))]
            if measured.group is not None and measured.attacked(label) < hidden_below:
                looks = [{**dict.fromkeys(one), "n_targets": one["n_targets"]} for one in looks]
            head = cell_head(measured, label, attacks[label])
            yield {**head, "n_eligible": measured.n_eligible, **looks[-1], "looks": looks}


def cell_head(measured: Measurement, label: str, one: Attack) -> Row:
    """What a cell is about: no two cells of a check have the same head."""
    return {
        "adversary": {**measured.who.to_dict(), "words": measured.words},
        "attack": {"label": label, "name": one.name, "options": one.options()},
        "group": measured.group.to_dict() if measured.group else None,
        "source": measured.source,
    }
