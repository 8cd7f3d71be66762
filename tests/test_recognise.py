# SPDX-License-Identifier: Apache-2.0
"""`find_template` on chat templates of our own: fingerprint, markers, proof, and what it says of them."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from chat_templates import CHATML_JSON, CHATML_XML, HEADERS, OPENED, right_template

from transformers_response_parsing import (
    ResponseTemplate,
    find_template,
    get_template,
    list_templates,
    parse_response,
)
from transformers_response_parsing.chat_format import ChatFormat
from transformers_response_parsing.prose import prose_misread
from transformers_response_parsing.recognise import Finding, fingerprint, markers_of, recognise
from transformers_response_parsing.remembered import Remembered
from transformers_response_parsing.rendering import ChatRenderer

pytest.importorskip("transformers.utils.chat_template_utils", reason="chat templates are rendered with transformers")

# Chat templates with the same markers, in formats that a parser must tell apart.
PARAMETERS = CHATML_JSON.replace('"arguments": {{', '"parameters": {{')
FLAT_XML = CHATML_XML.replace("<function={{ call.function.name }}>", '<function name="{{ call.function.name }}">')


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers are kept by the names of the families, and here those change from test to test."""
    monkeypatch.setattr("transformers_response_parsing.recognise._found", Remembered(9))


class Entry(NamedTuple):
    """A family as `recognise` sees it."""

    name: str
    response_template: dict[str, Any]
    recognise: Mapping[str, Any]
    models: tuple[str, ...] = ("org/model",)


def families(*entries: Entry) -> dict[str, Entry]:
    return {entry.name: entry for entry in entries}


def parameters_template() -> dict[str, Any]:
    template = right_template(CHATML_JSON)
    template["fields"]["tool_calls"]["transform"] = {
        "type": "function",
        "function": {"name": "{content.name}", "arguments": "{content.parameters}"},
    }
    return template


JSON = Entry("json", right_template(CHATML_JSON), {"contains": ["<tool_call>", "tojson"]})
OTHER = Entry("other", parameters_template(), {"contains": ["<tool_call>", "tojson", "<|im_start|>"]})
XML = Entry("xml", right_template(CHATML_XML), {"contains": ["<function="], "not_contains": ["<think>"]})


# -- markers


@pytest.mark.parametrize(
    ("recognise_by", "found"),
    [
        ({"contains": ["a", "b"]}, ("a", "b")),
        ({"contains": ["a", "z"]}, ()),
        ({"contains": [["z"], ["b"]]}, ("b",)),
        ({"contains": [["a"], ["a", "b"]]}, ("a", "b")),
        ({"contains": ["a"], "not_contains": ["b"]}, ()),
        ({"contains": ["a"], "not_contains": ["z"]}, ("a",)),
        ({"contains": []}, ()),
        ({}, ()),
    ],
)
def test_markers(recognise_by: dict[str, Any], found: tuple[str, ...]) -> None:
    assert markers_of(["a b"], recognise_by) == found


def test_markers_must_be_in_one_text() -> None:
    assert markers_of(["a", "b"], {"contains": ["a", "b"]}) == ()


# -- fingerprint


def test_a_fingerprint_is_trusted_and_needs_no_markers() -> None:
    known = JSON._replace(recognise={"chat_template_sha256": [fingerprint(CHATML_JSON)], "contains": ["zzz"]})
    found = recognise(CHATML_JSON, families(OTHER, known))
    assert found is not None
    assert (found.family, found.proven) == ("json", True)
    assert fingerprint(CHATML_JSON)[:12] in found.reason


def test_another_byte_is_another_fingerprint() -> None:
    known = JSON._replace(recognise={"chat_template_sha256": [fingerprint(CHATML_JSON)], "contains": ["zzz"]})
    found = recognise(CHATML_JSON + "\n", families(known))
    assert found is not None
    assert "known to fit" not in found.reason


# -- proof


def test_markers_and_proof() -> None:
    found = recognise(CHATML_JSON, families(JSON, XML))
    assert found is not None
    assert (found.family, found.proven) == ("json", True)
    assert found.reason.startswith("the chat template has the markers of json, and all ")
    assert "read back right" in found.reason


@pytest.mark.parametrize(("chat_template", "family"), [(CHATML_JSON, "json"), (PARAMETERS, "other")])
@pytest.mark.parametrize("order", [(JSON, OTHER), (OTHER, JSON)], ids=["json first", "other first"])
def test_the_proof_decides_between_families_with_the_markers(
    chat_template: str, family: str, order: tuple[Entry, ...]
) -> None:
    """Neither the order nor the number of markers does."""
    found = recognise(chat_template, families(*order))
    assert found is not None
    assert (found.family, found.proven) == (family, True)


