"""A synthetic twin of the Netflix Prize data: artificial people with the marginals of the real data.

The model, in words. A *person* joins on a day, rates so many items over so many days until some
last day; early joiners rate more, and most of a record falls on a few days of burst. An *item*
enters the catalog on a day, is little rated until its disc appears, then most, then less. Which
item a person rates depends on its popularity (the longer the record, the further down the tail), on
the person's taste (a mix of latent groups) and on the item's age. A
*value* is the item's quality plus the person's leniency plus chance, cut into 1 to 5.

The numbers are solved from marginals in `twin.model` and `twin.items`; the draws are in
`twin.kernels`; `docs/scripts/marginals.py` measures data as the real marginals were measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.data.twin.kernels import draw_entries, draw_people
from standout.data.twin.model import FIRST_DAY, N_ITEMS, N_RECORDS, real_marginals, twin_model
from standout.data.whole_file import whole_file
from standout.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa

    from standout.data.dataset import Dataset

Columns = tuple[Array, Array, Array, Array]

EPOCH_DAY = FIRST_DAY.toordinal() - 719_163
"""The twin's first day, counted from 1970-01-01."""


def _pieces(
    n_records: int, n_items: int, mean_length: float | None, seed: int, piece: int, threads: int
) -> Iterator[Columns]:
    """Entries of `piece` records after `piece` records, in order, a few pieces ahead on threads."""
    for name, number in (
        ("n_records", n_records),
        ("n_items", n_items),
        ("piece", piece),
        ("threads", threads),
    ):
        if number < 1:
            raise ParameterError(f"{name}={number}: a twin needs at least one")
    if not 0 <= seed < 2**63:
        raise ParameterError(f"seed={seed}: a seed is a whole number from 0 to 2**63 - 1")
    mean = (
        real_marginals()["mean_entries_per_record"] * n_items / N_ITEMS
        if mean_length is None
        else mean_length
    )
    if not 0 < mean <= 0.5 * n_items:
        raise ParameterError(
            f"mean_length={mean:g}: records hold at most half of the {n_items} items on average"
        )
    people, catalog = twin_model(n_items, float(mean), seed)

    def draw(first: int) -> Columns:
        stop = min(n_records, first + piece)
        plan = np.empty((stop - first, 4), np.int64)
        draw_people(first, stop, seed, people, plan)
        n = int(plan[:, 0].sum())
        record, item = np.empty(n, np.int32), np.empty(n, np.int32)
        value, day = np.empty(n, np.uint8), np.empty(n, np.int32)
        n = draw_entries(first, stop, seed, people, catalog, record, item, value, day)
        day += EPOCH_DAY
        return record[:n], item[:n], value[:n], day[:n]

    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Columns]] = deque()
        for first in range(0, n_records, piece):
            ahead.append(pool.submit(draw, first))
            if len(ahead) > threads:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def twin(
    n_records: int = N_RECORDS,
    n_items: int = N_ITEMS,
    *,
    seed: int = 0,
    mean_length: float | None = None,
    batch_records: int = 5_000,
    threads: int = 2,
) -> Iterator[pa.RecordBatch]:
    """Stream a twin of the Netflix Prize data as Arrow batches, record after record.

    Parameters
    ----------
    n_records
        Number of people. A smaller number gives the first records of a larger twin, as in a random
        sample, so that every marginal of a record stays and supports shrink in proportion.
    n_items
        Number of items. Fewer items are the real catalog thinned evenly over its ranks, and records
        thin with it.
    seed
        Random seed of people and items.
    mean_length
        Mean number of entries per record; 208.3 × n_items / 17,770 by default. Lengths keep their
        shape.
    batch_records
        Records per batch. Does not change the data.
    threads
        Number of threads. Does not change the data.

    Yields
    ------
    pyarrow.RecordBatch
        Columns record (int32), item (int32), value (uint8, 1 to 5), day (date32), by record, then
        day.
    """
    import pyarrow as pa

    names = ["record", "item", "value", "day"]
    for record, item, value, day in _pieces(
        n_records, n_items, mean_length, seed, batch_records, threads
    ):
        columns = [
            pa.array(record),
            pa.array(item),
            pa.array(value),
            pa.array(day).cast(pa.date32()),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=names)


def twin_arrays(
    n_records: int = 20_000,
    n_items: int = N_ITEMS,
    *,
    seed: int = 0,
    mean_length: float | None = None,
    batch_records: int = 5_000,
    threads: int = 2,
) -> Columns:
    """Make a twin in memory: (record, item, value, day), one element per entry, days from 1970-01-01.

    Parameters as in `twin`.
    """
    pieces = list(_pieces(n_records, n_items, mean_length, seed, batch_records, threads))
    record, item, value, day = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return record, item, value, day


def twin_dataset(
    n_records: int = 20_000,
    n_items: int = N_ITEMS,
    *,
    seed: int = 0,
    mean_length: float | None = None,
) -> Dataset:
    """Make a twin as a `Dataset`; parameters as in `twin`."""
    from standout.data.dataset import Dataset

    record, item, value, day = twin_arrays(n_records, n_items, seed=seed, mean_length=mean_length)
    return Dataset.from_arrays(record, item, value, day)


def write_twin(
    path: str | Path,
    n_records: int = N_RECORDS,
    n_items: int = N_ITEMS,
    *,
    seed: int = 0,
    mean_length: float | None = None,
    row_group: int = 1_000_000,
    threads: int = 2,
) -> int:
    """Write a twin to a Parquet file and return the number of entries; parameters as in `twin`.

    The file gets its name only when it is complete.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = Path(path)
    if not path.parent.is_dir():
        raise ParameterError(
            f"no folder {str(path.parent)!r} to write the twin into; make it first"
        )
    schema = pa.schema(
        {"record": pa.int32(), "item": pa.int32(), "value": pa.uint8(), "day": pa.date32()}
    )
    n_entries = 0
    with whole_file(path) as draft, pq.ParquetWriter(draft, schema, compression="zstd") as writer:
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in twin(n_records, n_items, seed=seed, mean_length=mean_length, threads=threads):
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= row_group:
                writer.write_table(pa.Table.from_batches(waiting), row_group_size=rows)
                waiting, rows = [], 0
            n_entries += batch.num_rows
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting), row_group_size=rows)
    return n_entries
