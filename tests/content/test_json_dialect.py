# SPDX-License-Identifier: Apache-2.0
"""The reader of JSON's dialects: members with plain values are read in one step, exactly as they are read in several."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.content.json_dialect import Dialect
from transformers_response_parsing.errors import BodyError

PAIRS: list[tuple[tuple[str, str], ...]] = [
    (),
    (('<|"|>', '<|"|>'),),
    (("<s>", "</s>"),),
    (("^", "]"),),
    (("'", "'"),),
    (("«", "»»"),),
]
PARTS = [
    *("{", "}", "[", "]", ",", ":", " ", "\n", '"', "\\", "'", "^", "«", "»", "»»", "<s>", "</s>", '<|"|>', "<|"),
    *(
        "a",
        "b c",
        "a:1",
        "k:",
        ",k:",
        "true",
        "null",
        "None",
        "1",
        "-0",
        "12.5",
        "1e3",
        "0" * 20,
        "9" * 19,
        "é",
        "\u2028",
    ),
    *('k:<|"|>v<|"|>', "k:<s>v</s>", 'k:"v"', "k:^v]", "k:«v»»", "k:{", "k:["),
]


def outcome(dialect: Dialect, body: str) -> Any:
    """The value, numbers with their text, the members in order; or the fault."""
    try:
        return repr(dialect.read(body, on_number=lambda value, text: (value, text)))
    except BodyError as error:
        return str(error), error.position


def both(body: str, pairs: tuple[tuple[str, str], ...], *, repairs: bool) -> tuple[Any, Any]:
    quick = Dialect(unquoted_keys=True, string_delims=pairs, repairs=repairs)
    slow = Dialect(unquoted_keys=True, string_delims=pairs, repairs=repairs)
    assert quick.plain_member is not None
    slow.plain_member = None
    return outcome(quick, body), outcome(slow, body)


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join), st.sampled_from(PAIRS), st.booleans())
def test_one_step_or_several_give_the_same(inner: str, pairs: tuple[tuple[str, str], ...], repairs: bool) -> None:
    quick, slow = both("{" + inner + "}", pairs, repairs=repairs)
    assert quick == slow


@pytest.mark.parametrize("repairs", [False, True])
@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{a:<|"|>x<|"|>,b c :1,d:true}', {"a": "x", "b c": 1, "d": True}),
        ('{a:<|"|>{"b": 1}, c:2<|"|>}', {"a": '{"b": 1}, c:2'}),
        ('{a:<|"|><|"|>, b : null }', {"a": "", "b": None}),
        ('{a:"x",a:"y"}', {"a": "y"}),
        ('{a:{b:<|"|>x<|"|>},c:[1,<|"|>y<|"|>]}', {"a": {"b": "x"}, "c": [1, "y"]}),
        ("{a:-0,b:12345678901234567890}", {"a": 0, "b": 12345678901234567890}),
        # A string ends at the first close, whatever comes after it.
        ('{a:<|"|>x<|"|> y:<|"|>z<|"|>}', None),
        ('{a:<|"|>x}', None),
    ],
)
def test_members(body: str, value: Any, repairs: bool) -> None:
    dialect = Dialect(unquoted_keys=True, string_delims=(('<|"|>', '<|"|>'),), repairs=repairs)
    if value is None:
        with pytest.raises(BodyError):
            dialect.read(body)
    else:
        assert dialect.read(body) == value
