"""The three sentences say what the numbers say: of a terrible, a middling, a safe and an undecided audit."""

from __future__ import annotations

import numpy as np
import pytest
from made_findings import adversary, findings, rate, result

import standout as so
from standout.errors import InputError, ParameterError
from standout.extend import GroupsView
from standout.report.sentences import judge_level, statements_of, write_statements
from standout.report.view import view


def said(found):
    seen = view(found)
    return judge_level(seen)[0], list(write_statements(seen))


def test_a_terrible_dataset_is_told_by_the_least_knowledge_that_finds_most_people():
    found = findings(
        result(adversary(8, wrong=2), 500, 500, right=495, false=0),
        result(adversary(4), 490, 500, right=450, false=5),
        result(adversary(2), 60, 500, right=30, false=50),
    )
    level, sentences = said(found)
    assert level == "most"
    assert sentences == [
        "Knowing 4 items, their values to within 1 and days to within 14, is enough to single out 98% of all "
        "people: no other record fits what is known (95% interval 96.3% to 99%; 490 of 500 people tested; a random guess: "
        "0.01%). The best guess finds hardly anybody else. Rare items find more people, popular ones far fewer.",
        "No second source was linked. By its own rule, scoreboard-rh names the right record for 90% of 500 people in the data, a "
        "wrong one for 0%, and for people who are not in the data a false one for 1%. If one in ten of those looked up is in the "
        "data, which is an assumption, 90.9% of the names given are right.",
        "Finding a record also reveals the rest of it: for people with at least 4 items, on average 56 more items than the "
        "4 known, each with its value and day.",
    ]


def test_no_false_match_seen_is_not_a_precision_of_100():
    _, sentences = said(findings(result(adversary(8), 500, 500, right=500, false=0)))
    assert "at least 94.3% of the names given are right" in sentences[1]


def test_a_middling_dataset_is_told_by_its_highest_rate():
    found = findings(
        result(adversary(2), 10, 500, right=5, false=25),
        result(adversary(8), 100, 500, right=60, false=25),
    )
    level, sentences = said(found)
    assert level == "some"
    assert sentences[0] == (
        "Knowing 8 items, their values to within 1 and days to within 14, singles out 20% of all people: no other "
        "record fits what is known (95% interval 16% to 24%; 100 of 500 people tested; a random guess: 0.01%), the most of all "
        "knowledge tried. The best guess finds hardly anybody else. Rare items find more people, popular ones far fewer."
    )
    assert "21% of the names given are right" in sentences[1]


def test_a_safe_dataset_is_told_by_a_one_sided_bound_and_its_limits():
    found = findings(
        result(adversary(2), 0, 500, right=0, false=5, bits=9.0),
        result(adversary(8), 0, 500, right=0, false=5, bits=9.0),
    )
    level, sentences = said(found)
    assert level == "none"
    assert sentences == [
        "No attack singled people out, or found them, more often than a guess would. With the strongest knowledge tried, "
        "8 items, their values to within 1 and days to within 14, at most 0.6% of all people are found (95% confidence; 0 of 500 "
        "people tested; the strongest of 1 attack; a random guess: 0.01%). Not tried: more than 8 items, exact values, exact "
        "days and a person's rarest items.",
        "No second source was linked. By its own rule, scoreboard-rh names the right record for none of 500 people in the data "
        "(at most 0.6%, 95% confidence), a wrong one for 0%, and for people who are not in the data a false one for 1%.",
        "What is known narrows 10,000 records down to about 512, so little can be inferred about one person; "
        "this holds for the attacks and the knowledge that were tried, and is no proof against others.",
    ]


def test_a_small_group_is_not_called_harmless():
    _, sentences = said(findings(result(adversary(2), 0, 500, right=0, false=5, bits=2.0)))
    assert "down to about 4, few enough to infer what they have in common" in sentences[2]


