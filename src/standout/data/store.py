"""Datasets on disk: a folder of .npy files, mapped into memory when it is opened."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Cleaning, ColumnUse, Dataset
from standout.data.index import Shard
from standout.data.labels import text_labels
from standout.errors import InputError, ParameterError

Array = npt.NDArray[Any]

FORMAT = "standout-dataset"
SCHEMA = 1
_LABELS = ("record_labels", "item_labels")
_ARRAYS = (*_LABELS, "record_ptr", "record_item", "record_code", "record_day", "levels", "lengths", "supports")
_BOUNDS = ("level_low", "level_high")
"""Written only if values are not kept exactly; folders of older versions lack it."""
_INDEX_ARRAYS = ("ptr", "local", "code", "day")
_INDEX_NUMBERS = ("first_record", "n_records", "block_size", "has_repeats")


def save_folder(ds: Dataset, folder: str | Path) -> None:
    """Write the dataset and its index, completely or not at all.

    A dataset that was saved there before is replaced; anything else is left alone.
    """
    target = Path(folder)
    if target.exists() and not _is_replaceable(target):
        raise ParameterError(f"{target.name} exists and is not a saved dataset: choose another folder")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        building = Path(mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise ParameterError(f"cannot write {target.name}: {error.strerror}") from None
    try:
        _write(ds, building)
        building.chmod(0o755)  # mkdtemp makes folders that only their owner may read
        _put(building, target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def open_folder(folder: str | Path) -> Dataset:
    """Open a folder that `save_folder` wrote; arrays are mapped, not read."""
    source = Path(folder)
    meta = _read_meta(source)
    try:
        arrays = {name: _load(source, name) for name in _ARRAYS}
        arrays |= {name: _load(source, name) for name in _BOUNDS if (source / f"{name}.npy").exists()}
        index_arrays: dict[str, Any] = {name: _load(source, f"index_{name}") for name in _INDEX_ARRAYS}
        index = Shard(**meta["index"], **index_arrays)
        columns = tuple(ColumnUse(**use) for use in meta["cleaning"].get("columns", ()))
        cleaning = Cleaning(**{**meta["cleaning"], "notes": tuple(meta["cleaning"]["notes"]), "columns": columns})
        ds = Dataset(**arrays, first_day=meta["first_day"], day_span=meta["day_span"], cleaning=cleaning)
        ds = _with_bounds(ds)
        whole = ds.record_ptr[-1] == ds.record_item.size == index.local.size and ds.record_labels.size == ds.n_records
        whole &= ds.level_low.size == ds.level_high.size and ds.level_low.size in (0, ds.n_levels)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        whole = False
    if not whole:
        raise InputError(f"{source.name} is a saved dataset, but damaged: save it again from the original data")
    ds.__dict__["index"] = index  # preset the cached property
    return ds


def _with_bounds(ds: Dataset) -> Dataset:
    """The dataset, with bounds of its levels if an older version coded values inexactly without bounds."""
    error = ds.cleaning.value_error
    if not error or ds.level_low.size or ds.level_high.size:
        return ds
    # a cell extends at most `error` from its middle, and never past the level of the next cell
    low = np.maximum(ds.levels - error, np.append(-np.inf, ds.levels[:-1]))
    high = np.minimum(ds.levels + error, np.append(ds.levels[1:], np.inf))
    return replace(ds, level_low=low, level_high=high)


def is_saved(folder: Path) -> bool:
    """Whether any version of `save_folder` wrote this folder."""
    try:
        return bool(json.loads((folder / "meta.json").read_text(encoding="utf-8"))["format"] == FORMAT)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _read_meta(source: Path) -> dict[str, Any]:
    if not is_saved(source):
        raise InputError(f"{source.name} is not a folder that Dataset.save wrote")
    meta = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    if meta.get("schema") != SCHEMA:
        raise InputError(
            f"{source.name} was saved with schema {meta.get('schema')}, and this version reads schema {SCHEMA}: "
            "save it again from the original data"
        )
    return dict(meta)


def _is_replaceable(target: Path) -> bool:
    return target.is_dir() and (is_saved(target) or not any(target.iterdir()))


def _put(building: Path, target: Path) -> None:
    """Rename the new folder into place; the old one is removed last, and restored on failure."""
    if not target.exists():
        building.rename(target)
        return
    aside = Path(mkdtemp(prefix=f".{target.name}-old-", dir=target.parent))
    try:
        target.rename(aside / "data")
        building.rename(target)
    except BaseException:
        if (aside / "data").exists() and not target.exists():
            (aside / "data").rename(target)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _write(ds: Dataset, folder: Path) -> None:
    for name in (*_ARRAYS, *(_BOUNDS if ds.level_low.size else ())):
        _dump(folder, name, getattr(ds, name))
    index = ds.index
    for name in _INDEX_ARRAYS:
        _dump(folder, f"index_{name}", getattr(index, name))
    meta = {
        "format": FORMAT,
        "schema": SCHEMA,
        "first_day": ds.first_day,
        "day_span": ds.day_span,
        "index": {name: getattr(index, name) for name in _INDEX_NUMBERS},
        "cleaning": asdict(ds.cleaning),
    }
    with (folder / "meta.json").open("w", encoding="utf-8") as file:
        json.dump(meta, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())


def _dump(folder: Path, name: str, array: Array) -> None:
    if array.dtype.kind != "O":
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
        return
    # labels of very different widths: concatenated bytes, and the end of each label
    encoded = [str(x).encode("utf-8", "surrogatepass") for x in array]
    np.save(folder / f"{name}.bytes.npy", np.frombuffer(b"".join(encoded), np.uint8), allow_pickle=False)
    np.save(folder / f"{name}.ends.npy", np.cumsum([len(x) for x in encoded], dtype=np.int64), allow_pickle=False)


def _load(folder: Path, name: str) -> Array:
    if (folder / f"{name}.npy").exists():
        return _mapped(folder / f"{name}.npy")
    data, ends = (
        _mapped(folder / f"{name}.bytes.npy").tobytes(),
        _mapped(folder / f"{name}.ends.npy").tolist(),
    )
    texts = [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return text_labels(texts)


def _mapped(path: Path) -> Array:
    """The array of a file, mapped into memory; an empty one is read."""
    load: Callable[..., Array] = np.load
    try:
        return np.asarray(load(path, mmap_mode="r", allow_pickle=False))
    except ValueError:
        array = load(path, allow_pickle=False)
        if array.size:
            raise
        return array
