# SPDX-License-Identifier: Apache-2.0
"""Texts of the tokens of vocabularies made of pieces of text (SentencePiece, as in Gemma, Llama 2 and Mistral; WordPiece).

What such a token reads is the same behind any other token: the tokenizer's decoder changes each by itself, but for the first
one, for spaces at the beginning of the whole, and for tokens that stand for one byte (`<0xF0>`). So, as with byte-level
vocabularies, ids decode by looking each up, and only few of them have to be decoded by the tokenizer.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any, NamedTuple

__all__ = ["PieceTable", "piece_table"]

_BYTE_TOKEN = re.compile("<0x([0-9A-Fa-f]{2})>")
_INVALID = "\ufffd"
# Decoders that read a token without looking at its neighbours; those of _BY_POSITION read the first one in another way.
_BY_TOKEN = {"Replace"}
_BY_POSITION = {"Metaspace", "WordPiece"}


class _Decoder(NamedTuple):
    """What of a `tokenizers` decoder matters here."""

    by_position: bool  # the first token reads in another way
    byte_tokens: bool
    strip: str  # character that is taken away from the beginning of the text, ...
    strip_count: int  # ... so often at most


class PieceTable:
    """Text of each token id. Filled as tokens are met, with what the tokenizer's own decoding of them gives.

    Attributes:
        texts: the texts, behind others, of those tokens met that are no byte tokens.
        bytes: the bytes of the byte tokens met. The tokenizer reads bytes that follow each other as one text: if that is no
            UTF-8, then each of them as U+FFFD.
        by_position: True if the first token of a text can read in another way than behind others.
    """

    def __init__(self, backend: Any, decoder: _Decoder, context: int) -> None:
        self._backend = backend
        self._decoder = decoder
        self._context = context
        self._lead = len(self.own([context]))
        # Bytes from 0x80 on are held as the surrogates U+DC80 to U+DCFF, which no token's text can contain.
        self._pieces: dict[int, str] = {}
        self._some_are_empty = False
        self.texts: dict[int, str] = {}
        self.bytes: dict[int, int] = {}
        self.by_position = decoder.by_position

    def own(self, ids: list[int]) -> str:
        """What the tokenizer itself reads. Raises OverflowError for a negative id."""
        return str(self._backend.decode(ids, skip_special_tokens=False))

    def piece(self, token: int) -> str | None:
        """Text of a token behind others, or of a byte token a mark for its byte; None for an id that is no token.

        Raises OverflowError for an id that can't be one (negative).
        """
        piece = self._pieces.get(token)
        return self._look_up(token) if piece is None else piece

    def decode(self, ids: list[int]) -> str:
        """The text of `ids`, special tokens included."""
        try:
            text = "".join(itemgetter(*ids)(self._pieces))
        except (KeyError, TypeError):  # some were not met yet, or are no tokens, or there are none
            pieces = [self.piece(token) for token in ids]
            if not pieces or None in pieces:
                return self.own(ids)
            text = "".join(pieces)  # type: ignore[arg-type]
        if not text.isascii() and self.bytes:
            # A text between two bytes parts them, even if it is empty.
            if self._some_are_empty:
                return self.own(ids)
            try:
                text = text.encode("utf-8", "surrogateescape").decode("utf-8")
            except UnicodeDecodeError:
                return self.own(ids)
        if self.by_position and ids[0] not in self.bytes:
            text = self.own(ids[:1]) + text[len(self._pieces[ids[0]]) :]
        return self.strip(text, self._decoder.strip_count) if self._decoder.strip_count else text

    @property
    def strip_count(self) -> int:
        """How many characters at most `strip` takes away from the beginning of a text."""
        return self._decoder.strip_count

    def strip(self, text: str, most: int) -> str:
        """The beginning of the whole text without what the decoder takes away there."""
        return text[min(most, len(text) - len(text.lstrip(self._decoder.strip))) :]

    def _look_up(self, token: int) -> str | None:
        text = self._backend.id_to_token(token)
        if text is None:
            return None  # it may be added later, so it is not remembered
        piece = self.own([self._context, token])[self._lead :]
        byte = _BYTE_TOKEN.fullmatch(text) if self._decoder.byte_tokens else None
        if byte is not None:
            self.bytes[token] = value = int(byte[1], 16)
            piece = chr(value if value < 0x80 else 0xDC00 + value)
        else:
            self.texts[token] = piece
            self._some_are_empty |= not piece
        self._pieces[token] = piece
        return piece


def read_bytes(run: Iterable[int]) -> str:
    """What byte tokens that follow each other read."""
    found = bytes(run)
    try:
        return found.decode("utf-8")
    except UnicodeDecodeError:
        return _INVALID * len(found)


def piece_table(backend: Any) -> PieceTable | None:
    """A table for the tokenizer's backend; None if its decoder is of another kind, or the table reads anything else than it."""
    decoder = _read_decoder(backend.decoder)
    context = None if decoder is None else _context(backend)
    if decoder is None or context is None:
        return None
    table = PieceTable(backend, decoder, context)
    return table if all(table.decode(ids) == table.own(ids) for ids in _samples(backend)) else None


