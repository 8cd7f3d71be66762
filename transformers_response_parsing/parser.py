# SPDX-License-Identifier: Apache-2.0
"""Parse what a chat model generated: at once (`parse_response`) or while it comes (`ResponseParser`).

`parse_response` hands the text to `WholeText`. `ResponseParser` is the region machine (`machine.py`, which has the rules) over
a stream. What this module adds are the ways past the machine, since most chunks decide nothing. A call of `feed` takes the
first that applies:

1. The chunk has none of the characters that a delimiter begins with (`_first`, `_second`, `_trailing`, which
   `_look_for_chunks` sets): one event, and no more.
2. *Light*: nothing or little is held (`_held`), and what this chunk does behind it is known or can be learned from
   `shortcuts.py`. `_hold` keeps text, `_take_known` takes a delimiter.
3. The machine holds text and the chunk decides nothing (`_stays_held`).
4. The machine goes on (`_take`, or `_take_until` where literals may end the turn), and afterwards `_go_light` looks whether
   2 is possible again.

While the parser is light the machine is behind: `_sync` tells it of the text that went by. Each way gives what the machine
would give; where that is not certain it steps back. docs/architecture.md has the whole map.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from .arguments import checked_text, end_literals, keeps_malformed, load_template, load_tools, message_tail
from .body_text import MANY, BodyText
from .content import BodyError
from .delimiter import Pattern
from .errors import OutputError
from .events import Event, RegionChunk, RegionClose
from .literals import LiteralSet
from .machine import RegionMachine
from .message import Message
from .plan import FieldPlan
from .shortcuts import MAX_HELD, Held, Taken, shortcuts
from .template import ResponseTemplate
from .text_buffer import TextBuffer
from .value_end import ValueEndRun
from .watch import Watch, WatchRun
from .whole_text import WholeText

__all__ = ["OnError", "ResponseParser", "parse_response"]

_MAX_PIECE = 16
_NO_WATCH = Watch(())
_NOTHING_HELD = Held("")
_NO_CHUNK: RegionChunk = {"type": "region_chunk", "field": "", "text": "", "dirty": False}

logger = logging.getLogger("transformers_response_parsing")

OnError = Literal["raise", "keep"]


def parse_response(
    text: str,
    response_template: dict[str, Any] | ResponseTemplate | str,
    *,
    prefix: str | None = None,
    tools: Any = None,
    end: str | Sequence[str] | None = None,
    on_error: OnError = "raise",
) -> dict[str, Any]:
    """The message that a generated text is.

    Args:
        text: what the model generated, special tokens included.
        response_template: the template (dict, JSON text, path, or loaded).
        prefix: the prompt the model was given, as text. Only what follows the template's anchor is used. Required; ""
            if the text is the whole message.
        tools: the request's tools, as given to `apply_chat_template`: arguments of calls are typed by their schemas.
        end: literal(s) after which the generation is over (end-of-sequence, padding); what follows is ignored.
        on_error: "raise": what can't be parsed raises. "keep": it is listed under the message's key "malformed", as
            {"field", "raw", "error"}, and parsing goes on behind it.

    Returns:
        The message: {"role": ..., "content": ..., ...}; fields the model did not write are absent.

    Raises:
        TemplateError: the template is wrong.
        OutputError: the text does not fit it (with on_error="raise"), or a pattern of it takes too long.
        ResponseParsingError: an argument is wrong.
    """
    template = load_template(response_template)
    if type(text) is not str:
        text = checked_text(text)
    ender = None if end is None else end_literals(end)
    tail = "" if prefix == "" else message_tail(template, prefix)
    return WholeText(template, tail, text, load_tools(tools), ender, keeps_malformed(on_error)).message()


class ResponseParser(RegionMachine):
    """Parses one generation while it comes: text in, events out.

    Events are dicts: {"type": "region_open", "field"}, {"type": "region_chunk", "field", "text", "dirty"},
    {"type": "region_close", "field", "value"} (and "repaired": True where the template's `repair` was needed) and, with on_error="keep", {"type": "region_malformed", "field", "raw",
    "error"}. However the text is cut into pieces, the message and the events are the same, but for how the text of a
    region is cut into chunks. Can be pickled and deep-copied at any time, and goes on from there.

    Args:
        response_template: the template (dict, JSON text, path, or loaded).
        prefix: the prompt the model was given, as text. What follows the template's anchor is parsed as if the model had
            written it. Required; "" if the generation is the whole message.
        tools: the request's tools, as given to `apply_chat_template`: arguments of calls are typed by their schemas.
        end: literal(s) after which the generation is over (end-of-sequence, padding); what follows is ignored.
        on_error: what happens when a region can't be parsed. "raise": an OutputError; parsing can go on after it. "keep":
            an event `region_malformed`, and an entry {"field", "raw", "error"} under the message's key "malformed".

    Attributes:
        initial_events: the events of what the prompt had written of the message already.

    Raises:
        TemplateError: the template is wrong.
        OutputError: what the prompt wrote of the message can't be parsed.
        ResponseParsingError: an argument is wrong.
    """

    def __init__(
        self,
        response_template: dict[str, Any] | ResponseTemplate | str,
        prefix: str | None = None,
        *,
        tools: Any = None,
        end: str | Sequence[str] | None = None,
        on_error: OnError = "raise",
    ) -> None:
        template = load_template(response_template)
        self._ender = None if end is None else end_literals(end)
        tail = message_tail(template, prefix)
        super().__init__(template, load_tools(tools), keeps_malformed(on_error))
        self._begin()
        self._buffer = TextBuffer()
        self._generation = len(tail)  # where the generation begins
        self._undecided = ""  # may be the beginning of an end literal
        self._events: list[Event] = []
        self._written = BodyText()  # the text of the region, or of the stretch, so far
        self._pieces = self._written.pieces
        self._blank = True  # which is only whitespace that is withheld
        self._stretched_before = False
        self._unclaimed: list[str] = []
        self._over = False
        self._ending = ""  # the end literal, while what is before it is not dealt with
        self._finalized = False
        # Where the machine holds back nothing, or few characters (`_held`), it need not hear of each chunk: `_light`. Where
        # nothing is held, text without the characters `_first` and `_second` that does not end with one of `_trailing` is a
        # chunk of the open region without a further look. (`_first` is "" otherwise, which every text has; else `_sought`.)
        self._light = False
        self._held = _NOTHING_HELD
        self._trail: Held | None = None  # what the machine holds, where it may be known the next time
        self._run_due = False  # a delimiter was taken that the machine has not heard of
        self._behind = ""  # as much as patterns may look back on, before the text that went by (`_behind_to`)
        self._behind_to = 0
        self._shortcuts = shortcuts(_NO_WATCH, self._ender)
        self._light_watch = _NO_WATCH
        self._sought = self._first = self._second = self._trailing = ""
        self._only_first = False
        self._chunk = _NO_CHUNK  # the event of a chunk of the open region, but for its text
        self.initial_events: list[Event] = []
        if tail and (self._ender is None or self._ender.find(tail, 0, False) == (len(tail), -1)):
            self._go_light()
            self.initial_events = self.feed(tail)
        elif tail:  # what ends the turn begins in the generation
            self.initial_events = self._take(tail)
        else:
            self._go_light()

    def feed(self, text: str) -> list[Event]:
        """Go on with what the model generated next.

        Args:
            text: any piece of text, special tokens included; may be empty.

        Returns:
            What is certain now: a list of events, often with one chunk, often empty.

        Raises:
            OutputError: a region can't be parsed (with on_error="raise"); its `events` are those before the fault.
            ResponseParsingError: `text` is no string.
            RuntimeError: the parser was finalized.
        """
        if (
            text.__class__ is str
            and text
            and self._first not in text
            and (self._only_first or (self._second not in text and text[-1] not in self._trailing))
        ):
            pieces = self._pieces
            pieces.append(text)
            if len(pieces) > MANY:
                self._written.settle()
            event = self._chunk.copy()
            event["text"] = text
            return [event]
        if self._finalized:
            raise RuntimeError("the parser is finalized: make a new one for the next generation")
        if text.__class__ is not str:
            text = checked_text(text)
        if not text or self._over:
            return []
        if self._light:
            held, known = self._held, self._shortcuts
            step = held.steps.get(text) or known.learn(held, text)
            if step is not None:
                passed, following, taken = step
                if following is not None:
                    if passed:
                        return self._hold(passed, following)
                    self._held = following
                    self._first = ""
                    return []
                if taken is not None:
                    events = self._take_known(passed, taken)
                    if events is not None:
                        return events
            text = held.text + text
            if step is None and known.sentinels is not None:
                start = known.sentinels.find(text)
                if start >= 0 and len(text) - start <= MAX_HELD:
                    return self._hold(text[:start], known.held(text[start:]))
            self._sync()
        else:
            if self._trail is not None:
                self._trail = self._shortcuts.followed(self._trail, text)
            if self._stays_held(text):
                return []
        return self._take(text) if self._ender is None else self._take_until(self._ender, text)

    def finalize(self) -> tuple[dict[str, Any], list[Event]]:
        """The generation is over: close what is open.

        Returns:
            (message, events): the whole message, and the last events.

        Raises:
            OutputError: the last region can't be parsed, or a field that must be there is not (with on_error="raise").
            RuntimeError: the parser was finalized before.
        """
        if self._finalized:
            raise RuntimeError("the parser is finalized already")
        held, stop = self._sync() + self._undecided, -1
        self._finalized = True
        if self._ender is not None:
            # An end literal that could have become a longer one.
            start, stop = self._ender.find(held, max(0, self._generation - self._buffer.end), True)
        events: list[Event] = []
        self._events = events
        try:
            if stop >= 0:
                self._buffer.append(held[:start])
                self._end_at(held[start:stop])
            elif self._ending and self._run is not None:  # an error came in between
                self._end_at(self._ending)
            elif not self._over:
                self._buffer.append(held)
                self._end_all()
            self._buffer.drop(self._buffer.end)
            return self._finish_message(), events
        except OutputError as error:
            error.events = tuple(events)
            raise

    @property
    def unclaimed(self) -> list[str]:
        """Text that no field claims, in order: what is outside of all regions, or only whitespace between them."""
        return list(self._unclaimed)

    # -- text in ------------------------------------------------------------------------------------------------------

    def _take_until(self, ender: LiteralSet, text: str) -> list[Event]:
        """Take what is before the end of the turn; what may be the beginning of an end literal waits."""
        text = self._undecided + text
        # What ends the turn begins in the generation, whatever the prompt ended with.
        start, stop = ender.find(text, max(0, self._generation - self._buffer.end), False)
        if stop >= 0:
            self._undecided = ""
            return self._take(text[:start], text[start:stop])
        self._undecided = text[start:]
        return self._take(text[:start])

    def _take(self, text: str, end_literal: str = "") -> list[Event]:
        """Let the machine go on with the text."""
        events: list[Event] = []
        self._events = events
        try:
            if text:
                self._buffer.append(text)
            if end_literal:
                self._over = True
                self._ending = end_literal
                self._end_at(end_literal)
                self._ending = ""
            else:
                self._walk(False)
        except OutputError as error:
            error.events = tuple(events)
            raise
        finally:
            self._buffer.drop(int(max(0, self._position - self._plan.context)))
        self._go_light()
        return events

    # -- text that goes by the machine --------------------------------------------------------------------------------

    def _go_light(self) -> None:
        """From here on, if it is possible, let text go by the machine."""
        self._trail = None
        run = self._run
        if (
            self._over
            or self._scanner is not None
            or self._stalled is not None
            or self._plan.context > MAX_HELD
            or isinstance(run, ValueEndRun)
        ):
            return
        watch = _NO_WATCH if run is None else run.watch
        if watch.uses_begin and not self._position:
            return
        self._find_shortcuts(watch)
        sentinels = self._shortcuts.sentinels
        if sentinels is None:
            return
        self._behind_to = self._position
        self._behind = self._before(self._position) or ""
        pending = self._undecided
        if self._position < self._buffer.end:
            if self._buffer.end - self._position > MAX_HELD:
                return
            pending = self._buffer.slice(self._position, self._buffer.end) + pending
            start = sentinels.find(pending)
            if start < 0:
                self._trail = self._shortcuts.held(pending)
                return
            if start:  # what only the beginning of an end literal held back
                self._pass(pending[:start])
                pending = pending[start:]
        self._undecided = ""
        self._light = True
        self._held = self._shortcuts.held(pending)
        self._look_for_chunks()

    def _find_shortcuts(self, watch: Watch) -> None:
        if watch is not self._light_watch:
            self._light_watch = watch
            self._shortcuts = shortcuts(watch, self._ender)

    def _look_for_chunks(self) -> None:
        """Set what `feed` looks for in text that may be no more than a chunk of the open region."""
        plan = self._region or self._plan.implicit
        sentinels = self._shortcuts.sentinels
        if self._blank or plan is None or sentinels is None:
            self._first = self._sought = ""
            return
        self._chunk = plan.chunk
        self._sought = sentinels.first
        self._first = "" if self._held.text else self._sought
        self._second = sentinels.second
        self._trailing = sentinels.trailing
        self._only_first = not sentinels.trailing and sentinels.second == sentinels.first

    def _hold(self, passed: str, held: Held) -> list[Event]:
        """The text that `passed` belongs to the region, what is `held` comes behind it."""
        events: list[Event] = []
        self._events = events
        if passed:
            was_blank = self._blank
            self._pass(passed)
            if was_blank:
                self._look_for_chunks()
        self._held = held
        self._first = "" if held.text else self._sought
        return events

    def _take_known(self, passed: str, taken: Taken) -> list[Event] | None:
        """A delimiter behind the text that `passed`; None if the machine has to decide what comes of it."""
        if self._plan.context:
            return None
        events: list[Event] = []
        plan = self._region
        if plan is None:
            entry = self._plan.outside.entries[taken.rank]
            plan = None if entry.opens is None else self._plan.fields[entry.opens]
            if plan is not None and plan.watch is None:
                return None
            self._events = events
            if passed:
                self._pass(passed)
            position = self._start + self._written.length
            self._end_stretch(position)
            self._start = position + taken.length
            if plan is not None:
                self._message.opened.add(plan.name)
                self._region = plan
                self._groups = taken.groups
                self._depth = 0
                self._opened(plan)
        else:
            if plan.nests or plan.reads_anything:
                return None
            body = self._written.value() + passed
            groups = {**self._groups, **taken.groups} if taken.groups else self._groups
            try:
                value = plan.value(body, groups, self._tools, False)
            except BodyError:
                return None
            self._events = events
            if passed:
                self._pass(passed)
            self._start += len(body) + taken.length
            self._message.add(plan, value, body)
            self._closed(plan, value)
            self._region = plan = None
            self._begin_text(True)
        self._run_due = True
        watch = self._plan.outside if plan is None or plan.watch is None else plan.watch
        self._find_shortcuts(watch)
        if self._shortcuts.sentinels is None:
            self._sync()
        else:
            self._held = self._shortcuts.nothing
            self._look_for_chunks()
        try:
            self._raise_failure()
            if taken.rest:
                events += self.feed(taken.rest)
        except OutputError as error:
            error.events = (*events, *error.events)
            raise
        return events

    def _sync(self) -> str:
        """Tell the machine of the text that went by. Gives the text that is held back, which it has not heard of."""
        if not self._light:
            return ""
        self._light = False
        self._first = ""
        position = self._start + self._written.length
        behind = self._went_by(position)
        self._buffer.restart(position - len(behind))
        if behind:
            self._buffer.append(behind)
        if self._run_due:
            self._run_due = False
            watch = None if self._region is None else self._region.watch
            if watch is None:
                self._run = self._outside
                self._outside.move_to(position, self._before(position))
            else:
                self._run = WatchRun(watch)
                self._run.restart(position, self._before(position))
        elif position != self._position and isinstance(self._run, WatchRun):
            self._run.move_to(position, self._before(position))
        self._position = position
        return self._held.text

    def _went_by(self, position: int) -> str:
        """As much as patterns may look back on before `position`, up to which the text went by."""
        context = int(self._plan.context)
        if not context:
            return ""
        written = self._written
        count = min(position - self._behind_to, context)
        return (self._behind + written.part(written.length - count, written.length))[-context:]

    def _stays_held(self, text: str) -> bool:
        """Whether the text, which may be within a delimiter, decides nothing. Then it is dealt with."""
        run, end, ender = self._run, self._buffer.end, self._ender
        if (
            self._position == end
            or not isinstance(run, WatchRun)
            or not run.watch.patterns
            or len(text) > _MAX_PIECE
            or self._doubt is not None
            or self._stalled is not None
            or (ender is not None and (self._undecided or ender.find(text, 0, False)[0] < len(text)))
            or not run.holds(text, end)
        ):
            return False
        self._buffer.append(text)
        return True

    def _timed_out(self, pattern: Pattern) -> OutputError:
        error = super()._timed_out(pattern)
        error.raw = self._written.value() + self._buffer.slice(self._position, self._buffer.end)
        return error

    # -- what the machine asks ----------------------------------------------------------------------------------------

    def _end(self) -> int:
        return self._buffer.end

    def _text_from(self, position: int) -> tuple[str, int]:
        return self._buffer.text_from(position)

    def _before(self, position: int) -> str | None:
        context = self._plan.context
        if not context or not position:
            return "" if position else None
        return self._buffer.slice(int(max(0, position - context)), position)

    def _body(self, stop: int) -> str:  # noqa: ARG002 - it ends where it was written to
        return self._written.value()

    def _body_part(self, start: int, stop: int) -> str:
        return self._written.part(start - self._start, stop - self._start)

    def _stretch(self, stop: int) -> str:  # noqa: ARG002 - it ends where it was written to
        text = self._written.value()
        if self._blank and text:
            self._leave_unclaimed(text)
        opened = "" if self._blank else text
        self._begin_text(True)
        return opened

    def _is_blank(self, stop: int) -> bool:  # noqa: ARG002 - it ends where it was written to
        return self._blank

    def _append(self, text: str) -> None:
        self._buffer.append(text)

    def _truncate(self, position: int) -> None:
        self._buffer.truncate(position)

    def _begin_text(self, blank: bool) -> None:
        self._written = written = BodyText()
        self._pieces = written.pieces
        self._blank = blank

    def _advance_to(self, position: int) -> None:
        if position <= self._position:
            return
        text = self._buffer.slice(self._position, position)
        self._position = position
        self._pass(text)

    def _pass(self, text: str) -> None:
        """The next text is no part of a delimiter: it belongs to the open region, or the implicit field."""
        plan = self._region
        if plan is None:
            plan = self._plan.implicit
            if plan is None:
                self._start += len(text)
                if self._plan.context:
                    self._behind = (self._behind + text)[-int(min(self._plan.context, MAX_HELD)) :]
                    self._behind_to = self._start
                self._leave_unclaimed(text)
                return
        if self._blank:
            if text.isspace():
                self._written.append(text)
                return
            text = self._end_blank(plan, text)
        else:
            self._written.append(text)
        event = plan.chunk.copy()
        event["text"] = text
        self._events.append(event)

    def _end_blank(self, plan: FieldPlan, text: str) -> str:
        """The first character that is no whitespace has come: the chunk that begins with it."""
        whole = self._written.value() + text
        self._written.append(text)
        self._blank = False
        if self._region is not None:
            return text.lstrip()
        self._message.opened.add(plan.name)
        self._events.append({"type": "region_open", "field": plan.name})
        # Between two stretches of one text the whitespace belongs to it.
        keeps_lead = not plan.blank_lead or (plan.stretched and self._stretched_before)
        self._stretched_before = True
        return whole if keeps_lead else text.lstrip()

    def _leave_unclaimed(self, text: str) -> None:
        self._unclaimed.append(text)
        logger.debug("no field claims %r", text)

    def _opened(self, plan: FieldPlan) -> None:
        self._begin_text(plan.blank_lead)
        self._events.append({"type": "region_open", "field": plan.name})

    def _go_outside(self, position: int) -> None:
        super()._go_outside(position)
        self._begin_text(True)

    def _closed(self, plan: FieldPlan, value: Any, repaired: bool = False) -> None:
        event: RegionClose = {"type": "region_close", "field": plan.name, "value": value}
        if repaired:
            event["repaired"] = True
        self._events.append(event)

    def _malformed(self, plan: FieldPlan, body: str, reason: str) -> None:
        self._events.append({"type": "region_malformed", "field": plan.name, "raw": body, "error": reason})

    # -- copies -------------------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for name in (
            "_plan",
            "_pieces",
            "_outside",
            "_run",
            "_region",
            "_message",
            "_written",
            "_ender",
            "_held",
            "_light_watch",
            "_shortcuts",
            "_trail",
        ):
            state.pop(name, None)
        state["outside"] = self._outside.save()
        saved = None if self._run_due or self._run is None or self._run is self._outside else self._run.save()
        state["run"] = saved
        state["ended"] = self._run is None and self._region is None
        state["region"] = None if self._region is None else self._region.field.index
        state["message"] = self._message.save()
        state["written"] = self._written.value()
        state["held"] = self._held.text
        state["end"] = None if self._ender is None else self._ender.literals
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        outside, run, ended, region, message, written, held, end = (
            state.pop(name) for name in ("outside", "run", "ended", "region", "message", "written", "held", "end")
        )
        self.__dict__.update(state)
        plan = self._plan = self._template.plan
        self._ender = None if end is None else LiteralSet(end)
        self._outside = WatchRun(plan.outside)
        self._outside.restore(outside)
        self._region = None if region is None else plan.fields[region]
        self._run = None if ended else self._outside
        if self._region is not None:
            self._run = self._new_run(self._region, self._start)
            if self._run is not None and run is not None:
                self._run.restore(run)
        self._message = Message(plan)
        self._message.restore(message)
        self._written = BodyText(written)
        self._pieces = self._written.pieces
        watch = plan.outside if self._region is None else self._region.watch
        self._light_watch = watch or _NO_WATCH
        self._shortcuts = shortcuts(self._light_watch, self._ender)
        self._held = self._shortcuts.held(held)
        self._trail = None
