# SPDX-License-Identifier: Apache-2.0
"""One key of a JSON text is set, and every other byte stays. Texts are made piece by piece, so that the test knows where they are."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.json_edit import JsonTextError, read_key, same_json, set_key

KEY = "response_template"
VALUE = {"version": 1, "fields": {"content": {"close": ["</é>", "\u2028"], "repeats": False}}, "empty": {}, "none": []}
NUMBERS = ("0", "-0", "1e5", "1E+5", "0.10", "1.0", "1e-400", "1e999", "NaN", "-Infinity", "1" + "0" * 30, "7" * 5000)
SPACES = ("", " ", "  ", "\t", "\n", "\r\n", "\n    ", " \n\t")

space = st.sampled_from(SPACES)
strings = st.one_of(
    st.text(max_size=6).map(json.dumps),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6).map(
        lambda text: json.dumps(text, ensure_ascii=False)
    ),
    st.sampled_from([r'"\/"', r'"\u00E9"', r'"\ud83d\ude00"', '"}"', '"\\"{"', '"\u2028\x7f"', '"response_template"']),
)
scalars = st.one_of(strings, st.sampled_from((*NUMBERS, "true", "false", "null", "[]", "{ }")))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.tuples(space, inner, space, inner).map(lambda p: f"[{p[0]}{p[1]}{p[2]},{p[0]}{p[3]}]"),
        st.tuples(space, strings, inner, space).map(lambda p: f"{{{p[0]}{p[1]}{p[3]}:{p[0]}{p[2]}}}"),
    ),
    max_leaves=6,
)
# The key, and a spelling of it that JSON readers take for the same.
key_spellings = st.sampled_from([f'"{KEY}"', '"response\\u005ftemplate"'])


class Case(NamedTuple):
    """A JSON text in three parts: what comes before the change, what is replaced ("" for a new key), what comes after it."""

    head: str
    old: str
    tail: str

    @property
    def text(self) -> str:
        return self.head + self.old + self.tail


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any object, in one style or in none, with the key or without."""
    wild = draw(st.booleans())
    fixed = {name: draw(space) for name in ("lead", "key_end", "value", "comma", "end")}

    def gap(name: str) -> str:
        return draw(space) if wild else fixed[name]

    members = draw(st.lists(st.tuples(strings, values), max_size=5))
    places = draw(st.lists(st.integers(0, len(members)), max_size=2))
    for place in places:
        members.insert(place, (draw(key_spellings), draw(values)))
    last = max((i for i, (key, _) in enumerate(members) if json.loads(key) == KEY), default=None)
    parts = [draw(st.sampled_from(["", "\ufeff"])), draw(space), "{"]
    cut = (len(parts), len(parts))  # where the change belongs: these parts are replaced
    for index, (key, value) in enumerate(members):
        if index:
            parts += [gap("comma"), ","]
        parts += [gap("lead"), key, gap("key_end"), ":", gap("value"), value]
        if index == last or (last is None and index == len(members) - 1):
            cut = (len(parts) - (last is not None), len(parts))
    parts += [gap("end"), "}", draw(space)]
    return Case("".join(parts[: cut[0]]), "".join(parts[cut[0] : cut[1]]), "".join(parts[cut[1] :]))


class Pairs(list[Any]):
    """The members of an object in order, duplicates included."""


def read(text: str) -> Pairs:
    """Everything that is in a text, but for the layout."""
    spelled: Any = lambda number: ("number", number)  # noqa: E731
    hooks = {"parse_int": spelled, "parse_float": spelled, "parse_constant": spelled, "object_pairs_hook": Pairs}
    result: Pairs = json.loads(text.removeprefix("\ufeff"), **hooks)
    return result


@given(cases(), st.sampled_from([VALUE, {}, {"a": 1}, None, "é\ud800", [1, [2]], 3]))
def test_nothing_outside_of_the_key_changes(case: Case, value: Any) -> None:
    """The text before and after is the same to the byte, all other members are in it in their order and spelling."""
    new = set_key(case.text, KEY, value)
    assert new.startswith(case.head)
    assert new.endswith(case.tail)
    assert len(new) >= len(case.head) + len(case.tail)
    assert same_json(read_key(new, KEY), value)
    before, after = read(case.text), read(new)
    places = [i for i, (key, _) in enumerate(before) if key == KEY]
    at = places[-1] if places else len(before)
    assert after[:at] == before[:at]
    assert after[at][0] == KEY
    assert after[at + 1 :] == before[at + 1 :]
    new.encode("utf-8")


