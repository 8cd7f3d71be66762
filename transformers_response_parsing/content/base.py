# SPDX-License-Identifier: Apache-2.0
"""What every content type is: a small object made once from a template's arguments, then used for every region."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from transformers_response_parsing.errors import Problem

if TYPE_CHECKING:
    from .json_scanner import JsonScanner

__all__ = ["Arguments", "Content", "EndScanner", "did_you_mean"]


class EndScanner(Protocol):
    """Follows a body piece by piece, and tells where it is complete."""

    @property
    def settled(self) -> int:
        """How many of the characters that were fed are part of the body, whatever comes next."""

    def feed(self, text: str, start: int = 0) -> None:
        """Go on with `text[start:]`."""

    def document_end(self, final: bool = False) -> int | None:
        """How many characters had been fed where the body ended, None if that is not known; `final`: nothing more comes."""


class Content:
    """Base of the content types: turns the body of a region (a str) into a value.

    Subclasses read their `content_args` in `__init__` and are immutable afterwards, picklable and shared by parsers.
    """

    name: ClassVar[str]
    """The name templates use."""
    arguments: ClassVar[tuple[str, ...]] = ()
    """The `content_args` it takes."""
    extension: ClassVar[bool] = False
    """transformers has no such content type."""
    min_transformers: ClassVar[str] = "5.13.0"
    """The first release of transformers that has it."""
    extension_arguments: ClassVar[frozenset[str]] = frozenset()
    """Those of the `arguments` that transformers does not have, where it has the type."""
    dirty: ClassVar[bool] = True
    """False if the raw text of the region is already the value (SPEC 3, events)."""

    strips: bool = True
    """Whitespace around the body is no part of the value."""
    until_complete: bool = False
    """The region ends by itself where the body is complete, as its `end_scanner` tells."""
    repairs: bool = False
    """A body that can't be parsed is handed to `repair`."""
    extensions: tuple[str, ...] = ()
    """Paths of the names and arguments in the template that only this package has."""

    def __init__(self, args: Arguments) -> None:
        """Take the arguments; problems are collected in `args`, not raised."""

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> Any:
        """The value of `body`.

        Args:
            body: the text between the delimiters.
            written: wrap guessed leaves in `Written`, for the schema typing of tools.
            cut_off: the region ended without its close, so the body may be incomplete.

        Raises:
            BodyError: `body` is not of this type. Nothing else is ever raised.
        """
        raise NotImplementedError

    def scanner(self) -> JsonScanner | None:
        """A fresh scanner that tells whether the body is inside a JSON string, or None for what is not JSON."""
        return None

    def end_scanner(self) -> EndScanner | None:
        """A fresh scanner that tells where the body is complete, or None for what can't tell."""
        return self.scanner()


class Arguments:
    """Reads the `content_args` of one content type and collects what is wrong with them."""

    def __init__(
        self,
        values: Mapping[str, Any],
        path: str,
        problems: list[Problem],
        compile_nested: Callable[[Any, Any, str, str], Content | None],
    ) -> None:
        self.values = values
        self.path = path
        self.problems = problems
        self._compile_nested = compile_nested
        self.extensions: list[str] = []

    def extension(self, key: str) -> None:
        """Note that what the argument `key` asks for is had by this package only."""
        self.extensions.append(f"{self.path}.{key}")

    def problem(self, key: str, message: str) -> None:
        """Note that the argument `key` is wrong."""
        self.problems.append(Problem(f"{self.path}.{key}" if key else self.path, message))

    def reject_unknown(self, known: Iterable[str], content: str) -> None:
        """Note every argument that is not `known`."""
        known = tuple(known)
        for key in self.values:
            if key not in known:
                allowed = f"it takes {', '.join(known)}" if known else "it takes none"
                self.problem(str(key), f"'{content}' has no such argument; {did_you_mean(key, known) or allowed}")

    def flag(self, key: str, default: bool) -> bool:
        """A boolean argument."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.problem(key, f"must be true or false, not {_kind(value)}")
            return default
        return value

    def text(self, key: str, default: str) -> str:
        """A string argument that must not be empty."""
        value = self.values.get(key, default)
        if not isinstance(value, str):
            self.problem(key, f"must be a string, not {_kind(value)}")
            return default
        if not value:
            self.problem(key, "must not be empty")
            return default
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """One of a few words, the first of them by default."""
        value = self.values.get(key, choices[0])
        if not isinstance(value, str) or value not in choices:
            hint = did_you_mean(value, choices) or f"not {value!r}" if isinstance(value, str) else f"not {_kind(value)}"
            self.problem(key, f"must be {' or '.join(repr(choice) for choice in choices)}; {hint}")
            return choices[0]
        return value

    def nested(self, key: str = "value_parser") -> Content | None:
        """The content type given as `{"name": ..., "args": {...}}`, or None if there is none."""
        value = self.values.get(key)
        if value is None or value == {}:
            return None
        if not isinstance(value, Mapping):
            self.problem(key, f'must be an object like {{"name": "json", "args": {{}}}}, not {_kind(value)}')
            return None
        for extra in value:
            if extra not in ("name", "args"):
                self.problem(
                    f"{key}.{extra}", f"unknown key; {did_you_mean(extra, ('name', 'args')) or 'use name and args'}"
                )
        path = f"{self.path}.{key}"
        return self._compile_nested(value.get("name"), value.get("args", {}), f"{path}.name", f"{path}.args")


def did_you_mean(key: object, known: Iterable[str]) -> str:
    """`did you mean 'open'?`, or "" if nothing is close."""
    close = difflib.get_close_matches(str(key), list(known), n=1, cutoff=0.6)
    return f"did you mean '{close[0]}'?" if close else ""


def _kind(value: object) -> str:
    """What JSON calls the type of `value`, for messages."""
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a string"}
    names |= {list: "a list", dict: "an object"}
    return names.get(type(value), type(value).__name__)
