# SPDX-License-Identifier: Apache-2.0
"""Against the parser that transformers has itself: equal wherever both succeed, but for the list in docs/differences.md.

What it does differently is written down here as a model (`native_view`): its rules for white space and for repeated
matches applied to the regions that the slow reference finds. Where the model and the real thing agree, every difference
to this package is explained by the list; where they don't, only matching that depends on the chunks (difference 7) and
closes inside JSON strings (difference 8) are excuses, and each must be seen to be there.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable
from typing import Any

import pytest
import regex
import transformers_response_parsing as trp
from hypothesis import assume, event, given
from hypothesis import strategies as st
from transformers_response_parsing.content import compile_content
from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.transform import compile_transform

import reference
from chunkings import chunks, merge
from strategies import Case, cases, chunking_names
from vectors import VECTORS, strictly_equal

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


COMPARABLE = [v for v in VECTORS if v["native"] != "not-applicable" and not (isinstance(v["native"], dict) and "hangs" in v["native"])]


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
    assert shown == {1, 2, 3, 4, 5, 6, 7, 8, "tools"}


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
            value = content.parse(raw)
            if "transform" in spec:
                transform = compile_transform(spec["transform"], "transform", each=False, groups=frozenset())
                value = transform.apply({"content": value, **region.groups})
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
    return bool(regex.search(r"\\Z|\$|\(\?[=!<]", pattern)) or regex.compile(pattern, regex.DOTALL).match("") is not None


def _close_in_string(case: Case) -> bool:
    """Whether a close stands inside a string of a json body: difference 8."""
    lenient = copy.deepcopy(case.template)
    for spec in lenient["fields"].values():
        if spec.get("content") == "json":
            spec["content"] = "text"
    return reference.regions(lenient, case.tail, case.output) != reference.regions(case.template, case.tail, case.output)


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
    answers = [native(case.template, case.prefix, chunks(name, case.output)) for name in ("whole", "chars", "size:2", "size:3")]
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
    st.sampled_from(["7", "-3", "007", "7.0", "1.50", "1e3", "true", "False", "1", "0", "null", "None", "abc", '{"x": 1}', "[1]"]),
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
    """Text typed by a flat schema comes out the same."""
    mine, theirs = _call(CALL, value, schema)
    assert strictly_equal(mine, theirs)


@needs_recorded
@given(SCHEMAS, VALUES)
def test_arguments_behind_a_value_parser_are_typed_from_what_was_written(schema: dict[str, Any], value: str) -> None:
    """Behind a value parser the answer is what it is without one (difference 4), or the same on both sides."""
    mine, theirs = _call(PARSED_CALL, value, schema)
    assert strictly_equal(mine, theirs) or strictly_equal(mine, _call(CALL, value, schema)[1])
