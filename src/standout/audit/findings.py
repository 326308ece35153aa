"""`Findings`: the numbers of an audit, frozen, as JSON with a published schema. No labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from datetime import date, datetime
from hashlib import sha256
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, TypedDict

import msgspec

from standout.audit.canonical import canonical
from standout.audit.judge import AttackResult, Bits
from standout.audit.related import RelatedItems
from standout.audit.strongest import Strongest
from standout.data.whole_file import check_regular, whole_file
from standout.errors import InputError
from standout.experiment.attackers import Awareness
from standout.experiment.subject import DataShape
from standout.formulas.rates import Rate
from standout.results import (
    Amount,
    Count,
    Digest,
    Part,
    Positive,
    Share,
    from_plain,
    json_schema,
    optional,
    to_plain,
)

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 3

PARTS = ("provenance", "data", "results", "warnings", "sections", "source")

FILE, COMMAND = "the findings file", "standout audit"


@dataclass(frozen=True, kw_only=True)
class AdversaryEntry(Part):
    """What an adversary knows; the parameters of `Adversary`."""

    knows: Count
    wrong: Amount
    """Number of wrong facts; a fraction is the probability that a fact is wrong."""
    wrong_kind: Literal["value", "item"]
    value_within: int | float | str | None
    time_within: int | float | str | None
    """Days, or a text such as 30min or 2h."""
    choose: str
    gamma: int | float | None
    length_within: int | float | None
    within: Mapping[str, int | float | str] | None = optional()
    """Tolerance of each further channel or attribute that is known."""
    view: str | None = optional()
    """What is known in place of the entries as they are, such as groups:categories.csv."""
    view_words: str | None = optional()
    """The view in words, such as "items known as categories"."""
    attributes: tuple[str, ...] | None = optional()
    """Those of `within` that are attributes of the person, not of an entry."""
    words: str


@dataclass(frozen=True)
class Uncertainty(Bits):
    """Remaining uncertainty: of the likelihood's posterior if it ran, else of the strongest attack's lineup."""

    attack: str
    calibrated: bool


@dataclass(frozen=True, kw_only=True)
class AdversaryResult(Part):
    """One adversary: the knowledge, the records attacked, the three risks, and the numbers of every attack."""

    adversary: AdversaryEntry
    n_targets: Positive
    """Records that were attacked."""
    n_eligible: Positive
    """Records that hold enough items to be targets."""
    n_records: Positive
    """All records of the source."""
    n_not_released: Count
    """Targets without a record in the release: never found."""
    eligible_share: Share
    more_items: float | None
    """Items of a target's record beyond the known ones, on average over the targets; all items where a view is known in place
    of them."""
    unique: Rate | None
    """The target's record is the only one that could have produced what is known, within the stated errors."""
    unique_all: Rate | None
    """As a share of all records; those that hold too few items count as not found."""
    found: Rate
    """The best guess of the strongest attack is right. Depends on how the known items were chosen."""
    found_all: Rate
    sure: Rate | None
    """The best guess is right, and the attacker's calibrated posterior is at least 95 %."""
    sure_all: Rate | None
    sure_attack: str | None
    """The attack whose posterior `sure` is about."""
    not_measured: Mapping[Literal["unique", "sure"], str]
    """Why `unique` or `sure` is None."""
    strongest: Strongest | None
    """None if there are too few targets."""
    uncertainty: Uncertainty | None
    attacks: Annotated[tuple[AttackResult, ...], msgspec.Meta(min_length=1)]
    relation: RelatedItems | None = optional()
    awareness: Awareness | None = optional()


