# SPDX-License-Identifier: Apache-2.0
"""The end of a region that has no close: where its value is complete (`until_complete`)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from .content import EndScanner
from .watch import Hit

__all__ = ["ValueEndRun"]


class ValueEndRun:
    """Looks for the end of a value as a `WatchRun` looks for delimiters; what it finds is an empty match there.

    A value that is broken never ends: then the region runs to the end of the text.
    """

    __slots__ = ("_at", "_scanner", "_start", "safe")

    def __init__(self, scanner: EndScanner, at: int) -> None:
        self._scanner = scanner
        self._start = self._at = self.safe = at

    def advance(self, text_from: Callable[[int], tuple[str, int]], end: int, final: bool) -> Hit | None:
        """Read on up to `end`; see `WatchRun.advance`."""
        scanner = self._scanner
        if self._at < end:
            text, base = text_from(self._at)
            scanner.feed(text, self._at - base)
            self._at = end
        ended = scanner.document_end(final)
        if ended is None:
            self.safe = end if final else self._start + scanner.settled
            return None
        self.safe = self._start + ended
        return Hit(self.safe, self.safe, 0)

    def save(self) -> Any:
        """Plain picklable data for `restore`."""
        return (self.safe, self._at, self._start, copy.deepcopy(self._scanner))

    def restore(self, saved: Any) -> None:
        """Become the run that was saved."""
        self.safe, self._at, self._start, scanner = saved
        self._scanner = copy.deepcopy(scanner)
