# SPDX-License-Identifier: Apache-2.0
"""What a parser looks for while it is in one state: several delimiters at once, the earliest match wins.

At the same start the longest wins, then an open before a close, then the order of the entries (SPEC 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .automaton import Run
from .delimiter import Delimiter, Literals, Pattern, Search
from .literals import LiteralSet
from .scan import Scan

__all__ = ["Entry", "Hit", "PatternTimeoutError", "Watch", "WatchRun"]

TextFrom = Callable[[int], tuple[str, int]]


class Entry(NamedTuple):
    """A delimiter and what it does: open the field with that index, or (None) close what is open."""

    delimiter: Delimiter
    opens: int | None


class Hit(NamedTuple):
    """A match: where, and of which entry of the watch (its place in the order)."""

    start: int
    end: int
    rank: int


# What a piece of text does to each search; None where a search need not even read it now.
_Step = tuple[Run | None, ...]


class PatternTimeoutError(Exception):
    """Internal: the search for a pattern took too long, or too much memory."""

    def __init__(self, pattern: Pattern) -> None:
        super().__init__(pattern.pattern)
        self.pattern = pattern


_MAX_STEPS = 4_096


class Watch:
    """The compiled form, shared by parsers. `WatchRun(watch)` is one at work.

    Attributes:
        entries: the delimiters in their order.
        context: how far its patterns look back, in characters.
        literals: those of its literal delimiters, if any.
        only_pattern: its one delimiter, if that is a pattern.
        uses_begin: a pattern may ask whether it is at the begin of the text.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        """Of entries that match the same text the first wins."""
        self.entries = tuple(entries)
        self.ranks: dict[str, int] = {}
        self.patterns: list[tuple[int, Pattern]] = []
        for rank, entry in enumerate(self.entries):
            if isinstance(entry.delimiter, Literals):
                for literal in entry.delimiter.literals:
                    self.ranks.setdefault(literal, rank)
            elif isinstance(entry.delimiter, Pattern):
                self.patterns.append((rank, entry.delimiter))
        self.only_pattern = self.patterns[0][1] if len(self.patterns) == 1 and not self.ranks else None
        self.uses_begin = any(pattern.uses_begin for _, pattern in self.patterns)
        self.regular = all(pattern.is_regular for _, pattern in self.patterns)
        self.literals = LiteralSet(self.ranks) if self.ranks else None
        heads = [pattern.head for _, pattern in self.patterns if pattern.head and pattern.head.sure]
        # One of these is in every match of a pattern, after nothing but characters out of `skipped`.
        self.heads = LiteralSet(literal for head in heads for literal in head.literals.literals) if heads else None
        self.skipped = "".join({char for head in heads for char in head.skipped})
        self.all_have_heads = len(heads) == len(self.patterns)
        self.context: float = max((entry.delimiter.context for entry in self.entries), default=0)
        # Kept here for `shortcuts`, by the literals that end a generation.
        self.shortcuts: dict[tuple[str, ...], Any] = {}
        # What short pieces of text do to the states of all searches; for those that decide nothing.
        self.steps: dict[Any, _Step] = {}

    def heads_missing(self, text: str) -> bool:
        """Whether it is plain to see that no pattern matches anywhere in the text."""
        return self.all_have_heads and (self.heads is None or self.heads.find(text, 0, True)[1] < 0)