@given(cases())
def test_setting_it_again_changes_nothing(case: Case) -> None:
    once = set_key(case.text, KEY, VALUE)
    assert set_key(once, KEY, VALUE) == once


@given(cases())
def test_reading_gives_what_json_readers_give(case: Case) -> None:
    """Of duplicates the last; the default where it is not."""
    try:
        expected = json.loads(case.text.removeprefix("\ufeff")).get(KEY, "none")
    except (
        ValueError
    ):  # Python reads no integers of 5,000 digits; where one is elsewhere, the key can be read all the same
        return
    assert json.dumps(read_key(case.text, KEY, "none")) == json.dumps(expected)


@pytest.mark.parametrize("indent", [1, 2, 4, "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_dumped_file_gets_what_dumping_again_would_give(
    indent: int | str, newline: str, end: str, ascii_only: bool
) -> None:
    """In files that a program wrote, the new key looks like the others, whether it is replaced or added."""
    config = {"z": "é", "model_max_length": 10**30, "a": {"b": [1, 2]}}

    def dump(data: Any) -> str:
        return json.dumps(data, indent=indent, ensure_ascii=ascii_only).replace("\n", newline) + end

    assert set_key(dump(config), KEY, VALUE) == dump({**config, KEY: VALUE})
    between = {"z": "é", KEY: {"old": []}, "a": 1}
    assert set_key(dump(between), KEY, VALUE) == dump({**between, KEY: VALUE})


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (",", ": ")])
def test_a_file_of_one_line_stays_one(separators: tuple[str, str]) -> None:
    config = {"z": 1, "a": "b"}
    written = json.dumps(config, separators=separators)
    assert set_key(written, KEY, {"x": [1, 2]}) == json.dumps({**config, KEY: {"x": [1, 2]}}, separators=separators)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "k": {\n    "é": 1\n  }\n}'),
        ("{}\n", '{\n  "k": {\n    "é": 1\n  }\n}\n'),
        ("{\r\n}\r\n", '{\r\n  "k": {\r\n    "é": 1\r\n  }\r\n}\r\n'),
        ('{"a":1}', '{"a":1,"k":{"é":1}}'),
        ('{"a": 1}', '{"a": 1, "k": {"é": 1}}'),
        ('{"a": "\\u00e9"}', '{"a": "\\u00e9", "k": {"\\u00e9": 1}}'),
        ('{\n"a": 1\n}', '{\n"a": 1,\n"k": {\n  "é": 1\n}\n}'),
        ('{"a": 1\n,"b": 2\n}', '{"a": 1\n,"b": 2\n,"k": {\n  "é": 1\n}\n}'),
        ('{\n  "a": 1, "b": 2\n}', '{\n  "a": 1, "b": 2, "k": {"é": 1}\n}'),
    ],
)
def test_styles(text: str, expected: str) -> None:
    """An empty object is written as `save_pretrained` does; else the last member is what the new one looks like."""
    assert set_key(text, "k", {"é": 1}) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "must begin with"),
        ("[1]", "must begin with"),
        ('{"a": 1', "expected ',' or '}' (line 1, column 8)"),
        ('{\n  "a": 1,\n}', "expected a key in double quotes (line 3, column 1)"),
        ('{"a" 1}', "expected ':'"),
        ('{"a": tru}', "Expecting value"),
        ('{"a": 1} x', "something after the object"),
        ('{"a": "\n"}', "Invalid control character"),
        ("{'a': 1}", "expected a key in double quotes"),
        ('{"a": ' + "[" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_what_is_no_object_is_told_with_the_place(text: str, said: str) -> None:
    for use in (lambda: set_key(text, KEY, {}), lambda: read_key(text, KEY)):
        with pytest.raises(JsonTextError) as caught:
            use()
        assert said in str(caught.value)


def test_a_value_that_python_cannot_read_is_told() -> None:
    with pytest.raises(JsonTextError, match="'k' can't be read"):
        read_key('{"k": ' + "7" * 5000 + "}", "k")


def test_json_values_are_the_same_in_any_order_of_keys_but_not_of_another_type() -> None:
    assert same_json({"a": 1, "b": [{}]}, {"b": [{}], "a": 1})
    assert not same_json({"a": 1}, {"a": 1.0})
    assert not same_json({"a": 1}, {"a": True})
    assert not same_json([1, 2], [2, 1])
