"""Columns that no attack measures cannot pass unseen, and evidence covers the whole file."""

from __future__ import annotations

import json
import sqlite3
import zipfile

import pandas as pd
import pytest
from known_rate import with_rate

import standout as so
from standout.data.reading.profile import SAMPLE
from standout.data.whole import whole_of
from standout.errors import InputError, ParameterError
from standout.gate.policy import Policy

RULES = """
targets = 400
attacks = ["scoreboard-rh"]
self_test = false
[adversary.a]
knows = 3
[[limit]]
name = "found"
max = 0.2
adversaries = ["a"]
"""
PERSONAL = {"contact": lambda r: f"p{r}@mail.example", "postcode": lambda r: 10_000 + r % 900}


@pytest.fixture(scope="module")
def rows():
    """Entries of data that keeps the limit."""
    made = with_rate(0.045, n=1000)
    pairs = [(r, int(i)) for r, row in enumerate(made.record_item.reshape(-1, 3)) for i in row]
    return pd.DataFrame(
        {"user": [f"u{r}" for r, _ in pairs], "item": [f"i{i}" for _, i in pairs]}
    ), pairs


@pytest.fixture
def write(rows, tmp_path):
    """Function that writes a file with more columns: name → function of (row number, record, item)."""

    def made(name="data.csv", **columns):
        frame, pairs = rows
        extra = {c: [f(k, r, i) for k, (r, i) in enumerate(pairs)] for c, f in columns.items()}
        path = tmp_path / name
        frame.assign(**extra).to_csv(path, index=False)
        return path

    return made


@pytest.fixture
def policy(tmp_path):
    def made(**accepted):
        path = tmp_path / "policy.toml"
        path.write_text(
            RULES
            + "[unmeasured_columns]\n"
            + "".join(f'{c} = "{why}"\n' for c, why in accepted.items())
            + "[end]\n"
        )
        return path

    return made


def columns_of(path, **options):
    options = {"record": "user", "item": "item", "value": None, "time": None, **options}
    return {use.name: use for use in whole_of(so.Dataset.read(path, **options)).columns}


def test_a_file_with_email_addresses_fails_and_every_output_names_the_column(
    run, write, policy, tmp_path
):
    path = write(
        contact=lambda k, r, i: f"p{r}@mail.example", born=lambda k, r, i: f"19{50 + r % 50}-01-02"
    )
    files = [tmp_path / name for name in ("v.json", "e.json", "p.html", "j.xml", "s.json")]
    options = zip(("--out", "--evidence", "--page", "--junit", "--sarif"), files, strict=True)
    code, out, _ = run(
        "check",
        path,
        "--policy",
        policy(contact="a reason does not help"),
        *(x for o in options for x in o),
    )
    assert code == 1
    told = [
        out,
        run("check", path, "--policy", policy(), "--github")[1],
        *(file.read_text() for file in files),
    ]
    for text in told:
        assert "contact" in text
        assert "born" in text
        assert "e-mail address" in text
        assert "date of birth" in text
        assert "mail.example" not in text


def test_a_column_that_was_not_measured_is_unclear_until_the_policy_accepts_it(run, write, policy):
    path = write(postcode=lambda k, r, i: 10_000 + r % 900)
    code, out, _ = run("check", path, "--policy", policy())
    assert code == 3
    assert "[unmeasured_columns]" in " ".join(out.split())
    code, out, _ = run(
        "check", path, "--policy", policy(postcode="first two digits only"), "--json"
    )
    verdict = json.loads(out)
    assert code == 0
    assert "first two digits only" in next(
        row["why"] for row in verdict["table"] if row["limit"] == "columns"
    )
    assert [c["status"] for c in verdict["provenance"]["columns"]] == [
        "measured",
        "measured",
        "not measured",
    ]


def test_columns_that_add_nothing_pass_with_the_reason(run, write, policy, tmp_path):
    path = write(
        line=lambda k, r, i: k + 7,
        again=lambda k, r, i: f"u{r}",
        title=lambda k, r, i: f"title {i}",
        genre=lambda k, r, i: f"genre {i % 3}",
        site=lambda k, r, i: "shop",
    )
    page = tmp_path / "page.html"
    code, out, _ = run("check", path, "--policy", policy(), "--page", page)
    assert code == 0, out
    for reason in (
        "the number of the row",
        "a copy of user",
        "follows from item",
        "the same in every row",
    ):
        assert reason in " ".join(out.split())
        assert reason in page.read_text()


