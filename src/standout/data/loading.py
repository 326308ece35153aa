"""Data whose records must be in memory."""

from __future__ import annotations

from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.errors import EngineError, ParameterError


def in_memory(data: Catalog, what: str) -> Dataset:
    """The data itself if its records are in memory; `what` needs that."""
    if not isinstance(data, Catalog):
        raise ParameterError(
            f"{what} needs a Dataset (Dataset.read, from_arrays), not a {type(data).__name__}"
        )
    if not isinstance(data, Dataset):
        raise EngineError(
            f"{what} needs the records in memory: read the data with Dataset.read, or a part of it"
        )
    return data