def test_an_inconclusive_audit_says_that_it_cannot_tell_and_what_would():
    level, sentences = said(findings(result(adversary(2), 0, 6, right=0, false=0)))
    assert level == "open"
    assert sentences == [
        "This audit cannot tell: with the strongest knowledge tried, 2 items, their values to within 1 and days to within 14, "
        "the best guess found 0 of 6 people tested, which fits any rate up to 40% (95% confidence; a random guess: 0.01%).",
        "No second source was linked. By its own rule, scoreboard-rh names the right record for none of 6 people in the data "
        "(at most 40%, 95% confidence), a wrong one for 0%, and for people who are not in the data a false one for 0%.",
        "Nothing follows for inference either way: run the audit again on at least 118 targets (half of them set the threshold) "
        "before deciding.",
    ]


def test_a_missing_measurement_is_said_and_never_a_zero():
    level, sentences = said(
        findings(result(adversary(2), 400, 500, right=300, false=5, unique=None, sure=None))
    )
    assert level == "most"
    assert sentences[0].startswith(
        "Whom knowing 2 items, their values to within 1 and days to within 14 singles out was not "
        "measured: nobody asked. The best guess is right for 80% of all people"
    )
    assert "single out" not in sentences[0] and "singled out" not in sentences[0]


def test_a_best_guess_is_not_called_singling_out():
    found = findings(
        result(
            adversary(4, value_within=None, time_within=None),
            465,
            500,
            right=300,
            false=5,
            unique=140,
            sure=155,
        )
    )
    level, sentences = said(found)
    assert level == "most"
    assert sentences[0] == (
        "Knowing 4 items singles out 31% of all people: the attacker names the right record and can be at least 95% sure of it "
        "(95% interval 27% to 36%; 155 of 500 people tested; a random guess: 0.01%). 28% are unique: no other record fits what "
        "is known. The best guess is right for 93% of all people (95% interval 90.4% to 95%; 465 of 500 people tested; a random "
        "guess: 0.01%), if the known items are a random sample of the person's items, so that short records are likelier. Rare "
        "items find more people, popular ones far fewer."
    )


def test_the_only_record_that_fits_may_be_somebody_elses_if_the_person_is_missing():
    _, sentences = said(
        findings(result(adversary(1), 450, 500, right=300, false=5, unique=365, sure=10))
    )
    assert (
        "is enough to single out 73% of all people: no other record fits what is known"
        in sentences[0]
    )
    assert (
        "Not knowing whether the person is in the data, the attacker can be at least 95% sure of 2%."
        in sentences[0]
    )


def test_nobody_singled_out_is_said_with_a_bound_and_is_no_all_clear():
    level, sentences = said(
        findings(result(adversary(2), 300, 500, right=30, false=5, unique=0, sure=0))
    )
    assert level == "most"
    assert (
        "singled out none of 500 people tested (at most 0.6%, 95% confidence). The best guess is right for 60%"
        in sentences[0]
    )


@pytest.mark.parametrize("name", ["unique", "sure"])
def test_an_all_clear_needs_all_three_measures_to_be_low(name):
    """An attack that fails proves nothing where people are unique: a better attack would find them."""
    rates = {"unique": 0, "sure": 0, name: 200}
    level, sentences = said(findings(result(adversary(2), 0, 500, right=0, false=5, **rates)))
    assert level == "some" and "singles out 40%" in sentences[0]
    assert "The attacks that ran found fewer (0%): another attack would find more." in sentences[0]


def test_the_least_knowledge_for_a_guess_is_named_beside_the_least_that_singles_out():
    found = findings(
        result(adversary(2), 300, 500, right=30, false=5, unique=50, sure=20),
        result(adversary(8), 500, 500, right=30, false=5, unique=490, sure=400),
    )
    level, sentences = said(found)
    assert (
        level == "most" and "Knowing 8 items" in sentences[0] and "single out 98%" in sentences[0]
    )
    assert (
        "A best guess from 2 items, their values to within 1 and days to within 14, is already right for 60% of all people"
        in sentences[0]
    )


