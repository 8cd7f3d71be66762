# SPDX-License-Identifier: Apache-2.0
"""`response-template check`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers_response_parsing.check import check_template
from transformers_response_parsing.errors import ResponseParsingError
from transformers_response_parsing.report import CheckReport

from .console import Console
from .generation import TEMPLATE_HELP
from .inputs import NamedTemplate, chat_template_of, load_named_template, load_tokenizer
from .usage import UsageError, one_line_first

__all__ = ["register"]

_EXAMPLES = """\
  response-template check ./my-model                      # the template it has, or the library's
  response-template check chat_template.jinja --template template.json
  response-template check Qwen/Qwen3-8B --template qwen3 --json
  response-template check chat_templates/*.jinja          # a line for each"""
_DETAILS = """\
Conversations are rendered with the model's chat template, each last turn is cut off where generation would start, parsed (whole,
in pieces and, with a tokenizer, from token ids), and rendered again. A case passes if the message is the one that was rendered and
the text comes out the same.

Exit code 1 if a case that the chat template can render fails."""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "check",
        _run,
        summary="prove a response template against the model's chat template, by round trip",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    command.add_argument(
        "sources", nargs="+", metavar="REPO_OR_DIR_OR_JINJA", help="repository, folder, or file with a chat template"
    )
    command.add_argument(
        "--template", metavar="TEMPLATE", help=f"{TEMPLATE_HELP}; default: the model's own, or the library's"
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    if len(arguments.sources) > 1:
        return _check_many(console, arguments)
    source = arguments.sources[0]
    named, report = _check(console, source, arguments.template)
    if arguments.json:
        console.json([_as_json(source, named, report)])
    else:
        console.line(f"{source} with {named.origin}")
        console.line()
        for line in str(report).splitlines():
            words = line.partition("  ")[2].lstrip()
            color = "green" if words.startswith("pass") else "red" if words.startswith("FAIL") else ""
            console.line(line, *filter(None, [color]))
    return 0 if report.ok else 1


def _check_many(console: Console, arguments: argparse.Namespace) -> int:
    from tqdm import tqdm

    answers: list[dict[str, Any]] = []
    bar = tqdm(arguments.sources, desc="checking", unit=" templates", delay=1, disable=None, leave=False)
    width = max(map(len, arguments.sources))
    for source in bar:
        try:
            named, report = _check(console, source, arguments.template)
        except UsageError:
            raise
        except ResponseParsingError as error:
            reason = one_line_first(error).splitlines()[0]
            answers.append({"source": source, "ok": False, "error": reason})
            line, color = f"{source:<{width}}  {reason}", "red"
        else:
            answers.append(_as_json(source, named, report))
            count = f"{len(report.passed)} of {len(report.rendered)} rendered cases pass"
            line, color = (
                f"{source:<{width}}  {count}  {named.origin.partition(':')[0]}",
                "green" if report.ok else "red",
            )
        if not arguments.json:
            bar.clear()
            console.line(line, color)
    if arguments.json:
        console.json(answers)
    good = sum(answer["ok"] for answer in answers)
    console.hint(f"{good} of {len(answers)} proven")
    return 0 if good == len(answers) else 1


def _check(console: Console, source: str, template: str | None) -> tuple[NamedTemplate, CheckReport]:
    named = load_named_template(source if template is None else template)
    return named, check_template(_renderer(console, source), named.template)


def _renderer(console: Console, source: str) -> Any:
    """The tokenizer; where there is none, or it has no chat template, the chat template alone."""
    if Path(source).is_file():
        return chat_template_of(source)
    try:
        tokenizer = load_tokenizer(source)
    except UsageError as error:
        console.hint(f"with the chat template alone: {error}")
        return chat_template_of(source)
    return tokenizer if getattr(tokenizer, "chat_template", None) else chat_template_of(source)


def _as_json(source: str, named: NamedTemplate, report: CheckReport) -> dict[str, Any]:
    return {"source": source, "template": named.origin, **report.as_dict()}
