# SPDX-License-Identifier: Apache-2.0
"""The same values as transformers' own parser, wherever both succeed and no deliberate difference is met."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from transformers_response_parsing.content import compile_content
from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.tools import ToolSchemas
from transformers_response_parsing.transform import compile_transform

native = pytest.importorskip(
    "transformers.utils.chat_parsing", reason="needs transformers >= 5.13, which parses responses itself"
)

FAILED = object()
LAX = {"name": "json", "args": {"allow_non_json": True}}
TAG = r"<p=(?P<key>\w+)>\s*(?P<value>.*?)\s*</p>"
CONTENTS: list[tuple[str, dict[str, Any]]] = [
    ("text", {}),
    ("text", {"strip": False}),
    ("int", {}),
    ("float", {}),
    ("bool", {}),
    ("json", {}),
    ("json", {"allow_non_json": True}),
    ("json", {"unquoted_keys": True}),
    ("json", {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]}),
    ("json", {"unquoted_keys": True, "string_delims": [["<<", ">>"], ["<", ">"]], "allow_non_json": True}),
    ("xml-inline", {"tag_pattern": TAG}),
    ("xml-inline", {"tag_pattern": TAG, "merge_duplicates": True, "value_parser": LAX}),
    ("xml-inline", {"tag_pattern": TAG, "value_parser": {"name": "kv-lines"}}),
    ("kv-lines", {}),
    ("kv-lines", {"strip": False, "kv_sep": "=", "line_sep": ","}),
    ("kv-lines", {"value_parser": LAX}),
    ("python-call-list", {}),
]
WORDS = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        ":",
        ",",
        "=",
        " ",
        "\n",
        "\\",
        "\\n",
        '\\"',
        "\\u0041",
        "f",
        "a",
        "b1",
        "true",
        "null",
    ),
    *("-", "0", "12", "1.5", "1e3", "<p=a>", "</p>", "<p=b>", '<|"|>', "<<", ">>", "<", ">", "é", "None", "False", "_"),
    *("[f(a=", "g()", "'k': ", '"k": ', "k: ", '"x"', "'x'", ")]", "{a: ", ', "b": ', "[1, 2]", "{}"),
]
bodies = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"\w{1,4}", fullmatch=True), inner, max_size=3)
    ),
    max_leaves=6,
)


def native_value(field: dict[str, Any], text: str, tools: Any = None) -> Any:
    """The value transformers gives the region around `text`, or FAILED."""
    template = {"start_anchor": "\0", "fields": {"r": {"open": "\1", "close": "\2", "repeats": True, **field}}}
    try:
        message = native.parse_response(f"\1{text}\2", template, prefix="", tools=tools)
    except Exception:  # noqa: BLE001 - it raises all sorts
        return FAILED
    return message["r"][0] if "r" in message else FAILED


def finite(value: Any) -> bool:
    """No NaN and no infinity in it: these are deliberately no values here."""
    if isinstance(value, (list, dict)):
        return all(finite(item) for item in (value.values() if isinstance(value, dict) else value))
    return not isinstance(value, float) or math.isfinite(value)


def compare(name: str, args: dict[str, Any], body: str) -> None:
    expected = native_value({"content": name, "content_args": args}, body)
    assume(expected is not FAILED and finite(expected))
    assert repr(compile_content(name, args, "f").parse(body)) == repr(expected)


@settings(max_examples=600, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.sampled_from(CONTENTS), bodies)
def test_content_types_agree(content: tuple[str, dict[str, Any]], body: str) -> None:
    compare(*content, body)


def written(value: Any, quote: Any, key: Any) -> str:
    """`value` in a dialect of JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key(name)}: {written(item, quote, key)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(item, quote, key) for item in value) + "]"
    if isinstance(value, str):
        return str(quote(value))
    return json.dumps(value)


@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
@given(json_values)
def test_the_gemma_dialect_agrees(value: Any) -> None:
    body = written(value, lambda text: f'<|"|>{text}<|"|>', lambda name: name)
    compare("json", {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]}, body)


