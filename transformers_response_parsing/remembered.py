# SPDX-License-Identifier: Apache-2.0
"""Answers that are expensive to find, remembered for the questions that were asked last."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

__all__ = ["Remembered"]

_Answer = TypeVar("_Answer")
_MISSING: Any = object()


class Remembered(Generic[_Answer]):
    """Answers by question; where there is no more room, the one that was not asked for the longest is forgotten.

    Args:
        most: how many answers are kept at most.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: dict[Hashable, _Answer] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, question: Hashable, find: Callable[[], _Answer]) -> _Answer:
        """The answer: the remembered one, or what `find` gives. An exception is passed on and not remembered."""
        answer: _Answer = self._answers.pop(question, _MISSING)
        if answer is _MISSING:
            answer = find()
        self._answers[question] = answer  # the last, as it was asked last
        while len(self._answers) > self._most:
            # Another thread may have taken the oldest just now.
            self._answers.pop(next(iter(tuple(self._answers))), None)
        return answer

    def clear(self) -> None:
        """Forget everything."""
        self._answers.clear()
