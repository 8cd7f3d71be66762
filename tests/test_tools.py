# SPDX-License-Identifier: Apache-2.0
"""Typing the arguments of tool calls from the tools' schemas."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformers_response_parsing.content import Written, compile_content
from transformers_response_parsing.errors import ResponseParsingError, TemplateError
from transformers_response_parsing.tools import ToolSchemas, complete_calls

LAX = {"name": "json", "args": {"allow_non_json": True}}


def tool(properties: Any, name: Any = "f", **more: Any) -> dict[str, Any]:
    """A wrapped schema of a function with these parameters."""
    parameters = {"type": "object", "properties": properties, **more}
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def call(arguments: Any, name: str = "f") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


def typed(schema: Any, value: Any, **more: Any) -> Any:
    """The argument `v` typed by `schema`; a str is what the model wrote in a tag, without a value parser."""
    result = ToolSchemas.load([tool({"v": schema}, **more)]).type_calls(call({"v": value}))
    return result["function"]["arguments"]["v"]


def from_json(schema: Any, text: str) -> Any:
    """The argument `v` that was written as JSON."""
    body = f'{{"name": "f", "arguments": {{"v": {text}}}}}'
    value = compile_content("json", None, "f").parse(body, written=True)
    return ToolSchemas.load([tool({"v": schema})]).type_calls({"function": value})["function"]["arguments"]["v"]


def from_tag(schema: Any, text: str) -> Any:
    """The argument `v` that was written in a tag with a lax value parser."""
    args = {"tag_pattern": "<p=(?P<key>[^>]+)>(?P<value>.*?)</p>", "value_parser": LAX}
    value = compile_content("xml-inline", args, "f").parse(f"<p=v>{text}</p>", written=True)
    return ToolSchemas.load([tool({"v": schema})]).type_calls(call(value))["function"]["arguments"]["v"]


def same(left: Any, right: Any) -> bool:
    """Equal with equal types: 1 is not True and not 1.0."""
    return repr(left) == repr(right)


INTEGER, NUMBER, BOOLEAN, NULL, STRING = ({"type": name} for name in ("integer", "number", "boolean", "null", "string"))
OBJECT, ARRAY = {"type": "object"}, {"type": "array"}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (INTEGER, "7", 7),
        (INTEGER, " 7 ", 7),
        (INTEGER, "+5", 5),
        (INTEGER, "007", 7),
        (INTEGER, "3.0", 3),
        (INTEGER, "1e3", 1000),
        (INTEGER, "3.5", "3.5"),
        (INTEGER, "2026-01-15", "2026-01-15"),
        (INTEGER, "", ""),
        (INTEGER, "true", "true"),
        (INTEGER, "9" * 5000, "9" * 5000),
        (NUMBER, "1.50", 1.5),
        (NUMBER, "3.0", 3.0),
        (NUMBER, "3", 3),
        (NUMBER, "1e3", 1000),
        (NUMBER, "9" * 30, int("9" * 30)),
        (NUMBER, "NaN", "NaN"),
        (NUMBER, "1e999", "1e999"),
        (BOOLEAN, "true", True),
        (BOOLEAN, "True", True),
        (BOOLEAN, "FALSE", False),
        (BOOLEAN, "1", True),
        (BOOLEAN, "0", False),
        (BOOLEAN, "yes", "yes"),
        (NULL, "null", None),
        (NULL, "None", None),
        (NULL, "nil", "nil"),
        (STRING, "007", "007"),
        (STRING, "1.50", "1.50"),
        (STRING, "true", "true"),
        (STRING, '{"a": 1}', '{"a": 1}'),
        (STRING, ' "x" ', ' "x" '),
        (OBJECT, '{"a": 1}', {"a": 1}),
        (OBJECT, "{'a': True, 'b': None}", {"a": True, "b": None}),
        (OBJECT, '"{\\"a\\": 1}"', {"a": 1}),
        (OBJECT, "[1]", "[1]"),
        (OBJECT, "{bad", "{bad"),
        (OBJECT, '{"a": "x\ny"}', {"a": "x\ny"}),
        (ARRAY, "[1, 2]", [1, 2]),
        (ARRAY, "(1, 2)", [1, 2]),
        (ARRAY, "['a', \"it's\"]", ["a", "it's"]),
        (ARRAY, "[NaN]", "[NaN]"),
        ({"type": ["string", "null"]}, "null", None),
        ({"type": ["string", "null"]}, "nothing", "nothing"),
        ({"type": ["string", "integer"]}, "7", 7),
        ({"type": ["string", "array"]}, "(1, 2)", "(1, 2)"),
        ({"type": ["boolean", "integer"]}, "1", True),
        ({"type": ["integer", "boolean"]}, "1", 1),
        ({"type": "integer", "nullable": True}, "null", None),
        ({"anyOf": [INTEGER, NULL]}, "null", None),
        ({"anyOf": [INTEGER, NULL]}, "5", 5),
        ({"oneOf": [INTEGER, STRING]}, "12a", "12a"),
        ({"anyOf": [OBJECT, NULL]}, '{"city": "Oslo"}', {"city": "Oslo"}),
        ({"anyOf": [{"type": "array", "items": STRING}, NULL]}, '["a", "b"]', ["a", "b"]),
        ({"allOf": [{"type": ["integer", "string"]}, {"type": ["integer", "null"]}]}, "5", 5),
        ({"allOf": [NUMBER, INTEGER]}, "5.0", 5),
        ({"properties": {"a": INTEGER}}, '{"a": 1}', {"a": 1}),
        ({"items": INTEGER}, "[1]", [1]),
        ({"enum": [1, 2, 3]}, "2", 2),
        ({"enum": [1, 2, 3]}, "5", "5"),
        ({"enum": ["1", "2"]}, "2", "2"),
        ({"enum": ["2", 2]}, "2", "2"),
        ({"type": ["integer", "string"], "enum": ["1", 2]}, "1", "1"),
        ({"enum": [True, None]}, "true", True),
        ({"const": 5}, "5", 5),
        ({}, "5", "5"),
        (True, "5", "5"),
        (None, "5", "5"),
        ({"type": "strng"}, "5", "5"),
        ({"type": 5}, "5", "5"),
        ({"type": []}, "5", "5"),
        ({"type": ["integer", None, {}]}, "5", 5),
    ],
)
def test_text_is_typed_by_the_schema(schema: Any, text: str, value: Any) -> None:
    assert same(typed(schema, text), value)


@pytest.mark.parametrize("text", ["75001", "007", "1.50", "true", "null", "NaN", '{"a": 1}', "[1]", '"x"', " x ", "-0"])
def test_a_string_parameter_keeps_what_the_model_wrote(text: str) -> None:
    """A lax value_parser reads `1.50` as 1.5 before the schema is asked; its guess does not count."""
    assert from_tag(STRING, text) == text


def test_what_the_schema_does_not_describe_keeps_the_guess() -> None:
    assert from_tag({}, "1.50") == 1.5
    assert from_tag(INTEGER, "[1]") == [1]


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        (STRING, "75001", "75001"),
        (STRING, "1.50", "1.50"),
        (STRING, "true", True),
        (STRING, "null", None),
        (STRING, '{"a": 1}', {"a": 1}),
        ({"type": ["string", "integer"]}, "5", 5),
        (INTEGER, "3.0", 3),
        (INTEGER, "3.5", 3.5),
        (INTEGER, '"7"', 7),
        (BOOLEAN, "1", 1),
        (BOOLEAN, '"true"', True),
        (OBJECT, '"{\\"a\\": 1}"', {"a": 1}),
        ({"type": "array", "items": STRING}, "[1, 2.50]", ["1", "2.50"]),
        ({"type": "array", "items": INTEGER}, '["1", "x"]', [1, "x"]),
    ],
)
def test_json_values_are_typed_too(schema: Any, text: str, value: Any) -> None:
    assert same(from_json(schema, text), value)


@pytest.mark.parametrize("keyword", ["$defs", "definitions"])
def test_local_references_are_followed(keyword: str) -> None:
    definitions = {keyword: {"N": {"type": "integer"}, "a/b~c": {"type": "boolean"}}}
    assert typed({"$ref": f"#/{keyword}/N"}, "5", **definitions) == 5
    assert typed({"allOf": [{"$ref": f"#/{keyword}/N"}], "default": 1}, "5", **definitions) == 5
    assert typed({"$ref": f"#/{keyword}/a~1b~0c"}, "true", **definitions) is True


@pytest.mark.parametrize(
    "reference", ["#/$defs/nope", "#/properties/v", "http://x/y", "#", "", "#/$defs/L", "#/required/0"]
)
def test_references_that_lead_nowhere_or_in_circles_type_nothing(reference: str) -> None:
    definitions = {"$defs": {"L": {"anyOf": [{"$ref": "#/$defs/L"}, {"allOf": [{"$ref": "#/$defs/L"}]}]}}}
    assert typed({"$ref": reference}, "5", required=["v"], **definitions) == "5"


def test_recursive_schemas_type_the_whole_tree() -> None:
    node = {"type": "object", "properties": {"v": INTEGER, "next": {"anyOf": [{"$ref": "#/$defs/N"}, NULL]}}}
    value = '{"v": "1", "next": {"v": "2", "next": "null"}}'
    expected = {"v": 1, "next": {"v": 2, "next": None}}
    assert typed({"$ref": "#/$defs/N"}, value, **{"$defs": {"N": node}}) == expected


def test_what_is_inside_objects_and_arrays_is_typed() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": INTEGER},
            "p": {"prefixItems": [INTEGER, STRING], "items": BOOLEAN},
        },
        "additionalProperties": NUMBER,
    }
    value = {"a": ["1", "x"], "p": ["5", "6", "true"], "other": "2.5"}
    assert typed(schema, value) == {"a": [1, "x"], "p": [5, "6", True], "other": 2.5}


def test_the_best_of_several_object_shapes_types_the_entries() -> None:
    shapes = [
        {"type": "object", "properties": {"kind": {"const": "a"}, "x": INTEGER}},
        {"type": "object", "properties": {"kind": {"const": "b"}, "x": STRING, "y": INTEGER}},
    ]
    assert typed({"anyOf": shapes}, {"kind": "b", "x": "1"}) == {"kind": "b", "x": "1"}
    assert typed({"anyOf": shapes}, {"kind": "a", "x": "1"}) == {"kind": "a", "x": 1}
    assert typed({"anyOf": shapes}, {"y": "1"}) == {"y": 1}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"n": "1", "other": "2"}, {"n": 1, "other": "2"}),
        ('{"n": "1"}', {"n": 1}),
        ("{'n': '1', 'b': True}", {"n": 1, "b": True}),
        ('"{\\"n\\": 1}"', {"n": 1}),
        (None, {}),
        ("", {}),
        ([1], [1]),
        ("n=1", "n=1"),
        (5, 5),
        (Written(5, "5", True), 5),
        (Written({"n": "1"}, '{"n": "1"}'), {"n": 1}),
        (Written("{'n': 1}", "{'n': 1}"), {"n": 1}),
    ],
)
def test_the_arguments_become_an_object_where_they_mean_one(arguments: Any, expected: Any) -> None:
    result = ToolSchemas.load([tool({"n": INTEGER})]).type_calls(call(arguments))
    assert result["function"]["arguments"] == expected


def test_missing_arguments_mean_none() -> None:
    schemas = ToolSchemas.load([tool({"n": INTEGER})])
    assert schemas.type_calls({"type": "function", "function": {"name": "f"}}) == call({})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"type": "function", "function": {"name": "f"}}, call({})),
        (call(None), call({})),
        ([call(None), call({"a": 1}), 5], [call({}), call({"a": 1}), 5]),
    ],
)
def test_without_tools_a_call_without_arguments_can_be_completed(value: Any, expected: Any) -> None:
    before = copy.deepcopy(value)
    assert complete_calls(value) == expected
    assert value == before


@pytest.mark.parametrize(
    "value",
    [
        *(None, "x", [], [1], [1, call(None)], [call({})], {"name": "f"}, call({"a": None}), call("")),
        {"function": {"name": "f"}},
        *({"type": "function", "function": function} for function in (5, {"name": 5}, {})),
        {"type": 5, "function": {"name": "f"}},
    ],
)
def test_what_is_complete_or_no_call_is_the_same_object(value: Any) -> None:
    assert complete_calls(value) is value


def test_calls_of_other_tools_and_other_values_stay_as_they_are() -> None:
    schemas = ToolSchemas.load([tool({"n": INTEGER})])
    assert schemas.type_calls(call({"n": "1"}, "g")) == call({"n": "1"}, "g")
    assert schemas.type_calls(call({"n": Written(1, "1")}, "g")) == call({"n": 1}, "g")
    for value in (None, 5, "x", {"a": Written(1, "1")}, [Written(2, "2")], {"function": 5}, {"function": {"name": 5}}):
        assert "Written" not in repr(schemas.type_calls(value))
    assert schemas.type_calls([call({"n": "1"}), "x", call({"n": "2"})]) == [call({"n": 1}), "x", call({"n": 2})]


def test_other_keys_of_a_call_and_their_order_are_kept() -> None:
    value = {"id": Written(7, "7"), "function": {"arguments": {"n": "1"}, "name": "f", "x": 1}, "type": "function"}
    result = ToolSchemas.load([tool({"n": INTEGER})]).type_calls(value)
    assert (
        json.dumps(result) == '{"id": 7, "function": {"arguments": {"n": 1}, "name": "f", "x": 1}, "type": "function"}'
    )


@pytest.mark.parametrize(
    "tools",
    [
        [tool({"n": INTEGER})],
        [tool({"n": INTEGER})["function"]],
        [{"type": "function", **tool({"n": INTEGER})["function"]}],
        tool({"n": INTEGER}),
        (item for item in [tool({"n": INTEGER})]),
        [tool({"n": STRING}), tool({"n": INTEGER})],
        ToolSchemas.load([tool({"n": INTEGER})]),
        pickle.loads(pickle.dumps(ToolSchemas.load([tool({"n": INTEGER})]))),
        copy.deepcopy(ToolSchemas.load([tool({"n": INTEGER})])),
    ],
)
def test_tools_come_in_every_form(tools: Any) -> None:
    assert ToolSchemas.load(tools).type_calls(call({"n": "1"})) == call({"n": 1})


def test_python_functions_are_tools() -> None:
    pytest.importorskip("transformers.utils", reason="converting functions needs transformers")

    def set_alarm(hour: int, label: str | None = None) -> None:
        """Sets an alarm.

        Args:
            hour: The hour.
            label: What for.
        """

    schemas = ToolSchemas.load([set_alarm])
    result = schemas.type_calls(call({"hour": "7", "label": "8"}, "set_alarm"))
    assert result == call({"hour": 7, "label": "8"}, "set_alarm")


@pytest.mark.parametrize(
    ("tools", "message"),
    [
        ("x", "tools must be a list .* not str"),
        (5, "tools must be a list .* not int"),
        ([tool({}), 5], r"tools\[1\] must be a JSON schema .* not int"),
        ([None], r"tools\[0\] must be .* not NoneType"),
    ],
)
def test_what_is_no_tool_is_an_error_at_once(tools: Any, message: str) -> None:
    with pytest.raises(ResponseParsingError, match=message) as caught:
        ToolSchemas.load(tools)
    assert not isinstance(caught.value, TemplateError)


def test_a_function_that_has_no_schema_is_an_error_with_its_name() -> None:
    pytest.importorskip("transformers.utils", reason="converting functions needs transformers")

    def undocumented(x: int) -> None: ...

    with pytest.raises(ResponseParsingError, match=r"tools\[0\]: no JSON schema can be made of undocumented"):
        ToolSchemas.load([undocumented])


def test_the_tools_and_the_value_are_never_changed() -> None:
    tools = [
        tool(
            {"v": {"anyOf": [{"type": "integer", "nullable": True}, {"$ref": "#/$defs/N"}]}}, **{"$defs": {"N": OBJECT}}
        )
    ]
    value = call({"v": {"a": [Written(1, "1")]}, "w": {"b": []}})
    before = copy.deepcopy((tools, value))
    schemas = ToolSchemas.load(tools)
    schemas.type_calls(value)
    schemas.type_calls(call({"v": "5"}))
    assert (tools, value) == before


def test_deep_values_and_wide_schemas_come_to_an_end() -> None:
    recursive = {"$defs": {"N": {"anyOf": [{"$ref": "#/$defs/N"}, {"type": "array", "items": {"$ref": "#/$defs/N"}}]}}}
    deep = "[" * 5000 + "]" * 5000
    assert typed({"$ref": "#/$defs/N"}, deep, **recursive) == deep
    doubling: dict[str, Any] = {f"A{i}": {"allOf": [{"$ref": f"#/$defs/A{i + 1}"}] * 2} for i in range(40)}
    doubling["A40"] = INTEGER
    typed({"$ref": "#/$defs/A0"}, "5", **{"$defs": doubling})
    unions: dict[str, Any] = {"allOf": [{"anyOf": [INTEGER, STRING, NULL, BOOLEAN]}] * 30}
    assert typed(unions, "5") == 5
    assert typed({"enum": [str(i) for i in range(100_000)]}, "99999") == "99999"
    nested: dict[str, Any] = INTEGER
    for _ in range(3000):
        nested = {"anyOf": [nested]}
    typed(nested, "5")


json_like = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(
        [
            "integer",
            "string",
            "object",
            "array",
            "null",
            "5",
            "true",
            "[1]",
            '{"v": "1"}',
            "#/$defs/N",
            "#",
            "v",
            "('1',)",
        ]
    )
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "type",
                        "properties",
                        "items",
                        "anyOf",
                        "oneOf",
                        "allOf",
                        "$ref",
                        "$defs",
                        "N",
                        "v",
                        "enum",
                        "const",
                        "nullable",
                    ),
                    *("additionalProperties", "prefixItems", "required", "name", "function", "parameters", "arguments"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=300)
@given(json_like, json_like)
def test_no_schema_and_no_value_raises(schema: Any, value: Any) -> None:
    for parameters in (schema, {"type": "object", "properties": {"v": schema}, "$defs": {"N": schema}}):
        tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
        result = ToolSchemas.load(tools).type_calls(call({"v": value, "w": Written(value, "5")}))
        assert "Written" not in repr(result)
        ToolSchemas.load(tools).type_calls(call(value))
        ToolSchemas.load([{"name": schema, "parameters": schema}])


@settings(max_examples=200)
@given(json_like)
def test_without_a_matching_schema_unwrapping_is_all_that_happens(value: Any) -> None:
    result = ToolSchemas.load([tool({})]).type_calls(call({"v": value}))
    assert repr(result) == repr(call({"v": value}))
