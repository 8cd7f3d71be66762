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
  response-template ls qwen --long         # and the oldest transformers that reads the template by itself
  response-template ls --json | jq -r '.[].name'
"""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add("ls", _run, summary="list the model families that have a ready-made template", examples=_EXAMPLES)
    command.add_argument(
        "--long", "-l", action="store_true", help="also the oldest transformers that reads it; takes seconds for all"
    )
    command.add_argument(
        "search", nargs="?", default="", metavar="WORD", help="only families and models with this in it"
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    found = families(arguments.search)
    rows = [summary_of(entry, versions=arguments.long) for entry in found]
    if arguments.json:
        console.json(rows)
        return 0 if found else 1
    if not found:
        console.hint(f"no family and no model with {arguments.search!r} in it")
        return 1
    width = max(len(row["name"]) for row in rows)
    version = f"{'transformers':<14}" if arguments.long else ""
    console.line(f"{'family':<{width}}  {'proven on':<17}  {version}models", "bold")
    for row in rows:
        count, models = row["proven_on"], row["models"]
        proven = f"{count} chat template{'s' * (count != 1)}" if count else "examples"
        more = f" +{len(models) - 1}" if len(models) > 1 else ""
        if arguments.long:
            version = f"{row['min_transformers'] or '-':<14}"
        console.write(f"{row['name']:<{width}}", "cyan")
        console.line(f"  {proven:<17}  {version}{models[0]}{more}")
    console.hint(f"{len(found)} famil{'ies' if len(found) > 1 else 'y'}; `response-template show NAME` shows one")
    return 0


def families(search: str) -> list[TemplateEntry]:
    """The families with this in their name or in the id of one of their models; upper and lower case are the same."""
    wanted = search.casefold()
    return [
        entry for entry in list_templates() if any(wanted in name.casefold() for name in (entry.name, *entry.models))
    ]


def summary_of(entry: TemplateEntry, *, versions: bool) -> dict[str, Any]:
    """What the list says of a family; with `versions` also `min_transformers`, of the portable template where there is one."""
    summary: dict[str, Any] = {
        "name": entry.name,
        "models": list(entry.models),
        "proven_on": len(entry.recognise.get("chat_template_sha256", ())),
        "examples": len(entry.examples),
    }
    if versions:
        templates = [entry.response_template, entry.portable_template]
        loaded = (ResponseTemplate.load(template).min_transformers for template in templates if template is not None)
        summary["min_transformers"] = next(filter(None, loaded), None)
    return summary
