# SPDX-License-Identifier: Apache-2.0
"""No search with a pattern of a template takes longer than the program allows, and what took too long is named."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import transformers_response_parsing as trp
from transformers_response_parsing import limits
from transformers_response_parsing.backtracking import slow_text
from transformers_response_parsing.lint import slow_patterns
from transformers_response_parsing.pattern_size import expanded_size

# Not regular (a back-reference), so left to a backtracking engine, and exponential on ENDLESS.
HOSTILE = r"<(['\"])(?:a|a)*\1>"
ENDLESS = "<'" + "a" * 60 + '">'


@pytest.fixture
def short() -> Iterator[None]:
    before = trp.set_search_timeout(0.05)
    yield
    trp.set_search_timeout(before)


def template(field: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"start_anchor": "<A>", "fields": {"r": field}, **more}


def stream(text: str, source: dict[str, Any], prefix: str) -> None:
    parser = trp.ResponseParser(source, prefix)
    parser.feed(text)
    parser.finalize()


def test_it_is_one_for_the_process_and_can_be_put_back() -> None:
    assert limits.SEARCH_TIMEOUT == 5.0
    assert trp.set_search_timeout(1) == 5.0
    assert trp.set_search_timeout(5.0) == 1.0


@pytest.mark.parametrize("wrong", [0, -1, float("inf"), float("nan"), True, "1", None])
def test_it_is_a_number_of_seconds(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a number of seconds above 0"):
        trp.set_search_timeout(wrong)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("key", ["open_pattern", "close_pattern"])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_delimiter_that_takes_longer_is_an_error_with_its_path(key: str, streamed: bool) -> None:
    field = (
        {"open_pattern": HOSTILE, "close": "<e>"}
        if key == "open_pattern"
        else {"open": "<t>", "close_pattern": HOSTILE}
    )
    text = ENDLESS if key == "open_pattern" else "<t>" + ENDLESS
    parse = stream if streamed else trp.parse_response
    with pytest.raises(trp.OutputError, match=rf"fields\.r\.{key}.*took longer than 0\.05 s"):
        parse(text, template(field), prefix="")


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("streamed", [False, True])
def test_the_error_of_a_search_that_takes_longer_has_the_text_from_there_on(streamed: bool) -> None:
    fields = {"r": {"open": "<t>", "close_pattern": HOSTILE}, "content": {}}
    parse = stream if streamed else trp.parse_response
    with pytest.raises(trp.OutputError) as caught:
        parse("Hello<t>x" + ENDLESS, {"start_anchor": "<A>", "fields": fields}, prefix="")
    assert caught.value.partial_message == {"content": "Hello"}
    assert caught.value.raw == "x" + ENDLESS
    assert type(pickle.loads(pickle.dumps(caught.value))) is type(caught.value)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("key", ["open_pattern", "close_pattern"])
@pytest.mark.parametrize("end", [None, "<end>"])
def test_with_keep_the_rest_of_the_text_is_malformed(key: str, end: str | None) -> None:
    """One text that can't be searched does not take the others of a batch with it."""
    field = {"open": "<t>", "close": "<e>", "repeats": True}
    del field[key.removesuffix("_pattern")]
    field[key] = HOSTILE
    lead = "Hello" if key == "open_pattern" else "Hello<t>x"
    message = trp.parse_response(
        lead + ENDLESS + ("" if end is None else f"{end} more"),
        {"start_anchor": "<A>", "fields": {"r": field, "content": {}}},
        prefix="",
        end=end,
        on_error="keep",
    )
    [malformed] = message.pop("malformed")
    assert malformed["field"] == "r"
    assert "took longer" in malformed["error"]
    assert malformed["raw"] == (lead if key == "open_pattern" else "x") + ENDLESS
    assert message == ({} if key == "open_pattern" else {"content": "Hello"})


@pytest.mark.usefixtures("short")
def test_an_anchor_that_takes_longer_is_an_error_with_its_path() -> None:
    hostile = {"start_anchor_pattern": HOSTILE, "fields": {"content": {}}}
    with pytest.raises(trp.OutputError, match=r"start_anchor_pattern.*took longer than 0\.05 s on the prompt"):
        trp.parse_response("x", hostile, prefix=ENDLESS)


