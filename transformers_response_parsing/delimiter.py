# SPDX-License-Identifier: Apache-2.0
"""Delimiters (literals or a pattern) and anchors, and the searches for a pattern in a text that arrives in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from time import monotonic
from typing import Any, Protocol

import regex

from . import limits
from .automaton import Automaton
from .pattern_head import Head, only_at_begin, pattern_head
from .pattern_syntax import compile_program, looks_back, parse_pattern, reach, repetitions
from .scan import Scan

__all__ = [
    "Anchor",
    "Delimiter",
    "Literals",
    "Pattern",
    "Search",
    "literal_anchor",
    "literal_delimiter",
    "pattern_anchor",
    "pattern_delimiter",
]


_SHORT = 500


class Search(Protocol):
    """One search for a pattern through a text that comes in pieces. Positions are those of the whole text.

    `at` is how far the text was read. No match starts before `hold`. `found` is the (start, end) of the match that the
    whole text gives, once that is certain; with it the search is over.
    """

    at: int
    found: tuple[int, int] | None

    @property
    def hold(self) -> int:
        """No match starts before this position."""

    def reset(self, at: int, before: str | None) -> None:
        """Search from `at` on. `before`: the text before it that the pattern may look back on; None at the begin."""

    def scan(self, text: str, index: int, base: int) -> None:
        """Read `text[index:]`; `text[0]` is at position `base`, and `base + index` must be `at`."""

    def finish(self) -> None:
        """The text ends where it was read to."""

    def save(self) -> Any:
        """What `restore` needs, as plain picklable data."""

    def restore(self, saved: Any) -> None:
        """Become the search that was saved."""


class Delimiter:
    """What opens or closes a region.

    Attributes:
        path: where in the template it stands (`fields.content.close`).
        groups: names of its named groups.
        context: characters before a match that it may look back on (`math.inf`: all).
        warnings: what is not portable or risky about it.
    """

    warnings: tuple[str, ...] = ()
    path: str
    groups: frozenset[str]
    context: float


class Literals(Delimiter):
    """One or several literal strings."""

    def __init__(self, literals: Sequence[str], path: str) -> None:
        self.literals = tuple(dict.fromkeys(literals))
        self.path = path
        self.groups = frozenset()
        self.context = 0

    def __repr__(self) -> str:
        return f"Literals({list(self.literals)!r})"


class Pattern(Delimiter):
    """A regular expression of the `regex` module (Unicode, DOTALL, no MULTILINE)."""

    def __init__(self, pattern: str, path: str) -> None:
        self.pattern = pattern
        self.path = path
        self.compiled = _compile(pattern)
        self.groups = frozenset(self.compiled.groupindex)
        program = compile_program(pattern)
        self.head: Head | None = None if program is None else pattern_head(program)
        self.uses_begin = program is None or program.uses_begin
        self.only_at_begin = program is not None and only_at_begin(program)
        self._automaton = (
            None if program is None else Automaton(program, None if program.context_classes else self.head)
        )
        # The power of the text's length that bounds the steps of a match from one place.
        self.effort = inf
        self._is_local = False  # nothing outside of a match matters
        if program is None:
            self._reach, self.context = _window(pattern)
        else:
            self.context = 1 if looks_back(program) else 0
            self.effort = repetitions(parse_pattern(pattern))
            self._is_local = not (program.has_looks or self.context or self.uses_begin)

    def __repr__(self) -> str:
        return f"Pattern({self.pattern!r})"

    @property
    def is_regular(self) -> bool:
        """Whether its searches are those of an automaton."""
        return self._automaton is not None

    def search(self) -> Search:
        """A new search for this pattern; `reset` it first."""
        if self._automaton is not None:
            return Scan(self._automaton)
        return WindowSearch(self.compiled, self._reach, self.context)

    def captures(self, text: str, start: int, end: int) -> dict[str, str]:
        """The named groups that took part in the match at `text[start:end]`, as name -> text.

        Raises:
            TimeoutError: the match takes longer than `limits.SEARCH_TIMEOUT`.
        """
        if self._is_local and (self.effort <= 1 or (self.effort <= 2 and end - start <= _SHORT)):
            # To watch the time costs ten times what most matches do.
            match = self.compiled.fullmatch(text, start, end)
        else:
            timeout = limits.SEARCH_TIMEOUT
            match = self.compiled.match(text, start, timeout=timeout)
            if match is None or match.end() != end:
                # The text goes on only as far as it has come; what is known is where the match ends.
                match = self.compiled.fullmatch(text, start, end, timeout=timeout)
        if match is None:
            return {}
        return {name: value for name, value in match.groupdict().items() if value is not None}


class WindowSearch:
    """A search for a pattern that is not regular, with the `regex` module.

    A match or its absence at a place is certain once all that the pattern can see from there has come. That is a window
    of the pattern's greatest width; if it has none, nothing is certain before the end of the text.
    """

    def __init__(self, compiled: Any, width: float, context: float) -> None:
        self._compiled = compiled
        self._width = width
        self._context = context
        self.at = 0
        self.found: tuple[int, int] | None = None
        self._from = 0  # no match starts before
        self._text = ""
        self._base = 0

    @property
    def hold(self) -> int:
        """No match starts before this position."""
        return self._from if self.found is None else self.found[0]

    def reset(self, at: int, before: str | None) -> None:
        """Search from `at` on; see `Search.reset`."""
        self._text = before or ""
        self._base = at - len(self._text)
        self._from = self.at = at
        self.found = None

    def scan(self, text: str, index: int, base: int) -> None:
        """Read `text[index:]`; see `Search.scan`."""
        if self.found is not None:
            return
        self._text += text[index:]
        self.at = base + len(text)
        certain = self.at - self._width  # matches that start here or before are certain
        if certain < self._from:
            return
        match = self._search()
        if match is None or self._base + match.start() > certain:
            self._from = int(certain) + 1
            drop = self._from - self._context - self._base
            if drop > len(self._text) // 2:
                self._text = self._text[int(drop) :]
                self._base += int(drop)
        else:
            self._take(match)

    def finish(self) -> None:
        """The text ends here; see `Search.finish`."""
        if self.found is None:
            match = self._search()
            if match is not None:
                self._take(match)
            else:
                self._from = self.at

    def _search(self) -> Any:
        return self._compiled.search(self._text, self._from - self._base, timeout=limits.SEARCH_TIMEOUT)

    def _take(self, match: Any) -> None:
        self.found = (self._base + match.start(), self._base + match.end())
        self._from = self.found[0]

    def save(self) -> Any:
        """Plain data for `restore`."""
        return (self.at, self.found, self._from, self._text, self._base)

    def restore(self, saved: Any) -> None:
        """Become the search that was saved."""
        self.at, self.found, self._from, self._text, self._base = saved


class Anchor:
    """Where the current assistant message starts inside a prompt: after the last match."""

    def __init__(self, literals: tuple[str, ...], pattern: str | None, path: str) -> None:
        self.literals = literals
        self.pattern = pattern
        self.path = path
        self._compiled = None if pattern is None else _compile(pattern)

    def __repr__(self) -> str:
        return f"Anchor({self.pattern if self._compiled else list(self.literals)!r})"

    def cut(self, prefix: str) -> int | None:
        """The offset in `prefix` just after the last match, or None if there is none.

        Of several literals the match that ends last counts. Literals cost one search from the right each.

        Raises:
            TimeoutError: a pattern takes longer than `limits.SEARCH_TIMEOUT`.
        """
        if self._compiled is None:
            places = [(place, len(literal)) for literal in self.literals if (place := prefix.rfind(literal)) >= 0]
            return max((place + length for place, length in places), default=None)
        last = None
        deadline = monotonic() + limits.SEARCH_TIMEOUT
        for match in self._compiled.finditer(prefix, timeout=limits.SEARCH_TIMEOUT):
            last = match.end()
            if monotonic() > deadline:
                raise TimeoutError
        return last


def literal_delimiter(literals: Sequence[str], path: str) -> Literals:
    """A delimiter that is one of the (non-empty) literals, `path` being where it stands in the template."""
    return Literals(literals, path)


def pattern_delimiter(pattern: str, path: str) -> Pattern:
    """A delimiter given as a regular expression.

    Raises:
        regex.error: the pattern is not one.
    """
    return Pattern(pattern, path)


def literal_anchor(literals: Sequence[str], path: str) -> Anchor:
    """An anchor that is one of the (non-empty) literals."""
    return Anchor(tuple(literals), None, path)


def pattern_anchor(pattern: str, path: str) -> Anchor:
    """An anchor given as a regular expression.

    Raises:
        regex.error: the pattern is not one.
    """
    return Anchor((), pattern, path)


def _compile(pattern: str) -> Any:
    return regex.compile(pattern, regex.DOTALL, cache_pattern=False)


def _window(pattern: str) -> tuple[float, float]:
    """How far beyond and before the start of a match a pattern can look; inf where there is no bound or none is known."""
    tree = parse_pattern(pattern)
    return (inf, inf) if tree is None else reach(tree)
