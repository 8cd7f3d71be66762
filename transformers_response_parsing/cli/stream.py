# SPDX-License-Identifier: Apache-2.0
"""`response-template stream`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from transformers_response_parsing.demo_view import EventView
from transformers_response_parsing.errors import OutputError

from .console import Console
from .generation import Request, add_arguments

__all__ = ["register"]

_EXAMPLES = """\
  response-template stream qwen3 output.txt
  response-template stream gptoss output.txt --chunk 1 --json     # an event a line
  response-template stream ./my-model ids.json --ids --tokenizer ./my-model --chunk 1"""
_DETAILS = """\
With --json each event is a line, and the last line is {"type": "message", "message": ...}.
Exit code 1 if something could not be parsed."""


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "stream",
        _run,
        summary="parse a text piece by piece, and show the events as they come",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    add_arguments(command)
    command.add_argument(
        "--chunk", type=_size, default=4, metavar="N", help="characters, or token ids, at a time (default: 4)"
    )


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    request = Request(arguments, console)
    generation = request.generation()
    show: Callable[[Iterable[Mapping[str, Any]]], None]
    if arguments.json:
        show = _JsonLines(console).show
    else:
        view = EventView(console)
        view.legend(dict.fromkeys(field.key for field in request.template.fields))

        def show(events: Iterable[Mapping[str, Any]]) -> None:
            for event in events:
                view.show(event)

    try:
        parser = request.parser(generation)
        show(parser.initial_events)
        for piece in request.pieces(generation, arguments.chunk):
            show(parser.feed(piece))
        message, events = parser.finalize()
    except OutputError as error:
        show(error.events)
        raise
    show(events)
    if arguments.json:
        console.json({"type": "message", "message": message}, compact=True)
    else:
        view.heading("The message")
        view.message(message)
    console.hint_if(request.doubt(generation, message))
    return 1 if "malformed" in message else 0


class _JsonLines:
    def __init__(self, console: Console) -> None:
        self._console = console

    def show(self, events: Iterable[Mapping[str, Any]]) -> None:
        for event in events:
            self._console.json(event, compact=True)


def _size(text: str) -> int:
    size = int(text)
    if size < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return size
