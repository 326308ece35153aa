"""`standout doctor` says what can be read here, and what to type for the rest."""

import json
import sys

from standout.cli.machine import readers


def test_a_reader_that_is_missing_is_named_with_what_to_install(monkeypatch):
    assert readers()["reader postgresql://"] == "works"
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)
    assert readers()["reader postgresql://"] == "not installed: pip install 'standout[postgresql]'"


def test_a_build_of_pyarrow_without_object_stores_is_named(monkeypatch):
    from pyarrow import fs

    monkeypatch.delattr(fs, "S3FileSystem")
    assert readers()["reader s3://"].startswith("no: this build of pyarrow lacks it")
    assert "works" in readers()["reader gs://"]


def test_extensions_that_are_not_installed_are_not_claimed_to_work(monkeypatch, tmp_path, run):
    monkeypatch.setenv("HOME", str(tmp_path))
    code, shown, _ = run("doctor", "--json")
    found = json.loads(shown)
    assert code == 0
    for kind in ("delta", "iceberg"):
        assert f"INSTALL {kind}" in found[f"reader {kind.capitalize()} tables"]
