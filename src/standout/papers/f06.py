"""Frankowski et al. 2006: Table 1 and Figs. 3–9. Public mentions against a private release.

`recipe.py` loads this module by name and takes `RUNS` and `CLAIMS`. The terms of the algorithms are in
`formulas/f06.py`, the algorithms in `attacks/frankowski.py`.

k-identified: among the first k of the likely list, where all tied records count. A mentioner
without any mentions left is as likely as all others.
"""

from __future__ import annotations

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
from standout.attacks.noise import Noise
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.experiment.outcomes import attack_people
from standout.formulas.f06 import k_identified
from standout.papers.mentions import BIN_NAMES, Mentions
from standout.papers.recipe import Claim, RecipeInputs, Row, Rows, rate_columns

KS = (1, 5, 10, 100)
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Set Intersection": ("set-intersection", {}),
    "TF-IDF": ("tf-idf", {}),
    "Scoring": ("scoring", {}),
    "FuzzyRating": ("fuzzy-rating", {}),
    "ExactRating": ("exact-rating", {}),
    "Scoring, heavy records kept": ("scoring", {"heavy": None}),
    "Scoring, flat": ("scoring", {"flat": True}),
}
PUBLISHED_ALGORITHMS = list(ALGORITHMS)[:5]
"""The others are variants of Scoring."""

HIDDEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
IGNORING_POPULAR = "most popular first, attacker ignores the 100 most popular"
IGNORED = 100
ADAPTIVE = "k = 1, adaptive likelihood"
"""Curve of an attacker who knows the defense and how many mentions are wrong."""

MISDIRECTED_ADAPTIVE = "most popular first, adaptive likelihood"
"""Against misdirection she ignores the 100 most popular items too."""

ADDED = (0, 1, 2, 3, 5, 10, 20)
"""Misdirecting mentions per mentioner in Fig. 9."""

THRESHOLDS = (1, 8, 64, 512, 2048, 8192)
POPULAR = "most popular first"

LEAST_WRONG = 0.001
"""Smallest share of wrong mentions that the adaptive attacker assumes."""


def without_items(dataset: Dataset, dropped: Array) -> Dataset:
    """The release without the entries of some items; records and catalog stay the same, and so do indices and `heavy`."""
    return dataset.with_entries(~dropped[dataset.record_item])


def hide_rarest(mentions: Mentions, dataset: Dataset, share: float) -> Mentions:
    """Drop the rarest of each mentioner's rated mentions: the largest whole number within the share."""
    rated = mentions.rated(dataset)
    support = np.append(dataset.supports, 0)[mentions.item]
    order = np.lexsort((mentions.item, support, ~rated, mentions.who))
    turn = np.empty(order.size, np.int64)
    counts = mentions.counts
    turn[order] = np.arange(order.size) - (np.cumsum(counts) - counts)[mentions.who[order]]
    n_rated = np.bincount(mentions.who[rated], minlength=mentions.n)
    hidden = np.floor(share * n_rated + 1e-9).astype(np.int64)
    return mentions.only(~(rated & (turn < hidden[mentions.who])))


def misdirect(mentions: Mentions, dataset: Dataset, line: Array, n: int) -> Mentions:
    """Each mentioner adds the first `n` items of the list that are neither held nor mentioned."""
    who, item = [], []
    for person in range(mentions.n if n else 0):
        record = mentions.target[person]
        taken = np.concatenate(
            [
                dataset.record_item[dataset.record_ptr[record] : dataset.record_ptr[record + 1]],
                mentions.item[mentions.who == person],
            ]
        )
        # at most as many items of the list are skipped as the mentioner holds or mentions
        head = line[: n + np.unique(taken).size]
        free = head[~np.isin(head, taken)][:n]
        who.append(np.full(free.size, person))
        item.append(free)
    return mentions.plus(np.concatenate(who), np.concatenate(item), dataset) if who else mentions


def misdirecting_lists(dataset: Dataset) -> dict[str, Array]:
    """Items in the order in which they are added: from a popularity up, or all from the most popular down."""
    rising = np.argsort(dataset.supports, kind="stable")
    held = dataset.supports[rising]
    out = {
        f"{t:,} or more": rising[held >= t] for t in THRESHOLDS if (held >= t).sum() >= ADDED[-1]
    }
    return {**out, POPULAR: np.argsort(dataset.popularity_rank, kind="stable")}


