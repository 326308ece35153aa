"""Add level channels to a dataset: what a view computes of each entry, such as its hour of day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.data.channels import JointCodes, level_names
from standout.data.scale import Channel, check_name
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


def with_channels(dataset: Dataset, added: Sequence[tuple[Channel, Array]]) -> Dataset:
    """Dataset with further level channels; records, items, values and times stay.

    Parameters
    ----------
    dataset
        Where the entries come from.
    added
        Each channel with one level per entry, as a whole number from 0, in the order of the
        entries; the number of levels of the channel = none.
    """
    if dataset.further is not None:
        channels, codes = list(dataset.further.channels), dataset.further.columns()
    elif dataset.has_value:
        channels, codes = [Channel("value", dataset.levels)], [dataset.record_code.astype(np.int64)]
    else:
        channels, codes = [], []
    taken = {*level_names(dataset)}
    for channel, given in added:
        code = np.asarray(given)
        if check_name(channel.name) in taken:
            raise ParameterError(
                f"the data has a channel {channel.name!r} already: give its column another name when the data is read"
            )
        if (
            code.shape != (dataset.n_entries,)
            or code.dtype.kind not in "iu"
            or (code.size and not 0 <= code.min() <= code.max() <= channel.n_levels)
        ):
            raise ParameterError(
                f"channel {channel.name}: one level per entry is needed, {dataset.n_entries:,} whole numbers from 0 to "
                f"{channel.n_levels:,}"
            )
        taken.add(channel.name)
        channels.append(channel)
        codes.append(code.astype(np.int64))
    if not added:
        return dataset
    changed = replace(dataset, further=JointCodes.of(channels, codes))
    # sorts the entries again: those with the same item and time are in the order of their joint code
    return changed.with_entries(item=changed.record_item)
