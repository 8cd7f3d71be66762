# SPDX-License-Identifier: Apache-2.0
"""`field_names="thinking"`: the names that serving engines insist on."""

from __future__ import annotations

from typing import Any

import pytest

import transformers_response_parsing as trp
from transformers_response_parsing.field_names import with_field_names

REASONING = [entry for entry in trp.list_templates() if "reasoning_content" in str(entry.response_template)]


@pytest.mark.parametrize("entry", REASONING, ids=lambda entry: entry.name)
def test_every_template_of_the_library_parses_the_same_under_the_other_name(entry: trp.TemplateEntry) -> None:
    """The renamed template loads, and each example gives the same message but for the key."""
    renamed = with_field_names(entry.response_template, "thinking")
    assert "reasoning_content" not in {field.key for field in trp.ResponseTemplate.load(renamed).fields}
    for example in entry.examples:
        options: dict[str, Any] = {
            "prefix": example.get("prefix", ""),
            "tools": example.get("tools"),
            "on_error": "keep",
        }
        message = trp.parse_response(example["output"], entry.response_template, **options)
        expected = {"thinking" if key == "reasoning_content" else key: value for key, value in message.items()}
        found = trp.parse_response(example["output"], renamed, **options)
        assert {**found, "malformed": len(found.get("malformed", []))} == {
            **expected,
            "malformed": len(expected.get("malformed", [])),
        }
        assert list(found) == list(expected)


def test_everything_that_names_a_key_of_the_message_is_renamed() -> None:
    """Fields, defaults, and `into`; strings of the format are left alone, whatever they say."""
    template = {
        "defaults": {"role": "assistant", "reasoning_content": ""},
        "start_anchor": "reasoning_content",
        "fields": {
            "reasoning_content": {"open": "<reasoning_content>", "close": "</>", "repeats": True, "join": "\n"},
            "later": {"open": "<again>", "close": "</>", "into": "reasoning_content", "repeats": True, "join": "\n"},
            "content": {},
        },
    }
    renamed = with_field_names(template, "thinking")
    assert renamed == {
        "defaults": {"role": "assistant", "thinking": ""},
        "start_anchor": "reasoning_content",
        "fields": {
            "thinking": {"open": "<reasoning_content>", "close": "</>", "repeats": True, "join": "\n"},
            "later": {"open": "<again>", "close": "</>", "into": "thinking", "repeats": True, "join": "\n"},
            "content": {},
        },
    }
    assert list(renamed["fields"]) == ["thinking", "later", "content"]
    assert "reasoning_content" in template["fields"]
    del renamed["defaults"]
    message = trp.parse_response("<reasoning_content>a</>b<again>c</>", renamed, prefix="")
    assert message == {"thinking": "a\nc", "content": "b"}


def test_a_template_without_reasoning_stays_as_it_is() -> None:
    template = {"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}
    assert with_field_names(template, "thinking") == template


def test_names_that_are_taken_or_unknown_are_refused() -> None:
    fields = {"reasoning_content": {"open": "<r>", "close": "</r>"}, "thinking": {"open": "<t>", "close": "</t>"}}
    with pytest.raises(trp.ResponseParsingError, match="has a 'thinking' already"):
        with_field_names({"start_anchor": "<a>", "fields": fields}, "thinking")
    with pytest.raises(trp.ResponseParsingError, match="use 'thinking', or None"):
        with_field_names({"start_anchor": "<a>", "fields": fields}, "vllm")
