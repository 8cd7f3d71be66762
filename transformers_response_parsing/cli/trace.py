# SPDX-License-Identifier: Apache-2.0
"""What became of each character of a text, and when: the record that `response-template explain` shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from transformers_response_parsing.errors import OutputError
from transformers_response_parsing.events import Event
from transformers_response_parsing.parser import ResponseParser
from transformers_response_parsing.plan import FieldPlan
from transformers_response_parsing.template import ResponseTemplate
from transformers_response_parsing.watch import Hit

__all__ = ["Span", "Trace", "spans_of", "trace"]


class Span(NamedTuple):
    """A piece of the text and what it is.

    Attributes:
        start, stop: positions in the text (prompt after its anchor + generation).
        kind: "open" or "close" (a delimiter), "region", "unclaimed", or "after the end".
        field: name of the field in the template; None if it belongs to none.
        step: how many pieces had been fed when that was decided.
    """

    start: int
    stop: int
    kind: str
    field: str | None
    step: int


class Trace(NamedTuple):
    """A generation and what became of it.

    Attributes:
        text: what was parsed: the prompt after its anchor, and the generation.
        generated: where in `text` the generation begins.
        steps: for each step, how much of the text had been fed; the last one is the end of the generation.
        spans: in the order in which they were decided; a later one replaces what earlier ones say of the same characters.
            Those of empty delimiters (look-aheads) are empty.
        events: (step, event) in order.
        message: the message, with what could not be parsed under `malformed`.
        problem: why there is no whole message, or "".
    """

    text: str
    generated: int
    steps: tuple[int, ...]
    spans: tuple[Span, ...]
    events: tuple[tuple[int, Event], ...]
    message: dict[str, Any]
    problem: str

    def pieces(self) -> list[Span]:
        """What every character is in the end, in order and without gaps."""
        owner: list[Span | None] = [None] * len(self.text)
        for span in self.spans:
            owner[span.start : span.stop] = [span] * (span.stop - span.start)
        pieces: list[Span] = []
        for at, decided in enumerate(owner):
            span = decided or Span(at, at + 1, "unclaimed", None, 0)
            last = pieces[-1] if pieces else None
            whole = span.kind in {"region", "unclaimed"} or decided is owner[at - 1]
            if last is not None and whole and (last.kind, last.field) == (span.kind, span.field):
                pieces[-1] = last._replace(stop=at + 1)
            else:
                pieces.append(span._replace(start=at, stop=at + 1))
        return pieces


def trace(
    template: ResponseTemplate,
    text: str,
    *,
    prefix: str = "",
    tools: Any = None,
    end: Sequence[str] | None = None,
    piece: int = 1,
) -> Trace:
    """Parse a text piece by piece, and record what happens.

    Args:
        template: the template.
        text: what was generated.
        prefix: the prompt; "" if the text is the whole message.
        tools: the request's tools.
        end: what ends the generation.
        piece: characters fed at a time.
    """
    parser = _Recorder(template, prefix, tools=tools, end=end, on_error="keep")
    tail = parser.tail
    events: list[tuple[int, Event]] = [(0, event) for event in parser.initial_events]
    steps = [len(tail)]
    problem = ""
    message: dict[str, Any] = {}
    try:
        for start in range(0, len(text), piece):
            parser.step += 1
            steps.append(len(tail) + min(start + piece, len(text)))
            events += [(parser.step, event) for event in parser.feed(text[start : start + piece])]
        parser.step += 1
        steps.append(len(tail) + len(text))
        message, last = parser.finalize()
        events += [(parser.step, event) for event in last]
    except OutputError as error:  # a pattern that takes too long
        events += [(parser.step, event) for event in error.events]
        message, problem = error.partial_message, error.reason
    whole = tail + text
    if parser.ended_at is not None and parser.ended_at < len(whole):
        parser.spans.append(Span(parser.ended_at, len(whole), "after the end", None, parser.step))
    return Trace(whole, len(tail), tuple(steps), tuple(parser.spans), tuple(events), message, problem)


class _Recorder(ResponseParser):
    """A parser that writes down what the machine decides about every piece of text."""

    def __init__(self, template: ResponseTemplate, prefix: str, **options: Any) -> None:
        self.spans: list[Span] = []
        self.step = 0
        self.ended_at: int | None = None
        super().__init__(template, prefix, **options)
        self.tail = prefix[len(prefix) - self._generation :]

    def _note(self, start: int, stop: int, kind: str, field: str | None) -> None:
        self.spans.append(Span(start, stop, kind, field, self.step))

    def _go_light(self) -> None:
        """Never: all text is to pass the machine."""

    def _advance_to(self, position: int) -> None:
        if position > self._position:
            plan = self._region or self._plan.implicit
            last = self.spans[-1] if self.spans else None
            name = None if plan is None else plan.field.name
            kind = "unclaimed" if plan is None else "region"
            if last is not None and last[1:] == (self._position, kind, name, self.step):
                self.spans[-1] = last._replace(stop=position)
            else:
                self._note(self._position, position, kind, name)
        super()._advance_to(position)

    def _stretch(self, stop: int) -> str:
        if self._blank and self._start < stop:  # only white space between two regions
            self._note(self._start, stop, "unclaimed", None)
        return super()._stretch(stop)

    def _leave_implicit(self, hit: Hit) -> None:
        entry = self._outside.watch.entries[hit.rank]
        super()._leave_implicit(hit)
        if entry.opens is None:
            implicit: FieldPlan | None = self._plan.implicit
            if hit.end > hit.start and implicit is not None:
                self._note(hit.start, hit.end, "close", implicit.field.name)
        elif self._region is not None:
            self._note(hit.start, hit.end, "open", self._region.field.name)

    def _close(self, hit: Hit, certain: bool = False) -> None:
        plan = self._region
        super()._close(hit, certain)
        if plan is not None and self._region is None:
            self._note(hit.start, hit.end, "close", plan.field.name)

    def _end_at(self, literal: str) -> None:
        super()._end_at(literal)
        self.ended_at = self._position


def spans_of(trace: Trace, field: str, kind: str) -> Iterator[Span]:
    """The delimiters of a field that matched."""
    return (span for span in trace.spans if span.field == field and span.kind == kind)
