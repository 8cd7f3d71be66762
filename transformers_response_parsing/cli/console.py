# SPDX-License-Identifier: Apache-2.0
"""What every command writes with: results on one stream, hints on another, colours only where they are wanted."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from typing import Any, TextIO

__all__ = ["Console"]

_RESET = "\x1b[0m"
_CODES = {
    "bold": "1",
    "underline": "4",
    "reverse": "7",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


class Console:
    """A pair of text streams, `out` for results and `err` for hints and errors.

    Args:
        color: False: never any colours. None: if `out` is a terminal and the environment does not object (NO_COLOR set
            to anything, https://no-color.org, or TERM=dumb).
        out, err: default to the standard streams.
    """

    def __init__(self, *, color: bool | None = None, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out if out is not None else sys.stdout
        self.err = err if err is not None else sys.stderr
        self.interactive = self.out.isatty()
        plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.color = (self.interactive and not plain) if color is None else color

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Console:
        """The console that the options common to all commands ask for."""
        return cls(color=False if arguments.no_color else None)

    @property
    def width(self) -> int:
        """Columns of the terminal; 80 where there is none."""
        return shutil.get_terminal_size((80, 24)).columns if self.interactive else 80

    def style(self, text: str, *styles: str) -> str:
        """The text in these styles ("bold", "cyan", ...), or as it is without colours."""
        if not self.color or not styles or not text:
            return text
        return f"\x1b[{';'.join(_CODES[style] for style in styles)}m{text}{_RESET}"

    def write(self, text: str, *styles: str) -> None:
        """Write without a line end, and show it at once."""
        self.out.write(self.style(text, *styles))
        self.out.flush()

    def line(self, text: str = "", *styles: str) -> None:
        """Write a line."""
        self.write(f"{self.style(text, *styles)}\n")

    def json(self, value: Any, *, compact: bool = False) -> None:
        """Write a value as JSON, over several lines or (`compact`) in one."""
        self.line(json.dumps(value, ensure_ascii=False, indent=None if compact else 2))

    def hint(self, text: str) -> None:
        """A line for people, not for programs: to `err`."""
        self.err.write(f"{text}\n")
        self.err.flush()

    def hint_if(self, text: str) -> None:
        """The same, if there is anything to say."""
        if text:
            self.hint(text)
