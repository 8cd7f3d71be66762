# SPDX-License-Identifier: Apache-2.0
"""The errors of the package: one small family under `ResponseParsingError`.

The template's author made a mistake: `TemplateError`. The model (or the caller's text) did: `OutputError`.
"""

from __future__ import annotations

from collections.abc import Iterable
from json import JSONDecodeError
from typing import Any, ClassVar, NamedTuple

__all__ = [
    "MissingDependencyError",
    "OutputError",
    "PortabilityWarning",
    "Problem",
    "ResponseParsingError",
    "TemplateError",
    "clipped",
    "json_reason",
]

_EXCERPT_BEFORE = 40
_EXCERPT_AFTER = 30
# A message quotes what a model or a user wrote, which may be a page long. The beginning and the end of a line tell enough.
_LONGEST_LINE = 600
_LINE_BEGIN = 350
_LINE_END = 200


def clipped(text: str) -> str:
    """The text of a message without the middle of lines that are too long to be read."""
    if len(text) <= _LONGEST_LINE:
        return text
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:_LINE_BEGIN]} … {line[-_LINE_END:]}"
        for line in text.split("\n")
    )


def json_reason(error: JSONDecodeError) -> str:
    """What Python's JSON reader says is wrong, as words that text may follow (`Unterminated string starting at` may not)."""
    return error.msg.removesuffix(" at").removesuffix(" starting").rstrip(": ")


class Problem(NamedTuple):
    """One thing wrong with (or worth knowing about) a response template.

    `path` is the dotted path of the key in the template (`fields.tool_calls.open_pattern`; empty for the template as a
    whole), `message` says what is wrong and what to do.
    """

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ResponseParsingError(ValueError):
    """Base of every error this package raises about templates and texts.

    Its two children are also reachable as attributes: `ResponseParsingError.TemplateError`, `.OutputError`.
    """

    TemplateError: ClassVar[type[TemplateError]]
    OutputError: ClassVar[type[OutputError]]

    def __str__(self) -> str:
        return clipped(super().__str__())


class MissingDependencyError(ResponseParsingError, ImportError):
    """A package that what was asked for needs is not installed; the message says which, and how to install it."""


class PortabilityWarning(UserWarning):
    """What was done works with this package only; the message says what to do for those who do not use it."""


class TemplateError(ResponseParsingError):
    """The response template is wrong. Raised at load, with every problem found, not only the first.

    Attributes:
        problems: tuple of `Problem`, in the order of the template, never empty.
        path: path of the first problem (`fields.content.close`), "" for the template as a whole.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.path: str = self.problems[0].path if self.problems else ""
        super().__init__(self.problems)

    def __str__(self) -> str:
        if len(self.problems) == 1:
            return clipped(f"response template: {self.problems[0]}")
        lines = "".join(f"\n  {problem}" for problem in self.problems)
        return clipped(f"response template has {len(self.problems)} problems:{lines}")


class OutputError(ResponseParsingError):
    """The text can't be parsed with the template. Nothing is lost: the error carries what was parsed and the raw text.

    Attributes:
        reason: what is wrong, one sentence.
        field: name of the field whose region failed, or None where no single field is at fault.
        offset: where in the parsed text (prefix after its anchor + generation) the fault is, in characters, or None.
        raw: the body of the failed region as the model wrote it ("" where there is none).
        partial_message: the message as far as it was parsed (a dict).
        excerpt: a line of the text around the fault and a caret under it, or "".
        item: index in the batch, or None outside of batches.
        events: what the same call of a parser had to tell before the fault (a tuple of event dicts).
    """

    def __init__(
        self,
        reason: str,
        *,
        field: str | None = None,
        offset: int | None = None,
        raw: str = "",
        position: int | None = None,
        partial_message: dict[str, Any] | None = None,
        item: int | None = None,
    ) -> None:
        self.reason = reason
        self.field = field
        self.offset = offset
        self.raw = raw
        self.position = position
        self.partial_message: dict[str, Any] = {} if partial_message is None else partial_message
        self.item = item
        self.events: tuple[Any, ...] = ()
        super().__init__(reason)

    @property
    def excerpt(self) -> str:
        """The part of `raw` around the fault with a caret below it; "" if the place is not known."""
        if self.position is None or not self.raw:
            return ""
        at = min(self.position, len(self.raw))
        start = max(0, at - _EXCERPT_BEFORE)
        before, after = self.raw[start:at], self.raw[at : at + _EXCERPT_AFTER]
        # Newlines and tabs would put the caret under the wrong character.
        shown = [part.translate({10: "⏎", 13: "⏎", 9: "→"}) for part in (before, after)]
        lead = "…" if start else ""
        tail = "…" if at + _EXCERPT_AFTER < len(self.raw) else ""
        return f"{lead}{shown[0]}{shown[1]}{tail}\n{' ' * (len(lead) + len(shown[0]))}^"

    def __str__(self) -> str:
        where = [] if self.item is None else [f"item {self.item} of the batch"]
        where += [] if self.field is None else [f"field '{self.field}'"]
        where += [] if self.offset is None else [f"at character {self.offset} of the message"]
        text = clipped(f"{', '.join(where)}: {self.reason}" if where else self.reason)
        return f"{text}\n{self.excerpt}" if self.excerpt else text

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild_output_error, (type(self), self.reason, self._state()))

    def _state(self) -> dict[str, Any]:
        keys = ("field", "offset", "raw", "position", "partial_message", "item", "events")
        return {key: getattr(self, key) for key in keys}


class PatternTooSlowError(OutputError):
    """Internal, an OutputError to everybody else: a search took longer than `limits.SEARCH_TIMEOUT`."""


def _rebuild_output_error(cls: type[OutputError], reason: str, state: dict[str, Any]) -> OutputError:
    events = state.pop("events")
    error = cls(reason, **state)
    error.events = events
    return error


class BodyError(Exception):
    """Internal: the body of a region can't become a value. The parser adds field, offset and raw text."""

    def __init__(self, reason: str, position: int | None = None) -> None:
        super().__init__(reason)
        self.reason = clipped(reason)
        self.position = position


ResponseParsingError.TemplateError = TemplateError
ResponseParsingError.OutputError = OutputError
