"""Frankowski et al. 2006: Table 1 and Figs. 3–9. Public mentions against a private release.

k-identified: among the first k of the likely list, where all tied records count. A mentioner
without any mentions left is as likely as all others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.attacks.attack import attack
from standout.attacks.frankowski import (
    IDENTIFIED,
    MISDIRECTED,
    NO_ONE_POSSIBLE,
    NOT_NARROW,
    reasons,
)
from standout.formulas.f06 import k_identified
from standout.papers import draw
from standout.papers.f06_defenses import (
    ADDED,
    POPULAR,
    THRESHOLDS,
    hide_rarest,
    misdirect,
    misdirecting_lists,
    without_items,
)
from standout.papers.f06_ranks import adaptive_ranks, ranks, the_mentions
from standout.papers.mentions import BIN_NAMES
from standout.papers.recipe import Claim, Recipe, RecipeInputs, Rows, add, rate_columns

KS = (1, 5, 10, 100)
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Set Intersection": ("set-intersection", {}),
    "TF-IDF": ("tf-idf", {}),
    "Scoring": ("scoring", {}),
    "FuzzyRating": ("fuzzy-rating", {}),
    "ExactRating": ("exact-rating", {}),
}
ABLATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "Scoring, heavy records kept": ("scoring", {"heavy": None}),
    "Scoring, flat": ("scoring", {"flat": True}),
}
HIDDEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
ANSWERED = "most popular first, attacker ignores the 100 most popular"
IGNORED = 100
ADAPTIVE = "k = 1, adaptive likelihood"
"""Curve of an attacker who knows the defense and how many mentions are wrong."""

MODELED = "most popular first, adaptive likelihood"
"""Against misdirection she ignores the 100 most popular items too."""


def algorithm_ranks(setting: RecipeInputs, algorithm: str) -> Array:
    """Ranks by one of the paper's algorithms on all mentions, computed once."""
    name, options = {**ALGORITHMS, **ABLATIONS}[algorithm]
    return setting.once(
        ("f06", algorithm), lambda: ranks(setting, name, options, the_mentions(setting))
    )


def _table_1(setting: RecipeInputs) -> Rows:
    n = np.bincount(the_mentions(setting).bins(), minlength=len(BIN_NAMES))
    return [
        {"mentions": name, "data": "measured", "users": int(x)}
        for name, x in zip(BIN_NAMES, n, strict=True)
    ]


def _figure_3(setting: RecipeInputs) -> Rows:
    mentions = the_mentions(setting)
    aux, asked = mentions.knowledge(setting.dataset)
    verdicts = attack("set-intersection").run(
        setting.dataset, aux, engine=setting.engine, watch=mentions.target[asked], lineup=False
    )
    why = reasons(verdicts, mentions.target[asked])
    out: Rows = []
    groups = [("all", np.ones(mentions.n, np.bool_))]
    groups += [(name, mentions.bins() == b) for b, name in enumerate(BIN_NAMES)]
    for reason in (IDENTIFIED, NOT_NARROW, MISDIRECTED, NO_ONE_POSSIBLE):
        words = "1-identified" if reason == IDENTIFIED else reason
        for name, inside in groups:
            if inside.any():
                out.append(
                    {"mentions": name, "reason": words, **rate_columns(why[inside] == reason)}
                )
    return out


def _figure_4(setting: RecipeInputs) -> Rows:
    return [
        {"algorithm": name, "k": k, **rate_columns(k_identified(algorithm_ranks(setting, name), k))}
        for name in (*ALGORITHMS, *ABLATIONS)
        for k in KS
    ]


def _figure_5(setting: RecipeInputs) -> Rows:
    bins = the_mentions(setting).bins()
    many = the_mentions(setting).counts >= 8
    groups = [(name, bins == b) for b, name in enumerate(BIN_NAMES)]
    out: Rows = []
    for name in ALGORITHMS:
        hit = k_identified(algorithm_ranks(setting, name), 1)
        for words, inside in [*groups, ("≥ 8", many)]:
            if inside.any():
                out.append({"algorithm": name, "mentions": words, **rate_columns(hit[inside])})
    return out


