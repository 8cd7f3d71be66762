# SPDX-License-Identifier: Apache-2.0
"""From the text of an argument to a value of the type its schema asks for, or `FAILED`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.limits import MAX_INT_DIGITS

from .json_content import decode_json
from .json_dialect import Dialect
from .written import Written

__all__ = ["CASTS", "FAILED", "decode_container"]

FAILED: Any = object()
"""What a cast returns where the text is no such value (None is a value)."""

_PYTHON = Dialect(repairs=True)


def cast_integer(text: str) -> Any:
    if len(text) > MAX_INT_DIGITS:
        return FAILED
    try:
        return int(text)
    except ValueError:
        value = cast_float(text)
        return int(value) if value is not FAILED and value.is_integer() else FAILED


def cast_number(text: str) -> Any:
    """An int where the text has no fraction, else a float; `1e3` is 1000."""
    if "." not in text:
        value = cast_integer(text)
        if value is not FAILED:
            return value
    return cast_float(text)


def cast_float(text: str) -> Any:
    try:
        value = float(text)
    except ValueError:
        return FAILED
    return value if math.isfinite(value) else FAILED


def cast_boolean(text: str) -> Any:
    word = text.strip().lower() if len(text) < 100 else ""
    return True if word in ("true", "1") else False if word in ("false", "0") else FAILED


def cast_null(text: str) -> Any:
    return None if len(text) < 100 and text.strip().lower() in ("null", "none") else FAILED


CASTS: dict[str, Callable[[str], Any]] = {
    "integer": cast_integer,
    "number": cast_number,
    "boolean": cast_boolean,
    "null": cast_null,
}


def decode_container(text: str, *, strict: bool = False, again: int = 2) -> Any:
    """The object or array `text` encodes, or `FAILED`; without `strict` also as a Python literal, or encoded twice."""
    first = text.lstrip()[:1]
    if first not in ("{", "[", "(", '"', "'") or not first:
        return FAILED
    try:
        value = decode_json(text, written=True)
    except BodyError:
        if strict:
            return FAILED
        try:
            value = _PYTHON.read(text, on_number=lambda value, source: Written(value, source, True), exact=True)
        except BodyError:
            return FAILED
    if type(value) is str:
        return decode_container(value, again=again - 1) if again and not strict else FAILED
    return value
