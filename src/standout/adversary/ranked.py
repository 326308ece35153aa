"""Knowledge of the first items of a person in some order: what is certain to be known, and what cannot be combined with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.data.channels import JointDataset
from standout.data.index import Rows
from standout.errors import ParameterError
from standout.views.ranks import RANK

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary
    from standout.data.catalog import Catalog


def check_ranked(who: Adversary) -> None:
    """Refuse what a ranked choice cannot be combined with."""
    if who.wrong:
        raise ParameterError(
            f"wrong={who.wrong!r}: choose={who.choose!r} knows the rank of each item, which a wrong fact does not have; use "
            "wrong=0, or another choice"
        )
    if who.length_within is not None:
        raise ParameterError(
            f"length_within={who.length_within!r}: not possible with choose={who.choose!r}, which reads the first items of a "
            "person alone; use length_within=None, or another choice"
        )
    if RANK in (who.within or {}):
        raise ParameterError(
            f"within={{{RANK!r}: …}}: choose={who.choose!r} knows the rank of each item exactly; leave it out"
        )


def rank_of_codes(dataset: Catalog) -> Array:
    """int64 (codes + 1): rank of an entry by its joint code; 0 = none."""
    assert isinstance(dataset, JointDataset)
    names = [channel.name for channel in dataset.channels_read]
    level = dataset.level(names.index(RANK))
    n = dataset.channels_read[names.index(RANK)].n_levels
    return np.where(level < n, level + 1, 0).astype(np.int64)


def last_ranks(rank: Array, record: Array, n_records: int) -> Array:
    """int64 (records): largest rank of the entries of each record; 0 = none."""
    out = np.zeros(n_records, np.int64)
    np.maximum.at(out, record, rank)
    return out


def certain(dataset: Catalog, rows: Rows) -> Array:
    """Bool (entries): whether the item comes before the last rank of its record, so that it is certain to be known."""
    rank = rank_of_codes(dataset)[rows.code]
    n_records = rows.ptr.size - 1
    record = np.repeat(np.arange(n_records), np.diff(rows.ptr))
    return np.asarray((rank > 0) & (rank < last_ranks(rank, record, n_records)[record]))
