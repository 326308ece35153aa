"""The adversaries that each limit of a policy is about, and which channels of the data they know."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from standout.adversary.adversary import Adversary
from standout.audit.known import known_names, unknown_words
from standout.audit.sweep import default_sweep, fit_to_data
from standout.data.catalog import Catalog
from standout.errors import ParameterError
from standout.gate.policy import RISK, Limit, Policy


def adversaries_of(limit: Limit, policy: Policy, data: Catalog) -> list[Adversary]:
    """The adversaries that a limit is about."""
    if isinstance(limit.adversaries, str):
        return default_sweep(data, limit.adversaries)
    return [_fitting(name, policy.adversaries[name], data) for name in limit.adversaries]


def _fitting(name: str, who: Adversary, data: Catalog) -> Adversary:
    """The adversary without knowledge that the data does not have: nobody can know values of data without values."""
    if not data.has_value:
        who = replace(who, value_within=None, gamma=None)
    if not data.has_time:
        who = replace(who, time_within=None)
    if who.wrong and who.value_within is who.gamma is who.time_within is None:
        who = replace(who, wrong_kind="item")
    try:
        return fit_to_data(who, data)
    except ParameterError as error:
        hint = ' (in the policy, None is written "none")' if "None" in str(error) else ""
        raise ParameterError(
            f"policy: [adversary.{name}] does not fit the data: {error}{hint}"
        ) from None


def known_channels(
    policy: Policy, source: Catalog, scopes: Sequence[Sequence[Adversary]] | None = None
) -> set[str]:
    """Names of what an adversary of a limit on risk knows, as in `known_names`.

    Parameters
    ----------
    policy
        The policy.
    source
        Where the knowledge is drawn from.
    scopes
        Adversaries of each limit; None = they are derived from policy and source.
    """
    try:
        asked = scopes or [adversaries_of(limit, policy, source) for limit in policy.limits]
    except ParameterError:  # nobody knows anything of data that the policy does not fit
        return set()
    everyone = [
        who
        for limit, scope in zip(policy.limits, asked, strict=True)
        if limit.measure in RISK
        for who in scope
    ]
    return known_names(source, everyone)


def not_measured(release: Catalog, known: Collection[str]) -> list[str]:
    """Items, values, times, further channels and attributes that the release has and nobody knows, in words."""
    return ([] if "item" in known else ["the items"]) + unknown_words(release, known)
