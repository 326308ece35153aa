"""Source and release: knowledge from one, attack on the other, and nobody is found who is not there."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import pytest

import standout as so
from standout.errors import InputError, ParameterError
from standout.report.sentences import statements_of

N, M, PER = 150, 40, 10


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    record = np.repeat(np.arange(N), PER)
    item = np.concatenate([rng.choice(M, PER, replace=False) for _ in range(N)])
    return (
        np.array([f"p{r:04d}" for r in record]),
        np.array([f"i{i:03d}" for i in item]),
        rng.integers(1, 6, record.size),
    )


def part(keep, relabel=None):
    record, item, value = arrays()
    labels = record if relabel is None else np.array([relabel(r) for r in record])
    return so.Dataset.from_arrays(labels[keep], item[keep], value[keep])


@pytest.fixture(scope="module")
def source():
    return so.Dataset.from_arrays(*arrays())


def hits(found):
    return {one["attack"]["label"]: one["hit"]["rate"] for one in found.results[0]["attacks"]}


WHO = so.Adversary(knows=5, value_within=0)


def test_a_person_who_is_not_in_the_release_is_counted_and_never_found(source):
    record, *_ = arrays()
    # the first third is suppressed: every index of the release means another person than in the
    # source
    release = part(record >= f"p{N // 3:04d}")
    found = so.Audit(source, WHO, release=release, targets="all").run()
    result = found.results[0]
    assert (result["n_targets"], result["n_not_released"], result["n_records"]) == (N, N // 3, N)
    for label, rate in hits(found).items():
        assert 0.6 < rate <= 1 - 1 / 3 + 1e-9, label
    assert all(r["rate"] <= 2 / 3 + 1e-9 for one in result["attacks"] for r in one["k_identified"])
    assert any("50 targets have no record in the release" in w for w in found.warnings)
    assert result["attacks"][0]["lineup_bits"]["n"] == N - N // 3
    jsonschema.validate(json.loads(found.to_json()), so.Findings.schema())


def test_the_same_release_under_other_indices_gives_the_same_findings(source):
    same = so.Audit(
        source, WHO, ["scoreboard-rh"], release=part(slice(None)), targets=60, describe=False
    ).run()
    itself = so.Audit(source, WHO, ["scoreboard-rh"], targets=60, describe=False).run()
    assert same.to_dict()["results"] == itself.to_dict()["results"]
    assert same.source is not None and itself.source is None


def test_items_that_the_release_lacks_do_not_shift_the_others(source):
    _, item, _ = arrays()
    release = part(item >= "i010")
    found = so.Audit(source, WHO, ["scoreboard-rh"], release=release, targets="all").run()
    assert hits(found)["scoreboard-rh"] > 0.8
    rare = [r["rarest_from"] for r in found.results[0]["attacks"][0]["by_rarity"]]
    assert rare[0] == 0


def test_a_defense_makes_the_release_and_is_named(source):
    class Halve:
        name = "halve"

        def apply(self, data, seed):
            assert data is source and seed == 7
            return part(np.arange(N * PER) % 2 == 0)

    found = so.Audit(
        source, WHO, ["scoreboard-rh", "likelihood"], defense=Halve(), seed=7, targets=80
    ).run()
    assert found.data["n_entries"] == N * PER // 2 and found.source["n_entries"] == N * PER
    assert (
        found.provenance["defense"] == "halve"
        and found.provenance["source_sha256"] == source.fingerprint
    )


def test_the_likelihood_does_not_take_another_release_for_the_source(source):
    release = part(np.arange(N * PER) % 2 == 0)
    told = so.Audit(source, WHO, [so.attack("likelihood", noise="informed")], release=release)
    with pytest.raises(ParameterError, match="noise='fit'"):
        told.run()
    found = so.Audit(
        source, WHO, ["likelihood", "scoreboard-rh"], release=release, targets="all"
    ).run()
    # half of the entries are lost: taken for errors, they would bar the true records
    assert hits(found)["likelihood"] > hits(found)["scoreboard-rh"] - 0.05


def test_a_release_of_strangers_is_an_error_and_no_good_news(source):
    with pytest.raises(InputError, match="no record of the source is in the release"):
        so.Audit(source, WHO, release=part(slice(None), relabel=lambda r: "x" + r))


def shuffled(r):
    return f"p{(int(r[1:]) * 7 + 3) % N:04d}"


@pytest.mark.parametrize("kept", [1.0, 0.4], ids=["whole", "thinned"])
def test_a_release_with_shuffled_labels_is_noted_and_refused_by_the_gate(source, kept):
    """Pseudonyms 1 … N in another order: every label names somebody else, so nobody would be found."""
    release = part(np.random.default_rng(1).random(N * PER) < kept, relabel=shuffled)
    found = so.Audit(source, WHO, ["scoreboard"], 50, release=release, describe=False).run()
    assert "do not belong together" in found.warnings[0] and hits(found)["scoreboard"] < 0.1
    assert statements_of(found)[0].startswith(
        "This audit cannot tell: records or items of source and release"
    )
    with pytest.raises(InputError, match="do not belong together"):
        so.check(source, {"limit": [{"max": 0.1}], "adaptive": False}, release=release)


def test_a_release_with_shuffled_items_is_noted_although_the_lengths_of_records_agree():
    rng = np.random.default_rng(2)
    lengths = np.minimum(rng.lognormal(3, 1.2, N).astype(int) + 2, 400)
    popular = np.arange(1, 501) ** -0.8
    record = np.repeat(np.arange(N), lengths)
    item = np.concatenate(
        [rng.choice(500, k, replace=False, p=popular / popular.sum()) for k in lengths]
    )
    source = so.Dataset.from_arrays(record, item)
    release = so.Dataset.from_arrays(record, rng.permutation(500)[item])
    audit = so.Audit(source, so.Adversary(knows=2), release=release)
    assert "items with the same label do not belong" in audit.other_labels


@pytest.mark.parametrize(
    ("factor", "shift", "word"), [(20, 0, "another unit"), (1, 4000, "only shifted"), (1, 0, "")]
)
def test_a_release_in_other_units_is_noted(factor, shift, word):
    record, item, value = arrays()
    day = 12_000 + np.random.default_rng(3).integers(0, 900, record.size)
    source = so.Dataset.from_arrays(record, item, value, day)
    release = so.Dataset.from_arrays(record, item, value * factor, day + shift)
    noted = (
        so.Audit(source, WHO, ["scoreboard"], 20, release=release, describe=False).run().warnings
    )
    told = [w for w in noted if "find too few people" in w]
    assert (word in told[0] and len(told) == 1) if word else not told


def test_a_few_labels_that_agree_by_chance_do_not_make_a_release_look_safe(source):
    release = part(slice(None), relabel=lambda r: shuffled(r) if r < "p0004" else "x" + r)
    assert "do not belong together" in so.Audit(source, WHO, release=release).other_labels


@pytest.mark.parametrize("kept", [1.0, 0.4], ids=["whole", "thinned"])
def test_labels_of_the_same_people_are_not_called_wrong(source, kept):
    release = part(np.random.default_rng(1).random(N * PER) < kept)
    found = so.Audit(source, WHO, ["scoreboard"], 50, release=release, describe=False).run()
    assert not any("do not belong" in note for note in found.warnings)
    assert so.Audit(source, WHO, release=release).other_labels == ""


def test_shuffled_labels_are_refused_although_a_defense_is_stated(source):
    release = part(np.random.default_rng(1).random(N * PER) < 0.5, relabel=shuffled)
    with pytest.raises(InputError, match="do not belong together"):
        so.defense("drop-entries", share=0.5).describe(source, release)


def test_labels_are_not_questioned_where_the_records_cannot_tell_them_apart():
    """Everybody holds the same: no label can be wrong. Half of the entries noised: the own record is still the nearest."""
    record, item = np.repeat(np.arange(30), 5), np.tile(np.arange(5), 30)
    same = so.Dataset.from_arrays(record, item)
    so.Audit(same, so.Adversary(knows=2), release=so.Dataset.from_arrays(29 - record, item))
    record, item, value = arrays()
    noisy = np.where(np.arange(item.size) % 2, item, np.roll(item, PER))
    so.Audit(
        so.Dataset.from_arrays(record, item, value),
        WHO,
        release=so.Dataset.from_arrays(record, noisy, value),
    )


def test_a_defense_that_cannot_be_applied_is_refused(source):
    with pytest.raises(ParameterError, match="apply"):
        so.Audit(source, WHO, defense="drop-entries")


def test_a_release_with_new_ids_is_refused_and_is_no_internal_error():
    rng = np.random.default_rng(0)
    record, item = (
        np.repeat(np.arange(50), 8),
        np.concatenate([rng.choice(60, 8, replace=False) for _ in range(50)]),
    )
    source = so.Dataset.from_arrays(record, item)
    release = so.Dataset.from_arrays([f"new{r}" for r in record], item)
    with pytest.raises(
        InputError, match="no label of a record of the source occurs in the release"
    ):
        so.defense("drop-entries", share=0.0).describe(source, release)
