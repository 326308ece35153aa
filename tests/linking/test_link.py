"""Linking a second file: everyone in a file linked to itself, nobody in shuffled data, nothing shown unasked."""

import json

import numpy as np
import pytest
from people_of import knowledge, release, second_file, truth, world

import standout as so
from standout.errors import InputError, ParameterError
from standout.linking.link import link
from standout.linking.truth import judged


@pytest.fixture(scope="module")
def entries():
    return world(seed=3)


@pytest.fixture(scope="module")
def pair(entries):
    """Half of the people of the second file are not in the release."""
    data = release(entries, without=np.arange(0, 400, 4))
    aux = knowledge(
        second_file(entries, np.arange(0, 400, 2), e=0.2, knows=14, value_moved=0.2), time=False
    )
    return data, aux, truth(data, aux)


@pytest.fixture(scope="module")
def links(pair):
    return so.link(pair[0], pair[1])


def test_a_file_linked_to_itself_finds_everyone(entries):
    data = release(entries)
    found = so.link(data, data, canaries=False)
    np.testing.assert_array_equal(found.best, np.arange(data.n_records))
    assert found.accepted(0.01).all()
    assert found.expected_links > 0.98 * data.n_records


def test_a_file_linked_to_shuffled_people_accepts_nobody(entries):
    shuffled = entries.copy()
    shuffled[:, 0] = np.random.default_rng(1).permutation(shuffled[:, 0])
    found = so.link(release(entries), release(shuffled), canaries=False)
    assert not found.accepted(0.05).any()
    assert not found.accepted(0.05, rule="posterior").any()
    assert found.expected_links < 0.1 * found.n_queries


def test_present_people_are_found_and_absent_people_are_recognized(pair, links):
    _, _, right = pair
    present = right >= 0
    assert (links.best == right)[present].mean() > 0.8
    assert links.posterior[~present].mean() < 0.2 < 0.7 < links.posterior[present].mean()


def test_expected_links_and_false_discoveries_agree_with_the_truth(pair, links):
    _, _, right = pair
    hit = (links.best == right) & (right >= 0)
    low, high = links.interval
    assert low <= hit.sum() <= high
    for rule in ("spacing", "posterior"):
        mask = links.accepted(0.05, rule)
        assert mask.sum() > 30
        assert (~hit[mask]).mean() < 0.12


def test_the_answer_does_not_depend_on_the_order_of_people_or_on_their_names(pair, links):
    data, aux, _ = pair
    order = np.random.default_rng(0).permutation(aux.n_facts)
    renamed = so.Knowledge.from_arrays(
        (aux.queries[aux.query][order] * 7 + 3) % 2003,
        aux.item[order],
        aux.value[order],
        aux.time[order],
    )
    other = so.link(data, renamed)
    mine = dict(zip(((aux.queries * 7 + 3) % 2003).tolist(), links.best.tolist(), strict=True))
    assert [mine[k] for k in renamed.queries.tolist()] == other.best.tolist()
    assert other.expected_links == pytest.approx(links.expected_links, rel=1e-3)
    assert other.interval == pytest.approx(links.interval, rel=0.02)


def families(n_families=60, members=10, of_family=20, seed=0):
    """Two samples of what people do: things of their family, favorites of their own, and anything."""
    rng = np.random.default_rng(seed)
    out = ([], [])
    for person in range(n_families * members):
        shared = np.random.default_rng([seed, person % n_families]).choice(1500, 60, replace=False)
        mine = rng.choice(1500, 12, replace=False)
        for rows in out:
            parts = [
                rng.choice(shared, of_family, replace=False),
                rng.choice(mine, 6, replace=False),
                rng.choice(1500, 5),
            ]
            item = np.unique(np.concatenate(parts))
            rows.append(
                np.column_stack(
                    [np.full(item.size, person), item, np.full(item.size, 3), np.zeros(item.size)]
                )
            )
    return [np.concatenate(rows).astype(int) for rows in out]


def test_relatives_in_the_release_give_no_all_clear():
    """Relatives of a person score high, so that the test cannot tell them apart: the likelihood's number is said as well."""
    entries, facts = families(61)
    data = release(entries, value=False, time=False, without=np.arange(0, 610, 2))
    aux = knowledge(facts[facts[:, 0] < 300], value=False, time=False)
    right = truth(data, aux)
    found = so.link(data, aux)
    hit = (found.best == right) & (right >= 0)
    sure = found.model_posterior > 0.95
    assert (~hit[sure]).mean() > 0.3
    assert not found.accepted(0.05)[~hit].any()
    gaps = found.findings.links["estimates"]["gaps"]
    assert gaps["high"] < hit.sum() <= found.interval[1]
    assert any("upper limit of the risk" in line for line in found.findings.warnings)


