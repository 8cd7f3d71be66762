# SPDX-License-Identifier: Apache-2.0
"""`transform`: values in, types kept, shape of the template."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from transformers_response_parsing.errors import BodyError, TemplateError
from transformers_response_parsing.transform import Transform, compile_transform

PATH = "fields.x.transform"


def compiled(spec: Any, *, each: bool = False, groups: tuple[str, ...] = ("name",)) -> Transform:
    return compile_transform(spec, PATH, each=each, groups=groups)


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ("{content}", {"a": {"b": 2}, "n": None}),
        ("{content.a}", {"b": 2}),
        ("{content.a.b}", 2),
        ("{content.n}", None),
        ("{name}", "f"),
        (["{name}", 1, None, True, 1.5, "literal"], ["f", 1, None, True, 1.5, "literal"]),
        (
            {"type": "function", "function": {"name": "{name}", "arguments": "{content.a}"}},
            {"type": "function", "function": {"name": "f", "arguments": {"b": 2}}},
        ),
        ({"{content}": "{name}"}, {"{content}": "f"}),
        ({}, {}),
    ],
)
def test_placeholders_are_replaced_and_everything_else_is_literal(spec: Any, result: Any) -> None:
    assert compiled(spec).apply({"content": {"a": {"b": 2}, "n": None}, "name": "f"}) == result


@pytest.mark.parametrize(
    "text", ["{}", "{ content }", "{content.}", "{content..a}", "{content.a-b}", "{a b}", "{content", ""]
)
def test_what_is_no_placeholder_is_text(text: str) -> None:
    assert compiled([text]).apply({"content": 1}) == [text]


def test_values_are_put_in_as_they_are() -> None:
    value = {"a": [1]}
    assert compiled({"x": "{content}"}).apply({"content": value})["x"] is value


def test_results_share_nothing_with_the_template_or_each_other() -> None:
    spec = {"fixed": {"list": [1, {}]}, "empty": []}
    transform = compiled(spec)
    first = transform.apply({"content": 1})
    first["fixed"]["list"][1]["x"] = 1
    first["empty"].append(1)
    spec["fixed"]["list"].append(2)  # type: ignore[index]
    assert transform.apply({"content": 1}) == {"fixed": {"list": [1, {}]}, "empty": []}


def test_with_each_the_keys_of_the_element_are_the_variables() -> None:
    transform = compiled({"name": "{tool_name}", "kind": "{group}"}, each=True, groups=("group",))
    assert transform.apply({"group": "g", "tool_name": "f"}) == {"name": "f", "kind": "g"}


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"name": "f"}, r"nothing to put in for \{content.a\}; there is: name"),
        ({"content": {"b": 1}}, r"\{content.a\}: the object has no key 'a'"),
        ({"content": [1]}, r"\{content.a\}: no key 'a', the value is no object"),
        ({"content": None}, "the value is no object"),
    ],
)
def test_a_path_that_does_not_resolve_is_an_error(variables: dict[str, Any], reason: str) -> None:
    with pytest.raises(BodyError, match=reason):
        compiled("{content.a}").apply(variables)


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({"a": ["x {content}"]}, f"{PATH}.a[0]", "mixes text"),
        ("{{content}}", PATH, "mixes text"),
        ("{content}{name}", PATH, "mixes text"),
        ("{contnt}", PATH, "did you mean 'content'?"),
        ("{1}", PATH, "there is: content, name"),
        (5, PATH, "must be an object, a list or a string"),
        (None, PATH, "must be an object, a list or a string"),
        ({"a": {1}}, f"{PATH}.a", "must be a JSON value"),
        ({1: "x"}, PATH, "must be a string"),
    ],
)
def test_mistakes_are_found_at_load(spec: Any, path: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compiled(spec)
    assert caught.value.path == path
    assert message in str(caught.value)


def test_all_mistakes_are_reported_at_once() -> None:
    with pytest.raises(TemplateError) as caught:
        compiled({"a": "x {content}", "b": ["{nope}"], "c": "{content}"})
    assert [problem.path for problem in caught.value.problems] == [f"{PATH}.a", f"{PATH}.b[0]"]


def test_dotted_tells_whether_a_path_is_used() -> None:
    assert compiled({"a": ["{content.x}"]}).dotted
    assert not compiled({"a": "{content}", "b": "literal.text"}).dotted


def test_a_template_that_nests_without_end_is_an_error() -> None:
    spec: Any = "{content}"
    for _ in range(5000):
        spec = [spec]
    with pytest.raises(TemplateError, match="nests more than"):
        compiled(spec)


def test_a_transform_can_be_pickled_and_copied() -> None:
    transform = compiled({"a": ["{content.x}", "y"]})
    for other in (pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform)):
        assert other.apply({"content": {"x": 1}}) == {"a": [1, "y"]}


@pytest.mark.parametrize(
    ("spec", "result"),
    [
        ("{content.a|content.b}", 1),
        ("{content.b|content.a}", 1),
        ("{content.b|name}", "f"),
        ("{content.none|content.a}", None),
        ("{content.b|{}}", {}),
        ("{content.b|[]}", []),
        ("{content.b|null}", None),
        ('{content.b|content.c|""}', ""),
        ("{content.a|{}}", 1),
        ("{group|name}", "f"),  # a group that took no part
    ],
)
def test_the_first_alternative_that_resolves_is_taken(spec: str, result: Any) -> None:
    transform = compiled(spec, groups=("name", "group"))
    assert transform.extensions == (PATH,)
    assert transform.apply({"content": {"a": 1, "none": None}, "name": "f"}) == result


def test_alternatives_are_for_the_keys_of_elements_too() -> None:
    transform = compiled(["{args|parameters|{}}"], each=True)
    assert [transform.apply(element) for element in ({"parameters": 1}, {"args": 2, "parameters": 1}, {})] == [
        [1],
        [2],
        [{}],
    ]


def test_constants_are_made_anew_each_time() -> None:
    transform = compiled("{content.b|{}}")
    transform.apply({"content": {}})["x"] = 1
    assert transform.apply({"content": {}}) == {}


def test_where_no_alternative_resolves_it_is_an_error() -> None:
    with pytest.raises(BodyError, match=r"nothing to put in for \{content.a\|content.b\}; there is: content"):
        compiled("{content.a|content.b}").apply({"content": {"c": 1}})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{content | name}", "without spaces"),
        ("{content.a|-1}", "without spaces"),
        ("{content.a|{}|content.b}", "without spaces"),
        ("{content.a|nope}", r"nothing supplies {nope}"),
        ("x {content|name}", "mixes text with the alternatives {content|name}"),
    ],
)
def test_mistakes_in_alternatives_are_found_at_load(spec: str, message: str) -> None:
    with pytest.raises(TemplateError) as caught:
        compiled(spec)
    assert message in str(caught.value)


def test_a_placeholder_without_alternatives_is_no_extension() -> None:
    transform = compiled({"a": "{content.x}", "b": "{content.x|null}"})
    assert transform.extensions == (f"{PATH}.b",)
    assert pickle.loads(pickle.dumps(transform)).extensions == (f"{PATH}.b",)


def test_an_empty_last_alternative_leaves_the_key_out() -> None:
    """`{id|}` is there only if the model wrote it; outside of an object there is no key to leave out."""
    transform = compile_transform({"id": "{id|}", "name": "{name}"}, "t", each=False, groups={"id", "name"})
    assert transform.apply({"name": "a"}) == {"name": "a"}
    assert transform.apply({"name": "a", "id": "7"}) == {"id": "7", "name": "a"}
    assert transform.extensions == ("t.id",)
    with pytest.raises(TemplateError, match="would leave nothing"):
        compile_transform(["{id|}"], "t", each=False, groups={"id"})
