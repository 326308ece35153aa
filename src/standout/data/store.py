"""Datasets on disk: a folder of .npy files, mapped into memory when it is opened."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from tokenize import TokenError
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.channels import JointCodes
from standout.data.cleaning import Cleaning, ColumnUse
from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.data.intact import (
    are_unchanged,
    file_checksums,
    is_index_of,
    is_sound,
    meta_checksum,
)
from standout.data.labels import text_labels
from standout.data.scale import OWN_KINDS, Attribute, Channel, OwnChannel
from standout.data.scratch import scratch_folder
from standout.errors import InputError, ParameterError

FORMAT = "standout-dataset"
SCHEMA = 4
_LABELS = ("record_labels", "item_labels")
_ARRAYS = (
    *_LABELS,
    "record_ptr",
    "record_item",
    "record_code",
    "record_tick",
    "levels",
    "lengths",
    "supports",
)
_INDEX_ARRAYS = ("ptr", "local", "code", "tick")
_INDEX_NUMBERS = ("first_record", "n_records", "block_size", "has_repeats")
DAMAGES = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    EOFError,
    OverflowError,
    SyntaxError,
    TokenError,
)
"""What a damaged file makes NumPy and Python raise."""


def save_folder(ds: Dataset, folder: str | Path) -> None:
    """Write the dataset and its index, completely or not at all.

    A dataset that was saved there before is replaced; anything else is left alone.
    """
    target = Path(folder)
    if target.exists() and not _is_replaceable(target):
        raise ParameterError(
            f"{target.name} exists and is not a saved dataset: choose another folder"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(target.parent, f".{target.name[:100]}-") as made:
            building = made / "files"
            building.mkdir()
            _write(ds, building)
            put_folder(building, target)
            sync_folder(target.parent)
    except OSError as error:
        raise ParameterError(
            f"cannot write {target.name[:100]}: {error.strerror or type(error).__name__}"
        ) from None


def open_folder(folder: str | Path, *, verify: bool = True) -> Dataset:
    """Open a folder that `save_folder` wrote; arrays are mapped into memory.

    Types, sizes and the range of every index are always checked. Checksums are compared unless
    `verify` is False.
    """
    source = Path(folder)
    meta = read_meta(source)
    ds = None
    try:
        if are_unchanged(source, meta, verify=verify):
            ds = _mapped_dataset(source, meta)
        whole = ds is not None and is_sound(ds) and is_index_of(ds.index, ds)
    except DAMAGES:
        whole = False
    if ds is None or not whole:
        raise InputError(
            f"{source.name} is a saved dataset, but damaged: save it again from the original data"
        )
    return ds


def _mapped_dataset(source: Path, meta: dict[str, Any]) -> Dataset:
    """The dataset of a folder with its index, not checked yet."""
    arrays: dict[str, Any] = {name: load_array(source, name) for name in _ARRAYS}
    index: dict[str, Any] = {name: load_array(source, f"index_{name}") for name in _INDEX_ARRAYS}
    ds = Dataset(
        **arrays,
        **{name: meta[name] for name in ("first_tick", "tick_span", "time_resolution")},
        cleaning=cleaning_of(meta),
        further=_further(source, meta),
        attributes=_attributes(source, meta),
    )
    # the cached property finds it there
    ds.__dict__["index"] = Shard(**meta["index"], **index).with_keys(ds.lazy_keys)
    return ds


def _further(source: Path, meta: dict[str, Any]) -> JointCodes | None:
    """Codes of the level channels beside the value, as saved."""
    if not (channels := _channels(source, meta, "channels")):
        return None
    points, code = (load_array(source, f"channels_{name}") for name in ("points", "code"))
    return JointCodes(tuple(channels), points, code)


def _attributes(source: Path, meta: dict[str, Any]) -> dict[str, Attribute]:
    """Columns of the records, as saved."""
    return {
        channel.name: Attribute(channel, load_array(source, f"attributes_{k}_code"))
        for k, channel in enumerate(_channels(source, meta, "attributes"))
    }


def _channels(source: Path, meta: dict[str, Any], kind: str) -> list[Channel]:
    """Scales of the channels or attributes, as saved."""
    made = []
    for k, one in enumerate(meta.get(kind, ())):
        own = one.get("kind")
        if own is not None and own not in OWN_KINDS:
            raise InputError(
                f"{source.name}: {one['name']} is a channel of the kind {own!r}, which is not registered here: import the "
                "module that registers it"
            )
        labels = load_array(source, f"{kind}_{k}_labels") if one["labels"] else None
        make = OWN_KINDS[own][1] if own else Channel
        levels = load_array(source, f"{kind}_{k}_levels")
        made.append(make(one["name"], levels, labels, float(one["period"])))
    return made


def _write_channels(folder: Path, kind: str, channels: Iterable[Channel]) -> list[dict[str, Any]]:
    """Write the scales of channels or attributes; returns what meta.json says of them."""
    described = []
    for k, channel in enumerate(channels):
        dump_array(folder, f"{kind}_{k}_levels", channel.levels)
        if channel.labels is not None:
            dump_array(folder, f"{kind}_{k}_labels", channel.labels)
        described.append(
            {"name": channel.name, "labels": channel.labels is not None, "period": channel.period}
            | ({"kind": channel.kind} if isinstance(channel, OwnChannel) else {})
        )
    return described


def cleaning_of(meta: dict[str, Any]) -> Cleaning:
    """What reading did, as saved."""
    columns = tuple(ColumnUse(**use) for use in meta["cleaning"].get("columns", ()))
    saved = {**meta["cleaning"], "notes": tuple(meta["cleaning"]["notes"]), "columns": columns}
    saved.pop("value_width", None)
    if saved.pop("value_error", 0.0):
        raise InputError(
            "saved by an older version, which rounded values where there were more than 4,095 distinct ones: read the "
            "source again and save it"
        )
    return Cleaning(**saved)


def is_saved(folder: Path) -> bool:
    """Whether any version of `save_folder` wrote this folder."""
    try:
        if not (folder / "meta.json").is_file():  # reading a pipe would wait for ever
            return False
        return bool(
            json.loads((folder / "meta.json").read_text(encoding="utf-8"))["format"] == FORMAT
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def read_meta(source: Path) -> dict[str, Any]:
    """Content of meta.json; a folder of another version is refused."""
    if not is_saved(source):
        raise InputError(f"{source.name} is not a folder that Dataset.save wrote")
    other = next((path.name for path in source.glob("*.npy") if not path.is_file()), None)
    if other is not None:
        raise InputError(
            f"{source.name} is a saved dataset, but damaged: {other!r} in it is not a file"
        )
    meta = json.loads((source / "meta.json").read_text(encoding="utf-8"))
    if meta.get("schema") != SCHEMA:
        raise InputError(
            f"{source.name} was saved with schema {meta.get('schema')}, and this version reads schema {SCHEMA}: "
            "save it again from the original data"
        )
    return dict(meta)


def _is_replaceable(target: Path) -> bool:
    return target.is_dir() and (is_saved(target) or not any(target.iterdir()))


def put_folder(building: Path, target: Path) -> None:
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
    for name in _ARRAYS:
        dump_array(folder, name, getattr(ds, name))
    own = list(ds.attributes.values())
    described = {
        "channels": _write_channels(folder, "channels", ds.further.channels if ds.further else ()),
        "attributes": _write_channels(folder, "attributes", (one.channel for one in own)),
    }
    for k, one in enumerate(own):
        dump_array(folder, f"attributes_{k}_code", one.code)
    if ds.further is not None:
        dump_array(folder, "channels_points", ds.further.points)
        dump_array(folder, "channels_code", ds.further.code)
    index = ds.index
    for name in _INDEX_ARRAYS:
        dump_array(folder, f"index_{name}", getattr(index, name))
    times = {
        "first_tick": ds.first_tick,
        "tick_span": ds.tick_span,
        "time_resolution": ds.time_resolution,
    }
    numbers = {name: getattr(index, name) for name in _INDEX_NUMBERS}
    write_meta(folder, times, numbers, ds.cleaning, described)


def write_meta(
    folder: Path,
    times: dict[str, Any],
    index: dict[str, Any],
    cleaning: Cleaning,
    described: dict[str, list[dict[str, Any]]] | None = None,
) -> None:
    """Write meta.json for the arrays that the folder holds, with their checksums.

    Parameters
    ----------
    folder
        Folder of the .npy files.
    times
        `first_tick`, `tick_span` and `time_resolution` of the dataset.
    index
        `first_record`, `n_records`, `block_size` and `has_repeats` of the index.
    cleaning
        What reading did.
    described
        Name and kind of each further level channel and of each attribute.
    """
    meta = {
        "format": FORMAT,
        "schema": SCHEMA,
        **times,
        "index": index,
        "cleaning": asdict(cleaning),
        **{kind: named for kind, named in (described or {}).items() if named},
    }
    sums = file_checksums(folder, (path.name for path in folder.glob("*.npy")))
    meta["checksums"] = {"meta.json": meta_checksum(meta), **sums}
    with (folder / "meta.json").open("w", encoding="utf-8") as file:
        json.dump(meta, file, indent=2, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)


def _save_array(path: Path, array: Array) -> None:
    """Write one .npy file and wait until it is on disk."""
    with path.open("wb") as file:
        np.save(file, array, allow_pickle=False)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk, where the system can do that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def dump_array(folder: Path, name: str, array: Array) -> None:
    """Write an array of a saved folder."""
    if array.dtype.kind != "O":
        _save_array(folder / f"{name}.npy", array)
        return
    # labels of very different widths: concatenated bytes, and the end of each label
    encoded = [str(x).encode("utf-8", "surrogatepass") for x in array]
    _save_array(folder / f"{name}.bytes.npy", np.frombuffer(b"".join(encoded), np.uint8))
    _save_array(folder / f"{name}.ends.npy", np.cumsum([len(x) for x in encoded], dtype=np.int64))


def load_array(folder: Path, name: str) -> Array:
    """Array of a saved folder, mapped into memory; labels of very different widths are read."""
    if (folder / f"{name}.npy").exists():
        return _mapped(folder / f"{name}.npy")
    data, ends = (
        _mapped(folder / f"{name}.bytes.npy").tobytes(),
        _mapped(folder / f"{name}.ends.npy").tolist(),
    )
    texts = [
        data[a:b].decode("utf-8", "surrogatepass")
        for a, b in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return text_labels(texts)


def _mapped(path: Path) -> Array:
    """The array of a file, mapped into memory; an empty one is read."""
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except ValueError:
        array: Array = np.load(path, allow_pickle=False)
        if array.size:
            raise
        return array