def test_items_that_the_release_lacks_are_counted_and_change_nothing(pair, links):
    data, aux, _ = pair
    more = so.Knowledge.from_arrays(
        np.concatenate([aux.queries[aux.query], aux.queries]),
        np.concatenate([aux.item, 10_000 + np.arange(aux.n_queries) % 3]),
        np.concatenate([aux.value, np.full(aux.n_queries, 3.0)]),
    )
    found = so.link(data, more)
    assert found.details["data"]["n_items_unknown"] == 3
    assert found.details["data"]["n_facts_unknown"] == aux.n_queries
    np.testing.assert_array_equal(found.best, links.best)
    np.testing.assert_allclose(found.posterior, links.posterior, atol=1e-6)


def test_a_map_of_items_replaces_their_labels(pair, links):
    data, aux, _ = pair
    renamed = so.Knowledge.from_arrays(
        aux.queries[aux.query], [f"title {i}" for i in aux.item], aux.value
    )
    found = so.link(data, renamed, items={f"title {i}": i for i in np.unique(aux.item).tolist()})
    np.testing.assert_array_equal(found.best, links.best)


def test_nothing_shows_who_is_linked_unless_labels_are_asked_for(entries):
    names = np.array([f"Ann Example {k}" for k in range(400)])
    data = so.Dataset.from_arrays(names[entries[:, 0]], entries[:, 1], entries[:, 2])
    found = so.link(data, data, canaries=False)
    shown = (
        repr(found)
        + str(found)
        + found._repr_html_()
        + found.to_frame().to_string()
        + found.findings.to_json()
    )
    assert "Ann" not in shown
    assert "best" not in json.loads(found.findings.to_json())["links"]
    frame = found.to_frame(labels=True)
    assert (frame["person"] == frame["record"]).all()


