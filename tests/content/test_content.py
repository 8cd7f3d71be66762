# SPDX-License-Identifier: Apache-2.0
"""The content types: what each reads, what it refuses and where."""

from __future__ import annotations

import copy
import json
import pickle
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.content import CONTENT_TYPES, Written, compile_content, unwrap
from transformers_response_parsing.errors import BodyError, TemplateError

LAX = {"name": "json", "args": {"allow_non_json": True}}
TAG = r"<p=(?P<key>[^>]+)>(?P<value>.*?)</p>"
GEMMA = {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]}


def parse(name: str, body: str, args: Any = None, **how: bool) -> Any:
    return compile_content(name, args, "fields.x").parse(body, **how)


def refusal(name: str, body: str, args: Any = None, **how: bool) -> BodyError:
    with pytest.raises(BodyError) as caught:
        parse(name, body, args, **how)
    return caught.value


@pytest.mark.parametrize(
    ("name", "args", "body", "value"),
    [
        ("text", None, " a b\n", "a b"),
        ("text", {"strip": False}, " a b\n", " a b\n"),
        ("int", None, " 42 ", 42),
        ("int", None, "1_000", 1000),
        ("int", None, "-5", -5),
        ("float", None, " .5", 0.5),
        ("float", None, "1e5", 100000.0),
        ("bool", None, " TRUE ", True),
        ("bool", None, "1", True),
        ("bool", None, "yes", False),
        ("bool", None, "", False),
        ("json", None, ' {"a": [1, 2.5, null, true, "\\u00e9"]} ', {"a": [1, 2.5, None, True, "é"]}),
        ("json", None, '{"a": 1, "a": 2}', {"a": 2}),
        ("json", {"unquoted_keys": True}, '{a: 1, "b": {c_1: "x: y, z: {"}}', {"a": 1, "b": {"c_1": "x: y, z: {"}}),
        ("json", {"unquoted_keys": True}, "{true: true, 日本: 2, a-b: 3}", {"true": True, "日本": 2, "a-b": 3}),
        ("json", GEMMA, '{a: <|"|>say "no" \\n {b:1}<|"|>, b: []}', {"a": 'say "no" \\n {b:1}', "b": []}),
        ("json", GEMMA, '[<|"|><|"|>, "x\\n"]', ["", "x\n"]),
        (
            "json",
            {"string_delims": [["'", "'"]]},
            '{\'a\': \'say "hi"\', "b": "it\'s"}',
            {"a": 'say "hi"', "b": "it's"},
        ),
        ("json", {"string_delims": [["<<", ">>"], ["<", ">"]]}, "[<<x>>, <y>, <<z>]", ["x", "y", "<z"]),
        ("json", {"allow_non_json": True}, " plain text ", "plain text"),
        ("json", {"allow_non_json": True}, "{'a': 1}", "{'a': 1}"),
        ("json", {"allow_non_json": True}, '"a\nb"', '"a\nb"'),
        ("json", {"allow_non_json": True}, "NaN", "NaN"),
        ("json", {"allow_non_json": True}, "[" * 100_000, "[" * 100_000),
        ("xml-inline", {"tag_pattern": TAG}, "<p=a> 1 </p> junk <p=b></p><p=a>2</p>", {"a": "2", "b": ""}),
        ("xml-inline", {"tag_pattern": TAG, "value_parser": LAX}, "<p=a>1</p><p=b>x</p>", {"a": 1, "b": "x"}),
        (
            "xml-inline",
            {"tag_pattern": TAG, "merge_duplicates": True},
            "<p=a>[]</p><p=b>1</p><p=a>2</p><p=a>3</p>",
            {"a": ["[]", "2", "3"], "b": "1"},
        ),
        ("xml-inline", {"tag_pattern": TAG, "value_parser": {"name": "kv-lines"}}, "<p=a>x:1</p>", {"a": {"x": "1"}}),
        ("kv-lines", None, "\na: 5\n\nb:2 : 3\nnokey\n:7\na:6\n", {"a": "6", "b": "2 : 3", "": "7"}),
        ("kv-lines", {"strip": False}, "a : 1", {"a ": " 1"}),
        ("kv-lines", {"line_sep": ";", "kv_sep": "=>"}, "a=>1; b => x=>y", {"a": "1", "b": "x=>y"}),
        ("kv-lines", {"value_parser": {"name": "int"}}, "a: 1\nb:2", {"a": 1, "b": 2}),
        ("python-call-list", None, "[]", []),
        (
            "python-call-list",
            None,
            " [f ( a = 1 , b='x' ), g.h-i() ] ",
            [{"name": "f", "arguments": {"a": 1, "b": "x"}}, {"name": "g.h-i", "arguments": {}}],
        ),
        (
            "python-call-list",
            None,
            "[f(a='x\ny', b=(1, 2), c=(), d=(3,))]",
            [{"name": "f", "arguments": {"a": "x\ny", "b": [1, 2], "c": [], "d": [3]}}],
        ),
    ],
)
def test_values(name: str, args: Any, body: str, value: Any) -> None:
    assert repr(parse(name, body, args)) == repr(value)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ('{"a": "line1\n\tline2"}', {"a": "line1\n\tline2"}),
        ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        (
            "{'on': True, 'tag': None, \"note\": \"it's\", 'off': False}",
            {"on": True, "tag": None, "note": "it's", "off": False},
        ),
        ("{'a': 'it\\'s \\x41', 'b': (1, 2)}", {"a": "it's A", "b": [1, 2]}),
        ('{"a": "\\d+\\\'"}', {"a": "\\d+'"}),
        ('{"a": {"b": 1}}}\n]', {"a": {"b": 1}}),
        ('{"a": {"b": "c"}', {"a": {"b": "c"}}),
        ('[{"a": "b"', [{"a": "b"}]),
    ],
)
def test_json_with_one_reading_only_is_read(body: str, value: Any) -> None:
    assert parse("json", body) == value