@pytest.mark.usefixtures("short")
def test_tags_that_take_longer_make_the_region_malformed() -> None:
    tags = r"<(['\"])(?P<key>(?:a|a)*)\1>(?P<value>x)"
    field = {"open": "<t>", "close": "<e>", "content": "xml-inline", "content_args": {"tag_pattern": tags}}
    message = trp.parse_response(f"<t>{ENDLESS}<e>", template(field), prefix="", on_error="keep")
    assert message["malformed"][0]["raw"] == ENDLESS
    assert "took too long" in message["malformed"][0]["error"]


@pytest.mark.parametrize("pattern", [r"(?:a|a)*b", r"<t>(?:x|y|xy)+z", HOSTILE])
def test_patterns_that_backtrack_without_end_are_found(pattern: str) -> None:
    assert slow_text(pattern)
    source = template({"open_pattern": pattern, "close": "<e>"})
    problems = list(slow_patterns(source))
    assert [problem.path for problem in problems] == ["fields.r.open_pattern"]
    assert "backtracks without end on" in problems[0].message


@pytest.mark.parametrize("pattern", [r"\s*<tool_call>", r"<f=(?P<n>[^>]+)>", r"(?:ab|cd)+", r"[^<]*</t>", r"a{2,}b?"])
def test_others_are_not_accused(pattern: str) -> None:
    assert slow_text(pattern) is None


def test_no_pattern_of_the_library_backtracks_without_end() -> None:
    found = {
        entry.name: [str(problem) for problem in slow_patterns(entry.response_template)]
        for entry in trp.list_templates()
    }
    assert {name: problems for name, problems in found.items() if problems} == {}


@pytest.mark.skipif(not hasattr(sys, "set_int_max_str_digits"), reason="this Python has no limit of its own")
@pytest.mark.parametrize("own", [0, 640, 100_000])
@pytest.mark.parametrize("tools", [None, []])
@pytest.mark.parametrize("content", ["json", "json-sequence", "int", "python-call-list"])
def test_an_integer_has_at_most_4300_digits_whatever_the_interpreter_allows(own: int, tools: Any, content: str) -> None:
    """Reading and writing them takes quadratic time; a program may have lifted the interpreter's own limit."""
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(own)
    try:
        for lead, tail in (("", ""), ("[", "]"), ("[1, ", ",]"), ("[f(a=", ")]")):
            text = f"<t>{lead}{'9' * (limits.MAX_INT_DIGITS + 1)}{tail}</t>"
            field = {"open": "<t>", "close": "</t>", "content": content}
            message = trp.parse_response(text, template(field), prefix="", tools=tools, on_error="keep")
            assert "r" not in message
            assert message["malformed"][0]["raw"] == text[3:-4]
        source = json.dumps({**template({"open": "<t>"}), "defaults": {"a": 1}}).replace(
            ": 1}", f": {'9' * 1_000_000}}}"
        )
        with pytest.raises(trp.TemplateError, match="1,000,000 digits"):
            trp.ResponseTemplate.load(source)
    finally:
        sys.set_int_max_str_digits(before)


@pytest.mark.parametrize("levels", [200, 201])
def test_json_and_elements_nest_200_levels_and_call_lists_100(levels: int) -> None:
    bodies = {
        "json": "[" * levels + "]" * levels,
        "json-sequence": '{"a":' * levels + "1" + "}" * levels,
        "python-call-list": "[f(a=" + "[" * (levels - 100) + "]" * (levels - 100) + ")]",
        "xml-elements": "<a>" * levels + "</a>" * levels,
    }
    for content, body in bodies.items():
        field = {"open": "<t>", "close": "</t>", "content": content}
        message = trp.parse_response(f"<t>{body}</t>", template(field), prefix="", on_error="keep")
        assert ("malformed" in message) == (levels > 200), content
        json.dumps(message)
        copy.deepcopy(message)


