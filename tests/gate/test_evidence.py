"""Evidence: whatever is changed in it, in the data or in the policy is noticed, and a second run gives the same counts."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import numpy as np
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from forgeries import rehash
from known_rate import with_rate

import standout as so
from standout.audit.canonical import canonical
from standout.errors import InputError, StandoutError
from standout.gate.evidence import load_evidence

POLICY = {
    "limit": [{"name": "x", "max": 0.2, "adversaries": ["a", "b"]}],
    "adversary": {"a": {"knows": 3}, "b": {"knows": 2}},
    "attacks": ["scoreboard-rh", "likelihood"],
    "required_attacks": ["likelihood"],
    "max_age_days": 30,
}


@pytest.fixture(scope="module")
def data():
    return with_rate(0.045, n=1500)


@pytest.fixture(scope="module")
def verdict(data):
    return so.check(data, POLICY, seed=3)


@pytest.fixture
def keys(tmp_path):
    """Private and public key files of two people."""
    out = []
    for name in ("ann", "bob"):
        key = Ed25519PrivateKey.generate()
        private, public = tmp_path / f"{name}.key", tmp_path / f"{name}.pub"
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        public.write_bytes(
            key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
        )
        out.append((private, public))
    return out


@pytest.fixture
def saved(verdict, tmp_path):
    return so.save_evidence(verdict, tmp_path / "evidence.json")


def changed(path, edit, rehash=True):
    """Evidence with an edit, and with hashes that fit the edit as a forger would make them."""
    content = json.loads(path.read_text())
    edit(content)
    if rehash:
        parts = {name: content[name] for name in ("table", "tests", "cells")}
        content["findings_sha256"] = sha256(canonical(parts)).hexdigest()
    new = path.with_name("changed.json")
    new.write_text(json.dumps(content))
    return new


def failed(done):
    return [row["check"] for row in done.rows if row["verdict"] not in ("pass", "note")]


def test_evidence_of_a_pass_holds_and_every_count_is_the_same_in_a_second_run(saved, data):
    done = so.verify(saved, data, cells=99)
    assert done.verdict == "pass"
    assert sum("the same counts" in row["why"] for row in done.rows) == 4


def test_evidence_of_a_fail_is_never_verified_as_a_pass(data, tmp_path):
    bad = so.check(data, {**POLICY, "limit": [{"max": 0.001, "adversaries": ["a"]}]})
    done = so.verify(so.save_evidence(bad, tmp_path / "e.json"), data)
    assert done.exit_code == 1
    assert not done.contradicted
    assert "genuine, and its verdict is fail" in str(done)
    assert failed(done) == ["verdict"], (
        "everything follows from the counts, and the verdict is fail"
    )
    assert any("the same counts" in row["why"] for row in done.rows), (
        "it is run again although its verdict is fail"
    )


def test_evidence_about_a_defended_release_is_run_again_by_the_same_attackers(tmp_path):
    rng = np.random.default_rng(0)
    data = so.Dataset.from_arrays(rng.integers(0, 600, 9000), rng.integers(0, 80, 9000))
    release = so.defense("drop-entries", share=0.5).apply(data)
    asked = {
        "limit": [{"max": 0.999, "adversaries": ["a"]}],
        "adversary": {"a": {"knows": 4}},
        "attacks": ["likelihood"],
        "targets": 200,
        "self_test": False,
    }
    path = so.save_evidence(so.check(release, asked), tmp_path / "e.json")
    done = so.verify(path, release, cells=99)
    assert done.verdict == "pass", done
    assert sum("the same counts" in row["why"] for row in done.rows) >= 3


def test_a_changed_count_is_found_by_its_hash(saved, data):
    def edit(content):
        content["cells"][0]["found"] += 1

    done = so.verify(changed(saved, edit, rehash=False), data)
    assert done.verdict == "fail"
    assert failed(done) == ["hashes"]


def test_a_changed_count_with_a_new_hash_is_found_by_the_second_run(saved, data):
    def edit(content):
        for cell in content["cells"]:
            cell["found"] -= 1

    done = so.verify(changed(saved, edit), data, cells=1)
    assert done.verdict == "fail"
    assert "other counts: found" in done.rows[-1]["why"]


def test_counts_of_another_version_are_unclear_and_not_a_contradiction(saved, data):
    def edit(content):
        content["provenance"]["versions"]["standout"] = "0.0.1"
        for cell in content["cells"]:
            cell["credit"] += 1

    assert so.verify(changed(saved, edit), data, cells=1).verdict == "unclear"


def test_a_verdict_that_does_not_follow_from_its_table_is_found(saved, data):
    def edit(content):
        content["table"][0]["verdict"] = "fail"

    assert failed(so.verify(changed(saved, edit), data)) == ["derived table"]


def test_a_pass_written_over_a_fail_does_not_hold_although_every_hash_is_redone(data, tmp_path):
    bad = so.check(data, {**POLICY, "limit": [{"max": 0.001, "adversaries": ["a"]}]})

    def edit(content):
        content["verdict"] = "pass"
        for one in [*content["table"], *content["tests"]]:
            one["verdict"] = "pass"

    done = so.verify(changed(so.save_evidence(bad, tmp_path / "e.json"), edit), data)
    assert done.exit_code == 4
    assert "the evidence is contradicted (derived tests, derived table" in str(done)
    assert failed(done) == ["derived tests", "derived table", "derived verdict"]


def test_evidence_without_what_the_policy_asks_for_does_not_hold(saved, data):
    def weaker(content):
        for cell in content["cells"]:
            cell["adversary"] |= {"knows": 1, "words": "1 item"}

    for edit in (lambda c: c["cells"].clear(), lambda c: c["cells"].pop(), weaker):
        done = so.verify(changed(saved, edit), data)
        assert done.exit_code == 4
        assert "the evidence lacks" in done.rows[-1]["why"]
    done = so.verify(changed(saved, lambda c: c["cells"].append(c["cells"][0])), data)
    assert failed(done) == ["adversaries and attacks"]


def test_fewer_targets_than_the_policy_asks_for_are_unclear(data, tmp_path):
    few = so.check(data, POLICY, targets=200)
    assert failed(so.verify(so.save_evidence(few, tmp_path / "e.json"), data)) == ["targets"]


def test_counts_that_are_not_run_again_hold_only_with_a_checked_signature(
    verdict, data, keys, tmp_path
):
    path = so.save_evidence(verdict, tmp_path / "signed.json", keys[0][0])
    done = so.verify(path, data, cells=1)
    assert failed(done) == ["counts"]
    assert "1 of 4" in str(done)
    assert "noticed with a probability of 25%" in str(done)
    assert "it was not checked" in str(done)
    assert so.verify(path, data, cells=1, key=keys[0][1]).verdict == "pass"


def test_groups_of_few_targets_are_measured_again_because_their_counts_are_not_in_the_evidence(
    tmp_path,
):
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(800), rng.integers(3, 40, 800))
    data = so.Dataset.from_arrays(record, rng.integers(0, 9, record.size))
    asked = {
        **POLICY,
        "limit": [{"max": 0.99, "adversaries": ["a"], "by": "length"}],
        "smallest_group": 1000,
    }
    seen = so.check(data, asked)
    assert any(row["n"] is None for row in seen.tests)
    done = so.verify(so.save_evidence(seen, tmp_path / "e.json"), data, cells=0)
    assert sum("the same counts" in row["why"] for row in done.rows) == len(seen.cells)
    assert "counts" not in failed(done)
    open_counts = so.check(data, {**asked, "smallest_group": 1})
    assert "counts" in failed(
        so.verify(so.save_evidence(open_counts, tmp_path / "e.json"), data, cells=0)
    )


def test_other_data_is_noticed(saved, data):
    other = so.Dataset.from_arrays(np.repeat(np.arange(1500), 3), np.roll(data.record_item, 3))
    done = so.verify(saved, other)
    assert done.verdict == "fail"
    assert failed(done) == ["release"]


def test_another_policy_is_noticed(saved, data):
    assert so.verify(saved, data, policy=POLICY).verdict == "pass"
    done = so.verify(saved, data, policy={**POLICY, "limit": [{**POLICY["limit"][0], "max": 0.1}]})
    assert failed(done) == ["policy"]

    def edit(content):
        content["policy"]["limit"][0]["max"] = 0.1

    assert failed(so.verify(changed(saved, edit), data)) == ["hashes"]


@pytest.mark.parametrize(("days", "expected"), [(29, "pass"), (31, "unclear"), (-3, "fail")])
def test_old_evidence_is_not_accepted(saved, data, days, expected):
    def edit(content):
        content["provenance"]["created"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()

    assert so.verify(changed(saved, edit), data).verdict == expected


def test_a_missing_required_attack_is_noticed(data, tmp_path):
    weak = so.check(
        data, {**POLICY, "required_attacks": [], "attacks": ["scoreboard-rh"], "self_test": False}
    )
    path = so.save_evidence(weak, tmp_path / "e.json")
    assert so.verify(path, data).verdict == "pass"

    def edit(content):
        content["policy"] |= {"required_attacks": ["likelihood"], "self_test": True}
        content["provenance"]["policy_sha256"] = so.Policy.from_dict(content["policy"]).sha256

    done = so.verify(changed(path, edit), data)
    assert done.exit_code == 4
    assert "the evidence lacks likelihood" in done.rows[-1]["why"]


def test_a_self_test_that_was_switched_off_is_unclear(data, tmp_path):
    from dataclasses import replace

    without = so.check(data, replace(so.Policy.of(POLICY), self_test=False))
    assert failed(so.verify(so.save_evidence(without, tmp_path / "e.json"), data)) == ["self-test"]


def test_only_the_key_of_the_signer_accepts_the_signature(verdict, data, keys, tmp_path):
    (ann, ann_public), (_, bob_public) = keys
    path = so.save_evidence(verdict, tmp_path / "signed.json", ann)
    assert so.verify(path, data, key=ann_public).verdict == "pass"
    assert failed(so.verify(path, data, key=bob_public)) == ["signature"]
    for name in ("seed", "targets", "created"):

        def edit(content, name=name):
            old = content["provenance"][name]
            content["provenance"][name] = (
                old + 1 if isinstance(old, int) else old.replace("+00:00", "+01:00")
            )

        assert "signature" in failed(so.verify(changed(path, edit), data, key=ann_public)), name


def test_evidence_without_a_signature_is_refused_where_a_key_is_given(saved, data, keys):
    assert failed(so.verify(saved, data, key=keys[0][1])) == ["signature"]


@pytest.mark.parametrize("value", ["", "?", "AAAA", "A" * 88])
def test_a_damaged_signature_is_a_wrong_signature(verdict, data, keys, tmp_path, value):
    path = so.save_evidence(verdict, tmp_path / "signed.json", keys[0][0])

    def edit(content):
        content["signature"]["value"] = value

    assert failed(so.verify(changed(path, edit), data, key=keys[0][1])) == ["signature"]


def test_a_file_that_is_no_key_is_refused_without_showing_its_content(verdict, tmp_path, keys):
    for content in (b"secret words", b"", keys[0][1].read_bytes()):
        path = tmp_path / "no.key"
        path.write_bytes(content)
        with pytest.raises(StandoutError) as caught:
            so.save_evidence(verdict, tmp_path / "e.json", path)
        assert "secret" not in str(caught.value)
        assert not (tmp_path / "e.json").exists()
    other = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(other)
    with pytest.raises(InputError, match="not an Ed25519 private key"):
        so.save_evidence(verdict, tmp_path / "e.json", path)
    with pytest.raises(InputError, match="cannot read"):
        so.save_evidence(verdict, tmp_path / "e.json", tmp_path / "missing.key")


def test_unknown_text_in_the_policy_of_damaged_evidence_is_not_quoted(saved):
    def spliced(content):
        content["policy"]["Ann Smith"] = 3

    with pytest.raises(InputError, match="is damaged: its policy is not one") as caught:
        load_evidence(changed(saved, spliced))
    assert "Ann" not in str(caught.value)


def test_damaged_evidence_is_an_error_and_never_a_traceback(saved, data):
    """Every value of the file, replaced by values of other types: refused, or found to be wrong, or of no importance."""
    content = json.loads(saved.read_text())

    def places(x, path=()):
        yield path
        items = (
            x.items() if isinstance(x, dict) else enumerate(x[:2]) if isinstance(x, list) else ()
        )
        for key, inner in items:
            yield from places(inner, (*path, key))

    rng = np.random.default_rng(0)
    refused = 0
    everything = [p for p in places(content) if p and p[0] != "tests"]
    for path in [everything[k] for k in rng.permutation(len(everything))[:60]]:
        for bad in (None, -1, "x", [], {}, 1e308):
            broken = json.loads(saved.read_text())
            at = broken
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = bad
            file = saved.with_name("broken.json")
            file.write_text(json.dumps(broken))
            try:
                so.verify(file, data, cells=1, seed=0)
            except InputError:
                refused += 1
    assert refused > 50


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"schema": "standout-evidence"}', "NaN", "[" * 100_000]
)
def test_what_is_no_evidence_is_refused(tmp_path, text):
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(InputError):
        load_evidence(path)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_evidence_with_a_number_that_is_not_finite_is_refused(saved, number):
    text = saved.read_text()
    at = text.index('"table"')
    saved.write_text(
        text[:at]
        + '"table": [{"rate": NUMBER}],\n "old_'.replace("NUMBER", number)
        + text[at + 1 :]
    )
    with pytest.raises(InputError, match="not JSON"):
        load_evidence(saved)


def test_evidence_holds_no_label(verdict, saved):
    content = json.loads(saved.read_text())
    hashes = {"schema", "schema_version", "findings_sha256"}
    assert set(content) == hashes | {"verdict", "table", "tests", "cells", "policy", "provenance"}
    assert "record_labels" not in saved.read_text()


def test_the_commands_sign_and_verify(run, data, keys, tmp_path):
    lines = [f"u{r},i{i}" for r, row in enumerate(data.record_item.reshape(-1, 3)) for i in row]
    file, policy, evidence = tmp_path / "d.csv", tmp_path / "p.toml", tmp_path / "e.json"
    file.write_text("user,item\n" + "\n".join(lines) + "\n")
    policy.write_text(
        'attacks = ["scoreboard-rh"]\n[adversary.a]\nknows = 3\n[[limit]]\nmax = 0.2\nadversaries = ["a"]\n[end]\n'
    )
    (ann, public), (_, other) = keys
    assert run("check", file, "--policy", policy, "--sign", ann)[0] == 2
    assert run("check", file, "--policy", policy, "--evidence", evidence, "--sign", public)[0] == 2
    assert not evidence.exists()
    assert run("check", file, "--policy", policy, "--evidence", evidence, "--sign", ann)[0] == 0
    code, out, _ = run("verify", evidence, file, "--policy", policy, "--key", public)
    assert code == 0
    assert "the same counts" in out
    assert run("verify", evidence, file, "--key", other)[0] == 4
    code, out, _ = run("verify", evidence, file, "--json")
    assert json.loads(out)["verdict"] == "pass"
    file.write_text(file.read_text().replace("u7,", "u8888,", 1))
    assert run("verify", evidence, file)[0] == 4
    assert run("verify", policy, file)[0] == 2
    assert run("verify", tmp_path / "none.json", file)[0] == 2


QUICK = {
    "limit": [{"name": "x", "max": 0.2, "adversaries": ["a"]}],
    "adversary": {"a": {"knows": 3}},
    "self_test": False,
    "attacks": ["scoreboard-rh"],
}


def test_evidence_with_an_edited_list_of_columns_does_not_hold(tmp_path):
    rows = with_rate(0.03, n=600)
    frame = rows.to_frame()
    data = so.Dataset.from_frame(frame)
    seen = so.check(data, QUICK)
    content = json.loads(so.save_evidence(seen, tmp_path / "e.json").read_text())
    content["provenance"]["columns"] = []
    (tmp_path / "forged.json").write_text(json.dumps(rehash(content)))
    assert so.verify(tmp_path / "e.json", data).verdict == seen.verdict
    done = so.verify(tmp_path / "forged.json", data)
    assert any(
        row["check"] == "derived description of the data" and row["verdict"] == "fail"
        for row in done.rows
    )


def test_a_saved_dataset_with_the_index_of_other_people_is_measured_by_its_records(tmp_path):
    data = with_rate(0.9, n=300)
    data.save(tmp_path / "saved")
    opened = so.Dataset.open(tmp_path / "saved")
    honest = so.check(opened, QUICK).table[0]["rate"]
    opened = so.Dataset.open(tmp_path / "saved")
    vars(opened)["index"] = so.Dataset.take(data, np.roll(np.arange(data.n_records), 1)).index
    assert so.check(opened, QUICK).table[0]["rate"] == honest > 0.5
