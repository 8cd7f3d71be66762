# SPDX-License-Identifier: Apache-2.0
"""Legacy schemas become templates that give the same messages; what can't be converted is told.

The messages are those of transformers 5.12.0 for these schemas and texts (observed).
"""

from __future__ import annotations

from typing import Any

import pytest

import transformers_response_parsing as trp
from transformers_response_parsing.legacy import convert_schema
from transformers_response_parsing.legacy_regex import captures, delimiter
from transformers_response_parsing.legacy_transform import TransformError, read_transform

FUNCTION: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "arguments": {"type": "object"}},
}
CALL: dict[str, Any] = {"type": "object", "properties": {"type": {"const": "function"}, "function": FUNCTION}}
ROLE: dict[str, Any] = {"role": {"const": "assistant"}}
TEXT: dict[str, Any] = {"type": "string"}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


# Each region has markers of its own, and the calls are one JSON list.
TAGS = {
    "type": "object",
    "properties": {
        **ROLE,
        "content": {**TEXT, "x-regex": r"<\|START_RESPONSE\|>(.*?)<\|END_RESPONSE\|>"},
        "thinking": {**TEXT, "x-regex": r"<\|START_THINKING\|>(.*?)<\|END_THINKING\|>"},
        "tool_calls": {
            "x-regex": r"<\|START_ACTION\|>(.*?)<\|END_ACTION\|>",
            "x-parser": "json",
            "x-parser-args": {
                "transform": "[*].{type: 'function', function: {name: tool_name, arguments: parameters}}"
            },
            "type": "array",
            "items": CALL,
        },
    },
}
# One regex with a named group for each property; a single call.
NAMED = {
    "type": "object",
    "x-regex": (
        r"(?:<think>\n?(?P<thinking>.+?)\n?</think>)?\s*(?:<tool_call>(?P<tool_calls>.+?)</tool_call>)?\s*"
        r"(?P<content>.+?)?\s*(?:<\|im_end\|>|$)"
    ),
    "properties": {
        **ROLE,
        "content": TEXT,
        "thinking": TEXT,
        "tool_calls": {
            "x-parser": "json",
            "x-parser-args": {"transform": "[{type: 'function', function: @}]"},
            "type": "array",
            "items": CALL,
        },
    },
}
# The calls are captured together, then one by one.
ITERATED = {
    "type": "object",
    "x-regex": (
        r"^(?:(?:<think>)?\s*(?P<thinking>.+?)\s*</think>)?\s*"
        r"(?:(?P<tool_calls>(?:<tool_call>.*?</tool_call>\s*)+))?\s*(?P<content>.+?)?\s*$"
    ),
    "properties": {
        **ROLE,
        "content": TEXT,
        "thinking": TEXT,
        "tool_calls": {
            "x-regex-iterator": r"<tool_call>\s*(.+?)\s*</tool_call>",
            "type": "array",
            "items": {"x-parser": "json", "x-parser-args": {"transform": "{type: 'function', function: @}"}, **CALL},
        },
    },
}


