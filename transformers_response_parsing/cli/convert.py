# SPDX-License-Identifier: Apache-2.0
"""`response-template convert`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers_response_parsing.errors import Problem, ResponseParsingError, TemplateError
from transformers_response_parsing.legacy import convert_schema
from transformers_response_parsing.template import ResponseTemplate

from .console import Console
from .inputs import chat_template_of, read_json

__all__ = ["register"]

_EXAMPLES = """\
  response-template convert schema.json --start-anchor $'<|im_start|>assistant\\n' > template.json
  response-template convert ./my-model      # the response_schema in its tokenizer_config.json"""
_DETAILS = """\
FILE holds a `response_schema`, the way of transformers 5.0 to 5.12 to describe responses, or has one under that key. The template is
written to stdout; it strips white space around texts. What could not be converted, and what is read otherwise, is told on stderr.
Look at what it gives, with `response-template explain` and `response-template check`.

A schema does not say what comes right before the model's turn in a prompt. Without --start-anchor it is taken from the chat template
that is there with FILE, else from markers in the schema, and told on stderr.

Exit code 1 if something could not be converted."""
_KEY, _CONFIG = "response_schema", "tokenizer_config.json"


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "convert",
        _run,
        summary="convert a legacy response_schema to a response template, as far as it can be done",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    command.add_argument("file", metavar="FILE", help="JSON file, or a folder with a tokenizer; - is stdin")
    command.add_argument("--start-anchor", metavar="TEXT", help="what comes right before the model's turn in a prompt")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    file = Path(arguments.file)
    if file.is_dir():
        file /= _CONFIG
    value = read_json(str(file))
    schema: Any = value.get(_KEY, value) if isinstance(value, dict) else value
    chat_template = _chat_template(str(file.parent)) if file.name == _CONFIG else None
    template, problems, notes = convert_schema(schema, arguments.start_anchor, chat_template=chat_template)
    problems = tuple(problem._replace(message=_advised(problem)) for problem in problems)
    warnings: tuple[Any, ...] = ()
    if "start_anchor" in template:
        try:
            warnings = ResponseTemplate.load(template).problems
        except TemplateError as error:
            problems += error.problems
    if arguments.json:
        told = {"problems": problems, "notes": notes, "warnings": warnings}
        lists = {key: [problem._asdict() for problem in found] for key, found in told.items()}
        console.json({"response_template": template, **lists})
    else:
        console.json(template)
        for kind, found in (("error", problems), ("note", notes), ("warning", warnings)):
            for problem in found:
                console.hint(f"{kind}: {problem}")
    return 1 if problems else 0


def _chat_template(folder: str) -> Any:
    try:
        return chat_template_of(folder)
    except ResponseParsingError:  # then without
        return None


def _advised(problem: Problem) -> str:
    return f"{problem.message}; give it with --start-anchor" if problem.path == "start_anchor" else problem.message
