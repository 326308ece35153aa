"""The statement about linkability: what an attacker who looks people up could name, by a rule that needs no truth."""

from __future__ import annotations

from standout.errors import ParameterError
from standout.formulas.rates import at_most, precision
from standout.report.view import Case, Plain
from standout.report.words import percent

PRIOR = 0.1
"""Assumed share of people in the data among those an attacker looks up; it can be changed where it is printed."""


def linkability(case: Case, prior: float = PRIOR) -> str:
    """The statement, from the attack's own rule for naming a record."""
    if not 0 < prior < 1:
        raise ParameterError(f"prior={prior}: use a share between 0 and 1")
    one = linker(case)
    right, wrong, false = (one[name] for name in ("matched_right", "matched_wrong", "false_match"))
    if case.entry.get("n_not_released"):
        return (
            f"No second source was linked. {case.entry['n_not_released']:,} of {case.entry['n_targets']:,} people tested have no "
            f"record in the release. {_rule(one)} names the right record for {percent(right['rate'])} and a wrong one for "
            f"{percent(wrong['rate'])} of all people tested."
        )
    start = f"No second source was linked. {_rule(one)}"
    missed = (
        f"a wrong one for {percent(wrong['rate'])}, and for people who are not in the data a false one for "
        f"{percent(false['rate'])}"
    )
    if not right["count"]:
        return (
            f"{start} names the right record for none of {right['n']:,} people in the data "
            f"(at most {percent(at_most(0, right['n']), 1)}, 95% confidence), {missed}."
        )
    if wrong["count"] or false["count"]:
        worth = percent(precision(right["rate"], false["rate"], prior, wrong["rate"]))
    else:
        most = at_most(0, false["n"]), at_most(0, wrong["n"])
        worth = f"at least {percent(precision(right['rate'], most[0], prior, most[1]), -1)}"
    whom = f"{right['n']:,} people in the data"
    if case.eligible_share < 1:
        whom += f" with enough items ({percent(right['rate'] * case.eligible_share)} of all people)"
    part = "one in ten" if prior == PRIOR else percent(prior)
    return (
        f"{start} names the right record for {percent(right['rate'])} of {whom}, {missed}. If {part} of those looked up "
        f"{'is' if prior == PRIOR else 'are'} in the data, which is an assumption, {worth} of the names given are right."
    )


def linker(case: Case) -> Plain:
    """Numbers of the attack whose rule is used: the one that is sure most often, else the likelihood, else the strongest."""
    labels = {one["attack"]["label"]: one for one in case.results}
    sure = labels.get(str(case.entry.get("sure_attack")))
    model = [one for one in case.results if one["attack"]["name"] == "likelihood"]
    return sure or (model[0] if model else case.result)


def _rule(one: Plain) -> str:
    """The attack and the rule by which it names a record."""
    cut = one["attack"]["options"].get("cut")
    if one["attack"]["name"] != "likelihood" or cut is None:
        return f"By its own rule, {one['attack']['label']}"
    return (
        f"Naming a record if its probability is at least {percent(cut)}, {one['attack']['label']}"
    )
