# SPDX-License-Identifier: Apache-2.0
"""The values of `xml-inline` and `kv-lines` entries: raw text, or whatever the `value_parser` makes of it."""

from __future__ import annotations

from typing import Any

from .base import Content
from .json_content import JsonContent
from .written import Written

__all__ = ["ValueReader"]


class ValueReader:
    """Reads one value with an optional nested content type, and keeps the text beside it where a schema may need it."""

    def __init__(self, parser: Content | None) -> None:
        self._parser = parser
        # A lax parser guesses whether the text was meant as JSON or is a string; a strict one knows.
        self._guesses = isinstance(parser, JsonContent) and parser.allow_non_json

    def read(self, text: str, written: bool) -> Any:
        """The value of `text`; with `written`, as `Written` where the parser changed anything (BodyError if it can't)."""
        parser = self._parser
        if parser is None:
            return text
        value = parser.parse(text)
        if not written or (value == text and type(value) is str):
            return value
        if type(value) is str and not self._guesses:
            return value
        return Written(value, text)
