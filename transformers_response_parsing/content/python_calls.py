# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 - every content type has the same signature
"""`python-call-list`: calls in Python syntax, `[f(a=1, b="x"), g()]`."""

from __future__ import annotations

import re
from typing import Any

from transformers_response_parsing.errors import BodyError

from .base import Arguments, Content
from .call_scanner import CallScanner
from .json_dialect import number
from .strings import read_quoted
from .written import Written

__all__ = ["PythonCallListContent"]

MAX_CALL_DEPTH = 100
"""Levels lists and dicts may nest in an argument; the limit of transformers' own reader."""

_MAX_INT = 2**53 - 1
_SPACE = re.compile(r"[ \t\n\r]*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[-.][A-Za-z0-9_]+)*")
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BETWEEN = re.compile(r"[ \t\n\r]*[;,][ \t\n\r]*|[ \t\r]*\n[ \t\n\r]*")
_WORD = re.compile(r"\w+")
_KEYWORD = re.compile(r"[A-Za-z_]\w*\s*=")
# What can follow an argument: the next one, or the end of its call and then another call or the end of all. Each white space
# is followed by what is none, so that a long run of it is not read again and again.
_CALL = r"[A-Za-z_][\w.\-]*\("
_AFTER = rf"(?:,\s*[A-Za-z_]\w*\s*=|\)\s*(?:\]\s*\Z|\Z|[,;]\s*{_CALL})|\)[ \t\r]*\n\s*{_CALL})"
_ENDED = re.compile(rf"\s*{_AFTER}")
_UNQUOTED = re.compile(rf".*?(?={_AFTER})", re.DOTALL)
_QUOTED = {quote: re.compile(rf"{quote}(.*?){quote}(?=\s*{_AFTER})", re.DOTALL) for quote in "'\""}
_MAX_REREAD = 4
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}


class PythonCallListContent(Content):
    """`python-call-list`: a list of `{"name": str, "arguments": dict}`.

    Keyword arguments only, JSON escapes in strings, integers within ±(2**53 - 1), finite floats, no repeated names, no
    trailing commas, nothing after the list, nesting up to 100. More lenient than transformers' own reader in three points
    that have one reading only: raw newlines inside strings are kept, tuples become lists, and the comma between two
    arguments may be missing.

    With `brackets` "optional" (of this package only) the calls may also come without the [ ], with newlines, `;` or `,`
    between them; an empty body has none. With `quotes` "optional" (of this package only) a value that can't be read is text
    as written, up to what can follow an argument: a string without quotes, or with unescaped ones inside. With
    `until_complete` (of this package only) the region ends with the list.
    """

    name = "python-call-list"
    min_transformers = "5.24.0"
    arguments = ("brackets", "quotes", "until_complete")
    extension_arguments = frozenset(("brackets", "quotes", "until_complete"))

    def __init__(self, args: Arguments) -> None:
        self._brackets = args.choice("brackets", ("required", "optional")) == "required"
        self._quotes = args.choice("quotes", ("required", "optional")) == "required"
        self.until_complete = args.flag("until_complete", False)
        if self.until_complete and not (self._brackets and self._quotes):
            args.problem(
                "until_complete",
                "needs brackets and quotes, which tell the end: remove it, or what makes them optional",
            )

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> list[dict[str, Any]]:
        """The calls."""
        reader = _Calls(body, written) if self._quotes else _UnquotedCalls(body, written)
        try:
            return reader.calls() if self._brackets else reader.bare_calls()
        except RecursionError:  # the caller's stack was nearly full
            raise BodyError("nested too deep for the space left on the stack") from None

    def end_scanner(self) -> CallScanner:
        """A scanner for lists."""
        return CallScanner(MAX_CALL_DEPTH + 2)  # and the brackets of the list and of a call


