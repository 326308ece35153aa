"""The public names: all are there, all are typed for users, and authors' names have one module."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import standout as so
from standout import errors, extend

ROOT = Path(__file__).resolve().parent.parent

NONSENSE = """\
import standout as so
so.Audit(1, nonsense=2)
so.Audit(so.Dataset.from_arrays([1], [1])).foo()
so.nonsense
so.link("a path", None)
so.Findings.load(None)
"""


@pytest.fixture(scope="module")
def checked(tmp_path_factory) -> dict[str, list[str]]:
    """What mypy --strict says about a script that uses every public name, and about one of wrong uses, by file."""
    folder = tmp_path_factory.mktemp("scripts")
    names = [f"so.{name}" for name in so.__all__] + [f"extend.{name}" for name in extend.__all__]
    uses = "import standout as so\nfrom standout import extend\n"
    (folder / "uses.py").write_text(uses + "".join(f"reveal_type({name})\n" for name in names))
    (folder / "nonsense.py").write_text(NONSENSE)
    options = ["--strict", "--config-file", str(ROOT / "pyproject.toml"), "--no-error-summary"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *map(str, sorted(folder.iterdir()))],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    # names without folders: what mypy kept of an earlier run says where the script lay then
    lines = done.stdout.splitlines()
    said = {
        name: [line for line in lines if Path(line.split(":")[0]).name == name]
        for name in ("uses.py", "nonsense.py")
    }
    assert all(said.values()), done.stdout + done.stderr
    return said


def test_every_public_name_can_be_imported():
    assert len(so.__all__) == len(set(so.__all__)) > 60
    assert [name for name in so.__all__ if getattr(so, name, None) is None] == []


def test_every_exported_name_is_typed(checked):
    said = checked["uses.py"]
    assert [line for line in said if ": error:" in line] == []
    assert len(said) == len(so.__all__) + len(extend.__all__)
    assert [
        line for line in said if re.search(r'Revealed type is "(Any|builtins\.object)"', line)
    ] == []


def test_a_wrong_use_is_an_error_for_a_type_checker(checked):
    said = checked["nonsense.py"]
    wrong = {int(line.split(":")[1]) for line in said if ": error:" in line}
    assert wrong == set(range(2, NONSENSE.count("\n") + 1)), said


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        so.nonsense  # noqa: B018


def test_all_errors_are_public():
    kinds = {
        name
        for name, x in vars(errors).items()
        if isinstance(x, type) and issubclass(x, so.StandoutError)
    }
    assert kinds <= set(so.__all__)


def test_earlier_names_are_the_new_ones():
    assert so.register is extend.register_attack and so.Verdict is so.GateVerdict
    assert so.Attack is extend.Attack and so.register_defense is extend.register_defense
