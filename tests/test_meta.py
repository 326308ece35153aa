"""The project itself: its tests are there and run, its files follow the conventions, it starts quickly."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from suite import COLLECTED, INTEGRATION

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "standout"
TESTS = ROOT / "tests"

FEWEST_TESTS = 1500
"""Raise it as the suite grows: a suite that shrinks unseen makes everything look fine."""

MOST_LINES = 400
NAMELESS = {"utils", "util", "misc", "helpers", "helper", "common"}
HEAVY = {
    "numba",
    "duckdb",
    "pandas",
    "polars",
    "pyarrow",
    "scipy",
    "pyspark",
    "cupy",
    "vl_convert",
}

# written in pieces, so that this file does not find itself
MACHINE_PATHS = ["work", "root", r"home/\w+", r"Users/\w+"]
MACHINE_PATH = re.compile(rf"(?<![\w./~-])/(?:{'|'.join(MACHINE_PATHS)})(?![\w-])")
REGISTRIES = [
    "pypi" + r"\.org",
    "python" + r"hosted\.org",
    "anaconda" + r"\.org",
    "npm" + r"js\.(?:org|com)",
]
INDEX_OPTIONS = ["index" + "-url", "find" + "-links", "file:" + "//"]
REGISTRY = re.compile("|".join([*REGISTRIES, *INDEX_OPTIONS]), re.IGNORECASE)


def modules(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*.py") if "__pycache__" not in p.parts)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def tracked_files() -> Iterator[Path]:
    """Files that git would track, without asking git: it may not be installed."""
    ignored = [".git", *(x.strip("/") for x in text(ROOT / ".gitignore").split())]

    def is_ignored(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in ignored)

    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [x for x in subfolders if not is_ignored(x)]
        yield from (Path(folder) / x for x in names if not is_ignored(x))


def found_in_tracked_files(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in tracked_files():
        if path.stat().st_size > 2_000_000:
            continue
        content = path.read_bytes().decode("utf-8", errors="replace")
        for match in pattern.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            found.append(f"{path.relative_to(ROOT)}:{line}: {match.group()}")
    return found


def names_of_tests(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(text(path)))
    return {n.name for n in nodes if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")}


# The tests are there, and they run


def test_the_suite_holds_a_minimum_number_of_tests():
    n = sum(len(names_of_tests(p)) for p in modules(TESTS))
    assert n >= FEWEST_TESTS, f"{n} tests, at least {FEWEST_TESTS} expected: where did they go?"


def test_every_test_is_collected_when_the_whole_suite_runs(request: pytest.FixtureRequest):
    config = request.config
    asked = {Path(str(x)).resolve() for x in config.args}
    if config.option.keyword or config.option.deselect or not asked & {TESTS, ROOT}:
        pytest.skip("only a part of the suite runs")
    collected = config.stash[COLLECTED]
    lost = [
        f"{path.name}::{name}"
        for path in modules(TESTS)
        for name in sorted(names_of_tests(path))
        if (path, name) not in collected
    ]
    assert not lost, f"never collected: {lost}"


def test_every_integration_test_that_is_listed_exists():
    files = [path.relative_to(ROOT).as_posix() for path in modules(TESTS)]
    assert [x for x in INTEGRATION if not any(file.startswith(x) for file in files)] == []


def test_every_test_runs_in_ci():
    """What `make test` leaves out is run by `make test-integration` or is slow, and `.ci/run` runs both."""
    make = text(ROOT / "Makefile")
    assert {'-m "not slow and not integration"', '-m "integration and not slow"'} <= set(
        re.findall('-m "[^"]*"', make)
    )
    assert re.findall("make ([a-z-]+)", text(ROOT / ".ci" / "run")) == ["test", "test-integration"]


def test_files_with_tests_have_a_name_that_pytest_collects():
    lost = [
        p.name
        for p in modules(TESTS)
        if names_of_tests(p) and not fnmatch.fnmatch(p.name, "test_*.py")
    ]
    assert not lost, f"pytest passes these by: {lost}"


def test_every_public_formula_has_a_doctest():
    bare = []
    for path in modules(SRC / "formulas"):
        for node in ast.parse(text(path)).body:
            is_public = isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
            if is_public and ">>>" not in (ast.get_docstring(node) or ""):
                bare.append(f"{path.name}: {node.name}")
    assert not bare, f"formulas without a doctest: {bare}"


# The files follow the conventions


def module_name(path: Path) -> str:
    """Dotted name of a module of the package."""
    return ".".join(path.relative_to(SRC.parent).with_suffix("").parts)


def used_functions(trees: dict[str, ast.Module]) -> set[tuple[str, str]]:
    """(module, function) of all functions that are named outside their own definition, imports resolved."""
    used = set()
    for module, tree in trees.items():
        names = {x.name: (module, x.name) for x in tree.body if isinstance(x, ast.FunctionDef)}
        nodes = [(node, getattr(part, "name", "")) for part in tree.body for node in ast.walk(part)]
        for node, _ in nodes:
            if isinstance(node, ast.ImportFrom):
                names |= {x.asname or x.name: (node.module or "", x.name) for x in node.names}
        for node, inside in nodes:
            if isinstance(node, ast.Name) and node.id in names:
                found = names[node.id]
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found = (".".join(names.get(node.value.id, ())), node.attr)
            else:
                continue
            if found != (module, inside):
                used.add(found)
    return used


def test_every_formula_is_called_by_the_product():
    """A formula that only tests call is a second one beside that of the product."""
    trees = {module_name(path): ast.parse(text(path)) for path in modules(SRC)}
    formulas = [
        (name, node.name)
        for name, tree in trees.items()
        if name.startswith("standout.formulas.")
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    ]
    assert len(formulas) > 40
    assert set(formulas) - used_functions(trees) == set()


def test_the_search_for_uses_resolves_imports():
    for code, found in {
        "from p.m import f\nf(1)": True,
        "from p.m import f as h\nh(1)": True,
        "from p import m\nm.f(1)": True,
        "from p.m import f": False,
        "from q.m import f\nf(1)": False,
        "def f(): ...\nf(1)": False,
        "from p import m\nself.f(m)": False,
    }.items():
        trees = {"p.m": ast.parse("def f(): return f()"), "p.n": ast.parse(code)}
        assert (("p.m", "f") in used_functions(trees)) is found, code
    assert used_functions({"m": ast.parse("def f(): ...\ndef g(): f()")}) == {("m", "f")}


def test_no_source_file_is_too_long():
    lines = {p.relative_to(SRC).as_posix(): len(text(p).splitlines()) for p in modules(SRC)}
    long = {path: n for path, n in lines.items() if n > MOST_LINES}
    assert not long, f"more than {MOST_LINES} lines: {long}"


def test_no_dataclass_shows_its_arrays():
    """They hold records' contents, or whom a query is about; a repr ends up in logs and error messages."""
    shown = []
    for path in modules(SRC):
        for node in ast.walk(ast.parse(text(path))):
            if not isinstance(node, ast.ClassDef):
                continue
            marks = [ast.unparse(mark) for mark in node.decorator_list]
            arrays = [
                x
                for x in node.body
                if isinstance(x, ast.AnnAssign) and "Array" in ast.unparse(x.annotation)
            ]
            if arrays and any(m.startswith("dataclass") and "repr=False" not in m for m in marks):
                shown.append(f"{path.relative_to(ROOT)}: {node.name}")
    assert shown == []


