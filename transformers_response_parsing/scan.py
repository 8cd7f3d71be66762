# SPDX-License-Identifier: Apache-2.0
"""A search with an automaton at work in one text that comes in pieces."""

from __future__ import annotations

from time import monotonic
from typing import Any, NamedTuple

from . import limits
from .automaton import Automaton, Run, State
from .pattern_head import Head

__all__ = ["Scan"]

_MAX_PIECE = 16


class _Ahead(NamedTuple):
    """What a look ahead from a start state found: where the head begins (its lead, its literal), and the literal.

    Without a literal `start` is where one may have begun, at the latest the end of the text.
    """

    begin: int
    start: int
    literal: str


_NOTHING_SEEN = _Ahead(-1, -1, "")


def _look_ahead(head: Head, text: str, index: int) -> _Ahead:
    if head.first not in text and text[-1] not in head.skipped:
        return _Ahead(len(text), len(text), "")
    start, stop = head.literals.find(text, index, False)
    literal = text[start:stop] if stop >= 0 else ""
    begin = start
    has_lead = not head.exact or not literal or literal in head.led
    if has_lead and begin > index and text[begin - 1] in head.skipped:
        begin = index + len(text[index:begin].rstrip(head.skipped))
    return _Ahead(begin, start, literal)


class Scan:
    """One search with an automaton through a text that comes in pieces.

    `at` is the position up to which the text was read; all positions are those of the whole text. After `found` is set
    the search is over: (start, end) of the match. Until then a match can only start at `hold` or later.
    """

    __slots__ = ("_deadline", "at", "automaton", "found", "marks", "match", "starts", "state")

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.at = 0
        self._deadline = 0.0
        self.state: State | None = None
        self.starts: list[int] = []
        self.marks: list[int] = []
        self.match: tuple[int, int] | None = None
        self.found: tuple[int, int] | None = None

    def reset(self, at: int, before: str | None) -> None:
        """Search from `at` on; `before` is text before it (one character is enough), None at the begin of the text."""
        state, matched = self.automaton.start(before[-1] if before else before)
        self.state = state
        self.at = at
        self.starts = [at] * len(state.threads)
        self.marks = [at] * len(state.threads)
        self.match = self.found = None
        if matched:
            self.match = (at, at)
            if state.final:
                self.found = self.match

    @property
    def hold(self) -> int:
        """No match starts before this position."""
        if self.found is not None:
            return self.found[0]
        if self.starts:
            return self.starts[0]
        return self.at if self.match is None else self.match[0]

    def scan(self, text: str, index: int, base: int) -> None:
        """Read `text[index:]`, whose character i is at position base + i; `base + index` must be `at`.

        Raises TimeoutError if that takes longer than `limits.SEARCH_TIMEOUT` seconds.
        """
        self._deadline = 0.0
        state = self.state
        assert state is not None
        automaton = self.automaton
        end = len(text)
        ahead = _NOTHING_SEEN
        in_one = True  # what is left may be a piece to read in one step
        while index < end:
            run = None
            if state.head is not None and state.loop is not None:
                if index > ahead.start:
                    ahead = _look_ahead(state.head.head, text, index)
                if index < ahead.begin:
                    index = ahead.begin
                    self._move(state.loop, base + index - 1)
                if index < ahead.start and state.head.passes(ahead.literal):
                    index = ahead.start
                if index >= end:
                    break
                if index == ahead.start:
                    run = state.head.runs.get(ahead.literal)
            elif state.jump is not None and state.loop is not None:
                place = state.jump(text, index)
                if place != index:
                    index = end if place < 0 else place
                    self._move(state.loop, base + index - 1)
                    if index >= end:
                        break
            else:
                run = state.chain
                if run is not None and not text.startswith(run.text, index):
                    run = None
            if run is None and in_one and end - index <= _MAX_PIECE:
                in_one = False
                run = automaton.run(state, text[index:])
            if run is None:
                char = text[index]
                run = state.by_char.get(char)
                if run is None:
                    run = self._step(state, char)
                if run.state is state:
                    if not state.looped:
                        automaton.learn_jump(state)
                elif not run.state.chained:
                    automaton.learn_chain(run.state)
            self._move(run, base + index)
            index += len(run.text)
            state = run.state
            if state.final:
                self.found = self.match
                break
        self.state = state
        self.at = base + index

    def passes(self, text: str) -> bool:
        """Whether no match begins, or has begun, anywhere in the text: then it may as well be read later."""
        state = self.state
        return state is not None and state.head is not None and _look_ahead(state.head.head, text, 0).begin == len(text)

    def follow(self, run: Run) -> int:
        """Read the text of a run of the state, with which the search is not over. Gives `hold`."""
        self._move(run, self.at)
        self.state = run.state
        self.at += len(run.text)
        return self.hold

    def _move(self, run: Run, here: int) -> None:
        """Give each thread its start, and its mark, after the run of the state from the position `here` on."""
        starts, marks = self.starts, self.marks
        if run.match is not None:
            which, mark = run.match
            start = starts[which] if which >= 0 else here - which
            self.match = (start, marks[mark] if mark >= 0 else here - mark)
        self.starts = [starts[which] if which >= 0 else here - which for which in run.source]
        if run.marks is not None:
            self.marks = [marks[which] if which >= 0 else here - which for which in run.marks]

    def _step(self, state: State, char: str) -> Run:
        # Known transitions are a small fixed cost a character; only the making of new ones can be slow.
        now = monotonic()
        if not self._deadline:
            self._deadline = now + limits.SEARCH_TIMEOUT
        elif now > self._deadline:
            raise TimeoutError
        return self.automaton.step(state, char)

    def finish(self) -> None:
        """The text ends here: `found` is the match, or stays None if there is none."""
        if self.found is not None or self.state is None:
            return
        last = self.automaton.finish(self.state)
        if last is not None:
            which, mark = last
            self.match = (self.starts[which], self.marks[mark])
        self.found = self.match
        self.state = self.automaton.state((), False)
        self.starts = self.marks = []

    def save(self) -> Any:
        """Plain data for `restore`: a state is its threads."""
        state = self.state
        key = None if state is None else (state.threads, state.searching)
        return (self.at, key, list(self.starts), list(self.marks), self.match, self.found)

    def restore(self, saved: Any) -> None:
        """Become the search that was saved."""
        self.at, key, self.starts, self.marks, self.match, self.found = saved
        self.state = None if key is None else self.automaton.state(*key)
