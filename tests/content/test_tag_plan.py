# SPDX-License-Identifier: Apache-2.0
"""The fast search for tags finds exactly what `regex.finditer` finds."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformers_response_parsing.content import tag_plan
from transformers_response_parsing.content.tag_plan import TagFinder
from transformers_response_parsing.errors import BodyError

# The tag patterns of real templates.
REAL = [
    r"<parameter=(?P<key>[^>]+)>\s*(?P<value>.*?)\s*</parameter>",
    r"<parameter=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</parameter>",
    r"<parameter=(?P<key>\w+)>\s*(?P<value>.*?)\s*</parameter>",
    r"<parameter=(?P<key>\w+)>(?:\r?\n)?(?P<value>.*?)(?:\r?\n)?</parameter>",
    r"<parameter=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</parameter>(?=\s*(?:<parameter=|</function>|$))",
    r"<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>",
    r"<arg_key(?::[^>]+)?>(?P<key>.*?)</arg_key(?::[^>]+)?>\s*<arg_value(?::[^>]+)?>(?P<value>.*?)</arg_value(?::[^>]+)?>",
    r"<\|tool_arg:start\|>(?P<key>.*?)<\|tool_arg:value\|>(?P<value>.*?)<\|tool_arg:end\|>",
    r'<\|open\|>argument key="(?P<key>[^"]+)"[^<]*<\|sep\|>(?P<value>.*?)<\|close\|>argument<\|sep\|>',
    r'<｜DSML｜parameter name="(?P<key>[^"]+)"[^>]*>(?P<value>.*?)</｜DSML｜parameter>',
    r'<｜DSML｜parameter name="(?P<key>[^"]+)" string="(?:(?P<raw>true)|false)">(?P<value>.*?)</｜DSML｜parameter>',
    r'<parameter name="(?P<key>[^"]+)">(?P<value>.*?)</parameter>',
    r'<param name="(?P<key>[^"]+)">(?:<!\[CDATA\[)?(?P<value>.*?)(?:\]\]>)?</param>',
]


def oracle(pattern: str, body: str) -> list[Any]:
    """What `regex` itself finds."""
    compiled = regex.compile(pattern, regex.DOTALL)
    raw = "raw" in compiled.groupindex
    return [
        (m.start(), m.end(), m["key"], m["value"], m.start("value"), raw and m["raw"] is not None)
        for m in compiled.finditer(body)
    ]


@pytest.fixture(autouse=True)
def _no_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short bodies are left to `regex`; these tests are about the plan."""
    monkeypatch.setattr(tag_plan, "_SHORT", -1)


def finder(pattern: str) -> TagFinder:
    return TagFinder(pattern, regex.compile(pattern, regex.DOTALL))


def found(pattern: str, body: str) -> list[Any] | str:
    try:
        return list(finder(pattern).find(body))
    except BodyError as error:
        return error.reason


# Patterns around one skeleton, so that they share their texts with the bodies below.
heads = st.sampled_from(
    [
        "<a",
        "<a=",
        "<a*",
        r"\s*<a",
        r"\n?<a",
        "(?:<b>)?<a",
        "(?:<a|<b)",
        "<a(?!x)",
        r"\b<a",
        "<",
        "",
        "(?=<a)<",
        "<a[=:]",
    ]
)
keys = st.sampled_from(
    [
        *(
            r"(?P<key>[^>]+)",
            r"(?P<key>\w+)",
            r"(?P<key>\w*)",
            r"(?P<key>.*?)",
            r"(?P<key>.+?)",
            r"(?P<key>[^>\n]*)",
            "(?P<key>a?)",
        ),
        *(
            r"(?P<key>\w{2,3})",
            r"(?P<key>\w+?)",
            r"(?P<key>(?:a|x)+)",
            r"(?P<key>\s*\w)",
            r"(?P<key>.)",
            r"(?P<key>[<a=]+)",
        ),
    ]
)
middles = st.sampled_from(
    [
        ">",
        r">\s*",
        r">\n?",
        "",
        r"\s*>",
        r">\s*<b>",
        "(?:>|<)",
        r">(?:\r?\n)?",
        r">\s+",
        ">x?",
        "[^<]*>",
        "><?",
        r">\s*?",
        ">(?=x)",
        "(?P<raw>x)?>",
        "(?:>(?P<raw>=)?|(?P<raw>a)>)",
    ]
)
values = st.sampled_from(
    [
        "(?P<value>.*?)",
        "(?P<value>.*?)",
        "(?P<value>.*?)",
        "(?P<value>.+?)",
        "(?P<value>[^<]*)",
        "(?P<value>x*)(.*?)",
        "(?P<value>x)?",
    ]
)
tails = st.sampled_from(
    [
        *(
            "</a>",
            r"\s*</a>",
            r"\n?</a>",
            r"(?:\r?\n)?</a>",
            r"\s+</a>",
            "</a>(?=<)",
            "</a>(?!x)",
            r"</a>\s*",
            "(?:</a>|$)",
            "$",
            "",
        ),
        *(
            "x?</a>",
            "</a(?: x)?>",
            "(?:x|</)a>",
            "(?<=x)</a>",
            r"\s*?</a>",
            "[x ]?</a>",
            "</a>x*",
            "(?<!<)</a>",
            r"(?:\n|\s)*</a>",
        ),
        *("a", ">", "<", "(?:</a>)?<", r"[ \n]{0,3}</a>", r"\s*+</a>", "(?P<end>x?)</a>"),
    ]
)
patterns = st.tuples(heads, keys, middles, values, tails).map("".join)
bodies = st.lists(
    st.sampled_from(
        [
            "<a",
            "<a=",
            ">",
            "</a>",
            "a",
            "x",
            " ",
            "\n",
            "\r\n",
            "<b>",
            "<",
            "=",
            ":",
            "</",
            "<a=x>x</a>",
            "<ax>\nx\n</a>",
            "é",
            "\x1c",
            "</a>x",
        ]
    ),
    max_size=24,
).map("".join)


