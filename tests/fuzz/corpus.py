"""Valid files of every format that is read: the fuzzer damages them."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import sqlite3
import sys
import zipfile
from datetime import datetime
from functools import lru_cache
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq

from standout.data.dataset import Dataset

LABEL = "Qzx"
"""Beginning of every label of a person: no message may hold it."""

ROWS = [
    (
        f"{LABEL}{u:03d}",
        f"m{i}",
        (u * 7 + i * 3) % 10 / 2,
        f"2020-{1 + i % 12:02d}-{1 + u % 28:02d}",
    )
    for u in range(30)
    for i in range(12)
    if (u * i + u) % 3
]
HEADER = ("user", "item", "rating", "date")


def text(delimiter: str = ",", end: str = "\n") -> str:
    return end.join(delimiter.join(map(str, row)) for row in (HEADER, *ROWS)) + end


def table() -> pa.Table:
    columns = zip(*ROWS, strict=True)
    return pa.table(dict(zip(HEADER, map(list, columns), strict=True)))


def numbers() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "userId": rng.integers(1, 60, 400),
            "movieId": rng.integers(1, 40, 400),
            "rating": rng.integers(1, 6, 400).astype(float),
            "timestamp": rng.integers(10**9, 2 * 10**9, 400),
        }
    )


def _parquet(made: pa.Table, **options: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(made, buffer, **options)
    return buffer.getvalue()


def _arrow(made: pa.Table, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    with getattr(pa.ipc, f"new_{kind}")(
        buffer, made.schema, options=pa.ipc.IpcWriteOptions(**options)
    ) as writer:
        writer.write_table(made, max_chunksize=100)
    return buffer.getvalue()


def _netflix() -> bytes:
    lines = []
    for movie in range(1, 6):
        lines += [
            f"{movie}:",
            *(f"{7 * k + movie},{k % 5 + 1},200{k % 6}-0{k % 9 + 1}-1{k % 9}" for k in range(20)),
        ]
    return ("\n".join(lines) + "\n").encode()


def _ids(delimiter: str) -> bytes:
    rows = zip(*(numbers().column(k).to_pylist() for k in range(4)), strict=True)
    return "".join(delimiter.join(str(int(x)) for x in row) + "\n" for row in rows).encode()


def _zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive without the time of day."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(
                zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED
            )
    return buffer.getvalue()


def _workbook() -> bytes:
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in (HEADER, *ROWS[:60]):
        book.active.append(row)
    book.properties.created = book.properties.modified = datetime(2020, 1, 1)
    book.save(buffer)
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["docProps/core.xml"] = re.sub(
        rb"20\d\d-\d\d-\d\dT[\d:]+Z", b"2020-01-01T00:00:00Z", members["docProps/core.xml"]
    )
    return _zipped(members)


def _database(folder: Path, kind: str) -> bytes:
    path = folder / f"made.{kind}"
    path.unlink(missing_ok=True)
    con = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
    con.execute('CREATE TABLE sales ("user" TEXT, item TEXT, rating DOUBLE, "date" TEXT)')
    con.executemany("INSERT INTO sales VALUES (?, ?, ?, ?)", ROWS[:80])
    if kind == "sqlite":
        con.commit()
    con.close()
    return path.read_bytes()


def _zst(data: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(data))


def _findings() -> bytes:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "report"))
    import made_findings

    return made_findings.sweep({2: 0.6}).to_json().encode()


@lru_cache
def _evidence() -> bytes:
    """Evidence of a check of these rows, without the time of day."""
    from standout.gate.evidence import evidence_of
    from standout.gate.verdict import check

    record, item, _, _ = zip(*ROWS, strict=True)
    policy = {
        "limit": [{"name": "x", "max": 0.2, "adversaries": ["a"]}],
        "adversary": {"a": {"knows": 2}},
        "attacks": ["scoreboard"],
        "max_age_days": 30,
        "self_test": False,
    }
    content = evidence_of(
        check(Dataset.from_arrays(record, item), policy, targets=20, seed=0, progress=False)
    )
    content["provenance"] = {**content["provenance"], "created": "2020-01-01T00:00:00+00:00"}
    return json.dumps(content, indent=1).encode()


def _item_map() -> bytes:
    rows = [f"m{i},Müßiggänger {i},0.9{i % 10},{('yes', 'no')[i % 3 == 0]}" for i in range(30)]
    return "\n".join(["item_second,item_release,score,confirm", *rows]).encode()


def _manifest() -> bytes:
    from standout.defenses.manifest import FORMAT

    stages = [
        {"name": "drop-entries", "parameters": {"share": 0.5}},
        {"name": "round-values", "parameters": {"step": 1.0}},
    ]
    reading = {"record": "user", "item": "item", "value": "rating", "time": "date"}
    return json.dumps(
        {"format": FORMAT, "standout": "0.1.0", "stages": stages, "reading": reading}, indent=1
    ).encode()


def _policy() -> bytes:
    from standout.gate.template import DOMAINS, template

    return template(next(iter(DOMAINS))).encode()


def formats(folder: Path) -> dict[str, bytes]:
    """Content of one valid file per format, by the ending of its name."""
    plain, made = text().encode(), {}
    made |= {"csv": plain, "tsv": text("\t").encode(), "semicolon.csv": text(";", "\r\n").encode()}
    made["quoted.csv"] = "\n".join(
        ",".join(f'"{x}"' for x in row) for row in (HEADER, *ROWS)
    ).encode()
    made["latin.csv"] = text().replace("m1", "Müßiggänger").encode("cp1252")
    made["utf16.csv"] = text().encode("utf-16")
    made |= {
        "csv.gz": gzip.compress(plain, mtime=0),
        "csv.zst": _zst(plain),
        "zip": _zipped({"x.csv": plain}),
    }
    made |= {"data": _ids("\t"), "dat": _ids("::"), "combined_data_1.txt": _netflix()}
    made["jsonl"] = "".join(
        json.dumps(dict(zip(HEADER, row, strict=True))) + "\n" for row in ROWS
    ).encode()
    made["json"] = json.dumps([dict(zip(HEADER, row, strict=True)) for row in ROWS]).encode()
    made |= {"parquet": _parquet(table()), "numbers.parquet": _parquet(numbers())}
    made["plain.parquet"] = _parquet(numbers(), compression="none", use_dictionary=False)
    made |= {"arrow": _arrow(table(), "file"), "stream.arrow": _arrow(table(), "stream")}
    made["zstd.arrow"] = _arrow(numbers(), "file", compression="zstd")
    made |= {
        "sqlite": _database(folder, "sqlite"),
        "duckdb": _database(folder, "duckdb"),
        "xlsx": _workbook(),
    }
    made |= {"findings.json": _findings(), "policy.toml": _policy(), "evidence.json": _evidence()}
    made |= {"items.csv": _item_map(), "manifest.json": _manifest()}
    return made


def saved(folder: Path) -> Path:
    """A saved dataset."""
    target = folder / "saved"
    shutil.rmtree(target, ignore_errors=True)
    record, item, value, _ = zip(*ROWS, strict=True)
    Dataset.from_arrays(record, item, value).save(target)
    return target


def store(folder: Path) -> None:
    """Write the corpus for the workers."""
    made = formats(folder)
    (folder / "formats").mkdir()
    for ending, content in made.items():
        (folder / "formats" / ending).write_bytes(content)
    saved(folder)


def stored(folder: Path) -> dict[str, bytes]:
    """Formats of a stored corpus, in a fixed order."""
    return {path.name: path.read_bytes() for path in sorted((folder / "formats").iterdir())}
