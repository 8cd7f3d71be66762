# SPDX-License-Identifier: Apache-2.0
"""The ready-made templates: every example of every file, in every chunking, here and under transformers' own parser."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
import regex
from command_line import run

from transformers_response_parsing import (
    ResponseParser,
    ResponseParsingError,
    ResponseTemplate,
    TemplateEntry,
    find_template,
    get_template,
    list_templates,
    parse_response,
)
from transformers_response_parsing.arguments import message_tail
from transformers_response_parsing.pattern_syntax import parse_pattern, reach

FOLDER = Path(__file__).resolve().parents[1] / "model_templates"
FAMILIES = [path.stem for path in sorted(FOLDER.glob("*.json"))]
SUBJECTS = {
    "prose only": "prose only",
    "reasoning": "reasoning",
    "call": "call",
    "parallel calls": "parallel calls",
    "hard arguments": "hard arguments",
    "cut off": "cut off",
}


def examples() -> list[Any]:
    """(family, example) for every example, with a readable id."""
    return [
        pytest.param(entry, example, id=f"{entry.name}-{example['name'].replace(' ', '_')}")
        for entry in list_templates()
        for example in entry.examples
    ]


def parse(template: Any, example: dict[str, Any], pieces: list[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    parser = ResponseParser(template, prefix=example["prefix"], tools=example.get("tools"), on_error="keep")
    events = list(parser.initial_events)
    for piece in pieces:
        events += parser.feed(piece)
    message, last = parser.finalize()
    return message, events + last


def merged(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events with adjacent chunks of a region as one, so that pieces do not show."""
    result: list[dict[str, Any]] = []
    for event in events:
        if result and event["type"] == result[-1]["type"] == "region_chunk":
            result[-1] = {**result[-1], "text": result[-1]["text"] + event["text"]}
        else:
            result.append(event)
    return result


def expected_fields(example: dict[str, Any]) -> list[str]:
    return list(example.get("malformed", []))


@pytest.mark.parametrize(("entry", "example"), examples())
def test_example_parses_to_its_message(entry: TemplateEntry, example: dict[str, Any]) -> None:
    """Whole output in, the example's message out; a region that could not be parsed is listed, not lost."""
    message, _ = parse(entry.response_template, example, [example["output"]])
    malformed = message.pop("malformed", [])
    assert message == example["message"]
    assert [item["field"] for item in malformed] == expected_fields(example)


@pytest.mark.parametrize(("entry", "example"), examples())
def test_pieces_never_matter(entry: TemplateEntry, example: dict[str, Any]) -> None:
    """One character at a time, and in seeded random pieces: the same message and the same events."""
    template = ResponseTemplate.load(entry.response_template)
    output = example["output"]
    message, events = parse(template, example, [output])
    for pieces in [list(output), *(random_pieces(output, seed) for seed in range(5))]:
        in_pieces, its_events = parse(template, example, pieces)
        assert in_pieces == message
        assert merged(its_events) == merged(events)


def random_pieces(text: str, seed: int) -> list[str]:
    rng = random.Random(seed)
    pieces = []
    while text:
        size = rng.randint(1, 12)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


SPECIAL_TOKEN = regex.compile(r"(?:<\|[^<>]*\|>|<｜[^<>｜]*｜>|</s>|\[e~\[)\Z")


def ended_examples() -> list[Any]:
    """(family, example, last token) for every example whose output ends with a special token that is nowhere else in it."""
    found = []
    for parameters in examples():
        output = parameters.values[1]["output"]
        last = SPECIAL_TOKEN.search(output)
        if last is not None and output.index(last[0]) == last.start():
            found.append(pytest.param(*parameters.values, last[0], id=parameters.id))
    return found


@pytest.mark.parametrize(("entry", "example", "end"), ended_examples())
def test_told_the_end_the_message_is_the_same(entry: TemplateEntry, example: dict[str, Any], end: str) -> None:
    """With `end`, as the tokenizer's methods pass it: nothing changes, not even what looks ahead at the turn's last token."""
    for pieces in ([example["output"]], list(example["output"])):
        parser = ResponseParser(
            entry.response_template,
            prefix=example["prefix"],
            tools=example.get("tools"),
            end=end,
            on_error="keep",
        )
        for piece in pieces:
            parser.feed(piece)
        message, _ = parser.finalize()
        assert [item["field"] for item in message.pop("malformed", [])] == expected_fields(example)
        assert message == example["message"]


def source_of(family: str) -> dict[str, Any]:
    """The file of a family as it is."""
    data: dict[str, Any] = json.loads((FOLDER / f"{family}.json").read_text(encoding="utf-8"))
    return data


