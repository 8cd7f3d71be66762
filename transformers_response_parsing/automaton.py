# SPDX-License-Identifier: Apache-2.0
r"""Where a regular pattern matches in a text that arrives in pieces, exactly as if the whole text were there.

Pike's construction: threads of the pattern's program in order of priority, all advanced together by each character. A
match ends the threads below it and is final when none above it is alive, so two questions have exact answers at any
point of the stream: from where on may a match still come, and is the match that was seen the one the whole text gives.
Sets of threads are states of an automaton that is built as texts visit them. Every character is read once.

Zero-width conditions on what follows (look-aheads, `$`, `\b`) travel with a thread as obligations: each is a set of
threads of its own, which has to arrive (or, negated, has to die) before a match of its thread counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import regex

from .pattern_head import Head
from .pattern_syntax import (
    BEGIN,
    CHAR,
    END_OF_TEXT,
    LOOK_END,
    MATCH,
    PREVIOUS,
    SPLIT,
    Program,
)

__all__ = ["Automaton", "Run", "State"]

_MAX_STATES = 2_000
_MAX_CHARS_PER_STATE = 512
_MAX_CHAIN = 64
_MAX_RUNS = 4_096

# Which of the program's classes hold a character.
_Signature = tuple[bool, ...]
# The text before a position, as far as a program can ask: a signature, or None at the text's begin.
_Before = _Signature | None
# An operation inside of a look-ahead, with what is before it if it looks back.
_LookThread = tuple[int, _Before]
# Whether the look-ahead is a negated one, and its threads.
_Obligation = tuple[bool, frozenset[_LookThread]]
_Thread = tuple[int, frozenset[_Obligation]]
_NOTHING: frozenset[_Obligation] = frozenset()
_NEW = -1


class Run(NamedTuple):
    """What a certain text (often one character) does to a state, up to where a match is certain.

    `source[i]` is the index of the old thread that thread i of the new state came from, or -n if it starts n characters
    further on. `marks[i]` is the same for the place where the thread reached its end, but for its obligations. (None where
    no thread has obligations.) `match` is such a pair of the start and end of the last match on the way, if any.
    """

    text: str
    state: State
    source: tuple[int, ...]
    marks: tuple[int, ...] | None
    match: tuple[int, int] | None


class StartHead(NamedTuple):
    """The head of the pattern, what its literals do to a start state, and whether its lead leaves that as it is."""

    head: Head
    runs: dict[str, Run]
    keeps: bool

    def passes(self, literal: str) -> bool:
        """Whether the lead in front of the literal ("": of what may be the beginning of one) need not be read."""
        return self.keeps or (self.head.exact and literal != "")


class State:
    """A set of threads in order of priority; `searching` while a match may start later."""

    __slots__ = (
        "at_end",
        "by_char",
        "chain",
        "chained",
        "ended",
        "final",
        "head",
        "jump",
        "loop",
        "looped",
        "searching",
        "threads",
    )

    def __init__(self, threads: tuple[_Thread, ...], searching: bool) -> None:
        self.threads = threads
        self.searching = searching
        self.final = not threads and not searching
        self.by_char: dict[str, Run] = {}
        # jump(text, i): the next place from i on where the state may change, or -1. Set once the state was seen to loop.
        # Each character up to there does this; one of them does what many do.
        self.jump: Callable[[str, int], int] | None = None
        self.loop: Run | None = None
        self.looped = False
        # What the end of the text does, once asked for.
        self.ended = False
        self.at_end: tuple[int, int] | None = None
        # Of a start state.
        self.head: StartHead | None = None
        # A text that the first thread goes on with, and whether that was looked for.
        self.chain: Run | None = None
        self.chained = False

    def __repr__(self) -> str:
        return f"State({self.threads}, searching={self.searching})"


class Automaton:
    """The automaton of one program. Shared between parsers and threads: states only ever get added."""

    def __init__(self, program: Program, head: Head | None = None) -> None:
        self.program = program
        self._ops = program.ops
        self._classes = program.classes
        self._signatures: dict[str, _Signature] = {}
        self._states: dict[tuple[tuple[_Thread, ...], bool], State] = {}
        self._starts: dict[_Before, tuple[State, bool]] = {}
        self._starts_after: dict[str | None, tuple[State, bool]] = {}
        self._runs: dict[tuple[State, str], Run | None] = {}
        # What no class names: outside of the plain ones, inside of the negated ones.
        self._other: _Signature = tuple(one.negated for one in program.classes)
        self._head = head

    # -- contexts -------------------------------------------------------------------------------------------------

    def signature(self, char: str) -> _Signature:
        """Which of the program's classes hold the character."""
        known = self._signatures.get(char)
        if known is None:
            if len(self._signatures) > 4 * _MAX_CHARS_PER_STATE:
                self._signatures.clear()
            known = self._signatures[char] = tuple(char in one for one in self._classes)
        return known

    def start(self, before: str | None) -> tuple[State, bool]:
        """The state in which a search begins after the character `before` (None: at the text's begin; "": any).

        Also tells whether the pattern matches the empty text right there.
        """
        known = self._starts_after.get(before)
        if known is not None:
            return known
        context = None if before is None else self._context(self.signature(before) if before else self._other)
        known = self._starts.get(context)
        if known is None:
            threads: list[_Thread] = []
            matched = self._close(self.program.start, _NOTHING, context, threads, set())
            state = self.state(tuple(threads), not matched)
            if not matched and not state.looped and not (before is None and self.program.uses_begin):
                self.learn_jump(state)
                self._learn_head(state)
            if len(self._starts) > 4 * _MAX_CHARS_PER_STATE:
                self._starts.clear()
            known = self._starts[context] = (state, matched)
        if len(self._starts_after) > 4 * _MAX_CHARS_PER_STATE:
            self._starts_after.clear()
        self._starts_after[before] = known
        return known

    def state(self, threads: tuple[_Thread, ...], searching: bool) -> State:
        """The one state with these threads."""
        key = (threads, searching)
        known = self._states.get(key)
        if known is None:
            if len(self._states) > _MAX_STATES:
                for table in (self._states, self._starts, self._starts_after, self._runs):
                    table.clear()
            known = self._states.setdefault(key, State(threads, searching))
        return known

    # -- one character --------------------------------------------------------------------------------------------

    def step(self, state: State, char: str) -> Run:
        """What the character does to the state, remembered."""
        made = self._step(state, char, self.signature(char))
        if len(state.by_char) >= _MAX_CHARS_PER_STATE:
            state.by_char.clear()
        state.by_char[char] = made
        return made

    def finish(self, state: State) -> tuple[int, int] | None:
        """The match, if any, that the end of the text makes true (as in `Run.match`)."""
        if not state.ended:
            state.at_end = self._step(state, "", None).match
            state.ended = True
        return state.at_end

    def _step(self, state: State, text: str, char: _Signature | None) -> Run:
        """What a character with this signature (None: the end of the text) does."""
        ops = self._ops
        threads: list[_Thread] = []
        source: list[int] = []
        marks: list[int] = []
        seen: set[_Thread] = set()
        match: tuple[int, int] | None = None
        for index, (pc, obligations) in enumerate(state.threads):
            if obligations:
                left = self._advance_all(obligations, char)
                if left is None:
                    continue
            else:
                left = obligations
            op = ops[pc]
            if op[0] == MATCH:
                if not left:
                    match = (index, index)
                    break
                self._add((pc, left), threads, seen)
            elif char is not None and char[op[1]] and self._close(op[2], left, char, threads, seen):
                match = (index, _NEW)
            source += [index] * (len(threads) - len(source))
            marks += [_NEW if op[0] != MATCH and ops[pc][0] == MATCH else index for pc, _ in threads[len(marks) :]]
            if match is not None:
                break
        searching = state.searching and match is None and char is not None
        if searching:
            assert char is not None
            if self._close(self.program.start, _NOTHING, char, threads, seen):
                match = (_NEW, _NEW)
                searching = False
            new = [_NEW] * (len(threads) - len(source))
            source += new
            marks += new
        following = self.state(tuple(threads), searching)
        return Run(text, following, tuple(source), tuple(marks) if self.program.has_looks else None, match)

    def _add(self, thread: _Thread, threads: list[_Thread], seen: set[_Thread]) -> None:
        # A thread above at the same place with fewer conditions wins whatever this one could win.
        pc, obligations = thread
        if thread in seen or (obligations and (pc, _NOTHING) in seen):
            return
        seen.add(thread)
        threads.append(thread)

    def _close(
        self,
        pc: int,
        obligations: frozenset[_Obligation],
        before: _Before,
        threads: list[_Thread],
        seen: set[_Thread],
    ) -> bool:
        """Follow what needs no character from `pc`, in order. True if that is a match, which cuts what is below it."""
        ops = self._ops
        stack = [(pc, obligations)]
        visited: set[_Thread] = set()
        while stack:
            thread = stack.pop()
            if thread in visited:
                continue
            visited.add(thread)
            pc, obligations = thread
            op = ops[pc]
            kind = op[0]
            if kind == CHAR:
                self._add(thread, threads, seen)
            elif kind == SPLIT:
                stack += [(target, obligations) for target in reversed(op[1])]
            elif kind == MATCH:
                if not obligations:
                    return True
                self._add(thread, threads, seen)
            elif kind == PREVIOUS:
                if (before is not None and before[op[1]]) is not op[2]:
                    stack.append((op[3], obligations))
            elif kind == BEGIN:
                if before is None:
                    stack.append((op[1], obligations))
            else:  # LOOK
                negated = op[1]
                body: set[_LookThread] = set()
                if self._close_look(op[2], before, body):
                    if not negated:
                        stack.append((op[3], obligations))
                elif body:
                    stack.append((op[3], obligations | {(negated, frozenset(body))}))
                elif negated:
                    stack.append((op[3], obligations))
        return False

    def _close_look(self, pc: int, before: _Before, body: set[_LookThread]) -> bool:
        """The same inside of a look-ahead, where order doesn't matter. True if the look-ahead's body has matched."""
        stack = [pc]
        visited: set[int] = set()
        while stack:
            pc = stack.pop()
            if pc in visited:
                continue
            visited.add(pc)
            op = self._ops[pc]
            kind = op[0]
            if kind == LOOK_END:
                return True
            if kind == SPLIT:
                stack += op[1]
            elif kind == CHAR:
                body.add((pc, None))
            elif kind == PREVIOUS:
                if (before is not None and before[op[1]]) is not op[2]:
                    stack.append(op[3])
            elif kind == BEGIN:
                if before is None:
                    stack.append(op[1])
            else:  # END_OF_TEXT, WORD_EDGE: decided by the next character
                body.add((pc, self._context(before)))
        return False

    def _context(self, before: _Before) -> _Before:
        """`before`, but with only what the program can ask of it, so that states stay few."""
        wanted = self.program.context_classes
        if before is None:
            return None
        return tuple(held and index in wanted for index, held in enumerate(before))

    def _advance_all(
        self, obligations: frozenset[_Obligation], char: _Signature | None
    ) -> frozenset[_Obligation] | None:
        """The obligations after one more character (None: the end); None if one of them can't be met any more."""
        left: set[_Obligation] = set()
        for negated, body in obligations:
            arrived, rest = self._advance_look(body, char)
            if arrived:
                if negated:
                    return None
            elif rest:
                left.add((negated, rest))
            elif not negated:
                return None
        return frozenset(left)

    def _advance_look(
        self, body: frozenset[_LookThread], char: _Signature | None
    ) -> tuple[bool, frozenset[_LookThread]]:
        ops = self._ops
        rest: set[_LookThread] = set()
        stack = list(body)
        visited: set[_LookThread] = set()
        while stack:
            thread = stack.pop()
            if thread in visited:
                continue
            visited.add(thread)
            pc, before = thread
            op = ops[pc]
            kind = op[0]
            if kind == CHAR:
                if char is not None and char[op[1]] and self._close_look(op[2], char, rest):
                    return True, frozenset()
                continue
            if kind == END_OF_TEXT:
                holds, following = char is None, op[1]
            else:  # WORD_EDGE
                word = self.program.word_class
                assert word is not None
                edge = (before is not None and before[word]) is not (char is not None and char[word])
                holds, following = edge is not op[1], op[2]
            if holds:
                here: set[_LookThread] = set()
                if self._close_look(following, before, here):
                    return True, frozenset()
                stack += here
        return False, frozenset(rest)

    # -- skipping -------------------------------------------------------------------------------------------------

    def run(self, state: State, text: str) -> Run | None:
        """What reading `text` does, if that was asked before: tokens come again, and other pieces cost too much."""
        key = (state, text)
        runs = self._runs
        if key not in runs:
            if len(runs) >= _MAX_RUNS:
                runs.clear()
            runs[key] = None
            return None
        made = runs[key] = runs[key] or self._run(state, text)
        return made

    def _run(self, state: State, text: str) -> Run:
        starts = marks = list(range(len(state.threads)))
        match: tuple[int, int] | None = None
        for place, char in enumerate(text, 1):
            made = state.by_char.get(char) or self.step(state, char)
            if made.match is not None:
                which, mark = made.match
                match = (starts[which] if which >= 0 else -place, marks[mark] if mark >= 0 else -place)
            starts = [starts[which] if which >= 0 else -place for which in made.source]
            if made.marks is not None:
                marks = [marks[which] if which >= 0 else -place for which in made.marks]
            state = made.state
            if state.final:
                text = text[:place]
                break
        return Run(text, state, tuple(starts), tuple(marks) if self.program.has_looks else None, match)

    def learn_jump(self, state: State) -> None:
        """If the state stays as it is for every character that none of its classes names, find those that it does."""
        state.looped = True
        if self.program.context_classes:
            return  # then a character matters even where it changes no thread
        other = self._step(state, "", self._other)
        if other.state is not state or not _is_settled(other):
            return
        used = {self._ops[pc][1] for pc, _ in state.threads if self._ops[pc][0] == CHAR}
        for _, obligations in state.threads:
            for _, body in obligations:
                used |= {self._ops[pc][1] for pc, _ in body if self._ops[pc][0] == CHAR}
        classes = [self._classes[index] for index in used]
        state.loop = other
        state.jump = _finder([one for one in classes if one.source])

    def _learn_head(self, state: State) -> None:
        """From a start state the head of the pattern is found as a whole, much faster than its first character."""
        head = self._head
        if head is None:
            return
        has_looks = self.program.has_looks
        anew = (_NEW,) * len(state.threads)
        state.loop = Run("", state, anew, anew if has_looks else None, None)
        kept = tuple(range(len(state.threads)))
        unchanged = Run("", state, kept, kept if has_looks else None, None)
        keeps = all(self._step(state, "", one) == unchanged for one in set(map(self.signature, head.skipped)))
        runs = {literal: self._run(state, literal) for literal in head.literals.literals}
        state.head = StartHead(head, runs, keeps)

    def learn_chain(self, state: State) -> None:
        """If the thread of the highest priority goes on with a certain text, find out what that does as a whole."""
        state.chained = True
        text = ""
        reached = state
        while reached.threads and len(text) < _MAX_CHAIN:
            kind, *arguments = self._ops[reached.threads[0][0]]
            one = self._classes[arguments[0]] if kind == CHAR else None
            if one is None or not one.is_single:
                break
            (char,) = one.chars
            made = self.step(reached, char)
            if made.match is not None or not made.state.threads or made.source[0] != 0:
                break
            text += char
            reached = made.state
        if len(text) > 2:
            state.chain = self._run(state, text)  # nothing matches on the way


def _is_settled(run: Run) -> bool:
    """Whether reading on in the same way changes only where the newest threads start and where the match ends."""
    source = run.source
    if run.match is not None:
        which, mark = run.match
        if which == _NEW or source[which] != which or mark != _NEW:
            return False
    return all(which == _NEW or source[which] == which for which in source)


def _finder(classes: list[Any]) -> Callable[[str, int], int]:
    source = "".join(one.source for one in classes)
    if not source:
        return _never
    chars = {char for one in classes for char in one.chars}
    if len(chars) == 1 and not any(one.ranges or one.categories for one in classes):
        (char,) = chars
        return _single_finder(char)
    plain = all(not one.categories for one in classes)
    search: Any = re.compile(f"[{source}]").search if plain else regex.compile(f"[{source}]", regex.V0).search

    def find(text: str, start: int) -> int:
        found = search(text, start)
        return -1 if found is None else int(found.start())

    return find


def _never(_text: str, _start: int) -> int:
    return -1


def _single_finder(char: str) -> Callable[[str, int], int]:
    def find(text: str, start: int) -> int:
        return text.find(char, start)

    return find
