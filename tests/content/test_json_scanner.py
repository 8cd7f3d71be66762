# SPDX-License-Identifier: Apache-2.0
"""The JSON scanner: where a document is, whatever pieces it comes in."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.content import JsonScanner

GEMMA = (True, (('<|"|>', '<|"|>'),))
DIALECTS: list[tuple[bool, tuple[tuple[str, str], ...]]] = [
    (False, ()),
    (True, ()),
    GEMMA,
    (False, (("'", "'"),)),
    (True, (("<<", ">>"), ("<", ">"))),
    (False, (("<", ">"), ("<<", ">>"))),
    (False, (('"""', '"""'),)),
    (True, (("{{", "}}"), ("ab", "aab"))),
]

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
# Text made of what matters to a scanner: valid documents, broken ones, escapes and pieces of delimiters.
fragments = st.lists(
    st.sampled_from(
        [
            *(
                "{",
                "}",
                "[",
                "]",
                '"',
                ":",
                ",",
                " ",
                "\n",
                "\\",
                '\\"',
                "\\u00e9",
                "\\u0",
                "a",
                "ab",
                "aab",
                "true",
                "nul",
            ),
            *("null", "-", "0", "1", "12", ".", "e", "+", "1.5e3", "<", "<<", ">", ">>", '<|"|>', "<|", '"|>', "'"),
            *('"a":', '"b"', "é"),
        ]
    ),
    max_size=25,
).map("".join)


def pieces(text: str, cuts: list[int]) -> list[str]:
    """`text` cut at the given places."""
    bounds = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(bounds)]


def scanned(text: str, dialect: tuple[bool, Any] = (False, ())) -> JsonScanner:
    """A scanner that was fed the whole text."""
    scanner = JsonScanner(*dialect)
    scanner.feed(text)
    return scanner


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("", "value"),
        (" ", "value"),
        ("{", "value"),
        ('{"a', "string"),
        ('{"a"', "value"),
        ('{"a" :', "value"),
        ('{"a": "x\\', "string"),
        ('{"a": "x\\"', "string"),
        ('{"a": "x"', "value"),
        ('{"a": "x"}', "complete"),
        ('{"a": "x"} \n', "complete"),
        ('{"a": "x"} x', "broken"),
        ("12", "complete"),
        ("-", "value"),
        ("1.", "value"),
        ("1e", "value"),
        ("01", "broken"),
        ("tru", "value"),
        ("true", "complete"),
        ("truex", "broken"),
        ("NaN", "broken"),
        ("[1,]", "broken"),
        ("{,", "broken"),
        ('{"a",', "broken"),
        ('"\\x', "broken"),
        ('"\\u12', "string"),
        ('"\\u12x', "broken"),
        ('"a\nb\t', "string"),
        ("{a", "broken"),
        ("]", "broken"),
        ("[}", "broken"),
    ],
)
def test_state_after_a_beginning(text: str, state: str) -> None:
    assert scanned(text).state == state


def test_delimited_strings_hold_everything_but_their_close() -> None:
    scanner = scanned('{text: <|"|>say "no" \\ <|"', GEMMA)
    assert scanner.state == "string"
    scanner.feed("|>")
    assert scanner.state == "value"
    scanner.feed("}")
    assert scanner.state == "complete"


def test_string_end_is_just_after_the_last_finished_string() -> None:
    scanner = scanned('{"ab": "c", "d')
    assert scanner.string_end == len('{"ab": "c"')


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ('{"a": "x', ' y"}tail', ("data", 4)),
        ('{"a": "x', ' y"  ,', ("data", 6)),
        ('{"a": "x', ' y" z', ("broken", 5)),
        ('{"a": "x', ' y"', ("undecided", 3)),
        ('{"a": "x', ' y"  ', ("undecided", 5)),
        ('{"a": "x', " y", ("undecided", 2)),
        ('{"a', '":', ("data", 2)),
        ('{"a', '",', ("broken", 2)),
        ('"a', 'b" rest', ("data", 2)),
        ('["a\\', '"b", 1', ("data", 4)),
        ('["a\\', "q", ("broken", 1)),
    ],
)
def test_finish_string_tells_whether_the_json_goes_on(before: str, after: str, answer: tuple[str, int]) -> None:
    scanner = scanned(before)
    assert scanner.state == "string"
    assert scanner.finish_string(after) == answer


@given(json_values, st.booleans())
def test_a_document_is_complete_and_no_beginning_of_it_is_broken(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    scanner = JsonScanner()
    for index, char in enumerate(text):
        assert scanner.state != "broken", text[:index]
        scanner.feed(char)
    assert scanner.state == "complete"


@given(fragments)
def test_complete_means_that_json_reads_it(text: str) -> None:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        json.loads(text, strict=False, parse_constant=refuse)
        valid = True
    except ValueError:
        valid = False
    assert (scanned(text).state == "complete") == valid


@given(fragments, st.lists(st.integers(0, 100), max_size=8), st.sampled_from(DIALECTS))
def test_pieces_make_no_difference(text: str, cuts: list[int], dialect: tuple[bool, Any]) -> None:
    whole, parts = scanned(text, dialect), JsonScanner(*dialect)
    for piece in pieces(text, cuts):
        parts.feed(piece)
    assert (parts.state, parts.string_end) == (whole.state, whole.string_end)


@given(fragments, fragments, st.lists(st.integers(0, 100), max_size=8), st.sampled_from(DIALECTS))
def test_finish_string_does_not_depend_on_the_pieces(
    before: str, after: str, cuts: list[int], dialect: tuple[bool, Any]
) -> None:
    whole = scanned(before, dialect)
    if whole.state != "string":
        before = '["' if dialect == (False, ()) else '[["'
        whole = scanned(before, dialect)
        if whole.state != "string":
            return
    answer, at = whole.finish_string(after)
    parts = scanned(before, dialect)
    done = 0
    result, index = "undecided", 0
    for piece in pieces(after, cuts):
        result, index = parts.finish_string(piece)
        if result != "undecided":
            break
        assert index == len(piece)
        done += len(piece)
    assert result == answer
    if answer != "undecided":
        assert done + index == at
    # What was consumed is what feeding it would have done.
    fed = scanned(before + after[:at], dialect)
    assert (whole.state, whole.string_end) == (fed.state, fed.string_end)


@given(fragments, st.integers(0, 30), st.integers(0, 30))
def test_feed_looks_only_at_the_given_part(text: str, start: int, end: int) -> None:
    part, alone = JsonScanner(), scanned(text[start:end])
    part.feed(text, start, end)
    assert (part.state, part.string_end) == (alone.state, alone.string_end)
