"""Which records are candidates of a query, and the order of candidates with the same score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.scoring.partials import RANDOM_KEY
from standout.scoring.plan import Tables, Tie
from standout.scoring.postings import KernelVariant, Postings, jit, jit_inline

_SHORT, _HASH = int(Tie.SHORT), int(Tie.HASH)


class CandidateRule(NamedTuple):
    """Which records are candidates of one query; taken from the plan once per block."""

    exclude: int
    """Excluded record, counted from the shard's first; below 0 = none in this shard."""
    low: int
    high: int
    filtered: bool


@jit
def rule_of(q: int, first: int, plan: Tables, how: KernelVariant) -> CandidateRule:
    """Candidate rule of query `q` in a shard whose first record is `first`."""
    return CandidateRule(
        plan.query.exclude[q] - first, plan.query.low[q], plan.query.high[q], how.filtered
    )


@jit
def passes(r: int, rule: CandidateRule, lengths: Array) -> bool:
    """Whether record `r` of the shard is a candidate under `rule`."""
    if r == rule.exclude:
        return False
    return bool(not rule.filtered or rule.low <= lengths[np.uint64(r)] <= rule.high)


@jit_inline
def allowed(r: int, q: int, post: Postings, plan: Tables, how: KernelVariant) -> bool:
    """Whether record `r` of the shard is a candidate of query `q`."""
    return passes(r, rule_of(q, post.first_record, plan, how), post.lengths)


@jit
def key_of(r: int, first: int, tie: int, salt: int, lengths: Array) -> int:
    """Tie key of record `r` of a shard whose first record is `first`; smaller keys come first."""
    if tie == _SHORT:
        return np.uint64(lengths[np.uint64(r)])
    if tie == _HASH:
        x = np.uint64(first + r) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((x ^ (x >> np.uint64(31))) >> np.uint64(1)) | np.uint64(RANDOM_KEY)
    return np.uint64(0)


@jit
def keys_of(record: Array, tie: int, salt: Array, lengths: Array) -> Array:
    """Tie keys of one record per query, given with its length; 0 where the record is -1."""
    out = np.zeros(record.size, np.uint64)
    for q in range(record.size):
        if record[q] >= 0:
            out[q] = key_of(np.int64(0), record[q], tie, salt[q], lengths[q : q + 1])
    return out