@given(
    st.lists(st.sampled_from(['"', ",", "\\", "u", "00e9", "d800", "x", "n", "\n", '"]', "a"]), max_size=9).map("".join)
)
def test_after_an_unknown_escape_strings_are_read_as_before(text: str) -> None:
    """From the first one on each string is read by itself."""
    before = '["\\q", '

    def answer(body: str) -> Any:
        try:
            return parse("json", body)
        except BodyError as error:
            return error.reason, error.position

    alone, after = answer(f'["{text}"]'), answer(f'{before}"{text}"]')
    if isinstance(alone, list):
        assert after == ["\\q", *alone]
    else:
        assert not isinstance(after, list)


def test_json_that_was_cut_off_is_not_completed() -> None:
    assert refusal("json", '{"a": {"b": "c"}', cut_off=True).position == len('{"a": {"b": "c"}')


@pytest.mark.parametrize(
    ("name", "args", "body", "reason", "position"),
    [
        ("int", None, "  x", "expected an integer, got 'x'", 2),
        ("int", None, "", "expected an integer", 0),
        ("int", None, "9" * 5000, "more than 4300 digits", 0),
        ("float", None, " nan", "finite", 1),
        ("float", None, "-inf", "finite", 0),
        ("float", None, "1e999", "finite", 0),
        ("float", None, "x", "expected a number", 0),
        ("json", None, "", "Expecting value", 0),
        ("json", None, '{"a": }', "Expecting value", 6),
        ("json", None, '{"a": "b', "Unterminated string", 6),
        ("json", None, '{"a": 1', "delimiter", 7),
        ("json", None, '{"a": 1} {"b": 2}', "Extra data", 9),
        ("json", None, "[NaN]", "NaN is no JSON value", None),
        ("json", None, '{"a": -Infinity}', "-Infinity is no JSON value", None),
        ("json", None, "[1e999]", "too large", None),
        ("json", None, "[" + "9" * 5000 + "]", "digits", None),
        ("json", None, "[" * 200_000, "nested more than 200 levels", None),
        ("json", None, "[" * 201 + "]" * 201, "nested more than 200 levels", None),
        ("json", {"unquoted_keys": True}, "{a:" * 200_000, "nested more than 200 levels", 600),
        ("json", {"unquoted_keys": True}, "{a: b}", "expected a JSON value", 4),
        ("json", {"unquoted_keys": True}, "{a: NaN}", "expected a JSON value", 4),
        ("json", {"unquoted_keys": True}, "{a b}", "expected ':'", 4),
        ("json", GEMMA, '{a: <|"|>x}', "expected a JSON value", 4),
        (
            "xml-inline",
            {"tag_pattern": TAG, "value_parser": {"name": "int"}},
            "<p=a>1</p><p=b>x</p>",
            "value of 'b'",
            15,
        ),
        ("kv-lines", {"value_parser": {"name": "int"}}, "a:1\nb:x", "value of 'b': expected an integer", 6),
        ("python-call-list", None, "f()", r"expected '\['", 0),
        ("python-call-list", None, "[f(1)]", "expected a keyword argument", 3),
        ("python-call-list", None, "[f(a=1,)]", "expected a keyword argument", 7),
        ("python-call-list", None, "[f(a=1),]", "name of a function", 8),
        ("python-call-list", None, "[f(a=1,a=2)]", "'a' is given twice", 7),
        ("python-call-list", None, "[f(a={'k':1,'k':2})]", "'k' is given twice", 12),
        ("python-call-list", None, "[f(a=9007199254740992)]", "outside of", 5),
        ("python-call-list", None, f"[f(a={'9' * 5000})]", "digits", 5),
        ("python-call-list", None, "[f(a=1e999)]", "too large", 5),
        ("python-call-list", None, "[f(a='\\x41')]", "unknown escape", 6),
        ("python-call-list", None, "[f(a='\\ud83d')]", "half a surrogate pair", 6),
        ("python-call-list", None, "[f(a='x)]", "never closed", 5),
        ("python-call-list", None, "[f(a=1)] x", "after the closing", 9),
        ("python-call-list", None, "[f(a=(1))]", "no tuple", 6),
        ("python-call-list", None, "[f(a={1:2})]", "keys of a dict must be strings", 6),
        ("python-call-list", None, "[f(a=" + "[" * 200_000, "nested more than 100", 105),
        ("python-call-list", None, "[f(a=01)]", "expected ','", 6),
    ],
)
def test_refusals_say_what_and_where(name: str, args: Any, body: str, reason: str, position: int | None) -> None:
    error = refusal(name, body, args)
    assert re.search(reason, error.reason), error.reason
    assert error.position == position


