# SPDX-License-Identifier: Apache-2.0
"""JSON as models write it: a linear reader for the dialects of the `json` content type and for slips with one reading."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # the C scanner of strings, undeclared
from typing import Any

from transformers_response_parsing.errors import BodyError, json_reason
from transformers_response_parsing.limits import MAX_DEPTH, MAX_INT_DIGITS

from .strings import read_quoted

__all__ = ["Dialect", "after_document", "number"]

_SPACE = re.compile(r"[ \t\n\r]*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# As Gemma 4 writes the keys of its dicts: whatever they are, up to the colon.
_BARE_KEY = re.compile(r'[\w$.-][^\r\n,:{}\[\]"]*')
# The same with what is around it, up to the value. The key's last characters may be spaces.
_BARE_MEMBER = re.compile(rf"[ \t\n\r]*({_BARE_KEY.pattern}):[ \t\n\r]*")
_NEXT_MEMBER = re.compile(r"[ \t\n\r]*,(?=[ \t\n\r]*[\w$.-])")
# A whole member with a plain value: a string (between the delimiters of a dialect, or quoted and without escapes), a short
# integer or a word; with what is around it, up to the next such key or over the brace that closes.
_PLAIN_MEMBER = (
    rf"[ \t\n\r]*({_BARE_KEY.pattern}):[ \t\n\r]*"
    r"(?:%s\"([^\"\\]*)\"|(-?(?:0|[1-9][0-9]{0,17}))(?![0-9.eE])|(true|false|null)(?!\w))"
    r"[ \t\n\r]*(?:,(?=[ \t\n\r]*[\w$.-])|(\}))"
)
_WORD = re.compile(r"\w+")
_JSON_WORDS = {"true": True, "false": False, "null": None}
_PYTHON_WORDS = {**_JSON_WORDS, "True": True, "False": False, "None": None}
_STRING_RUN = re.compile(r'[^"\\]*')
_CLOSERS = re.compile(r"[ \t\n\r\]}]*")
_BETWEEN = re.compile(r"[ \t\n\r,;]*")
_BETWEEN_CLOSERS = re.compile(r"[ \t\n\r,;\]}]*")
_GLUED = re.compile(r"(?<=[\w.+-])[\w.+-]")


def number(whole: str, fraction: str | None, exponent: str | None) -> int | float:
    """The value of a JSON number given in its three parts; ValueError if it is too long or not finite."""
    if fraction or exponent:
        value = float(whole + (fraction or "") + (exponent or ""))
        if not math.isfinite(value):
            raise ValueError("number too large")
        return value
    if len(whole) > MAX_INT_DIGITS:
        raise ValueError(f"an integer of more than {MAX_INT_DIGITS} digits")
    return int(whole)


def after_document(text: str, end: int, between: re.Pattern[str]) -> int:
    """Where the next document of a sequence begins, if one ends at `end`; BodyError where two numbers or words touch."""
    if _GLUED.match(text, end):
        raise BodyError("more text right behind a value", end)
    return between.match(text, end).end()  # type: ignore[union-attr]  # it matches the empty string


def _string_end(text: str, at: int) -> int:
    """Where the JSON string that begins at `at` ends, or the text, if it does not."""
    at += 1
    while True:
        at = _STRING_RUN.match(text, at).end()  # type: ignore[union-attr]  # it matches the empty string
        if text[at : at + 1] != "\\":
            return at + 1
        at += 2


def _without(closing: str) -> str:
    """A pattern for any text in which `closing` does not begin; there is one way to match it, so it takes linear time."""
    first, rest = re.escape(closing[0]), re.escape(closing[1:])
    return rf"[^{first}]*(?:{first}(?!{rest})[^{first}]*)*" if rest else rf"[^{first}]*"


class Dialect:
    """One dialect of JSON.

    Args:
        unquoted_keys: keys may be bare: they begin with a letter, a digit, `_`, `$`, `.` or `-`, and go on to the colon,
            spaces included, without any of `,{}[]"` and line breaks.
        string_delims: (open, close) pairs; the text between them is a string as it stands, without escapes. At each place
            the first pair of the list that opens there and closes later counts.
        repairs: read what is not JSON but has one reading only: Python literals (True, None, 'quoted' strings, tuples),
            trailing commas, closers too many at the end.
    """

    def __init__(
        self, *, unquoted_keys: bool = False, string_delims: tuple[tuple[str, str], ...] = (), repairs: bool = False
    ) -> None:
        self.unquoted_keys = unquoted_keys
        self.string_delims = string_delims
        self.repairs = repairs
        # A bare key is no string only if no delimiter begins like one; and then no delimiter begins like a number or a word.
        self.plain_keys = unquoted_keys and not any(_BARE_KEY.match(opening) for opening, _ in string_delims)
        self.plain_member: Any = None
        if self.plain_keys and len(string_delims) <= 1 and not any(opening[:1] == '"' for opening, _ in string_delims):
            delimited = "".join(
                f"{re.escape(opening)}({_without(closing)}){re.escape(closing)}|" for opening, closing in string_delims
            )
            self.plain_member = re.compile(_PLAIN_MEMBER % (delimited or "(?!)()|")).match

    def read(
        self,
        body: str,
        *,
        on_number: Callable[[Any, str], Any] | None = None,
        complete: bool = False,
        exact: bool = False,
    ) -> Any:
        """The value of `body`, in time linear in its length.

        Args:
            body: the text.
            on_number: called with the value and the text of each number; its result is taken.
            complete: with `repairs`, add closers that are missing at the end.
            exact: with `repairs`, allow no closers too many.

        Raises:
            BodyError: with the place of the fault.
        """
        reader = _Reader(self, body, on_number, complete)
        try:
            value, at = reader.value(reader.space(0), 0)
        except RecursionError:  # the caller's stack was nearly full
            raise BodyError("nested too deep for the space left on the stack") from None
        at = reader.space(at)
        if self.repairs and not exact and at < len(body):
            at = _CLOSERS.match(body, at).end()  # type: ignore[union-attr]  # it matches the empty string
        if at < len(body):
            raise BodyError("more text after the end of the JSON value", at)
        return value

    def read_sequence(
        self, body: str, *, on_number: Callable[[Any, str], Any] | None = None, complete: bool = False
    ) -> list[Any]:
        """The values that follow each other in `body`, as in `decode_sequence`; arguments and errors as for `read`."""
        reader = _Reader(self, body, on_number, complete)
        values: list[Any] = []
        at = reader.space(0)
        try:
            while at < len(body):
                value, at = reader.value(at, 0)
                values.append(value)
                # Closers that are missing at the end count as read.
                at = after_document(body, min(at, len(body)), _BETWEEN_CLOSERS if self.repairs else _BETWEEN)
        except RecursionError:  # the caller's stack was nearly full
            raise BodyError("nested too deep for the space left on the stack") from None
        return values


class _Reader:
    """Reads one body. Methods take an offset and return (value, offset after it)."""

    def __init__(
        self, dialect: Dialect, body: str, on_number: Callable[[Any, str], Any] | None, complete: bool
    ) -> None:
        self.body = body
        self.repairs = dialect.repairs
        self.complete = complete and dialect.repairs
        self.bare_keys = dialect.unquoted_keys
        self.plain_keys = dialect.plain_keys
        self.plain_member = dialect.plain_member
        self.words: dict[str, Any] = _PYTHON_WORDS if dialect.repairs else _JSON_WORDS
        # Per delimiter: the offset from which on its close is known not to occur, so that no text is searched twice.
        self.delims = dialect.string_delims
        self.none_from = [len(body) + 1] * len(dialect.string_delims)
        self.unclosed = False  # one of these is known
        self.on_number = on_number
        # A string had an escape that JSON does not have. The error says in which line, for which all lines before it are
        # counted: from now on each string is looked at by itself.
        self.slips = False

    def space(self, at: int) -> int:
        return _SPACE.match(self.body, at).end()  # type: ignore[union-attr]  # it matches the empty string

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        body = self.body
        if self.delims and (string := self.delimited(at)) is not None:
            return string
        first = body[at : at + 1]
        if first == '"':
            return self.string(at)
        if first == "{" or first == "[" or (first == "(" and self.repairs):
            if depth >= MAX_DEPTH:
                raise BodyError(f"nested more than {MAX_DEPTH} levels deep", at)
            return self.object(at + 1, depth + 1) if first == "{" else self.array(at + 1, depth + 1, first)
        if match := _NUMBER.match(body, at):
            try:
                result: Any = number(*match.groups())
            except ValueError as error:
                raise BodyError(str(error), at) from None
            return (result if self.on_number is None else self.on_number(result, match[0])), match.end()
        if (word := _WORD.match(body, at)) and word[0] in self.words:
            return self.words[word[0]], word.end()
        if first == "'" and self.repairs:
            return read_quoted(body, at, lenient=True)
        raise BodyError("expected a JSON value" if first else "the JSON ends too early", at)

    def delimited(self, at: int) -> tuple[str, int] | None:
        for index, (opening, closing) in enumerate(self.delims):
            if self.body.startswith(opening, at):
                start = at + len(opening)
                if start >= self.none_from[index]:
                    continue
                end = self.body.find(closing, start)
                if end >= 0:
                    return self.body[start:end], end + len(closing)
                self.none_from[index] = start
                self.unclosed = True
        return None

    def string(self, at: int) -> tuple[str, int]:
        text, start = self.body, at
        if self.slips:
            text, start = text[at : _string_end(text, at)], 0
        try:
            string, end = scanstring(text, start + 1, False)
        except JSONDecodeError as error:
            if self.repairs and "escape" in error.msg:
                self.slips = True
                return read_quoted(self.body, at, lenient=True)
            raise BodyError(json_reason(error), error.pos + at - start) from None
        return string, end + at - start

    def key(self, at: int) -> tuple[str, int]:
        body = self.body
        if self.delims and (string := self.delimited(at)) is not None:
            return string
        first = body[at : at + 1]
        if first == '"':
            return self.string(at)
        if self.bare_keys and (match := _BARE_KEY.match(body, at)):
            return match[0].rstrip(), match.end()
        if first == "'" and self.repairs:
            return read_quoted(body, at, lenient=True)
        raise BodyError("expected a key" if first else "the JSON ends too early", at)

    def ends(self, at: int, closer: str) -> bool:
        """Whether the container ends at `at` (after a complete entry), by `closer` or by the end of a complete body."""
        if self.body.startswith(closer, at):
            return True
        # After a number there might have been more digits; after anything else the entry is surely complete.
        return self.complete and at == len(self.body) and self.body.rstrip()[-1:] in ('"', "'", "}", "]")

    def object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        body = self.body
        result: dict[str, Any] = {}
        at = self.space(at)
        if body.startswith("}", at):
            return result, at + 1
        while True:
            # Where a close is missing, its search would be made again for each member.
            if self.plain_member is not None and not self.unclosed and (member := self.plain_member(body, at)):
                name, delimited, quoted, integer, word, closes = member.groups()
                at = member.end()
                value: Any
                if word is not None:
                    value = _JSON_WORDS[word]
                elif integer is not None:
                    value = int(integer)
                    if self.on_number is not None:
                        value = self.on_number(value, integer)
                else:
                    value = quoted if delimited is None else delimited
                result[name.rstrip()] = value
                if closes:
                    return result, at
                continue
            if self.plain_keys and (member := _BARE_MEMBER.match(body, at)):
                result[member[1].rstrip()], at = self.value(member.end(), depth)
                if following := _NEXT_MEMBER.match(body, at):
                    at = following.end()
                    continue
            else:
                key, at = self.key(at)
                at = self.space(at)
                if not body.startswith(":", at):
                    raise BodyError("expected ':' after a key" if at < len(body) else "the JSON ends too early", at)
                result[key], at = self.value(self.space(at + 1), depth)
            at = self.space(at)
            if self.ends(at, "}"):
                return result, at + 1
            if not body.startswith(",", at):
                raise BodyError("expected ',' or '}'" if at < len(body) else "the JSON ends too early", at)
            at = self.space(at + 1)
            if self.repairs and body.startswith("}", at):
                return result, at + 1

    def array(self, at: int, depth: int, opener: str) -> tuple[list[Any], int]:
        body, closer = self.body, "]" if opener == "[" else ")"
        result: list[Any] = []
        at = self.space(at)
        if body.startswith(closer, at):
            return result, at + 1
        while True:
            item, at = self.value(at, depth)
            result.append(item)
            at = self.space(at)
            if self.ends(at, closer):
                if opener == "(" and len(result) == 1 and not body.startswith(closer, at):
                    raise BodyError("the JSON ends too early", at)
                return result, at + 1
            if not body.startswith(",", at):
                raise BodyError(f"expected ',' or '{closer}'" if at < len(body) else "the JSON ends too early", at)
            at = self.space(at + 1)
            if self.repairs and body.startswith(closer, at):
                return result, at + 1
