# SPDX-License-Identifier: Apache-2.0
"""The region machine over a text that is all there."""

from __future__ import annotations

from typing import Any

from .content import BodyError
from .errors import PatternTooSlowError
from .literals import LiteralSet
from .machine import RegionMachine
from .plan import FieldPlan
from .template import ResponseTemplate
from .tools import ToolSchemas
from .watch import Hit, Watch, WatchRun
from .whole_run import Patience, WholeRun, groups_of

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

    # Made when they are needed: a short text is parsed in less time than all of this takes.
    _patience: Patience | None = None
    _extended = ""  # the text with what ends the generation

    def message(self) -> dict[str, Any]:
        """Parse, and give the message."""
        length = self._length
        try:
            if not self._walk_plain():
                if self._literal:
                    self._end_at(self._literal)
                else:
                    self._end_all()
        except PatternTooSlowError as error:
            # What was not dealt with: the body so far, and all that comes after it.
            error.raw = self._text[self._start : length]
            if not self._keep:
                raise
            self._message.malformed.append({"field": error.field, "raw": error.raw, "error": error.reason})
        return self._finish_message()

    def _walk_plain(self) -> bool:
        """The same walk as long as all goes well: two searches a region. True if that was all; else the rest is to be walked."""
        text, length = self._text, self._length
        watch = self._plan.outside
        literals, entries = watch.literals, watch.entries
        outside = None if watch.heads_missing(text) else self._whole_run(watch)
        groups = _NO_GROUPS
        position = 0
        while True:
            if outside is not None:
                try:
                    hit = outside.find(position)
                except (TimeoutError, MemoryError):
                    return self._leave_off(position)
                if hit is None:
                    break
                start, stop, rank = hit
                if start >= length and self._literal:
                    break
                if stop > length or stop == start:
                    return self._leave_off(position)
                groups = outside.groups()
            else:
                if literals is None or position == length:
                    break
                start, stop = literals.find(text, position, True)
                if stop < 0:
                    break
                rank = watch.ranks[text[start:stop]]
            if start > position:
                self._start = position
                self._end_stretch(start)
                if self._failure is not None:
                    self._raise_failure()
            position = stop
            opens = entries[rank].opens
            if opens is None:
                continue
            region = self._plan.fields[opens]
            self._message.opened.add(region.name)
            position = self._region_end(region, stop, groups)
            if position < 0:
                # Unclosed, or a close that may be data, or malformed: step by step from here.
                self._leave_off(stop)
                self._open(region, stop, groups)
                return False
        if self._literal and (not watch.all_have_heads or self._straddles(position)):
            return self._leave_off(position)
        if position < length:
            self._start = position
            self._end_stretch(length)
            if self._failure is not None:
                self._raise_failure()
        return True

    def _region_end(self, region: FieldPlan, start: int, groups: dict[str, str]) -> int:
        """Parse the region whose body begins at `start`, and give where its close ends; -1 if it takes a closer look."""
        watch = region.watch
        if watch is None or region.nests or region.reads_anything:
            return -1
        stop: int
        if watch.patterns:
            try:
                found = self._first(watch, start)
            except (TimeoutError, MemoryError):
                return -1
            if found is None:
                return -1
            end, stop, closing = found
            if closing:
                groups = {**groups, **closing}
        else:
            end, stop = (0, -1) if watch.literals is None else watch.literals.find(self._text, start, True)
        if stop < 0 or stop > self._length or (end == self._length and self._literal):
            return -1
        body = self._text[start:end]
        try:
            value = region.value(body, groups, self._tools, False)
        except BodyError:
            return -1
        self._message.add(region, value, body)
        return stop

    def _first(self, watch: Watch, at: int) -> tuple[int, int, dict[str, str]] | None:
        """Start, end and named groups of the first match from `at` on."""
        if watch.only_pattern is None:
            run = self._whole_run(watch)
            hit = run.find(at)
            return None if hit is None else (hit.start, hit.end, run.groups())
        match = self._patient().search(watch.only_pattern, self._extended, at)
        return None if match is None else (*match.span(), groups_of(match))

    def _leave_off(self, position: int) -> bool:
        """The walk goes on at `position`."""
        self._position = self._start = position
        self._begin()
        return False

    def _patient(self) -> Patience:
        if self._patience is None:
            self._patience = Patience(self._length)
            self._extended = self._text + self._literal
        return self._patience

    def _whole_run(self, watch: Watch) -> WholeRun:
        return WholeRun(watch, self._patient(), self._extended)

    def _straddles(self, position: int) -> bool:
        """Whether a delimiter may begin at the end of the text, from `position` on, and run into what follows."""
        text, watch = self._text, self._plan.outside
        if watch.skipped and text.endswith(tuple(watch.skipped), position):
            return True
        wanted = (watch.literals, watch.heads)
        return any(one is not None and one.find(text, position, False) != (self._length, -1) for one in wanted)

    def _begin(self) -> None:
        super()._begin()
        self._outside.restart(self._position, self._before(self._position))

    def _watch_run(self, watch: Watch) -> WatchRun:
        return WatchRun(watch) if self._patience is not None and self._patience.left <= 0 else self._whole_run(watch)

    def _captures(self, delimiter: Any, hit: Hit) -> dict[str, str]:
        run = self._run
        if isinstance(run, WholeRun) and run.match is not None and run.match.span() == (hit.start, hit.end):
            return run.groups()
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

    def _end_stretch(self, stop: int) -> None:
        plan = self._plan.implicit
        if plan is None or not plan.stretched:
            super()._end_stretch(stop)
        elif text := self._stretch(stop):  # what all stretches come to is worked out at the end
            self._message.add(plan, text, text)

    def _is_blank(self, stop: int) -> bool:
        return not self._text[self._start : stop].strip()

    def _append(self, text: str) -> None:
        self._text = self._extended or self._text + text
        self._length = len(self._text)

    def _truncate(self, position: int) -> None:
        self._text = self._text[:position]
        self._length = position