def owner_defense(setting: RecipeInputs) -> Rows:
    """Figs. 6 and 7: Scoring after every item with fewer records than a threshold is dropped."""

    def work() -> Rows:
        ds, out = setting.dataset, []
        most = int(ds.supports.max())
        steps = np.unique(np.rint(2.0 ** np.arange(0, np.log2(most) + 0.5, 0.5)).astype(int))
        done = dict.fromkeys(KS, False)
        for threshold in [*steps.tolist(), most + 1]:
            dropped = ds.supports < threshold
            share = float(ds.supports[dropped].sum() / ds.supports.sum())
            rank = adapted = np.full(the_mentions(setting).n, ds.n_records)
            if not dropped.all():
                thin = without_items(ds, dropped)
                rank = ranks(setting, "scoring", {}, the_mentions(setting), thin)
                adapted = adaptive_ranks(setting, the_mentions(setting), thin)
            point = {
                "threshold": threshold,
                "items_dropped": float(dropped.mean()),
                "entries_dropped": share,
            }
            for k in KS:
                hit = k_identified(rank, k)
                first = not hit.any() and not done[k]
                done[k] |= first
                out.append({**point, "k": f"k = {k}", "first_zero": first, **rate_columns(hit)})
            out.append(
                {
                    **point,
                    "k": ADAPTIVE,
                    "first_zero": False,
                    **rate_columns(k_identified(adapted, 1)),
                }
            )
        return out

    return setting.once("f06 owner", work)


def _figure_8(setting: RecipeInputs) -> Rows:
    mentions = the_mentions(setting)
    out: Rows = []
    for share in HIDDEN:
        said = hide_rarest(mentions, setting.dataset, share)
        rank = ranks(setting, "scoring", {}, said)
        out += [
            {"hidden": share, "k": f"k = {k}", **rate_columns(k_identified(rank, k))} for k in KS
        ]
        adapted = k_identified(adaptive_ranks(setting, said), 1)
        out.append({"hidden": share, "k": ADAPTIVE, **rate_columns(adapted)})
    return out


def misdirected_ranks(setting: RecipeInputs, strategy: str, n: int) -> Array:
    """Ranks by Scoring after `n` misdirecting mentions."""

    def work() -> Array:
        ds, lists = setting.dataset, misdirecting_lists(setting.dataset)
        if strategy not in (ANSWERED, MODELED):
            return ranks(
                setting, "scoring", {}, misdirect(the_mentions(setting), ds, lists[strategy], n)
            )
        said = misdirect(the_mentions(setting), ds, lists[POPULAR], n)
        rare = np.append(ds.popularity_rank, ds.n_items)[said.item] >= IGNORED
        # if an attacker would have no mention left, keep all
        left = np.bincount(said.who[rare], minlength=said.n)[said.who]
        believed = said.only(rare | (left == 0))
        if strategy == MODELED:
            return adaptive_ranks(setting, believed if n else said)
        return ranks(setting, "scoring", {}, believed)

    if n == 0 and strategy not in (ANSWERED, MODELED):
        return algorithm_ranks(setting, "Scoring")
    return setting.once(("f06 misdirected", strategy, n), work)


def _figure_9(setting: RecipeInputs) -> Rows:
    out: Rows = []
    for strategy in [*misdirecting_lists(setting.dataset), ANSWERED, MODELED]:
        for n in ADDED:
            hit = k_identified(misdirected_ranks(setting, strategy, n), 1)
            out.append({"strategy": strategy, "added": n, **rate_columns(hit)})
    return out


def _order(
    figure: str, k: int, pairs: list[tuple[str, str]]
) -> Callable[[RecipeInputs], list[Claim]]:
    def claims(setting: RecipeInputs) -> list[Claim]:
        people = np.arange(the_mentions(setting).n)

        def hits(name: str) -> tuple[Array, Array]:
            return people, k_identified(algorithm_ranks(setting, name), k)

        return [Claim.paired(figure, f"{a} ≥ {b} (k = {k})", hits(a), hits(b)) for a, b in pairs]

    return claims