def portable_templates() -> list[Any]:
    """(family, template) of every template that transformers' own parser can run, from some version on.

    That is `portable_template` where the family has one, else `response_template` unless it uses an extension.
    """
    found = []
    for family in FAMILIES:
        data = source_of(family)
        template = data.get("portable_template", data["response_template"])
        if ResponseTemplate.load(template).min_transformers is not None:
            found.append(pytest.param(data, template, id=family))
    return found


@pytest.mark.skipif(
    importlib.util.find_spec("transformers.utils.chat_parsing") is None,
    reason="this version of transformers has no response templates of its own",
)
@pytest.mark.parametrize(("data", "template"), portable_templates())
def test_transformers_own_parser_agrees(data: dict[str, Any], template: dict[str, Any]) -> None:
    """A pushed template works for all from `min_transformers` on; `"portable": false` marks what really differs."""
    from transformers.utils.chat_parsing import ResponseParser as NativeParser

    needed = ResponseTemplate.load(template).min_transformers
    assert needed is not None
    installed = importlib.metadata.version("transformers")
    if [int(part) for part in installed.split(".")[:2]] < [int(part) for part in needed.split(".")[:2]]:
        pytest.skip(f"needs transformers {needed}")
    for example in data["examples"]:
        try:
            native = NativeParser(template, prefix=example["prefix"], tools=example.get("tools"))
            native.feed(example["output"])
            message: Any = native.finalize()[0]
        except (ValueError, KeyError) as error:
            message = error
        agrees = message == example["message"]
        assert agrees == example.get("portable", True), f"{example['name']}: {message}"