@settings(max_examples=500)
@given(patterns, bodies)
@example(r"<p=(?P<key>\w+)>\s*(?P<value>.*?)\s+</p>", "<p=a>  </p>")
@example(r"<a(?P<key>[^>]+)>\s*(?P<value>.*?)\s*</a>", "<a<a=x></a><ax>")
def test_any_pattern_finds_what_regex_finds(pattern: str, body: str) -> None:
    expected = oracle(pattern, body)
    if any(tag[2] is None or tag[3] is None for tag in expected):
        assert found(pattern, body) == "a tag without a key or a value"
    else:
        assert found(pattern, body) == expected


@settings(max_examples=200)
@given(st.sampled_from(REAL), st.data())
def test_real_patterns_find_what_regex_finds(pattern: str, data: st.DataObject) -> None:
    parts = [part for part in regex.split(r"[\\|()?:]|\(\?P<\w+>|\.\*\?|\[\^[^\]]*\]\+?|\\[swn]\*?", pattern) if part]
    words = st.sampled_from([*parts, "<", ">", '"', " ", "\n", "\r\n", "k", "v", "</function>", "|", "<|"])
    body = "".join(data.draw(st.lists(words, max_size=24)))
    assert found(pattern, body) == oracle(pattern, body)


@pytest.mark.parametrize("pattern", REAL)
def test_real_patterns_are_chains(pattern: str) -> None:
    assert finder(pattern).chain is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"<(?P<key>\w+)>(?P<value>.*?)</(?P=key)>",  # a back-reference
        r"(?i)<p=(?P<key>\w+)>(?P<value>.*?)</p>",  # other flags
        r"<p=(?P<key>\p{L}+)>(?P<value>.*?)</p>",  # only `regex` knows it
        r"<p=(?P<key>\w+)>(?P<value>.*?)(?:</p>|$)",  # no fixed text
        r"<p=(?P<key>[[:alpha:]]+)>(?P<value>.*?)</p>",
        r"<p=(?P<key>\w+)>(?P<value>.*?)(?:</p>){e<=1}",
        r"<p=(?P<key>\w+)>(?P<value>[^<]*)</p>",  # nothing lazy
    ],
)
def test_other_patterns_are_left_to_regex(pattern: str) -> None:
    assert finder(pattern).chain is None
    body = "<p=a>x</p> <p=bb>1</p><P=c>y</P><k>v</k>"
    assert found(pattern, body) == oracle(pattern, body)


def test_a_finder_can_be_pickled_and_copied() -> None:
    for copied in (pickle.loads(pickle.dumps(finder(REAL[0]))), copy.deepcopy(finder(REAL[0]))):
        assert [tag[2:4] for tag in copied.find("<parameter=a> 1 </parameter>")] == [("a", "1")]


def test_a_search_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers_response_parsing.limits.SEARCH_TIMEOUT", 0.05)
    pattern = r"<p=(?P<key>(?:\w+\w+)+)!>(?P<value>.*?)(?:</p>|$)"
    with pytest.raises(BodyError, match="took too long"):
        list(finder(pattern).find("<p=" + "a" * 5000))
