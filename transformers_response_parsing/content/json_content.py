# SPDX-License-Identifier: Apache-2.0
"""`json`: any JSON value, and the ways models write it."""

from __future__ import annotations

import math
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn

from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.limits import MAX_DEPTH, MAX_INT_DIGITS

from .base import Arguments, Content
from .json_dialect import Dialect
from .json_scanner import JsonScanner
from .written import Written

__all__ = ["JsonContent", "decode_json"]


class _RefusedError(ValueError):
    """A number that is no JSON value."""


def _no_constant(text: str) -> NoReturn:
    raise _RefusedError(f"{text} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _RefusedError(f"the number {text[:40]} is too large")
    return value


def _written_int(text: str) -> Written:
    if len(text) > MAX_INT_DIGITS:
        raise _RefusedError(f"an integer of more than {MAX_INT_DIGITS} digits")
    return Written(int(text), text, True)


def _written_float(text: str) -> Written:
    return Written(_finite(text), text, True)


def _on_number(value: float, text: str) -> Written:
    return Written(value, text, True)


# One decoder each: making one costs more than decoding a short call. They are safe to share between threads.
_DECODERS = {
    (strict, written): JSONDecoder(
        strict=strict,
        parse_constant=_no_constant,
        parse_float=_written_float if written else _finite,
        parse_int=_written_int if written else None,
    )
    for strict in (False, True)
    for written in (False, True)
}


def decode_json(text: str, *, strict: bool = False, written: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        text: one JSON document, whitespace around it allowed.
        strict: refuse raw control characters inside strings.
        written: numbers come as `Written`.

    Raises:
        BodyError: no JSON (NaN and infinities are none), nested deeper than `limits.MAX_DEPTH`, or an integer of more
            than `limits.MAX_INT_DIGITS` digits.
    """
    try:
        value = _DECODERS[strict, written].decode(text)
    except JSONDecodeError as error:
        raise BodyError(f"no valid JSON: {error.msg}", error.pos) from None
    except _RefusedError as error:
        raise BodyError(f"no valid JSON: {error}") from None
    except ValueError:
        raise BodyError(f"no valid JSON: an integer of more than {MAX_INT_DIGITS} digits") from None
    except RecursionError:
        raise BodyError(f"JSON nested more than {MAX_DEPTH} levels deep") from None
    # Each level needs a bracket: few brackets, no need to look.
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise BodyError(f"JSON nested more than {MAX_DEPTH} levels deep")
    return value


def _too_deep(value: Any) -> bool:
    """Whether containers nest more than `MAX_DEPTH` levels; level by level, so without recursion."""
    level = [value] if type(value) in (dict, list) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return False
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)


class JsonContent(Content):
    """`json`: any JSON value (NaN and infinities are none; of repeated keys the last wins).

    Raw control characters inside strings (a newline, a tab) are read as they are: local models write them often, and
    they can mean nothing else. What is not JSON but has one reading only is read too: a trailing comma, Python literals
    (`{'on': True}`), closers too many at the end, and closers missing at the end of a region that was closed.
    With `allow_non_json` there is another reading, the text itself: then nothing is repaired, as elsewhere.
    """

    name = "json"
    arguments = ("unquoted_keys", "string_delims", "allow_non_json")

    def __init__(self, args: Arguments) -> None:
        self.allow_non_json = args.flag("allow_non_json", False)
        self._unquoted_keys = args.flag("unquoted_keys", False)
        self._string_delims = _delims(args)
        special = bool(self._unquoted_keys or self._string_delims)
        self._fallback: Dialect | None = None
        if special or not self.allow_non_json:
            self._fallback = Dialect(
                unquoted_keys=self._unquoted_keys,
                string_delims=self._string_delims,
                repairs=not self.allow_non_json,
            )

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> Any:
        """The value; with `allow_non_json` the stripped body where there is none."""
        try:
            return decode_json(body, strict=self.allow_non_json, written=written)
        except BodyError as error:
            first = error
        if self._fallback is not None:
            try:
                on_number = _on_number if written else None
                return self._fallback.read(body, on_number=on_number, complete=not cut_off)
            except BodyError as error:
                if self._unquoted_keys or self._string_delims:
                    first = BodyError(f"no valid JSON: {error.reason}", error.position)
        if self.allow_non_json:
            return body.strip()
        raise first

    def scanner(self) -> JsonScanner:
        """A scanner for this dialect."""
        return JsonScanner(self._unquoted_keys, self._string_delims)


def _delims(args: Arguments) -> tuple[tuple[str, str], ...]:
    """The checked `string_delims`."""
    value = args.values.get("string_delims")
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        args.problem("string_delims", "must be a list of [open, close] pairs of strings")
        return ()
    pairs: list[tuple[str, str]] = []
    for index, pair in enumerate(value):
        if isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(part, str) and part for part in pair):
            pairs.append((pair[0], pair[1]))
        else:
            args.problem(f"string_delims[{index}]", "must be a pair [open, close] of strings that are not empty")
    return tuple(pairs)
