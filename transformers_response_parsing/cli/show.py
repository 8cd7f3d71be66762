# SPDX-License-Identifier: Apache-2.0
"""`response-template show`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Callable
from typing import Any

from transformers_response_parsing.library import TemplateEntry
from transformers_response_parsing.template import ResponseTemplate

from .console import Console
from .inputs import NamedTemplate, library_entry, portable
from .ls import summary_of

__all__ = ["register"]

_EXAMPLES = """\
  response-template show qwen3                       # models, notes, proof, template and examples
  response-template show Qwen/Qwen3-8B --template    # the template alone, as JSON
  response-template show gptoss --template --portable  # the one to push to a model's repository
"""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "show", _run, summary="show one ready-made template: models, notes, proof, examples", examples=_EXAMPLES
    )
    command.add_argument("name", metavar="NAME", help="a family, or the id of one of its models")
    command.add_argument("--template", action="store_true", help="only the response template, as JSON")
    command.add_argument(
        "--portable", action="store_true", help="the one that transformers reads, too, if there are two"
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    entry = library_entry(arguments.name)
    template = ResponseTemplate.load(entry.response_template)
    if arguments.portable:
        template = portable(NamedTemplate(template, f"family {entry.name}"))
    if arguments.template:
        console.json(template.source)
    elif arguments.json:
        summary = summary_of(entry, versions=True)
        console.json({**dataclasses.asdict(entry), **{key: summary[key] for key in ("proven_on", "min_transformers")}})
    else:
        _show(console, entry, template)
    return 0


def _show(console: Console, entry: TemplateEntry, template: ResponseTemplate) -> None:
    summary = summary_of(entry, versions=False)
    console.line(entry.name, "bold", "cyan")
    for paragraph in entry.notes.splitlines():
        console.line(textwrap.fill(paragraph, min(console.width, 100)))
    _heading(console, "Models")
    for model in entry.models:
        console.line(f"  {model}")
    _heading(console, "Proof")
    count = summary["proven_on"]
    shown = f"the round trip through {count} real chat template{'s' * (count != 1)}" if count else "no chat template"
    console.line(f"  {shown}; {len(entry.examples)} examples of its own")
    console.line(f"  transformers' own parser: {_native(entry, template)}")
    _heading(console, "Response template")
    console.line(textwrap.indent(json.dumps(template.source, ensure_ascii=False, indent=2), "  "))
    for example in entry.examples:
        _heading(console, f"Example: {example.get('name', 'without a name')}")
        if example.get("prefix"):
            console.line(f"  prefix   {json.dumps(example['prefix'], ensure_ascii=False)}", "dim")
        console.line(f"  output   {json.dumps(example['output'], ensure_ascii=False)}")
        console.line(f"  message  {json.dumps(example['message'], ensure_ascii=False)}")


def _native(entry: TemplateEntry, template: ResponseTemplate) -> str:
    if template.min_transformers is not None:
        return f"{template.min_transformers} and newer"
    portable: Any = entry.portable_template
    if portable is None:
        return f"can't read it ({', '.join(template.extensions)})"
    version = ResponseTemplate.load(portable).min_transformers
    return f"{version} and newer read the portable one (--portable); it can't read {', '.join(template.extensions)}"


def _heading(console: Console, text: str) -> None:
    console.line()
    console.line(text, "bold")
