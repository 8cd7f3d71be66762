# SPDX-License-Identifier: Apache-2.0
"""The JSON scanner: where a document is, whatever pieces it comes in."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformers_response_parsing.content import JsonScanner
from transformers_response_parsing.content.json_content import decode_sequence
from transformers_response_parsing.content.json_dialect import Dialect
from transformers_response_parsing.errors import BodyError

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


LENIENT = Dialect(repairs=True)
slips = st.lists(
    st.sampled_from(
        [*"{}[](),:' \"\\0-", "True", "None", "false", "'a'", '"b"', "'a':", '"k":', "\\'", "\\d", "\\n", "1.5", "[1,]", "{'a': 1,}"]
    ),
    max_size=20,
).map("".join)  # fmt: skip


@given(slips, st.lists(st.integers(0, 100), max_size=8))
def test_with_repairs_complete_means_that_the_lenient_reader_reads_it(text: str, cuts: list[int]) -> None:
    try:
        LENIENT.read(text, exact=True)
        valid = True
    except BodyError:
        valid = False
    whole, parts = JsonScanner(repairs=True), JsonScanner(repairs=True)
    whole.feed(text)
    for piece in pieces(text, cuts):
        parts.feed(piece)
    assert (whole.state == "complete") == valid
    assert (parts.state, parts.string_end) == (whole.state, whole.string_end)


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


@pytest.mark.parametrize(
    ("text", "certain", "at_the_end"),
    [
        ('{"a": [1]} x', 10, 10),
        ('{"a": [1]}', 10, 10),
        (' [] {"a"', 3, 3),
        ('"a" "b"', 3, 3),
        ("true", 4, 4),
        ("nullx", 4, 4),
        ("12", None, 2),
        ("12 ", 2, 2),
        ("12,", 2, 2),
        ("1.", None, None),
        ("1.x", None, None),
        ("01", 1, 1),
        ('{"a"', None, None),
        ('{"a" "b"} {}', None, None),
        ("", None, None),
        (" ", None, None),
        ("Hi {}", None, None),
    ],
)
def test_the_end_of_a_document_is_known_as_soon_as_it_is_certain(
    text: str, certain: int | None, at_the_end: int | None
) -> None:
    scanner = scanned(text)
    assert (scanner.document_end(), scanner.document_end(final=True)) == (certain, at_the_end)


@pytest.mark.parametrize(
    ("text", "certain", "at_the_end"),
    [
        ('{"a": 1}\n{"b": 2}\nHello', 17, 17),
        ('{"a": 1}{"b": 2};\n', None, 16),
        ("[{}], [{}] ; x", 10, 10),
        ("{} true", 2, 2),  # a word, not a value
        ('{} "quoted"', 2, 2),
        ("{} 1. First", 2, 2),
        ("7", None, 1),
        ("7 8", 1, 1),
        ("{} {oops", None, None),
        ("{} {", None, None),
        ("Hello", None, None),
        (", {}", None, None),
    ],
)
def test_a_sequence_ends_where_no_object_or_array_follows(
    text: str, certain: int | None, at_the_end: int | None
) -> None:
    scanner = JsonScanner(sequence=True, until_complete=True)
    scanner.feed(text)
    assert (scanner.document_end(), scanner.document_end(final=True)) == (certain, at_the_end)


def expected_end(text: str, sequence: bool, final: bool) -> int | None:
    """The same by the decoder of the standard library."""
    decode = json.JSONDecoder(strict=False, parse_constant=pytest.fail).raw_decode
    at, end = len(text) - len(text.lstrip(" \t\r\n")), None
    while True:
        try:
            value, stop = decode(text, at)
        except ValueError:
            return None
        number = not isinstance(value, bool) and isinstance(value, (int, float))
        if number:
            written = text[at:stop]
            exponent = "e" in written.lower()
            following = text[stop : stop + 1]
            if (following == "." and "." not in written and not exponent) or (following in ("e", "E") and not exponent):
                return None
        at, end = stop, stop
        if not sequence:
            return end if not number or final or stop < len(text) else None
        while text[at : at + 1] in (*" \t\r\n,;",):
            at += 1
        if at == len(text):
            return end if final else None
        if text[at] not in "{[":
            return end


@given(fragments, st.booleans(), st.booleans())
@example('{"a":12}{"b":[]}12', True, False)
@example("[1.5e3] ,\n[0,true", True, True)
def test_the_end_is_where_the_decoder_stops(text: str, sequence: bool, final: bool) -> None:
    scanner = JsonScanner(sequence=sequence, until_complete=True)
    scanner.feed(text)
    assert scanner.document_end(final) == expected_end(text, sequence, final)


@given(
    st.lists(fragments | st.sampled_from(["{}", '{"a": 1}', "[]", "; ", "x"]), max_size=4).map("".join),
    st.lists(st.integers(0, 200), max_size=8),
    st.sampled_from(DIALECTS),
    st.booleans(),
    st.booleans(),
)
def test_pieces_make_no_difference_to_the_end(
    text: str, cuts: list[int], dialect: tuple[bool, Any], sequence: bool, until_complete: bool
) -> None:
    how = {"sequence": sequence, "until_complete": until_complete}
    whole, parts = JsonScanner(*dialect, **how), JsonScanner(*dialect, **how)
    whole.feed(text)
    seen: int | None = None
    for piece in pieces(text, cuts):
        parts.feed(piece)
        assert seen is None or parts.document_end() == seen
        seen = parts.document_end()
    assert seen == whole.document_end()
    assert parts.document_end(final=True) == whole.document_end(final=True)
    assert (parts.state, parts.string_end) == (whole.state, whole.string_end)


@given(fragments)
def test_a_sequence_is_complete_where_it_can_be_read(text: str) -> None:
    scanner = JsonScanner(sequence=True)
    scanner.feed(text)
    try:
        expected = {"complete" if decode_sequence(text) else "value"}
    except BodyError as error:
        # Values that touch are the reader's affair; the scanner only has to know where strings are.
        touching = "right behind" in error.reason
        expected = {"value", "string", "broken", *(["complete"] if touching else [])}
    assert scanner.state in expected


def test_a_string_in_a_later_document_holds_a_close() -> None:
    scanner = JsonScanner(sequence=True)
    scanner.feed('{"a": 1}\n{"b": "')
    assert scanner.state == "string"
    assert scanner.finish_string('</t>", "c"') == ("data", 6)
    assert JsonScanner(sequence=True).state == "value"


@given(fragments, st.integers(0, 30), st.integers(0, 30))
def test_feed_looks_only_at_the_given_part(text: str, start: int, end: int) -> None:
    part, alone = JsonScanner(), scanned(text[start:end])
    part.feed(text, start, end)
    assert (part.state, part.string_end) == (alone.state, alone.string_end)
