# SPDX-License-Identifier: Apache-2.0
"""`response-template lint`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transformers_response_parsing.errors import TemplateError, json_reason
from transformers_response_parsing.json_places import JsonPlaces, Place
from transformers_response_parsing.lint import slow_patterns
from transformers_response_parsing.source import KEY_TWICE
from transformers_response_parsing.template import ResponseTemplate

from .console import Console
from .inputs import read_text

__all__ = ["register"]

_EXAMPLES = """\
  response-template lint template.json
  response-template lint template.json --strict             # warnings count, too
  response-template lint model_templates/*.json
  response-template lint ./my-model                         # the template in its tokenizer_config.json
  response-template show qwen3 --template | response-template lint -"""
_DETAILS = """\
Errors keep a template from loading. Warnings: what is slow, risky, or probably not meant. Notes: what only this package reads.
FILE is a template, or JSON with one under the key `response_template`, as `tokenizer_config.json` has it.

Exit code 1 if there are errors (with --strict: or warnings)."""
_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}
_KEY = "response_template"


class _Finding(NamedTuple):
    severity: str
    path: str
    message: str
    place: Place


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "lint",
        _run,
        summary="say everything that is wrong with a response template, with line and column",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    command.add_argument("files", nargs="+", metavar="FILE", help="JSON file, or a folder with a tokenizer; - is stdin")
    command.add_argument("--strict", action="store_true", help="exit code 1 for warnings, too")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    answers = []
    counts: dict[str, int] = {}
    for name in arguments.files:
        file = str(Path(name) / "tokenizer_config.json") if Path(name).is_dir() else name
        template, findings = _look_at(read_text(file))
        for finding in findings:
            counts[finding.severity] = counts.get(finding.severity, 0) + 1
        if arguments.json:
            answers.append(_as_json(file, template, findings))
        else:
            _show(console, file, template, findings)
    if arguments.json:
        console.json(answers)
    return 1 if counts.get("error") or (arguments.strict and counts.get("warning")) else 0


def _look_at(text: str) -> tuple[ResponseTemplate | None, list[_Finding]]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return None, [_Finding("error", "", f"not valid JSON: {json_reason(error)}", Place(error.lineno, error.colno))]
    except (RecursionError, ValueError) as error:
        return None, [_Finding("error", "", f"can't be read: {error}", Place(1, 1))]
    inside = isinstance(value, dict) and isinstance(value.get(_KEY), dict)
    places = JsonPlaces(text, _KEY if inside else "")
    # Also in what a repeated key hides from those who load it.
    errors = [_Finding("error", path, KEY_TWICE, place) for path, place in places.repeated()]
    try:
        template = ResponseTemplate.load(value[_KEY] if inside else text)
    except TemplateError as error:
        others = (problem for problem in error.problems if problem.message != KEY_TWICE)
        errors += [_Finding("error", *problem, places.find(problem.path)) for problem in others]
    if errors:
        return None, sorted(errors, key=lambda finding: finding.place)
    return template, sorted(_remarks(template, places), key=lambda finding: finding.place)


def _remarks(template: ResponseTemplate, places: JsonPlaces) -> Iterator[_Finding]:
    # Beyond the warnings of loading: patterns are tried, which takes up to a tenth of a second each.
    for problem in (*template.problems, *slow_patterns(template.source)):
        yield _Finding("warning", *problem, places.find(problem.path))
    for path in template.extensions:
        yield _Finding(
            "note", path, "only this package reads this, transformers' own parser does not", places.find(path)
        )


def _show(console: Console, file: str, template: ResponseTemplate | None, findings: list[_Finding]) -> None:
    for severity, path, message, place in findings:
        console.write(f"{file}:{place.line}:{place.column}: ")
        console.write(f"{severity}: ", _COLORS[severity], "bold")
        console.line(f"{path}: {message}" if path else message)
    if template is None:
        number = len(findings)
        console.hint(f"{file}: {number} error{'s' * (number != 1)}, it can't be loaded")
        return
    if template.min_transformers is None:
        reads = "only this package reads it, no transformers by itself"
    else:
        reads = f"portable, transformers {template.min_transformers} and newer read it"
    number = sum(finding.severity == "warning" for finding in findings)
    console.line(f"{file}: {reads}; {number or 'no'} warning{'s' * (number != 1)}")


def _as_json(file: str, template: ResponseTemplate | None, findings: list[_Finding]) -> dict[str, Any]:
    problems = [
        {"severity": severity, "path": path, "message": message, **place._asdict()}
        for severity, path, message, place in findings
    ]
    return {
        "file": file,
        "loads": template is not None,
        "problems": problems,
        "min_transformers": None if template is None else template.min_transformers,
        "extensions": [] if template is None else list(template.extensions),
    }
