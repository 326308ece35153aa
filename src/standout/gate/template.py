"""Policies to start from, one per domain."""

from __future__ import annotations

PUBLIC = (
    "EMA Policy 0070 external guidance (2018) and Health Canada PRCI guidance (2019): "
    "0.09 for public release of clinical data"
)
OWN = "set by the data owner; not taken from a guideline"


WEEKS = "time_within = 14        # knows dates to within two weeks"
DAY = "time_within = 1         # knows the day, give or take one"
EXACT_DAY = "time_within = 0         # knows the time as exactly as the data has it"
PRICES = 'value_within = "10%"    # knows prices roughly'
RATINGS = "value_within = 1        # knows ratings to within one step"
NO_VALUES = 'value_within = "none"   # knows no values'

DOMAINS: dict[str, tuple[str, int, float, str, tuple[str, ...]]] = {
    "general": ("any sparse data about people", 4, 0.09, PUBLIC, ()),
    "health": ("diagnoses, prescriptions, visits", 3, 0.09, PUBLIC, (NO_VALUES, WEEKS)),
    "commerce": ("purchases and payments", 4, 0.05, OWN, (PRICES, DAY)),
    "media": ("ratings, listening, reading, viewing", 8, 0.05, OWN, (RATINGS, WEEKS)),
    "mobility": ("visited places, trips, check-ins", 4, 0.05, OWN, (NO_VALUES, EXACT_DAY)),
    "research": ("data shared with researchers under an agreement", 4, 0.09, PUBLIC, ()),
}
"""Per domain: what it is about, and of the adversary and the limit: known items, limit, its source, lines of the channels."""

OPTIONAL = (
    "# value_within = 1      # uncomment if values are known, and how exactly",
    "# time_within = 14       # uncomment if days are known, and how exactly",
)


def template(domain: str) -> str:
    """Text of the policy of a domain, in TOML."""
    about, knows, limit, source, channels = DOMAINS[domain]
    return TEXT.format(
        domain=domain,
        about=about,
        limit=limit,
        source=source,
        knows=knows,
        channels="\n".join(channels or OPTIONAL) + "\n",
        group=min(1.0, 2 * limit),
        own=OWN,
    )


TEXT = """\
# Policy for `standout check`. Domain: {domain} ({about}).
# No limit in this file means "safe". Each is a proposal with its source; the owner of the data decides.
# Manual: docs/gate.md

version = 1
name = "{domain}"

# Each verdict, pass or fail, is wrong with a probability of at most 1 - confidence.
confidence = 0.95

# Records attacked per adversary ("all" for all), and the fewest with which a limit may count as kept.
targets = 1000
min_targets = 100

# Attack in growing batches and stop as soon as the verdict is clear. The error stays the same.
sequential = true

attacks = ["scoreboard", "scoreboard-rh", "likelihood"]
# A verdict without these attacks is unclear.
required_attacks = ["likelihood"]

# A release made by a defense must also be attacked by someone who knows the defense.
adaptive = true

# Evidence older than this is not accepted by `standout verify`.
max_age_days = 90

# Plant known people in the data, in memory, and require that every attack finds them.
self_test = true

# Groups with fewer targets are shown without their counts.
smallest_group = 10

# Columns that may be released although no attack measures them, each with the reason. Others that are neither measured
# nor harmless make the verdict unclear. A direct identifier (e-mail address, name, …) fails, named here or not.
[unmeasured_columns]
# comment = "text about the product; read by hand, holds nothing about its author"

# What an acquaintance of a person may know. Values and times count only where the data has them. If the data has them and
# no adversary knows them, they are not measured, and the verdict is unclear.
[adversary.acquaintance]
knows = {knows}
{channels}
# Share of people who are found, of those who hold enough items to be attacked.
# measure: found (the best guess is right), unique (no other record fits what is known), sure (the attacker is right and at
# least 95 % sure), matched-right, matched-wrong, false-match, false-discovery
# of: eligible (default), or all (records with too few items count as not found)
[[limit]]
name = "acquaintance"
measure = "found"
of = "eligible"
adversaries = ["acquaintance"]
max = {limit}
source = "{source}"

# The same, for every kind of knowledge of the default sweep, as a share of all people.
# Many releases of sparse data do not keep this limit: 8 exact facts find most people.
# [[limit]]
# name = "all knowledge"
# of = "all"
# adversaries = "default"
# max = {limit}
# source = "{source}"

# No group of people, by record length or by rare items, may be found much more often.
[[limit]]
name = "worst group"
adversaries = ["acquaintance"]
by = "risk"
max = {group}
source = "twice the limit above; {own}"

# The last line: a file that was cut off before it is refused, because limits may be missing.
[end]
"""
