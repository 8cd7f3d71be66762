# SPDX-License-Identifier: Apache-2.0
"""From whatever the user has (dict, JSON text, file) to a plain, bounded, JSON-only dict.

Everything after this module can rely on: string keys, only JSON values, no cycles, a bounded size and depth. A template
comes from the Hub as often as from its author, so the bounds are part of the job.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

from .errors import Problem, TemplateError, json_reason
from .limits import MAX_INT_DIGITS, MAX_TEMPLATE_CHARACTERS, MAX_TEMPLATE_DEPTH, MAX_TEMPLATE_INTEGER_BITS

__all__ = ["KEY_TWICE", "Source", "describe", "join_path", "parent_path", "read_source"]

KEY_TWICE = "the key is there more than once: keep one (JSON readers silently take the last)"

# Escapes (\u1234) and indentation make a file longer than the strings in it.
_MAX_FILE_BYTES = 16 * MAX_TEMPLATE_CHARACTERS
# What may be the name of a family, or the id of a model.
_NAME = re.compile(r"[\w.-]{1,60}(?:/[\w.-]{1,96})?")
_PLAIN_KEY = re.compile(r"[^\s.\[\]\"]+")


class Source:
    """A template as plain JSON data.

    Attributes:
        data: the template, a deep copy that shares nothing with what the user passed.
        problems: what made the copying of a value impossible (it is None in `data`), duplicated keys.
        order: path -> position in the template, for reporting problems in the order of the template.
        broken: paths of the values that could not be copied: what is found there later is only a consequence.
    """

    __slots__ = ("_characters", "broken", "data", "order", "problems")

    def __init__(self, value: dict[Any, Any]) -> None:
        self.problems: list[Problem] = []
        self.order: dict[str, int] = {}
        self.broken: set[str] = set()
        self._characters = 0
        self.data: dict[str, Any] = self._copy(value, "", 0)

    def _copy(self, value: Any, path: str, depth: int) -> Any:
        self.order.setdefault(path, len(self.order))
        self._count(1)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            self._count(len(value))
            return str.__str__(value)
        if isinstance(value, int):
            if value.bit_length() > MAX_TEMPLATE_INTEGER_BITS:
                return self._refuse(path, f"the integer is too large: use at most {MAX_TEMPLATE_INTEGER_BITS} bits")
            return int(value)
        if isinstance(value, float):
            if not math.isfinite(value):
                return self._refuse(path, f"{float(value)} is not JSON: use a finite number, a string or null")
            return float(value)
        if isinstance(value, (dict, list)) and depth >= MAX_TEMPLATE_DEPTH:
            return self._refuse(path, f"is nested too deeply: use at most {MAX_TEMPLATE_DEPTH} levels")
        if isinstance(value, dict):
            return self._copy_dict(value, path, depth)
        if isinstance(value, list):
            return [self._copy(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
        advice = "use a list" if isinstance(value, (tuple, set, frozenset)) else "use only what JSON can hold"
        return self._refuse(path, f"a value of the Python type {type(value).__name__} is not JSON: {advice}")

    def _copy_dict(self, value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
        copied: dict[str, Any] = {}
        for key in value.duplicates if isinstance(value, _JsonObject) else ():
            self.problems.append(Problem(join_path(path, key), KEY_TWICE))
        for key, item in value.items():
            if isinstance(key, str):
                name = str.__str__(key)
            else:
                name = repr(key)[:40]
                message = f"keys are strings in JSON, not {describe(key)}: write it in quotes"
                self.problems.append(Problem(join_path(path, name), message))
            self._count(len(name))
            copied[name] = self._copy(item, join_path(path, name), depth + 1)
        return copied

    def _count(self, characters: int) -> None:
        # Also ends the walk through lists that hold each other many times over (a billion laughs).
        self._characters += characters
        if self._characters > MAX_TEMPLATE_CHARACTERS:
            message = f"the template is too large: use at most {MAX_TEMPLATE_CHARACTERS:,} characters"
            raise TemplateError([Problem("", message)])

    def _refuse(self, path: str, message: str) -> None:
        self.problems.append(Problem(path, message))
        self.broken.add(path)


def read_source(template: object) -> Source:
    """Read a template from a dict, a JSON text, or the file a Path (or a string that names one) leads to.

    Raises TemplateError if it isn't JSON or no object, OSError if the file can't be read.
    """
    if isinstance(template, dict):
        return Source(template)
    if isinstance(template, os.PathLike):
        return Source(_read_file(Path(template)))
    if not isinstance(template, str):
        raise _error(f"a response template is a dict, a JSON text or the path of a JSON file, not {describe(template)}")
    text = template.lstrip("\ufeff \t\r\n")
    if text.startswith("{"):
        return Source(_parse(template.lstrip("\ufeff"), "the JSON text"))
    if template.endswith(".json") or os.path.exists(template):  # noqa: PTH110 - pathlib raises where the text is no possible name
        return Source(_read_file(Path(template)))
    if not text.startswith(("[", '"')):
        shown = template if len(template) <= 60 else template[:60] + "…"
        named = f", or get_template({template!r}).response_template" if _NAME.fullmatch(template) else ""
        raise _error(
            f"{shown!r} is neither a JSON object nor a file that exists: pass a dict, its JSON text or a path{named}"
        )
    return Source(_parse(template, "the JSON text"))


def _read_file(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        raw = file.read(_MAX_FILE_BYTES + 1)
    try:
        return _parse(raw.decode("utf-8-sig"), f"the file '{path}'")
    except UnicodeDecodeError as error:
        raise _error(f"the file '{path}' is not UTF-8 (byte {error.start}): save it as UTF-8") from None


class _JsonObject(dict[str, Any]):
    """A JSON object that remembers which keys it was given twice."""

    duplicates: tuple[str, ...] = ()


def _object(pairs: list[tuple[str, Any]]) -> _JsonObject:
    result = _JsonObject(pairs)
    if len(result) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        result.duplicates = tuple(key for key, count in counts.items() if count > 1)
    return result


def _integer(text: str) -> int:
    if len(text) > MAX_INT_DIGITS:  # the program may have lifted the interpreter's own limit
        raise ValueError(f"an integer of {len(text):,} digits")
    return int(text)


def _parse(text: str, what: str) -> dict[str, Any]:
    if len(text) > _MAX_FILE_BYTES:
        raise _error(f"{what} is too large: a template has at most {MAX_TEMPLATE_CHARACTERS:,} characters")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise _error(f"{what} is not valid JSON: {json_reason(error)} at {place}; correct it there") from None
    except RecursionError:
        raise _error(f"{what} is nested too deeply: use at most {MAX_TEMPLATE_DEPTH} levels") from None
    except ValueError as error:  # an integer of thousands of digits
        raise _error(f"{what} can't be read: {error}") from None
    if not isinstance(value, dict):
        raise _error(f'{what} must hold an object like {{"fields": …}}, not {describe(value)}')
    return value


def join_path(base: str, key: str) -> str:
    """Append a key to a path: `fields` + `x` -> `fields.x`, and `fields["a.b"]` where a dot would mislead."""
    if not _PLAIN_KEY.fullmatch(key):
        return f"{base}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{base}.{key}" if base else key


def parent_path(path: str) -> str:
    """The path without its last step; "" for the first one."""
    return path[: max(path.rfind("."), path.rfind("["), 0)]


def describe(value: object) -> str:
    """A value's type in JSON's words, for error messages; short values are shown."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        shown = "" if isinstance(value, int) and value.bit_length() > MAX_TEMPLATE_INTEGER_BITS else f" {value!r}"
        return f"the number{shown}"
    if isinstance(value, str):
        return f"the string {value!r}" if len(value) <= 40 else "a string"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    return f"a Python {type(value).__name__}"


def _error(message: str) -> TemplateError:
    return TemplateError([Problem("", message)])
