# SPDX-License-Identifier: Apache-2.0
"""`response-template parse`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from transformers_response_parsing.errors import OutputError

from .console import Console
from .generation import Request, add_arguments
from .usage import UsageError

__all__ = ["register"]

_EXAMPLES = """\
  response-template parse qwen3 output.txt --prefix-file prompt.txt
  printf '<think>\\nHm.\\n</think>\\n\\nHello!<|im_end|>' | response-template parse Qwen/Qwen3-8B
  response-template parse ./my-model output.txt --tools tools.json --json | jq .tool_calls
  response-template parse template.json ids.json --ids --tokenizer ./my-model
  response-template parse qwen3 outputs.jsonl --jsonl --on-error keep > messages.jsonl"""
_DETAILS = """\
The message is written to stdout as JSON, with --json and --jsonl in one line.

--jsonl: each line of FILE is a text as a JSON string (with --ids a list), or an object with the key `output` (`ids`) and, if
it has its own, `prefix` and `tools`. Each becomes a line of stdout, in order. What can't be parsed becomes
{"error": ..., "partial_message": ...}, a line that is none of these {"error": ...}, and neither stops the rest.

Exit code 1 if something could not be parsed, also with --on-error keep."""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "parse", _run, summary="parse what a model generated into a message", examples=_EXAMPLES, details=_DETAILS
    )
    add_arguments(command)
    command.add_argument("--jsonl", action="store_true", help="one generation in each line of FILE")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    request = Request(arguments, console)
    if arguments.jsonl:
        return _batch(request, console)
    generation = request.generation()
    try:
        message = request.message(generation)
    except OutputError as error:
        if error.partial_message:
            console.hint("what could be parsed before the error is on stdout")
            console.json(error.partial_message, compact=arguments.json)
        raise
    console.json(message, compact=arguments.json)
    console.hint_if(request.doubt(generation, message))
    return 1 if "malformed" in message else 0


def _batch(request: Request, console: Console) -> int:
    from tqdm import tqdm

    generations = list(request.generations())
    failed = 0
    doubts: list[str] = []
    # Only what takes longer than a second shows its progress, and only in a terminal.
    for generation in tqdm(generations, desc="parsing", unit=" replies", delay=1, disable=None, leave=False):
        message: dict[str, Any]
        if isinstance(generation, UsageError):
            console.hint(str(generation))
            console.json({"error": str(generation)}, compact=True)
            failed += 1
            continue
        try:
            message = request.message(generation)
        except OutputError as error:
            message = {"error": error.reason, "field": error.field, "offset": error.offset}
            message["partial_message"] = error.partial_message
            failed += 1
        else:
            failed += "malformed" in message
            doubts += filter(None, [request.doubt(generation, message)])
        console.json(message, compact=True)
    if failed:
        console.hint(f"{failed} of {len(generations)} could not be parsed")
    if doubts:
        console.hint(f"{len(doubts)} of {len(generations)}, the first of them: {doubts[0]}")
    return 1 if failed else 0
