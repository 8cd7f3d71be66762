# SPDX-License-Identifier: Apache-2.0
"""The invariants of the parser, on generated templates and texts, against a slow reference that sees the whole text."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import reference
from chunkings import chunks, merge, without_errors
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import ALPHABET, LITERALS, Case, cases, chunking_names, literal_cases
from vectors import VECTORS, strictly_equal

import transformers_response_parsing as trp
from transformers_response_parsing import whole_run

# The reference reads strict JSON only, and knows nothing of the extensions of the template language.
KNOWN_TO_REFERENCE = [
    vector
    for vector in VECTORS
    if "message" in vector
    and vector["prefix"] == ""
    and not vector["id"].startswith("extensions/")
    and vector["id"] not in ("json-strings/string-delims", "content-json/unquoted-keys-close")
]

Outcome = tuple[dict[str, Any], list[dict[str, Any]], str]


def load(template: dict[str, Any]) -> trp.ResponseTemplate:
    """The template, or give up this example: what is refused at load has tests of its own."""
    try:
        return trp.ResponseTemplate.load(template)
    except trp.TemplateError:
        assume(False)
        raise


def attempt(action: Callable[[], Any]) -> tuple[Any, trp.ResponseParsingError | None]:
    """What the action gives, or the error of ours that it raises; any other error fails the test."""
    try:
        return action(), None
    except trp.ResponseParsingError as error:
        return None, error


def finish(parser: trp.ResponseParser, events: list[Any]) -> Outcome:
    """Message, all merged events, unclaimed text; without the wording of faults."""
    message, last = parser.finalize()
    if "malformed" in message:
        message = {**message, "malformed": without_errors(message["malformed"])}
    return message, without_errors(merge(events + last)), "".join(parser.unclaimed)


def run(case: Case, cut: str, end: list[str] | None = None) -> Outcome:
    """Parse a case with its generation cut in the way named."""
    parser = trp.ResponseParser(load(case.template), case.prefix, on_error="keep", end=end)
    events = list(parser.initial_events)
    for chunk in chunks(cut, case.output):
        events += parser.feed(chunk)
    return finish(parser, events)


@pytest.mark.parametrize("vector", KNOWN_TO_REFERENCE, ids=[vector["id"] for vector in KNOWN_TO_REFERENCE])
def test_the_reference_gives_the_answers_of_the_vectors(vector: dict[str, Any]) -> None:
    """What the properties hold the parser against is itself right."""
    end = vector.get("end", [])
    result = reference.parse(
        vector["template"], "", vector["output"], tools=vector.get("tools"), end=[end] if isinstance(end, str) else end
    )
    assert strictly_equal(result.message, vector["message"])
    assert strictly_equal(result.events, vector["events"])
    assert result.unclaimed == vector.get("unclaimed", result.unclaimed)


@given(cases(), chunking_names())
def test_any_cut_gives_what_the_whole_text_says(case: Case, cut: str) -> None:
    """Message, events and unclaimed text are those of the slow reference on the whole text (invariants 1 and 4)."""
    message, events, unclaimed = run(case, cut)
    expected = reference.parse(case.template, case.tail, case.output)
    assert strictly_equal(message, expected.message)
    assert strictly_equal(events, expected.events)
    assert unclaimed == expected.unclaimed


@given(cases(), chunking_names(), st.lists(st.sampled_from(LITERALS), min_size=1, max_size=2))
def test_the_end_of_the_turn_is_where_the_whole_text_has_it(case: Case, cut: str, end: list[str]) -> None:
    """With `end`, the same: nothing after the first of its literals in the generation is parsed."""
    message, events, unclaimed = run(case, cut, end)
    expected = reference.parse(case.template, case.tail, case.output, end=end)
    assert strictly_equal(message, expected.message)
    assert strictly_equal(events, expected.events)
    assert unclaimed == expected.unclaimed


@given(cases(), st.lists(chunking_names(), min_size=2, max_size=4))
def test_chunking_never_matters(case: Case, cuts: list[str]) -> None:
    """However the same generation is cut, everything is the same (invariant 1)."""
    outcomes = [run(case, cut) for cut in cuts]
    assert all(strictly_equal(list(outcome), list(outcomes[0])) for outcome in outcomes)


@given(cases())
def test_the_function_gives_the_message_of_the_parser(case: Case) -> None:
    """parse_response and ResponseParser agree."""
    message = trp.parse_response(case.output, load(case.template), prefix=case.prefix, on_error="keep")
    if "malformed" in message:
        message["malformed"] = without_errors(message["malformed"])
    assert strictly_equal(message, run(case, "chars")[0])


@given(cases(), st.lists(st.sampled_from(LITERALS), min_size=1, max_size=2), st.booleans())
def test_the_function_stops_where_the_parser_does(case: Case, end: list[str], patient: bool) -> None:
    """The same with `end`, whether `regex` or the automaton searches the text."""
    template = load(case.template)
    with pytest.MonkeyPatch.context() as patched:
        if not patient:
            patched.setattr(whole_run, "_LEAST_PATIENCE", -1.0)
        message = trp.parse_response(case.output, template, prefix=case.prefix, on_error="keep", end=end)
    if "malformed" in message:
        message["malformed"] = without_errors(message["malformed"])
    assert strictly_equal(message, run(case, "chars", end)[0])


@given(cases(), chunking_names(), st.one_of(st.none(), st.lists(st.sampled_from(LITERALS), min_size=1, max_size=2)))
def test_what_came_before_changes_nothing(case: Case, cut: str, end: list[str] | None) -> None:
    """Parsers of one template share what they learn of chunks: the fifth generation is parsed as the first."""
    outcomes = [run(case, cut, end) for _ in range(5)]
    assert all(strictly_equal(list(outcome), list(outcomes[0])) for outcome in outcomes)
    expected = reference.parse(case.template, case.tail, case.output, end=end or ())
    assert strictly_equal(outcomes[-1][0], expected.message)


@given(literal_cases(), chunking_names())
def test_nothing_is_lost(case: Case, cut: str) -> None:
    """Bodies, delimiters, unclaimed text and blank stretches, in order, are the text again (invariant 4)."""
    parser = trp.ResponseParser(load(case.template), case.prefix)
    events = list(parser.initial_events)
    for chunk in chunks(cut, case.output):
        events += parser.feed(chunk)
    events += parser.finalize()[1]
    text = case.tail + case.output
    bodies = ["".join(e["text"] for e in region if e["type"] == "region_chunk") for region in _by_region(events)]
    unclaimed = "".join(parser.unclaimed)
    again = ""
    for span in reference.parse(case.template, case.tail, case.output).spans:
        size = span.end - span.start
        if span.kind == "body":
            again += bodies.pop(0)
        elif span.kind in ("unclaimed", "blank"):
            again, unclaimed = again + unclaimed[:size], unclaimed[size:]
        else:
            again += text[span.start : span.end]
    assert again == text
    assert not bodies
    assert not unclaimed


def _by_region(events: list[Any]) -> list[list[Any]]:
    regions: list[list[Any]] = []
    for event in events:
        if event["type"] == "region_open":
            regions.append([])
        regions[-1].append(event)
    return regions


def _continuations(case: Case) -> list[str]:
    """Texts that could follow: nothing, a character of no delimiter, and every rest of every delimiter."""
    literals: set[str] = set()
    for spec in case.template["fields"].values():
        for key in ("open", "close"):
            value = spec.get(key, [])
            literals.update([value] if isinstance(value, str) else value)
    return ["", "Z", *sorted({literal[start:] for literal in literals for start in range(len(literal))})]


@given(literal_cases())
def test_what_no_continuation_can_change_is_out(case: Case) -> None:
    """After each character, the text that is a body whatever follows has been emitted, and no other (invariant 3)."""
    case = Case(case.template, "", (case.tail + case.output)[:24])
    parser = trp.ResponseParser(load(case.template), "")
    emitted = ""
    continuations = _continuations(case)
    for size in range(1, len(case.output) + 1):
        events = parser.feed(case.output[size - 1])
        emitted += "".join(event["text"] for event in events if event["type"] == "region_chunk")
        certain = None
        for continuation in continuations:
            spans = reference.parse(case.template, "", case.output[:size] + continuation).spans
            body = {at for span in spans if span.kind == "body" for at in range(span.start, min(span.end, size))}
            certain = body if certain is None else certain & body
        assert emitted == "".join(case.output[at] for at in sorted(certain or ()))


@given(cases(), chunking_names(), st.sampled_from(["pickle", "deepcopy"]))
def test_a_copy_goes_on_where_the_parser_was(case: Case, cut: str, how: str) -> None:
    """A parser copied or pickled between any two chunks goes on with the same events; the original is not disturbed."""
    parser = trp.ResponseParser(load(case.template), case.prefix, on_error="keep")
    events = list(parser.initial_events)
    for chunk in chunks(cut, case.output):
        left_behind = parser
        parser = pickle.loads(pickle.dumps(parser)) if how == "pickle" else copy.deepcopy(parser)
        events += parser.feed(chunk)
        left_behind.feed("<t>other</t>")
        left_behind.finalize()
    assert strictly_equal(list(finish(parser, events)), list(run(case, cut)))


@given(cases(), chunking_names())
def test_only_our_errors(case: Case, cut: str) -> None:
    """With `raise`, a text gives a message or an OutputError that carries what `keep` has up to there (invariant 5)."""
    template = load(case.template)
    kept = run(case, cut)[0]
    faults = kept.get("malformed", [])

    def parse() -> dict[str, Any]:
        parser = trp.ResponseParser(template, case.prefix)
        for chunk in chunks(cut, case.output):
            parser.feed(chunk)
        return parser.finalize()[0]

    message, error = attempt(parse)
    if error is None:
        assert not faults
        assert strictly_equal(message, kept)
    else:
        assert isinstance(error, trp.OutputError)
        assert {"field": error.field, "raw": error.raw} == faults[0]
        assert "malformed" not in error.partial_message
        assert str(error)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
TEMPLATE_KEYS = st.sampled_from(
    ["version", "defaults", "start_anchor", "start_anchor_pattern", "fields", "x"],
)
FIELD_KEYS = st.sampled_from(
    [
        *("open", "open_pattern", "close", "close_pattern", "repeats", "join", "optional", "content", "content_args"),
        *("transform", "transform_each", "opne"),
    ]
)
FIELD_VALUES = st.one_of(
    JSON_VALUES,
    st.sampled_from(
        ["<t>", "(", "(?P<n>x)", "{content}", "{n}", "json", "text", "xml-inline", "a*", "(a*)*b", "$", "{1,"]
    ),
)
WILD_TEMPLATES = st.one_of(
    JSON_VALUES,
    st.dictionaries(TEMPLATE_KEYS, JSON_VALUES, max_size=4),
    st.fixed_dictionaries(
        {
            "start_anchor": st.just("<A>"),
            "fields": st.dictionaries(
                st.sampled_from(["a", "b", ""]), st.dictionaries(FIELD_KEYS, FIELD_VALUES, max_size=5), max_size=3
            ),
        },
        optional={"defaults": JSON_VALUES, "version": st.just(1)},
    ),
)


@given(WILD_TEMPLATES, st.text(ALPHABET, max_size=12))
@example({"start_anchor": "<A>", "fields": {"a": {"open_pattern": "(a*)*b"}}}, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
def test_any_json_is_a_template_or_a_template_error(template: Any, text: str) -> None:
    """Whatever is given as a template: a TemplateError at load, or a parser that keeps to our errors (invariant 5)."""
    loaded, error = attempt(
        lambda: trp.ResponseTemplate.load(template if isinstance(template, dict) else json.dumps(template))
    )
    if error is not None:
        assert isinstance(error, trp.TemplateError)
        assert error.problems
        return
    _, error = attempt(lambda: trp.parse_response(text, loaded, prefix="", on_error="keep"))
    assert error is None or isinstance(error, trp.OutputError)


@pytest.mark.parametrize(
    "content", ["text", "int", "float", "bool", "json", "json-sequence", "xml-elements", "kv-lines", "python-call-list"]
)
@pytest.mark.parametrize(
    "body",
    [
        "9" * 5000,
        "[" * 100_000,
        '{"a":' * 50_000,
        '"' + "\\" * 9_999,
        "[f(a=" + "[" * 50_000,
        "1e" + "9" * 5000,
        "\ud800",
        "\x00\x1f\x7f\u2028\ufeff",
        "-" * 1000,
        "a:" * 1000,
    ],
    ids=[
        "digits",
        "brackets",
        "braces",
        "backslashes",
        "call",
        "exponent",
        "surrogate",
        "controls",
        "dashes",
        "colons",
    ],
)
def test_hostile_bodies_give_a_value_or_our_error(content: str, body: str) -> None:
    """No RecursionError, no ValueError of int(), whatever the body (invariant 5)."""
    template = {"start_anchor": "<A>", "fields": {"r": {"open": "<t>", "close": "</t>", "content": content}}}
    text = f"<t>{body}</t>"
    message = trp.parse_response(text, template, prefix="", on_error="keep")
    assert set(message) <= {"r", "malformed"}
    copy.deepcopy(message)
    if "malformed" in message:
        with pytest.raises(trp.OutputError) as caught:
            trp.parse_response(text, template, prefix="")
        assert caught.value.raw == body


def test_a_group_name_in_two_alternatives_does_not_stop_the_stream() -> None:
    """`regex` allows a name twice, the standard library does not: such an open is decided at once all the same."""
    field = {"open_pattern": r"<t=(?P<n>\w+)>|<u=(?P<n>\w+)>", "close": "</t>", "transform": ["{n}", "{content}"]}
    parser = trp.ResponseParser({"start_anchor": "<A>", "fields": {"r": field, "content": {}}}, "")
    assert [event["type"] for event in parser.feed("<u=a>")] == ["region_open"]
    assert [event["text"] for event in parser.feed("hello") if event["type"] == "region_chunk"] == ["hello"]
    assert parser.feed("</t>") == [{"type": "region_close", "field": "r", "value": ["a", "hello"]}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<t>1</t><t>bad</t><t>2</t>Bye", {"r": [1, 2], "content": "Bye"}),
        ("Hi<t>bad", {"content": "Hi"}),
        ("Hi<t>bad</t>", {"content": "Hi"}),
        ("<t>bad</t>Bye<t>2</t>", {"r": [2], "content": "Bye"}),
    ],
)
@pytest.mark.parametrize("after", ["<eos>", "<eos><t>3</t>"])
def test_what_follows_a_fault_is_parsed_up_to_the_end_of_the_turn(text: str, message: Any, after: str) -> None:
    """However the end literal comes: in the piece that has the fault, or later."""
    template = {
        "start_anchor": "A",
        "fields": {"r": {"open": "<t>", "close": "</t>", "content": "json", "repeats": True}, "content": {}},
    }
    for pieces in ([text + after], [text, after], list(text + after)):
        parser = trp.ResponseParser(template, prefix="", end="<eos>")
        faults = 0
        for piece in pieces:
            try:
                parser.feed(piece)
            except trp.OutputError:
                faults += 1
        assert parser.finalize()[0] == message
        assert faults == 1


def test_a_finished_parser_takes_no_more() -> None:
    """Feed and finalize after finalize are RuntimeErrors."""
    parser = trp.ResponseParser({"start_anchor": "<A>", "fields": {"content": {}}}, "")
    parser.finalize()
    with pytest.raises(RuntimeError):
        parser.feed("x")
    with pytest.raises(RuntimeError):
        parser.finalize()


def test_the_prefix_must_be_given() -> None:
    """Omitting the prefix is an error that says why, and how to do without."""
    template = {"start_anchor": "<A>", "fields": {"content": {}}}
    with pytest.raises(ValueError, match='prefix=""'):
        trp.ResponseParser(template)
    with pytest.raises(ValueError, match='prefix=""'):
        trp.parse_response("x", template, prefix=None)  # type: ignore[arg-type]
