# SPDX-License-Identifier: Apache-2.0
"""The repair of broken JSON: only where the template asks for it, tools are given, and nothing else can read the body."""

from __future__ import annotations

from typing import Any

import pytest

import transformers_response_parsing as trp

pytest.importorskip("json_repair", reason="json_repair is not installed (extra: repair)")

TOOLS = [
    {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}}
]
BROKEN = '{"name": "f" "arguments": {"a": "say "hi" twice", "n": "7"}}'
CALL = {"type": "function", "function": {"name": "f", "arguments": {"a": 'say "hi" twice', "n": 7}}}


def template(**args: Any) -> dict[str, Any]:
    calls = {"open": "<c>", "close": "</c>", "repeats": True, "content": "json", "content_args": args}
    transform = {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}
    return {"start_anchor": "<A>", "fields": {"tool_calls": {**calls, "transform": transform}, "content": {}}}


def parse(body: str, *, close: str = "</c>", tools: Any = TOOLS, **args: Any) -> dict[str, Any]:
    return trp.parse_response(f"<c>{body}{close}", template(**args), prefix="", tools=tools, on_error="keep")


def test_a_broken_call_is_repaired_and_typed() -> None:
    assert parse(BROKEN, repair=True) == {"tool_calls": [CALL]}


def test_it_is_off_unless_asked_for() -> None:
    assert parse(BROKEN)["malformed"][0]["raw"] == BROKEN


def test_without_tools_nothing_is_guessed() -> None:
    assert parse(BROKEN, repair=True, tools=None)["malformed"][0]["raw"] == BROKEN


def test_the_event_says_so_and_only_then() -> None:
    parser = trp.ResponseParser(template(repair=True), "", tools=TOOLS)
    events = [
        event for char in f'<c>{BROKEN}</c><c>{{"name": "f", "arguments": {{}}}}</c>' for event in parser.feed(char)
    ]
    closes = [event for event in events if event["type"] == "region_close"]
    assert [event.get("repaired") for event in closes] == [True, None]
    assert parser.finalize()[0]["tool_calls"][0] == CALL


COMPLETE = [
    BROKEN,
    '{"name": "f" "arguments": {"a": "[1] {x} say \\"hi\\"", "n": 7}}',
    "{'name': 'f', 'arguments': {'a': '{x}' 'n': 7}}",
]


@pytest.mark.parametrize("body", COMPLETE)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_was_cut_off_is_closed_behind_a_bracket_only(body: str, streamed: bool) -> None:
    """Anywhere else more of the value, or another one, may have been meant: `rm -rf "` is not a command to run."""
    call = parse(body, repair=True)["tool_calls"]
    for end in range(len(body)):
        if streamed:
            parser = trp.ResponseParser(template(repair=True), "", tools=TOOLS, on_error="keep")
            for char in f"<c>{body[:end]}":
                parser.feed(char)
            message = parser.finalize()[0]
        else:
            message = parse(body[:end], close="", repair=True)
        if body[:end].endswith("}") and end == len(body) - 1:
            assert message == {"tool_calls": call}
        else:
            assert message["malformed"][0]["raw"] == body[:end]


@pytest.mark.parametrize("body", ["no JSON at all", "", "[" * 5_000, '{"a":' * 3_000, "7"])
def test_what_can_not_be_repaired_stays_malformed(body: str) -> None:
    assert parse(body, repair=True)["malformed"][0]["raw"] == body


@pytest.mark.parametrize(
    "other", [{"allow_non_json": True}, {"unquoted_keys": True}, {"string_delims": [["<<", ">>"]]}]
)
def test_it_is_for_plain_json(other: dict[str, Any]) -> None:
    with pytest.raises(trp.TemplateError, match="repair: is for plain JSON"):
        trp.ResponseTemplate.load(template(repair=True, **other))


def test_a_template_that_needs_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(trp.TemplateError, match="pip install"):
        trp.ResponseTemplate.load(template(repair=True, entry_keys=["k", "v"]))


def test_it_is_an_extension() -> None:
    loaded = trp.ResponseTemplate.load(template(repair=True))
    assert loaded.extensions == ("fields.tool_calls.content_args.repair",)
    assert loaded.min_transformers is None