def _claims_9(setting: RecipeInputs) -> list[Claim]:
    people = np.arange(the_mentions(setting).n)
    before = k_identified(misdirected_ranks(setting, POPULAR, 0), 1)
    popular = k_identified(misdirected_ranks(setting, POPULAR, 5), 1)
    out = [
        Claim.paired(
            "fig09", "5 popular mentions protect: none ≥ 5", (people, before), (people, popular)
        )
    ]
    rare = f"{THRESHOLDS[0]:,} or more"
    if rare in misdirecting_lists(setting.dataset):
        other = k_identified(misdirected_ranks(setting, rare, 5), 1)
        out.append(
            Claim.paired(
                "fig09",
                "popular protects better than rare: 5 rare ≥ 5 popular",
                (people, other),
                (people, popular),
            )
        )
    return out


ORDER = [
    ("Scoring", "TF-IDF"),
    ("TF-IDF", "Set Intersection"),
    ("FuzzyRating", "Scoring"),
    ("ExactRating", "FuzzyRating"),
    ("Scoring", "Scoring, heavy records kept"),
    ("Scoring", "Scoring, flat"),
]


def _defense(x: str, x_title: str) -> Callable[[Rows], Any]:
    return lambda rows: draw.lines(
        rows,
        x=x,
        x_title=x_title,
        series="k",
        series_title="k-identified",
        y_title="mentioners k-identified",
        x_percent=True,
        top=1.0,
    )


def _main_only(rows: Rows) -> Rows:
    return [{**r, "k": f"k = {r['k']}"} for r in rows if r["algorithm"] in ALGORITHMS]


add(
    Recipe(
        "f06",
        "table1",
        "Table 1",
        "Mentioners by number of mentions",
        "exponential bins",
        _table_1,
        lambda rows: draw.bars(
            rows,
            x="mentions",
            x_title="mentions",
            series="data",
            series_title=None,
            y="users",
            y_title="mentioners",
            percent=False,
        ),
    )
)
add(
    Recipe(
        "f06",
        "fig03",
        "Figure 3",
        "Why Set Intersection fails",
        "1-identification, by number of mentions",
        _figure_3,
        lambda rows: draw.stacked(
            rows,
            x="mentions",
            x_title="mentions",
            series="reason",
            series_title="outcome",
            y_title="mentioners",
        ),
    )
)
add(
    Recipe(
        "f06",
        "fig04",
        "Figure 4",
        "k-identification by algorithm",
        "all mentioners; k = 1, 5, 10, 100",
        _figure_4,
        lambda rows: draw.bars(
            _main_only(rows),
            x="k",
            x_title="length of the likely list",
            series="algorithm",
            series_title=None,
            y_title="mentioners k-identified",
            top=1.0,
        ),
        _order("fig04", 1, ORDER),
    )
)
add(
    Recipe(
        "f06",
        "fig05",
        "Figure 5",
        "1-identification by number of mentions",
        "all mentioners; k = 1",
        _figure_5,
        lambda rows: draw.lines(
            [r for r in rows if r["mentions"] in BIN_NAMES],
            x="mentions",
            x_title="mentions",
            series="algorithm",
            series_title=None,
            y_title="mentioners 1-identified",
            top=1.0,
            ordinal=True,
            band=False,
        ),
    )
)
add(
    Recipe(
        "f06",
        "fig06",
        "Figure 6",
        "The owner drops rare items: share of items",
        "Scoring; items below a support threshold dropped",
        owner_defense,
        _defense("items_dropped", "share of items dropped"),
    )
)
add(
    Recipe(
        "f06",
        "fig07",
        "Figure 7",
        "The owner drops rare items: share of entries",
        "Scoring; the same, against entries dropped",
        owner_defense,
        _defense("entries_dropped", "share of entries dropped"),
    )
)
add(
    Recipe(
        "f06",
        "fig08",
        "Figure 8",
        "Mentioners hide their rarest mentions",
        "Scoring; the rarest of the mentions that are also rated",
        _figure_8,
        _defense("hidden", "share of rated mentions hidden, rarest first"),
    )
)
add(
    Recipe(
        "f06",
        "fig09",
        "Figure 9",
        "Mentioners misdirect",
        "Scoring, k = 1; mentions of items neither held nor mentioned are added",
        _figure_9,
        lambda rows: draw.lines(
            rows,
            x="added",
            x_title="misdirecting mentions added",
            series="strategy",
            series_title="items added: held by",
            y_title="mentioners 1-identified",
            band=False,
        ),
        _claims_9,
    )
)
