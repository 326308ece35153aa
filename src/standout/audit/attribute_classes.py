"""Equivalence classes: people who have all attributes in common, counted."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.data.catalog import Catalog

SMALL = 5
"""Classes with fewer people are counted as small."""


def attribute_classes(dataset: Catalog) -> dict[str, Any] | None:
    """Count the classes of records with the same attributes; None if the data has no attributes.

    k is the size of the smallest class, and people in a class of one are unique by their attributes
    alone. A missing attribute is a level of its own.

    Parameters
    ----------
    dataset
        The data that is attacked.
    """
    if not dataset.attributes:
        return None
    own = np.zeros(dataset.n_records, np.int64)
    for attribute in dataset.attributes.values():
        # after each attribute the classes are renumbered, so that no product of levels can overflow
        joint = own * (attribute.channel.n_levels + 1) + attribute.code
        own = np.unique(joint, return_inverse=True)[1]
    sizes = np.bincount(own)
    unique, small = int((sizes == 1).sum()), int(sizes[sizes < SMALL].sum())
    return {
        "names": list(dataset.attributes),
        "n_records": dataset.n_records,
        "n_classes": int(sizes.size),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "n_unique": unique,
        "unique_share": unique / dataset.n_records,
        "n_in_small": small,
        "small_share": small / dataset.n_records,
    }
