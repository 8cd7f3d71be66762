# SPDX-License-Identifier: Apache-2.0
"""The region machine: which text belongs to which field. It knows nothing of where the text comes from.

Positions are those of the whole text (prefix after its anchor + generation). Everything before `position` is dealt with:
it is in a region, in a delimiter, or unclaimed. One region is open at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from . import limits
from .content import BodyError, JsonScanner
from .delimiter import Pattern
from .errors import OutputError, PatternTooSlowError
from .message import Message
from .plan import FieldPlan
from .template import ResponseTemplate
from .tools import ToolSchemas
from .value_end import ValueEndRun
from .watch import Hit, PatternTimeoutError, Watch, WatchRun

__all__ = ["RegionMachine"]


class _DoubtfulClose:
    """A close inside of an unfinished JSON string: is it one, or data (SPEC 7.8)?"""

    __slots__ = ("at", "hit", "scanner")

    def __init__(self, hit: Hit, scanner: JsonScanner) -> None:
        self.hit = hit
        self.scanner = scanner
        self.at = hit.start


class RegionMachine:
    """Walks through a text, opening and closing regions. Subclasses supply the text and hear what happens."""

    # Where a walk begins, in the class: a short text is parsed in less time than setting all of this takes.
    _position = 0
    _run: WatchRun | ValueEndRun | None = None
    # The explicit region that is open, if any; else text goes to the implicit field.
    _region: FieldPlan | None = None
    _start = 0  # where the body of the region (or the stretch of implicit text) begins
    _groups: Mapping[str, str] = MappingProxyType({})
    _depth = 0  # regions of the same field inside of the open one, where it nests
    _empty_open = -1  # where an empty match opened a region: not twice at the same place
    _scanner: JsonScanner | None = None
    _scanned = 0
    _doubt: _DoubtfulClose | None = None
    _endless: frozenset[str] = frozenset()  # closers of strings that are not in the rest of the text
    _failure: OutputError | None = None
    _stalled: tuple[bool, Hit] | None = None  # an empty match to skip once more text is there; outside?
    _outside: WatchRun

    def __init__(self, template: ResponseTemplate, tools: ToolSchemas | None, keep: bool) -> None:
        self._template = template
        self._plan = template.plan
        self._tools = tools
        self._keep = keep
        self._message = Message(template.plan)

    def _begin(self) -> None:
        """Begin the walk at `position`, or in the region that was opened there."""
        self._outside = self._watch_run(self._plan.outside)
        self._outside.restart(self._position, "" if self._position else None)
        if self._region is None:
            self._run = self._outside

    # -- supplied by subclasses -------------------------------------------------------------------------------------

    def _end(self) -> int:
        """The position after the last character that is there."""
        raise NotImplementedError

    def _text_from(self, position: int) -> tuple[str, int]:
        """(text, base): what is there from `position` on, text[0] being at base."""
        raise NotImplementedError

    def _before(self, position: int) -> str | None:
        """The text before `position`, as much as patterns may look back on; None at the begin."""
        raise NotImplementedError

    def _advance_to(self, position: int) -> None:
        """The text up to `position` is no part of a delimiter: it belongs to the open region or the implicit field."""
        raise NotImplementedError

    def _body(self, stop: int) -> str:
        """The body of the open region, which ends at `stop`."""
        raise NotImplementedError

    def _body_part(self, start: int, stop: int) -> str:
        """The part of the body of the open region between two positions."""
        raise NotImplementedError

    def _stretch(self, stop: int) -> str:
        """The stretch of text since the last delimiter, which ends at `stop`; "" if it is blank."""
        raise NotImplementedError

    def _is_blank(self, stop: int) -> bool:
        """Whether the stretch of text since the last delimiter is blank up to `stop`."""
        raise NotImplementedError

    def _append(self, text: str) -> None:
        """Add text at the end."""
        raise NotImplementedError

    def _truncate(self, position: int) -> None:
        """Take back what was added from `position` on."""
        raise NotImplementedError

    def _opened(self, plan: FieldPlan) -> None:
        """A region was opened."""

    def _closed(self, plan: FieldPlan, value: Any, repaired: bool = False) -> None:
        """A region was closed and parsed."""

    def _malformed(self, plan: FieldPlan, body: str, reason: str) -> None:
        """A region was closed and can't be parsed."""

    # -- the walk ---------------------------------------------------------------------------------------------------

    def _walk(self, final: bool) -> None:
        """Go as far as the text that is there decides; to its end if nothing follows (`final`)."""
        if self._stalled is not None and self._stalled[1].start < self._end():
            outside, stalled = self._stalled
            self._stalled = None
            run = self._outside if outside else self._run
            if isinstance(run, WatchRun):
                self._skip(stalled, run)
        while True:
            if self._doubt is not None and not self._resolve(self._doubt, final):
                return
            run = self._run
            if run is None:
                self._advance_to(self._end())
                return
            try:
                hit = run.advance(self._text_from, self._end(), final)
            except PatternTimeoutError as timeout:
                raise self._timed_out(timeout.pattern) from None
            self._advance_to(run.safe if hit is None else hit.start)
            if hit is None:
                return
            if self._region is None:
                self._leave_implicit(hit)
            elif not self._is_nested(hit):
                self._close(hit)
            if self._failure is not None:
                self._raise_failure()

    def _leave_implicit(self, hit: Hit) -> None:
        """A delimiter matched outside of explicit regions."""
        run = self._outside
        entry = run.watch.entries[hit.rank]
        empty = hit.end == hit.start
        if empty and (self._is_blank(hit.start) if entry.opens is None else hit.start == self._empty_open):
            self._skip(hit, run)
            return
        groups = self._captures(entry.delimiter, hit)
        self._end_stretch(hit.start)
        self._position = self._start = hit.end
        if entry.opens is None:
            run.move_to(hit.end, self._before(hit.end))
            return
        if empty:
            self._empty_open = hit.start
        plan = self._plan.fields[entry.opens]
        self._message.opened.add(plan.name)
        self._open(plan, hit.end, groups)

    def _open(self, plan: FieldPlan, position: int, groups: dict[str, str]) -> None:
        """A region begins at `position`."""
        self._region = plan
        self._groups = groups
        self._depth = 0
        self._position = self._start = position
        self._run = run = self._new_run(plan, position)
        if isinstance(run, WatchRun):
            run.restart(position, self._before(position))
        self._opened(plan)

    def _new_run(self, plan: FieldPlan, position: int) -> WatchRun | ValueEndRun | None:
        """What finds the end of a region of the field."""
        if plan.watch is not None:
            return self._watch_run(plan.watch)
        scanner = plan.field.content.end_scanner() if plan.until_complete else None
        return None if scanner is None else ValueEndRun(scanner, position)

    def _watch_run(self, watch: Watch) -> WatchRun:
        """What finds the delimiters of the watch."""
        return WatchRun(watch)

    def _skip(self, hit: Hit, run: WatchRun) -> None:
        """An empty match must not be taken (again): its pattern is looked for one character further on."""
        if hit.start + 1 < self._position:
            return
        if hit.start < self._end():
            run.skip(hit, self._before(hit.start + 1))
        else:  # what the pattern may look back on there has not come yet
            self._stalled = (run is self._outside, hit)
            run.skip(hit, "")

    def _end_stretch(self, stop: int) -> None:
        """The stretch of implicit text, if there is one, ends at `stop`."""
        plan = self._plan.implicit
        body = self._stretch(stop)
        if plan is None or not body:
            return
        try:
            value = plan.value(body, {}, self._tools, False)
        except BodyError as error:
            self._fail(plan, body, {}, error)
        else:
            self._message.add(plan, value, body)
            self._closed(plan, value)

    def _is_nested(self, hit: Hit) -> bool:
        """Whether the delimiter opens or closes a region inside of the open one, and so is data."""
        run = self._run
        if (hit.rank == 0 and not self._depth) or not isinstance(run, WatchRun):
            return False
        self._depth += 1 if hit.rank else -1
        if hit.end > hit.start:
            run.move_to(hit.end, self._before(hit.end))
        else:
            self._skip(hit, run)
        return True

    def _close(self, hit: Hit, certain: bool = False) -> None:
        """The close of the open region matched. Unless that is `certain`, it may still turn out to be data."""
        plan = self._region
        assert plan is not None
        groups = {} if plan.watch is None else self._captures(plan.watch.entries[0].delimiter, hit)
        if groups:
            groups = {**self._groups, **groups}
        doubtful = plan.has_strings and not certain
        if doubtful and (self._scanner is not None or plan.reads_anything) and self._in_string(plan, hit):
            return
        body = self._body(hit.start)
        try:
            value = plan.value(body, groups or self._groups, self._tools, False)
        except BodyError as error:
            if doubtful and self._scanner is None and self._in_string(plan, hit):
                return
            self._fail(plan, body, groups or self._groups, error)
        else:
            self._message.add(plan, value, body)
            self._closed(plan, value)
        self._position = hit.end
        self._go_outside(hit.end)

    def _go_outside(self, position: int) -> None:
        self._region = None
        self._scanner = None
        if self._stalled is not None and not self._stalled[0]:
            self._stalled = None
        self._start = position
        self._run = self._outside
        self._outside.move_to(position, self._before(position))

    def _end_at(self, literal: str) -> None:
        """The generation is over, since `literal` follows. A delimiter that runs or looks into it is still seen."""
        self._walk(False)
        end = self._end()
        self._append(literal)
        taken = False
        while self._failure is None and self._takes_hit_before(end):
            taken = True
        self._truncate(max(end, self._position))
        if taken:  # what else was found may be in the literal
            for run in (self._outside, self._run):
                if isinstance(run, WatchRun):
                    run.restart(self._position, self._before(self._position))
        self._end_all()

    def _takes_hit_before(self, end: int) -> bool:
        """Take the next delimiter if it begins before `end`, where what ends the generation begins."""
        run = self._run
        if run is None or self._doubt is not None or run.safe >= end:
            return False
        saved = run.save()
        try:
            hit = run.advance(self._text_from, self._end(), True)
        except PatternTimeoutError as timeout:
            raise self._timed_out(timeout.pattern) from None
        if hit is None or hit.start >= end:
            run.restore(saved)
            return False
        self._advance_to(hit.start)
        if self._region is None:
            self._leave_implicit(hit)
        elif not self._is_nested(hit):
            self._close(hit)
        return True

    def _end_all(self) -> None:
        """The text has ended, and so does what is open."""
        self._walk(True)
        plan = self._region
        end = self._end()
        if plan is None:
            self._end_stretch(end)
        else:
            body = self._body(end)
            cut_off = plan.watch is not None or plan.until_complete
            try:
                value = plan.value(body, self._groups, self._tools, cut_off)
            except BodyError as error:
                self._fail(plan, body, self._groups, error, cut_off)
            else:
                self._message.add(plan, value, body)
                self._closed(plan, value)
            self._region = self._run = None
        self._position = self._start = end
        self._raise_failure()

    def _fail(
        self, plan: FieldPlan, body: str, groups: Mapping[str, str], error: BodyError, cut_off: bool = False
    ) -> None:
        """The body can't be parsed: repaired, or noted in the message, or raised once the machine is in order again."""
        try:
            value = plan.repaired(body, groups, self._tools, cut_off)
        except BodyError:
            pass
        else:
            self._message.add(plan, value, body)
            self._closed(plan, value, repaired=True)
            return
        reason = error.reason + (" (the generation ended before the region was closed)" if cut_off else "")
        if self._keep:
            self._message.malformed.append({"field": plan.name, "raw": body, "error": reason})
            self._malformed(plan, body, reason)
            return
        self._failure = OutputError(
            reason,
            field=plan.name,
            offset=self._start + (error.position or 0),
            raw=body,
            position=error.position,
            partial_message=self._message.snapshot(),
        )

    def _raise_failure(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _finish_message(self) -> dict[str, Any]:
        """The message, once all is over."""
        missing = self._message.missing()
        if missing:
            names = ", ".join(f"'{name}'" for name in missing)
            reason = f"the template says that {names} must be in every message, and the model did not write it"
            if not self._keep:
                raise OutputError(
                    reason, field=missing[0], offset=self._end(), partial_message=self._message.snapshot()
                )
            self._message.malformed += [{"field": name, "raw": "", "error": reason} for name in missing]
        return self._message.build()

    def _captures(self, delimiter: Any, hit: Hit) -> dict[str, str]:
        if not delimiter.groups:
            return {}
        assert isinstance(delimiter, Pattern)
        text, base = self._text_from(hit.start)
        before = self._before(hit.start) if delimiter.context else None
        if before:
            text, base = before + text[hit.start - base :], hit.start - len(before)
        try:
            return delimiter.captures(text, hit.start - base, hit.end - base)
        except (TimeoutError, MemoryError):
            raise self._timed_out(delimiter) from None

    def _timed_out(self, pattern: Pattern) -> OutputError:
        reason = (
            f"the pattern {pattern.pattern!r} ({pattern.path}) took longer than {limits.SEARCH_TIMEOUT:g} s on this text: "
            "write it without nested or adjacent repetitions"
        )
        field = pattern.path.split(".")[1] if "." in pattern.path else None
        return PatternTooSlowError(reason, field=field, offset=self._position, partial_message=self._message.snapshot())

    # -- closes inside of JSON strings ------------------------------------------------------------------------------

    def _in_string(self, plan: FieldPlan, hit: Hit) -> bool:
        """Whether the close is inside of a JSON string. Then `_doubt` is set, and the walk waits for what follows."""
        if self._scanner is None:
            self._scanner = plan.field.content.scanner()
            self._scanned = self._start
        scanner = self._scanner
        assert scanner is not None
        if hit.start < self._scanned:
            return False  # right behind a string
        scanner.feed(self._body_part(self._scanned, hit.start))
        self._scanned = hit.start
        if scanner.state != "string":
            return False
        self._doubt = _DoubtfulClose(hit, scanner)
        return True

    def _resolve(self, doubt: _DoubtfulClose, final: bool) -> bool:
        """Read on in the JSON string that holds a close. True once it is known whether it is one."""
        verdict = "undecided"
        if final and doubt.scanner.closer in self._endless:
            doubt.at = self._end()
        elif doubt.at < self._end():
            text, base = self._text_from(doubt.at)
            verdict, stop = doubt.scanner.finish_string(text, doubt.at - base)
            doubt.at = base + stop
        if verdict == "undecided":
            if not final:
                return False
            if doubt.scanner.state == "string":
                self._endless |= {doubt.scanner.closer}
        self._doubt = None
        if verdict == "data":
            self._scanned = doubt.at
            after = self._start + doubt.scanner.string_end
            assert isinstance(self._run, WatchRun)
            self._run.move_to(after, self._before(after))
        else:
            self._close(doubt.hit, certain=True)
            self._raise_failure()
        return True
