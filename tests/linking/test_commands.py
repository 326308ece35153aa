"""`standout link`, `match-items` and `audit --split-time` as a user meets them."""

import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from command_line import run as run
from people_of import release, second_file, truth, world

import standout as so
from standout.errors import InputError, ParameterError
from standout.linking.history import split_day
from standout.linking.items import Item, propose, read_items, read_map
from standout.linking.link import proposed_split
from standout.linking.links import time_shift_sentence
from standout.linking.truth import judged


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Ratings and mentions on disk; every fourth mentioner is not in the ratings."""
    folder = tmp_path_factory.mktemp("link")
    entries = world(n=200, seed=3)
    names = np.array([f"u{k:03d}" for k in range(200)])
    kept = entries[entries[:, 0] % 8 != 0]
    pd.DataFrame(
        {
            "user": names[kept[:, 0]],
            "item": kept[:, 1],
            "rating": kept[:, 2],
            "day": pd.to_datetime(kept[:, 3], unit="D"),
        }
    ).to_csv(folder / "ratings.csv", index=False)
    facts = second_file(entries, np.arange(0, 200, 2), knows=12, e=0.15)
    who = facts[:, 0].astype(int)
    pd.DataFrame(
        {
            "nick": [f"nick{k}" for k in who],
            "item": facts[:, 1].astype(int),
            "rating": facts[:, 2],
            "same": names[who],
        }
    ).to_csv(folder / "forum.csv", index=False)
    return folder


@pytest.fixture
def call(run):
    """Run a command; gives an object with its exit code and what it printed."""
    return lambda *arguments: SimpleNamespace(
        **dict(zip(("code", "out", "err"), run(*arguments), strict=True))
    )


def linked(call, files, out, *more):
    return call(
        "link",
        files / "ratings.csv",
        files / "forum.csv",
        "--record",
        "user",
        "--item",
        "item",
        "--person",
        "nick",
        "--known-item",
        "item",
        "--known-value",
        "rating",
        "--out",
        out,
        *more,
    )


def test_link_writes_counts_and_no_labels(call, files, tmp_path):
    done = linked(call, files, tmp_path / "out", "--truth", "same")
    assert done.code == 0, done.err
    written = (tmp_path / "out" / "links.json").read_text() + (
        tmp_path / "out" / "links.html"
    ).read_text()
    for text in (written, done.out, done.err):
        assert "nick1" not in text
        assert "u002" not in text
    found = so.LinkFindings.load(tmp_path / "out" / "links.json")
    assert (found.truth["n_present"], found.truth["n_absent"]) == (75, 25)
    assert found.truth["right"] > 60
    assert "is expected to be right for" in " ".join(done.out.split())


def test_with_the_truth_all_tables_of_f06_are_printed(call, files, tmp_path):
    done = linked(call, files, tmp_path / "out", "--truth", "same", "--overlap", "fit")
    assert done.code == 0, done.err
    out = " ".join(done.out.split())
    for title in (
        "Right record among the first k, for people in the release",
        "Right record first, by number of known items",
        "Why Set Intersection fails",
        "Scoring after the owner drops the rarest items",
        "Posterior and truth",
        "Accepted links at each false discovery rate",
    ):
        assert title in out
    assert "of the people of the second file are in the release" in out
    found = so.LinkFindings.load(tmp_path / "out" / "links.json")
    share = found.links["overlap"]
    assert share["low"] <= 0.75 <= share["high"]
    rows = found.truth["defense"]
    first = [next(r["rate"] for r in row["rates"] if r["k"] == 1) for row in rows]
    assert rows[0]["items_dropped"] == 0 == rows[0]["entries_dropped"]
    assert rows[-1]["items_dropped"] > 0.8
    # without rare items Scoring finds fewer people
    assert first[0] == next(r["rate"] for r in _of(found, "scoring") if r["k"] == 1)
    assert first[-1] < first[0]
    assert {row["items"] for row in found.truth["by_facts"]} == {"8–15"}
    assert sum(row["rate"] for row in found.truth["reasons"]) == pytest.approx(1.0)


def _of(found, name):
    return next(one["rates"] for one in found.truth["k_identified"] if one["attack"] == name)


def test_pairs_are_written_only_when_asked_for_and_with_a_sentence_on_lawful_use(
    call, files, tmp_path
):
    done = linked(call, files, tmp_path / "out", "--pairs", tmp_path / "pairs.csv", "--json")
    assert done.code == 0, done.err
    assert "lawful basis" in done.err
    assert json.loads(done.out)["kind"] == "link"
    pairs = pd.read_csv(tmp_path / "pairs.csv")
    right = pairs["person"].str[4:].astype(int).map(lambda k: f"u{k:03d}") == pairs["record"]
    assert right[pairs["accepted_5"]].mean() > 0.9


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--truth", "none"], "none"),
        (["--truth", "rating"], "several records"),
        (["--items", "missing.csv"], "cannot read the map"),
        (["--engine", "quantum"], "quantum"),
        (["--overlap", "most"], "overlap='most'"),
        (["--overlap", "1.2"], "overlap=1.2"),
    ],
)
def test_wrong_options_end_with_code_2_and_write_nothing(call, files, tmp_path, more, words):
    done = linked(call, files, tmp_path / "out", *more)
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out" / "links.json").exists()


def test_a_column_that_the_second_file_lacks_is_named_with_the_right_option(call, files, tmp_path):
    done = call(
        "link",
        files / "ratings.csv",
        files / "forum.csv",
        "--record",
        "user",
        "--out",
        tmp_path / "out",
    )
    assert done.code == 2
    assert "--person" in done.err


def test_proposed_matches_are_not_used_until_they_are_confirmed(call, files, tmp_path):
    a, b, out = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "map.csv"
    a.write_text('movieId,title\n1,Heat (1995)\n2,Heat (1986)\n3,"Matrix, The (1999)"\n')
    b.write_text("id,title,year\nx,Heat,1995\ny,The Matrix,1999\nz,Unknown Film,2001\n")
    done = call("match-items", a, b, "--out", out)
    assert done.code == 0, done.err
    assert "2 of 3 items" in done.out
    with pytest.raises(InputError, match=r"no row .* is confirmed"):
        read_map(out)
    frame = pd.read_csv(out, dtype=str)
    assert dict(zip(frame["item_second"], frame["item_release"], strict=True)) == {
        "x": "1",
        "y": "3",
    }
    frame["confirm"] = ["yes", ""]
    frame.to_csv(out, index=False)
    assert len(read_map(out)) == 1


def test_titles_of_another_year_are_not_proposed():
    release_items = [Item("1", "Heat (1986)", "heat", 1986)]
    assert propose(release_items, [Item("x", "Heat (1995)", "heat", 1995)]) == []
    assert len(propose(release_items, [Item("x", "Heat", "heat", None)])) == 1


def test_a_map_that_contradicts_itself_is_refused(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("item_second,item_release\nx,1\nx,2\n")
    with pytest.raises(InputError, match="two items of the release"):
        read_map(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="item_second and item_release"):
        read_map(path)
    path.write_text("item_second,item_release\nx,1\ny\n")
    with pytest.raises(InputError, match="too few cells"):
        read_map(path)
    path.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="no column 'nope'"):
        read_items(path, title="nope")


@pytest.mark.parametrize(
    ("names", "item"),
    [
        ("customer,product,rating", "product"),
        ("userId,movieId,rating", "movieId"),
        ("user,thing", "thing"),
        ("movieId,title,genres", "movieId"),
        ("title,year", "title"),
        ("name,item_no", "item_no"),
    ],
)
def test_a_person_is_never_taken_for_an_item(names, item, tmp_path):
    """Their labels would be printed into the map, and everybody would match."""
    path, columns = tmp_path / "release.csv", names.split(",")
    path.write_text(f"{names}\n{','.join(columns)}\n")  # each cell is the name of its column
    assert [one.label for one in read_items(path)] == [item]


def habits(n=150, seed=0):
    """People who buy from 12 favorites again and again, and other things once."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        mine = rng.choice(300, 12, replace=False)
        item = np.where(rng.random(80) < 0.7, rng.choice(mine, 80), rng.integers(0, 300, 80))
        rows.append(
            np.column_stack(
                [
                    np.full(80, person),
                    item,
                    rng.integers(1, 9, 80),
                    15_000 + rng.integers(0, 600, 80),
                ]
            )
        )
    return np.concatenate(rows)


