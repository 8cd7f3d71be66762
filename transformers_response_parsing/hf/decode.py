# SPDX-License-Identifier: Apache-2.0
"""Token ids to text, piece by piece: the same text as decoding all of them at once, at a bounded cost per token."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any, Protocol

from .byte_level import ByteTable
from .inputs import decode_function, decodes_like_its_backend
from .pieces import PieceTable, read_bytes
from .token_table import token_table

__all__ = ["IncrementalDecoder", "incremental_decoder"]

_INCOMPLETE = "\ufffd"  # what decoders write for bytes that are no character (yet)
# A character has at most four bytes and a token at least one; past a few such tokens the bytes are simply invalid, and
# waiting for more would decode a longer and longer window again and again.
_MOST_HELD_TOKENS = 8


class IncrementalDecoder(Protocol):
    """Decodes one sequence of token ids as they come. A character whose bytes are spread over several tokens is held."""

    def push(self, ids: Sequence[int]) -> str:
        """Text that `ids` complete."""

    def finish(self) -> str:
        """Text of what is held; invalid bytes read as the replacement character, as in any decoding."""


def incremental_decoder(tokenizer: Any) -> IncrementalDecoder:
    """The fastest one that gives exactly the tokenizer's own text."""
    table = token_table(tokenizer) if decodes_like_its_backend(tokenizer) else None
    if table is None:
        return WindowDecoder(tokenizer)
    return ByteDecoder(table) if isinstance(table, ByteTable) else PieceDecoder(table)


class ByteDecoder:
    """For byte-level vocabularies: looks tokens up and decodes their bytes."""

    def __init__(self, table: ByteTable) -> None:
        self._texts = table.texts
        self._piece = table.piece
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")
        self._holds = False

    def push(self, ids: Sequence[int]) -> str:
        """Text that `ids` complete."""
        if len(ids) == 1 and not self._holds:
            text = self._texts.get(ids[0])
            if text is not None:
                return text
        text = self._utf8.decode("".join(map(self._piece, ids)).encode("latin-1"))
        self._holds = bool(self._utf8.getstate()[0])
        return text

    def finish(self) -> str:
        """Text of what is held."""
        self._holds = False
        return self._utf8.decode(b"", True)


class PieceDecoder:
    """For vocabularies of pieces of text: looks tokens up.

    Byte tokens that follow each other wait for the first other token: only then is it known whether they are characters.
    """

    def __init__(self, table: PieceTable) -> None:
        self._table = table
        self._texts = table.texts
        self._run = bytearray()
        self._begins = table.by_position
        self._to_strip = table.strip_count
        self._plain = not self._begins and not self._to_strip  # the beginning is over, and nothing is held

    def push(self, ids: Sequence[int]) -> str:
        """Text that `ids` complete."""
        if len(ids) == 1 and self._plain:
            text = self._texts.get(ids[0])
            if text is not None:
                return text
        return "".join(map(self._push_one, ids))

    def finish(self) -> str:
        """Text of what is held."""
        return self._stripped(self._read_run())

    def _push_one(self, token: int) -> str:
        piece = self._table.piece(token)
        if piece is None:  # no token: it is as if it were not there
            return ""
        byte = self._table.bytes.get(token)
        if byte is not None:
            self._run.append(byte)
            self._begins = self._plain = False
            return ""
        if self._begins:
            self._begins = False
            piece = self._table.own([token])
        text = self._stripped(self._read_run() + piece)
        self._plain = not self._to_strip
        return text

    def _read_run(self) -> str:
        text = read_bytes(self._run) if self._run else ""
        self._run.clear()
        return text

    def _stripped(self, text: str) -> str:
        if not self._to_strip or not text:
            return text
        stripped = self._table.strip(text, self._to_strip)
        self._to_strip = 0 if stripped else self._to_strip - len(text)
        return stripped


class WindowDecoder:
    """For any tokenizer. How a token reads can depend on the ones before it, so each step decodes a window: the tokens of
    the last piece, for context, and the new ones. What the context alone reads is left out.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._decode = decode_function(tokenizer)
        self._alone: dict[int, str] = {}  # what single tokens read: nearly every context is one
        self._context: list[int] = []
        self._new: list[int] = []

    def push(self, ids: Sequence[int]) -> str:
        """Text that `ids` complete."""
        return "".join([self._push_one(token) for token in ids])

    def finish(self) -> str:
        """Text of what is held."""
        text = self._read()[1]
        self._context, self._new = [], []
        return text

    def _push_one(self, token: int) -> str:
        self._new.append(token)
        whole, text = self._read()
        if not text or (whole.endswith(_INCOMPLETE) and len(self._new) < _MOST_HELD_TOKENS):
            # Tokens without text of their own would make the window longer without end.
            if not text and len(self._new) >= _MOST_HELD_TOKENS:
                self._context, self._new = self._new, []
            return ""
        self._context, self._new = self._new, []
        return text

    def _read(self) -> tuple[str, str]:
        if not self._new:
            return "", ""
        whole = self._decode(self._context + self._new)
        return whole, whole[len(self._read_context()) :]

    def _read_context(self) -> str:
        context = self._context
        if len(context) != 1:
            return self._decode(context)
        text = self._alone.get(context[0])
        if text is None:
            text = self._alone[context[0]] = self._decode(context)
        return text