def test_python_calls_nest_up_to_a_hundred_levels() -> None:
    assert parse("python-call-list", f"[f(a={'[' * 100}{']' * 100})]")


def test_a_tag_that_was_cut_off_is_refused_only_where_the_region_was() -> None:
    args = {"tag_pattern": TAG}
    assert parse("xml-inline", "<p=a>1</p>\n<p=b>2", args) == {"a": "1"}
    assert refusal("xml-inline", "<p=a>1</p>\n<p=b>2", args, cut_off=True).position == 11
    assert refusal("xml-inline", "x <p=a>1</p>", args, cut_off=True).position == 0
    assert parse("xml-inline", " <p=a>1</p>\n", args, cut_off=True) == {"a": "1"}


@pytest.mark.parametrize(
    ("name", "args", "body", "value"),
    [
        ("json", None, '{"a": [1.50, "2", true]}', {"a": [Written(1.5, "1.50", True), "2", True]}),
        ("json", GEMMA, "{a: 1.50}", {"a": Written(1.5, "1.50", True)}),
        ("xml-inline", {"tag_pattern": TAG}, "<p=a>1</p>", {"a": "1"}),
        (
            "xml-inline",
            {"tag_pattern": TAG, "value_parser": LAX},
            "<p=a>1.50</p><p=b>x</p>",
            {"a": Written(1.5, "1.50"), "b": "x"},
        ),
        (
            "xml-inline",
            {"tag_pattern": TAG, "value_parser": LAX},
            '<p=a>"x"</p><p=b> x </p>',
            {"a": Written("x", '"x"'), "b": Written("x", " x ")},
        ),
        ("xml-inline", {"tag_pattern": TAG, "value_parser": {"name": "json"}}, '<p=a>"x"</p>', {"a": "x"}),
        ("kv-lines", {"value_parser": {"name": "int"}}, "a: 007", {"a": Written(7, "007")}),
        ("python-call-list", None, "[f(a=1.50)]", [{"name": "f", "arguments": {"a": Written(1.5, "1.50", True)}}]),
    ],
)
def test_written_keeps_the_text_beside_a_guess(name: str, args: Any, body: str, value: Any) -> None:
    result = parse(name, body, args, written=True)
    assert repr(result) == repr(value)
    assert unwrap(result) == parse(name, body, args)


