# SPDX-License-Identifier: Apache-2.0
"""The older `response_schema` works where it did without us, and fails clearly where it never did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hf.helpers import PROMPT, TEMPLATE, has, make_tokenizer

import transformers_response_parsing as trp

SCHEMA = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "content": {"type": "string", "x-regex": r"^(.*?)(?:<\|im_end\|>|$)"},
    },
}
HELLO = "Hello there.<|im_end|>"
MESSAGE = {"role": "assistant", "content": "Hello there."}

knows_schemas = has("transformers.utils.chat_parsing_utils")
with_schemas = pytest.mark.skipif(not knows_schemas, reason="this version of transformers has no response_schema")
without_schemas = pytest.mark.skipif(knows_schemas, reason="this version of transformers has response_schema")


@pytest.fixture
def legacy(plugin: None) -> Iterator[Any]:
    """A tokenizer that carries only a response_schema."""
    tokenizer = make_tokenizer(response_schema=SCHEMA)
    tokenizer.response_schema = SCHEMA
    return tokenizer


@with_schemas
def test_a_tokenizer_with_only_a_schema_parses_as_without_us(legacy: Any) -> None:
    responses = (HELLO, [HELLO, HELLO], legacy.encode(HELLO))
    ours = [legacy.parse_response(response) for response in responses]
    trp.disable()
    assert ours == [legacy.parse_response(response) for response in responses] == [MESSAGE, [MESSAGE, MESSAGE], MESSAGE]


@with_schemas
def test_a_prefix_and_tools_do_not_stop_it(legacy: Any) -> None:
    """A program can pass the prompt always, whichever way the tokenizer describes its responses."""
    assert legacy.parse_response(HELLO, prefix=PROMPT, tools=[]) == MESSAGE


@with_schemas
def test_a_schema_that_is_passed_is_used(tokenizer: Any) -> None:
    assert tokenizer.parse_response(HELLO, SCHEMA) == MESSAGE
    assert tokenizer.parse_response(HELLO, schema=SCHEMA) == MESSAGE


@with_schemas
def test_a_response_template_wins_over_a_schema(legacy: Any) -> None:
    legacy.response_template = TEMPLATE
    assert legacy.parse_response("<think>a</think>b", prefix="")["reasoning_content"] == "a"


@with_schemas
def test_processors_pass_schemas_on(legacy: Any) -> None:
    from hf.test_processor import make_processor

    assert make_processor(legacy).parse_response(HELLO) == MESSAGE


@without_schemas
def test_without_support_a_tokenizer_with_only_a_schema_says_so(legacy: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match="only has a response_schema"):
        legacy.parse_response(HELLO, prefix="")


@without_schemas
def test_without_support_a_schema_that_is_passed_says_so(tokenizer: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match="response_schema"):
        tokenizer.parse_response(HELLO, SCHEMA, prefix="")


def test_a_parser_can_not_be_made_from_a_schema(tokenizer: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match="response_schema"):
        tokenizer.get_response_parser(SCHEMA, prefix="")