@pytest.mark.parametrize("key", ["open_pattern", "close_pattern", "tag_pattern"])
@pytest.mark.parametrize("extra", [0, 1])
def test_a_pattern_has_20000_items_with_its_counts_written_out(key: str, extra: int) -> None:
    field: dict[str, Any] = {"open": "<t>", "close": "<e>"}
    if key == "tag_pattern":
        head = "(?P<key>a)(?P<value>b)"
        pattern = f"{head}c{{{limits.MAX_PATTERN_SIZE - expanded_size(head) + extra}}}"
        field |= {"content": "xml-inline", "content_args": {"tag_pattern": pattern}}
        path = "fields.r.content_args.tag_pattern"
    else:
        del field[key.removesuffix("_pattern")]
        field[key] = f"c{{{limits.MAX_PATTERN_SIZE + extra}}}"
        path = f"fields.r.{key}"
    if not extra:
        trp.ResponseTemplate.load(template(field))
        return
    with pytest.raises(trp.TemplateError, match=r"20,001 items .* at most 20,000") as caught:
        trp.ResponseTemplate.load(template(field))
    assert caught.value.path == path


def test_the_patterns_of_a_template_have_200000_items_together() -> None:
    number = limits.MAX_TEMPLATE_PATTERN_SIZE // limits.MAX_PATTERN_SIZE
    fields = {f"f{i}": {"open_pattern": f"a{{{limits.MAX_PATTERN_SIZE}}}", "close": "<e>"} for i in range(number)}
    trp.ResponseTemplate.load({"start_anchor": "<A>", "fields": fields})
    fields["last"] = {"open_pattern": "a", "close": "<e>"}
    with pytest.raises(trp.TemplateError, match="200,001 items") as caught:
        trp.ResponseTemplate.load({"start_anchor": "<A>", "fields": fields})
    assert caught.value.path == "fields.last.open_pattern"


@pytest.mark.parametrize(
    "pattern",
    [
        "a{1000000000}b",
        "((a{1000}){1000}){1000}",
        "(?:a{60000}){60000}",
        "(?:){1000000000}",
        "(?x)a{100 000 #}\n 000}b",
        "(?x)(?:a{60000} # )\n){60000}",
        "(?V1)(?:[[a]()]{1000}a){1000}",
        "a{" + "9" * 4000 + "}",
    ],
)
def test_counts_are_refused_however_they_are_written(pattern: str) -> None:
    with pytest.raises(trp.TemplateError, match="with its counts written out"):
        trp.ResponseTemplate.load(template({"open_pattern": pattern, "close": "<e>"}))


@pytest.mark.parametrize("pattern", ["(?R)?a", "(a(?1)?b)", "(?P<n>a(?&n)?)", "(?P<n>a(?P>n)?)", "(?x)a( ? R)?b"])
def test_a_pattern_that_calls_itself_is_refused(pattern: str) -> None:
    with pytest.raises(trp.TemplateError, match="the regex calls itself"):
        trp.ResponseTemplate.load(template({"open_pattern": pattern, "close": "<e>"}))


@pytest.mark.parametrize("pattern", ["[(?R)]", r"\(?R", r"[\d]{8}(?:-[\d]{4}){3}-[\d]{12}", "[a{30000}]", r"\{30000}"])
def test_what_only_looks_like_it_loads(pattern: str) -> None:
    trp.ResponseTemplate.load(template({"open_pattern": pattern, "close": "<e>"}))


def test_no_pattern_of_the_library_is_near_the_limit() -> None:
    sizes = [expanded_size(pattern) for entry in trp.list_templates() for pattern in _all(entry.response_template)]
    assert max(sizes) * 10 < limits.MAX_PATTERN_SIZE


def _all(value: Any) -> Iterator[str]:
    for key, item in value.items() if isinstance(value, dict) else ():
        if key.endswith("_pattern"):
            yield item
        else:
            yield from _all(item)


@pytest.mark.parametrize("pattern", ["[[a]b]", "[a&&b]", "[a||b]", "[a~~b]"])
@pytest.mark.filterwarnings("error")
def test_loading_warns_of_nothing_but_in_problems(pattern: str) -> None:
    tags = f"<(?P<key>{pattern})>(?P<value>.*?)</>"
    field = {"open_pattern": pattern, "close": "<e>", "content": "xml-inline", "content_args": {"tag_pattern": tags}}
    loaded = trp.ResponseTemplate.load(template(field))
    list(slow_patterns(loaded.source))