@pytest.mark.parametrize(
    "cell",
    [
        lambda k, r, i: (
            10_000 + r
        ),  # an attribute of the person, also where only they hold the item
        lambda k, r, i: f"{k}.{r % 9}",  # not a number of the row: the digits say something
        lambda k, r, i: k // 2,
        lambda k, r, i: "x" if r % 2 else "",  # one text or nothing: two contents
        lambda k, r, i: f"name of u{r}",  # a second pseudonym can be a name
        lambda k, r, i: i if r else "other",
    ],
)
def test_what_tells_more_than_the_measured_columns_is_not_harmless(write, cell):
    assert columns_of(write(extra=cell))["extra"].role == "ignored"


def test_a_person_attribute_is_not_harmless_where_nobody_shares_an_item(tmp_path):
    path = tmp_path / "alone.csv"
    lines = [f"u{r},i{r}-{j},town {r}" for r in range(100) for j in range(3)]
    path.write_text("user,item,town\n" + "\n".join(lines) + "\n")
    assert columns_of(path)["town"].role == "ignored"


def test_an_email_address_after_the_sample_is_found(tmp_path):
    path = tmp_path / "late.csv"
    lines = [f"u{k % 50},i{k % 40},text {k % 7}{k}" for k in range(SAMPLE + 100)]
    path.write_text(
        "user,item,note\n" + "\n".join([*lines, "u1,i1,ask ann@mail.example for it"]) + "\n"
    )
    assert columns_of(path)["note"].identifier == "e-mail address"


def test_a_record_that_is_an_email_address_fails(run, tmp_path, policy):
    path = tmp_path / "mail.csv"
    path.write_text(
        "user,item\n" + "".join(f"p{k % 60}@mail.example,i{k % 7}\n" for k in range(300))
    )
    assert run("check", path, "--policy", policy())[0] == 1


def test_verify_notices_a_change_in_what_was_not_measured(run, write, policy, tmp_path):
    evidence, rules = tmp_path / "e.json", policy(note="free text")
    path = write(note=lambda k, r, i: f"a{r}")
    assert run("check", path, "--policy", rules, "--evidence", evidence)[0] == 0
    code, out, _ = run("verify", evidence, path)
    assert code == 0
    assert "all bytes of the file" in out
    write(note=lambda k, r, i: f"b{r}")
    code, out, _ = run("verify", evidence, path)
    assert code == 4
    assert "whole file: it differs" in out
    write(note=lambda k, r, i: f"p{r}@mail.example")
    assert "direct identifiers" in run("verify", evidence, path)[1]


def test_genuine_evidence_about_direct_identifiers_is_not_called_contradicted(
    run, write, policy, tmp_path
):
    evidence, path = tmp_path / "e.json", write(note=lambda k, r, i: f"p{r}@mail.example")
    assert run("check", path, "--policy", policy(), "--evidence", evidence)[0] == 1
    code, out, _ = run("verify", evidence, path)
    assert code == 1
    assert "the evidence is genuine, and its verdict is fail" in out


def test_a_file_that_changed_after_reading_is_refused(write):
    path = write(note=lambda k, r, i: r)
    ds = so.Dataset.read(path, record="user", item="item", value=None, time=None)
    write(note=lambda k, r, i: r + 1)
    with pytest.raises(InputError, match="changed after it was read"):
        whole_of(ds)


def test_every_kind_of_source_knows_its_columns_and_its_hash(write, rows, tmp_path, monkeypatch):
    text = write(note=lambda k, r, i: r)
    frame = pd.read_csv(text)
    sources = [
        text,
        tmp_path / "d.zip",
        tmp_path / "d.parquet",
        tmp_path / "d.db",
        tmp_path / "parts",
    ]
    with zipfile.ZipFile(sources[1], "w") as archive:
        archive.write(text, "data.csv")
    frame.to_parquet(sources[2])
    with sqlite3.connect(sources[3]) as db:
        frame.to_sql("t", db, index=False)
    sources[4].mkdir()
    frame[:1500].to_parquet(sources[4] / "1.parquet")
    frame[1500:].to_parquet(sources[4] / "2.parquet")
    for path in sources:
        ds = so.Dataset.read(path, record="user", item="item", value=None, time=None)
        monkeypatch.chdir(tmp_path.parent)
        whole = whole_of(ds)
        assert [use.role for use in whole.columns] == ["record", "item", "ignored"], path.name
        assert whole.sha256 is not None
        assert (
            whole.sha256
            == whole_of(
                so.Dataset.read(path, record="user", item="item", value=None, time=None)
            ).sha256
        )
    (sources[4] / "2.parquet").write_bytes(sources[2].read_bytes())
    assert (
        whole_of(
            so.Dataset.read(sources[4], record="user", item="item", value=None, time=None)
        ).sha256
        != whole.sha256
    )