class Provenance(TypedDict, total=False):
    """Where the numbers come from; commands add further parts."""

    created: str
    data_sha256: Digest
    seed: int
    targets: Positive | Literal["all"]
    engine: str
    n_attacks: Positive
    n_adversaries: Positive
    wall_seconds: Amount
    versions: Required[dict[str, str]]
    platform: str
    sweep: Literal["default", "full"] | None
    domain: dict[str, str | list[str] | None]
    source_sha256: Digest
    defense: str
    command: list[str]


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What an audit found: one result per adversary, which contains the numbers of all attacks.

    `to_frame` gives one row per adversary and attack; `save` and `load` write and read JSON;
    `print` gives three sentences.
    """

    provenance: Mapping[str, Any]
    data: Mapping[str, Any]
    """The data that was attacked: counts only."""
    results: tuple[AdversaryResult, ...]
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
            **{name: to_plain(getattr(self, name)) for name in PARTS},
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
        content = read_json(path, "a findings file")
        with naming(path):
            found = cls.from_dict(content)
        stated = content.get("sha256")
        if stated != checksum(content):
            wrong = "it has no checksum" if stated is None else "its checksum does not fit"
            raise InputError(f"{str(path)!r} is damaged: {wrong}; make it again with `{COMMAND}`")
        return found

    @classmethod
    def from_dict(cls, data: Any) -> Findings:
        """Findings from plain data of this schema version."""
        version = data.get("schema_version") if isinstance(data, dict) else None
        if version != SCHEMA_VERSION:
            raise InputError(
                f"not findings of schema version {SCHEMA_VERSION}; make them with `standout audit`"
            )
        given = data.get("provenance")
        if isinstance(given, dict):
            known = {key: x for key, x in given.items() if key in Provenance.__annotations__}
            data = {**data, "provenance": known}
        made = from_plain(FindingsFile, data, FILE, COMMAND)
        if wrong := _inconsistent(made):
            raise InputError(f"{FILE} is damaged at {wrong}; make it again with `{COMMAND}`")
        parts = {name: getattr(made, name) for name in PARTS}
        return cls(**{**parts, "provenance": given})

    @staticmethod
    def schema() -> dict[str, Any]:
        """JSON Schema of the file, derived from the types of its parts."""
        made = json_schema(FindingsFile)
        del made["$defs"]["Provenance"]["additionalProperties"]
        return made

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
            [_row(result, one) for result in self.results for one in result.attacks]
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
        attacks = len(self.results[0].attacks) if self.results else 0
        return f"<Findings: {len(self.results)} kinds of knowledge × {attacks} attacks on {self.data['n_records']:,} records>"


@dataclass(frozen=True)
class FindingsFile:
    """The file: `Findings`, and the checksum of all other parts."""

    schema_version: Literal[3]
    provenance: Provenance
    data: DataShape
    results: tuple[AdversaryResult, ...]
    warnings: tuple[str, ...]
    sections: Mapping[str, Any]
    source: DataShape | None
    sha256: str = optional("")
    """SHA-256 of the rest as JSON with sorted keys and no spaces."""


def _inconsistent(file: FindingsFile) -> str | None:
    """First part that refers to something the findings do not hold, or a date that is none."""
    for k, result in enumerate(file.results):
        labels = {one.attack.label for one in result.attacks}
        for name in ("strongest", "uncertainty"):
            if result[name] is not None and result[name].attack not in labels:
                return f"results[{k}].{name}.attack"
    for name, shape in (("data", file.data), ("source", file.source)):
        if shape and (days := shape["days"]):
            kind = date if days.get("resolution", "day") == "day" else datetime
            if not (_is_date(days["first"], kind) and _is_date(days["last"], kind)):
                return f"{name}.days"
    is_dated = _is_date(file.provenance.get("created", "2000-01-01"), datetime)
    return None if is_dated else "provenance.created"


def _is_date(text: str, kind: type[date]) -> bool:
    try:
        kind.fromisoformat(text)
    except ValueError:
        return False
    return True


def checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of the content of a findings file, without the checksum itself."""
    return sha256(
        canonical({name: x for name, x in content.items() if name != "sha256"})
    ).hexdigest()


def _row(result: AdversaryResult, one: AttackResult) -> dict[str, Any]:
    who = to_plain(result.adversary)
    row = {"adversary": who.pop("words"), **who, "attack": one.attack.label, "n": result.n_targets}
    row |= {name: result[name] for name in ("n_eligible", "n_records", "eligible_share")}
    for name in ("unique", "found", "sure"):
        row |= named_rate(name, result[name])
    for name in ("unique_all", "found_all", "sure_all"):
        row[name] = None if result[name] is None else result[name].rate
    row |= {**named_rate("hit", one.hit), **named_rate("hit_all", one.hit_all)}
    rates = ("matched_right", "matched_wrong", "false_match")
    row |= {name: one[name].rate for name in rates}
    row |= {f"k{at.k}": at.rate for at in one.k_identified}
    row["bits"] = one.lineup_bits and one.lineup_bits.mean
    row["rank_bits"] = one.rank_bits and one.rank_bits.mean
    row |= {"random": one.baselines.random, "popularity": one.baselines.popularity.rate}
    tuned = one.calibrated
    row |= {f"calibrated_{name}": tuned and tuned[name].rate for name in rates}
    row["calibrated_threshold"] = tuned and tuned.threshold
    return row


def named_rate(name: str, rate: Rate | None) -> dict[str, float | None]:
    """One of several rates of a row, and its interval; None if it was not measured."""
    numbers = (None,) * 3 if rate is None else (rate.rate, rate.low, rate.high)
    return dict(zip((name, f"{name}_low", f"{name}_high"), numbers, strict=True))


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


def read_json(path: str | Path, what: str) -> Any:
    """Plain data of a JSON file; `what` the file is, for the error messages."""
    name = repr(str(path))
    try:
        return strict_json(check_regular(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {name}, {what}: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name} is not {what}: not JSON") from None


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Put the name of the file before an error about its content."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{str(path)!r}: {error}") from None


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
    """Return a copy of plain data that cannot be changed; parts of results cannot be changed anyway."""
    if isinstance(x, Mapping) and not is_dataclass(x):
        return MappingProxyType({k: freeze(v) for k, v in x.items()})
    if isinstance(x, list | tuple):
        return tuple(freeze(v) for v in x)
    return x
