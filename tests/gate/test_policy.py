"""A policy that is misread could let anything pass: every mistake in it is refused and named."""

from __future__ import annotations

import pytest

import standout as so
from standout.cli.check import DOMAINS as OFFERED
from standout.errors import ParameterError, StandoutError
from standout.gate.policy import MEASURES, Policy
from standout.gate.template import DOMAINS, template

LIMIT = {"max": 0.09}


def refused(data, *words):
    with pytest.raises(StandoutError) as caught:
        Policy.from_dict(data)
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_an_unknown_key_is_refused_with_the_nearest_valid_key():
    refused({"limit": [LIMIT], "confidense": 0.99}, "'confidense'", "did you mean 'confidence'")
    refused(
        {"limit": [LIMIT], "minimum_targets": 5}, "'minimum_targets'", "did you mean 'min_targets'"
    )
    refused({"limit": [{"maximum": 0.09}]}, "'maximum' in [[limit]] 1", "did you mean 'max'")
    refused(
        {"limit": [LIMIT], "adversary": {"a": {"know": 3}}},
        "'know' in [adversary.a]",
        "did you mean 'knows'",
    )
    refused(
        {"limit": [LIMIT], "near_duplicates": {"max": 0.1, "similar": 0.5}},
        "did you mean 'similarity'",
    )