class _Calls:
    """Reads one body; `at` is the place reached."""

    def __init__(self, body: str, written: bool) -> None:
        self.body = body
        self.written = written
        self.at = 0

    def space(self) -> None:
        self.at = _SPACE.match(self.body, self.at).end()  # type: ignore[union-attr]  # it matches the empty string

    def take(self, char: str) -> bool:
        """Skip whitespace, then `char` and whitespace if it comes next."""
        self.space()
        if self.body.startswith(char, self.at):
            self.at += 1
            self.space()
            return True
        return False

    def need(self, char: str, hint: str = "") -> None:
        if not self.take(char):
            raise BodyError(f"expected '{char}'{hint}", self.at)

    def name(self, what: str) -> str:
        match = _NAME.match(self.body, self.at)
        if match is None:
            raise BodyError(f"expected {what}", self.at)
        self.at = match.end()
        return match[0]

    def bare_calls(self) -> list[dict[str, Any]]:
        self.space()
        if self.body.startswith("[", self.at):
            return self.calls()
        result: list[dict[str, Any]] = []
        while self.at < len(self.body):
            name = self.name("the name of a function or '['")
            result.append({"name": name, "arguments": self.arguments()})
            end = self.body.rfind(")", 0, self.at) + 1  # white space behind it was skipped
            if match := _BETWEEN.match(self.body, end):
                self.at = match.end()
                if self.at == len(self.body) and "," in match[0]:
                    raise BodyError("a ',' with no call after it", end)
            elif self.at < len(self.body):
                raise BodyError("expected a newline, ';' or ',' between two calls", self.at)
        return result

    def calls(self) -> list[dict[str, Any]]:
        self.need("[")
        result: list[dict[str, Any]] = []
        if not self.take("]"):
            while True:
                name = self.name("the name of a function")
                result.append({"name": name, "arguments": self.arguments()})
                if self.take("]"):
                    break
                self.need(",", " or ']'")
        if self.at < len(self.body):
            raise BodyError("more text after the closing ']'", self.at)
        return result

    def arguments(self) -> dict[str, Any]:
        self.need("(")
        result: dict[str, Any] = {}
        if self.take(")"):
            return result
        while True:
            start = self.at
            key = self.name("a keyword argument (no positional arguments, no trailing commas)")
            if key in result:
                raise BodyError(f"the name '{key}' is given twice", start)
            self.need("=", " (no positional arguments)")
            result[key] = self.argument()
            if self.take(")"):
                return result
            if not _KEYWORD.match(self.body, self.at):
                self.need(",", " or ')'")

    def argument(self) -> Any:
        return self.value(0)

    def value(self, depth: int) -> Any:
        body, start = self.body, self.at
        first = body[start : start + 1]
        if first in ("'", '"'):
            value, self.at = read_quoted(body, start)
            return value
        if match := _NUMBER.match(body, start):
            self.at = match.end()
            try:
                result = number(*match.groups())
            except ValueError as error:
                raise BodyError(str(error), start) from None
            if type(result) is int and abs(result) > _MAX_INT:
                raise BodyError("an integer outside of ±(2**53 - 1)", start)
            return Written(result, match[0], True) if self.written else result
        if first in ("[", "(", "{") and first:
            if depth >= MAX_CALL_DEPTH:
                raise BodyError(f"nested more than {MAX_CALL_DEPTH} levels deep", start)
            self.take(first)
            return self.mapping(depth + 1) if first == "{" else self.sequence(first, depth + 1)
        if (word := _WORD.match(body, start)) and word[0] in _WORDS:
            self.at = word.end()
            return _WORDS[word[0]]
        raise BodyError("expected a string, number, list, dict, True, False or None", start)

    def sequence(self, opener: str, depth: int) -> list[Any]:
        closer = "]" if opener == "[" else ")"
        start = self.at
        result: list[Any] = []
        if self.take(closer):
            return result
        while True:
            result.append(self.value(depth))
            if self.take(closer):
                # Parentheses around a single value make no tuple.
                if opener == "(" and len(result) == 1:
                    raise BodyError("a value in parentheses is no tuple; one element needs a comma", start)
                return result
            self.need(",", f" or '{closer}'")
            if opener == "(" and len(result) == 1 and self.take(closer):
                return result

    def mapping(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if self.take("}"):
            return result
        while True:
            start = self.at
            if self.body[start : start + 1] not in ("'", '"'):
                raise BodyError("the keys of a dict must be strings", start)
            key, self.at = read_quoted(self.body, start)
            if key in result:
                raise BodyError(f"the key {key[:40]!r} is given twice", start)
            self.need(":")
            result[key] = self.value(depth)
            if self.take("}"):
                return result
            self.need(",", " or '}'")


class _UnquotedCalls(_Calls):
    """Reads calls whose strings may lack quotes, or escapes."""

    reread = 0  # characters that were read as a value in vain

    def argument(self) -> Any:
        start, error = self.at, None
        try:
            value = super().argument()
            if self.written and type(value) is not str:
                value = Written(value, self.body[start : self.at])
            if _ENDED.match(self.body, self.at):
                return value
            end = self.at
        except BodyError as reason:
            error, end = reason, reason.position or start
        # A hostile body can be laid out so that each of many values seems to run on to the end.
        self.reread += end - start
        quoted = _QUOTED.get(self.body[start : start + 1])
        if self.reread <= _MAX_REREAD * len(self.body):
            if quoted is not None and (match := quoted.match(self.body, start)):
                self.at = match.end()
                return match[1]
            if match := _UNQUOTED.match(self.body, start):
                self.at = match.end()
                return match[0].rstrip()
        if error is not None:
            raise error
        return value
