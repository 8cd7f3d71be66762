# SPDX-License-Identifier: Apache-2.0
"""`json-sequence`: several JSON values in one region."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers_response_parsing.errors import BodyError

from .json_content import JsonContent, decode_sequence
from .json_dialect import Dialect
from .json_scanner import JsonScanner

__all__ = ["JsonSequenceContent"]


class JsonSequenceContent(JsonContent):
    """`json-sequence`: the list of the JSON values in the body. transformers has no such type.

    The values are adjacent or have white space, `,` or `;` between them. An array stands for its elements, so that one
    object, several objects, JSON lines and one array of objects all give a flat list; an empty body gives an empty one.
    Each value is read as `json` reads it, slips with one reading included.

    With `until_complete` the region ends after the last value, where no further object or array follows.
    """

    name = "json-sequence"
    arguments = ("unquoted_keys", "string_delims", "until_complete", "entry_keys")
    extension = True
    extension_arguments = frozenset()

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> list[Any]:
        """The values."""
        try:
            values = decode_sequence(body, written=written)
        except BodyError as error:
            values = self._otherwise(body, error, written, cut_off)
        if cut_off and not values:
            raise BodyError("no JSON value was written", len(body))
        flat: list[Any] = []
        for value in values:
            if type(value) is list:
                flat += value
            else:
                flat.append(value)
        return flat if self._entry_keys is None else [self._entry(value) for value in flat]

    def _reread(self, dialect: Dialect, body: str, on_number: Callable[[Any, str], Any] | None, complete: bool) -> Any:
        return dialect.read_sequence(body, on_number=on_number, complete=complete)

    def scanner(self) -> JsonScanner:
        """A scanner for sequences in this dialect."""
        return JsonScanner(
            self._unquoted_keys,
            self._string_delims,
            repairs=not self.allow_non_json,
            sequence=True,
            until_complete=self.until_complete,
        )
