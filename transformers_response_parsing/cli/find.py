# SPDX-License-Identifier: Apache-2.0
"""`response-template find`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from transformers_response_parsing.errors import ResponseParsingError
from transformers_response_parsing.library import TemplateMatch, find_template, get_template

from .console import Console
from .inputs import NotReachedError, chat_template_of

__all__ = ["register"]

_EXAMPLES = """\
  response-template find Qwen/Qwen3-8B             # a repository on the Hub
  response-template find ./my-model                # a folder with a tokenizer
  response-template find chat_template.jinja       # a chat template
  response-template find ./my-model --template > template.json
"""
_DETAILS = """\
Exit code 0 if one was found and proven, 1 if it is a guess or there is none."""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "find",
        _run,
        summary="find the ready-made template that fits a model's chat template, and say why",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    command.add_argument(
        "source", metavar="REPO_OR_DIR_OR_JINJA", help="repository, folder, or file with a chat template"
    )
    command.add_argument("--template", action="store_true", help="only the response template, as JSON")


def _find(source: str) -> TemplateMatch | None:
    """By the chat template; where that can't be had, by the id, which proves nothing."""
    try:
        return find_template(chat_template_of(source))
    except NotReachedError:
        try:
            entry = get_template(source)
        except ResponseParsingError:
            entry = None
        if entry is None:
            raise
    reason = f"the library lists {source} among its models; the model's own chat template was not to be had"
    return TemplateMatch(entry, entry.response_template, reason, proven=False)


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    match = _find(arguments.source)
    if match is None:
        if arguments.json:
            console.json({"family": None, "proven": False, "reason": None, "response_template": None})
        console.hint(f"no ready-made template fits the chat template of {arguments.source}")
        return 1
    if arguments.template:
        console.json(match.response_template)
        console.hint(f"family {match.entry.name}, {'proven' if match.proven else 'a guess'}: {match.reason}")
    elif arguments.json:
        console.json(
            {
                "family": match.entry.name,
                "proven": match.proven,
                "reason": match.reason,
                "response_template": match.response_template,
            }
        )
    else:
        console.write(match.entry.name, "bold")
        console.line("  proven" if match.proven else "  a guess, not proven", "green" if match.proven else "yellow")
        console.line(match.reason)
        console.hint(f"`response-template show {match.entry.name}` shows it")
        if not match.proven:
            console.hint(
                f"`response-template check {arguments.source} --template {match.entry.name}` shows what it gives"
            )
    return 0 if match.proven else 1
