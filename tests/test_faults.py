# SPDX-License-Identifier: Apache-2.0
"""What an error tells, and what is told of text that no field claims."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import transformers_response_parsing as trp

CALLS: dict[str, Any] = {
    "start_anchor": "<A>",
    "fields": {
        "calls": {"open": "<c>", "close": "</c>", "content": "json", "repeats": True},
        "content": {"close": "<end>"},
    },
}
WRONG = 'Hi <c>{"a": 1}</c><c>{"b":\n ?}</c>bye'


def _at_once(text: str) -> None:
    trp.parse_response(text, CALLS, prefix="")


def _by_character(text: str) -> None:
    parser = trp.ResponseParser(CALLS, prefix="")
    for character in text:
        parser.feed(character)
    parser.finalize()


@pytest.mark.parametrize("parse", [_at_once, _by_character])
def test_an_error_shows_where_in_the_text_the_fault_is(parse: Any) -> None:
    with pytest.raises(trp.OutputError) as caught:
        parse(WRONG)
    error = caught.value
    assert error.offset == WRONG.index("?")
    assert (error.field, error.raw) == ("calls", '{"b":\n ?}')
    assert error.partial_message == {"content": "Hi", "calls": [{"a": 1}]}
    assert error.excerpt == '{"b":⏎ ?}\n       ^'
    first, *excerpt = str(error).splitlines()
    assert first.startswith(f"field 'calls', at character {error.offset} of the message: ")
    assert excerpt == error.excerpt.splitlines()


def test_a_long_body_is_shown_around_the_fault() -> None:
    body = '{"a": "' + "x" * 500 + '", ?' + "y" * 500
    with pytest.raises(trp.OutputError) as caught:
        _at_once(f"<c>{body}</c>")
    text, caret = caught.value.excerpt.splitlines()
    assert text[len(caret) - 1] == "?"
    assert text.startswith("…xxx")
    assert text.endswith("yyy…")
    assert len(text) < 120


@pytest.mark.parametrize("chunks", [["a<x>b</x>c"], list("a<x>b</x>c")])
def test_text_that_no_field_claims_is_logged(chunks: list[str], caplog: pytest.LogCaptureFixture) -> None:
    template = {"start_anchor": "<A>", "fields": {"r": {"open": "<x>", "close": "</x>"}}}
    parser = trp.ResponseParser(template, prefix="")
    with caplog.at_level(logging.DEBUG, logger="transformers_response_parsing"):
        for chunk in chunks:
            parser.feed(chunk)
        parser.finalize()
    assert parser.unclaimed == ["a", "c"]
    assert [record.getMessage() for record in caplog.records] == ["no field claims 'a'", "no field claims 'c'"]
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}