def test_a_file_that_is_gone_counts_as_not_measured(write):
    path = write(title=lambda k, r, i: i)
    ds = so.Dataset.read(path, record="user", item="item", value=None, time=None)
    path.unlink()
    whole = whole_of(ds)
    assert whole.sha256 is None
    assert whole.columns[-1].role == "ignored"


def test_a_frame_lists_its_columns_and_arrays_have_none(rows):
    frame, pairs = rows
    rules = {
        "limit": [{"max": 0.2, "adversaries": ["a"]}],
        "adversary": {"a": {"knows": 3}},
        "self_test": False,
        "attacks": ["scoreboard-rh"],
        "targets": 400,
    }
    mail = frame.assign(mail=[f"p{r}@mail.example" for r, _ in pairs])
    assert (
        so.check(
            so.Dataset.from_frame(mail, record="user", item="item", value=None, time=None), rules
        ).verdict
        == "fail"
    )
    titled = frame.assign(title=[f"t{i}" for _, i in pairs])
    ds = so.Dataset.from_frame(titled, record="user", item="item", value=None, time=None)
    passed = so.check(ds, rules)
    assert passed.verdict == "pass"
    assert "frame" in passed.provenance["whole_covers"]
    arrays = so.check(so.Dataset.from_arrays(frame["user"], frame["item"]), rules)
    assert (arrays.verdict, arrays.provenance["columns"]) == ("pass", [])
    derived = so.Dataset.from_frame(mail, record="user", item="item", value=None, time=None).take(
        range(900)
    )
    assert so.check(derived, rules).verdict == "fail"


def test_the_release_that_a_defense_makes_has_only_the_measured_columns(rows):
    frame, pairs = rows
    mail = frame.assign(mail=[f"p{r}@mail.example" for r, _ in pairs])
    source = so.Dataset.from_frame(mail, record="user", item="item", value=None, time=None)
    release = so.defense("drop-entries", share=0.2).apply(source, seed=1)
    assert [use.name for use in whole_of(release).columns] == ["user", "item"]


def test_a_wide_matrix_does_not_print_the_names_of_its_items(run, tmp_path, policy):
    path = tmp_path / "wide.csv"
    items = [f"secret{k}" for k in range(12)]
    lines = [f"u{r}," + ",".join("1" if (r + k) % 2 else "" for k in range(12)) for r in range(400)]
    path.write_text("user," + ",".join(items) + "\n" + "\n".join(lines) + "\n")
    code, out, _ = run("check", path, "--wide", "--record", "user", "--policy", policy(), "--json")
    assert code == 0
    assert "12 columns" in out
    assert "secret" not in out


@pytest.mark.parametrize("given", [["a"], {"a": ""}, {"a": 3}, "a"])
def test_an_accepted_column_needs_a_reason(given):
    rules = {"limit": [{"max": 0.2, "adversaries": "default"}], "unmeasured_columns": given}
    with pytest.raises(ParameterError, match="unmeasured_columns"):
        Policy.from_dict(rules)


def test_an_e_mail_address_as_an_item_does_not_pass(write, policy):
    path = write()
    assert so.check(so.Dataset.read(path), policy()).verdict == "pass"
    path.write_text(path.read_text() + "u7,p7@mail.example\n")
    seen = so.check(so.Dataset.read(path), policy())
    assert seen.verdict == "fail"
    assert "e-mail address" in next(row["why"] for row in seen.table if row["limit"] == "columns")


@pytest.mark.parametrize("row", [",p7@mail.example\n", "u7,\n"])
def test_rows_that_reading_drops_do_not_pass_unseen(write, policy, row):
    path = write()
    path.write_text(path.read_text() + row)
    seen = so.check(so.Dataset.read(path), policy())
    assert seen.verdict == "unclear"
    assert "1 without a" in next(one["why"] for one in seen.table if one["limit"] == "rows")


def test_a_channel_that_no_adversary_of_the_policy_knows_is_not_measured(write, tmp_path, policy):
    price = {name: lambda k, r, i: 1 + (r + i) % 3 for name in ("price", "cost")}
    path = write(**price, age=lambda k, r, i: 20 + r % 5)
    ds = so.Dataset.read(path, record="user", value=None, channels="price", attributes="age")
    seen = so.check(ds, policy())
    assert seen.verdict == "unclear"
    status = {c["name"]: c["status"] for c in seen.provenance["columns"]}
    assert (status["price"], status["age"]) == ("not measured", "not measured")
    assert list(seen.provenance["not_measured"]) == ["the channel price", "the attribute age"]

    knowing = policy().read_text().replace("knows = ", "within = { price = 1, age = 0 }\nknows = ")
    (tmp_path / "knowing.toml").write_text(knowing)
    seen = so.check(ds, tmp_path / "knowing.toml")
    status = {c["name"]: c["status"] for c in seen.provenance["columns"]}
    assert (status["price"], status["age"]) == ("measured", "measured")
    assert status["cost"] == "harmless"  # a copy of the price
    assert list(seen.provenance["not_measured"]) == []


