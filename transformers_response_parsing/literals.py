# SPDX-License-Identifier: Apache-2.0
"""Searching for any of several literal strings in a text that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["LiteralSet"]


class LiteralSet:
    """Several literals, of which the earliest counts, and at the same start the longest.

    Attributes:
        first_chars: the characters they begin with.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        ordered = sorted(set(literals), key=lambda literal: (-len(literal), literal))
        self.literals = tuple(ordered)
        self.first_chars = frozenset(literal[0] for literal in ordered)
        self._longest = len(ordered[0])
        self._single = ordered[0] if len(ordered) == 1 else None
        self._search: Any = re.compile(_alternation(ordered)).search
        self._begin: Any = re.compile(f"[{''.join(re.escape(char) for char in sorted(self.first_chars))}]").search
        self._unfinished = frozenset(literal[:end] for literal in ordered for end in range(1, len(literal)))

    def find(self, text: str, index: int, final: bool) -> tuple[int, int]:
        """Look in `text[index:]`; `final` if nothing follows.

        Returns:
            (start, end) of the match that counts; or (hold, -1) if there is none (yet): no match starts before hold.
        """
        single = self._single
        if single is not None:
            start = text.find(single, index)
            end = start + len(single)
        else:
            match = self._search(text, index)
            start, end = (-1, -1) if match is None else match.span()
        size = len(text)
        if final:
            return (start, end) if start >= 0 else (size, -1)
        # A literal that is still incomplete begins in the last `longest - 1` characters.
        place = max(index, size - self._longest + 1)
        last = size if start < 0 else start + 1 if single is None else 0
        while place < last:
            found = self._begin(text, place, last)
            if found is None:
                break
            place = found.start()
            if text[place:] in self._unfinished:
                return place, -1
            place += 1
        return (start, end) if start >= 0 else (size, -1)


def _alternation(literals: Sequence[str]) -> str:
    """One expression for all; a shared first character is taken out, which lets the engine skip to it."""
    if len({literal[0] for literal in literals}) == 1:
        rest = "|".join(re.escape(literal[1:]) for literal in literals)
        return f"{re.escape(literals[0][0])}(?:{rest})"
    return "|".join(map(re.escape, literals))
