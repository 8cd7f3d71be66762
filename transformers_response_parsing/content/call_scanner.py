# SPDX-License-Identifier: Apache-2.0
"""Finds where a list of calls in Python syntax ends that is followed by other text."""

from __future__ import annotations

import re

__all__ = ["CallScanner"]

_SPACE = re.compile(r"[ \t\n\r]*")
_RUN = {"": re.compile(r"[^\[\](){}'\"]*"), "'": re.compile(r"[^'\\]*"), '"': re.compile(r'[^"\\]*')}
_OPENERS = {")": "(", "]": "[", "}": "{"}
_NEVER = -1


class CallScanner:
    """One list, fed once in any pieces; each character is looked at once.

    Only brackets and strings count. Text that is no list in other ways is found out when it is read. A list whose brackets
    do not fit never ends.

    Attributes:
        settled: how many of the characters that were fed are part of the list, whatever comes next.
    """

    __slots__ = ("_end", "_escape", "_max_depth", "_quote", "_stack", "settled")

    def __init__(self, max_depth: int) -> None:
        self._max_depth = max_depth
        self._stack: list[str] = []
        self._quote = ""  # of the string that is open
        self._escape = False  # a backslash has begun an escape
        self._end: int | None = None
        self.settled = 0

    def document_end(self, final: bool = False) -> int | None:  # noqa: ARG002 - as in JsonScanner
        """How many characters had been fed where the list ended; None if it has not. `final` changes nothing."""
        return None if self._end == _NEVER else self._end

    def feed(self, text: str, start: int = 0) -> None:
        """Go on with `text[start:]`."""
        at, before = start, self.settled - start
        while at < len(text) and self._end is None:
            if self._escape:
                self._escape = False
                at += 1
                continue
            run = _RUN[self._quote] if self._stack else _SPACE
            at = run.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string
            if at < len(text):
                at += 1
                self._mark(text[at - 1], at + before)
        self.settled = self._end if self._end is not None and self._end != _NEVER else len(text) + before

    def _mark(self, char: str, after: int) -> None:
        """A character that is more than part of a run, `after` being how many were fed with it."""
        stack = self._stack
        if self._quote:
            self._escape = char == "\\"
            self._quote = "" if char == self._quote else self._quote
        elif char in "'\"" and stack:
            self._quote = char
        elif char in "[({" and len(stack) < self._max_depth and (stack or char == "["):
            stack.append(char)
        elif char in _OPENERS and stack and stack[-1] == _OPENERS[char]:
            stack.pop()
            self._end = None if stack else after
        else:
            self._end = _NEVER
