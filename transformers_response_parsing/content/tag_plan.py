# SPDX-License-Identifier: Apache-2.0
"""Finds the tags of `xml-inline`: exactly what `regex.finditer` finds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from transformers_response_parsing.errors import BodyError

__all__ = ["Tag", "TagFinder"]

Tag = tuple[int, int, str, str, int]
"""Start and end of a tag, its key, its value, and where the value starts."""


class TagFinder:
    """Finds the tags of a `tag_pattern` in a body."""

    def __init__(self, source: str, compiled: Any, timeout: float) -> None:
        self._source = source
        self._regex = compiled
        self._timeout = timeout

    def find(self, body: str, start: int = 0) -> Iterator[Tag]:
        """The tags from `start` on, left to right, without overlaps.

        Raises:
            BodyError: the search took longer than `limits.SEARCH_TIMEOUT`, or a match without key or value.
        """
        try:
            for match in self._regex.finditer(body, start, timeout=self._timeout):
                key, value = match["key"], match["value"]
                if key is None or value is None:
                    raise BodyError("a tag without a key or a value", match.start())
                yield match.start(), match.end(), key, value, match.start("value")
        except TimeoutError:
            raise BodyError(f"the search for tag_pattern {self._source!r} took too long") from None