def _read_decoder(decoder: Any) -> _Decoder | None:
    if decoder is None:  # tokens with a space between each two
        return _Decoder(True, False, "", 0)
    try:
        state = decoder.__getstate__()
    except Exception:  # noqa: BLE001 -- a decoder written in Python; `tokenizers` raises nothing more exact
        return None
    steps = list(_steps(json.loads(state)))
    kinds = [step["type"] for step in steps]
    strip: dict[str, Any] = {}
    if kinds[-2:] == ["Fuse", "Strip"]:
        strip = steps.pop()
        kinds.pop()
    if kinds[-1:] == ["Fuse"]:
        kinds.pop()
    byte_tokens = kinds[-1:] == ["ByteFallback"]
    if byte_tokens:
        kinds.pop()
    by_position = not _BY_POSITION.isdisjoint(kinds)
    character, count = strip.get("content", ""), strip.get("start", 0)
    if not _BY_TOKEN.union(_BY_POSITION).issuperset(kinds) or strip.get("stop") or (by_position and count):
        return None
    return _Decoder(by_position, byte_tokens, character, count)


def _steps(decoder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if decoder["type"] == "Sequence":
        for part in decoder["decoders"]:
            yield from _steps(part)
    else:
        yield decoder


def _context(backend: Any) -> int | None:
    """A token that reads as letters and digits, so that no decoder takes any of it away."""
    for token in range(backend.get_vocab_size(with_added_tokens=True)):
        text = backend.id_to_token(token)
        if text and text.isascii() and text.isalnum() and backend.decode([token], skip_special_tokens=False) == text:
            return token
    return None


def _samples(backend: Any) -> Iterator[list[int]]:
    """Rows of ids: of any tokens, of those added, of byte tokens, of ids that are no tokens, and of all of these."""
    draw = random.Random(0)
    size = backend.get_vocab_size(with_added_tokens=True)
    added = sorted(backend.get_added_tokens_decoder())
    spelled = [backend.token_to_id(f"<0x{byte:02X}>") for byte in "a \n\u00e9\u2581\U0001f469\u200d".encode()]
    whole = [token for token in spelled if token is not None]
    bytes_ = [token for byte in range(0x100) if (token := backend.token_to_id(f"<0x{byte:02X}>")) is not None]
    pools = [pool for pool in (range(size), added, bytes_, range(size, size + 5)) if pool]
    for pool in pools:
        for length in range(12):
            yield draw.choices(pool, k=length)
    for _ in range(60):
        row = [draw.choice(draw.choice(pools)) for _ in range(draw.randrange(12))]
        at = draw.randrange(len(row) + 1)
        yield [*row[:at], *whole, *row[at:]]
