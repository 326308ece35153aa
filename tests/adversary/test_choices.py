"""Choices: how they are written, what they compile to, and how often each item is drawn."""

import runpy
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout import extend
from standout.adversary import choices
from standout.errors import EligibilityError, ParameterError
from standout.formulas.pick_order import log_mean_order


@pytest.fixture
def registry():
    before = dict(choices._REGISTRY)
    yield
    choices._REGISTRY.clear()
    choices._REGISTRY.update(before)


def one_person(n_copies, counts=(1, 2, 4, 8), supports=(2, 4, 8, 1)):
    """Many records that hold items 0 to 3 with these numbers of events, and others that give the items their supports."""
    own = np.repeat(np.arange(len(counts)), counts)
    record, item = [np.repeat(np.arange(n_copies), own.size)], [np.tile(own, n_copies)]
    for i, n in enumerate(supports):
        record.append(np.arange(n * n_copies) + (i + 1) * 100 * n_copies)
        item.append(np.full(n * n_copies, i))
    record = np.concatenate(record)
    return so.Dataset.from_arrays(record, np.concatenate(item), np.arange(record.size) % 5 + 1.0)


@pytest.mark.parametrize("choose, weight", [("event", (1, 2, 4, 8)), ("popular", (3, 5, 9, 2))])
@pytest.mark.parametrize("knows", [1, 2, 3])
def test_a_hundred_thousand_draws_agree_with_the_probabilities(choose, weight, knows):
    n = 500
    ds = one_person(n)
    who = so.Adversary(knows=knows, value_within=None, choose=choose)
    draws = 200
    seen = np.zeros((draws * n, knows), np.int64)
    for seed in range(draws):
        knowledge = who.sample(ds, np.arange(n), seed)
        seen[seed * n : (seed + 1) * n] = knowledge.item.reshape(n, knows)
    total = 0
    for order in permutations(range(4), knows):
        p, left = 1.0, sum(weight)
        for i in order:
            p *= weight[i] / left
            left -= weight[i]
        total += p
        # facts come in random order: count the sets
    assert total == pytest.approx(1)
    key = np.sort(seen, axis=1) @ 10 ** np.arange(knows)
    for items in {tuple(sorted(order)) for order in permutations(range(4), knows)}:
        p = 0.0
        for order in permutations(items):
            q, left = 1.0, sum(weight)
            for i in order:
                q *= weight[i] / left
                left -= weight[i]
            p += q
        count = (key == np.array(items) @ 10 ** np.arange(knows)).sum()
        assert abs(count - draws * n * p) < 5 * np.sqrt(draws * n * p * (1 - p)) + 1


def test_without_repeats_a_random_event_is_a_random_item():
    rng = np.random.default_rng(1)
    record, item = np.divmod(np.flatnonzero(rng.random(50 * 20) < 0.5), 20)
    ds = so.Dataset.from_arrays(record, item)
    one, two = (
        so.Adversary(knows=3, value_within=None, choose=c).sample(ds, seed=4)
        for c in ("event", "uniform")
    )
    np.testing.assert_array_equal(one.item, two.item)


@pytest.mark.parametrize("n", [3, 10, 11, 16, 24, 40])
@pytest.mark.parametrize("spread", [1, 1e6])
def test_the_probability_of_many_picks_is_exact(n, spread):
    rng = np.random.default_rng(n)
    weight = np.floor(1 + spread * rng.random(n) ** 6)
    total = weight.sum() + 1 + rng.integers(0, 50)
    ours = log_mean_order(weight, n, total, np.empty(1024))
    # inclusion and exclusion over the items, in exact arithmetic where it is cheap
    if n <= 16:
        table = {0: 1.0}
        for chosen in range(1, 1 << n):
            inside = [j for j in range(n) if chosen >> j & 1]
            whole = sum(weight[j] for j in inside)
            table[chosen] = sum(
                table[chosen ^ (1 << j)] * weight[j] / (total - whole + weight[j]) for j in inside
            )
        expected = np.log(table[(1 << n) - 1]) - sum(np.log(k) for k in range(2, n + 1))
        assert ours == pytest.approx(expected, abs=1e-9)
    even = log_mean_order(np.full(n, 3.0), n, 3.0 * n + 30, np.empty(1024))
    assert even == pytest.approx(sum(np.log(3 / (3 * n + 30 - 3 * j)) for j in range(n)), abs=1e-9)


