# SPDX-License-Identifier: Apache-2.0
"""A watch at work in a text that is all there: the `regex` module searches, as long as that is quick."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic
from typing import Any

from .delimiter import Pattern
from .watch import Hit, Watch, WatchRun

__all__ = ["Patience", "WholeRun", "groups_of"]

# What the automaton would need, about, so that a search in vain costs no more than the one that follows it.
_LEAST_PATIENCE = 0.001
_PATIENCE_A_CHARACTER = 3e-7
_FEW_STEPS = 1_000_000


class Patience:
    """How much longer the searches in one text may take before the automaton goes on: it is never slow, but seldom as
    quick. Both find the same.

    Attributes:
        left: seconds.
    """

    __slots__ = ("_most_effort", "left")

    def __init__(self, length: int) -> None:
        self.left = _LEAST_PATIENCE + _PATIENCE_A_CHARACTER * length
        # The power of the length that is still no more than a few steps.
        self._most_effort = math.log(_FEW_STEPS) / math.log(max(2, length))

    def search(self, pattern: Pattern, text: str, at: int) -> Any:
        """The first match of the pattern from `at` on, or None.

        Raises:
            TimeoutError, MemoryError: that can't be told soon.
        """
        head, effort = pattern.head, pattern.effort
        if head is not None and head.sure:
            start, stop = head.literals.find(text, at, True)
            if stop < 0:
                return None
            at = at + len(text[at:start].rstrip(head.skipped)) if head.skipped else start
            if not head.skipped and effort <= self._most_effort:
                begun = monotonic()
                match = pattern.compiled.match(text, at)
                self.left -= monotonic() - begun
                if match is not None:
                    return match
                at += 1
        if self.left <= 0:
            raise TimeoutError
        begun = monotonic()
        try:
            if effort + 1 <= self._most_effort:  # to watch the time costs more than most searches do
                return pattern.compiled.search(text, at)
            return pattern.compiled.search(text, at, timeout=self.left)
        finally:
            self.left -= monotonic() - begun


def groups_of(match: Any) -> dict[str, str]:
    """The named groups of a match that took part."""
    groups: dict[str, Any] = match.groupdict()
    if None in groups.values():
        return {name: value for name, value in groups.items() if value is not None}
    return groups


class WholeRun(WatchRun):
    """A `WatchRun` over a text that is all there, behind which `beyond` follows while it is not `final`.

    Attributes:
        match: of the pattern that the last hit is of; None if that was a literal.
    """

    __slots__ = ("_beyond", "_exact", "_floors", "_found", "_from", "_literal", "_patience", "_text", "match")

    def __init__(self, watch: Watch, patience: Patience, beyond: str) -> None:
        self.watch = watch
        self.safe = self._from = 0
        self.match: Any = None
        self._patience = patience
        self._beyond = beyond  # the whole text, with what ends the generation
        self._exact = False
        self._forget(beyond)

    def _forget(self, text: str) -> None:
        """Nothing is found yet in the text."""
        self._text = text
        self._literal: tuple[int, int] | None = None
        count = len(self.watch.patterns)
        self._found: list[Any] = [_UNKNOWN] * count
        self._floors = [0] * count  # a pattern is looked for no earlier

    def find(self, at: int) -> Hit | None:
        """The first match from `at` on in the text with what is `beyond`.

        Raises:
            TimeoutError, MemoryError: that can't be told soon; `advance` can.
        """
        self._from = at
        return self._next()

    def groups(self) -> dict[str, str]:
        """The named groups that took part in the last match."""
        return {} if self.match is None else groups_of(self.match)

    def restart(self, at: int, before: str | None) -> None:
        """See `WatchRun.restart`."""
        self.safe = self._from = at
        if self._exact:
            super().restart(at, before)

    def move_to(self, at: int, before: str | None) -> None:
        """See `WatchRun.move_to`."""
        self.safe = self._from = at
        if self._exact:
            super().move_to(at, before)

    def skip(self, hit: Hit, before: str | None) -> None:
        """See `WatchRun.skip`."""
        if self._exact:
            super().skip(hit, before)
            return
        for index, (rank, _) in enumerate(self.watch.patterns):
            if rank == hit.rank:
                self._floors[index] = hit.start + 1

    def advance(self, text_from: Callable[[int], tuple[str, int]], end: int, final: bool) -> Hit | None:
        """See `WatchRun.advance`. What is not final is decided as `beyond` has it."""
        if self._exact:
            return super().advance(text_from, end, final)
        text = text_from(0)[0] if final else self._beyond
        if text is not self._text:
            floors = self._floors
            self._forget(text)
            self._floors = floors
        try:
            best = self._next()
        except (TimeoutError, MemoryError):
            self._go_exact()
            return super().advance(text_from, end, final)
        if best is None:
            self.safe = end
            return None
        self.safe = min(best.start, end)
        return best if final or (best.start < end and best.end <= end) else None

    def _next(self) -> Hit | None:
        """The next match in the text."""
        text, at, watch = self._text, self._from, self.watch
        best: Hit | None = None
        self.match = None
        if watch.literals is not None:
            literal = self._literal
            if literal is None or literal[0] < at:
                self._literal = literal = watch.literals.find(text, at, True)
            start, stop = literal
            if stop >= 0:
                best = Hit(start, stop, watch.ranks[text[start:stop]])
        found, patience = self._found, self._patience
        for index, (rank, pattern) in enumerate(watch.patterns):
            match = found[index]
            if match is _UNKNOWN or (match is not None and match.start() < max(at, self._floors[index])):
                first = max(at, self._floors[index])
                # (`regex` takes a place behind the end for the end.)
                match = found[index] = patience.search(pattern, text, first) if first <= len(text) else None
            if match is not None:
                start, stop = match.span()
                if best is None or (start, -stop, rank) < (best.start, -best.end, best.rank):
                    best = Hit(start, stop, rank)
                    self.match = match
        return best

    def _go_exact(self) -> None:
        """Let the automaton search from here on."""
        self._exact = True
        self._patience.left = 0
        super().__init__(self.watch)
        super().restart(self._from, self._before(self._from))
        for search, floor in zip(self._searches, self._floors, strict=True):
            if floor > self._from:
                search.reset(floor, self._before(floor))

    def _before(self, position: int) -> str | None:
        context = self.watch.context
        if not context or not position:
            return "" if position else None
        return self._text[int(max(0, position - context)) : position]

    def save(self) -> Any:
        """See `WatchRun.save`."""
        return (self._exact, self.safe, super().save() if self._exact else None)

    def restore(self, saved: Any) -> None:
        """See `WatchRun.restore`."""
        exact, self.safe, state = saved
        if exact:
            super().restore(state)
        elif self._exact:
            super().restart(self.safe, self._before(self.safe))


_UNKNOWN: Any = object()
