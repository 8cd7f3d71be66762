# SPDX-License-Identifier: Apache-2.0
"""Answers are found once, and forgotten in the order in which they were asked for."""

from __future__ import annotations

import pytest

from transformers_response_parsing.remembered import Remembered


def test_the_one_not_asked_for_the_longest_is_forgotten() -> None:
    found: list[str] = []

    def ask(question: str) -> str:
        return remembered.get(question, lambda: (found.append(question), question.upper())[1])

    remembered: Remembered[str] = Remembered(2)
    assert [ask(question) for question in "abacab"] == ["A", "B", "A", "C", "A", "B"]
    assert found == ["a", "b", "c", "b"]
    assert len(remembered) == 2
    remembered.clear()
    assert ask("a") == "A"
    assert found[-1] == "a"


def test_none_is_an_answer_and_an_error_is_none() -> None:
    remembered: Remembered[None] = Remembered(2)
    with pytest.raises(ZeroDivisionError):
        remembered.get("a", lambda: 1 // 0)
    assert remembered.get("a", lambda: None) is None
    assert remembered.get("a", lambda: 1 // 0) is None