def tag_call(name: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    function = {
        "type": "object",
        "properties": {"name": {**TEXT, **name}, "arguments": {"type": "object", **arguments}},
    }
    return {"type": "object", "properties": {"type": {"const": "function"}, "function": function}}


# The name in a tag, the arguments in tags.
XML = {
    "type": "object",
    "properties": {
        **ROLE,
        "thinking": {**TEXT, "x-regex": r"<think>\s*(.*?)\s*</think>"},
        "tool_calls": {
            "x-regex-iterator": r"<tool_call>\s*(.*?)\s*</tool_call>",
            "type": "array",
            "items": tag_call(
                {"x-regex": r"<function=([\w.-]+)>"},
                {
                    "x-regex-key-value": r"<parameter=(?P<key>\w+)>\n(?P<value>.*?)\n</parameter>",
                    "additionalProperties": {"x-parser": "json", "x-parser-args": {"allow_non_json": True}},
                },
            ),
        },
    },
}
# The name in a header, the arguments as JSON behind it.
CHANNELS = {
    "type": "object",
    "properties": {
        **ROLE,
        "content": {**TEXT, "x-regex": r"<\|channel\|>final<\|message\|>(.*?)(?:<\|end\|>|$)"},
        "thinking": {**TEXT, "x-regex": r"<\|channel\|>analysis<\|message\|>(.*?)<\|end\|>"},
        "tool_calls": {
            "x-regex-iterator": r"<\|channel\|>commentary (to=functions\..*?<\|message\|>.*?)(?:<\|call\|>|$)",
            "type": "array",
            "items": tag_call(
                {"x-regex": r"^to=functions\.(\w+)"}, {"x-regex": r"<\|message\|>(.*)", "x-parser": "json"}
            ),
        },
    },
}

CASES: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    (
        "tags, content",
        TAGS,
        "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Hello!<|END_RESPONSE|>",
        {"thinking": "Hm.", "content": "Hello!"},
    ),
    (
        "tags, a list of calls",
        TAGS,
        (
            "<|START_THINKING|>Hm.<|END_THINKING|>"
            '<|START_ACTION|>[{"tool_name": "f", "parameters": {"x": 1}}, {"tool_name": "g", "parameters": {}}]<|END_ACTION|>'
        ),
        {"thinking": "Hm.", "tool_calls": [call("f", x=1), call("g")]},
    ),
    ("named groups", NAMED, "<think>\nHm.\n</think>\n\nHello!<|im_end|>", {"thinking": "Hm.", "content": "Hello!"}),
    ("named groups, only content", NAMED, "Hello!", {"content": "Hello!"}),
    ("an iterator, content", ITERATED, "<think>\nHm.\n</think>\n\nHello!", {"thinking": "Hm.", "content": "Hello!"}),
    (
        "an iterator, two calls",
        ITERATED,
        (
            '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>\n'
            '<tool_call>\n{"name": "g", "arguments": {}}\n</tool_call>'
        ),
        {"tool_calls": [call("f", x=1), call("g")]},
    ),
    (
        "tags for arguments",
        XML,
        (
            "<think>\nHm.\n</think>\n\n<tool_call>\n<function=f>\n<parameter=x>\n5\n</parameter>\n"
            "<parameter=y>\nOslo\n</parameter>\n</function>\n</tool_call>"
        ),
        {"thinking": "Hm.", "tool_calls": [call("f", x=5, y="Oslo")]},
    ),
    (
        "channels, content",
        CHANNELS,
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello!<|end|>",
        {"thinking": "Hm.", "content": "Hello!"},
    ),
    (
        "channels, a call",
        CHANNELS,
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"x": 1}<|call|>',
        {"tool_calls": [call("f", x=1)]},
    ),
]


