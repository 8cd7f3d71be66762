# SPDX-License-Identifier: Apache-2.0
"""Bytes of the tokens of byte-level vocabularies (GPT-2's alphabet, as in Qwen, Llama 3, gpt-oss, DeepSeek).

Their ids decode by looking each up and joining the bytes, which is several times faster than the tokenizer's own decoding.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

__all__ = ["ByteTable"]


def _alphabet() -> dict[str, int]:
    """Byte of each character that stands for one: itself if it can be printed, else the next free one from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(0x100) if chr(byte) not in alphabet)
    return alphabet | {chr(0x100 + index): byte for index, byte in enumerate(others)}


_BYTE_OF = _alphabet()


class ByteTable:
    """Bytes of each token id. Filled as tokens are met; each is checked once against the tokenizer's own decoding of it.

    Bytes are held as texts of the characters U+0000 to U+00FF: `str.join` is quicker than `bytes.join`, and those of ASCII
    text are that text.

    Attributes:
        texts: the texts of those tokens met whose bytes are whole characters.
    """

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self._pieces: list[str | None] = [None] * backend.get_vocab_size(with_added_tokens=True)
        self.texts: dict[int, str] = {}

    def piece(self, token: int) -> str:
        """Bytes of one token, "" for an id that is none.

        Raises OverflowError for an id that can't be one (negative).
        """
        pieces = self._pieces
        if 0 <= token < len(pieces):
            piece = pieces[token]
            if piece is None:
                piece = pieces[token] = self._look_up(token)
                self._remember_text(token, piece)
            return piece
        return self._look_up(token)  # unknown, or added since; it is not remembered

    def decode(self, ids: list[int]) -> str:
        """The text of `ids` (none of them negative), special tokens included; bytes that are no UTF-8 read as U+FFFD."""
        try:
            joined = "".join(itemgetter(*ids)(self._pieces))
        except (TypeError, IndexError):  # some were not met yet, or are beyond the vocabulary, or there are none
            joined = "".join(map(self.piece, ids))
        return joined if joined.isascii() else joined.encode("latin-1").decode("utf-8", "replace")

    def _look_up(self, token: int) -> str:
        text = self._backend.id_to_token(token)
        if text is None:
            return ""
        own = self._backend.decode([token], skip_special_tokens=False)
        try:
            found = bytes([_BYTE_OF[char] for char in text])
        except KeyError:  # a token that was added, in plain characters
            found = text.encode("utf-8", "replace")
        if found.decode("utf-8", "replace") != own:
            found = own.encode("utf-8", "replace")
        return found.decode("latin-1")

    def _remember_text(self, token: int, piece: str) -> None:
        try:
            self.texts[token] = piece.encode("latin-1").decode("utf-8")
        except UnicodeDecodeError:
            return  # part of a character