def test_no_module_is_named_for_what_it_is_not():
    paths = [p.relative_to(ROOT) for p in [*modules(SRC), *modules(TESTS)]]
    nameless = [p.as_posix() for p in paths if {*p.parts, p.stem} & NAMELESS]
    assert not nameless, f"a module is named for what it holds: {nameless}"


SPARK_EXCHANGE = {"spark.py", "spark_shards.py", "spark_source.py", "spark_worker.py"}
"""Modules of `engines` in which the driver and the workers of Spark send objects to one another."""
UNPICKLERS = {
    "pickle",
    "_pickle",
    "cPickle",
    "cloudpickle",
    "dill",
    "marshal",
    "shelve",
    "joblib",
    "jsonpickle",
    "yaml",
}
RUNNERS = {"eval", "exec", "compile", "__import__", "runstring", "read_pickle"}
CHECKPOINTS = {
    "checkpoint",
    "localCheckpoint",
    "setCheckpointDir",
    "pickleFile",
    "saveAsPickleFile",
}


def code_from_data(path: Path) -> list[str]:
    """Places of a module where data from a file could become code."""
    found = []
    tree = ast.parse(text(path))
    called_at = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        names = []
        if (
            isinstance(node, ast.Attribute)
            and id(node) not in called_at
            and ast.unparse(node) in ("np.load", "numpy.load")
        ):
            found.append(f"{path.name}:{node.lineno}: load under another name")
        if isinstance(node, ast.Import):
            names = [alias.name.split(".")[0] for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [(node.module or "").split(".")[0], *(alias.name for alias in node.names)]
        found += [
            f"{path.name}:{getattr(node, 'lineno', 0)}: imports {name}"
            for name in names
            if name in UNPICKLERS
        ]
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        inside = (
            node.func.value.id if isinstance(getattr(node.func, "value", None), ast.Name) else ""
        )
        options = {one.arg: getattr(one.value, "value", None) for one in node.keywords}
        is_runner = called in RUNNERS and not (
            isinstance(node.func, ast.Attribute) and called in ("eval", "compile")
        )
        loads = (
            called in ("load", "memmap")
            and inside in ("np", "numpy")
            and options.get("allow_pickle") is not False
        )
        if is_runner or called in CHECKPOINTS or loads or options.get("allow_pickle") is True:
            found.append(f"{path.name}:{node.lineno}: {called}")
    return found


def test_nothing_that_is_read_from_a_file_can_become_code():
    found = [
        place
        for path in modules(SRC)
        for place in code_from_data(path)
        if not (path.parent.name == "engines" and path.name in SPARK_EXCHANGE and "pickle" in place)
    ]
    assert not found, found


def test_the_search_for_code_from_data_finds_it(tmp_path):
    path = tmp_path / "x.py"
    for bad in (
        "import pickle",
        "from pickle import loads",
        "import yaml",
        "np.load(p)",
        "f = np.load",
        "np.load(p, allow_pickle=True)",
        "eval(x)",
        "exec(x)",
        "from pyspark import cloudpickle",
        "import numpy.testing\nrunstring(x, {})",
        "frame.checkpoint()",
        "pd.read_pickle(p)",
        "import joblib.x",
        "__import__(x)",
    ):
        path.write_text(bad)
        assert code_from_data(path), bad
    path.write_text(
        "import json\nnp.load(p, allow_pickle=False)\nre.compile(x)\nattack.compile(y)\nast.literal_eval(z)"
    )
    assert not code_from_data(path)


def test_no_machine_path_in_tracked_files():
    assert found_in_tracked_files(MACHINE_PATH) == []


def test_no_registry_address_in_tracked_files():
    assert found_in_tracked_files(REGISTRY) == []


def test_the_patterns_find_what_they_are_for():
    assert MACHINE_PATH.search("open('" + "/wo" + "rk/main/x')")
    assert MACHINE_PATH.search("cd " + "/ro" + "ot")
    assert not MACHINE_PATH.search("a/work/b, ./root/x, https://example.com/work, and/or /workers")
    assert REGISTRY.search("https://" + "pypi" + ".org/simple")


def test_the_constraints_are_exact_pins_and_nothing_else():
    assert len(pins()) > 20
    assert [x for x in pins() if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", x)] == []


def test_every_declared_dependency_is_pinned():
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    pinned = {canonical(x.split("==")[0]) for x in pins()}
    names = {canonical(re.split(r"[\s<>=!~;\[]", x)[0]) for x in wanted}
    assert names - pinned == set()


def pins() -> list[str]:
    lines = text(ROOT / "constraints.txt").splitlines()
    return [x for x in lines if x and not x.startswith("#")]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def packages() -> set[str]:
    return {p.parent.name for p in SRC.glob("*/__init__.py")}


def test_every_package_has_its_place_in_the_layers():
    contracts = tomllib.loads(text(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    names = re.findall(
        r"standout\.(\w+)", " ".join(x for c in contracts for x in c.get("layers", []))
    )
    assert packages() - set(names) == set(), "a package outside the layers may import anything"


def test_no_import_by_text_leaves_its_package():
    """The layers are checked on import statements; a module that is named in a string is not seen."""
    found = []
    for path in modules(SRC):
        own = module_name(path).split(".")[1]
        for node in ast.walk(ast.parse(text(path))):
            if not (
                isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module")
            ):
                continue
            target = ast.unparse(node.args[0]).lstrip("f")[1:-1]
            if target.startswith("standout.") and target.split(".")[1] != own:
                found.append(f"{path.relative_to(SRC)}:{node.lineno}: {target}")
    assert found == []


def test_every_package_is_on_the_map():
    page = text(ROOT / "MAP.md")
    assert [p for p in sorted(packages()) if f"{p}/" not in page] == []


def missing_files(page: Path) -> list[str]:
    """Python files that a page names with their folder in backquotes, and that do not exist."""
    named = re.findall(r"`((?:[\w-]+/)+\w+\.py)`", text(page))
    return [x for x in named if not (ROOT / x).exists() and not (SRC / x).exists()]


REMOVED = "0009-pruned-runs.md"
"""The page about code that was removed names its files."""


@pytest.mark.parametrize(
    "page",
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_every_file_that_a_page_names_exists(page: Path):
    if page.name not in (REMOVED, "CHANGELOG.md"):
        assert missing_files(page) == []


def test_the_search_for_named_files_finds_a_wrong_one(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text("`audit/judge.py`, `tests/test_meta.py`, `audit/panel.py`, `own.py`")
    assert missing_files(page) == ["audit/panel.py"]


# It starts quickly


def seconds(code: str, *arguments: str) -> float:
    """Processor time of a fresh interpreter: other programs do not count."""
    before = os.times()
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = os.times()
    assert done.returncode == 0, done.stderr
    return (
        after.children_user + after.children_system - before.children_user - before.children_system
    )


def quickest_beyond_bare_python(
    budget: float, code: str, *arguments: str, tries: int = 12
) -> float:
    """Best of several runs, less the best start of a bare interpreter; stops as soon as the budget is met."""
    bare = best = float("inf")
    for turn in range(tries):
        bare = min(bare, seconds("pass"))
        best = min(best, seconds(code, *arguments))
        # the first run may have to write bytecode
        if turn >= 2 and best - bare <= budget:
            break
    return best - bare


def test_import_takes_less_than_300_ms_of_processor_time():
    assert quickest_beyond_bare_python(0.3, "import standout") <= 0.3


def test_help_takes_less_than_600_ms_of_processor_time():
    assert (
        quickest_beyond_bare_python(0.6, "from standout.cli.app import main; main()", "--help")
        <= 0.6
    )


def test_import_leaves_the_heavy_packages_alone():
    code = "import sys, standout; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & {name.split(".")[0] for name in done.stdout.split()} == set()
