# SPDX-License-Identifier: Apache-2.0
"""What errors and log lines say: words that fit together, what to do, and never pages of it."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import transformers_response_parsing as trp

LONG = "x" * 15_000


def template(**field: Any) -> dict[str, Any]:
    return {"start_anchor": "<a>", "fields": {"c": {"open": "<t>", **field}}}


def message_of(function: Any) -> str:
    with pytest.raises(trp.ResponseParsingError) as caught:
        function()
    return str(caught.value)


def test_a_cut_off_string_is_told_in_words_that_go_together() -> None:
    said = message_of(lambda: trp.parse_response('<t>{"a": "b', template(content="json"), prefix=""))
    assert "Unterminated string (the generation ended" not in said  # without a close the end is its end
    assert "starting at" not in said
    said = message_of(lambda: trp.parse_response('<t>{"a": "b', template(content="json", close="</t>"), prefix=""))
    assert "no valid JSON: Unterminated string (the generation ended before the region was closed)" in said


def test_a_template_that_is_broken_json_is_told_where() -> None:
    said = message_of(lambda: trp.ResponseTemplate.load('{"start_anchor": "<a'))
    assert "Unterminated string at line 1, column 18" in said


@pytest.mark.parametrize("name", ["qwen3", "Qwen/Qwen3-8B"])
def test_a_name_in_the_place_of_a_template_is_pointed_to_the_library(name: str) -> None:
    assert f"get_template('{name}').response_template" in message_of(lambda: trp.parse_response("x", name, prefix=""))


@pytest.mark.parametrize(
    "function",
    [
        lambda: trp.parse_response("x", template(), prefix="", end={"a": LONG}),  # type: ignore[arg-type]
        lambda: trp.parse_response("x", template(), prefix="", on_error=LONG),  # type: ignore[arg-type]
        lambda: trp.get_template(LONG),
        lambda: trp.ResponseTemplate.load(template(transform={"a": LONG + " {content}"})),
        lambda: trp.ResponseTemplate.load(template(**{LONG: 1, LONG + "y": 2})),
        lambda: trp.ResponseTemplate.load(template(content=LONG)),
        lambda: trp.parse_response(
            f'<t>[{{"{LONG}": 1}}]', template(content="json", transform_each=True, transform={"a": "{b}"}), prefix=""
        ),
    ],
    ids=["end", "on_error", "name", "transform", "two problems", "content", "output"],
)
def test_no_line_of_a_message_is_a_page(function: Any) -> None:
    said = message_of(function)
    assert max(map(len, said.splitlines())) <= 600
    assert " … " in said


def test_a_kept_reason_is_short_too() -> None:
    each = template(content="json", transform_each=True, transform={"a": "{b}"})
    message = trp.parse_response(f'<t>[{{"{LONG}": 1}}]', each, prefix="", on_error="keep")
    assert len(message["malformed"][0]["error"]) <= 600
    assert LONG in message["malformed"][0]["raw"]


def test_a_missing_anchor_is_told_with_what_to_check(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="transformers_response_parsing"):
        trp.parse_response("x", {"start_anchor": ["<m1>", "<m2>"], "fields": {"c": {}}}, prefix="Hello")
        trp.parse_response("x", {"start_anchor_pattern": "<m\\d>", "fields": {"c": {}}}, prefix="Hello")
    one, two = caplog.messages
    assert "does not contain '<m1>' or '<m2>', the start_anchor of the response template" in one
    assert "add_generation_prompt" in one
    assert "a match of '<m\\\\d>', the start_anchor_pattern of" in two
