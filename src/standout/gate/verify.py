"""`verify`: derive the verdict of evidence again, from the policy, the data and counts that are measured again.

It is `so.verify` in Python and `standout verify` on the command line; `check` in `verdict.py` makes
what it verifies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.audit.canonical import canonical
from standout.data.catalog import Catalog
from standout.engines.engine import Engine
from standout.errors import StandoutError
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import Data, source_of
from standout.gate.columns import ROW as COLUMNS
from standout.gate.columns import verify_rows
from standout.gate.evidence import (
    age_in_days,
    alike,
    check_signature,
    contradictions,
    load_evidence,
)
from standout.gate.measure import Measurement, attack_batch
from standout.gate.policy import Policy
from standout.gate.rows import cell_head
from standout.gate.run import Batch, GateRun
from standout.gate.scopes import known_channels
from standout.gate.verdict import EXIT, overall
from standout.results import to_plain
from standout.versions import version_of

Row = dict[str, str]
Cell = Mapping[str, Any]
"""Counts of one adversary and attack."""

HEAD = ("adversary", "attack", "group", "source")
"""Parts of a cell that say what it is about; a check has each combination once."""

DESCRIBES = ("data", "columns", "not_measured")
"""Parts of the provenance that describe the data and that the data gives again."""

VERDICT = "verdict"
"""Name of the row that repeats the verdict of the evidence."""

OWN = (VERDICT, COLUMNS)
"""Rows whose fail is a verdict on the release, as genuine evidence states it too. A second run compares both."""

CONTRADICTED = 4
"""Exit code for evidence that does not hold, whatever its verdict."""


@dataclass(frozen=True)
class Verification:
    """Whether evidence holds. `rows` has one entry per check: name, verdict, why.

    The verdict of a row is "pass", "fail", "unclear", or "note" for something that was not checked
    and does not decide.
    """

    verdict: str
    rows: tuple[Mapping[str, str], ...]

    @property
    def contradicted(self) -> bool:
        """Whether a check contradicts the evidence: it was changed, or it is about other data or another policy."""
        return bool(self._others("fail"))

    @property
    def conclusion(self) -> str:
        """What follows, in one sentence: genuine evidence of a release that fails differs from forged evidence."""
        if wrong := self._others("fail"):
            return f"the evidence is contradicted ({', '.join(wrong)}): do not rely on its verdict"
        said = next(r["verdict"] for r in self.rows if r["check"] == VERDICT)
        if left := self._others("unclear"):
            return f"nothing contradicts the evidence, whose verdict is {said}, but it cannot be accepted ({', '.join(left)})"
        kept = {
            "pass": "the release keeps the policy",
            "fail": "the release does not keep the policy",
            "unclear": "the check could not tell whether the release keeps the policy",
        }
        return f"the evidence is genuine, and its verdict is {said}: {kept[said]}"

    def _others(self, verdict: str) -> list[str]:
        """Checks with this verdict, other than those that repeat what the evidence itself concludes."""
        return [r["check"] for r in self.rows if r["verdict"] == verdict and r["check"] not in OWN]

    @property
    def exit_code(self) -> int:
        """0: the evidence is genuine and its verdict is pass. 1: its verdict is fail. 3: cannot tell. 4: it is contradicted."""
        return CONTRADICTED if self.contradicted else EXIT[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "verdict": self.verdict,
            "contradicted": self.contradicted,
            "conclusion": self.conclusion,
            "rows": [dict(row) for row in self.rows],
        }

    def __str__(self) -> str:
        rows = (f"{r['verdict']:8} {r['check']}: {r['why']}" for r in self.rows)
        return "\n".join([f"{self.verdict}: {self.conclusion}", *rows])


def verify(
    evidence: str | Path,
    source: Data,
    *,
    release: Data | None = None,
    policy: Policy | Mapping[str, Any] | str | Path | None = None,
    key: str | Path | None = None,
    cells: int | None = None,
    seed: int | None = None,
    engine: str | Engine = "memory",
    progress: Progress | bool | None = None,
) -> Verification:
    """Check evidence against the data: measure its counts again, and derive its tests, table and verdict from them.

    Parameters
    ----------
    evidence
        File that `standout check --evidence` wrote.
    source, release
        The data, as they were given to `check`.
    policy
        The policy that the evidence must be about: path, dict or `Policy`. None = the policy in the
        evidence is taken.
    key
        File with the public key of the signer. None = the signature is not checked.
    cells
        Number of (adversary, attack) pairs to run again, chosen at random; their counts must be the
        same. None = all. With fewer than all, the result is "unclear" unless a key shows who made
        the other counts.
    seed
        Seed of the choice of the pairs. None = a choice that nobody can predict.
    engine
        Name of an engine, or an engine.
    progress
        As in `check`.
    """
    content = load_evidence(evidence)
    data = source_of(source)
    if release is None and data.source is not None:
        data, release = data.source, data
    published = data if release is None else source_of(release, "release")
    asked = Policy.from_dict(content["policy"])
    rows = [
        *_own_rows(content, key, asked, policy),
        *_data_rows(content, data, published, release is not None),
        *verify_rows(content, published, asked, known_channels(asked, data)),
    ]
    if all(one["verdict"] != "fail" or one["check"] in OWN for one in rows):
        signed = any(one["check"] == "signature" and one["verdict"] == "pass" for one in rows)
        random = SystemRandom() if seed is None else Random(seed)
        chosen = _cells_to_repeat(content["cells"], cells, random)
        again = partial(GateRun.of, data, release=release, engine=engine)
        with reporting(progress) as report:
            rows += _second_run(content, asked, again, chosen, signed, report)
            if not signed and _overall(rows) == "pass" and _seed_was_chosen(content, asked):
                rules = replace(asked, self_test=False, near_duplicates=None)
                rows.append(_other_seed(again(rules, seed=random.getrandbits(32)), report))
    return Verification(_overall(rows), tuple(rows))


def _overall(rows: list[Row]) -> str:
    return overall([one["verdict"] for one in rows if one["verdict"] != "note"])


def _row(check: str, why: str, wrong: str = "", verdict: str = "fail") -> Row:
    """One check: a pass, or another verdict if something is wrong."""
    return {"check": check, "verdict": verdict if wrong else "pass", "why": wrong or why}


def _own_rows(
    content: Mapping[str, Any], key: str | Path | None, asked: Policy, policy: Any
) -> Iterator[Row]:
    """Checks that need no data."""
    wrong = contradictions(content)
    yield _row("hashes", "counts and policy are as they were written", *wrong[:1])
    if key is not None:
        good = check_signature(content, key)
        wrong_key = "" if good else "missing, of another key, or of other content"
        yield _row("signature", "made by the owner of the key", wrong_key)
    elif "signature" in content:
        note = "there is one, and it was not checked; give the public key of the signer"
        yield _row("signature", "", note, "note")
    if policy is None:
        note = "taken from the evidence; give the policy to compare it with yours"
        yield _row("policy", "", note, "note")
    else:
        same = Policy.of(policy).sha256 == content["provenance"]["policy_sha256"]
        yield _row("policy", "the same", "" if same else "the evidence is about another policy")
    yield _age(age_in_days(content), asked.max_age_days, key is not None)
    said = content["verdict"]
    yield _row(VERDICT, "", f"the evidence says {said}", said)


def _age(days: float, most: int | None, signed: bool) -> Row:
    if days < -1:
        return _row("age", "", "the evidence claims to be made in the future")
    if most is not None and days > most:
        old = f"{days:.0f} days old; the policy accepts {most}: check again"
        return _row("age", "", old, "unclear")
    own = "" if signed else " by its own date, which no signature that was checked protects"
    return _row("age", f"{max(days, 0):.0f} days old{own}")


def _data_rows(
    content: Mapping[str, Any], data: Catalog, published: Catalog, separate: bool
) -> Iterator[Row]:
    """Whether the data is the data of the evidence."""
    made, wrong = content["provenance"], "not the data that was checked"
    shape = {key: int(getattr(published, key)) for key in ("n_records", "n_items", "n_entries")}
    same = made.get("data_sha256") == published.fingerprint and alike(
        made.get("data", shape), shape
    )
    yield _row("release", "the same data", "" if same else wrong)
    if separate or "source_sha256" in made:
        same = made.get("source_sha256") == data.fingerprint
        yield _row("source", "the same data", "" if same else wrong)


def _seed_was_chosen(content: Mapping[str, Any], asked: Policy) -> bool:
    """Whether the random seed or the number of targets is not the usual one: perhaps many were tried until one passed."""
    made, targets = content["provenance"], "all" if asked.targets is None else asked.targets
    return bool(made["seed"] != 0 or made["targets"] != targets)


def _other_seed(run: GateRun, report: Progress) -> Row:
    """The verdict with a seed that the maker of the evidence could not choose."""
    run.measure(report)
    again = overall([one["verdict"] for one in run.decide()[0]])
    why = f"the evidence has a seed or a number of targets of its own choice; another seed: {again}"
    return _row("another seed", "", why, again)


def _cells_to_repeat(cells: Sequence[Cell], n: int | None, random: Random) -> set[int]:
    """Indices of the cells to run again; those that do not hold all their counts are always among them."""
    every = range(len(cells))
    if n is None:
        return set(every)
    incomplete = {k for k in every if any(look["found"] is None for look in cells[k]["looks"])}
    return incomplete | set(random.sample(every, min(max(n, 0), len(every))))


def replay(cells: Sequence[Cell], chosen: set[int], lacking: list[str]) -> Batch:
    """A batch that measures the chosen cells, and takes the counts of the others from the evidence.

    Parameters
    ----------
    cells
        Cells of the evidence.
    chosen
        Indices of the cells to measure.
    lacking
        Gets what the policy asks for and the evidence does not state, before a `LookupError`.
    """
    index = _by_head(cells)

    def batch(
        job: Audit,
        measured: Measurement,
        attacks: Mapping[str, Attack],
        stop: int,
        absent: bool,
        advance: Callable[[str, int], None],
    ) -> None:
        again = {}
        for label, one in attacks.items():
            k = index.get(_head(cell_head(measured, label, one)))
            looks = [] if k is None else cells[k]["looks"]
            at = len(measured.sizes.get(label, []))
            if at >= len(looks) or looks[at]["n_targets"] != stop:
                lacking.append(f"{label} on {stop:,} targets: {measured.words}")
                raise LookupError(label)
            if k in chosen:
                again[label] = one
            else:
                measured.recorded[label] = looks
                measured.sizes.setdefault(label, []).append(stop)
        attack_batch(job, measured, again, stop, absent, advance)

    return batch


def _second_run(
    content: Mapping[str, Any],
    asked: Policy,
    make: Callable[..., GateRun],
    chosen: set[int],
    signed: bool,
    report: Progress,
) -> Iterator[Row]:
    """Do what the policy asks for once more, and compare everything with what the evidence says."""
    made, cells = content["provenance"], content["cells"]
    planted = any(one["limit"] == "self-test" for one in content["table"])
    theirs, ours = made["versions"]["standout"], version_of("standout")
    other = "" if theirs == ours else f", but made by version {theirs}, and this is {ours}"
    differs = "unclear" if other else "fail"
    asked_for = "adversaries and attacks"
    lacking: list[str] = []

    def compared(check: str, why: str, wrong: str) -> Row:
        return _row(check, why, wrong and wrong + other, differs)

    try:
        rules = replace(asked, self_test=planted)
        run = make(rules, targets=made["targets"], seed=made["seed"])
        run.measure(report, replay(cells, chosen, lacking))
        table, tests = run.decide()
        again = to_plain(run.cells())
    except (StandoutError, TypeError, ValueError, LookupError):
        if lacking:
            yield _row(asked_for, "", f"the evidence lacks {lacking[0]}{other}"[:300], differs)
        else:
            why = "cannot be run again from what the evidence says"
            yield _row("second run", "", why, "unclear")
        return
    yield from _left_out(made["targets"], asked, planted)
    extra = len(cells) - len(again)
    more = f"{extra} more than a check of this data measures" if extra else ""
    yield compared(asked_for, f"all {len(again)} that the policy asks for", more)
    verdict = overall([one["verdict"] for one in table])
    given = run.provenance()
    for name, said, derived in (
        ("tests", content["tests"], tests),
        ("table", content["table"], table),
        ("verdict", content["verdict"], verdict),
        (
            "description of the data",
            *([{key: x.get(key)} for key in DESCRIBES] for x in (made, given)),
        ),
    ):
        why = "follows from the policy, the data and the counts"
        yield compared(f"derived {name}", why, _difference(said, to_plain(derived)))
    if len(chosen) < len(cells):
        yield _sampled(len(chosen), len(cells), signed)
    index = _by_head(cells)
    for cell in again:
        k = index.get(_head(cell))
        said = {} if k is None else cells[k]
        wrong = ""
        if not alike(said, cell):
            names = [name for name, x in cell.items() if not alike(said.get(name), x)]
            wrong = f"other counts: {', '.join(names[:1])}"
        if wrong or k in chosen:
            name = f"{cell['attack']['label']}: {cell['adversary']['words']}"[:200]
            yield compared(name, f"the same counts on {cell['n_targets']:,} targets", wrong)


def _left_out(n: Any, policy: Policy, planted: bool) -> Iterator[Row]:
    """What the policy asks for and the check was told to leave out."""
    wanted = policy.targets
    if n != "all" and (wanted is None or n < wanted):
        asked = "all" if wanted is None else f"{wanted:,}"
        few = f"the policy asks for {asked} per adversary, and the check had {n:,}"
        yield _row("targets", "", few, "unclear")
    if policy.self_test and not planted:
        yield _row("self-test", "", "it was switched off", "unclear")


def _sampled(n: int, every: int, signed: bool) -> Row:
    """The row of counts that were not all measured again."""
    noticed = f"one forged pair would be noticed with a probability of {100 * n / every:.0f}%"
    share = f"{n} of {every} pairs of adversary and attack were run again; {noticed}"
    wrong = "" if signed else f"{share}. Run all again, or give the key of a signer"
    return _row("counts", f"{share}. The signer answers for the others", wrong, "unclear")


def _difference(said: Any, derived: Any) -> str:
    """How a part of the evidence differs from what follows from the policy, the data and the counts; "" if it does not."""
    if alike(said, derived):
        return ""
    if isinstance(derived, str):
        return f"the counts give {derived!r}, and the evidence says {said!r}"
    given = "what the policy, the data and the counts give"
    for k, (first, second) in enumerate(zip(said, derived, strict=False)):
        if not alike(first, second):
            return f"row {k + 1} is not {given}"
    return f"{len(said)} rows; {len(derived)} are {given}"


def _by_head(cells: Sequence[Cell]) -> dict[bytes, int]:
    """Index of each cell, by what it is about."""
    return {_head(cell): k for k, cell in enumerate(cells)}


def _head(cell: Cell) -> bytes:
    return canonical(to_plain({name: cell[name] for name in HEAD if name in cell}))
