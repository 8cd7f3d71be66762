# SPDX-License-Identifier: Apache-2.0
"""The two parsers behind one face, and the floor: the least that a Python parser with such events can cost."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import transformers_response_parsing as trp

from .formats import Template
from .measure import Timed, clock

__all__ = ["Floor", "floor_stream", "native_module", "one_shot", "stream"]


@functools.cache
def native_module() -> Any | None:
    """`transformers.utils.chat_parsing`, or None where transformers has none (before 5.13) or is not installed."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    try:
        import transformers.utils.chat_parsing as module
    except ImportError:
        return None
    return module


def native_template(template: Template) -> Any:
    """Loaded by the native parser, so that loading is no part of what is measured."""
    module = native_module()
    assert module is not None
    return module.response_templates.load_response_template(template)


def stream(template: Template, chunks: Sequence[str], *, finalize: bool = True) -> dict[str, Timed]:
    """Runs of both parsers over the chunks, from loaded templates; events are dropped as they come."""
    ours = trp.ResponseTemplate.load(template)
    runs = {"ours": _feeding(lambda: trp.ResponseParser(ours, prefix=""), chunks, finalize)}
    module = native_module()
    if module is not None:
        theirs = native_template(template)
        runs["native"] = _feeding(lambda: module.ResponseParser(theirs, prefix=""), chunks, finalize)
    return runs


def _feeding(make: Callable[[], Any], chunks: Sequence[str], finalize: bool) -> Timed:
    def run() -> float:
        parser = make()
        feed = parser.feed
        begun = clock()
        for chunk in chunks:
            feed(chunk)
        if finalize:
            parser.finalize()
        return clock() - begun

    return run


def one_shot(template: Template, text: str) -> dict[str, Callable[[], Any]]:
    """Calls of both `parse_response`s, the template given as a dict."""
    calls: dict[str, Callable[[], Any]] = {"ours": lambda: trp.parse_response(text, template, prefix="")}
    module = native_module()
    if module is not None:
        calls["native"] = lambda: module.parse_response(text, template, prefix="")
    return calls


class Floor:
    """The simplest thing that does what a parser must: looks for one character, keeps the text, returns one event."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._keep = self._parts.append

    def feed(self, text: str) -> list[dict[str, Any]]:
        if "<" in text:
            return []
        self._keep(text)
        return [{"type": "region_chunk", "field": "content", "text": text, "dirty": False}]


def floor_stream(chunks: Sequence[str]) -> Timed:
    """A run of the floor over the chunks."""
    return _feeding(Floor, chunks, False)