@pytest.fixture(scope="module")
def shop():
    rows = habits()
    return so.Dataset.from_arrays(rows[:, 0], rows[:, 1], rows[:, 2], rows[:, 3])


def test_the_two_periods_share_no_entry_and_lose_none(shop):
    before, after = so.split_time(shop, "2011-11-20")
    assert before.n_entries + after.n_entries == shop.n_entries
    day = (np.datetime64("2011-11-20") - np.datetime64("1970-01-01")).astype(int)
    assert (
        before.first_tick + before.record_tick.max()
        < day
        <= after.first_tick + after.record_tick.min()
    )


def test_data_without_habits_is_not_said_to_single_people_out():
    rng = np.random.default_rng(4)
    record, item, day = (
        np.repeat(np.arange(120), 20),
        rng.integers(0, 60, 2400),
        rng.integers(15_000, 15_400, 2400),
    )
    found = so.time_shifted(so.Dataset.from_arrays(record, item, time=day), 0.5, others=()).findings
    assert found.truth["k_identified"][0]["rates"][0]["rate"] < 0.05
    assert "does not show that habits lead to people" in time_shift_sentence(found)
    assert "not make this data anonymous" not in time_shift_sentence(found)


def test_habits_link_two_periods_and_strangers_do_not(shop):
    found = so.time_shifted(shop, 0.5, others=())
    top = found.findings.truth["k_identified"][0]["rates"][0]
    assert top["rate"] > 0.9
    assert found.findings.data["split"] in time_shift_sentence(found.findings)
    wrong = [d["false"] for d in found.findings.truth["discoveries"] if d["fdr"] == 0.05]
    assert all(w["rate"] < 0.1 for w in wrong)
    # an item that was bought several times before is bought again more often
    assert found.noise.e[0] > found.noise.e[-1]
    rng = np.random.default_rng(1)
    rows = habits()
    late = rows[:, 3] >= 15_300
    rows[late, 0] = rng.permutation(150)[rows[late, 0]]
    strangers = so.time_shifted(so.Dataset.from_arrays(*rows.T), 0.5, others=())
    assert strangers.findings.truth["k_identified"][0]["rates"][0]["rate"] < 0.1


