"""Releases in files: written in the input's format, with a manifest, and read back as what they are."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from settings import NEUTRAL, WEAK, distinct_days, rows
from shapes import SHAPES, Shape

import standout as so
from standout import __version__
from standout.cli.reading import read_release
from standout.data.mechanism import Mechanism
from standout.data.writing import FileLayout, layout_like, write_entries
from standout.defenses.manifest import manifest_path, read_manifest, write_manifest
from standout.errors import InputError, ParameterError

LONG = FileLayout("text", {"record": "who", "item": "what", "value": "how much", "time": "when"})


def published(release: so.Dataset) -> Mechanism:
    assert release.mechanism is not None
    return release.mechanism


def same_mechanism(one: Mechanism, other: Mechanism) -> None:
    """Field by field; the arrays are compared as arrays."""
    for name in Mechanism.__dataclass_fields__:
        a, b = getattr(one, name), getattr(other, name)
        if name == "value" and a is not None:
            np.testing.assert_array_equal(a.source, b.source)
            np.testing.assert_array_equal(a.release, b.release)
            np.testing.assert_allclose(a.chance.toarray(), b.chance.toarray())
        elif name == "items" and a is not None:
            for part in ("source", "release", "chance"):
                assert getattr(a, part).tolist() == getattr(b, part).tolist()
        elif isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)
        else:
            assert a == b, name


FORMATS = [
    *((shape, "") for shape in [SHAPES[2], *SHAPES[4:8], *SHAPES[10:]]),
    (SHAPES[4], ".parquet"),
    (SHAPES[5], ".parquet"),
]


@pytest.mark.parametrize(("shape", "suffix"), FORMATS, ids=lambda x: getattr(x, "name", x))
def test_a_release_that_changes_nothing_reads_back_as_its_source(
    shape: Shape, suffix: str, tmp_path: Path
) -> None:
    path = shape.write(tmp_path)
    source = so.Dataset.read(path, **shape.options)
    out = tmp_path / f"release{suffix or path.suffix}"
    layout = layout_like(path, shape.options, source, out)
    release = so.defense("drop-entries", share=0).apply(source)
    write_entries(release, layout, out)
    write_manifest(release, layout, out)
    manifest = read_manifest(out)
    assert manifest is not None
    read = so.Dataset.read(out, **manifest[1])
    assert read.fingerprint == source.fingerprint
    if not suffix and not shape.options.get("wide") and "names" not in shape.options:
        used = [c.name for c in source.cleaning.columns if c.role != "ignored"]
        assert out.read_text().splitlines()[0] == layout.delimiter.join(used)


def test_a_file_keeps_the_delimiter_and_the_order_of_the_columns(tmp_path: Path) -> None:
    text = 'when;secret;what;who\n2020-01-02;x;a;1\n2020-01-03;y;b;2\n2020-01-03;z;"a;b";2\n'
    (tmp_path / "in.csv").write_text(text)
    how = {"record": "who", "item": "what", "time": "when", "value": ""}
    source = so.Dataset.read(tmp_path / "in.csv", **how)
    out = tmp_path / "out.csv"
    write_entries(source, layout_like(tmp_path / "in.csv", how, source, out), out)
    assert out.read_text() == 'when;what;who\n2020-01-02;a;1\n2020-01-03;"a;b";2\n2020-01-03;b;2\n'


def test_a_file_without_a_header_stays_without_one(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1,5,3\n2,5,4\n2,6,1\n")
    how = {"names": "user,film,stars"}
    source = so.Dataset.read(tmp_path / "in.csv", **how)
    layout = layout_like(tmp_path / "in.csv", how, source, tmp_path / "out.csv")
    write_entries(source, layout, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "1,5,3\n2,5,4\n2,6,1\n"
    write_entries(source, layout, tmp_path / "out.csv.gz")
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == b"1,5,3\n2,5,4\n2,6,1\n"


def test_missing_values_and_times_stay_missing_in_a_file(tmp_path: Path) -> None:
    ds = so.Dataset.from_arrays([1, 1, 2], [1, 2, 1], [0.1, np.nan, 2], [np.nan, 10_000, 10_001])
    for name in ("out.csv", "out.parquet"):
        layout = FileLayout("parquet" if name.endswith("parquet") else "text", LONG.columns)
        write_entries(ds, layout, tmp_path / name)
        assert so.Dataset.read(tmp_path / name, **layout.reading(ds)).fingerprint == ds.fingerprint


@pytest.mark.parametrize("name", sorted(WEAK))
def test_a_release_from_a_file_is_described_as_the_release_that_was_made(
    name: str, tmp_path: Path
) -> None:
    source = distinct_days()
    for parameters in (WEAK[name], NEUTRAL.get(name, {})):
        defense = so.defense(name, **parameters)
        made = defense.apply(source, seed=11)
        write_entries(made, LONG, tmp_path / "out.csv")
        write_manifest(made, LONG, tmp_path / "out.csv")
        manifest = read_manifest(tmp_path / "out.csv")
        assert manifest is not None and str(manifest[0]) == str(defense)
        read = so.Dataset.read(tmp_path / "out.csv", **manifest[1])
        described = manifest[0].describe(source, read)
        assert rows(described) == rows(made)
        assert described.source is source
        np.testing.assert_array_equal(described.levels, made.levels)
        same_mechanism(published(described), published(made))


def test_the_manifest_of_groups_holds_the_groups(tmp_path: Path) -> None:
    source = distinct_days()
    made = so.defense("group-items", groups={1: "low", 2: "low", 3: 7}).apply(source)
    write_manifest(made, LONG, tmp_path / "out.csv")
    read = read_manifest(tmp_path / "out.csv")
    assert read is not None
    assert read[0].apply(source).fingerprint == made.fingerprint


def test_the_manifest_holds_published_parameters_and_no_seed(tmp_path: Path) -> None:
    made = so.parse_defense("drop-entries(share=0.5) | round-values(step=2)").apply(
        distinct_days(), seed=8_123_456_789
    )
    write_manifest(made, LONG, tmp_path / "out.csv")
    text = manifest_path(tmp_path / "out.csv").read_text()
    assert "8123456789" not in text and "seed" not in text
    said = json.loads(text)
    assert said["standout"] == __version__
    assert said["stages"] == [
        {"name": "drop-entries", "parameters": {"share": 0.5}},
        {"name": "round-values", "parameters": {"step": 2.0}},
    ]
    assert set(said) == {"format", "standout", "defense", "stages", "release", "reading"}


def test_a_release_that_the_defense_cannot_have_made_is_refused() -> None:
    source = distinct_days()
    with pytest.raises(InputError, match="distinct values of the release cannot come from"):
        so.defense("round-values", levels=[1.5, 4]).describe(source, source)
    with pytest.raises(InputError, match="check its values"):
        so.defense("drop-values").describe(source, source)
    with pytest.raises(InputError, match="check its times"):
        so.defense("drop-entries", share=0.1).describe(
            source, so.defense("drop-time").apply(source)
        )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": 1}',
        '{"format": 1, "stages": [], "reading": {}}',
        '{"format": 2}',
    ],
)
def test_a_damaged_manifest_is_refused(text: str, tmp_path: Path) -> None:
    manifest_path(tmp_path / "out.csv").write_text(text)
    with pytest.raises(InputError, match=r"out\.csv\.manifest\.json"):
        read_manifest(tmp_path / "out.csv")
    assert read_manifest(tmp_path / "other.csv") is None


# The commands


def test_a_release_is_written_and_judged_on_the_command_line(
    ratings: Path, tmp_path: Path, run
) -> None:
    out = tmp_path / "release.csv"
    code, shown, _ = run(
        "defend",
        ratings,
        "--apply",
        "drop-entries(share=0.3) | coarsen-time(to=month)",
        "--out",
        out,
    )
    assert code == 0 and "80 of 80 records" in shown and str(out) in shown
    assert out.read_text().startswith("userId,movieId,rating,timestamp\n")
    assert "seed" not in manifest_path(out).read_text()
    judge = (
        "audit",
        ratings,
        "--release",
        out,
        "--knows",
        "2",
        "--targets",
        "20",
        "--attacks",
        "scoreboard",
        "--json",
        "--time-within",
        "none",
    )
    code, shown, err = run(*judge, "--out", tmp_path / "a")
    found = json.loads(shown)
    assert code == 0, err
    assert found["provenance"]["defense"] == "drop-entries | coarsen-time"
    assert found["data"]["n_entries"] < 80 * 12


def test_the_defense_of_a_release_is_given_or_read_from_its_manifest_or_unknown(
    ratings: Path, tmp_path: Path
) -> None:
    source, out = so.Dataset.read(ratings), tmp_path / "release.csv"
    made = so.parse_defense("drop-entries(share=0.3) | drop-values").apply(source)
    layout = layout_like(ratings, {}, source, out)
    write_entries(made, layout, out)
    write_manifest(made, layout, out)
    assert (
        str(read_release(out, source, {}, None).defense)
        == "drop-entries(share=0.3) | drop-values()"
    )
    assert str(read_release(out, source, {}, "drop-values").defense) == "drop-values()"
    manifest_path(out).unlink()
    unknown = read_release(out, source, {"value": "rating"}, None)
    assert unknown.mechanism is None and rows(unknown) == rows(made)


def test_two_releases_differ_unless_the_seed_is_given(ratings: Path, tmp_path: Path, run) -> None:
    def made(name: str, *more: object) -> bytes:
        assert (
            run(
                "defend",
                ratings,
                "--apply",
                "drop-entries(share=0.5)",
                "--out",
                tmp_path / name,
                *more,
            )[0]
            == 0
        )
        return (tmp_path / name).read_bytes()

    assert made("a.csv") != made("b.csv")
    assert made("c.csv", "--seed", 5) == made("d.csv", "--seed", 5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--apply", "drop-entries(share=0.5)"], "--out FILE"),
        (["--out", "new.csv"], "name a defense with --apply"),
        (["--apply", "drop-entries(share=2)", "--out", "new.csv"], "share=2"),
        (["--apply", "drop-entries(share=1)", "--out", "new.csv"], "leaves no entry"),
        (["--apply", "drop-entries(share=0.5)", "--out", "new.json"], ".csv or .parquet"),
        (["--apply", "drop-entries(share=0.5)", "--out", "new.parquet.gz"], "leave out .gz"),
        (["--apply", "drop-entries(share=0.5)", "--out", "no/such/new.csv"], "does not exist"),
        (["--apply", "drop-entries(share=0.5)", "--out", "."], "is a folder"),
        (
            ["--apply", "drop-entries(share=0.5)", "--out", "ratings.csv", "--overwrite"],
            "is the file that is read",
        ),
        (["--apply", "drop-entries(share=0.5)", "--out", "old.csv"], "--overwrite"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(
    arguments, says, ratings, tmp_path, run, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("old")
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code, _, err = run("defend", ratings, *arguments)
    assert code == 2 and says in err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--defense", "drop-time"], "--release"),
        (["--release", "r.csv", "--defense", "drop-tme"], "Did you mean 'drop-time'"),
        (["--release", "none.csv"], "no such file"),
        (["--release", "other.csv"], "no record of the source is in the release"),
    ],
)
def test_a_release_that_cannot_be_judged_is_refused(
    arguments, says, ratings, tmp_path, run, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.csv").write_text(ratings.read_text().replace("U", "V"))
    code, _, err = run("audit", ratings, *arguments, "--targets", "20", "--out", "o")
    assert code == 2 and says in " ".join(err.split())
    assert not (tmp_path / "o").exists()


def test_a_parameter_error_names_no_record(ratings: Path, tmp_path: Path, run) -> None:
    for text in ("group-items(groups=none.csv)", "suppress-km(k=100000)"):
        code, _, err = run("defend", ratings, "--apply", text, "--out", tmp_path / "x.csv")
        assert code == 2 and "U0" not in err
    with pytest.raises(ParameterError):
        so.parse_defense("suppress-km(k=100000)").apply(so.Dataset.read(ratings))


def test_opaque_items_of_values_with_many_digits_are_matched_exactly(tmp_path: Path) -> None:
    """A text file holds 15 of 17 digits."""
    rng = np.random.default_rng(0)
    value = rng.lognormal(3, 1, 9000)
    source = so.Dataset.from_arrays(
        np.arange(9000) % 300, np.minimum(rng.geometric(0.05, 9000), 70), value
    )
    made = so.defense("opaque-items").apply(source, seed=1)
    write_entries(made, LONG, tmp_path / "out.csv")
    read = so.Dataset.read(tmp_path / "out.csv", **LONG.reading(made))
    assert read.levels.tolist() != source.levels.tolist()
    same_mechanism(published(so.defense("opaque-items").describe(source, read)), published(made))


def test_values_that_happen_not_to_occur_stay_on_the_scale_of_a_described_release(
    tmp_path: Path,
) -> None:
    """Otherwise the columns of the published probabilities belong to other values than the codes of the release."""
    source = so.Dataset.from_arrays(range(5), [0, 1, 0, 1, 0], [1, 2, 3, 4, 5])
    defense = so.defense("noise-values", within=1)
    made = defense.apply(source, seed=2)
    write_entries(made, LONG, tmp_path / "out.csv")
    read = so.Dataset.read(tmp_path / "out.csv", **LONG.reading(made))
    assert read.n_levels < made.n_levels == 5
    described = defense.describe(source, read)
    assert (
        described.levels.tolist() == published(described).value.release.tolist() == [1, 2, 3, 4, 5]
    )
    assert rows(described) == rows(made)


def test_a_delimiter_that_the_input_does_not_give_follows_from_the_suffix(tmp_path: Path) -> None:
    ds = distinct_days()
    write_entries(ds, FileLayout("parquet", LONG.columns), tmp_path / "in.parquet")
    how = {"record": "who", "item": "what", "value": "how much", "time": "when"}
    source = so.Dataset.read(tmp_path / "in.parquet", **how)
    for name, delimiter in (("out.tsv", "\t"), ("out.csv", ","), ("out.tsv.gz", "\t")):
        layout = layout_like(tmp_path / "in.parquet", how, source, tmp_path / name)
        assert (layout.kind, layout.delimiter) == ("text", delimiter)
    (tmp_path / "ratings.dat").write_text(
        "1::5::3::978300760\n1::6::4::978300761\n2::5::1::978300762\n"
    )
    known = so.Dataset.read(tmp_path / "ratings.dat")
    assert layout_like(tmp_path / "ratings.dat", {}, known, tmp_path / "out.csv").delimiter == ","


@pytest.mark.parametrize("renamed", ["rating", "timestamp"])
def test_a_channel_under_another_name_is_not_left_out_of_a_release(renamed, tmp_path: Path) -> None:
    """Without it an attacker could not use what is published, and the release would look safer than it is."""
    rng = np.random.default_rng(0)
    lines = [
        f"{u},{i},{rng.integers(1, 6)},{rng.integers(10**9, 2 * 10**9)},{u % 40}"
        for u in range(60)
        for i in range(u % 7 + 2)
    ]
    header = "userId,movieId,rating,timestamp,age"
    other = header.replace(renamed, "ts" if renamed == "timestamp" else "score")
    shorter = [_without(x, header, renamed) for x in (header, *lines)]
    for name, rows_ in (
        ("source", [header, *lines]),
        ("release", [other, *lines]),
        ("dropped", shorter),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(rows_) + "\n")
    source = so.Dataset.read(tmp_path / "source.csv", value="rating")
    found = read_release(tmp_path / "release.csv", source, {"value": "rating"}, None)
    assert rows(found) == rows(source)
    # a channel that is gone is not replaced by a column that the source does not use either
    less = read_release(tmp_path / "dropped.csv", source, {"value": "rating"}, None)
    assert (less.has_value, less.has_time) == (renamed != "rating", renamed != "timestamp")


def _without(line: str, header: str, column: str) -> str:
    return ",".join(
        cell
        for name, cell in zip(header.split(","), line.split(","), strict=True)
        if name != column
    )


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("reading", {"skip_bad": True, "max_bad": 1.0}),
        ("reading", {"bogus": 1}),
        ("reading", {"record": 3}),
        ("stages", [{"name": "group-items", "parameters": {"groups": "/etc/hostname"}}]),
    ],
)
def test_a_manifest_cannot_drop_rows_or_name_a_file_to_read(
    key: str, value: Any, tmp_path: Path
) -> None:
    made = so.defense("drop-values").apply(distinct_days(), seed=1)
    write_manifest(made, LONG, tmp_path / "out.csv")
    path = manifest_path(tmp_path / "out.csv")
    path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
    with pytest.raises(InputError, match="is not a manifest of standout"):
        read_manifest(tmp_path / "out.csv")