@pytest.mark.parametrize("bad", [1.5, -0.1, "9%", True, None, float("nan"), float("inf"), [0.1], 9])
def test_a_limit_that_is_no_rate_is_refused(bad):
    refused({"limit": [{"max": bad}]}, "'max' in [[limit]] 1", "from 0 to 1")


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({}, "no [[limit]]"),
        ({"limit": []}, "no [[limit]]"),
        ({"limit": [{}]}, "'max' in [[limit]] 1 is missing"),
        ({"limit": LIMIT}, "[[limit]]"),
        ({"limit": ["hit"]}, "'limit'"),
        ({"limit": [LIMIT], "targets": 0}, "'targets'"),
        ({"limit": [LIMIT], "targets": 10.5}, "'targets'"),
        ({"limit": [LIMIT], "targets": True}, "'targets'"),
        ({"limit": [LIMIT], "targets": "many"}, "'targets'"),
        ({"limit": [LIMIT], "confidence": 1}, "'confidence'"),
        ({"limit": [LIMIT], "confidence": 0}, "'confidence'"),
        ({"limit": [LIMIT], "sequential": "yes"}, "'sequential'"),
        ({"limit": [LIMIT], "self_test": 0}, "'self_test'"),
        ({"limit": [LIMIT], "attacks": "likelihood"}, "'attacks'"),
        ({"limit": [LIMIT], "attacks": []}, "'attacks' is empty"),
        ({"limit": [LIMIT], "attacks": ["likelyhood"]}, "Did you mean 'likelihood'"),
        ({"limit": [LIMIT], "attacks": ["unicity", "unicity"]}, "twice"),
        ({"limit": [LIMIT], "version": 2}, "'version'"),
        ({"limit": [LIMIT], "max_age_days": -1}, "'max_age_days'"),
        ({"limit": [LIMIT], "min_targets": 2000}, "no release can pass"),
        ({"limit": [{**LIMIT, "measure": "hits"}]}, "did you mean 'hit'"),
        ({"limit": [{**LIMIT, "of": "everyone"}]}, "'of'"),
        ({"limit": [{**LIMIT, "by": "lenght"}]}, "did you mean 'length'"),
        ({"limit": [{**LIMIT, "of": "all", "by": "length"}]}, "'of'"),
        ({"limit": [{**LIMIT, "of": "all", "measure": "false-match"}]}, "'of'"),
        ({"limit": [{**LIMIT, "adversaries": ["me"]}]}, "'me'"),
        ({"limit": [{**LIMIT, "adversaries": []}]}, "is empty"),
        ({"limit": [{**LIMIT, "adversaries": "all"}]}, "'all'"),
        ({"limit": [{**LIMIT, "attacks": ["unicity"]}]}, "'unicity'"),
        ({"limit": [{**LIMIT, "attacks": []}]}, "names nothing"),
        ({"limit": [{**LIMIT, "name": "a"}, {**LIMIT, "name": "a"}]}, "'a'"),
        ({"limit": [LIMIT], "adversary": {"a": {"knows": 0}}}, "[adversary.a]"),
        ({"limit": [LIMIT], "adversary": {"a": 3}}, "adversary.a"),
        ({"limit": [LIMIT], "adversary": 3}, "'adversary'"),
        ({"limit": [LIMIT], "near_duplicates": {}}, "'max' in [near_duplicates] is missing"),
        ([], "policy is a list"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(data, word):
    refused(data, word)


def test_a_file_that_is_no_policy_is_refused(tmp_path):
    path = tmp_path / "policy.toml"
    with pytest.raises(StandoutError, match="cannot read policy"):
        Policy.load(path)
    for content, word in (
        (b"max = ", "not TOML"),
        (b"\xff\xfe", "UTF-8"),
        (b"#" * 2**20 + b"##", "larger than"),
    ):
        path.write_bytes(content)
        with pytest.raises(StandoutError, match=word):
            Policy.load(path)
    with pytest.raises(StandoutError, match="cannot read policy"):
        Policy.load(tmp_path)


def test_the_hash_of_a_policy_ignores_comments_and_order_but_not_numbers(tmp_path):
    first, second = tmp_path / "a.toml", tmp_path / "b.toml"
    first.write_text("targets = 50\nconfidence = 0.9\n[[limit]]\nmax = 0.09\n[end]\n")
    second.write_text("# note\nconfidence = 0.9\ntargets = 50\n[[limit]]\nmax = 0.09\n[end]\n")
    assert Policy.load(first).sha256 == Policy.load(second).sha256
    second.write_text("confidence = 0.9\ntargets = 50\n[[limit]]\nmax = 0.091\n[end]\n")
    assert Policy.load(first).sha256 != Policy.load(second).sha256


def test_a_policy_that_was_cut_off_is_refused_at_every_length(tmp_path):
    """Cut at any character but the last ones: without this, a policy without its last limits is a valid policy."""
    path, text = tmp_path / "policy.toml", template("health")
    path.write_text(text)
    whole = Policy.load(path)
    for n in [*range(0, len(text) - 1, 17), *range(len(text) - 60, len(text) - 1)]:
        path.write_text(text[:n])
        with pytest.raises(StandoutError):
            Policy.load(path)
    path.write_text(text[: text.index("[end]")])
    with pytest.raises(StandoutError, match=r"add \[end\] as its last line$"):
        Policy.load(path)
    assert "end" not in whole.given, "the hash of a policy is that of its content"
    path.write_text(
        text[: text.index("[end]")].replace("[near_duplicates]", "[end]\n[near_duplicates]")
    )
    with pytest.raises(StandoutError, match="does not end with"):
        Policy.load(path)


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_policy_of_every_domain_can_be_read_and_names_the_source_of_each_limit(
    domain, tmp_path
):
    path = tmp_path / "policy.toml"
    path.write_text(template(domain))
    made = so.Policy.load(path)
    assert made.name == domain
    assert all(limit.source for limit in made.limits)
    assert any(limit.by == "risk" for limit in made.limits)


def test_the_commented_limit_of_the_template_is_valid_too(tmp_path):
    text = template("general")
    start = text.index("# [[limit]]")
    block = text[start : text.index("\n\n", start)]
    path = tmp_path / "policy.toml"
    path.write_text(text.replace(block, block.replace("# ", "")))
    assert [limit.name for limit in Policy.load(path).limits] == [
        "acquaintance",
        "all knowledge",
        "worst group",
    ]


def test_the_command_offers_the_domains_that_exist():
    assert tuple(DOMAINS) == OFFERED


def test_none_in_text_means_a_channel_that_is_not_known():
    made = Policy.from_dict(
        {"limit": [LIMIT], "adversary": {"a": {"knows": 2, "value_within": "none"}}}
    )
    assert made.adversaries["a"].value_within is None


def test_required_attacks_are_run_although_they_are_not_listed():
    made = Policy.from_dict(
        {"limit": [LIMIT], "attacks": ["scoreboard"], "required_attacks": ["likelihood"]}
    )
    assert made.all_attacks == ("scoreboard", "likelihood")


def test_every_measure_is_accepted():
    for measure in MEASURES:
        Policy.from_dict({"limit": [{**LIMIT, "measure": measure}]})


def test_a_check_refuses_what_is_no_policy():
    data = so.Dataset.from_arrays([1, 1, 2, 2], [1, 2, 1, 3])
    with pytest.raises(ParameterError, match="policy is a int"):
        so.check(data, 5)
