# SPDX-License-Identifier: Apache-2.0
"""Shows parsing events in a terminal: regions in colour as they open, grow and close, then the message."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .cli.console import Console

__all__ = ["EventView"]

_COLORS = {"reasoning_content": "magenta", "content": "green", "tool_calls": "cyan"}
_OTHER_COLORS = ("yellow", "blue")


class EventView:
    """Writes events to a console as they come. A field has one colour throughout; without colours its name tells it."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._colors = dict(_COLORS)
        self._column = 0

    def legend(self, fields: Iterable[str], *, raw: bool = False) -> None:
        """One line: which colour is which field, and with `raw` which the text as the model wrote it."""
        marks = [self._console.style(f"■ {field}", self._color(field)) for field in fields]
        if raw:
            marks.append(self._console.style("■ as the model wrote it", "dim"))
        self._console.line(f"  {'   '.join(marks)}")

    def title(self, name: str, right: str) -> None:
        """A rule with the name of what comes, and where it is from."""
        rule = "━" * max(4, self._width() - len(name) - len(right) - 6)
        self._console.line()
        self._console.write(f"━━ {self._console.style(name, 'bold')} {rule} ")
        self._console.line(right, "dim")

    def heading(self, text: str) -> None:
        """What the next lines are."""
        self._console.line()
        self._console.line(text, "bold")

    def raw(self, text: str) -> None:
        """Text as the model wrote it, indented."""
        width = self._width() - 2
        for line in text.split("\n"):
            for start in range(0, len(line) or 1, width):
                self._console.line(f"  {line[start : start + width]}", "dim")

    def show(self, event: Mapping[str, Any]) -> None:
        """One event."""
        color = self._color(event["field"])
        kind = event["type"]
        if kind == "region_open":
            self._console.line(f"  ┌ {event['field']}", color, "bold")
            self._column = 0
        elif kind == "region_chunk":
            self._grow(event["text"], color)
        elif kind == "region_close":
            self._end_of_line()
            self._close(event["value"], color)
        elif kind == "region_malformed":
            self._end_of_line()
            self._console.line(f"  └ ✗ {event['error']}", "red")

    def message(self, message: Mapping[str, Any]) -> None:
        """The message as JSON, each key in the colour of its field."""
        text = json.dumps(message, ensure_ascii=False, indent=2)
        color: tuple[str, ...] = ()
        for line in text.split("\n"):
            if line.startswith('  "'):
                field = line.split('"')[1]
                color = (self._color(field),) if field in self._colors else ()
            self._console.line(f"  {line}", *(color if line not in "{}" else ()))

    def _grow(self, text: str, color: str) -> None:
        width = self._width() - 5
        shown = ""
        for char in text.replace("\r", ""):
            if self._column == width or (char == "\n" and self._column):
                shown += "\n"
                self._column = 0
            if char == "\n":
                continue
            shown += ("  │ " if self._column == 0 else "") + char
            self._column += 1
        # Line by line: a terminal paints the rest of a line in the style that is on at its end.
        head, *lines = shown.split("\n")
        self._console.write(head, color)
        for line in lines:
            self._console.write("\n")
            self._console.write(line, color)

    def _close(self, value: Any, color: str) -> None:
        if isinstance(value, str):
            self._console.line("  └", color, "bold")
            return
        calls = value if isinstance(value, list) else [value]
        for call in calls:
            self._console.line(f"  └ {json.dumps(call, ensure_ascii=False)}", color, "bold")

    def _width(self) -> int:
        return max(24, min(self._console.width, 100))

    def _end_of_line(self) -> None:
        if self._column:
            self._console.line()
        self._column = 0

    def _color(self, field: str) -> str:
        if field not in self._colors:
            self._colors[field] = _OTHER_COLORS[len(self._colors) % len(_OTHER_COLORS)]
        return self._colors[field]
