# SPDX-License-Identifier: Apache-2.0
"""The region machine over a text that is all there."""

from __future__ import annotations

from typing import Any

from .content import BodyError
from .literals import LiteralSet
from .machine import RegionMachine
from .template import ResponseTemplate
from .tools import ToolSchemas

__all__ = ["WholeText"]

_NO_GROUPS: dict[str, str] = {}


class WholeText(RegionMachine):
    """The machine over a text that is all there: bodies are slices of it, and nobody listens.

    `tail` is what the prompt has written of the message, `text` what the model went on with.
    """

    def __init__(
        self,
        template: ResponseTemplate,
        tail: str,
        text: str,
        tools: ToolSchemas | None,
        ender: LiteralSet | None,
        keeps_malformed: bool,
    ) -> None:
        self._literal = ""
        if ender is not None:
            start, stop = ender.find(text, 0, True)
            if stop >= 0:
                self._literal = text[start:stop]
                text = text[:start]
        self._text = tail + text if tail else text
        self._length = len(self._text)
        super().__init__(template, tools, keeps_malformed)

    def message(self) -> dict[str, Any]:
        """Parse, and give the message."""
        if self._plan.literal:
            self._walk_literals()
        elif self._literal:
            self._end_at(self._literal)
        else:
            self._end_all()
        return self._finish_message()

    def _walk_literals(self) -> None:
        """The same walk where all delimiters are literals: one search each, as long as all goes well."""
        text, plan, message, tools = self._text, self._plan, self._message, self._tools
        watch = plan.outside
        position = 0
        while watch.literals is not None:
            start, stop = watch.literals.find(text, position, True)
            if stop < 0:
                break
            if start > position:
                self._start = position
                self._end_stretch(start)
                self._raise_failure()
            position = stop
            opens = watch.entries[watch.ranks[text[start:stop]]].opens
            if opens is None:
                continue
            region = plan.fields[opens]
            message.opened.add(region.name)
            close = None if region.watch is None else region.watch.literals
            start, stop = (0, -1) if close is None else close.find(text, position, True)
            if stop >= 0 and not region.reads_anything and not region.nests:
                body = text[position:start]
                try:
                    message.add(region, region.value(body, _NO_GROUPS, tools, False), body)
                except BodyError:
                    pass
                else:
                    position = stop
                    continue
            # Unclosed, or a close that may be data, or malformed: step by step from here.
            self._open(region, position, {})
            break
        if self._region is None and (not self._literal or not self._straddles(position)):
            self._start = position
            self._end_stretch(self._length)
            self._raise_failure()
            return
        if self._region is None:
            self._start = self._position = position
        self._outside.restart(self._position, "" if self._position else None)
        if self._literal:
            self._end_at(self._literal)
        else:
            self._end_all()

    def _straddles(self, position: int) -> bool:
        """Whether a delimiter may begin at the end of the text, from `position` on, and run into what follows."""
        literals = self._plan.outside.literals
        return literals is not None and literals.find(self._text, position, False) != (self._length, -1)

    def _end(self) -> int:
        return self._length

    def _text_from(self, position: int) -> tuple[str, int]:  # noqa: ARG002 - it is all there
        return self._text, 0

    def _before(self, position: int) -> str | None:
        context = self._plan.context
        if not context or not position:
            return "" if position else None
        return self._text[int(max(0, position - context)) : position]

    def _advance_to(self, position: int) -> None:
        self._position = position

    def _body(self, stop: int) -> str:
        return self._text[self._start : stop]

    def _body_part(self, start: int, stop: int) -> str:
        return self._text[start:stop]

    def _stretch(self, stop: int) -> str:
        text = self._text[self._start : stop]
        plan = self._plan.implicit
        if plan is None or not text or text.isspace():
            return ""
        self._message.opened.add(plan.name)
        return text

    def _append(self, text: str) -> None:
        self._text += text
        self._length = len(self._text)

    def _truncate(self, position: int) -> None:
        self._text = self._text[:position]
        self._length = position
