# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 - every content type has the same signature
"""`kv-lines`: one `key: value` pair a line."""

from __future__ import annotations

from typing import Any

from transformers_response_parsing.errors import BodyError

from .base import Arguments, Content
from .values import ValueReader

__all__ = ["KvLinesContent"]


class KvLinesContent(Content):
    """`kv-lines`: a dict of the lines that hold `kv_sep`; the others are skipped. A repeated key: the last line wins."""

    name = "kv-lines"
    arguments = ("line_sep", "kv_sep", "strip", "value_parser")

    def __init__(self, args: Arguments) -> None:
        self._line_sep = args.text("line_sep", "\n")
        self._kv_sep = args.text("kv_sep", ":")
        self._strip = args.flag("strip", True)
        self._values = ValueReader(args.nested())

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> dict[str, Any]:
        """The dict."""
        result: dict[str, Any] = {}
        read, strip = self._values.read, self._strip
        start = 0
        for line in body.split(self._line_sep):
            key, found, text = line.partition(self._kv_sep)
            if found:
                at = start + len(key) + len(found)
                if strip:
                    key, text = key.strip(), text.strip()
                try:
                    result[key] = read(text, written)
                except BodyError as error:
                    raise BodyError(f"value of '{key}': {error.reason}", at + (error.position or 0)) from None
            start += len(line) + len(self._line_sep)
        return result
