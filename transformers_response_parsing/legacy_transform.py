# SPDX-License-Identifier: Apache-2.0
"""The JMESPath expressions of legacy schemas that a `transform` can say: objects of paths and constants, for one or for each."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["Shape", "TransformError", "read_transform"]

_TOKEN = re.compile(
    r"\s*(?:(?P<literal>'(?:[^'\\]|\\.)*'|`[^`]*`)|(?P<name>\w+|\"[^\"]*\")|(?P<sign>[{}:,.@])|(?P<end>\Z))"
)
_EACH = re.compile(r"\s*\[\*?\]\s*\.?")


class TransformError(ValueError):
    """The expression says more than a transform can."""


class Shape(NamedTuple):
    """A transform: its shape, and whether it is for each element of a list."""

    shape: Any
    each: bool


def read_transform(expression: str) -> Shape:
    """Read an expression such as `{type: 'function', function: @}` or `[*].{name: tool_name}`.

    Raises:
        TransformError: it is of another kind.
    """
    each = _EACH.match(expression)
    reader = _Reader(expression, each.end() if each else 0, "" if each else "content")
    shape = reader.value()
    if reader.kind != "end":
        raise TransformError(f"{reader.rest()!r} in its transform has no counterpart here")
    return Shape(shape, each is not None)


class _Reader:
    def __init__(self, text: str, at: int, root: str) -> None:
        self._text, self._at, self._root = text, at, root
        self._advance()

    def rest(self) -> str:
        return self._text[self._start :]

    def value(self) -> Any:
        if self.kind == "literal":
            literal = self._take()
            if literal[0] == "'":
                return literal[1:-1].replace("\\'", "'")
            try:
                return json.loads(literal[1:-1])
            except ValueError:
                raise TransformError(f"{literal} in its transform is no JSON") from None
        if self._word == "{":
            return self._object()
        return self._path()

    def _object(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        self._take()
        while True:
            key = self._name()
            self._expect(":")
            made[key] = self.value()
            if self._word != ",":
                break
            self._take()
        self._expect("}")
        return made

    def _path(self) -> str:
        if self._word == "@":
            self._take()
            if not self._root:
                raise TransformError("a whole element (@) of a list has no counterpart in a transform")
            steps = [self._root]
        else:
            steps = [*filter(None, [self._root]), self._name()]
        while self._word == ".":
            self._take()
            steps.append(self._name())
        return "{" + ".".join(steps) + "}"

    def _name(self) -> str:
        if self.kind != "name":
            raise TransformError(f"{self.rest()!r} in its transform has no counterpart here")
        return self._take().strip('"')

    def _expect(self, sign: str) -> None:
        if self._word != sign:
            raise TransformError(f"{self.rest()!r} in its transform has no counterpart here")
        self._take()

    def _take(self) -> str:
        taken = self._word
        self._advance()
        return taken

    def _advance(self) -> None:
        self._start = self._at
        match = _TOKEN.match(self._text, self._at)
        if match is None:
            raise TransformError(f"{self._text[self._at :].strip()!r} in its transform has no counterpart here")
        self.kind = str(match.lastgroup)
        self._word = match[self.kind]
        self._at = match.end()