def test_a_chat_template_that_renders_otherwise_is_not_proven() -> None:
    """It has all the markers of the library's family, and a format that the family does not read."""
    found = recognise(FLAT_XML, families(XML._replace(recognise={"contains": ["<function", "<parameter="]})))
    assert found is not None
    assert (found.family, found.proven) == ("xml", False)
    assert "but this is not proven: of " in found.reason
    assert "are read back wrong (one call, " in found.reason


def test_the_library_proves_nothing_that_renders_otherwise() -> None:
    """Qwen3's markers and calls whose arguments are called something else."""
    chat_template = '{# "name": <function-name>, "arguments": <args-json-object> #}' + CHATML_JSON.replace(
        '"arguments": {{', '"payload": {{'
    )
    match = find_template(chat_template)
    assert match is not None
    assert not match.proven
    assert "not proven" in match.reason


def test_one_failing_case_is_enough_to_be_no_proof() -> None:
    narrow = copy.deepcopy(XML.response_template)
    narrow["fields"]["tool_calls"]["open_pattern"] = r"<tool_call>\s*<function=(?P<name>\w+)>"
    found = recognise(CHATML_XML, families(XML._replace(response_template=narrow)))
    assert found is not None
    assert not found.proven
    assert "1 is read back wrong (call of a dotted name)" in found.reason


def test_without_markers_a_family_is_found_if_it_is_proven() -> None:
    found = recognise(CHATML_JSON, families(JSON._replace(recognise={"contains": ["zzz"]}), XML))
    assert found is not None
    assert (found.family, found.proven) == ("json", True)
    assert found.reason.startswith("json reads what the chat template writes, and all ")


def test_without_markers_and_proof_nothing_is_found() -> None:
    assert recognise(PARAMETERS, families(JSON._replace(recognise={"contains": ["zzz"]}))) is None


GREEDY = copy.deepcopy(JSON.response_template)
GREEDY["fields"]["tool_calls"]["open_pattern"] = "(?:<tool_call>|```json)\\s*"
GREEDY["fields"]["tool_calls"]["close_pattern"] = "\\s*(?:</tool_call>|```)"
GREEDY["fields"]["tool_calls"].pop("open", None)
GREEDY["fields"]["tool_calls"].pop("close", None)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param(
            JSON._replace(response_template=GREEDY),
            JSON._replace(name="zz", models=("a", "b"), recognise={"contains": ["<tool_call>"]}),
            id="more telling markers",
        ),
        pytest.param(
            JSON,
            JSON._replace(name="zz", models=("a", "b"), response_template=GREEDY),
            id="does not take prose for a call",
        ),
        pytest.param(JSON._replace(models=("a", "b")), JSON._replace(name="a"), id="more models"),
        pytest.param(JSON._replace(name="a"), JSON, id="the name"),
    ],
)
def test_which_of_several_proven_families(better: Entry, worse: Entry, order: int) -> None:
    found = recognise(CHATML_JSON, families(*[better, worse][::order]))
    assert found is not None
    assert (found.family, found.proven) == (better.name, True)


def test_a_qwen3_chat_template_that_is_not_known_leaves_json_in_a_fence_alone() -> None:
    """Many families read it. The first by name would be one that takes JSON in a fence for a call."""
    match = find_template(CHATML_JSON)
    assert match is not None
    assert (match.entry.name, match.proven) == ("qwen3", True)
    text = 'Send this:\n\n```json\n{"name": "f", "arguments": {}}\n```'
    message = parse_response(text, match.response_template, prefix="<|im_start|>assistant\n")
    assert message == {"role": "assistant", "content": text}


def test_prose_is_misread_by_a_family_that_reads_bare_calls() -> None:
    chat = ChatFormat(ChatRenderer(CHATML_JSON))
    misread = {name: prose_misread(chat, template(name)) for name in ("qwen3", "xlam", "llama3")}
    assert misread["qwen3"] == 0
    assert misread["xlam"] > 0
    assert misread["llama3"] > 0


def template(family: str) -> ResponseTemplate:
    return ResponseTemplate.load(get_template(family).response_template)


