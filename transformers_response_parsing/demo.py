# SPDX-License-Identifier: Apache-2.0
"""The recorded part of `response-template demo`: outputs of four families, streamed through their templates."""

from __future__ import annotations

import functools
import json
import re
import time
from importlib import resources
from typing import Any

from .cli.console import Console
from .demo_view import EventView
from .errors import ResponseParsingError
from .library import get_template
from .parser import ResponseParser

__all__ = ["play_recordings", "recordings", "token_pieces"]

_SECONDS_PER_PIECE = 0.025
_SECONDS_BETWEEN = 0.8
# About what tokenizers do: markers whole, words in parts of up to six letters with the space before them.
_PIECE = re.compile(r"<\|[^|>]*\|>|</?\w+>| ?\w{1,6}|\s+|.")


@functools.cache
def recordings() -> tuple[dict[str, Any], ...]:
    """The recordings, each a dict of `family`, `title`, `model`, `prefix`, `output`, and where it matters `tools`."""
    text = resources.files(__package__).joinpath("demo_recordings.json").read_text(encoding="utf-8")
    return tuple(json.loads(text))


def token_pieces(text: str) -> list[str]:
    """The text in pieces of about the size of a token."""
    return _PIECE.findall(text)


def play_recordings(console: Console, *, family: str | None = None, speed: float | None = None) -> None:
    """Stream recordings.

    Args:
        console: where to.
        family: only this one.
        speed: times the normal speed; None: without delays.

    Raises:
        ResponseParsingError: there is no recording of the family.
    """
    chosen = [recording for recording in recordings() if family in (None, recording["family"])]
    if not chosen:
        names = ", ".join(recording["family"] for recording in recordings())
        msg = f"no recording of {family!r}; there are: {names}"
        raise ResponseParsingError(msg)
    view = EventView(console)
    console.line("What chat models write, and the message it becomes.", "bold")
    view.legend(("reasoning_content", "content", "tool_calls"), raw=True)
    for recording in chosen:
        _play(view, recording, speed)
    console.line()
    console.hint(
        "That was a recording. With a model of yours: response-template demo --model PATH_OR_ID --prompt 'Hello!'"
    )


def _play(view: EventView, recording: dict[str, Any], speed: float | None) -> None:
    view.title(recording["title"], recording["model"])
    view.heading("The model writes")
    view.raw(recording["output"])
    view.heading("The parser streams")
    template = get_template(recording["family"]).response_template
    parser = ResponseParser(template, prefix=recording["prefix"], tools=recording.get("tools"))
    for event in parser.initial_events:
        view.show(event)
    for piece in token_pieces(recording["output"]):
        _wait(_SECONDS_PER_PIECE, speed)
        for event in parser.feed(piece):
            view.show(event)
    message, events = parser.finalize()
    for event in events:
        view.show(event)
    _wait(_SECONDS_BETWEEN, speed)
    view.heading("The message")
    view.message(message)
    _wait(_SECONDS_BETWEEN, speed)


def _wait(seconds: float, speed: float | None) -> None:
    if speed is not None:
        time.sleep(seconds / speed)