def test_findings_survive_saving_and_damage_is_refused(links, tmp_path):
    path = links.save(tmp_path / "links.json")
    assert so.LinkFindings.load(path).to_dict() == links.findings.to_dict()
    for text, what in (
        ("{", "not JSON"),
        ('{"kind": "link"}', "schema version"),
        ("[1]", "schema version"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=what):
            so.LinkFindings.load(path)
    path.write_text(json.dumps({k: v for k, v in links.findings.to_dict().items() if k != "noise"}))
    with pytest.raises(InputError, match="lack 'noise'"):
        so.LinkFindings.load(path)


def test_a_release_too_small_for_the_test_accepts_nobody_and_says_so(entries):
    data = release(entries[entries[:, 0] < 12])
    found = so.link(data, data)
    assert found.refused.all()
    assert not found.accepted(0.05).any()
    assert (found.best == np.arange(12)).all()
    assert any("applies to nobody" in line for line in found.details["warnings"])


@pytest.fixture(scope="module")
def timed(entries):
    """The same records with days, hours and minutes, and facts with hours; some people's times are unrelated."""
    minutes = entries.copy()
    minutes[:, 3] = 1440 * entries[:, 3] + np.random.default_rng(0).integers(0, 1440, len(entries))
    facts = second_file(minutes, np.arange(0, 400, 2), knows=3, e=0.1, days=20, unrelated=0.3)
    facts[:, 3] /= 1440
    data = {
        name: so.Dataset.from_arrays(
            entries[:, 0], entries[:, 1], None, minutes[:, 3] / 1440, resolution=name
        )
        for name in ("day", "hour", "minute")
    }
    return data, so.Knowledge.from_arrays(
        facts[:, 0].astype(int), facts[:, 1].astype(int), None, facts[:, 3]
    )


def test_hours_are_compared_if_both_files_have_them(timed):
    data, aux = timed
    found = {name: so.link(x, aux, canaries=False) for name, x in data.items()}
    right = {name: (links.best == truth(data[name], aux)).mean() for name, links in found.items()}
    assert found["hour"].noise.time.edges[:3] == (0.0, 1.0, 6.0)
    assert found["hour"].noise.time.within(1.0) > 0.85
    assert found["hour"].noise.unrelated == pytest.approx(0.3, abs=0.1)
    assert right["hour"] >= right["day"]
    np.testing.assert_array_equal(found["minute"].best, found["hour"].best)
    said = {
        name: any("they were compared by" in line for line in x.findings.warnings)
        for name, x in found.items()
    }
    assert said == {"day": False, "hour": False, "minute": True}


def test_canaries_of_a_release_with_hours_keep_their_hours(timed):
    data, aux = timed
    seen = so.link(data["hour"], aux).details["canaries"]
    assert seen["found"]["rate"] > 0.6


def test_a_second_file_of_whole_days_is_compared_by_days(timed):
    data, aux = timed
    days = so.Knowledge.from_arrays(aux.queries[aux.query], aux.item, None, np.floor(aux.time))
    coarse, fine = (so.link(data[name], days, canaries=False) for name in ("day", "hour"))
    np.testing.assert_array_equal(coarse.best, fine.best)
    np.testing.assert_allclose(coarse.posterior, fine.posterior)
    assert any(
        "by the hour; they were compared by the day" in line for line in fine.findings.warnings
    )


def test_people_with_one_or_two_plain_items_are_refused_not_accepted():
    rng = np.random.default_rng(0)
    record, item = np.repeat(np.arange(500), 3), rng.integers(0, 20, 1500)
    data = so.Dataset.from_arrays(record, item, repeats="last")
    found = so.link(data, so.Knowledge.from_arrays(np.arange(100), rng.integers(0, 20, 100)))
    assert found.refused.mean() > 0.9
    assert not found.accepted(0.2).any()


def test_a_truth_with_shuffled_labels_is_questioned(links, pair):
    data, aux, right = pair
    assert not any(
        "contradicts" in w for w in judged(links, data, aux, right, others=()).findings.warnings
    )
    shuffled = np.where(right >= 0, (right + 7) % data.n_records, -1)
    noted = judged(links, data, aux, shuffled, others=()).findings.warnings
    assert any("The truth contradicts the links" in w for w in noted)


def test_people_whom_the_test_does_not_apply_to_do_not_read_as_nobody_who_can_be_named():
    """Few exact facts: scores lie on a lattice, and the test accepts nobody, although almost all links are sure."""
    rng = np.random.default_rng(2)
    record, item = np.divmod(np.arange(300 * 100), 100)
    kept = rng.random(record.size) < 0.2
    record, item, value = record[kept], item[kept], rng.integers(1, 6, int(kept.sum()))
    order = rng.permutation(record.size)
    first = order[np.sort(np.unique(record[order], return_index=True)[1])]
    rest = np.setdiff1d(order, first)
    second = rest[np.unique(record[rest], return_index=True)[1]]
    told = np.concatenate([first, second])[np.concatenate([record[first], record[second]]) < 100]
    day = rng.integers(0, 900, record.size)
    data = so.Dataset.from_arrays(record, item, value, day)
    found = so.link(
        data,
        so.Knowledge.from_arrays(record[told], item[told], value[told], day[told].astype(float)),
    )
    assert found.refused.mean() > 0.9 and found.accepted(0.05, "posterior").sum() > 80
    text = str(found)
    assert (
        f"she can name {found.accepted(0.05, 'posterior').sum():,} of all people with at most about 5 % wrong"
        in text
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [({"noise": "informed"}, "use 'fit' or a LinkNoise"), ({"noise": 3}, "noise=3")],
)
def test_wrong_options_are_refused(pair, options, words):
    with pytest.raises(ParameterError, match=words):
        so.link(pair[0], pair[1], **options)
    with pytest.raises(ParameterError, match="Dataset or a Knowledge"):
        so.link(pair[0], [1, 2, 3])


def test_wrong_cuts_are_refused(links):
    with pytest.raises(ParameterError, match="fdr=0"):
        links.accepted(0)
    with pytest.raises(ParameterError, match="use 'spacing' or 'posterior'"):
        links.accepted(0.05, rule="own")


def test_absent_canaries_are_rarely_accepted_and_present_ones_mostly_found(links):
    seen = links.details["canaries"]
    assert seen["absent_below_5"]["rate"] < 0.12
    assert seen["found"]["rate"] > 0.7


def test_whole_profiles_of_hundreds_of_items_score_like_the_formula():
    """Sums of hundreds of logarithms exceed 32 bits at full precision: they must be scaled, not overflow."""
    from standout.linking.attack import LinkLikelihood, MentionPopularity
    from standout.linking.noise import LinkNoise

    rng = np.random.default_rng(5)
    n, m = 60, 900
    held = rng.random((n, m)) < 0.6
    record, item = np.nonzero(held)
    data = so.Dataset.from_arrays(record, item)
    noise = LinkNoise((0.001,))
    aux = so.Knowledge.from_arrays(record, item)
    mentions = MentionPopularity.of(data, aux.bind(data))
    got = LinkLikelihood(noise, mentions).scores(data, aux)
    count = held.sum(axis=0)
    q = (count[None, :] - held + mentions.strength * count / count.sum()) / (
        count.sum() - held.sum(axis=1)[:, None] + mentions.strength
    )
    for query in range(0, n, 7):
        facts = np.flatnonzero(held[query])
        odds = 0.999 / (0.001 * q[query, facts])
        want = facts.size * np.log(0.001) + [
            np.log1p(odds[held[r, facts]] / held[r].sum()).sum() for r in range(n)
        ]
        np.testing.assert_allclose(got[query], want, rtol=1e-5, atol=0.02)
    assert np.abs(got).max() > 1000
    assert (link(data, aux, noise=noise, canaries=False).best == np.arange(n)).all()