def the_mentions(setting: RecipeInputs) -> Mentions:
    """Mentions of the setting; an error if there are none."""
    if setting.mentions is None:
        raise ParameterError(
            "F06 needs mentions: give a file with --mentions, or --simulate-mentions"
        )
    return setting.mentions


def ranks(
    setting: RecipeInputs,
    name: str,
    options: dict[str, Any],
    mentions: Mentions,
    dataset: Dataset | None = None,
) -> Array:
    """Rank of each mentioner's own record in the likely list, tied records all before it."""
    data = dataset or setting.dataset
    out = np.full(mentions.n, data.n_records, np.int64)
    # an item that the release lost does not distinguish records; Set Intersection must still see it
    known = mentions if name == "set-intersection" else mentions.only(is_held(mentions, data))
    if known.who.size:
        aux, asked = known.knowledge(data, with_values=name in ("exact-rating", "fuzzy-rating"))
        target = mentions.target[asked]
        found = attack_people(attack(name, **options), data, aux, target, setting.engine)
        out[asked] = found.rank
    return out


def adaptive_ranks(
    setting: RecipeInputs, mentions: Mentions, dataset: Dataset | None = None
) -> Array:
    """Ranks by the likelihood of an attacker who knows the defense.

    She ignores mentions of items that the owner removed. She is told which share of the mentions is
    not in the mentioner's record, for mentioners with about as many mentions (bins of
    `Mentions.bins`): misdirecting mentions are among them. She expects wrong mentions to be
    popular, so that a popular mention says little and a rare one much.
    """
    data = dataset or setting.dataset
    out = np.full(mentions.n, data.n_records, np.int64)
    known = mentions.only(is_held(mentions, data))
    size = known.bins()
    for group in np.unique(size[known.who]).tolist():
        part = known.only(size[known.who] == group)
        wrong = float(np.clip(1 - part.rated(data).mean(), LEAST_WRONG, 1 - LEAST_WRONG))
        model = Noise(e=wrong, h=0.0, value=None, time=None)
        out = np.minimum(out, ranks(setting, "likelihood", {"noise": model}, part, data))
    return out


def is_held(mentions: Mentions, dataset: Dataset) -> Array:
    """Per mention: whether some record of the release holds the item."""
    return np.asarray((mentions.item >= 0) & (np.append(dataset.supports, 0)[mentions.item] > 0))


def identified(rank: Array, k: int = 1) -> Row:
    """Columns of the share of mentioners who are among the first k."""
    return rate_columns(k_identified(rank, k))


def algorithm_ranks(setting: RecipeInputs, algorithm: str) -> Array:
    """Ranks by one of the paper's algorithms on all mentions, computed once."""
    name, options = ALGORITHMS[algorithm]
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
    groups = [("all", np.ones(mentions.n, np.bool_)), *mentions.groups()]
    return [
        {
            "mentions": name,
            "reason": "1-identified" if reason == IDENTIFIED else reason,
            **rate_columns(why[inside] == reason),
        }
        for reason in (IDENTIFIED, NOT_NARROW, MISDIRECTED, NO_ONE_POSSIBLE)
        for name, inside in groups
        if inside.any()
    ]


def _figure_4(setting: RecipeInputs) -> Rows:
    return [
        {"algorithm": name, "k": k, **identified(algorithm_ranks(setting, name), k)}
        for name in ALGORITHMS
        for k in KS
    ]


def _figure_5(setting: RecipeInputs) -> Rows:
    mentions = the_mentions(setting)
    groups = [*mentions.groups(), ("≥ 8", mentions.counts >= 8)]
    return [
        {
            "algorithm": name,
            "mentions": words,
            **identified(algorithm_ranks(setting, name)[inside]),
        }
        for name in PUBLISHED_ALGORITHMS
        for words, inside in groups
        if inside.any()
    ]


