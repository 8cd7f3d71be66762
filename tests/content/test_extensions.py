# SPDX-License-Identifier: Apache-2.0
"""The content types and arguments that only this package has."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.content import Written, compile_content, unwrap
from transformers_response_parsing.errors import BodyError

LAX = {"name": "json", "args": {"allow_non_json": True}}
NAMED = {"entry_keys": ["name", "arguments"]}
GEMMA = {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]}
TAG = r'<p name="(?P<key>[^"]+)"(?P<raw> raw)?>(?P<value>.*?)</p>'
BARE = {"brackets": "optional"}
UNQUOTED = {"quotes": "optional"}
M3 = {"tag_prefix": "]<]m[>["}


def parse(name: str, body: str, args: Any = None, **how: bool) -> Any:
    return compile_content(name, args, "fields.x").parse(body, **how)


def refusal(name: str, body: str, args: Any = None, **how: bool) -> BodyError:
    with pytest.raises(BodyError) as caught:
        parse(name, body, args, **how)
    return caught.value


def calls(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "arguments": {}} for name in names]


def calls_with(*arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Calls of f and g with these arguments."""
    return [{"name": name, "arguments": given} for name, given in zip("fg", arguments, strict=True)]


@pytest.mark.parametrize(
    ("name", "args", "body", "value"),
    [
        ("json-sequence", None, '{"a": 1}', [{"a": 1}]),
        ("json-sequence", None, '{"a": 1}{"a": 2}', [{"a": 1}, {"a": 2}]),
        ("json-sequence", None, '\n{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("json-sequence", None, '{"a": 1}; {"a": 2}, {"a": 3};', [{"a": 1}, {"a": 2}, {"a": 3}]),
        ("json-sequence", None, '[{"a": 1}, {"a": 2}] [{"a": 3}, [4]]', [{"a": 1}, {"a": 2}, {"a": 3}, [4]]),
        ("json-sequence", None, '1 "a" null,true', [1, "a", None, True]),
        ("json-sequence", None, " \n", []),
        ("json-sequence", None, "[]", []),
        # Slips with one reading are read, as in `json`.
        ("json-sequence", None, "{\"a\": True}\n{'b': [1,]}", [{"a": True}, {"b": [1]}]),
        ("json-sequence", None, '{"a": 1}}\n{"b": "x"', [{"a": 1}, {"b": "x"}]),
        ("json-sequence", None, '{"a": "x\ny"}{}', [{"a": "x\ny"}, {}]),
        ("json-sequence", GEMMA, '{a: <|"|>x}{<|"|>}{b: 1}', [{"a": "x}{"}, {"b": 1}]),
        (
            "json-sequence",
            NAMED,
            '{"f": {"x": 1}}[{"g": {}}, {"h": 1, "i": 2}, 5]',
            [
                {"name": "f", "arguments": {"x": 1}},
                {"name": "g", "arguments": {}},
                {"h": 1, "i": 2},
                5,
            ],
        ),
        ("json", NAMED, '{"f": {"x": 1}}', {"name": "f", "arguments": {"x": 1}}),
        (
            "json",
            NAMED,
            '[{"f": null}, {}, {"a": {"b": 1}}]',
            [
                {"name": "f", "arguments": None},
                {},
                {"name": "a", "arguments": {"b": 1}},
            ],
        ),
        ("json", NAMED, '{"name": "f", "arguments": {"x": 1}}', {"name": "f", "arguments": {"x": 1}}),
        ("json", NAMED, '"f"', "f"),
        ("json", {**NAMED, "allow_non_json": True}, "f(", "f("),
        (
            "xml-inline",
            {"tag_pattern": TAG, "value_parser": LAX},
            '<p name="a" raw>1</p><p name="b">1</p>',
            {"a": "1", "b": 1},
        ),
        (
            "xml-inline",
            {"tag_pattern": TAG, "unescape": True},
            '<p name="a&amp;b">&lt;p&gt; &amp;lt; &#233;&#xE9;</p>',
            {"a&b": "<p> &lt; éé"},
        ),
        (
            "xml-inline",
            {"tag_pattern": TAG, "unescape": True, "value_parser": LAX},
            '<p name="a">[&quot;x&quot;]</p>',
            {"a": ["x"]},
        ),
        ("xml-inline", {"tag_pattern": TAG}, '<p name="a">&lt;</p>', {"a": "&lt;"}),
        ("xml-elements", None, "<a>1</a>\n<b> x </b>", {"a": "1", "b": " x "}),
        ("xml-elements", None, "<a><b>1</b><c><d>2</d></c></a>", {"a": {"b": "1", "c": {"d": "2"}}}),
        ("xml-elements", None, "<a>\n <item>1</item>\n <item><b>2</b></item>\n</a>", {"a": ["1", {"b": "2"}]}),
        ("xml-elements", {"item": "li"}, "<a><li>1</li></a><b><item>2</item></b>", {"a": ["1"], "b": {"item": "2"}}),
        ("xml-elements", None, "<item>1</item>", {"item": "1"}),
        ("xml-elements", None, "<a/><b></b><c><d/></c>", {"a": "", "b": "", "c": {"d": ""}}),
        ("xml-elements", None, "<a>1</a><a>2</a>", {"a": "2"}),
        ("xml-elements", None, "", {}),
        ("xml-elements", None, "<a.b-c d>1</a.b-c d><日本>2</日本>", {"a.b-c d": "1", "日本": "2"}),
        # Text with tags in it is text, as written.
        ("xml-elements", None, "<a>x <i>y</i></a>", {"a": "x <i>y</i>"}),
        ("xml-elements", None, "<a>if a < b: <br> c > d</a>", {"a": "if a < b: <br> c > d"}),
        ("xml-elements", None, "<a><p>one<p>two</a>", {"a": "<p>one<p>two"}),
        ("xml-elements", None, "<a></b></a>", {"a": "</b>"}),
        ("xml-elements", M3, "]<]m[>[<a><b>x</b>]<]m[>[</a>", {"a": "<b>x</b>"}),
        ("xml-elements", M3, "]<]m[>[<a>]<]m[>[<b>x]<]m[>[</b>]<]m[>[</a>", {"a": {"b": "x"}}),
        (
            "xml-elements",
            {"value_parser": LAX, "unescape": True},
            "<a>1</a><b>&lt;</b><c&amp;>[]</c&amp;>",
            {"a": 1, "b": "<", "c&": []},
        ),
        ("python-call-list", BARE, "f()", calls("f")),
        ("python-call-list", BARE, "f()\ng()\n", calls("f", "g")),
        ("python-call-list", BARE, " f() ;g(), h()\n\n,i();", calls("f", "g", "h", "i")),
        ("python-call-list", BARE, 'f(a="x\n)", b=[1,\n2])', [{"name": "f", "arguments": {"a": "x\n)", "b": [1, 2]}}]),
        ("python-call-list", BARE, " [f(), g()]\n", calls("f", "g")),
        ("python-call-list", BARE, "\n", []),
        ("python-call-list", {"brackets": "required"}, "[f()]", calls("f")),
        ("python-call-list", {"quotes": "required"}, "[f()]", calls("f")),
        ("python-call-list", UNQUOTED, "[f(), g( )]", calls("f", "g")),
        *(
            (
                "python-call-list",
                UNQUOTED,
                f"[f(a={text}, b=2), g(c={text})]",
                calls_with({"a": value, "b": 2}, {"c": value}),
            )
            for text, value in [
                ("New York", "New York"),
                ("", ""),
                ("  x \n", "x"),
                ("it's, so (they say) = odd", "it's, so (they say) = odd"),
                ('a {"b": [1, 2]} }] f(x="y") [z]', 'a {"b": [1, 2]} }] f(x="y") [z]'),
                ("2 days", "2 days"),
                ("1, 2", "1, 2"),
                ("[1, 2] and [3]", "[1, 2] and [3]"),
                ('"a "b" c"', 'a "b" c'),
                ("'it's'", "it's"),
                ("'tis", "'tis"),
                (r'"C:\new "x""', r'C:\new "x"'),
                # What can be read is read.
                (r'"a\n\"b\", c=\""', 'a\n"b", c="'),
                ("'a, b=1'", "a, b=1"),
                ("true", True),
                ("[1, {'k': None}]", [1, {"k": None}]),
                ("-1.5", -1.5),
            ]
        ),
        ("python-call-list", {**BARE, **UNQUOTED}, "f(a=x y)\ng(b=z)", calls_with({"a": "x y"}, {"b": "z"})),
        ("python-call-list", {**BARE, **UNQUOTED}, "f(a=x\ny) ;\n g(b=z)\n", calls_with({"a": "x\ny"}, {"b": "z"})),
    ],
)
def test_values(name: str, args: Any, body: str, value: Any) -> None:
    assert parse(name, body, args) == value


@pytest.mark.parametrize(
    ("name", "args", "body", "reason", "position"),
    [
        ("json-sequence", None, '{"a": 1} x', "Expecting value", 9),
        ("json-sequence", None, ',{"a": 1}', "Expecting value", 0),
        ("json-sequence", None, "1 23true", "right behind", 4),
        ("json-sequence", None, '{"a": 1}\n{"b": ', "Expecting value", 15),
        ("json-sequence", None, "1" + "[" * 300 + "]" * 300, "levels deep", None),
        ("json-sequence", None, "1 " + "9" * 5000, "digits", None),
        ("json-sequence", None, "1 NaN", "NaN", None),
        ("json-sequence", GEMMA, "{a: 1} {b", "too early", 9),
        ("xml-inline", {"tag_pattern": TAG, "value_parser": {"name": "int"}}, '<p name="a">x</p>', "value of 'a'", 12),
        ("xml-elements", None, "x<a>1</a>", "outside", 0),
        ("xml-elements", None, "<a>1</a> x", "outside", 9),
        ("xml-elements", None, "x", "outside", 0),
        ("xml-elements", None, "<a>1</b>", "'a' is never closed", 0),
        ("xml-elements", None, "<a>1</a><b>2", "'b' is never closed", 8),
        ("xml-elements", {"value_parser": {"name": "int"}}, "<a><b>x</b></a>", "value of 'b'", 6),
        ("xml-elements", None, "<a>" * 300 + "</a>" * 300, "levels deep", None),
        ("python-call-list", BARE, "f() g()", "between two calls", 4),
        ("python-call-list", BARE, "f(),", "no call after", 3),
        ("python-call-list", BARE, "f(1)", "keyword", 2),
        ("python-call-list", BARE, "[f()] g()", "after the closing", 6),
        ("python-call-list", None, "f()", "expected '['", 0),
        ("python-call-list", None, "[f(a=x y)]", "expected a string", 5),
        ("python-call-list", UNQUOTED, "[f(a=x y", "expected a string", 5),
        ("python-call-list", UNQUOTED, "[f(a='x y", "never closed", 5),
        ("python-call-list", UNQUOTED, "[f(a=1)] so", "after the closing", 9),
        ("python-call-list", UNQUOTED, "[f(a=x, a=y)]", "given twice", 8),
    ],
)
def test_refusals_say_what_and_where(name: str, args: Any, body: str, reason: str, position: int | None) -> None:
    error = refusal(name, body, args)
    assert reason in error.reason
    assert error.position == position


def test_entities_in_raw_values_are_text() -> None:
    """What `<![CDATA[` holds is exactly as written, all else is decoded."""
    pattern = r"<p=(?P<key>[^>]+)>(?P<raw><!\[CDATA\[)?(?P<value>.*?)(?:\]\]>)?</p>"
    body = "<p=&lt;>1 &lt; 2</p><p=b><![CDATA[1 &lt; 2]]></p>"
    assert parse("xml-inline", body, {"tag_pattern": pattern, "unescape": True}) == {"<": "1 < 2", "b": "1 &lt; 2"}


@pytest.mark.parametrize(
    ("name", "body"),
    [("json-sequence", '{"a": "x"'), ("json-sequence", " "), ("xml-elements", "<a>x"), ("xml-elements", "<a>x</a>")],
)
def test_what_was_cut_off_is_not_completed(name: str, body: str) -> None:
    assert refusal(name, body, cut_off=True)


@pytest.mark.parametrize(
    ("name", "args", "body", "value"),
    [
        ("json-sequence", None, '{"a": 1.50}', [{"a": Written(1.5, "1.50", True)}]),
        ("json-sequence", NAMED, "{'f': 7}", [{"name": "f", "arguments": Written(7, "7", True)}]),
        ("xml-inline", {"tag_pattern": TAG, "value_parser": LAX}, '<p name="a" raw>1</p>', {"a": "1"}),
        (
            "xml-inline",
            {"tag_pattern": TAG, "value_parser": LAX, "unescape": True},
            '<p name="a">&#49;</p>',
            {"a": Written(1, "1")},
        ),
        ("xml-elements", None, "<a>1</a>", {"a": "1"}),
        ("xml-elements", None, "<a><item>1</item></a>", {"a": Written(["1"], "<item>1</item>")}),
        ("xml-elements", {"value_parser": LAX}, "<a><b>1</b></a>", {"a": Written({"b": Written(1, "1")}, "<b>1</b>")}),
        ("python-call-list", BARE, "f(a=1)", [{"name": "f", "arguments": {"a": Written(1, "1", True)}}]),
    ],
)
def test_written_keeps_the_text_beside_a_guess(name: str, args: Any, body: str, value: Any) -> None:
    assert parse(name, body, args, written=True) == value


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(st.text(max_size=4), json_values, max_size=3)


@given(
    st.lists(
        st.tuples(objects | st.lists(objects, max_size=3), st.sampled_from(["", " ", "\n", ",", ";", ", ", ";\n"]))
    ),
    st.booleans(),
)
def test_a_sequence_is_its_values_however_they_are_separated(parts: list[tuple[Any, str]], ascii_only: bool) -> None:
    body = "".join(json.dumps(value, ensure_ascii=ascii_only) + between for value, between in parts)
    flat = [item for value, _ in parts for item in (value if isinstance(value, list) else [value])]
    assert parse("json-sequence", body) == flat
    scanner = compile_content("json-sequence", {"until_complete": True}, "f").scanner()
    assert scanner is not None
    scanner.feed(body + "Hello")
    ends = (
        [sum(len(json.dumps(v, ensure_ascii=ascii_only)) + len(b) for v, b in parts) - len(parts[-1][1])]
        if parts
        else [None]
    )
    assert scanner.document_end() == ends[0]


names = st.sampled_from(["a", "b", "city name", "x.y", "日本"])
texts = st.text("ab &;<>/\n]", max_size=8)
trees = st.recursive(
    texts, lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3)
)


