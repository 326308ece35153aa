"""Queries as an attack takes them: knowledge in the indices of the release, one record per query, batches that fit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.table_rows import n_cells, time_columns
from standout.data.catalog import Catalog, check_dataset
from standout.data.channels import JointDataset
from standout.engines.engine import Engine
from standout.errors import ParameterError


def bound(
    dataset: Catalog, knowledge: Knowledge, all_channels: bool = False
) -> tuple[Catalog, Facts]:
    """Return the dataset as an attack reads it, and the knowledge in its indices; other objects are refused.

    Parameters
    ----------
    dataset, knowledge
        The release, and what is known.
    all_channels
        Whether the attack reads all known level channels; else the value, or the first of them.
    """
    check_dataset(dataset)
    if not isinstance(knowledge, Knowledge):
        raise ParameterError(
            f"knowledge is a {type(knowledge).__name__}: use Adversary.sample or Knowledge.from_arrays to make it"
        )
    read = knowledge.read_by(seen_through(dataset, knowledge.adversary))
    facts = knowledge.bind(read)
    if all_channels or not isinstance(read, JointDataset):
        return read, facts
    return first_channel(read, facts)


def first_channel(dataset: JointDataset, facts: Facts) -> tuple[Catalog, Facts]:
    """The dataset and the facts with the first known level channel alone, as values, and without attributes."""
    if facts.given is not None:
        facts = facts.only(~facts.given)
    name = dataset.entry_channels[0].name if dataset.entry_channels else ""
    who = facts.adversary
    if who is not None:
        within = who.value_within if name == "value" else who.further_known.get(name)
        who = replace(who, knows=max(who.knows, 1), value_within=within, within=None)
    assert dataset.whole is not None
    if not name:
        nothing = np.full(facts.item.size, np.nan)
        return dataset.whole, replace(facts, value=nothing, adversary=who)
    return dataset.one_channel(0), replace(facts, value=facts.value[:, 0], adversary=who)


def one_per_query(records: Any, facts: Facts, name: str, dataset: Catalog) -> Array:
    """Record indices of the argument `name`, checked; -1 for every query if there are none."""
    if records is None:
        return facts.nobody
    given = np.asarray(records).reshape(-1)
    # a mask of booleans would be read as records 0 and 1
    if given.dtype.kind not in "iuf" or not np.array_equal(given, np.floor(given)):
        raise ParameterError(
            f"{name}: give one record index per query as a whole number, -1 = none"
        )
    array = given.astype(np.int64)
    if array.size != facts.n_queries:
        raise ParameterError(
            f"{name} has {array.size} records, the knowledge {facts.n_queries} queries: one record per query, -1 = none"
        )
    if array.size and (array.min() < -1 or array.max() >= dataset.n_records):
        raise ParameterError(
            f"{name}: record indices run from 0 to {dataset.n_records - 1}, -1 = none"
        )
    return array


def query_batches(
    dataset: Catalog, facts: Facts, exclude: Array, alone: bool, machine: Engine
) -> Iterator[tuple[Facts, Array]]:
    """Cut the queries into batches whose tables fit the engine's limits."""
    used = np.append(0, np.cumsum(8 * (n_cells(dataset, facts.item) + 1 + time_columns(dataset))))
    first = 0
    while first < facts.n_queries:
        room = used[facts.query_ptr[first]] + machine.batch_bytes
        last_fact = np.searchsorted(used, room, side="right") - 1
        stop = int(np.searchsorted(facts.query_ptr, last_fact, side="right")) - 1
        stop = min(max(stop, first + 1), first + machine.batch_queries, facts.n_queries)
        if alone and (exclude[first:stop] >= 0).any():
            stop = first + 1
        yield facts.part(first, stop), exclude[first:stop]
        first = stop
