# SPDX-License-Identifier: Apache-2.0
"""Against the parser that transformers has itself: equal wherever both succeed, but for the list in docs/differences.md.

What it does differently is written down here as a model (`native_view`): its rules for white space and for repeated
matches applied to the regions that the slow reference finds. Where the model and the real thing agree, every difference
to this package is explained by the list; where they don't, only matching that depends on the chunks (difference 7) and
closes inside JSON strings (difference 8) are excuses, and each must be seen to be there.
"""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import reference
import regex
from chunkings import chunks, merge
from hypothesis import assume, event, given
from hypothesis import strategies as st
from strategies import Case, cases, chunking_names
from vectors import VECTORS, strictly_equal

import transformers_response_parsing as trp
from transformers_response_parsing.content import compile_content
from transformers_response_parsing.errors import BodyError

transformers = pytest.importorskip("transformers")
VERSION = tuple(int(part) for part in transformers.__version__.split(".")[:2])
if VERSION < (5, 13):
    pytest.skip(f"transformers {transformers.__version__} has no parser of its own", allow_module_level=True)

from transformers.utils import chat_parsing  # noqa: E402 - there only from 5.13 on

# What the vectors record was seen with this release; before it, natively fewer templates load.
needs_recorded = pytest.mark.skipif(VERSION < (5, 24), reason="the vectors record what transformers 5.24 gives")