def test_the_share_of_people_in_the_data_is_an_assumption_that_can_be_changed():
    seen = view(findings(result(adversary(4), 490, 500, right=450, false=5)))
    assert (
        "If one in ten of those looked up is in the data, which is an assumption"
        in write_statements(seen)[1]
    )
    text = write_statements(seen, prior=0.5)[1]
    assert (
        "If 50% of those looked up are in the data, which is an assumption, 98.9% of the names"
        in text
    )
    with pytest.raises(ParameterError, match="between 0 and 1"):
        write_statements(seen, prior=1.5)


def test_wrong_names_of_people_in_the_data_count_against_the_links():
    one = result(adversary(4), 250, 500, right=250, false=0, attack="likelihood")
    one["attacks"][0]["matched_wrong"] = rate(250, 500)
    assert "50% of the names given are right" in said(findings(one))[1][1]


def test_a_link_is_stated_by_a_rule_that_needs_no_truth():
    strongest = result(adversary(4), 400, 500, right=300, false=5, attack="scoreboard")
    model = result(adversary(4), 390, 500, right=200, false=10, attack="likelihood")
    model["attacks"][0]["attack"]["options"] = {"cut": 0.5}
    _, sentences = said(findings({**strongest, "sure_attack": "likelihood"}, model))
    assert (
        "Naming a record if its probability is at least 50%, likelihood names the right record for 40%"
        in sentences[1]
    )


def test_a_few_lucky_hits_among_many_kinds_of_knowledge_are_no_finding():
    kinds = [
        result(
            adversary(2, time_within=t), 4 if t == 3 else 0, 100, right=0, false=0, n_records=100
        )
        for t in range(1, 19)
    ]
    level, _ = said(findings(*kinds, n_records=100))
    assert level == "none"


def test_the_strongest_attack_speaks_not_the_first():
    weak = result(adversary(2), 0, 500, right=0, false=0, attack="scoreboard")
    strong = result(adversary(2), 400, 500, right=400, false=0, attack="likelihood")
    assert said(findings(strong, weak))[0] == "most"
    assert view(findings(strong, weak)).cases[0].attack == "likelihood"


def test_findings_without_results_are_refused():
    with pytest.raises(InputError, match="no result"):
        view(findings())


def test_no_is_said_of_the_strongest_knowledge_and_not_of_the_weakest():
    found = findings(
        result(adversary(1, value_within=None, time_within=None), 0, 20, right=0, false=0),
        result(adversary(8, value_within=0, time_within=0), 0, 500, right=0, false=5, bits=9.0),
        result(
            adversary(8, wrong=2, value_within=0, time_within=0), 0, 400, right=0, false=5, bits=9.0
        ),
    )
    level, sentences = said(found)
    assert level == "none"
    assert (
        "strongest knowledge tried, 8 items, their exact values and days, at most 0.6%"
        in sentences[0]
    )
    assert "Not tried: more than 8 items and a person's rarest items." in sentences[0]


def test_few_tests_of_the_strongest_knowledge_are_no_all_clear():
    found = findings(
        result(adversary(2), 0, 5000, right=0, false=5, bits=9.0),
        result(adversary(8), 0, 6, right=0, false=0),
    )
    assert said(found)[0] == "open"


