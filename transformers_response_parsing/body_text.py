# SPDX-License-Identifier: Apache-2.0
"""The text of an open region while it comes in pieces, kept once."""

from __future__ import annotations

__all__ = ["MANY", "BodyText"]

# A piece of four characters takes up fifteen times its text as an object of its own, so not many are kept as they came.
MANY = 64
_BLOCKS = 32


class BodyText:
    """Pieces of text in order. Adding one costs the same however many there are, and all are held once.

    Attributes:
        pieces: the newest. Who appends to it directly calls `settle` when they are more than `MANY`.
    """

    __slots__ = ("_blocks", "_fresh", "_settled", "pieces")

    def __init__(self, text: str = "") -> None:
        self.pieces: list[str] = [text] if text else []
        self._blocks: list[str] = []
        self._fresh = 0  # blocks at the end that are small
        self._settled = 0  # characters in the blocks

    def append(self, text: str) -> None:
        """Add text at the end."""
        self.pieces.append(text)
        if len(self.pieces) > MANY:
            self.settle()

    def settle(self) -> None:
        """Put the newest pieces together."""
        block = "".join(self.pieces)
        self.pieces.clear()
        self._blocks.append(block)
        self._settled += len(block)
        self._fresh += 1
        if self._fresh == _BLOCKS:
            self._join(len(self._blocks) - _BLOCKS)

    def _join(self, first: int) -> None:
        """Put the blocks from `first` on together."""
        self._blocks[first:] = ["".join(self._blocks[first:])]
        self._fresh = 0

    @property
    def length(self) -> int:
        """How many characters there are."""
        return self._settled + sum(map(len, self.pieces))

    def value(self) -> str:
        """All of the text."""
        if not self._blocks:
            return "".join(self.pieces)
        self.settle()
        self._join(0)
        return self._blocks[0]

    def part(self, start: int, stop: int) -> str:
        """The characters from `start` to `stop`. Costs what is behind `start`, not what is before."""
        if self.pieces:
            self.settle()
        blocks = self._blocks
        first, base = len(blocks), self._settled
        while first and base > start:
            first -= 1
            base -= len(blocks[first])
        if len(blocks) - first > 1:
            self._join(first)
        return blocks[first][start - base : stop - base] if first < len(blocks) else ""