@pytest.fixture
def alike(tmp_path):
    """Function that writes groups of 50 people with equal items: column → function of (person, number of the row)."""

    def made(**columns):
        people = [(g * 50 + s, 7 * g + k) for g in range(12) for s in range(50) for k in range(4)]
        rows = [
            {"user": f"u{r}", "item": f"i{i}"} | {name: of(r, n) for name, of in columns.items()}
            for n, (r, i) in enumerate(people)
        ]
        path = tmp_path / "alike.csv"
        pd.DataFrame(rows).to_csv(path, index=False)
        return path

    return made


def _unmeasured(data, **adversary):
    """Verdict, and the columns that it counts as not measured, where the policy limits one adversary on these data."""
    rules = {
        "version": 1,
        "targets": 200,
        "attacks": ["scoreboard-rh"],
        "self_test": False,
        "adversary": {"a": adversary},
        "limit": [{"max": 0.3, "adversaries": ["a"]}],
    }
    seen = so.check(data, rules)
    lost = [c["name"] for c in seen.provenance["columns"] if c["status"] == "not measured"]
    return seen.verdict, lost, list(seen.provenance["not_measured"])


def test_values_and_times_that_nobody_knows_are_not_measured(alike):
    path = alike(stars=lambda r, n: 1 + n * 7919 % 97, day=lambda r, n: f"2024-{1 + n % 12:02}-07")
    ds = so.Dataset.read(path, record="user", item="item", value="stars", time="day")
    bare = {"knows": 2, "value_within": "none", "time_within": "none"}
    assert _unmeasured(ds, **bare) == ("unclear", ["stars", "day"], ["the values", "the times"])
    assert _unmeasured(ds, knows=2)[1] == ["day"], "values are known exactly if nothing is said"
    found = _unmeasured(ds, knows=2, value_within=0, time_within=0)
    assert found == ("fail", [], [])


def test_a_tolerance_as_wide_as_the_data_measures_nothing(alike):
    path = alike(price=lambda r, n: n * 7919 % 997, age=lambda r, n: 20 + r % 50)
    ds = so.Dataset.read(path, record="user", value=None, channels="price", attributes="age")
    wide = {"price": 1000, "age": 49}
    lost = ["the channel price", "the attribute age"]
    assert _unmeasured(ds, knows=2, within=wide) == ("unclear", ["price", "age"], lost)
    assert _unmeasured(ds, knows=2, within={"price": 500, "age": 48})[1:] == ([], [])


def test_items_behind_a_view_and_attributes_alone_measure_no_items(alike, tmp_path):
    ds = so.Dataset.read(
        alike(area=lambda r, n: "n" if r % 2 else "s"), record="user", attributes="area"
    )
    lost = ("unclear", ["item"], ["the items"])
    assert _unmeasured(ds, knows=0, within={"area": 0}) == lost
    (tmp_path / "one.csv").write_text("".join(f"i{i},{i % 2}\n" for i in range(100)))
    grouped = {"knows": 1, "within": {"area": 0}, "view": f"groups:{tmp_path / 'one.csv'}"}
    assert _unmeasured(ds, **grouped) == lost
    assert _unmeasured(ds, knows=1, within={"area": 0}) == ("pass", [], [])


def test_what_only_a_limit_on_harm_knows_is_not_measured(alike):
    ds = so.Dataset.read(
        alike(price=lambda r, n: n * 7919 % 997), record="user", value=None, channels="price"
    )
    rules = {
        "version": 1,
        "targets": 100,
        "attacks": ["scoreboard-rh"],
        "self_test": False,
        "adversary": {"a": {"knows": 2}, "b": {"knows": 2, "within": {"price": 0}}},
        "limit": [
            {"max": 0.3, "adversaries": ["a"]},
            {"max": 0.9, "measure": "false-match", "adversaries": ["b"]},
        ],
    }
    seen = so.check(ds, rules)
    assert seen.verdict == "unclear"
    assert list(seen.provenance["not_measured"]) == ["the channel price"]
