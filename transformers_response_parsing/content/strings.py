# SPDX-License-Identifier: Apache-2.0
"""Quoted strings with backslash escapes, as models write them in Python style."""

from __future__ import annotations

import re

from transformers_response_parsing.errors import BodyError

__all__ = ["read_quoted"]

_RUNS = {quote: re.compile(rf"[^{quote}\\]*") for quote in "'\""}
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = {
    "u": re.compile(r"[0-9a-fA-F]{4}"),
    "U": re.compile(r"000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4}"),
    "x": re.compile(r"[0-9a-fA-F]{2}"),
}
_LOW_SURROGATE = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")


def read_quoted(text: str, start: int, *, lenient: bool = False) -> tuple[str, int]:
    r"""The string literal whose quote (' or ") is at `text[start]`, and the offset after its closing quote.

    The escapes are those of JSON and `\'`. With `lenient` also Python's `\x41`, `\U0001f600` and backslash-newline, and any other
    backslash is kept as written (as Python does). Raw newlines are part of the string. Linear in the string.

    Raises:
        BodyError: no closing quote, an unknown escape, or the escape of half a surrogate pair.
    """
    quote = text[start]
    run = _RUNS[quote]
    parts: list[str] = []
    at = start + 1
    while True:
        end = run.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string
        if end == len(text):
            raise BodyError("a string that is never closed", start)
        parts.append(text[at:end])
        if text[end] == quote:
            return "".join(parts), end + 1
        value, at = _escape(text, end, lenient)
        parts.append(value)


def _escape(text: str, at: int, lenient: bool) -> tuple[str, int]:
    """What the backslash at `text[at]` stands for and the offset after the escape."""
    letter = text[at + 1 : at + 2]
    if letter in _ESCAPES and letter:
        return _ESCAPES[letter], at + 2
    if (letter == "u" or (lenient and letter in ("x", "U"))) and (digits := _HEX[letter].match(text, at + 2)):
        code, end = int(digits[0], 16), digits.end()
        if 0xD800 <= code < 0xDC00 and (low := _LOW_SURROGATE.match(text, end)):
            return chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00), low.end()
        if 0xD800 <= code < 0xE000:
            raise BodyError("the escape of half a surrogate pair", at)
        return chr(code), end
    if lenient and letter == "\n":
        return "", at + 2
    if lenient and letter:
        return "\\" + letter, at + 2
    raise BodyError(f"unknown escape \\{letter}" if letter else "a string that is never closed", at)