def rendered(tree: Any, escape: bool) -> str:
    if isinstance(tree, str):
        return html.escape(tree) if escape else tree
    entries = [("item", item) for item in tree] if isinstance(tree, list) else list(tree.items())
    between = "" if len(entries) % 2 else "\n "
    return between.join(f"]<]m[>[<{name}>{rendered(item, escape)}]<]m[>[</{name}>" for name, item in entries)


@given(st.dictionaries(names, trees, max_size=3), st.booleans(), st.booleans())
def test_elements_are_read_as_they_were_written(tree: dict[str, Any], escape: bool, written: bool) -> None:
    value = parse("xml-elements", rendered(tree, escape), {**M3, "unescape": escape}, written=written)
    assert unwrap(value) == tree


pieces = st.lists(
    st.sampled_from(["<a>", "</a>", "<b>", "</b>", "<item>", "</item>", "<c/>", "x", " ", "<", ">", "/", "&lt;"]),
    max_size=14,
)


def slow_elements(body: str) -> Any:
    """The same as a recursive definition: the elements of a text, or None if there is other text."""
    tags = [
        (m.start(), m.end(), m[1], m[2], m[3]) for m in re.finditer(r"<(/?)([^<>\s/](?:[^<>\n]*[^<>\s/])?)(/?)>", body)
    ]
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for index, (_, _, end, name, empty) in enumerate(tags):
        if not end:
            if empty:
                pairs[index] = index
            else:
                opened.append(index)
        elif not empty and any(tags[i][3] == name for i in opened):
            while tags[opened[-1]][3] != name:
                opened.pop()
            pairs[opened.pop()] = index

    def read(first: int, last: int, start: int, stop: int) -> list[tuple[str, Any]] | None:
        found, index, at = [], first, start
        while index < last:
            if index not in pairs:
                return None
            close = pairs[index]
            if body[at : tags[index][0]].strip():
                return None
            inner = read(index + 1, close, tags[index][1], tags[close][0]) if close > index else []
            text = body[tags[index][1] : tags[close][0]] if close > index else ""
            found.append((tags[index][3], value(inner, text)))
            at, index = tags[close][1], close + 1
        return None if body[at:stop].strip() else found

    def value(inner: list[tuple[str, Any]] | None, text: str) -> Any:
        if not inner:
            return text
        if all(name == "item" for name, _ in inner):
            return [item for _, item in inner]
        return dict(inner)

    top = read(0, len(tags), 0, len(body))
    return None if top is None else dict(top)