class WatchRun:
    """A watch at work in one text. What was found ahead is remembered, and no text is read twice for the same search.

    After `advance`, no match starts before `safe`.
    """

    __slots__ = ("_hit", "_literal_at", "_literal_hold", "_searches", "safe", "watch")

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._searches: list[Search] = [pattern.search() for _, pattern in watch.patterns]
        self._literal_at = 0  # literals are found up to here
        self._literal_hold = 0  # none starts before here that is not found
        self._hit: Hit | None = None
        self.safe = 0

    def restart(self, at: int, before: str | None) -> None:
        """Look from `at` on. `before`: as much of the text before it as `watch.context` asks, None at the begin."""
        self.safe = self._literal_at = self._literal_hold = at
        self._hit = None
        for search in self._searches:
            search.reset(at, before)

    def move_to(self, at: int, before: str | None) -> None:
        """Look from `at` on, since the text before it went to something else. What was found beyond it stays found."""
        self.safe = at
        if self._literal_hold < at:
            self._literal_at = self._literal_hold = at
            self._hit = None
        for search in self._searches:
            if search.hold < at:
                search.reset(at, before)

    def skip(self, hit: Hit, before: str | None) -> None:
        """This empty match is not wanted: its pattern is looked for one character further on."""
        for (rank, _), search in zip(self.watch.patterns, self._searches, strict=True):
            if rank == hit.rank:
                search.reset(hit.start + 1, before)

    def holds(self, text: str, end: int) -> bool:
        """Read the text, a short piece that begins at `end`, if it is known to decide nothing.

        True if so, and if nothing before it can be let go either: then `safe` is what it was. False tells nothing, not
        even whether it was read.
        """
        if self._hit is not None or (self._literal_hold < end and self.watch.literals is not None):
            return False
        searches: Any = self._searches
        if not self.watch.regular:
            return False
        key = (text, *[search.state for search in searches])
        steps = self.watch.steps
        runs = steps.get(key)
        if runs is None:
            runs = self._step(text)
            if runs is None:
                return False
            if len(steps) >= _MAX_STEPS:
                steps.clear()
            steps[key] = runs
        held = False
        for search, run in zip(searches, runs, strict=True):
            if run is not None:
                if search.at != end:
                    return False
                held = search.follow(run) <= self.safe or held
        self._literal_at = self._literal_hold = end + len(text)
        return held

    def _step(self, text: str) -> _Step | None:
        """What the text does to all searches; None if one is over with it, a literal may begin, or it is new to one."""
        literals = self.watch.literals
        if literals is not None and literals.find(text, 0, False)[0] < len(text):
            return None
        runs: list[Run | None] = []
        for search in self._searches:
            assert isinstance(search, Scan)
            if search.passes(text):
                runs.append(None)
                continue
            assert search.state is not None
            run = search.automaton.run(search.state, text)
            if run is None or search.state.final or run.state.final:
                return None
            runs.append(run)
        return tuple(runs)

    def advance(self, text_from: Callable[[int], tuple[str, int]], end: int, final: bool) -> Hit | None:
        """Read on up to `end`.

        Args:
            text_from: gives (text, base) where text holds everything from a position to `end`, text[0] being at base.
            end: how far the text has come.
            final: nothing comes after `end`.

        Returns:
            The match that wins, as soon as nothing that may still come can change that.

        Raises:
            PatternTimeoutError: a pattern takes too long.
        """
        best: Hit | None = None
        limit = end  # what is not decided yet starts here or later
        if self.watch.literals is not None:
            best = self._hit or self._find_literal(text_from, end, final)
            if best is None:
                limit = self._literal_hold
        text, base = "", end
        for (rank, pattern), search in zip(self.watch.patterns, self._searches, strict=True):
            found = search.found
            if found is None:
                at = search.at
                try:
                    if at < end:
                        if at < base:  # mostly all of them are equally far
                            text, base = text_from(at)
                        search.scan(text, at - base, base)
                    if final and at <= end:
                        search.finish()
                except (TimeoutError, MemoryError):
                    raise PatternTimeoutError(pattern) from None
                found = search.found
                if found is None:
                    hold = search.hold
                    if hold < limit:
                        limit = hold
                    continue
            start, stop = found
            if start > end:
                continue  # one that is skipped at the end, and looked for where the next character will be
            if best is None or (start, -stop, rank) < (best.start, -best.end, best.rank):
                best = Hit(start, stop, rank)
        if best is not None and (final or best.start < limit):
            self.safe = best.start
            return best
        self.safe = end if final else limit if best is None else min(limit, best.start)
        return None

    def _find_literal(self, text_from: Callable[[int], tuple[str, int]], end: int, final: bool) -> Hit | None:
        literals = self.watch.literals
        assert literals is not None
        if self._literal_at >= end and not (final and self._literal_hold < end):
            return None
        text, base = text_from(self._literal_hold)
        start, stop = literals.find(text, self._literal_hold - base, final)
        self._literal_at = end
        self._literal_hold = base + start
        if stop >= 0:
            self._hit = Hit(base + start, base + stop, self.watch.ranks[text[start:stop]])
        return self._hit

    def save(self) -> Any:
        """Plain picklable data for `restore`."""
        searches = [search.save() for search in self._searches]
        return (self.safe, self._literal_at, self._literal_hold, self._hit, searches)

    def restore(self, saved: Any) -> None:
        """Become the run (of the same watch) that was saved."""
        self.safe, self._literal_at, self._literal_hold, self._hit, searches = saved
        for search, state in zip(self._searches, searches, strict=True):
            search.restore(state)
