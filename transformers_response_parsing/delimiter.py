# SPDX-License-Identifier: Apache-2.0
"""Delimiters (literals or a pattern) and anchors, and the searches for a pattern in a text that arrives in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any, Protocol

import regex

from . import limits
from .automaton import Automaton
from .pattern_head import Head, only_at_begin, pattern_head
from .pattern_syntax import compile_program, looks_back, parse_pattern, program_outline, reach, repetitions
from .scan import Scan
from .window_search import WindowSearch, edge_of

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
        outline = program or program_outline(pattern)
        self.head: Head | None = None if outline is None else pattern_head(outline)
        if program is None and self.head is not None:
            self.head = replace(self.head, exact=False)
        self.uses_begin = program is None or program.uses_begin
        self.only_at_begin = outline is not None and only_at_begin(outline)
        self._automaton = (
            None if program is None else Automaton(program, None if program.context_classes else self.head)
        )
        # The power of the text's length that bounds the steps of a match from one place.
        self.effort = inf
        self._is_local = False  # nothing outside of a match matters
        if program is None:
            tree = parse_pattern(pattern)
            self._reach, self.context = (inf, inf) if tree is None else reach(tree)
            self._edge = None if tree is None else edge_of(pattern, tree)
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
        return WindowSearch(self.compiled, self._reach, self.context, self._edge)

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


class Anchor:
    """Where the current assistant message starts inside a prompt: after the last match."""

    def __init__(self, literals: tuple[str, ...], pattern: str | None, path: str) -> None:
        self.literals = literals
        self.pattern = pattern
        self.path = path
        self._compiled = None if pattern is None else _compile(pattern)

    def __repr__(self) -> str:
        return f"Anchor({self.pattern if self._compiled else list(self.literals)!r})"

    @property
    def shown(self) -> str:
        """The anchor as it stands in a message."""
        return f"a match of {self.pattern!r}" if self._compiled else " or ".join(map(repr, self.literals))

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
