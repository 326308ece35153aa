"""The mutants that `make mutation` makes: each is one change, and each kind of change is made."""

from __future__ import annotations

import ast

import pytest
from mutation.judge_mutants import ROOT, near, sampled, summary
from mutation.mutants import mutant, places

SOURCE = '''
"""Text with 1 + 1."""
from x import y

@jit(cache=True)
def f(a: int = 3, b=True):
    """Say 2 + 2."""
    if a < b and not b:
        raise ValueError(f"{a + 1} is 4")
    a += min(a, -b)
    return (a & ~b) * 0.5
'''


def all_of(source):
    return [mutant(source, k) for k in range(len(places(source)))]


def test_every_kind_of_change_is_made_once_and_nothing_else_is_changed():
    assert [(m.line, m.what) for m in all_of(SOURCE)] == [
        (6, "3 → 4"),
        (6, "True → False"),
        (8, "a < b and (not b) → a < b or not b"),
        (8, "a < b → a <= b"),
        (8, "a < b → a >= b"),
        (8, "not b → b"),
        (10, "a += min(a, -b) → a -= min(a, -b)"),
        (10, "min(a, -b) → max(a, -b)"),
        (10, "-b → b"),
        (11, "(a & ~b) * 0.5 → (a & ~b) + 0.5"),
        (11, "a & ~b → a | ~b"),
        (11, "~b → b"),
        (11, "0.5 → 0.75"),
    ]
    before = ast.unparse(ast.parse(SOURCE)).splitlines()
    for one in all_of(SOURCE):
        after = one.source.splitlines()
        assert (
            len(after) == len(before)
            and sum(x != y for x, y in zip(before, after, strict=True)) == 1
        )


def test_a_sample_is_a_function_of_the_seed_and_covers_the_five_folders():
    jobs = sampled(ROOT, 60, 1)
    few = sampled(ROOT, 5, 1, "audit/")
    assert few == sampled(ROOT, 5, 1, "audit/") and few != sampled(ROOT, 5, 2, "audit/")
    assert {name.split("/")[0] for name, _, _ in jobs} == {
        "formulas",
        "scoring",
        "attacks",
        "audit",
        "adversary",
    }
    for _, _, one in jobs:
        compile(one.source, "mutant", "exec")


@pytest.mark.parametrize("name", ["formulas/rates.py", "audit/judge.py"])
def test_the_nearest_tests_of_a_file_come_first_and_exist(name):
    files = near(ROOT, name)
    assert files[0] == f"src/standout/{name}" and len(files) > 1
    assert all((ROOT / file).is_file() for file in files)


def test_the_score_counts_every_mutant_and_lists_the_survivors():
    lines = [
        {"file": "audit/a.py", "line": 3, "what": "a → b", "result": result}
        for result in ("killed", "timeout", "survived", "killed")
    ]
    text = summary(lines)
    assert "| all | 4 | 2 | 1 | 1 | 75 % |" in text and text[-1] == "- `audit/a.py:3` `a → b`"
