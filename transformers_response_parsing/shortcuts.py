# SPDX-License-Identifier: Apache-2.0
"""What a chunk does while a region machine holds nothing back, or only a few characters: told without the machine.

Most text has no delimiter in it, which a look for a few characters tells (`Sentinels`). What is left, pieces of delimiters
above all, comes again and again: what a chunk does is remembered for what was held back before it (`Shortcuts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from .delimiter import Pattern
from .literals import LiteralSet
from .watch import PatternTimeoutError, Watch, WatchRun

__all__ = ["MAX_HELD", "Held", "Sentinels", "Shortcuts", "Step", "Taken", "shortcuts"]

# Of a delimiter that is longer in coming the machine takes care, which never reads it twice.
MAX_HELD = 256
_MAX_PIECE = 32
_MAX_STEPS = 4_096
_MAX_ENDS = 64
_RARE = "\0" * 100


class Sentinels:
    """Tells of a piece of text, without the searches at work, that no delimiter is in it, and where one may begin.

    A text goes by at once if it has neither `first` nor `second` in it and does not end with one of `trailing`; for any
    other, `find` tells more. Both hold where nothing before the text may have begun a delimiter.
    """

    __slots__ = ("_led", "_literals", "_looks_back", "_patterns", "_plain", "first", "second", "trailing")

    def __init__(self, literals: Iterable[str], patterns: Iterable[Pattern]) -> None:
        """Literals, and patterns all of which have a head."""
        plain = frozenset(literals)
        heads = [pattern.head for pattern in patterns if pattern.head is not None]
        wanted = plain.union(*(head.literals.literals for head in heads))
        self._plain = LiteralSet(plain) if plain else None
        self._literals = LiteralSet(wanted) if wanted else None
        self.trailing = "".join(sorted({char for head in heads for char in head.skipped}))
        # If all leads are alike and the heads exact, what may begin one after a lead is a matter of looking it up.
        led = [head for head in heads if head.skipped]
        alike = all(head.exact for head in heads) and len({head.skipped for head in led}) <= 1
        self._led = (
            frozenset(text[:end] for head in led for text in head.led for end in range(1, len(text) + 1))
            if alike
            else None
        )
        self._patterns = tuple(patterns)
        # What is before the text, which is not known here, tells then.
        self._looks_back = any(pattern.context for pattern in self._patterns)
        firsts = sorted({literal[0] for literal in wanted})
        # Every text contains "" (so it is looked at), and hardly one a hundred NULs (so nothing is).
        self.first, self.second = ("", "") if len(firsts) > 2 else (firsts[0], firsts[-1]) if firsts else (_RARE, _RARE)

    def find(self, text: str) -> int:
        """Where what may be a delimiter begins, the length of the text if nowhere; -1 if the search has to decide."""
        size = len(text)
        if self._literals is None:
            return size
        start, stop = self._literals.find(text, 0, False)
        if stop >= 0:
            return -1
        hold = start
        if self.trailing:
            if text[-1] in self.trailing:
                hold = min(hold, len(text.rstrip(self.trailing)))
            if (
                0 < start < size
                and text[start - 1] in self.trailing
                and (self._led is None or text[start:] in self._led)
            ):
                hold = min(hold, len(text[:start].rstrip(self.trailing)))
        if hold == size or self._led is not None:
            return hold
        return -1 if self._looks_back else self._hold(text, hold)

    def _hold(self, text: str, start: int) -> int:
        """The exact answer for the few characters at the end of the text."""
        hold = len(text) if self._plain is None else self._plain.find(text, start, False)[0]
        for pattern in self._patterns:
            search = pattern.search()
            search.reset(start, "")
            search.scan(text, start, 0)
            if search.found is not None or search.hold < start:
                return -1
            hold = min(hold, search.hold)
        return hold


class Taken(NamedTuple):
    """A delimiter that matched: which of the watch, its length, its named groups, and the text behind it."""

    rank: int
    length: int
    groups: Mapping[str, str]
    rest: str


class Step(NamedTuple):
    """What a chunk does: text up to `passed` belongs to the region; then a delimiter is `taken`, or some text is `held` back.

    With neither, the machine has to decide.
    """

    passed: str
    held: Held | None
    taken: Taken | None


class Held:
    """The text that is held back, since it may be the beginning of a delimiter; and what chunks do behind it."""

    __slots__ = ("steps", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps: dict[str, Step | None] = {}


_ASK = Step("", None, None)


class Shortcuts:
    """What chunks do under a watch, where `end` literals end all. Shared between parsers and threads.

    Attributes:
        sentinels: the quick look; None if a delimiter can begin in too many ways.
    """

    def __init__(self, watch: Watch, end: LiteralSet | None) -> None:
        self._watch = watch
        self._end = end
        # They stand behind the begin of the text.
        patterns = [pattern for _, pattern in watch.patterns if not pattern.only_at_begin]
        self.sentinels: Sentinels | None = None
        if all(pattern.head is not None for pattern in patterns):
            self.sentinels = Sentinels({*watch.ranks, *(() if end is None else end.literals)}, patterns)
        self._known: dict[str, Held] = {}
        self._count = 0
        self.nothing = self.held("")

    def held(self, text: str) -> Held:
        """The one with that text."""
        known = self._known.get(text)
        return self._known.setdefault(text, Held(text)) if known is None else known

    def learn(self, held: Held, text: str) -> Step | None:
        """What the chunk does, if that was asked before: most come again, and any other would cost too much."""
        if len(text) > _MAX_PIECE or self._watch.context:
            return None
        if text not in held.steps:
            self._note(held, text)
            return None
        made = held.steps[text] = self._read(held.text + text)
        return made

    def followed(self, held: Held, text: str) -> Held | None:
        """The machine is at work on the chunk: what is held then, if it holds all. None if that is too much."""
        if len(held.text) + len(text) > MAX_HELD or self._watch.context:
            return None
        if text not in held.steps and len(text) <= _MAX_PIECE:
            self._note(held, text)
        return self.held(held.text + text)

    def _note(self, held: Held, text: str) -> None:
        """The chunk came for the first time."""
        self._count += 1
        if self._count > _MAX_STEPS:
            self._count = 0
            self._known = {"": self.nothing}
            self.nothing.steps.clear()
        held.steps[text] = None

    def _read(self, text: str) -> Step:
        """What a text does of which nothing was read yet."""
        there = text
        if self._end is not None:
            start, stop = self._end.find(text, 0, False)
            if stop >= 0:
                return _ASK
            there = text[:start]
        watch = self._watch
        run = WatchRun(watch)
        run.restart(0, "")
        try:
            hit = run.advance(lambda _: (there, 0), len(there), False)
            if hit is None:
                rest = text[run.safe :]
                return _ASK if len(rest) > MAX_HELD else Step(text[: run.safe], self.held(rest), None)
            if hit.end == hit.start:
                return _ASK
            delimiter = watch.entries[hit.rank].delimiter
            groups: dict[str, str] = {}
            if delimiter.groups and isinstance(delimiter, Pattern):
                groups = delimiter.captures(there, hit.start, hit.end)
        except (PatternTimeoutError, TimeoutError, MemoryError):
            return _ASK
        return Step(text[: hit.start], None, Taken(hit.rank, hit.end - hit.start, groups, text[hit.end :]))


def shortcuts(watch: Watch, end: LiteralSet | None) -> Shortcuts:
    """The shortcuts for the watch and the end literals, made once."""
    key = () if end is None else end.literals
    known: Shortcuts | None = watch.shortcuts.get(key)
    if known is None:
        if len(watch.shortcuts) >= _MAX_ENDS:
            watch.shortcuts.clear()
        known = watch.shortcuts.setdefault(key, Shortcuts(watch, end))
    return known