def owner_defense(setting: RecipeInputs) -> Rows:
    """Figs. 6 and 7: Scoring after every item with fewer records than a threshold is dropped."""

    def work() -> Rows:
        ds, out = setting.dataset, []
        most = int(ds.supports.max())
        steps = np.unique(np.rint(2.0 ** np.arange(0, np.log2(most) + 0.5, 0.5)).astype(int))
        reached_zero = dict.fromkeys(KS, False)
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
                rates = identified(rank, k)
                first = not rates["count"] and not reached_zero[k]
                reached_zero[k] |= first
                out.append({**point, "k": f"k = {k}", "first_zero": first, **rates})
            out.append({**point, "k": ADAPTIVE, "first_zero": False, **identified(adapted)})
        return out

    return setting.once("f06 owner", work)


def _figure_8(setting: RecipeInputs) -> Rows:
    mentions = the_mentions(setting)
    out: Rows = []
    for share in HIDDEN:
        said = hide_rarest(mentions, setting.dataset, share)
        rank = ranks(setting, "scoring", {}, said)
        out += [{"hidden": share, "k": f"k = {k}", **identified(rank, k)} for k in KS]
        adapted = adaptive_ranks(setting, said)
        out.append({"hidden": share, "k": ADAPTIVE, **identified(adapted)})
    return out


def misdirected_ranks(setting: RecipeInputs, strategy: str, n: int) -> Array:
    """Ranks by Scoring after `n` misdirecting mentions."""
    knows = strategy in (IGNORING_POPULAR, MISDIRECTED_ADAPTIVE)

    def work() -> Array:
        ds, added = setting.dataset, misdirecting_lists(setting.dataset)
        said = misdirect(the_mentions(setting), ds, added[POPULAR if knows else strategy], n)
        if not knows:
            return ranks(setting, "scoring", {}, said)
        rare = np.append(ds.popularity_rank, ds.n_items)[said.item] >= IGNORED
        # if an attacker would have no mention left, keep all
        left = np.bincount(said.who[rare], minlength=said.n)[said.who]
        believed = said.only(rare | (left == 0))
        if strategy == MISDIRECTED_ADAPTIVE:
            return adaptive_ranks(setting, believed if n else said)
        return ranks(setting, "scoring", {}, believed)

    if n == 0 and not knows:
        return algorithm_ranks(setting, "Scoring")
    return setting.once(("f06 misdirected", strategy, n), work)


def _figure_9(setting: RecipeInputs) -> Rows:
    return [
        {"strategy": strategy, "added": n, **identified(misdirected_ranks(setting, strategy, n))}
        for strategy in [
            *misdirecting_lists(setting.dataset),
            IGNORING_POPULAR,
            MISDIRECTED_ADAPTIVE,
        ]
        for n in ADDED
    ]


ORDER = [
    ("Scoring", "TF-IDF"),
    ("TF-IDF", "Set Intersection"),
    ("FuzzyRating", "Scoring"),
    ("ExactRating", "FuzzyRating"),
    ("Scoring", "Scoring, heavy records kept"),
    ("Scoring", "Scoring, flat"),
]
"""Algorithms of which the first finds at least as many as the second, k = 1."""


def _claims_4(setting: RecipeInputs) -> list[Claim]:
    people = np.arange(the_mentions(setting).n)
    hits = {
        a: (people, k_identified(algorithm_ranks(setting, a), 1)) for pair in ORDER for a in pair
    }
    return [Claim.paired(f"{a} ≥ {b} (k = 1)", hits[a], hits[b]) for a, b in ORDER]


def _claims_9(setting: RecipeInputs) -> list[Claim]:
    people = np.arange(the_mentions(setting).n)

    def hits(strategy: str, n: int) -> tuple[Array, Array]:
        return people, k_identified(misdirected_ranks(setting, strategy, n), 1)

    rare, popular = f"{THRESHOLDS[0]:,} or more", hits(POPULAR, 5)
    claims = {"5 popular mentions protect: none ≥ 5": hits(POPULAR, 0)}
    if rare in misdirecting_lists(setting.dataset):
        claims["popular protects better than rare: 5 rare ≥ 5 popular"] = hits(rare, 5)
    return [Claim.paired(text, first, popular) for text, first in claims.items()]


RUNS = {
    "table1": _table_1,
    "fig03": _figure_3,
    "fig04": _figure_4,
    "fig05": _figure_5,
    "fig06": owner_defense,
    "fig07": owner_defense,
    "fig08": _figure_8,
    "fig09": _figure_9,
}
CLAIMS = {"fig04": _claims_4, "fig09": _claims_9}