@given(pieces.map("".join))
def test_any_text_is_read_as_defined(body: str) -> None:
    expected = slow_elements(body)
    if expected is None:
        assert refusal("xml-elements", body)
    else:
        assert parse("xml-elements", body) == expected


@given(
    st.lists(
        st.sampled_from(["&", "amp;", "lt", "#", "x", "110000;", "0;", "d800;", "65;", "41;", ";", "&quot;", "é"]),
        max_size=8,
    )
)
def test_entities_are_those_of_xml(parts: list[str]) -> None:
    text = "".join(parts)
    known = re.compile(r"&(?:quot|amp|lt|gt|apos|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")

    def decoded(match: re.Match[str]) -> str:
        by_library = html.unescape(match[0])
        bad = "\ufffd" in by_library or by_library == "" or ord(by_library) == 0xFFFD
        return match[0] if bad else by_library

    tag = r"<p=(?P<key>a)>(?P<value>.*?)</p>"
    assert parse("xml-inline", f"<p=a>{text}</p>", {"tag_pattern": tag, "unescape": True}) == {
        "a": known.sub(decoded, text)
    }


@given(
    st.lists(st.sampled_from(["f()", "g(a=1)", 'h(b="]")']), min_size=1, max_size=4),
    st.sampled_from([",", ", ", " ,\n"]),
)
def test_calls_without_brackets_are_those_with_them(parts: list[str], between: str) -> None:
    body = between.join(parts)
    assert parse("python-call-list", body, BARE) == parse("python-call-list", f"[{body}]")
    assert parse("python-call-list", "\n".join(parts), BARE) == parse("python-call-list", f"[{body}]", BARE)


