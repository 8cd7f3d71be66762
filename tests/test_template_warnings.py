# SPDX-License-Identifier: Apache-2.0
"""The warnings about templates that load: what is not portable, slow, or probably not meant."""

from __future__ import annotations

from typing import Any

import pytest

from transformers_response_parsing.lint import pattern_warnings
from transformers_response_parsing.template import ResponseTemplate

REGION = {"open": "<t>", "close": "</t>"}


def template(**fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": "<A>", "fields": fields}


def warnings(source: dict[str, Any]) -> dict[str, str]:
    return dict(ResponseTemplate.load(source).problems)


class TestWarnings:
    """`problems` of a template that loads."""

    def test_a_good_template_has_none(self) -> None:
        """The seed document's first example is as it should be."""
        call = {"open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json"}
        call["transform"] = {"type": "function", "function": "{content}"}
        thought = {"open": "<think>", "close": "</think>"}
        smol = template(reasoning_content=thought, tool_calls=call, content={"close": "<|im_end|>"})
        assert ResponseTemplate.load(smol).problems == ()

    @pytest.mark.parametrize(
        ("pattern", "says"),
        [
            ("(?<=a)b", "look-behind"),
            ("(?<!a)b", "look-behind"),
            (r"(a)b\1", "back-reference"),
            (r"(?:(a)b)(?:c)\g<1>", "back-reference"),
            ("(?>ab)", "atomic"),
            ("a++b", "possessive"),
            ("a{1,2}+b", "possessive"),
            ("(a)?(?(1)b|c)", "conditional"),
            ("(?:abc){e<=1}", "fuzzy"),
            ("(?i)a", "flags"),
            ("(?i:a)", "flags"),
            (r"ab\Kc", "regex` module"),
            ("(?:a+)+b", "exponential"),
            ("(?:a|b*)+c", "exponential"),
            ("((a+))+b", "exponential"),
        ],
    )
    @pytest.mark.parametrize("key", ["start_anchor_pattern", "fields.x.open_pattern", "fields.x.close_pattern"])
    def test_patterns_that_are_not_portable_or_slow(self, key: str, pattern: str, says: str) -> None:
        """In every regex of a template."""
        source = template(x={key.rpartition(".")[2]: pattern})
        if key == "start_anchor_pattern":
            source = {"defaults": {"role": "a"}, key: pattern, "fields": {"x": REGION}}
        assert says in warnings(source)[key]

    def test_tag_patterns_too(self) -> None:
        """Nested ones included."""
        tag = "(?P<key>a)(?<=x)(?P<value>b)"
        args = {"tag_pattern": tag, "value_parser": {"name": "xml-inline", "args": {"tag_pattern": tag}}}
        assert list(warnings(template(x={**REGION, "content": "xml-inline", "content_args": args}))) == [
            "fields.x.content_args.tag_pattern",
            "fields.x.content_args.value_parser.args.tag_pattern",
        ]

    @pytest.mark.parametrize(
        "pattern",
        [
            r"<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            r"</think>|(?=\s*<tool_call>)",
            r"(?:\s*<\|im_end\|>)\s*",
            r"a\++[*+]+?\(?<=x\)",
            "[(?<=]+",
            "(?:<p>.*?</p>)+",
            "(?:a*){2}(?:ab+)*",
            "{name}{a}",
            r"(?!x)(?#(?<=x))\\1",
        ],
    )
    def test_usual_patterns_have_none(self, pattern: str) -> None:
        """Escapes and character classes are not taken for syntax."""
        assert pattern_warnings(pattern) == ()

    @pytest.mark.parametrize("pattern", ["", "a*", r"\s*", "a|", "(?:a?b*)"])
    def test_patterns_that_match_nothing_anywhere(self, pattern: str) -> None:
        """An anchor or delimiter that is found between any two characters is a mistake, but a defined one."""
        anchor = {
            "defaults": {"role": "a"},
            "start_anchor_pattern": pattern,
            "fields": {"x": {"open_pattern": pattern}},
        }
        found = warnings(anchor)
        assert "can match nothing" in found["start_anchor_pattern"]
        assert "can match nothing" in found["fields.x.open_pattern"]

    @pytest.mark.parametrize("pattern", ["$", "^", r"\Z", "(?=<e>)", "a+"])
    def test_patterns_that_match_nothing_at_one_place(self, pattern: str) -> None:
        """Those say something."""
        assert warnings(template(x={"open": "a", "close_pattern": pattern})) == {}

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("thinking", "reasoning_content"),
            ("Thinking", "reasoning_content"),
            ("reasoning", "reasoning_content"),
            ("tool_call", "tool_calls"),
            ("tool_cals", "tool_calls"),
            ("answer", "content"),
        ],
    )
    def test_names_that_chat_templates_do_not_read(self, name: str, meant: str) -> None:
        """A message under another key is lost when the chat goes on."""
        assert f"'{meant}'" in warnings(template(**{name: REGION}))[f"fields.{name}"]

    @pytest.mark.parametrize("name", ["reasoning_content", "content", "role", "citations", "x"])
    def test_names_that_are_right_or_the_author_s_own(self, name: str) -> None:
        """Other keys are allowed."""
        assert warnings(template(**{name: REGION})) == {}

    def test_a_message_without_a_role(self) -> None:
        """It can't be appended to a chat."""
        assert "role" in warnings({"start_anchor": "a", "fields": {"x": REGION}})["defaults"]
        assert warnings({"start_anchor": "a", "fields": {"x": REGION, "role": {"open": "<r>", "close": "</r>"}}}) == {}

    def test_a_field_that_is_never_opened(self) -> None:
        """Of equal literals the field whose name comes first in the alphabet gets all."""
        source = template(b={"open": "<t>"}, a={"open": ["<t>", "<u>"]}, c={"open": ["<u>", "<v>"]})
        found = warnings(source)
        assert list(found) == ["fields.b.open", "fields.c.open[0]"]
        assert "never opened: 'a'" in found["fields.b.open"]
        assert "'a' has the same literal" in found["fields.c.open[0]"]

    def test_a_close_that_always_opens_another_field(self) -> None:
        """An open comes before a close."""
        found = warnings(template(x={"open": "<t>", "close": "</t>"}, y={"close": ["<e>", "<t>"]}))
        assert list(found) == ["fields.y.close[1]"]

    def test_a_literal_given_twice(self) -> None:
        """Harmless, and probably a slip."""
        assert list(warnings(template(x={"open": ["a", "b", "a"]}))) == ["fields.x.open[2]"]

    def test_tool_calls_that_are_no_list(self) -> None:
        """Chat templates loop over them."""
        call = {**REGION, "content": "json", "transform": {"type": "function", "function": "{content}"}}
        assert "repeats" in warnings(template(tool_calls=call))["fields.tool_calls"]
        assert warnings(template(tool_calls={**call, "repeats": True})) == {}

    def test_a_group_that_hides_the_body(self) -> None:
        """The transform would get the group."""
        found = warnings(template(x={"open_pattern": "(?P<content>a)", "transform": "{content}"}))
        assert "hides the parsed body" in found["fields.x.open_pattern"]


CALL = {**REGION, "content": "json", "repeats": True, "transform": {"type": "function", "function": "{content}"}}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"json_calls": CALL}, "fields.json_calls"),
        ({"tool_calls": {**CALL, "open": "<c>"}, "json_calls": CALL}, "fields.json_calls"),
        ({"more": {**CALL, "into": "toolcalls"}}, "fields.more.into"),
    ],
)
def test_calls_that_go_to_a_key_that_nobody_reads(fields: dict[str, Any], path: str) -> None:
    said = [message for where, message in warnings(template(**fields)).items() if where == path]
    assert said
    assert 'add "into": "tool_calls"' in said[0]


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": CALL, "json_calls": {**CALL, "open": "<c>", "into": "tool_calls"}},
        {"citations": {**REGION, "repeats": True, "content": "json"}},
    ],
)
def test_other_fields_of_ones_own_are_fine(fields: dict[str, Any]) -> None:
    assert warnings(template(**fields)) == {}