def test_unwrap_copies_only_what_it_must() -> None:
    value = {"a": [1, {"b": "x"}]}
    assert unwrap(value) is value
    inner = {"c": 1}
    assert unwrap({"a": [Written(1, "1"), inner]}) == {"a": [1, inner]}


@pytest.mark.parametrize(
    ("name", "args", "problems"),
    [
        ("jsn", None, {"fields.x.content": "did you mean 'json'?"}),
        (5, None, {"fields.x.content": "unknown content type 5"}),
        ("text", {"stripp": True}, {"fields.x.content_args.stripp": "did you mean 'strip'?"}),
        ("text", {"strip": "no"}, {"fields.x.content_args.strip": "must be true or false, not a string"}),
        ("int", {"base": 10}, {"fields.x.content_args.base": "it takes none"}),
        ("json", [], {"fields.x.content_args": "must be an object"}),
        ("json", {"string_delims": "ab"}, {"fields.x.content_args.string_delims": "list of"}),
        (
            "json",
            {"string_delims": [["a", "b"], ["a"], ["", "x"], ["a", 1]]},
            {f"fields.x.content_args.string_delims[{i}]": "pair" for i in (1, 2, 3)},
        ),
        ("xml-inline", None, {"fields.x.content_args.tag_pattern": "needs it"}),
        ("xml-inline", {"tag_pattern": "("}, {"fields.x.content_args.tag_pattern": "no valid regex"}),
        ("xml-inline", {"tag_pattern": 5}, {"fields.x.content_args.tag_pattern": "must be a regex"}),
        (
            "xml-inline",
            {"tag_pattern": "(?P<key>a)"},
            {"fields.x.content_args.tag_pattern": "needs the named group value"},
        ),
        (
            "xml-inline",
            {"tag_pattern": "a"},
            {"fields.x.content_args.tag_pattern": "needs the named groups key and value"},
        ),
        (
            "xml-inline",
            {"tag_pattern": "(", "x": 1, "value_parser": {"name": "nope", "extra": 1}},
            {
                "fields.x.content_args.x": "no such argument",
                "fields.x.content_args.value_parser.extra": "unknown key",
                "fields.x.content_args.value_parser.name": "unknown content type",
                "fields.x.content_args.tag_pattern": "no valid regex",
            },
        ),
        (
            "kv-lines",
            {"line_sep": "", "kv_sep": 5},
            {"fields.x.content_args.line_sep": "empty", "fields.x.content_args.kv_sep": "string"},
        ),
        ("kv-lines", {"value_parser": "int"}, {"fields.x.content_args.value_parser": "must be an object"}),
        ("kv-lines", {"value_parser": {"args": {}}}, {"fields.x.content_args.value_parser.name": "needs the name"}),
        (
            "kv-lines",
            {"value_parser": {"name": "json", "args": {"strict": True}}},
            {"fields.x.content_args.value_parser.args.strict": "no such argument"},
        ),
    ],
)
def test_mistakes_in_templates_are_found_at_load_all_at_once(name: Any, args: Any, problems: dict[str, str]) -> None:
    with pytest.raises(TemplateError) as caught:
        compile_content(name, args, "fields.x")
    found = {problem.path: problem.message for problem in caught.value.problems}
    assert found.keys() == problems.keys()
    for path, message in problems.items():
        assert message in found[path]


