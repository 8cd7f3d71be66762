# SPDX-License-Identifier: Apache-2.0
"""Every conformance vector, fed in several ways, through both entry points."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from chunkings import NAMES, chunks, merge, pieces, without_errors
from vectors import FOLDER, VECTORS, load_files, strictly_equal

import transformers_response_parsing as trp
from transformers_response_parsing.content import CONTENT_TYPES

PARSED = [vector for vector in VECTORS if "message" in vector]
REFUSED = [vector for vector in VECTORS if vector.get("error", {}).get("kind") == "template"]
FAILING = [vector for vector in VECTORS if vector.get("error", {}).get("kind") == "output"]
CLEAN_TYPES = {"text", "int", "float", "bool"}

each_parsed = pytest.mark.parametrize("vector", PARSED, ids=[vector["id"] for vector in PARSED])
each_refused = pytest.mark.parametrize("vector", REFUSED, ids=[vector["id"] for vector in REFUSED])
each_failing = pytest.mark.parametrize("vector", FAILING, ids=[vector["id"] for vector in FAILING])


def options(vector: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments of a vector."""
    found = {key: vector[key] for key in ("tools", "end", "on_error") if key in vector}
    return {"prefix": vector["prefix"], **found}


def without_reasons(message: dict[str, Any]) -> dict[str, Any]:
    """The message without the wording of the faults that were kept."""
    if "malformed" not in message:
        return message
    return {**message, "malformed": without_errors(message["malformed"])}


def run(vector: dict[str, Any], cut: list[str]) -> tuple[dict[str, Any], list[Any], list[Any], str]:
    """Feed a vector: the message, the merged initial events, the merged other events, the unclaimed text."""
    parser = trp.ResponseParser(vector["template"], **options(vector))
    initial = without_errors(merge(parser.initial_events))
    events = [event for chunk in cut for event in parser.feed(chunk)]
    message, last = parser.finalize()
    return without_reasons(message), initial, without_errors(merge(events + last)), "".join(parser.unclaimed)


@each_parsed
def test_message_and_events_are_the_same_however_the_text_is_cut(vector: dict[str, Any]) -> None:
    """Message, events and unclaimed text are those of the vector for every way of cutting the generation."""
    for name in NAMES:
        message, initial, events, unclaimed = run(vector, chunks(name, vector["output"]))
        assert strictly_equal(message, vector["message"]), f"{name}: {message}"
        assert strictly_equal(initial, vector.get("initial_events", [])), f"{name}: {initial}"
        assert strictly_equal(events, vector["events"]), f"{name}: {events}"
        if "unclaimed" in vector:
            assert unclaimed == vector["unclaimed"], name


@each_parsed
def test_parse_response_gives_the_same_message(vector: dict[str, Any]) -> None:
    """The function and the parser agree."""
    message = trp.parse_response(vector["output"], vector["template"], **options(vector))
    assert strictly_equal(without_reasons(message), vector["message"])


@each_parsed
def test_a_loaded_template_gives_the_same_message(vector: dict[str, Any]) -> None:
    """A template may be given as a dict or loaded before."""
    loaded = trp.ResponseTemplate.load(json.dumps(vector["template"]))
    message = trp.parse_response(vector["output"], loaded, **options(vector))
    assert strictly_equal(without_reasons(message), vector["message"])


@each_parsed
def test_regions_open_then_chunk_then_close(vector: dict[str, Any]) -> None:
    """Every event belongs to one open region at a time, and none is left open."""
    parser = trp.ResponseParser(vector["template"], **options(vector))
    events = list(parser.initial_events)
    for chunk in vector["output"]:
        events += parser.feed(chunk)
    events += parser.finalize()[1]
    open_field = None
    for event in events:
        if event["type"] == "region_open":
            assert open_field is None
            open_field = event["field"]
            continue
        assert event["field"] == open_field
        if event["type"] == "region_chunk":
            assert event["text"]
        else:
            open_field = None
    assert open_field is None