Answer = tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _quiet() -> Iterable[None]:
    """A missing anchor is logged by the other side each time."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def native(template: dict[str, Any], prefix: str, cut: list[str], tools: Any = None) -> Answer | None:
    """Message, merged initial events, merged other events; None if it raises."""
    options = {} if tools is None else {"tools": copy.deepcopy(tools)}
    try:
        parser = chat_parsing.ResponseParser(copy.deepcopy(template), prefix=prefix, **options)
        initial = merge(parser.initial_events)
        events = [event for chunk in cut for event in parser.feed(chunk)]
        message, last = parser.finalize()
    except Exception:  # noqa: BLE001 - its errors are of many kinds
        return None
    return message, initial, merge(events + last)


def ours(template: dict[str, Any], prefix: str, cut: list[str], tools: Any = None) -> Answer:
    """The same of this package; raises what it raises."""
    parser = trp.ResponseParser(template, prefix, tools=tools)
    initial = merge(parser.initial_events)
    events = [event for chunk in cut for event in parser.feed(chunk)]
    message, last = parser.finalize()
    return message, initial, merge(events + last)


COMPARABLE = [
    v
    for v in VECTORS
    if v["native"] != "not-applicable" and not (isinstance(v["native"], dict) and "hangs" in v["native"])
]


@needs_recorded
@pytest.mark.parametrize("vector", COMPARABLE, ids=[vector["id"] for vector in COMPARABLE])
def test_the_vectors_say_what_transformers_gives(vector: dict[str, Any]) -> None:
    """`native` of each vector is true: the same, an error, or exactly the recorded other answer."""
    recorded = vector["native"]
    cut = recorded["chunks"] if "chunks" in recorded and recorded != "same" else [vector["output"]]
    answer = native(vector["template"], vector["prefix"], cut, vector.get("tools"))
    if recorded == "rejects":
        assert answer is None
        return
    assert answer is not None
    message, initial, events = answer
    expected = vector if recorded == "same" else {**vector, **recorded}
    assert strictly_equal(message, expected.get("message", message))
    if recorded == "same" or "events" in recorded:
        assert strictly_equal(events, expected["events"])
        assert strictly_equal(initial, expected.get("initial_events", []))
    if recorded != "same" and "error" not in vector:
        seen = [message, initial, events]
        assert not strictly_equal(seen, [vector["message"], vector.get("initial_events", []), vector["events"]])


def test_every_difference_has_a_vector() -> None:
    """Each number of the list is shown by at least one vector."""
    shown = {v["native"]["difference"] for v in VECTORS if isinstance(v["native"], dict)}
    assert shown == {1, 2, 3, 4, 5, 6, 7, 8, 9, "tools"}


PAGE = Path(__file__).resolve().parent.parent / "docs" / "differences.md"
EXAMPLE = re.compile(r"<!-- vector: (\S+) -->\n```text\n(.*?)```\n", re.DOTALL)


def written(value: Any) -> str:
    """A value as the page has it."""
    return json.dumps(value, ensure_ascii=False)


def told(events: list[dict[str, Any]]) -> str:
    """Events as the page has them."""
    words = []
    for item in events:
        kind = item["type"].removeprefix("region_")
        words.append(
            f"{kind} {item['field']}" if kind == "open" else f"{kind} {written(item.get('text', item.get('value')))}"
        )
    return ", ".join(words)


def example(vector: dict[str, Any]) -> str:
    """The example of a vector, as the page must have it."""
    recorded = vector["native"]
    lines = [("fields", written(vector["template"]["fields"]))]
    if "defaults" in vector["template"]:
        lines.append(("defaults", written(vector["template"]["defaults"])))
    if "tools" in vector:
        lines.append(("parameters", written(vector["tools"][0]["function"]["parameters"])))
    if vector["prefix"]:
        lines.append(("prompt", written(vector["prefix"])))
    cut = recorded.get("chunks")
    lines.append(("generated", written(vector["output"]) if cut is None else " ".join(map(written, cut))))
    if "hangs" in recorded:
        lines += [("transformers", "never returns"), ("here", written(vector["message"]))]
    elif "error" in vector:
        paths = ", ".join(vector["error"].get("paths", []))
        lines += [
            ("transformers", written(recorded["message"])),
            ("here", f"error: {paths or vector['error']['field']}"),
        ]
    elif "message" in recorded and not strictly_equal(recorded["message"], vector["message"]):
        lines += [("transformers", written(recorded["message"])), ("here", written(vector["message"]))]
    else:
        theirs = recorded.get("initial_events", []) + recorded["events"]
        lines += [
            ("transformers", told(theirs)),
            ("here", told(vector.get("initial_events", []) + vector["events"])),
            ("message", f"{written(vector['message'])} in both"),
        ]
    return "".join(f"{name:<14}{text}\n" for name, text in lines)


def test_the_page_shows_what_the_vectors_say() -> None:
    """Each example of docs/differences.md is that of its vector, and there is one for each difference."""
    known = {vector["id"]: vector for vector in VECTORS}
    found = EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))
    for name, block in found:
        assert block == example(known[name]), f"{name} should be:\n{example(known[name])}"
    assert {known[name]["native"]["difference"] for name, _ in found} == {1, 2, 3, 4, 5, 6, 7, 8, 9, "tools"}


def native_view(case: Case) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """What the other side's own rules make of the regions of the reference; None where a body can't be parsed.

    Differences 1 (leading white space is emitted), 2 (a blank stretch is a region), 3 (the last stretch replaces).
    """
    template, fields = case.template, case.template["fields"]
    text = case.tail + case.output
    found, spans = reference.regions(template, case.tail, case.output)
    implicit = next((name for name in fields if not {"open", "open_pattern"} & fields[name].keys()), None)
    blanks = [reference.Region(implicit or "", s.start, s.end, {}, False) for s in spans if s.kind == "blank"]
    message: dict[str, Any] = copy.deepcopy(template.get("defaults", {}))
    defaults = set(message)
    events: list[dict[str, Any]] = []
    for region in sorted([*found, *blanks], key=lambda region: (region.start, region.end)):
        spec, name = fields[region.field], region.field
        content = compile_content(spec.get("content", "text"), spec.get("content_args", {}), name)
        raw = text[region.start : region.end]
        events.append({"type": "region_open", "field": name})
        if raw:
            events.append({"type": "region_chunk", "field": name, "text": raw, "dirty": content.dirty})
        try:
            value = reference.shaped(spec, content, raw, region, None)
        except BodyError:
            return None
        events.append({"type": "region_close", "field": name, "value": value})
        if "join" in spec:
            message[name] = spec["join"].join([message[name], value]) if name in message else value
        elif spec.get("repeats"):
            message[name] = [*message.get(name, []), value]
        else:
            message[name] = value
    empty: tuple[Any, ...] = (None, "", [], {})
    kept = {k: v for k, v in message.items() if k in defaults or isinstance(v, (bool, int, float)) or v not in empty}
    return kept, events


def _matches_nothing(spec: dict[str, Any], key: str) -> bool:
    """Whether a delimiter may match the empty string somewhere, with which the other side may never return."""
    pattern = spec.get(f"{key}_pattern")
    if pattern is None:
        return False
    return (
        bool(regex.search(r"\\Z|\$|\(\?[=!<]", pattern)) or regex.compile(pattern, regex.DOTALL).match("") is not None
    )


def _stops_for_good(case: Case) -> bool:
    """Whether the close of the implicit field matches without width before the end, where the other side stops."""
    text = case.tail + case.output
    for spec in case.template["fields"].values():
        if "close_pattern" in spec and not {"open", "open_pattern"} & spec.keys():
            matches = regex.finditer(spec["close_pattern"], text, regex.DOTALL)
            return any(match.start() == match.end() < len(text) for match in matches)
    return False


def _close_in_string(case: Case) -> bool:
    """Whether a close stands inside a string of a json body: difference 8."""
    lenient = copy.deepcopy(case.template)
    for spec in lenient["fields"].values():
        if spec.get("content") == "json":
            spec["content"] = "text"
    return reference.regions(lenient, case.tail, case.output) != reference.regions(
        case.template, case.tail, case.output
    )


@given(cases(), chunking_names())
def test_generated_cases_are_equal_or_explained(case: Case, cut: str) -> None:
    """Where both succeed the answers are those of the model above, or difference 7 or 8 is seen to be at work."""
    try:
        trp.ResponseTemplate.load(case.template)
    except trp.TemplateError:
        assume(False)
    fields = case.template["fields"].values()
    assume(not any(_matches_nothing(spec, "open") for spec in fields))
    pieces = chunks(cut, case.output)
    whole, cut_up = native(case.template, case.prefix, [case.output]), native(case.template, case.prefix, pieces)
    try:
        ours(case.template, case.prefix, pieces)
    except trp.OutputError:
        assume(False)
    assume(whole is not None and cut_up is not None)
    assert whole is not None
    assert cut_up is not None
    if _close_in_string(case):
        event("difference 8")
        return
    if _stops_for_good(case):
        event("difference 7")
        return
    view = native_view(case)
    assume(view is not None)
    assert view is not None
    for message, initial, events in (whole, cut_up):
        if not strictly_equal([message, merge(initial + events)], list(view)):
            # It gives something else for the same text: then it must itself depend on the cut.
            assert _depends_on_cut(case), (message, initial + events, view)
            event("difference 7")
            return
    event("equal or differences 1 to 3")


def _depends_on_cut(case: Case) -> bool:
    """Whether the other side gives different answers to different cuts of one text: difference 7."""
    answers = [
        native(case.template, case.prefix, chunks(name, case.output)) for name in ("whole", "chars", "size:2", "size:3")
    ]
    text = case.tail + case.output
    answers += [native(case.template, "<A>" + text[:at], [text[at:]]) for at in range(len(text) + 1)]
    seen = [[answer[0], merge(answer[1] + answer[2])] if answer else None for answer in answers]
    return any(not strictly_equal(one, seen[0]) for one in seen)


TYPES: list[Any] = ["integer", "number", "boolean", "null", "object", "array", "string"]
SCHEMAS = st.one_of(
    st.sampled_from([{"type": name} for name in TYPES]),
    st.lists(st.sampled_from(TYPES), min_size=2, max_size=2, unique=True).map(lambda types: {"type": types}),
    st.lists(st.sampled_from(TYPES), min_size=2, max_size=2, unique=True).map(
        lambda types: {"anyOf": [{"type": name} for name in types]}
    ),
    st.just({}),
)
VALUES = st.one_of(
    st.sampled_from(
        ["7", "-3", "007", "7.0", "1.50", "1e3", "true", "False", "1", "0", "null", "None", "abc", '{"x": 1}', "[1]"]
    ),
    st.integers().map(str),
    st.text("ab1 .-", max_size=4),
)
CALL = {
    "open_pattern": r"<t=(?P<name>\w+)>",
    "close": "</t>",
    "repeats": True,
    "content": "xml-inline",
    "content_args": {"tag_pattern": r"<p=(?P<key>\w+)>(?P<value>.*?)</p>"},
    "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
}
PARSED_CALL = {
    **CALL,
    "content_args": {**CALL["content_args"], "value_parser": {"name": "json", "args": {"allow_non_json": True}}},
}


def _call(field: dict[str, Any], value: str, schema: dict[str, Any]) -> tuple[Any, Any]:
    """The argument as each side gives it."""
    template = {"start_anchor": "<A>", "fields": {"tool_calls": field}}
    properties = {"type": "object", "properties": {"a": schema}}
    tools = [{"type": "function", "function": {"name": "f", "description": "", "parameters": properties}}]
    cut = [f"<t=f><p=a>{value}</p></t>"]
    theirs = native(template, "", cut, tools)
    assert theirs is not None
    both = (ours(template, "", cut, tools)[0], theirs[0])
    found = [message["tool_calls"][0]["function"]["arguments"]["a"] for message in both]
    return found[0], found[1]


@needs_recorded
@given(SCHEMAS, VALUES)
def test_arguments_are_typed_alike(schema: dict[str, Any], value: str) -> None:
    """Text typed by a flat schema comes out the same, but for the digits that a float has no room for."""
    mine, theirs = _call(CALL, value, schema)
    assert strictly_equal(mine, theirs) or _rounded(mine, theirs, value)


def _rounded(mine: Any, theirs: Any, value: str) -> bool:
    """Whether a whole number went through a float on the other side and lost digits, and is exact here."""
    return type(mine) is int and mine == int(value) and theirs == int(float(value))


@needs_recorded
@given(SCHEMAS, VALUES)
def test_arguments_behind_a_value_parser_are_typed_from_what_was_written(schema: dict[str, Any], value: str) -> None:
    """Behind a value parser the answer is what it is without one (difference 4), or the same on both sides."""
    mine, theirs = _call(PARSED_CALL, value, schema)
    assert strictly_equal(mine, theirs) or strictly_equal(mine, _call(CALL, value, schema)[1])