@pytest.mark.skipif(
    native_value({"content": "python-call-list"}, "[f()]") is FAILED,
    reason="transformers reads python-call-list from 5.24 on",
)
@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
@given(st.dictionaries(st.from_regex(r"[a-z_]{1,4}", fullmatch=True), json_values, max_size=3))
def test_python_calls_agree(arguments: dict[str, Any]) -> None:
    body = f"[f({', '.join(f'{name}={value!r}' for name, value in arguments.items())})]"
    compare("python-call-list", {}, body)


@settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
@given(
    st.sampled_from(
        [
            "{content}",
            "{content.a}",
            "{content.a.b}",
            {"x": ["{content.a}", "lit"], "{content}": 1},
            ["{ content }", "{}"],
        ]
    ),
    st.sampled_from(['{"a": {"b": 1}}', '{"a": null}', '{"b": 2}', "[1]", "null", "5"]),
)
def test_transforms_agree(transform: Any, body: str) -> None:
    expected = native_value({"content": "json", "transform": transform}, body)
    assume(expected is not FAILED)
    ours = compile_transform(transform, "t", each=False, groups=())
    assert ours.apply({"content": compile_content("json", {}, "f").parse(body)}) == expected


types = st.sampled_from(["string", "integer", "number", "boolean", "null", "object", "array"])
schemas = (
    types.map(lambda name: {"type": name})
    | st.lists(types, min_size=1, max_size=3, unique=True).map(lambda names: {"type": names})
    | st.lists(types, min_size=1, max_size=3).map(lambda names: {"anyOf": [{"type": name} for name in names]})
    | types.map(lambda name: {"type": name, "nullable": True})
    | st.sampled_from([{}, {"type": "INTEGER"}, {"type": "strng"}, {"type": []}])
)
texts = st.sampled_from(
    [
        *(
            "7",
            "007",
            "1.50",
            "3.0",
            "3.5",
            "1e3",
            "true",
            "True",
            "FALSE",
            "yes",
            "1",
            "0",
            "null",
            "None",
            "nil",
            "",
            '""',
            '"x"',
            "abc",
        ),
        *(
            '{"a":1}',
            "[1, 2]",
            "{bad",
            "+5",
            "-3",
            "-0",
            "1_000",
            "inf",
            "0x10",
            "1e-3",
            "٣",
            "1,000",
            "[]",
            "{}",
            "1.",
            "x y",
        ),
    ]
)


@settings(max_examples=400)
@given(schemas, texts)
def test_text_is_typed_alike(schema: dict[str, Any], text: str) -> None:
    """Without a lax value parser; with one, difference 4 of the specification applies."""
    tools = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"v": schema}}}}
    ]
    transform = {"type": "function", "function": {"name": "f", "arguments": "{content}"}}
    body = f"<p=v>{text}</p>"
    expected = native_value(
        {"content": "xml-inline", "content_args": {"tag_pattern": TAG}, "transform": transform}, body, tools
    )
    assume(expected is not FAILED)
    value = compile_content("xml-inline", {"tag_pattern": TAG}, "f").parse(body, written=True)
    call = {"type": "function", "function": {"name": "f", "arguments": value}}
    assert repr(ToolSchemas.load(tools).type_calls(call)) == repr(expected)


@pytest.mark.parametrize(
    ("name", "args", "body", "ours"),
    [
        ("float", {}, "nan", None),
        ("json", {}, "[NaN]", None),
        ("json", {}, "[1e999]", None),
        ("json", {"allow_non_json": True}, "NaN", "NaN"),
        ("json", {}, "[" * 300 + "]" * 300, None),
    ],
)
def test_deliberate_differences(name: str, args: dict[str, Any], body: str, ours: Any) -> None:
    """NaN, infinities and boundless nesting are no JSON: transformers lets them into the message."""
    theirs = native_value({"content": name, "content_args": args}, body)
    assert theirs is not FAILED
    content = compile_content(name, args, "f")
    if ours is None:
        with pytest.raises(BodyError):
            content.parse(body)
    else:
        assert content.parse(body) == ours
