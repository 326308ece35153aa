"""`Findings`: the numbers of an audit, frozen, as JSON with a published schema. No labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from standout.audit.canonical import canonical
from standout.audit.structure import check_structure
from standout.data.whole_file import check_regular, whole_file
from standout.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3

PARTS = ("provenance", "data", "results", "warnings", "sections", "source")


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What an audit found: one result per adversary, which contains the numbers of all attacks.

    `to_frame` gives one row per adversary and attack; `save` and `load` write and read JSON;
    `print` gives three sentences.
    """

    provenance: Mapping[str, Any]
    data: Mapping[str, Any]
    """The data that was attacked: counts only."""
    results: tuple[Mapping[str, Any], ...]
    """Per adversary: the knowledge, the records attacked, the strongest attack, and the numbers of every attack."""
    warnings: tuple[str, ...] = ()
    sections: Mapping[str, Any] = field(default_factory=dict)
    """Results of other commands (describe, bound, …), by name."""
    source: Mapping[str, Any] | None = None
    """The data that knowledge was drawn from, if it differs from the data that was attacked."""

    def __post_init__(self) -> None:
        for name in PARTS:
            object.__setattr__(self, name, freeze(getattr(self, name)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        plain = {
            "schema_version": SCHEMA_VERSION,
            **{name: thaw(getattr(self, name)) for name in PARTS},
        }
        return {**plain, "sha256": checksum(plain)}

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, completely or not at all."""
        return write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Findings:
        """Read a JSON file that `save` wrote. Its checksum must fit: a number that was changed by accident is refused."""
        try:
            content = strict_json(check_regular(path).read_text(encoding="utf-8"))
            found = cls.from_dict(content)
            stated = content.get("sha256")
            if stated != checksum(content):
                wrong = "it has no checksum" if stated is None else "its checksum does not fit"
                raise InputError(
                    f"{str(path)!r} is damaged: {wrong}; make it again with `standout audit`"
                )
            return found
        except OSError as error:
            raise InputError(f"cannot read findings {str(path)!r}: {error.strerror}") from None
        except (ValueError, RecursionError):
            raise InputError(f"{str(path)!r} is not a findings file: not JSON") from None

    @classmethod
    def from_dict(cls, data: Any) -> Findings:
        """Findings from plain data of this schema version."""
        version = data.get("schema_version") if isinstance(data, dict) else None
        if version != SCHEMA_VERSION:
            raise InputError(
                f"not findings of schema version {SCHEMA_VERSION}; make them with `standout audit`"
            )
        missing = [name for name in PARTS if name not in data]
        if missing:
            raise InputError(
                f"the findings lack {missing[0]!r}; make them again with `standout audit`"
            )
        check_structure(data, cls.schema())
        return cls(**{name: data[name] for name in PARTS})

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON Schema of the file."""
        loaded: dict[str, Any] = json.loads(
            Path(__file__).with_name("findings.schema.json").read_text(encoding="utf-8")
        )
        return loaded

    def with_section(self, name: str, content: Mapping[str, Any]) -> Findings:
        """Findings with one more section."""
        return replace(self, sections={**self.sections, name: content})

    def with_provenance(self, **more: Any) -> Findings:
        """Findings with additional provenance."""
        return replace(self, provenance={**self.provenance, **more})

    def to_frame(self) -> pd.DataFrame:
        """One row per adversary and attack, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(
            [_row(result, one) for result in self.results for one in result["attacks"]]
        )

    def _repr_html_(self) -> str:
        """For notebooks: the answer and the risk, as in the report."""
        from standout.report.page import findings_html

        return findings_html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}

    def __str__(self) -> str:
        """The answer in three sentences."""
        from standout.report.sentences import statements_of

        return "\n".join(statements_of(self))

    def __repr__(self) -> str:
        attacks = len(self.results[0]["attacks"]) if self.results else 0
        return f"<Findings: {len(self.results)} kinds of knowledge × {attacks} attacks on {self.data['n_records']:,} records>"


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content of a findings file, without the checksum itself."""
    return sha256(
        canonical({name: x for name, x in content.items() if name != "sha256"})
    ).hexdigest()


def _row(result: Mapping[str, Any], one: Mapping[str, Any]) -> dict[str, Any]:
    who = dict(result["adversary"])
    words = who.pop("words")
    row: dict[str, Any] = {
        "adversary": words,
        **who,
        "attack": one["attack"]["label"],
        "n": result["n_targets"],
    }
    row |= {name: result[name] for name in ("n_eligible", "n_records", "eligible_share")}
    row |= {
        f"{name}{part}": result[name] and result[name]["rate" if not part else part[1:]]
        for name in ("unique", "found", "sure")
        for part in ("", "_low", "_high")
    }
    row |= {
        name: result[name] and result[name]["rate"]
        for name in ("unique_all", "found_all", "sure_all")
    }
    row |= {"hit": one["hit"]["rate"], "hit_low": one["hit"]["low"], "hit_high": one["hit"]["high"]}
    row |= {
        "hit_all": one["hit_all"]["rate"],
        "hit_all_low": one["hit_all"]["low"],
        "hit_all_high": one["hit_all"]["high"],
    }
    for name in ("matched_right", "matched_wrong", "false_match"):
        row[name] = one[name]["rate"]
    row |= {f"k{r['k']}": r["rate"] for r in one["k_identified"]}
    row["bits"] = one["lineup_bits"]["mean"] if one["lineup_bits"] else None
    row["rank_bits"] = one["rank_bits"]["mean"] if one["rank_bits"] else None
    row |= {
        "random": one["baselines"]["random"],
        "popularity": one["baselines"]["popularity"]["rate"],
    }
    tuned = one["calibrated"]
    for name in ("matched_right", "matched_wrong", "false_match"):
        row[f"calibrated_{name}"] = tuned[name]["rate"] if tuned else None
    row["calibrated_threshold"] = tuned["threshold"] if tuned else None
    return row


def write_whole(path: str | Path, text: str) -> Path:
    """Write a text file under a temporary name, then rename it: a reader sees all of it or nothing."""
    target = Path(path)
    with ExitStack() as stack:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            draft = stack.enter_context(whole_file(target))
        except OSError as error:
            raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from None
        draft.write_text(text, encoding="utf-8")
    return target


def strict_json(text: str) -> Any:
    """Plain data of a JSON text; a number that is not finite, as NaN or 1e999, is a ValueError.

    >>> strict_json('{"rate": 0.5}')
    {'rate': 0.5}
    """
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(text: str) -> float:
    number = float(text)
    if not isfinite(number):
        raise ValueError(text)
    return number


def freeze(x: Any) -> Any:
    """Return a copy of plain data that cannot be changed."""
    if isinstance(x, Mapping):
        return MappingProxyType({k: freeze(v) for k, v in x.items()})
    if isinstance(x, list | tuple):
        return tuple(freeze(v) for v in x)
    return x


def thaw(x: Any) -> Any:
    """Return frozen data as dicts and lists."""
    if isinstance(x, Mapping):
        return {k: thaw(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [thaw(v) for v in x]
    return x