def test_a_split_is_proposed_only_where_people_repeat_items(shop):
    assert proposed_split(shop) == split_day(shop, 0.5)
    assert proposed_split(release(world(n=40))) is None
    assert proposed_split(so.Dataset.from_arrays([1, 1], [2, 2])) is None


@pytest.mark.parametrize("at", ["soon", 0, 1.5, None, "1999-01-01", "2099-01-01"])
def test_a_split_that_leaves_one_side_empty_or_is_no_day_is_refused(shop, at):
    with pytest.raises(ParameterError, match="split at"):
        so.split_time(shop, at)
    with pytest.raises(InputError, match="has none"):
        so.split_time(so.Dataset.from_arrays([1, 2], [1, 1]), 0.5)


def test_audit_with_a_split_says_it_for_a_data_protection_officer(call, tmp_path):
    rows = habits(n=60)
    frame = pd.DataFrame(
        {"customer": rows[:, 0], "item": rows[:, 1], "date": pd.to_datetime(rows[:, 3], unit="D")}
    )
    frame.to_csv(tmp_path / "shop.csv", index=False)
    done = call("audit", tmp_path / "shop.csv", "--split-time", "0.5", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "share no entry" in " ".join(done.out.split())
    assert so.LinkFindings.load(tmp_path / "out" / "links.json").data["split"]
    refused = call(
        "audit", tmp_path / "shop.csv", "--split-time", "never", "--out", tmp_path / "other"
    )
    assert refused.code == 2
    assert "use a date" in refused.err


def test_the_comparison_with_the_truth_counts_every_person_once(files):
    entries = world(n=200, seed=3)
    data = release(entries)
    facts = second_file(entries, np.arange(0, 200, 2))[:, :3].astype(int)
    # a person of whom nothing in the release is known is not in it, and nobody is named: no right
    # link
    facts = np.concatenate([[[-5, 99_999, 3]], facts])
    aux = so.Knowledge.from_arrays(*facts.T)
    right = truth(data, aux)
    right[0] = -1
    right[1:11] = -1
    links = judged(
        so.link(data, aux, one_to_one=True, canaries=False), data, aux, right, others=("tf-idf",)
    )
    found = links.findings.truth
    assert found["n_present"] + found["n_absent"] == aux.n_queries
    assert sum(r["people"] for r in found["by_facts"]) == found["n_present"] == 90
    assert sum(r["count"] for r in found["reasons"]) == 90
    assert sum(r["n"] for r in found["calibration"]) == aux.n_queries
    hit = (links.best == right) & (right >= 0)
    assert found["right"] == hit.sum()
    assert found["one_to_one"]["soft"]["count"] == hit.sum()
    with pytest.raises(ParameterError, match="one per person"):
        judged(links, data, aux, right[:5])