@pytest.mark.parametrize("command", ["find", "check"])
def test_without_jinja2_it_is_an_error_and_not_a_finding(command: str, tmp_path: Path) -> None:
    """Exit code 1 would say that no template fits, or that this one is wrong."""
    file = tmp_path / "chat_template.jinja"
    file.write_text(CHATML_JSON, encoding="utf-8")
    more = ["--template", "qwen3"] if command == "check" else []
    program = (
        "import sys; sys.modules['jinja2'] = None; from transformers_response_parsing.cli import main; "
        "sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, str(file), *more], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert "error: rendering chat templates needs jinja2 (pip install jinja2)" in done.stderr


@pytest.mark.shared
def test_the_order_agrees_with_the_families_that_are_known(shared: Path) -> None:
    """Found without its fingerprint, a chat template's family is the one that lists it, or reads all it renders the same."""
    known = {entry.name: entry for entry in list_templates()}
    blind = {
        name: Entry(name, e.response_template, {**e.recognise, "chat_template_sha256": []}, e.models)
        for name, e in known.items()
    }
    for name in ("tiiuae-Falcon3-10B-Base-1.58bit-prequantized", "Qwen-Qwen3-0.6B@a55ee1"):
        text = (shared / "facts" / "chat_templates" / f"{name}.jinja").read_text(encoding="utf-8")
        found = recognise(text, blind)
        assert found is not None
        assert (found.family, found.proven) == ("qwen3", True)


def test_what_is_not_rendered_is_said() -> None:
    """The template knows reasoning, and nothing showed whether it reads it right."""
    chat_template = CHATML_JSON.replace("message.reasoning_content", "message.no_such_key").replace("<think>", "")
    found = recognise(chat_template.replace("</think>", ""), families(JSON))
    assert found is not None
    assert found.proven
    assert "though it does not render reasoning" in found.reason


# -- what proves nothing


def test_tools_that_are_never_called() -> None:
    chat_template = CHATML_JSON.replace("message.tool_calls", "[]")
    found = recognise(chat_template, families(JSON))
    assert found is not None
    assert not found.proven
    assert "knows tools but does not render calls" in found.reason


def test_reasoning_that_the_response_template_does_not_know() -> None:
    found = recognise(OPENED, families(Entry("plain", {**right_template(HEADERS)}, {"contains": ["<|User|>"]})))
    assert found is not None
    assert not found.proven


def test_a_chat_template_that_fails_is_recognised_by_its_markers_only() -> None:
    found = recognise("{{ raise_exception('not today') }} <tool_call> tojson", families(JSON))
    assert found is not None
    assert not found.proven
    assert "not proven: the chat template raises TemplateError: not today" in found.reason


def test_a_text_that_is_no_jinja() -> None:
    found = recognise("<tool_call> tojson <|im_start|>", families(JSON, OTHER))
    assert found == Finding(
        "other",
        "the chat template has the markers of other ('<tool_call>', 'tojson', '<|im_start|>'), but this is not proven: "
        "it can't be rendered; also possible: json",
        False,
    )


@pytest.mark.parametrize("chat_template", ["", "{{ messages }}", "Human: {{ messages[0].content }}\nAssistant:"])
def test_the_unknown_is_not_found(chat_template: str) -> None:
    assert recognise(chat_template, families(JSON, XML)) is None


def test_a_family_whose_template_is_wrong_is_no_proof_and_no_crash() -> None:
    broken = Entry("broken", {"fields": {}}, {"contains": ["<tool_call>"]})
    found = recognise(CHATML_JSON, families(broken))
    assert found is not None
    assert not found.proven
    assert "its template is wrong" in found.reason
    better = recognise(CHATML_JSON, families(broken, JSON))
    assert better is not None
    assert (better.family, better.proven) == ("json", True)


# -- the library


@pytest.mark.parametrize(("chat_template", "calls"), [(CHATML_JSON, "<tool_call>"), (CHATML_XML, "<function=")])
def test_the_library_reads_the_usual_formats(chat_template: str, calls: str) -> None:
    match = find_template(chat_template)
    assert match is not None
    assert match.proven
    assert match.entry.name in {entry.name for entry in list_templates()}
    assert calls in str(match.response_template) or "<function" in str(match.response_template)


def test_an_answer_is_remembered_and_the_callers_own() -> None:
    first = find_template(CHATML_JSON)
    assert first is not None
    assert first.proven
    first.response_template["fields"].clear()
    again = find_template(CHATML_JSON)
    assert again is not None
    assert again.response_template["fields"]
    assert (again.entry.name, again.reason) == (first.entry.name, first.reason)