@each_parsed
def test_clean_chunks_are_part_of_the_value(vector: dict[str, Any]) -> None:
    """Of a text region that is not transformed the chunks joined, right-stripped, are the value (SPEC 3, 7.3)."""
    fields = vector["template"]["fields"]
    implicit = next((name for name, field in fields.items() if not {"open", "open_pattern"} & field.keys()), None)
    text, first = "", {implicit}
    for event in vector.get("initial_events", []) + vector["events"]:
        field = fields[event["field"]]
        assert event.get("dirty", False) == (
            event["type"] == "region_chunk" and field.get("content", "text") not in CLEAN_TYPES
        )
        if event["type"] == "region_open":
            text = ""
        elif event["type"] == "region_chunk":
            text += event["text"]
        elif event["type"] == "region_close" and field.get("content", "text") == "text" and "transform" not in field:
            strips = field.get("content_args", {}).get("strip", True)
            later_stretch = event["field"] == implicit and implicit not in first
            shown = text.rstrip() if strips else text
            assert (shown.lstrip() if strips and later_stretch else shown) == event["value"]
            first.discard(event["field"])


@each_refused
def test_the_template_is_refused_with_all_paths(vector: dict[str, Any]) -> None:
    """A wrong template is refused at load, with the paths of all its faults and what was meant."""
    with pytest.raises(trp.TemplateError) as caught:
        trp.ResponseTemplate.load(vector["template"])
    assert sorted(problem.path for problem in caught.value.problems) == sorted(vector["error"]["paths"])
    assert caught.value.path == caught.value.problems[0].path
    for word in vector["error"].get("mentions", []):
        assert word in str(caught.value)


@each_refused
def test_the_parser_refuses_the_template_before_it_reads_text(vector: dict[str, Any]) -> None:
    """Making a parser is enough to hear about it."""
    with pytest.raises(trp.TemplateError):
        trp.ResponseParser(vector["template"], prefix="")


@each_failing
def test_the_fault_is_raised_with_the_message_so_far(vector: dict[str, Any]) -> None:
    """A fault in the text is an OutputError with the field, the body and the message so far, however the text is cut."""
    expected = vector["error"]
    for name in NAMES:
        with pytest.raises(trp.OutputError) as caught:
            run(vector, chunks(name, vector["output"]))
        assert caught.value.field == expected["field"], name
        assert strictly_equal(caught.value.partial_message, expected["partial_message"]), name
        if "raw" in expected:
            assert caught.value.raw == expected["raw"], name


@each_failing
def test_parse_response_raises_the_same_fault(vector: dict[str, Any]) -> None:
    """The function raises what the parser raises."""
    with pytest.raises(trp.OutputError) as caught:
        trp.parse_response(vector["output"], vector["template"], **options(vector))
    assert caught.value.field == vector["error"]["field"]
    assert strictly_equal(caught.value.partial_message, vector["error"]["partial_message"])


@pytest.mark.parametrize("path", load_files(), ids=lambda path: path.stem)
def test_the_files_follow_their_schema(path: Path) -> None:
    """Each file is valid against vector.schema.json, and named like its subject and the ids in it."""
    schema = json.loads((FOLDER / "vector.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    data = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(data)
    assert data["subject"] == path.stem
    assert all(vector["id"].startswith(f"{path.stem}/") for vector in data["vectors"])


def test_ids_are_unique() -> None:
    """No two vectors share an id."""
    ids = [vector["id"] for vector in VECTORS]
    assert len(ids) == len(set(ids))


def test_every_key_and_content_type_has_a_vector() -> None:
    """No key of a template, and no content type, is without a vector that parses."""
    top = {key for vector in PARSED for key in vector["template"]}
    used = [field for vector in PARSED for field in vector["template"]["fields"].values()]
    keys = {key for field in used for key in field}
    assert top == {"version", "defaults", "start_anchor", "start_anchor_pattern", "fields"}
    assert keys == {
        *("open", "open_pattern", "close", "close_pattern", "repeats", "join", "optional"),
        *("content", "content_args", "transform", "transform_each", "nests", "into"),
    }
    types = {field.get("content", "text") for field in used}
    assert types == set(CONTENT_TYPES)


def test_seeded_pieces_are_those_of_the_readme() -> None:
    """The sizes that the README prints are what the generator gives."""
    sizes = [len(piece) for piece in pieces("x" * 1000, 1, 4)][:10]
    printed = ", ".join(str(size) for size in sizes[:-1]) + f" and {sizes[-1]}"
    assert printed in (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_chunkings_lose_nothing(name: str) -> None:
    """The chunks joined are the text, and none is empty."""
    text = "a longer text, 👩‍🚀 included, to be cut"
    assert "".join(chunks(name, text)) == text
    assert all(chunks(name, text))
    assert chunks(name, "") == []
