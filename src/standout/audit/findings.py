"""`Findings`: the numbers of an audit, frozen, as JSON with a published schema. No labels."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from standout.errors import InputError

SCHEMA_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What an audit found. `to_frame` gives one row per adversary and attack; `save` and `load` speak JSON."""

    provenance: Mapping[str, Any]
    data: Mapping[str, Any]
    results: tuple[Mapping[str, Any], ...]
    strongest: tuple[Mapping[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    sections: Mapping[str, Any] = field(default_factory=dict)
    """Findings of other verbs (describe, bound, …), by name."""

    def __post_init__(self) -> None:
        for name in ("provenance", "data", "results", "strongest", "warnings", "sections"):
            object.__setattr__(self, name, _freeze(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return {
            "schema_version": SCHEMA_VERSION,
            **{
                name: _thaw(getattr(self, name))
                for name in ("provenance", "data", "results", "strongest", "warnings", "sections")
            },
        }

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, whole or not at all."""
        return write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Findings:
        """Read a JSON file that `save` wrote."""
        try:
            return cls.from_dict(json.loads(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise InputError(f"cannot read findings {str(path)!r}: {error.strerror}") from None
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise InputError(f"{str(path)!r} is not a findings file: not JSON") from None

    @classmethod
    def from_dict(cls, data: Any) -> Findings:
        """Make findings of plain data."""
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            raise InputError(f"not findings of schema version {SCHEMA_VERSION}; make them with `standout audit`")
        try:
            return cls(data["provenance"], data["data"], tuple(data["results"]), tuple(data["strongest"]),
                       tuple(data["warnings"]), data["sections"])  # fmt: skip
        except KeyError as error:
            raise InputError(f"the findings lack {error.args[0]!r}; make them anew with `standout audit`") from None

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON Schema of the file."""
        loaded: dict[str, Any] = json.loads(
            Path(__file__).with_name("findings.schema.json").read_text(encoding="utf-8")
        )
        return loaded

    def with_section(self, name: str, content: Mapping[str, Any]) -> Findings:
        """Findings with one more section."""
        return Findings(self.provenance, self.data, self.results, self.strongest, self.warnings,
                        {**_thaw(self.sections), name: content})  # fmt: skip

    def with_provenance(self, **more: Any) -> Findings:
        """Findings with more said of where they come from."""
        return Findings({**_thaw(self.provenance), **more}, self.data, self.results, self.strongest, self.warnings,
                        self.sections)  # fmt: skip

    def to_frame(self) -> Any:
        """One row per adversary and attack, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame([_row(r) for r in self.results])

    def _repr_html_(self) -> str:
        """For notebooks: the answer and the risk, as the report says them."""
        # by name: the report lies above this layer
        return str(import_module("standout.report.notebook").html(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<Findings: {len(self.results)} results on {self.data['n_records']:,} records>"


def _row(result: Mapping[str, Any]) -> dict[str, Any]:
    who = dict(result["adversary"])
    words = who.pop("words")
    row: dict[str, Any] = {"adversary": words, **who, "attack": result["attack"]["label"], "n": result["n_targets"]}
    row |= {"hit": result["hit"]["rate"], "hit_low": result["hit"]["low"], "hit_high": result["hit"]["high"]}
    for name in ("matched_right", "matched_wrong", "false_match"):
        row[name] = result[name]["rate"]
    row |= {f"k{r['k']}": r["rate"] for r in result["k_identified"]}
    row["bits"] = result["bits"]["mean"] if result["bits"] else None
    row |= {"random": result["baselines"]["random"], "popularity": result["baselines"]["popularity"]["rate"]}
    tuned = result["calibrated"]
    for name in ("matched_right", "matched_wrong", "false_match"):
        row[f"calibrated_{name}"] = tuned[name]["rate"] if tuned else None
    row["calibrated_threshold"] = tuned["threshold"] if tuned else None
    return row


def write_whole(path: str | Path, text: str) -> Path:
    """Write a text file under a temporary name, then rename it: a reader sees all of it or nothing."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # mkstemp makes private files; findings are to be read like any other file
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target


def _freeze(x: Any) -> Any:
    if isinstance(x, Mapping):
        return MappingProxyType({k: _freeze(v) for k, v in x.items()})
    if isinstance(x, list | tuple):
        return tuple(_freeze(v) for v in x)
    return x


def _thaw(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {k: _thaw(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [_thaw(v) for v in x]
    return x
