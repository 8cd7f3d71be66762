# SPDX-License-Identifier: Apache-2.0
"""`json`: any JSON value, and the ways models write it."""

from __future__ import annotations

import importlib.util
import json
import math
import re
import sys
from collections.abc import Callable
from json import JSONDecodeError, JSONDecoder
from typing import Any, ClassVar, NoReturn

from transformers_response_parsing.errors import BodyError, json_reason
from transformers_response_parsing.limits import MAX_DEPTH, MAX_INT_DIGITS

from .base import Arguments, Content
from .json_dialect import Dialect, after_document
from .json_scanner import JsonScanner
from .written import Written

__all__ = ["JsonContent", "decode_json", "decode_sequence"]

_MORE = "\ue000\ue001"  # text that no body goes on with
_MOST_REPAIRED = 100_000  # characters: a repair takes more than linear time
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,;]*")
_BARE_OBJECT = re.compile(r'[ \t\n\r]*\{[ \t\n\r]*[^ \t\n\r"}]')  # surely no JSON


class _RefusedError(ValueError):
    """A number that is no JSON value."""


def _no_constant(text: str) -> NoReturn:
    raise _RefusedError(f"{text} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _RefusedError(f"the number {text[:40]} is too large")
    return value


def _bounded_int(text: str) -> int:
    if len(text) > MAX_INT_DIGITS:
        raise _RefusedError(f"an integer of more than {MAX_INT_DIGITS} digits")
    return int(text)


def _written_int(text: str) -> Written:
    return Written(_bounded_int(text), text, True)


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
# For a process that has lifted the interpreter's own limit: a call of Python for each integer.
_BOUNDED_DECODERS = {
    strict: JSONDecoder(strict=strict, parse_constant=_no_constant, parse_float=_finite, parse_int=_bounded_int)
    for strict in (False, True)
}
# How many digits `int` takes; 0: any number. (Python 3.10.0 to 3.10.6 have no limit.)
_int_limit: Callable[[], int] = getattr(sys, "get_int_max_str_digits", lambda: 0)


def _raw_decode(text: str, strict: bool, written: bool) -> Callable[[str, int], tuple[Any, int]]:
    """What decodes a document of `text`."""
    if not written and len(text) > MAX_INT_DIGITS and not 0 < _int_limit() <= MAX_INT_DIGITS:
        return _BOUNDED_DECODERS[strict].raw_decode
    return _DECODERS[strict, written].raw_decode


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
    start = 0 if text[:1] == "{" else _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches the empty string
    try:
        value, end = _raw_decode(text, strict, written)(text, start)
    except (ValueError, RecursionError) as error:
        raise _fault(error) from None
    if end < len(text) and (end := _SPACE.match(text, end).end()) < len(text):  # type: ignore[union-attr]
        raise BodyError("no valid JSON: Extra data", end)
    # Each level needs a bracket: few brackets, no need to look.
    if text.count("[") + text.count("{") > MAX_DEPTH and _too_deep(value):
        raise BodyError(_TOO_DEEP)
    return value


def decode_sequence(text: str, *, written: bool = False) -> list[Any]:
    """The values of JSON texts that follow each other, adjacent or with white space, `,` or `;` between them.

    Raises:
        BodyError: as `decode_json`, and for a number or word that is right behind another.
    """
    decode = _raw_decode(text, False, written)
    values: list[Any] = []
    at, stop = _SPACE.match(text).end(), len(text)  # type: ignore[union-attr]  # it matches the empty string
    try:
        while at < stop:
            value, end = decode(text, at)
            values.append(value)
            at = after_document(text, end, _BETWEEN)
    except (ValueError, RecursionError) as error:
        raise _fault(error) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and any(map(_too_deep, values)):
        raise BodyError(_TOO_DEEP)
    return values


_TOO_DEEP = f"JSON nested more than {MAX_DEPTH} levels deep"


def _fault(error: Exception) -> BodyError:
    """What a decoder raised, in our words."""
    if isinstance(error, JSONDecodeError):
        return BodyError(f"no valid JSON: {json_reason(error)}", error.pos)
    if isinstance(error, _RefusedError):
        return BodyError(f"no valid JSON: {error}")
    if isinstance(error, RecursionError):
        return BodyError(_TOO_DEEP)
    return BodyError(f"no valid JSON: an integer of more than {MAX_INT_DIGITS} digits")


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

    Of this package only: `until_complete` ends the region where the value does, and `entry_keys` gives names to the key and
    the value of an object that has just one: with `["name", "arguments"]` `{"f": {}}` becomes `{"name": "f",
    "arguments": {}}`. Of a list, that is each element that is such an object.
    """

    name = "json"
    arguments: ClassVar[tuple[str, ...]] = (
        *("unquoted_keys", "string_delims", "allow_non_json"),
        *("until_complete", "entry_keys", "repair"),
    )
    extension_arguments = frozenset(("until_complete", "entry_keys", "repair"))

    def __init__(self, args: Arguments) -> None:
        self.allow_non_json = args.flag("allow_non_json", False)
        self._unquoted_keys = args.flag("unquoted_keys", False)
        self._string_delims = _delims(args)
        self._entry_keys = _entry_keys(args)
        self.until_complete = args.flag("until_complete", False)
        if self.until_complete and self.allow_non_json:
            args.problem("until_complete", "needs JSON, of which it can tell the end: remove it or allow_non_json")
        self._special = bool(self._unquoted_keys or self._string_delims)
        self.repairs = args.flag("repair", False)
        if self.repairs:
            _check_repair(args, self._special or self.allow_non_json)
        self._fallback: Dialect | None = None
        if self._special or not self.allow_non_json:
            self._fallback = Dialect(
                unquoted_keys=self._unquoted_keys,
                string_delims=self._string_delims,
                repairs=not self.allow_non_json,
            )

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> Any:
        """The value; with `allow_non_json` the stripped body where there is none."""
        if self._special and _BARE_OBJECT.match(body):
            value = self._otherwise(body, BodyError("no valid JSON"), written, cut_off)
        else:
            try:
                value = decode_json(body, strict=self.allow_non_json, written=written)
            except BodyError as error:
                value = self._otherwise(body, error, written, cut_off)
        return value if self._entry_keys is None else self._named(value)

    def repair(self, body: str, cut_off: bool) -> Any:
        """The object or list that json_repair makes of a body which is no JSON.

        Raises:
            BodyError: it makes nothing of it; or the generation ended elsewhere than behind a closing bracket, so that what is
                missing can't be told from what is wrong.
        """
        import json_repair

        if len(body) > _MOST_REPAIRED or (cut_off and body.rstrip()[-1:] not in ("}", "]")):
            raise BodyError("too long, or cut off inside a value")
        try:
            value = json_repair.loads(body)
            json.dumps(value, allow_nan=False)
            more = json.dumps(json_repair.loads(body + _MORE), ensure_ascii=False) if cut_off else ""
        except Exception as error:  # noqa: BLE001 - a library's own, on any text
            raise BodyError(f"no repair: {type(error).__name__}") from None
        if _MORE in more:
            raise BodyError("cut off inside a string")  # what follows would be part of it
        if not isinstance(value, (dict, list)) or not value or _too_deep(value):
            raise BodyError("no repair")
        return value if self._entry_keys is None else self._named(value)

    def _otherwise(self, body: str, first: BodyError, written: bool, cut_off: bool) -> Any:
        """What else than JSON the body is; raises `first` if it is nothing."""
        if self._fallback is not None:
            try:
                return self._reread(self._fallback, body, _on_number if written else None, not cut_off)
            except BodyError as error:
                if self._special:
                    first = BodyError(f"no valid JSON: {error.reason}", error.position)
        if self.allow_non_json:
            return body.strip()
        raise first

    def _reread(self, dialect: Dialect, body: str, on_number: Callable[[Any, str], Any] | None, complete: bool) -> Any:
        return dialect.read(body, on_number=on_number, complete=complete)

    def _named(self, value: Any) -> Any:
        """The value with `entry_keys` applied."""
        if type(value) is list:
            return [self._entry(item) for item in value]
        return self._entry(value)

    def _entry(self, value: Any) -> Any:
        if type(value) is not dict or len(value) != 1 or self._entry_keys is None:
            return value
        return dict(zip(self._entry_keys, *value.items(), strict=True))

    def scanner(self) -> JsonScanner:
        """A scanner for this dialect."""
        return JsonScanner(self._unquoted_keys, self._string_delims, repairs=not self.allow_non_json)


def _check_repair(args: Arguments, other: bool) -> None:
    if other:
        args.problem("repair", "is for plain JSON: remove it, or unquoted_keys, string_delims and allow_non_json")
    elif importlib.util.find_spec("json_repair") is None:
        args.problem("repair", "needs json_repair: pip install 'transformers-response-parsing[repair]'")


def _entry_keys(args: Arguments) -> tuple[str, str] | None:
    """The checked `entry_keys`."""
    if "entry_keys" not in args.values:
        return None
    keys = args.values["entry_keys"]
    if isinstance(keys, (list, tuple)) and len(keys) == 2 and all(isinstance(key, str) and key for key in keys):
        name, value = keys
        if name != value:
            return name, value
    args.problem("entry_keys", 'must be two different strings that are not empty, such as ["name", "arguments"]')
    return None


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
