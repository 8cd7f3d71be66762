# SPDX-License-Identifier: Apache-2.0
"""The part of a stream that is not decided yet, addressed by positions of the whole text."""

from __future__ import annotations

from bisect import bisect_right

__all__ = ["TextBuffer"]


class TextBuffer:
    """Pieces of text as they came. Adding one costs nothing that grows with what is held.

    `end` is the position after the last character.
    """

    __slots__ = ("_bases", "_pieces", "end")

    def __init__(self, start: int = 0) -> None:
        self._pieces: list[str] = []
        self._bases: list[int] = []
        self.end = start

    def append(self, text: str) -> None:
        """Add text at the end."""
        self._pieces.append(text)
        self._bases.append(self.end)
        self.end += len(text)

    def text_from(self, position: int) -> tuple[str, int]:
        """(text, base): text holds what is there from `position` on, text[0] being at position base <= position."""
        bases = self._bases
        if not bases:
            return "", position
        if position >= bases[-1]:
            return self._pieces[-1], bases[-1]
        first = max(0, bisect_right(bases, position) - 1)
        return "".join(self._pieces[first:]), bases[first]

    def slice(self, start: int, stop: int) -> str:
        """The text from position `start` to `stop`."""
        bases = self._bases
        if bases and start >= bases[-1]:
            base = bases[-1]
            return self._pieces[-1][start - base : stop - base]
        if len(bases) > 1:
            # A long stretch is asked for piece by piece only until it is joined once.
            self._pieces, self._bases = ["".join(self._pieces)], [bases[0]]
        if not bases:
            return ""
        base = bases[0]
        return self._pieces[0][max(0, start - base) : stop - base]

    def drop(self, position: int) -> None:
        """Forget what is before `position`."""
        bases = self._bases
        if position >= self.end:
            self._pieces, self._bases = [], []
        elif bases and position > bases[0]:
            kept = self.slice(position, self.end)
            self._pieces, self._bases = [kept], [position]

    def truncate(self, position: int) -> None:
        """Forget what is at `position` and after."""
        text, base = self.text_from(self._bases[0] if self._bases else position)
        self._pieces, self._bases = [text[: position - base]], [base]
        self.end = position

    def restart(self, position: int) -> None:
        """Be empty at `position`: what was there went by without coming through here."""
        self._pieces, self._bases = [], []
        self.end = position