def keys_written(template: dict[str, Any]) -> set[str]:
    """The keys of the message that the fields write."""
    return {field.get("into", name) for name, field in template["fields"].items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_file_is_complete(family: str) -> None:
    """A family's file has its own name, models, markers, notes, and an example of each subject."""
    data = source_of(family)
    keys = {"name", "models", "recognise", "response_template", "examples", "notes"}
    assert keys <= set(data) <= keys | {"portable_template"}
    assert data["name"] == family
    assert data["models"]
    assert len(set(data["models"])) == len(data["models"])
    assert data["recognise"]["contains"]
    assert data["notes"]
    assert len(data["examples"]) >= 6
    names = [example["name"] for example in data["examples"]]
    assert len(set(names)) == len(names)
    written = keys_written(data["response_template"])
    for subject, words in SUBJECTS.items():
        if subject == "reasoning" and "reasoning_content" not in written:
            continue
        if subject in ("call", "parallel calls", "hard arguments") and "tool_calls" not in written:
            continue
        assert any(words in name for name in names), f"no example of: {subject}"
    for example in data["examples"]:
        assert set(example) <= {"name", "prefix", "output", "tools", "message", "malformed", "portable"}


@pytest.mark.parametrize("family", FAMILIES)
def test_template_has_canonical_fields_and_loads_without_problems(family: str) -> None:
    """Only names that chat templates read, and nothing slow or risky in the patterns (look-behinds apart)."""
    template = get_template(family).response_template
    assert keys_written(template) <= {"reasoning_content", "content", "tool_calls"}
    assert template["defaults"] == {"role": "assistant"}
    problems = ResponseTemplate.load(template).problems
    assert [problem for problem in problems if "look-behind" not in problem.message] == []


LOOK_AROUND = regex.compile(r"\(\?<?[=!](?P<body>(?:[^()\\]|\\.|(?P<group>\((?:[^()\\]|\\.|(?&group))*\)))*)\)")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("key", ["response_template", "portable_template"])
def test_anchor_reads_a_prompt_once(family: str, key: str) -> None:
    """No look-around of an anchor runs on through the text: done at each of a prompt's headers, that is quadratic.

    White space is let through, as it ends at the next header.
    """
    pattern = source_of(family).get(key, {}).get("start_anchor_pattern", "")
    for look in LOOK_AROUND.finditer(pattern, overlapped=True):
        tree = parse_pattern(look["body"].replace(r"\s*", r"\s"))
        assert tree is not None
        assert math.inf not in reach(tree), f"in {look[0]}"


def test_no_model_is_in_two_families() -> None:
    models = [model.casefold() for entry in list_templates() for model in entry.models]
    assert len(set(models)) == len(models)


def test_list_is_sorted_and_holds_every_file() -> None:
    assert [entry.name for entry in list_templates()] == FAMILIES


@pytest.mark.parametrize("name", ["qwen3", "QWEN3", " qwen3 ", "Qwen/Qwen3-8B", "qwen/qwen3-8b"])
def test_get_by_family_or_model_in_any_case(name: str) -> None:
    assert get_template(name).name == "qwen3"


def test_get_names_the_closest_when_there_is_none() -> None:
    with pytest.raises(ResponseParsingError, match=r"'Qwen/Qwen3-9B'\. Did you mean: .*Qwen/Qwen3-8B"):
        get_template("Qwen/Qwen3-9B")


def test_get_leads_to_the_list_when_nothing_is_close() -> None:
    with pytest.raises(ResponseParsingError, match=r"`list_templates\(\)` lists all \d+ families"):
        get_template("zzzzzz")


def test_entries_are_the_callers_own() -> None:
    """Changing what was handed out changes nothing for the next caller."""
    get_template("qwen3").response_template["fields"].clear()
    assert get_template("qwen3").response_template["fields"]


def test_entries_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        get_template("qwen3").name = "other"  # type: ignore[misc]


class Holder:
    """What find_template reads of a tokenizer."""

    def __init__(self, chat_template: Any) -> None:
        self.chat_template = chat_template


class Wrapper:
    """What find_template reads of a processor without a chat template of its own."""

    chat_template = None

    def __init__(self, tokenizer: Holder) -> None:
        self.tokenizer = tokenizer


QWEN3_LIKE = '<|im_start|> {"name": <function-name>, "arguments": <args-json-object>}'


@pytest.mark.parametrize(
    "source",
    [
        QWEN3_LIKE,
        Holder(QWEN3_LIKE),
        Holder({"default": "plain", "tool_use": QWEN3_LIKE}),
        Wrapper(Holder(QWEN3_LIKE)),
    ],
)
def test_find_by_markers_is_not_proven(source: Any) -> None:
    match = find_template(source)
    assert match is not None
    assert match.entry.name == "qwen3"
    assert match.response_template == match.entry.response_template
    assert not match.proven
    assert "<function-name>" in match.reason


def test_find_prefers_the_family_with_more_markers() -> None:
    """Qwen3.5 has all markers of Qwen3-Coder, and reasoning on top; the other is named in the reason."""
    match = find_template("<|im_start|><think><tool_call><function=x><parameter=y>")
    assert match is not None
    assert match.entry.name == "qwen3_5"
    assert "qwen3_coder" in match.reason


@pytest.mark.parametrize("source", ["", "{{ messages }}", Holder(None), Holder({}), object(), None])
def test_find_gives_none_for_the_unknown(source: Any) -> None:
    assert find_template(source) is None


def test_find_by_fingerprint_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers_response_parsing import library

    digest = hashlib.sha256(b"my chat template").hexdigest()
    entry = dataclasses.replace(get_template("cohere"), recognise={"chat_template_sha256": [digest], "contains": ["x"]})
    monkeypatch.setattr(library, "_entries", lambda: {"cohere": entry})
    match = find_template("my chat template")
    assert match is not None
    assert (match.entry.name, match.proven) == ("cohere", True)
    assert digest[:12] in match.reason


@pytest.mark.parametrize(
    ("family", "prefix"),
    [
        ("smollm3", "<|im_start|>assistant\n"),
        ("qwen3", "<|im_start|>assistant\n"),
        ("qwen3", "<|im_start|>assistant\n<think>\n"),
        ("qwen3_coder", "<|im_start|>assistant\n"),
        ("qwen3_5", "<|im_start|>assistant\n<think>\n"),
        ("gptoss", "<|start|>assistant<|channel|>analysis<|message|>"),
        ("gptoss", "<|start|>assistant<|channel|>final<|message|>"),
        ("cohere", "<|CHATBOT_TOKEN|><|START_THINKING|>"),
        ("cohere", "<|CHATBOT_TOKEN|><|START_RESPONSE|>"),
    ],
)
def test_text_is_shown_as_it_comes(family: str, prefix: str) -> None:
    """Reasoning and content are emitted in the same feed, whatever the patterns look ahead for."""
    parser = ResponseParser(get_template(family).response_template, prefix=prefix)
    for word in ["Hello", ", world", ": 1 < 2", " and\n\nso on"]:
        assert "".join(event.get("text", "") for event in parser.feed(word)) == word


@pytest.mark.parametrize("family", ["qwen3", "qwen3_5", "smollm3"])
def test_a_thought_that_the_prompt_opened_is_known_at_once(family: str) -> None:
    parser = ResponseParser(get_template(family).response_template, prefix="<|im_start|>assistant\n<think>\n")
    assert parser.initial_events == [{"type": "region_open", "field": "reasoning_content"}]


def test_cohere_s_calls_are_known_one_by_one() -> None:
    """Each call of the array closes before the next is written."""
    parser = ResponseParser(get_template("cohere").response_template, prefix="<|CHATBOT_TOKEN|>")
    first = (
        '<|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "a", "parameters": {"x": [1, {"tool_name": 2}]}},\n'
    )
    events = parser.feed(first + '    {"tool_call_id": "1", "tool_name":')
    closed = [event["value"] for event in events if event["type"] == "region_close"]
    assert [call["function"] for call in closed] == [{"name": "a", "arguments": {"x": [1, {"tool_name": 2}]}}]


CHATML = [entry.name for entry in list_templates() if "im_start" in str(entry.response_template)]


@pytest.mark.parametrize("family", CHATML)
@pytest.mark.parametrize(
    ("prefix", "generated"),
    [
        ("<|im_start|>user\nSecret<|im_end|>\n<|im_start|>assistant", "Fine.<|im_end|>"),
        ("Q: Secret\nA:", " Fine.<|im_end|>"),
        ("<|im_start|>assistant\nOld.<|im_end|>\n<|im_start|>user\nSecret<|im_end|>\n", "Fine.<|im_end|>"),
        ("", "Fine."),
    ],
)
def test_the_prompt_of_the_user_never_becomes_content(family: str, prefix: str, generated: str) -> None:
    """A prompt without the anchor, without any markup, or that ends with the user's turn gives nothing to the message."""
    template = get_template(family).response_template
    assert parse_response(generated, template, prefix=prefix) == {"role": "assistant", "content": "Fine."}


def reasoning_begun(entry: TemplateEntry, template: ResponseTemplate) -> list[tuple[str, str, dict[str, Any], Any]]:
    """The examples with reasoning, cut where its text begins: (the end of the prompt, what follows, the message, tools)."""
    begun = []
    for example in entry.examples:
        reasoning = example["message"].get("reasoning_content")
        if not reasoning or "malformed" in example:
            continue
        text = message_tail(template, example["prefix"]) + example["output"]
        at = text.find(reasoning[:6])
        whole = parse_response(example["output"], template, prefix=example["prefix"], tools=example.get("tools"))
        if at > 0 and whole == example["message"]:
            begun.append((text[:at], text[at:], whole, example.get("tools")))
    return begun


REASONING = [
    family for family in FAMILIES if "reasoning_content" in keys_written(source_of(family)["response_template"])
]


@pytest.mark.parametrize("family", REASONING)
@pytest.mark.parametrize("key", ["response_template", "portable_template"])
def test_the_end_of_a_prompt_that_opens_reasoning_is_enough(family: str, key: str, tmp_path: Path) -> None:
    """The anchor is not in it, and the message begins with it: from Python and on the command line, without a warning."""
    source = source_of(family).get(key)
    if source is None:
        pytest.skip("the family's template is portable, or none can be")
    template = ResponseTemplate.load(source)
    begun = reasoning_begun(get_template(family), template)
    assert begun
    for opening, rest, message, tools in begun:
        # HyperCLOVA X 14B's is no tag but a word, and only at the very beginning.
        for prefix in (opening, "\n" + opening)[: 1 if family == "hyperclovax_14b" else 2]:
            assert parse_response(rest, template, prefix=prefix, tools=tools) == message
    opening, rest, message, tools = begun[0]
    file = tmp_path / "template.json"
    file.write_text(json.dumps(source), encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
    given = ["--tools", str(tmp_path / "tools.json")] if tools else []
    done = run("parse", str(file), "--json", "--prefix", opening, *given, stdin=rest)
    assert (done.code, json.loads(done.out), done.err) == (0, message, "")


@pytest.mark.parametrize("family", REASONING)
def test_reasoning_of_an_earlier_turn_at_the_start_of_a_prompt_is_not_the_message_s(family: str) -> None:
    """Of a prompt that was cut off at its left, only the last turn counts."""
    entry = get_template(family)
    template = ResponseTemplate.load(entry.response_template)
    opening = reasoning_begun(entry, template)[0][0]
    example = entry.examples[0]
    prefix = f"{opening}Secret {example['prefix']}"
    message = parse_response(example["output"], template, prefix=prefix, tools=example.get("tools"))
    assert message == example["message"]


@pytest.mark.shared
def test_fingerprints_are_of_real_chat_templates_and_win(shared: Path) -> None:
    """Every chat template of the collection whose fingerprint is listed is found, proven, in its family."""
    listed = {digest: entry.name for entry in list_templates() for digest in entry.recognise["chat_template_sha256"]}
    found = {}
    for path in sorted((shared / "facts" / "chat_templates").glob("*.jinja")):
        text = path.read_bytes().decode("utf-8")
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if digest in listed:
            match = find_template(text)
            assert match is not None
            assert match.proven
            assert match.entry.name == listed[digest]
            found[digest] = path.name
    assert set(found) == set(listed)
