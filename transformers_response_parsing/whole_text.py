# SPDX-License-Identifier: Apache-2.0
"""The region machine over a text that is all there."""

from __future__ import annotations

from typing import Any

from .content import BodyError
from .literals import LiteralSet
from .machine import RegionMachine
from .template import ResponseTemplate
from .tools import ToolSchemas
from .watch import Hit, Watch, WatchRun
from .whole_run import Patience, WholeRun

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
        self._extended = self._text + self._literal
        self._patience = Patience(self._length)
        super().__init__(template, tools, keeps_malformed)

    def message(self) -> dict[str, Any]:
        """Parse, and give the message."""
        if not (self._plan.searchable and self._walk_literals()):
            self._begin()
            if self._literal:
                self._end_at(self._literal)
            else:
                self._end_all()
        return self._finish_message()

    def _walk_literals(self) -> bool:
        """The same walk as long as all delimiters are literals and all goes well: one search each. True if that was all."""
        text, plan, message, tools = self._text, self._plan, self._message, self._tools
        watch = plan.outside
        position = 0
        nowhere = self._length + 1
        pattern_at = nowhere if watch.heads is None else self._pattern_at(0)
        while watch.literals is not None:
            start, stop = watch.literals.find(text, position, True)
            if pattern_at < position:
                pattern_at = self._pattern_at(position)
            if stop < 0 or stop > pattern_at:
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
        if pattern_at < position:
            pattern_at = self._pattern_at(position)
        if self._region is None and pattern_at > self._length and not (self._literal and self._straddles(position)):
            self._start = position
            self._end_stretch(self._length)
            self._raise_failure()
            return True
        if self._region is None:
            self._start = self._position = position
        return False

    def _pattern_at(self, position: int) -> int:
        """Where a pattern may match next, from `position` on; behind the end if nowhere."""
        text, watch = self._text, self._plan.outside
        start, stop = (0, -1) if watch.heads is None else watch.heads.find(text, position, True)
        return position + len(text[position:start].rstrip(watch.skipped)) if stop >= 0 else self._length + 1

    def _straddles(self, position: int) -> bool:
        """Whether a delimiter may begin at the end of the text, from `position` on, and run into what follows."""
        text, watch = self._text, self._plan.outside
        if watch.skipped and text.endswith(tuple(watch.skipped), position):
            return True
        wanted = (watch.literals, watch.heads)
        return any(one is not None and one.find(text, position, False) != (self._length, -1) for one in wanted)

    def _watch_run(self, watch: Watch) -> WatchRun:
        if self._patience.left <= 0:
            return WatchRun(watch)
        return WholeRun(watch, self._patience, self._extended)

    def _captures(self, delimiter: Any, hit: Hit) -> dict[str, str]:
        run = self._run
        if not delimiter.groups:
            return _NO_GROUPS
        if isinstance(run, WholeRun) and run.match is not None and run.match.span() == (hit.start, hit.end):
            return {name: value for name, value in run.match.groupdict().items() if value is not None}
        return super()._captures(delimiter, hit)

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

    def _append(self, text: str) -> None:  # noqa: ARG002 - only what ends the generation ever follows
        self._text = self._extended
        self._length = len(self._text)

    def _truncate(self, position: int) -> None:
        self._text = self._text[:position]
        self._length = position
