"""What Theorem 2 of NS08 predicts on this data, from measured agreements between records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from standout.data.dataset import Dataset
from standout.formulas.ns08 import theorem_2_found
from standout.theory.sparsity import Curve

ITEMS = (1, 2, 4, 8, 16, 32, 64)
CONFIDENCE = 0.95

NAME = "NS08, Theorem 2"


def predicted(
    dataset: Dataset, records: Any, curves: list[Curve], missing: tuple[bool, bool]
) -> list[dict[str, Any]]:
    """One entry per curve: how much other records agree, and the resulting share of people found.

    The assumption about the data is measured record by record: how many items of each record
    another record agrees on. The other assumption is about the adversary: the known items are drawn
    uniformly from the record and are exact.

    Parameters
    ----------
    dataset
        The release.
    records
        Indices of the records that the curves measured.
    curves
        Curves that hold their agreements.
    missing
        Whether values, and whether days, are missing somewhere. If a fact has no value, a record
        also fits that does not agree on one, so curves of that channel predict nothing and are left
        out.

    Returns
    -------
    list of dict
        `similarity` (words), `value_within`, `time_within`, `n`, `whole`, `agreement` (quartiles of
        the largest share of a record's items on which one other record agrees) and `found`: rows of
        `knows`, `n`, `at_least`. `at_least` is a mean over all records with that many items, or a
        95 % lower bound of it (Hoeffding) where records were sampled.
    """
    lengths = dataset.lengths[records]
    out = []
    for curve in curves:
        unknown = (curve.value_within is not None and missing[0]) or (
            curve.time_within is not None and missing[1]
        )
        if curve.agree is None or unknown:
            continue
        share = curve.agree / np.maximum(lengths, 1)
        rows = []
        for m in ITEMS:
            found = theorem_2_found(curve.agree, lengths, m, dataset.n_records)
            found = found[~np.isnan(found)]
            if found.size:
                slack = (
                    0.0 if curve.whole else math.sqrt(-math.log(1 - CONFIDENCE) / (2 * found.size))
                )
                rows.append(
                    {
                        "knows": m,
                        "n": int(found.size),
                        "at_least": max(0.0, float(found.mean()) - slack),
                    }
                )
        out.append(
            {
                "theorem": NAME,
                "similarity": curve.words,
                "value_within": curve.value_within,
                "time_within": curve.time_within,
                "n": int(lengths.size),
                "whole": curve.whole,
                "agreement": [float(x) for x in np.quantile(share, [0.25, 0.5, 0.75])],
                "found": rows,
            }
        )
    return out