@pytest.mark.parametrize(("schema", "text", "message"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_the_template_gives_the_message_that_the_schema_gave(schema: Any, text: str, message: Any) -> None:
    conversion = convert_schema(schema, "<a>")
    assert conversion.problems == ()
    assert trp.parse_response(text, conversion.template, prefix="") == {"role": "assistant", **message}
    assert trp.ResponseTemplate.load(conversion.template).min_transformers is not None


def test_where_the_schema_was_wrong_the_template_is_right() -> None:
    """The schema's regex took the end of the turn for content, after a call."""
    text = '<think>\nHm.\n</think>\n\n<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call><|im_end|>'
    message = trp.parse_response(text, convert_schema(NAMED, "<a>").template, prefix="")
    assert message == {"role": "assistant", "thinking": "Hm.", "tool_calls": [call("f", x=1)]}


def test_an_optional_first_delimiter_is_noted() -> None:
    conversion = convert_schema(ITERATED, "<a>")
    assert [(note.path, note.message[:23]) for note in conversion.notes] == [
        ("properties.thinking", "begins also without its")
    ]


@pytest.mark.parametrize(
    ("regex", "anchor"),
    [
        (r"<say>(.*?)<\|im_end\|>", "<|im_start|>assistant\n"),
        (r"(.*?)(?:<\|eot_id\|>|$)", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        (r"<\|channel\|>final<\|message\|>(.*?)<\|end\|>", "<|start|>assistant"),
        (r"(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>(.*?)<\|end\|>", "<|start|>assistant"),
        (r"<\|assistant\|>\n(.*?)<\|user\|>", "<|assistant|>\n"),
        (r"<\|turn\|>model\n(.*)", "<|turn|>model\n"),
    ],
)
def test_an_anchor_that_markers_in_the_schema_give_away_is_proposed(regex: str, anchor: str) -> None:
    conversion = convert_schema({"properties": {"content": {"x-regex": regex}}})
    assert conversion.template["start_anchor"] == anchor
    assert conversion.problems == ()
    assert "start_anchor" in [note.path for note in conversion.notes]


def test_without_such_a_marker_it_is_told_how_to_find_the_anchor() -> None:
    conversion = convert_schema(XML)
    assert "start_anchor" not in conversion.template
    assert [problem.path for problem in conversion.problems] == ["start_anchor"]
    assert "add_generation_prompt=True" in conversion.problems[0].message


CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
TURN = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"


@pytest.mark.parametrize(
    ("chat_template", "anchor"),
    [
        (CHATML + TURN, "<|im_start|>assistant\n"),
        # What the prompt has begun is a field's, and so is a block that it has begun and closed.
        (CHATML + TURN.replace("\n", "\n<think>\n"), "<|im_start|>assistant\n"),
        (CHATML.replace("{{ m.c", "{% if m.role == 'assistant' %}<think></think>{% endif %}{{ m.c") + TURN, "<|im_start|>assistant\n"),
        # Nothing begins the model's turn: what ends the user's does.
        ("{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]{% else %}{{ m.content }}{% endif %}{% endfor %}", "[/INST]"),
        # A chat template knows better than a marker.
        (CHATML.replace("im_", "turn_") + TURN.replace("im_", "turn_"), "<|turn_start|>assistant\n"),
    ],
)  # fmt: skip
def test_the_anchor_is_what_the_chat_template_begins_the_turn_with(chat_template: str, anchor: str) -> None:
    conversion = convert_schema(NAMED, chat_template=chat_template)
    assert conversion.template["start_anchor"] == anchor
    assert [note.path for note in conversion.notes] == ["start_anchor"]
    assert "the chat template" in conversion.notes[0].message
    assert convert_schema(NAMED, "<a>", chat_template=chat_template).template["start_anchor"] == "<a>"


def test_a_chat_template_that_can_t_be_rendered_is_no_help() -> None:
    conversion = convert_schema(XML, chat_template="{{ raise_exception('no') }}")
    assert [problem.path for problem in conversion.problems] == ["start_anchor"]


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ({"x-regex": "a(.*?)b", "x-parser": "gemma4-tool-call"}, "its parser 'gemma4-tool-call' has no counterpart"),
        ({"x-regex": "a(.*?)b|c(.*?)d"}, "it has alternatives"),
        ({"x-regex": "a(?:(.*?)b)+"}, "is no simple optional group"),
        ({"x-regex": "a.*b"}, "its regex has no groups"),
        ({"x-regex": "a(.*?)b(.*?)c"}, "its regex has 2 groups"),
        ({"x-regex": "a(.*?b"}, "its brackets don't match"),
        ({"x-regex": 5}, "its x-regex is no string"),
        ({"type": "string"}, "no regex says where it is"),
        ({"x-regex": "a(.*?)b", "type": "array"}, "nothing says how a list is made of its text"),
        ({"x-regex": "a(.*?)b", "x-parser": "json", "x-parser-args": {"strict": 1}}, "the argument 'strict'"),
        (
            {"x-regex": "a(.*?)b", "x-parser": "json", "x-parser-args": {"transform": "a || b"}},
            "'|| b' in its transform has no counterpart",
        ),
        ({"x-regex": "a(.*?)b", "x-parser": "json", "x-parser-args": {"transform": "[*].x"}}, "makes a list"),
    ],
)
def test_what_can_t_be_converted_is_told_with_its_path(node: Any, reason: str) -> None:
    """The rest is converted."""
    schema = {"properties": {"x": node, "content": {"x-regex": "<(.*?)>"}}}
    conversion = convert_schema(schema, "<a>")
    assert conversion.template["fields"] == {"content": {"open": "<", "close": ">"}}
    (problem,) = conversion.problems
    assert problem.path == "properties.x"
    assert reason in problem.message


def test_unknown_keys_and_two_implicit_fields_are_told() -> None:
    schema = {
        "x-regex": r"(?P<a>.*?)<sep>(?P<content>.*)",
        "properties": {"a": {"type": "string"}, "content": {"type": "string", "x-new": 1}},
    }
    conversion = convert_schema(schema, "<a>")
    assert [problem.path for problem in conversion.problems] == ["properties.content.x-new"]
    assert conversion.template["fields"] == {"a": {"close": "<sep>"}, "content": {"open": "<sep>"}}
    schema = {"properties": {"a": {"x-regex": "^(.*?)<e>"}, "content": {"x-regex": "^(.*)$"}}}
    conversion = convert_schema(schema, "<a>")
    assert [problem.path for problem in conversion.problems] == ["properties.a"]
    assert conversion.template["fields"] == {"content": {}}


def test_scalars_lists_of_texts_and_bodies_that_are_not_any_text() -> None:
    schema = {
        "properties": {
            "score": {"type": "number", "x-regex": r"<score>([\d.]+)</score>"},
            "notes": {"type": "array", "items": {"type": "string"}, "x-regex-iterator": "<note>(.*?)</note>"},
        }
    }
    conversion = convert_schema(schema, "<a>")
    assert [note.path for note in conversion.notes] == ["properties.score"]
    text = "<score>0.5</score><note>a</note><note>b</note>"
    assert trp.parse_response(text, conversion.template, prefix="") == {"score": 0.5, "notes": ["a", "b"]}


def test_what_is_no_schema_is_an_error() -> None:
    for value in (5, {}, {"properties": 5}, []):
        with pytest.raises(trp.ResponseParsingError, match="no response_schema"):
            convert_schema(value)


@pytest.mark.parametrize(
    ("source", "made"),
    [
        (r"<\|a\|>\s*", {"open": "<|a|>"}),
        (r"^\s*a\.b\n?", {"open": "a.b"}),
        (r"(?:a|b|$)", {"open": ["a", "b"]}),
        (r"a\d+", {"open_pattern": r"a\d+"}),
        (r"[ab]", {"open_pattern": "[ab]"}),
        (r"(?=<b>|$)", {"open_pattern": "(?=<b>|$)"}),
        (r"a\n", {"open": "a\n"}),
        (r"\s*$", {}),
        ("", {}),
    ],
)
def test_delimiters(source: str, made: Any) -> None:
    assert delimiter(source, "open")[0] == made


def test_captures_know_what_surrounds_them() -> None:
    assert [tuple(capture) for capture in captures(r"(?:a(?P<x>.+?)[)])?\s*(?P<y>.*?)(?:z|$)")] == [
        ("x", "a", ".+?", "[)]" + r"\s*"),
        ("y", r"\s*", ".*?", "(?:z|$)"),
    ]


@pytest.mark.parametrize(
    ("expression", "shape", "each"),
    [
        ("{type: 'function', function: @}", {"type": "function", "function": "{content}"}, False),
        ("[*].{a: b.c, d: `5`}", {"a": "{b.c}", "d": 5}, True),
        ("[].{a: b}", {"a": "{b}"}, True),
        ("name", "{content.name}", False),
        ('{"a": "b"}', {"a": "{content.b}"}, False),
    ],
)
def test_transforms(expression: str, shape: Any, each: bool) -> None:
    assert read_transform(expression) == (shape, each)


@pytest.mark.parametrize("expression", ["a[0]", "[*].{a: @}", "length(a)", "{a: b", "{a}", "a b", "{a: `x`}", "#"])
def test_other_transforms_are_refused(expression: str) -> None:
    with pytest.raises(TransformError):
        read_transform(expression)
