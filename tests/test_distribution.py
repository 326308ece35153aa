"""What is shipped: the same commit gives the same bytes, and the bill of materials names everything that is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = ROOT / "docs" / "scripts"


@pytest.fixture(scope="module")
def dist():
    sys.path.insert(0, str(SCRIPTS))
    import dist

    sys.path.remove(str(SCRIPTS))
    return dist


@pytest.fixture(scope="module")
def names(dist):
    try:
        return dist.tracked(ROOT)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no git checkout")


def test_the_same_files_give_the_same_bytes_whatever_their_times_and_permissions(
    dist, names, tmp_path
):
    copy = tmp_path / "copy"
    for k, name in enumerate(reversed(names)):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
        (copy / name).chmod(0o600)
        os.utime(copy / name, (k, k))
    umask = os.umask(0o077)
    try:
        second = dist.build(copy, names, tmp_path / "b", 1_600_000_000)
    finally:
        os.umask(umask)
    first = dist.build(ROOT, names, tmp_path / "a", 1_600_000_000)
    assert sorted(p.suffix for p in first) == [".gz", ".whl"]
    assert [sha256(p.read_bytes()).hexdigest() for p in first] == [
        sha256(p.read_bytes()).hexdigest() for p in second
    ]
    wheel, source = sorted(first, key=lambda p: p.suffix == ".gz")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        assert {
            "standout/py.typed",
            "standout/report/terms.toml",
            "standout/report/templates/page.html.j2",
        } <= inside
        assert not [name for name in inside if name.endswith((".pyc", ".nbi", ".nbc"))]
    with tarfile.open(source) as archive:
        assert {m.uname for m in archive.getmembers()} == {""} and {
            m.mtime for m in archive.getmembers()
        } == {1_600_000_000}


def sbom(*extras):
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "sbom.py"), *extras],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_bill_of_materials_names_every_dependency_once_with_its_version():
    text = sbom()
    assert text == sbom()
    bill = json.loads(text)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    refs = [c["bom-ref"] for c in bill["components"]]
    assert len(set(refs)) == len(refs)
    names = {c["name"].lower() for c in bill["components"]}
    assert {"numpy", "numba", "llvmlite", "duckdb", "pyarrow", "scipy", "typer"} <= names
    assert not names & {"pytest", "ruff", "cryptography"}
    assert "cryptography" in {c["name"].lower() for c in json.loads(sbom("sign"))["components"]}
    known = {*refs, bill["metadata"]["component"]["bom-ref"]}
    for row in bill["dependencies"]:
        assert {row["ref"], *row["dependsOn"]} <= known


VULNERABLE = {"name": "b", "version": "1", "vulns": [{"id": "CVE-1"}]}


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (None, 2, "not checked: pip-audit got no answer: no network"),
        ([], 2, "not checked"),
        (
            [{"name": "a", "skip_reason": "not found"}, {"name": "b", "version": "1", "vulns": []}],
            2,
            "not checked: 1 packages",
        ),
        ([{"name": "a", "skip_reason": "not found"}, VULNERABLE], 1, "b 1: CVE-1"),
        ([{"name": "b", "version": "1", "vulns": []}], 0, "1 of 1 packages checked, 0 known"),
    ],
)
def test_an_audit_of_dependencies_that_saw_only_a_part_is_not_a_pass(tmp_path, answer, code, words):
    said = (
        "import sys; print('no network', file=sys.stderr); sys.exit(1)"
        if answer is None
        else (f"import json; print(json.dumps({{'dependencies': {answer!r}}}))")
    )
    (tmp_path / "pip_audit.py").write_text(said)
    asked = subprocess.run(
        [sys.executable, str(SCRIPTS / "audit_dependencies.py")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert asked.returncode == code, asked
    assert words in asked.stdout + asked.stderr
