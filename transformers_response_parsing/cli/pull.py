# SPDX-License-Identifier: Apache-2.0
"""`response-template pull`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from transformers_response_parsing.hub import pull_template

from .console import Console
from .inputs import reach

__all__ = ["register"]

_EXAMPLES = """\
  response-template pull org/model
  response-template pull org/model --revision refs/pr/1 --output template.json
  response-template pull ./my-model | response-template lint -"""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "pull",
        _run,
        summary="get the response template of a model's repository or folder",
        examples=_EXAMPLES,
        details="The template is validated, and written to stdout or to a file. For private repositories: `hf auth login`.",
    )
    command.add_argument("repo", metavar="REPO_OR_DIR", help="org/name, or a folder")
    command.add_argument("--revision", metavar="REV", help="branch, tag, commit or refs/pr/N")
    command.add_argument("--output", "-o", metavar="FILE", help="write it there")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    reach(arguments.repo, arguments.revision, write=False)
    pulled = pull_template(arguments.repo, revision=arguments.revision)
    template = pulled.source
    if arguments.output is not None:
        text = json.dumps(template, ensure_ascii=False, indent=2) + "\n"
        Path(arguments.output).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    if arguments.json:
        found = {"repo_id": pulled.repo_id, "revision": pulled.revision, "commit": pulled.commit}
        console.json({**found, "min_transformers": pulled.min_transformers, "response_template": template})
    elif arguments.output is None:
        console.json(template)
    where = f"{pulled.repo_id} at {pulled.commit[:7]}" if pulled.commit else pulled.repo_id
    reads = (
        f"transformers {pulled.min_transformers} and newer read it"
        if pulled.min_transformers
        else "only this package reads it"
    )
    console.hint(f"from {where}; {reads}")
    return 0
