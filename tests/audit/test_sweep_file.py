"""A sweep of one's own: what the file may say, and that nothing in it is ignored."""

from __future__ import annotations

import pytest

import standout as so
from standout.errors import InputError, ParameterError, StandoutError


@pytest.fixture
def sweep(tmp_path):
    def write(text):
        path = tmp_path / "my.toml"
        path.write_text(text)
        return path

    return write


def test_each_table_is_one_adversary_per_number_of_items(sweep):
    path = sweep(
        """
        [[adversary]]
        knows = [1, 2]
        choose = "event"
        time_within = 0

        [[adversary]]
        knows = 4
        value_within = 1
        time_within = "none"
        wrong = 1

        [[adversary]]
        knows = 1
        within = { price = "10%", time = "2h" }

        [[adversary]]
        knows = 2
        choose = "event"
        time_within = 0
        """
    )
    assert so.load_sweep(path) == [
        so.Adversary(1, value_within=None, time_within=0, choose="event"),
        so.Adversary(2, value_within=None, time_within=0, choose="event"),
        so.Adversary(4, 1, value_within=1),
        so.Adversary(1, within={"price": "10%", "time": "2h"}),
    ]


def test_a_channel_that_is_not_named_is_not_known(sweep):
    (who,) = so.load_sweep(sweep("[[adversary]]\nknows = 3"))
    assert who.value_within is None and who.time_within is None and not who.value_is_default
    assert who.wrong_kind == "item"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[adversary]]\nknow = 3", "adversary 1: unknown key 'know': did you mean 'knows'"),
        (
            "[[adversary]]\nknows = 3\n[[adversary]]\nknows=1\nchose='event'",
            "adversary 2: unknown key 'chose'",
        ),
        ("[[adverary]]\nknows = 3", "unknown key 'adverary': did you mean 'adversary'"),
        ("[adversary]\nknows = 3", "two brackets"),
        ("adversary = 3", "two brackets"),
        ("", "holds no"),
        ("[[adversary]]\nwrong = 0", "'knows' is missing"),
        ("[[adversary]]\nknows = 0", "adversary 1: knows=0"),
        ("[[adversary]]\nknows = []", "'knows' is"),
        ("[[adversary]]\nknows = true", "'knows' is True"),
        ("[[adversary]]\nknows = 2\nchoose = 'foo'", "adversary 1: choose='foo'"),
        ("[[adversary]]\nknows = 2\nview = 'foo'", "adversary 1: no view 'foo'"),
        ("[[adversary]]\nknows = 2\ntime_within = 2024-01-01", "'time_within' is"),
        ("[[adversary]]\nknows = 2\nwithin = 3", "'within' is 3"),
        ("[[adversary]]\nknows = 2\nwithin = {price = true}", "'within' is"),
        ("[[adversary]]\nknows = 2\nvalue_within = [1]", "'value_within' is"),
        ("[[adversary]\nknows", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_names_it(sweep, text, message):
    with pytest.raises(StandoutError) as error:
        so.load_sweep(sweep(text))
    said = str(error.value)
    assert message in said and "my.toml" in said and "\n" not in said.replace("\\n", "")


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot read sweep"):
        so.load_sweep(tmp_path / "none.toml")
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        so.load_sweep(tmp_path / "x.toml")


def test_a_channel_that_the_data_lacks_is_refused_and_not_skipped(sweep):
    data = so.Dataset.from_arrays([0, 0, 1, 1], [0, 1, 1, 2])
    mine = so.load_sweep(sweep("[[adversary]]\nknows = 1\ntime_within = 0"))
    with pytest.raises(ParameterError, match="the data has no times"):
        so.Audit(data, mine)