def test_unquoted_values_keep_their_text_for_the_schema() -> None:
    """`007` is no number to a schema that says string; only the schema knows."""
    [call] = parse("python-call-list", "[f(a=1.50, b=true, c=x, d=[1])]", UNQUOTED, written=True)
    assert call["arguments"]["c"] == "x"
    assert [call["arguments"][key].text for key in "abd"] == ["1.50", "true", "[1]"]
    assert unwrap(call["arguments"]) == {"a": 1.5, "b": True, "c": "x", "d": [1]}


@given(
    st.lists(
        st.sampled_from(["x", "'", '"', "1", ", ", ", b=", ")", "), f(", "(", "[", "]", "\\", "\n", "=", "{"]),
        max_size=9,
    )
)
def test_calls_with_quotes_are_read_alike_whether_they_may_lack_them(parts: list[str]) -> None:
    """Whatever can be read strictly gives the same values with `quotes` "optional"; all else a value or our error."""
    body = f"[f(a={''.join(parts)})]"
    try:
        strict = parse("python-call-list", body)
    except BodyError:
        strict = None
    try:
        lax = parse("python-call-list", body, UNQUOTED)
    except BodyError:
        lax = None
    assert strict is None or lax == strict


call_lists = st.lists(
    st.sampled_from(["f(a=1)", "g(b=[1, (2,), {'k': \"]\"}])", "h()", "i(c='\\\\', d=\"\\\"])\", e='')"]), max_size=3
).map(lambda parts: f"[{', '.join(parts)}]")


@given(call_lists, st.sampled_from(["", " ", "Hello", "]", "[f()]", "'"]), st.integers(0, 60), st.integers(0, 60))
def test_a_list_of_calls_ends_with_its_bracket(body: str, after: str, first: int, second: int) -> None:
    scanner = compile_content("python-call-list", {"until_complete": True}, "f").end_scanner()
    assert scanner is not None
    text = " " + body + after
    low, high = sorted((first, second))
    for piece in (text[:low], text[low:high], text[high:]):
        if scanner.document_end() is None:
            assert scanner.settled <= len(body) + 1
            scanner.feed(piece)
    assert scanner.document_end(final=True) == scanner.settled == len(body) + 1


@pytest.mark.parametrize("body", ["x", "]", "f()", "[f(a=1])", "[f(a='", "[f(", "", " ", "[" * 300, "'[]'"])
def test_what_is_no_list_of_calls_never_ends(body: str) -> None:
    scanner = compile_content("python-call-list", {"until_complete": True}, "f").end_scanner()
    assert scanner is not None
    scanner.feed(body)
    assert scanner.document_end(final=True) is None
    assert scanner.settled == len(body)
