# SPDX-License-Identifier: Apache-2.0
"""Searching for any of several literal strings in a text that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["LiteralSet"]

_LONG = 256


class LiteralSet:
    """Several literals, of which the earliest counts, and at the same start the longest.

    Attributes:
        literals: the literals, the longest first.
        first: the character they all begin with, or "".
    """

    def __init__(self, literals: Iterable[str]) -> None:
        ordered = sorted(set(literals), key=lambda literal: (-len(literal), literal))
        self.literals = tuple(ordered)
        firsts = {literal[0] for literal in ordered}
        self.first = firsts.pop() if len(firsts) == 1 else ""
        self._longest = len(ordered[0])
        self._single = ordered[0] if len(ordered) == 1 else None
        self._whole: Any = re.compile(_alternation(ordered)).search
        self._begun: Any = re.compile(_begun(ordered)).search
        # Complete ones that no more text can make longer.
        self._done = frozenset(
            literal
            for literal in ordered
            if not any(other != literal and other.startswith(literal) for other in ordered)
        )
        self._known = frozenset(ordered)

    def find(self, text: str, index: int, final: bool) -> tuple[int, int]:
        """Look in `text[index:]`; `final` if nothing follows.

        Returns:
            (start, end) of the match that counts; or (hold, -1) if there is none (yet): no match starts before hold.
        """
        if final:
            return self._complete(text, index)
        tail = len(text) - self._longest
        if tail - index > _LONG:
            # What may be the beginning of a literal can only be at the end.
            start, stop = self._complete(text, index)
            if stop >= 0 and start <= tail:
                return start, stop
            index = tail + 1
        match = self._begun(text, index)
        if match is None:
            return len(text), -1
        start, end = match.span()
        if end < len(text) or match.group() in self._done:
            return start, end
        return start, -1

    def _complete(self, text: str, index: int) -> tuple[int, int]:
        if self._single is not None:
            start = text.find(self._single, index)
            return (start, start + len(self._single)) if start >= 0 else (len(text), -1)
        match = self._whole(text, index)
        return (len(text), -1) if match is None else match.span()


def _alternation(literals: Sequence[str]) -> str:
    """One expression for all; a shared first character is taken out, which lets the engine skip to it."""
    if len({literal[0] for literal in literals}) == 1:
        rest = "|".join(re.escape(literal[1:]) for literal in literals)
        return f"{re.escape(literals[0][0])}(?:{rest})"
    return "|".join(map(re.escape, literals))


def _begun(literals: Sequence[str]) -> str:
    r"""One expression for each literal, and for any beginning of one that the text ends with: `a(?:b(?:c|\Z)|\Z)`."""
    tree: dict[str, Any] = {}
    for literal in literals:
        node = tree
        for char in literal:
            node = node.setdefault(char, {})
        node[""] = {}
    return _branches(tree, "")


def _branches(node: dict[str, Any], stop: str) -> str:
    complete = "" in node
    branches = [re.escape(char) + _branches(below, r"|\Z") for char, below in node.items() if char]
    if not branches:
        return ""
    if len(branches) == 1 and not stop:
        return branches[0]
    return f"(?:{'|'.join(branches)}{stop}{'|' if complete else ''})"