def test_people_with_too_few_items_are_not_counted_as_people_found():
    rare = result(
        adversary(6, value_within=None, time_within=None),
        370,
        500,
        right=300,
        false=5,
        share=0.13,
        more=3.4,
    )
    common = result(
        adversary(2, value_within=None, time_within=None), 150, 500, right=100, false=5, share=0.8
    )
    _, sentences = said(findings(common, rare))
    assert sentences[0] == (
        "Knowing 6 items is enough to single out 74% of people with at least 6 items, which is 9.6% of all people: no other "
        "record fits what is known (95% intervals 69% to 78% and 9% to 11%; 370 of 500 people tested; a random guess: 0.01%). "
        "The best guess finds hardly anybody else. Rare items find more people, popular ones far fewer. Of all people, the best "
        "guess finds most knowing 2 items: 24%."
    )
    assert (
        "right record for 60% of 500 people in the data with enough items (7.8% of all people)"
        in sentences[1]
    )
    assert (
        "for people with at least 6 items, on average 3.4 more items than the 6 known"
        in sentences[2]
    )


@pytest.mark.parametrize(
    "known", [{"choose": "together:day"}, {"choose": "outside-top:5"}, {"view": "sequence"}]
)
def test_where_not_any_item_can_be_known_the_number_of_items_is_not_said_to_decide(known):
    who = adversary(2, value_within=None, time_within=None) | known
    _, sentences = said(findings(result(who, 370, 500, right=300, false=5, share=0.13, more=3.4)))
    assert "74% of people of whom that much can be known, which is 9.6% of all" in sentences[0]
    # what is known through a view are no items of the record
    beyond = "3.4 items" if "view" in known else "3.4 more items than the 2 known"
    assert f"for people of whom that much can be known, on average {beyond}" in sentences[2]


def test_print_gives_the_three_sentences():
    found = findings(result(adversary(2), 60, 500, right=30, false=50))
    assert str(found).splitlines() == said(found)[1]


def test_the_remaining_uncertainty_is_the_likelihoods_and_not_the_strongest_attacks():
    silent = result(adversary(2), 0, 500, right=0, false=5, bits=9.0)
    model = result(adversary(2), 0, 500, right=0, false=5, bits=3.0, attack="likelihood")
    found = findings({**silent, "uncertainty": model["uncertainty"]}, model)
    assert "down to about 8, few enough" in said(found)[1][2]


@pytest.mark.parametrize(
    ("within", "words"), [("10%", "values to within 10%"), (0, "exact values")]
)
def test_a_tolerance_that_is_a_share_of_the_value_is_written_as_one(within, words):
    _, sentences = said(
        findings(result(adversary(2, value_within=within), 60, 500, right=30, false=50))
    )
    assert f"2 items, their {words}" in sentences[0]


def test_two_records_are_never_declared_safe():
    """Ten times the guess is everybody there: the bound must not be measured against it."""
    ds = so.Dataset.from_arrays([0, 0, 1, 1], [1, 2, 1, 3])
    seen = view(so.Audit(ds, seed=1).run(progress=False))
    assert judge_level(seen)[0] == "open", write_statements(seen)[0]


def test_the_answer_names_a_view_in_words_and_not_by_the_name_of_its_file():
    rng = np.random.default_rng(2)
    item = rng.integers(0, 30, 600)
    data = so.Dataset.from_arrays(np.repeat(np.arange(60), 10), item)
    view = GroupsView({k: f"c{k % 11}" for k in range(30)}, name="categories")
    found = so.Audit(data, [so.Adversary(knows=4, view=view)], targets=40).run(progress=False)
    first = statements_of(found)[0]
    assert "4 items (items known as categories)" in first
    assert "groups:" not in first


def test_a_best_guess_from_attributes_alone_does_not_depend_on_how_items_are_chosen():
    # each of 60 people shares the town with one other: the best guess is one of two
    person = np.repeat(np.arange(60), 4)
    item = np.random.default_rng(3).integers(0, 30, person.size)
    data = so.Dataset.from_arrays(person, item, attributes={"town": person // 2})
    who = so.Adversary(knows=0, within={"town": 0})
    first, _, last = statements_of(so.Audit(data, [who], targets=60).run(progress=False))
    assert "The best guess is right for 50% of all people" in first
    assert "where several records fit equally well, it is one of them at random" in first
    assert "if the known items" not in first
    assert "people with at least" not in last
