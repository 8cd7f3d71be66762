# SPDX-License-Identifier: Apache-2.0
"""Hostile texts and tools against every template of the library: a message or one of our errors, and nothing lost."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

import transformers_response_parsing as trp

ENTRIES = trp.list_templates()
HOSTILE = {
    "brackets": "[" * 20_000,
    "objects": '{"a":' * 5_000,
    "digits": '{"name": "f", "arguments": {"n": ' + "9" * 5_000 + "}}",
    "constants": '{"name": "f", "arguments": {"n": NaN, "m": -Infinity, "k": 1e999}}',
    "keys": '{"name": "f", "name": "g", "arguments": {"a": 1, "a": 2}}',
    "characters": 'a\x00b\x01c\x02d\ud800e\udfff{"name": "\x00", "arguments": {"\ud800": "\udc00"}}',
    "names": '{"name": 7, "arguments": [1]}{"name": null}{"name": {"a": 1}, "arguments": "x"}',
    "quotes": '"' * 2_001 + "\\" * 2_001,
    "spaces": " \n\t" * 3_000,
}
TOOLS: list[Any] = [
    {"type": "function", "function": {"name": "f", "parameters": {"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/x"}}}}},
    {"type": "function", "function": {"name": "g", "parameters": {"type": "object", "properties": {"a": {"type": ["nonsense", 3]}, "b": 7}}}},
    {"name": "", "parameters": None},
    {"name": "get_time"},
]  # fmt: skip


def delimiters(entry: trp.TemplateEntry) -> list[str]:
    """Texts that open and close what the family has: those of its own examples, cut where its calls and thoughts begin."""
    texts = sorted({example["output"] for example in entry.examples}, key=len, reverse=True)[:3]
    return ["", *(text[: len(text) // part] for text in texts for part in (2, 3, 1))]


def outcome(template: Any, text: str, on_error: str, streamed: bool) -> dict[str, Any] | None:
    """The message, or None for one of our errors; any other error fails the test."""
    try:
        if not streamed:
            return trp.parse_response(text, template, prefix="", tools=TOOLS, on_error=on_error)  # type: ignore[arg-type]
        parser = trp.ResponseParser(template, "", tools=TOOLS, on_error=on_error)  # type: ignore[arg-type]
        for start in range(0, len(text), 997):
            parser.feed(text[start : start + 997])
        return parser.finalize()[0]
    except trp.ResponseParsingError:
        return None


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_hostile_texts_end_in_a_message_or_in_our_error(entry: trp.TemplateEntry) -> None:
    template = trp.ResponseTemplate.load(entry.response_template)
    for lead in delimiters(entry)[:4]:
        for hostile in HOSTILE.values():
            text = lead + hostile
            whole = outcome(template, text, "keep", streamed=False)
            streamed = outcome(template, text, "keep", streamed=True)
            assert repr(streamed) == repr(whole)  # compared as text: lone surrogates are no JSON
            assert "nan" not in repr(whole).casefold().replace('"nan', "") or "NaN" in text
            outcome(template, text, "raise", streamed=False)


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5", "gptoss", "gemma4", "mistral", "deepseek_v32"])
def test_ten_megabytes_in_one_string(name: str) -> None:
    """Of an example with a call: its longest argument is made longer."""
    entry = trp.get_template(name)
    example = next(item for item in entry.examples if item["message"].get("tool_calls"))
    arguments = example["message"]["tool_calls"][0]["function"]["arguments"]
    word = max((value for value in arguments.values() if isinstance(value, str) and value.isalnum()), key=len)
    text = example["output"].replace(word, word + "x" * 10_000_000, 1)
    message = trp.parse_response(text, entry.response_template, prefix=example.get("prefix", ""))
    assert len(json.dumps(message)) > 10_000_000


# Beam's calls end with the turn's last token, which is often taken off: a last complete tag may end the call.
@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.name != "beam"], ids=lambda entry: entry.name)
def test_a_cut_off_output_never_gives_a_call_that_was_not_finished(entry: trp.TemplateEntry) -> None:
    """Every beginning of every example: the calls are a beginning of the calls of the whole, each complete."""
    template = trp.ResponseTemplate.load(entry.response_template)
    for example in entry.examples[:12]:
        output, options = example["output"], {"prefix": example.get("prefix", ""), "tools": example.get("tools")}
        whole = trp.parse_response(output, template, on_error="keep", **options)
        expected = [call["function"] for call in whole.get("tool_calls", [])]
        for end in range(0, len(output), max(1, len(output) // 60)):
            message = trp.parse_response(output[:end], template, on_error="keep", **options)
            calls = [call["function"] for call in message.get("tool_calls", [])]
            # Where a string holds the text of a close, the first one counts if the JSON never finishes (SPEC 7.8).
            assert calls == expected[: len(calls)] or "malformed" in message, output[:end]


@pytest.mark.parametrize("chunk", [None, 7, b"x", ["x"], object()])
def test_a_chunk_that_is_no_text_is_refused(chunk: Any) -> None:
    parser = trp.ResponseParser(ENTRIES[0].response_template, "")
    with pytest.raises(trp.ResponseParsingError, match="text must be a str"):
        parser.feed(chunk)


@pytest.mark.parametrize("tools", [7, "x", [7], [None], [[]], {"a": 1}, [{"function": 7}], [{"name": 7}]], ids=repr)
def test_tools_that_are_none_are_refused_or_left_alone(tools: Any) -> None:
    text = '<tool_call>\n{"name": "f", "arguments": {"a": "1"}}\n</tool_call>'
    template = trp.get_template("qwen3").response_template
    message = None
    with contextlib.suppress(trp.ResponseParsingError):
        message = trp.parse_response(text, template, prefix="", tools=tools)
    assert message is None or message["tool_calls"][0]["function"]["arguments"] == {"a": "1"}
