"""`verify`: derive the verdict of evidence again, from the policy, the data and counts that are measured again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.engines.engine import Engine
from standout.errors import StandoutError
from standout.experiment.progress import Progress as Reporter
from standout.experiment.progress import reporting
from standout.experiment.subject import Data, source_of
from standout.gate.columns import ROW as COLUMNS
from standout.gate.columns import verify_rows
from standout.gate.compare import EvidenceCells, Row, alike, asked_rows, cell_rows, derived_row, row
from standout.gate.evidence import age_in_days, check_signature, intact, load_evidence
from standout.gate.measure import Measurement, attack_batch
from standout.gate.policy import Policy
from standout.gate.rows import cell_head
from standout.gate.run import GateRun
from standout.gate.verdict import EXIT, overall
from standout.versions import version_of

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
    progress: Reporter | bool | None = None,
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
    asked = Policy.from_dict(content["policy"])
    published = data if release is None else source_of(release, "release")
    rows = [
        *_own_rows(content, key, asked, policy),
        *_data_rows(content, data, release),
        *verify_rows(content, published, asked),
    ]
    if all(row["verdict"] != "fail" or row["check"] in OWN for row in rows):
        signed = any(row["check"] == "signature" and row["verdict"] == "pass" for row in rows)
        pick = SystemRandom() if seed is None else Random(seed)
        with reporting(progress) as report:
            rows += _second_run(
                content, asked, data, release, engine, _chosen(content, cells, pick), signed, report
            )
            if not signed and overall(_decisive(rows)) == "pass" and _is_chosen(content, asked):
                rows.append(_other_seed(asked, data, release, engine, pick.getrandbits(32), report))
    return Verification(overall(_decisive(rows)), tuple(rows))


def _decisive(rows: list[Row]) -> list[str]:
    return [one["verdict"] for one in rows if one["verdict"] != "note"]


def _is_chosen(content: Mapping[str, Any], asked: Policy) -> bool:
    """Whether the random seed or the number of targets was chosen, perhaps among many until one passed."""
    made = content["provenance"]
    return bool(
        made["seed"] != 0 or made["targets"] != ("all" if asked.targets is None else asked.targets)
    )


def _other_seed(
    asked: Policy, data: Any, release: Any, engine: Any, seed: int, report: Reporter
) -> Row:
    """The verdict with a seed that the maker of the evidence could not choose."""
    run = GateRun.of(
        data,
        replace(asked, self_test=False, near_duplicates=None),
        release=release,
        seed=seed,
        engine=engine,
    )
    run.measure(report)
    again = overall([one["verdict"] for one in run.decide()[0]])
    return row(
        "another seed",
        again,
        f"the evidence has a seed or a number of targets of its own choice; another seed: {again}",
    )


def _chosen(content: Mapping[str, Any], cells: int | None, pick: Random) -> set[int]:
    """Indices of the cells to run again; those that do not hold all their counts are always among them."""
    every = range(len(content["cells"]))
    if cells is None:
        return set(every)
    partial = {
        k for k in every if any(look["found"] is None for look in content["cells"][k]["looks"])
    }
    return partial | set(pick.sample(every, min(max(cells, 0), len(every))))


@dataclass(eq=False)
class _Replay:
    """Measures the chosen cells, and takes the counts of the others from the evidence."""

    cells: EvidenceCells
    chosen: set[int]
    missing: str = ""
    """Adversary, attack and number of targets that the policy asks for and the evidence does not state."""

    def batch(
        self,
        job: Audit,
        sofar: Measurement,
        attacks: Mapping[str, Attack],
        stop: int,
        absent: bool,
        advance: Callable[[str, int], None],
    ) -> None:
        """Add one batch, as `attack_batch` does."""
        own = {}
        for label, one in attacks.items():
            k = self.cells.find(cell_head(sofar, label, one))
            looks = [] if k is None else self.cells.all[k]["looks"]
            at = len(sofar.sizes.get(label, []))
            if at >= len(looks) or looks[at]["n_targets"] != stop:
                self.missing = f"{label} on {stop:,} targets: {sofar.words}"
                raise LookupError(label)
            if k in self.chosen:
                own[label] = one
            else:
                sofar.recorded[label] = looks
                sofar.sizes.setdefault(label, []).append(stop)
        attack_batch(job, sofar, own, stop, absent, advance)


def _second_run(
    content: Mapping[str, Any],
    asked: Policy,
    data: Any,
    release: Any,
    engine: Any,
    chosen: set[int],
    signed: bool,
    report: Reporter,
) -> list[Row]:
    """Do what the policy asks for once more, and compare everything with what the evidence says."""
    made = content["provenance"]
    planted = any(one["limit"] == "self-test" for one in content["table"])
    rules = replace(asked, self_test=planted)
    replay = _Replay(EvidenceCells(content["cells"]), chosen)
    theirs = made["versions"]["standout"]
    other = (
        ""
        if theirs == (ours := version_of("standout"))
        else f", but made by version {theirs}, and this is {ours}"
    )
    differs = "unclear" if other else "fail"
    try:
        run = GateRun.of(
            data, rules, release=release, targets=made["targets"], seed=made["seed"], engine=engine
        )
        run.measure(report, replay.batch)
        table, tests = run.decide()
        again = run.cells()
    except (StandoutError, TypeError, ValueError, LookupError):
        if replay.missing:
            return [
                row(
                    "adversaries and attacks",
                    differs,
                    f"the evidence lacks {replay.missing}{other}"[:300],
                )
            ]
        return [row("second run", "unclear", "cannot be run again from what the evidence says")]
    out = asked_rows(content, asked, planted)
    extra = len(content["cells"]) - len(again)
    why = (
        f"all {len(again)} that the policy asks for"
        if not extra
        else f"{extra} more than a check of this data measures"
    )
    out.append(
        row("adversaries and attacks", differs if extra else "pass", why + other * bool(extra))
    )
    derived = {
        "tests": tests,
        "table": table,
        "verdict": overall([one["verdict"] for one in table]),
    }
    out += [derived_row(name, content[name], derived[name], differs, other) for name in derived]
    again_made = run.provenance()
    said, found = ([{name: x.get(name)} for name in DESCRIBES] for x in (made, again_made))
    out.append(derived_row("description of the data", said, found, differs, other))
    return [*out, *cell_rows(replay.cells, again, chosen, differs, other, signed)]


def _own_rows(
    content: Mapping[str, Any], key: str | Path | None, asked: Policy, policy: Any
) -> list[Row]:
    """Checks that need no data."""
    wrong = intact(content)
    rows = [
        row(
            "hashes",
            "fail" if wrong else "pass",
            wrong[0] if wrong else "counts and policy are as they were written",
        )
    ]
    if key is not None:
        good = check_signature(content, key)
        why = (
            "made by the owner of the key"
            if good
            else "missing, of another key, or of other content"
        )
        rows.append(row("signature", "pass" if good else "fail", why))
    elif "signature" in content:
        rows.append(
            row(
                "signature",
                "note",
                "there is one, and it was not checked; give the public key of the signer",
            )
        )
    if policy is not None:
        same = Policy.of(policy).sha256 == content["provenance"]["policy_sha256"]
        rows.append(
            row(
                "policy",
                "pass" if same else "fail",
                "the same" if same else "the evidence is about another policy",
            )
        )
    else:
        rows.append(
            row(
                "policy",
                "note",
                "taken from the evidence; give the policy to compare it with yours",
            )
        )
    rows.append(_age(content, asked, key is not None))
    said = content["verdict"]
    rows.append(row(VERDICT, said, f"the evidence says {said}"))
    return rows


def _age(content: Mapping[str, Any], policy: Policy, signed: bool) -> Row:
    days = age_in_days(content)
    if days < -1:
        return row("age", "fail", "the evidence claims to be made in the future")
    if policy.max_age_days is not None and days > policy.max_age_days:
        return row(
            "age",
            "unclear",
            f"{days:.0f} days old; the policy accepts {policy.max_age_days}: check again",
        )
    own = "" if signed else " by its own date, which no signature that was checked protects"
    return row("age", "pass", f"{max(days, 0):.0f} days old{own}")


def _data_rows(content: Mapping[str, Any], data: Any, release: Any) -> list[Row]:
    """Whether the data is the data of the evidence."""
    made = content["provenance"]
    published = data if release is None else source_of(release, "release")
    rows = []
    for name, hashed, it in (
        ("release", "data_sha256", published),
        ("source", "source_sha256", data),
    ):
        if name == "source" and release is None and hashed not in made:
            continue
        same = made.get(hashed) == it.fingerprint
        if name == "release" and "data" in made:
            same = same and alike(
                made["data"],
                {key: int(getattr(it, key)) for key in ("n_records", "n_items", "n_entries")},
            )
        rows.append(
            row(
                name,
                "pass" if same else "fail",
                "the same data" if same else "not the data that was checked",
            )
        )
    return rows