def test_value_parsers_nest_but_not_without_end() -> None:
    args: Any = {"value_parser": {"name": "text"}}
    for _ in range(20):
        args = {"value_parser": {"name": "kv-lines", "args": args}}
    with pytest.raises(TemplateError, match="nest more than"):
        compile_content("kv-lines", args, "fields.x")


SAMPLES: list[tuple[str, Any]] = [
    *((name, None) for name in CONTENT_TYPES if name != "xml-inline"),
    ("json", {"allow_non_json": True}),
    ("json", {"unquoted_keys": True}),
    ("json", GEMMA),
    ("json", {"string_delims": [["<<", ">>"], ["<", ">"], ["'", "'"]]}),
    ("xml-inline", {"tag_pattern": TAG, "value_parser": LAX}),
    ("xml-inline", {"tag_pattern": TAG, "value_parser": {"name": "json"}, "merge_duplicates": True}),
    ("kv-lines", {"value_parser": {"name": "python-call-list"}}),
    ("json", {"entry_keys": ["k", "v"]}),
    ("json-sequence", {**GEMMA, "entry_keys": ["k", "v"]}),
    (
        "xml-inline",
        {"tag_pattern": "<p=(?P<key>.)(?P<raw>a)?>(?P<value>.*?)</p>", "value_parser": LAX, "unescape": True},
    ),
    ("xml-elements", {"tag_prefix": "<", "item": "a", "value_parser": LAX, "unescape": True}),
    ("python-call-list", {"brackets": "optional"}),
]
bodies = st.text(max_size=30) | st.lists(
    st.sampled_from(
        [
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
                "\\u12",
                "\\ud800",
                "f",
                "a",
                "True",
                "null",
            ),
            *(
                "-",
                "0",
                "12",
                ".",
                "e9",
                "1e999",
                "NaN",
                "Infinity",
                "<p=a>",
                "</p>",
                "<a>",
                "</a>",
                "<f/>",
                "&lt;",
                "&#",
                ";",
                '<|"|>',
                "<<",
                ">>",
                "<",
                ">",
                "\ud800",
                "\0",
            ),
            *("[f(a=", "{'a':", '{"a":', '"x"', "9" * 5000, "[" * 300, "{a:" * 300),
        ]
    ),
    max_size=15,
).map("".join)


@given(st.sampled_from(SAMPLES), bodies, st.booleans(), st.booleans())
def test_whatever_the_body_only_a_body_error_comes_out(
    sample: tuple[str, Any], body: str, written: bool, cut_off: bool
) -> None:
    try:
        value = parse(sample[0], body, sample[1], written=written, cut_off=cut_off)
    except BodyError as error:
        position = error.position
        assert position is None or 0 <= position <= len(body)
    else:
        json.dumps(unwrap(value), allow_nan=False)


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_content_types_can_be_pickled_and_copied(sample: tuple[str, Any]) -> None:
    content = compile_content(*sample, "fields.x")
    for other in (pickle.loads(pickle.dumps(content)), copy.deepcopy(content)):
        for body in ("1", "[]", "<p=a>1</p>", "{}", "a:[]"):
            try:
                expected = content.parse(body)
            except BodyError as error:
                with pytest.raises(BodyError, match=re.escape(error.reason)):
                    other.parse(body)
            else:
                assert other.parse(body) == expected


def test_the_types_tell_the_parser_what_they_are() -> None:
    contents = {
        name: compile_content(name, {"tag_pattern": TAG} if name == "xml-inline" else None, "f")
        for name in CONTENT_TYPES
    }
    assert {name for name, content in contents.items() if not content.dirty} == {"text", "int", "float", "bool"}
    assert all(content.strips for content in contents.values())
    assert not compile_content("text", {"strip": False}, "f").strips
    assert [name for name, content in contents.items() if content.scanner() is not None] == ["json", "json-sequence"]
    assert contents["json"].scanner() is not contents["json"].scanner()
