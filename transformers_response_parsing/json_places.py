# SPDX-License-Identifier: Apache-2.0
"""Where in a JSON text the values are that problems of a template name by their path."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from .source import join_path, parent_path

__all__ = ["JsonPlaces", "Place"]

_SPACE = re.compile(r"[\ufeff \t\r\n]*")
_SCALARS = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class Place(NamedTuple):
    """A place in a text, both counted from 1; columns are characters."""

    line: int
    column: int


class JsonPlaces:
    """The places of all members and elements of a JSON text.

    Args:
        text: valid JSON.
        base: path of the value that paths are relative to (`response_template` in a `tokenizer_config.json`).
    """

    def __init__(self, text: str, base: str = "") -> None:
        self._text = text
        self._base = base
        self._starts: dict[str, int] = {}
        self._repeated: list[tuple[str, int]] = []
        self._walk("", self._skip(0))

    def find(self, path: str) -> Place:
        """Where the member or element is; of what is missing, where it should be in. Of a key that is there twice, the last."""
        whole = self._base + (f".{path}" if self._base and path and not path.startswith("[") else path)
        while whole not in self._starts:
            whole = parent_path(whole)
        return self._place(self._starts[whole])

    def repeated(self) -> list[tuple[str, Place]]:
        """The keys in `base` that are there again in their object, each time from the second on, and `base` itself if it is."""
        found = []
        for path, at in self._repeated:
            rest = path.removeprefix(self._base) if path.startswith(self._base) else None
            if rest is not None and (not self._base or rest[:1] in ("", ".", "[")):
                found.append((rest.removeprefix("."), self._place(at)))
        return found

    def _place(self, at: int) -> Place:
        return Place(self._text.count("\n", 0, at) + 1, at - self._text.rfind("\n", 0, at))

    def _walk(self, path: str, at: int) -> int:
        """Note the places in the value that begins at `at`; where it ends."""
        self._starts.setdefault(path, at)
        opening = self._text[at]
        if opening not in "{[":
            return _SCALARS.raw_decode(self._text, at)[1]
        closing = "}" if opening == "{" else "]"
        index = 0
        keys: set[str] = set()
        at = self._skip(at + 1)
        while self._text[at] != closing:
            if opening == "{":
                key, end = _SCALARS.raw_decode(self._text, at)
                inner = join_path(path, key)
                if key in keys:
                    self._repeated.append((inner, at))
                keys.add(key)
                self._starts[inner] = at
                at = self._skip(self._skip(end) + 1)
            else:
                inner = f"{path}[{index}]"
                index += 1
            at = self._skip(self._walk(inner, at))
            if self._text[at] == ",":
                at = self._skip(at + 1)
        return at + 1

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return at if match is None else match.end()
