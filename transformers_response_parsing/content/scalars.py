# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 - every content type has the same signature
"""The content types whose text is the value: `text`, `int`, `float`, `bool`."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.limits import MAX_INT_DIGITS

from .base import Arguments, Content

__all__ = ["BoolContent", "FloatContent", "IntContent", "TextContent"]


class TextContent(Content):
    """`text`: the body as a str, stripped unless `strip` is false."""

    name = "text"
    arguments = ("strip",)
    dirty: ClassVar[bool] = False

    def __init__(self, args: Arguments) -> None:
        self.strips = args.flag("strip", True)

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> str:
        """The text."""
        return body.strip() if self.strips else body


class IntContent(Content):
    """`int`: what Python's `int()` reads (a sign, digits of any script, single underscores between digits)."""

    name = "int"
    dirty: ClassVar[bool] = False

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> int:
        """The integer; at most `limits.MAX_INT_DIGITS` characters."""
        text = body.strip()
        if len(text) > MAX_INT_DIGITS:
            raise BodyError(f"an integer of more than {MAX_INT_DIGITS} digits", _start(body))
        try:
            return int(text)
        except ValueError:
            raise BodyError(f"expected an integer, got {_shown(text)}", _start(body)) from None


class FloatContent(Content):
    """`float`: what Python's `float()` reads, if it is finite (NaN and infinities are no JSON values)."""

    name = "float"
    dirty: ClassVar[bool] = False

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> float:
        """The number."""
        text = body.strip()
        try:
            value = float(text)
        except ValueError:
            raise BodyError(f"expected a number, got {_shown(text)}", _start(body)) from None
        if not math.isfinite(value):
            raise BodyError(f"expected a finite number, got {_shown(text)}", _start(body))
        return value


class BoolContent(Content):
    """`bool`: True for `true` and `1` in any case, False for everything else."""

    name = "bool"
    dirty: ClassVar[bool] = False

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> bool:
        """The truth value."""
        return body.strip().lower() in ("true", "1")


def _start(body: str) -> int:
    return len(body) - len(body.lstrip())


def _shown(text: Any, most: int = 40) -> str:
    """A short repr for messages."""
    return repr(text) if len(text) <= most else f"{text[:most]!r}…"
