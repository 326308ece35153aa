"""`defend --apply` says that the original ids are kept, and replaces them if asked."""

from __future__ import annotations

import csv
import stat

import pandas as pd
import pytest

import standout as so

APPLY = ("--apply", "drop-values")


def test_a_release_with_the_original_ids_says_so(run, ratings, tmp_path):
    code, out, _ = run("defend", ratings, *APPLY, "--out", tmp_path / "r.csv")
    assert code == 0
    assert "holds the original ids" in out
    assert "--new-ids" in out


@pytest.mark.parametrize("name", ["r.csv", "r.parquet"])
def test_new_ids_replace_the_old_ones_everywhere_and_change_nothing_else(
    run, ratings, tmp_path, name
):
    path = tmp_path / name
    code, out, _ = run("defend", ratings, *APPLY, "--out", path, "--new-ids")
    assert code == 0
    assert "original ids" not in out
    files = [p for p in tmp_path.iterdir() if p != ratings]
    assert len(files) == 2, "no file with the old ids unless asked for"
    for file in files:
        assert b"U0003x" not in file.read_bytes()
    source = pd.read_csv(ratings)
    release = pd.read_csv(path) if name.endswith("csv") else pd.read_parquet(path)
    groups = [
        sorted(map(sorted, frame.groupby("userId")["movieId"].apply(list)))
        for frame in (source, release)
    ]
    assert groups[0] == groups[1]
    assert release["userId"].is_monotonic_increasing, (
        "the order of the rows gives the old order away"
    )
    order = release.groupby("userId")["movieId"].apply(sorted).tolist()
    assert order != source.groupby("userId")["movieId"].apply(sorted).tolist()


def test_new_ids_do_not_follow_from_the_seed(run, ratings, tmp_path):
    made = []
    for k in range(2):
        path = tmp_path / f"{k}.csv"
        assert run("defend", ratings, *APPLY, "--out", path, "--new-ids", "--seed", "5")[0] == 0
        made.append(set(so.Dataset.read(path, record="userId", item="movieId").record_labels))
    assert not made[0] & made[1]


def test_the_map_of_ids_is_written_only_if_asked_for_and_privately(run, ratings, tmp_path):
    ids = tmp_path / "ids.csv"
    code, out, _ = run(
        "defend", ratings, *APPLY, "--out", tmp_path / "r.csv", "--new-ids", "--id-map", ids
    )
    assert code == 0
    assert "secret" in out
    assert stat.S_IMODE(ids.stat().st_mode) == 0o600
    new_of = {row["old"]: row["new"] for row in csv.DictReader(ids.read_text().splitlines())}
    source, release = pd.read_csv(ratings), pd.read_csv(tmp_path / "r.csv")
    want = (
        source.assign(userId=source["userId"].map(new_of))
        .groupby("userId")["movieId"]
        .apply(sorted)
    )
    assert want.to_dict() == release.groupby("userId")["movieId"].apply(sorted).to_dict()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--id-map", "ids.csv", *APPLY, "--out", "r.csv"), "--id-map is for --new-ids"),
        (("--new-ids",), "`standout frontier PATH` compares defenses"),
        (("--new-ids", "--id-map", "r.csv", *APPLY, "--out", "r.csv"), "the same file"),
        (("--new-ids", "--id-map", "ratings.csv", *APPLY, "--out", "r.csv"), "ratings.csv"),
    ],
)
def test_wrong_options_write_nothing(run, ratings, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    code, _, said = run("defend", ratings, *arguments)
    assert code == 2
    assert says in said
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]
