# SPDX-License-Identifier: Apache-2.0
"""Token ids to text, piece by piece: the same text as decoding all of them at once, at a bounded cost per token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .inputs import decode_function

__all__ = ["IncrementalDecoder"]

_INCOMPLETE = "\ufffd"  # what decoders write for bytes that are no character (yet)
# A character has at most four bytes and a token at least one; past a few such tokens the bytes are simply invalid, and
# waiting for more would decode a longer and longer window again and again.
_MOST_HELD_TOKENS = 8


class IncrementalDecoder:
    """Decodes one sequence of token ids as they come.

    How a token reads can depend on the ones before it, so each step decodes a window: the tokens of the last piece, for
    context, and the new ones. What the context alone reads is left out. A character whose bytes are spread over several
    tokens is held until it is complete; `finish` gives what is still held.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._decode = decode_function(tokenizer)
        self._context: list[int] = []
        self._new: list[int] = []

    def push(self, ids: Sequence[int]) -> str:
        """Text that `ids` complete."""
        return "".join([self._push_one(token) for token in ids])

    def finish(self) -> str:
        """Text of what is held; invalid bytes read as the replacement character, as in any decoding."""
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
        return whole, whole[len(self._decode(self._context)) :]
