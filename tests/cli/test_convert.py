# SPDX-License-Identifier: Apache-2.0
"""`convert`: from a legacy schema, in a file or a tokenizer's configuration, to a template on stdout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command_line import run

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "role": {"const": "assistant"},
        "content": {"type": "string", "x-regex": "<say>(.*?)</say>"},
        "reasoning_content": {"type": "string", "x-regex": "<think>(.*?)</think>"},
    },
}


def test_what_it_writes_can_be_parsed_with(tmp_path: Path) -> None:
    done = run("convert", "-", "--start-anchor", "<a>", stdin=json.dumps(SCHEMA))
    assert (done.code, done.err) == (0, "")
    (tmp_path / "template.json").write_text(done.out, encoding="utf-8")
    done = run("parse", str(tmp_path / "template.json"), stdin="<think>Hm.</think><say>Hello!</say>")
    assert json.loads(done.out) == {"role": "assistant", "reasoning_content": "Hm.", "content": "Hello!"}


def test_the_schema_of_a_tokenizer_is_found(tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"response_schema": SCHEMA}), encoding="utf-8")
    for name in (tmp_path, tmp_path / "tokenizer_config.json"):
        assert '"open": "<say>"' in run("convert", str(name), "--start-anchor", "<a>").out


def test_the_anchor_is_taken_from_the_chat_template_beside_the_schema(tmp_path: Path) -> None:
    chat = (
        "{% for m in messages %}{{ m.content if m.role == 'assistant' else '<u>' + m.content + '</u><a>' }}{% endfor %}"
    )
    config = {"response_schema": SCHEMA, "chat_template": chat}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    for name in (tmp_path, tmp_path / "tokenizer_config.json"):
        done = run("convert", str(name))
        assert done.code == 0, done.err
        assert json.loads(done.out)["start_anchor"] == "</u><a>"
        assert done.err.startswith("note: start_anchor: '</u><a>' is proposed, since the chat template ")


def test_what_could_not_be_converted_is_told_and_exits_with_1() -> None:
    schema = {"properties": {**SCHEMA["properties"], "tool_calls": {"x-regex": "a(.*)b", "x-parser": "other"}}}
    done = run("convert", "-", stdin=json.dumps(schema))
    assert done.code == 1
    assert "tool_calls" not in json.loads(done.out)["fields"]
    assert "error: properties.tool_calls: can't be converted: its parser 'other' has no counterpart here\n" in done.err
    assert "error: start_anchor: is missing: " in done.err
    assert done.err.endswith("; give it with --start-anchor\n")
    answer = json.loads(run("convert", "-", "--start-anchor", "<a>", "--json", stdin=json.dumps(schema)).out)
    assert [problem["path"] for problem in answer["problems"]] == ["properties.tool_calls"]
    assert answer["response_template"]["start_anchor"] == "<a>"


def test_what_is_no_schema_is_told(tmp_path: Path) -> None:
    done = run("convert", "-", stdin="[]")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: this is no response_schema")
    assert run("convert", "-", stdin="nope").code == 2
    assert run("convert", str(tmp_path / "gone.json")).code == 2
