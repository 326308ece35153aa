"""Results as frozen dataclasses, and their plain data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import jsonschema
import numpy as np
import pytest

from standout.errors import InputError
from standout.results import Amount, Count, Part, Share, from_plain, json_schema, optional, to_plain


@dataclass(frozen=True)
class Piece(Part):
    share: Share
    n: Count = 0


@dataclass(frozen=True)
class Whole(Part):
    name: str
    kind: Literal["a", "b"]
    parts: tuple[Piece, ...]
    one: Piece | None
    more: Mapping[str, Any] = field(default_factory=dict)
    rarely: Piece | None = optional()


WHOLE = Whole("x", "a", (Piece(0.5, 3), Piece(1)), None, {"k": [1, {"j": None}]})
PLAIN = {
    "name": "x",
    "kind": "a",
    "parts": [{"share": 0.5, "n": 3}, {"share": 1, "n": 0}],
    "one": None,
    "more": {"k": [1, {"j": None}]},
}


def test_a_result_is_read_back_as_it_was_written():
    assert to_plain(WHOLE) == PLAIN
    assert from_plain(Whole, PLAIN, "the file") == WHOLE
    full = Whole("x", "a", (), Piece(0.1), rarely=Piece(0.2))
    assert from_plain(Whole, to_plain(full), "the file") == full


def test_numbers_of_numpy_become_numbers_of_python():
    plain = to_plain({"n": np.int64(3), "share": np.float64(0.5), "yes": np.bool_(True)})
    assert [type(x) for x in plain.values()] == [int, float, bool]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"name": 5}, "$.name"),
        ({"kind": "c"}, "$.kind"),
        ({"parts": [{"share": 1.5}]}, "$.parts[0].share"),
        ({"parts": [{"share": math.nan}]}, "$.parts[0].share"),
        ({"parts": [{"share": 0.5, "n": -1}]}, "$.parts[0].n"),
        ({"parts": [{"share": 0.5, "m": 1}]}, "$.parts[0].m"),
        ({"one": {}}, "$.one"),
        ({"other": 1}, "$.other"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(change, place):
    with pytest.raises(InputError, match=r"^the file is damaged: .* at `") as error:
        from_plain(Whole, {**PLAIN, **change}, "the file")
    assert f"at `{place}`" in str(error.value)


def test_a_missing_part_is_refused():
    with pytest.raises(InputError, match="missing required field `one`"):
        from_plain(Whole, {k: v for k, v in PLAIN.items() if k != "one"}, "the file")


def test_the_schema_describes_what_is_written_and_allows_no_other_key():
    schema = json_schema(Whole)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(PLAIN, schema)
    for change in ({"other": 1}, {"parts": [{"share": 2}]}, {"kind": "c"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**PLAIN, **change}, schema)


def test_a_part_is_a_mapping_like_its_plain_data():
    assert dict(WHOLE["parts"][0]) == PLAIN["parts"][0]
    assert list(WHOLE) == list(PLAIN) and len(WHOLE) == len(PLAIN)
    assert "rarely" not in WHOLE and WHOLE.get("rarely", 7) == 7
    for name in ("rarely", "other", "__class__"):
        with pytest.raises(KeyError):
            WHOLE[name]


@dataclass(frozen=True)
class Numbers:
    any: float
    least: Amount


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(x):
    with pytest.raises(InputError, match=r"not finite - at `\$\.any`; make it again with `x`"):
        from_plain(Numbers, {"any": x, "least": 0}, "the file", "x")


def test_a_whole_number_is_read_back_as_a_whole_number():
    assert [type(from_plain(Numbers, {"any": 0, "least": x}, "").least) for x in (2, 2.0)] == [
        int,
        float,
    ]
    with pytest.raises(InputError):
        from_plain(Numbers, {"any": 0, "least": -1}, "")


def test_an_open_kind_keeps_parts_that_are_not_known():
    assert from_plain(Numbers, {"any": 1.0, "least": 0, "more": 1}, "", closed=False).any == 1.0
