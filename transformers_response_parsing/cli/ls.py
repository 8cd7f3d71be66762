# SPDX-License-Identifier: Apache-2.0
"""`response-template ls`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from transformers_response_parsing.library import TemplateEntry, list_templates
from transformers_response_parsing.template import ResponseTemplate

from .console import Console

__all__ = ["families", "register", "summary_of"]

_EXAMPLES = """\
  response-template ls                     # all families
  response-template ls qwen                # those with "qwen" in their name or in the id of a model
  response-template ls --json | jq -r '.[].name'
"""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add("ls", _run, summary="list the model families that have a ready-made template", examples=_EXAMPLES)
    command.add_argument(
        "search", nargs="?", default="", metavar="WORD", help="only families and models with this in it"
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    found = families(arguments.search)
    if arguments.json:
        console.json([summary_of(entry) for entry in found])
        return 0 if found else 1
    if not found:
        console.hint(f"no family and no model with {arguments.search!r} in it")
        return 1
    rows = [(summary_of(entry), entry) for entry in found]
    widths = [max(len(row["name"]) for row, _ in rows), 17, 12]
    head = f"{'family':<{widths[0]}}  {'proven on':<{widths[1]}}  {'transformers':<{widths[2]}}  models"
    console.line(head, "bold")
    for row, entry in rows:
        proven = f"{row['proven_on']} chat template{'s' * (row['proven_on'] != 1)}" if row["proven_on"] else "examples"
        models = entry.models[0] + (f" +{len(entry.models) - 1}" if len(entry.models) > 1 else "")
        console.write(f"{row['name']:<{widths[0]}}", "cyan")
        console.line(f"  {proven:<{widths[1]}}  {row['min_transformers'] or '-':<{widths[2]}}  {models}".rstrip())
    console.hint(f"{len(found)} families; `response-template show NAME` shows one")
    return 0


def families(search: str) -> list[TemplateEntry]:
    """The families with this in their name or in the id of one of their models; upper and lower case are the same."""
    wanted = search.casefold()
    return [
        entry for entry in list_templates() if any(wanted in name.casefold() for name in (entry.name, *entry.models))
    ]


def summary_of(entry: TemplateEntry) -> dict[str, Any]:
    """What the list says of a family. `min_transformers` is that of the portable template where there is one."""
    versions = [
        ResponseTemplate.load(template).min_transformers
        for template in (entry.response_template, entry.portable_template)
        if template is not None
    ]
    return {
        "name": entry.name,
        "models": list(entry.models),
        "proven_on": len(entry.recognise.get("chat_template_sha256", ())),
        "examples": len(entry.examples),
        "min_transformers": next(filter(None, versions), None),
    }