@pytest.mark.parametrize(
    "text", ["", "uniform:3", "often", "popular:", "outside-top", "rare:2@1", "event:x", ":"]
)
def test_a_choice_that_does_not_exist_is_refused_with_all_that_do(text):
    with pytest.raises(ParameterError) as error:
        so.Adversary(choose=text)
    said = str(error.value)
    assert "\n" not in said and repr(text.partition(":")[0])[1:-1] in said
    if "takes nothing" not in said:
        for name in ("uniform", "event", "popular", "outside-top:K", "rare:SHARE@T"):
            assert name in said


def test_the_words_say_how_items_are_chosen():
    words = {c: so.Adversary(knows=4, value_within=None, choose=c).describe() for c in NAMES}
    assert words["uniform"] == "4 items"
    assert words["event"] == "4 items, items of random events"
    assert words["popular"] == "4 items, popular items more likely"
    assert words["outside-top:3"] == "4 items, outside-top:3"


NAMES = ("uniform", "event", "popular", "outside-top:3")


def test_a_choice_from_outside_is_drawn_and_evaluated(registry):
    @extend.register_choice("only-even")
    class OnlyEven(extend.Choice):
        """Items with an even place in the catalog, the later ones more often."""

        def compile(self, catalog, knows):
            place = np.arange(catalog.n_items)
            return extend.PickRule(weight=np.where(place % 2 == 0, np.sqrt(1.0 + place), 0.0))

    rng = np.random.default_rng(2)
    record, item = np.divmod(np.flatnonzero(rng.random(80 * 30) < 0.4), 30)
    ds = so.Dataset.from_arrays(record, item)
    who = so.Adversary(knows=3, value_within=None, choose="only-even")
    knowledge = who.sample(ds, seed=3)
    assert (knowledge.item % 2 == 0).all()
    seen = so.attack("likelihood", calibrate=False).run(ds, knowledge, watch=who.eligible(ds))
    assert seen.credit.mean() > 0.2
    assert "only-even" in who.describe()


@pytest.mark.parametrize(
    "weight, said",
    [([1.0], "1 items"), ([-1.0, 1.0, 1.0], "negative"), ([np.nan, 1, 1], "negative")],
)
def test_weights_that_are_no_weights_are_refused(registry, weight, said):
    @extend.register_choice("bad")
    class Bad(extend.Choice):
        """Weights that make no sense."""

        def compile(self, catalog, knows):
            return extend.PickRule(weight=np.array(weight))

    ds = so.Dataset.from_arrays([0, 0, 1, 1], [0, 1, 1, 2])
    with pytest.raises(ParameterError, match=said):
        so.Adversary(knows=1, value_within=None, choose="bad").sample(ds)


def test_items_of_weight_zero_are_never_known_and_count_in_no_record(registry):
    @extend.register_choice("none-of-them")
    class NoneOfThem(extend.Choice):
        """No item at all."""

        def compile(self, catalog, knows):
            return extend.PickRule(weight=np.zeros(catalog.n_items))

    ds = so.Dataset.from_arrays([0, 0, 1, 1], [0, 1, 1, 2])
    with pytest.raises(EligibilityError):
        so.Adversary(knows=1, value_within=None, choose="none-of-them").sample(ds)


def test_many_wrong_values_with_weights_are_refused():
    ds = so.Dataset.from_arrays(np.repeat(range(4), 30), np.tile(range(30), 4), np.arange(120) % 5)
    who = so.Adversary(knows=20, wrong=5, choose="popular")
    with pytest.raises(ParameterError, match="at most 16 items"):
        who.sample(ds)


def test_the_example_of_an_own_choice_runs_and_uses_public_names_only(registry, capsys):
    path = Path(__file__).parents[2] / "examples" / "own_choice.py"
    runpy.run_path(str(path))["main"]()
    shown = capsys.readouterr().out
    assert "popularity to the power of 0.5" in shown and "popular items more likely" in shown
    source = path.read_text()
    assert "import standout." not in source
    assert source.count("from standout import extend\n") == source.count("from standout") == 1
    assert len(source.splitlines()) <= 60


def test_where_the_choice_leaves_nobody_the_error_names_it():
    """ "The longest record holds 9 items" would not help: the choice asks for items that nobody has."""
    data = so.Dataset.from_arrays([1, 1, 2, 2], [1, 2, 1, 2])
    who = so.Adversary(knows=1, choose="outside-top:2")
    with pytest.raises(EligibilityError, match=r"outside-top:2.*use another choice"):
        so.Audit(data, [who], targets=2, describe=False).run(progress=False)
