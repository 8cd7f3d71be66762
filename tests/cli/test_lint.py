# SPDX-License-Identifier: Apache-2.0
"""`lint`: every problem with its place in the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run

from transformers_response_parsing.json_places import JsonPlaces, Place

WRONG = """\
{
  "start_anchor": "<a>",
  "fields": {
    "content": {"opn": "<x>",
      "close": 5}
  }
}
"""
DOUBTFUL = """\
{
  "start_anchor": "<a>", "defaults": {"role": "assistant"},
  "fields": {
    "content": {"close_pattern": "(a+)+b"},
    "thinking": {"open": "<t>", "close": "</t>"}
  }
}
"""
PORTABLE = {"defaults": {"role": "assistant"}, "start_anchor": "<a>", "fields": {"content": {"close": "<e>"}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "template.json"


def test_errors_are_told_with_line_and_column(file: Path) -> None:
    file.write_text(WRONG, encoding="utf-8")
    done = run("lint", str(file))
    assert done.code == 1
    first, second = done.out.splitlines()
    assert first == f"{file}:4:17: error: fields.content.opn: unknown key: did you mean 'open'?"
    assert second.startswith(f"{file}:5:7: error: fields.content.close: must be a string")
    assert done.err == f"{file}: 2 errors, it can't be loaded\n"


def test_warnings_are_no_errors_unless_they_are_to_be(file: Path) -> None:
    file.write_text(DOUBTFUL, encoding="utf-8")
    done = run("lint", str(file))
    assert done.code == 0
    *warnings, last = done.out.splitlines()
    assert [line.partition(": warning: ")[0] for line in warnings] == [f"{file}:4:17", f"{file}:5:5"]
    assert last == f"{file}: portable, transformers 5.13.0 and newer read it; 2 warnings"
    assert run("lint", str(file), "--strict").code == 1


def test_what_only_this_package_reads_is_noted() -> None:
    shown = run("show", "deepseek_v4", "--template").out
    done = run("lint", "-", stdin=shown)
    assert done.code == 0
    assert ": note: fields.tool_calls.content_args.tag_pattern: only this package reads this" in done.out
    assert "-: only this package reads it, no transformers by itself; no warnings" in done.out


def test_a_config_a_library_file_and_a_folder_have_the_template_inside(tmp_path: Path) -> None:
    """Places are those of the whole file."""
    config = tmp_path / "tokenizer_config.json"
    config.write_text(
        '{\n  "x": 1,\n  "response_template": {"start_anchor": "<a>",\n   "fields": 5}\n}', encoding="utf-8"
    )
    for name in (config, tmp_path):
        done = run("lint", str(name))
        assert done.out.startswith(f"{config}:4:4: error: fields: ")
    config.write_text(json.dumps({"response_template": PORTABLE}), encoding="utf-8")
    assert run("lint", str(tmp_path)).code == 0


def test_json_for_programs_one_entry_a_file(file: Path, tmp_path: Path) -> None:
    file.write_text(WRONG, encoding="utf-8")
    good = tmp_path / "good.json"
    good.write_text(json.dumps(PORTABLE), encoding="utf-8")
    done = run("lint", str(file), str(good), "--json")
    assert (done.code, done.err) == (1, "")
    first, second = json.loads(done.out)
    assert (first["file"], first["loads"]) == (str(file), False)
    assert first["problems"][0] == {
        "severity": "error",
        "path": "fields.content.opn",
        "message": "unknown key: did you mean 'open'?",
        "line": 4,
        "column": 17,
    }
    assert second == {
        "file": str(good),
        "loads": True,
        "problems": [],
        "min_transformers": "5.13.0",
        "extensions": [],
    }


TWICE = """\
{
  "start_anchor": "<a>",
  "fields": {
    "content": {"close": "<e>", "close": "<f>"},
    "calls": {"transform": [{"a": 1}, {"b": {"c": 1, "c": 2, "c": 3}}]},
    "calls": {"open": "<c>", "close": "</c>"}
  }
}
"""


@pytest.mark.parametrize("config", [False, True], ids=["a file of its own", "in a configuration"])
def test_keys_that_are_there_twice_are_told_wherever_they_are(config: bool, file: Path) -> None:
    """Each one from the second on, those included that a later key hides; but only those of the template."""
    lead = '{"other": {"x": 1, "x": 2}, "response_template": {},\n"response_template": '
    file.write_text(lead + TWICE.rstrip() + "}" if config else TWICE, encoding="utf-8")
    done = run("lint", str(file))
    assert done.code == 1
    line = 2 if config else 1
    places = [f"{line + 3}:33", f"{line + 4}:54", f"{line + 4}:62", f"{line + 5}:5"]
    paths = ["content.close", "calls.transform[1].b.c", "calls.transform[1].b.c", "calls"]
    told = [
        f"{file}:{place}: error: fields.{path}: the key is there more than once: keep one (JSON readers silently take the last)"
        for place, path in zip(places, paths, strict=True)
    ]
    if config:
        told.insert(0, f"{file}:2:1: error: {told[0].partition('close: ')[2]}")
    assert done.out.splitlines() == told


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ('{"fields": }', "1:12", "not valid JSON: Expecting value"),
        ("", "1:1", "not valid JSON: Expecting value"),
        ("[1]", "1:1", "must hold an object"),
        (
            '{"start_anchor": "a",\n "start_anchor": "b", "fields": {"content": {}}}',
            "2:2",
            "the key is there more than once",
        ),
        ('{"fields": {"content": {}}}', "1:1", "start_anchor: is missing"),
    ],
)
def test_what_is_no_template_at_all(text: str, place: str, problem: str, file: Path) -> None:
    file.write_text(text, encoding="utf-8")
    done = run("lint", str(file))
    assert done.code == 1
    assert done.out.startswith(f"{file}:{place}: error: ")
    assert problem in done.out


def test_a_file_that_is_not_there_exits_with_2(file: Path) -> None:
    done = run("lint", str(file))
    assert (done.code, done.err) == (2, f"error: {file}: No such file or directory\n")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", (1, 1)),
        ("a", (2, 3)),
        ("a[0]", (2, 9)),
        ("a[1].b", (3, 12)),
        ('["x.y"]', (4, 3)),
        ('["x.y"].z', (4, 11)),
        ("a[1].missing.deeper", (3, 11)),
        ("missing", (1, 1)),
        ("twice", (7, 3)),
    ],
)
def test_places_of_paths(path: str, place: Any) -> None:
    """A missing one is where it should be in; escapes in strings, and brackets, are no structure."""
    text = (
        '{\n  "a": ["\\"{[",\n          {"b": 1e5}],\n  "x.y": {"z": []},\n  "e": {},\n  "twice": 1,\n  "twice": 2\n}'
    )
    assert JsonPlaces(text).find(path) == Place(*place)


def test_a_pattern_that_backtracks_without_end_is_found_by_trying_it(file: Path) -> None:
    field = {"open_pattern": "<t>(?:a|a)*b", "close": "</t>"}
    file.write_text(json.dumps({**PORTABLE, "fields": {"reasoning_content": field}}), encoding="utf-8")
    assert "fields.reasoning_content.open_pattern: backtracks without end on '<t>aaa" in run("lint", str(file)).out
