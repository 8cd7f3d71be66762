# SPDX-License-Identifier: Apache-2.0
"""The small checks that template validation is made of: each adds what it finds to one list of problems."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import regex

from .errors import Problem, TemplateError
from .limits import MAX_LITERALS, MAX_PATTERN_LENGTH, MAX_PATTERN_SIZE, MAX_TEMPLATE_PATTERN_SIZE
from .pattern_size import expanded_size, recurses
from .source import describe, join_path, parent_path

__all__ = ["Problems", "did_you_mean"]

_T = TypeVar("_T")
_EXCERPT = 12
_HUGE = 10**12
_MAX_UNKNOWN_KEYS = 50


class Problems:
    """Collects the problems of one template; validation goes on after each, so that all are reported together."""

    def __init__(self, found: Iterable[Problem] = ()) -> None:
        self.found: list[Problem] = []
        self._touched: set[str] = set()
        self._literals = 0
        self._pattern_size = 0
        self._extend(found)

    def add(self, path: str, message: str) -> None:
        """Note one problem."""
        self._extend([Problem(path, message)])

    def has(self, path: str) -> bool:
        """Whether something is wrong at `path` or below it."""
        return path in self._touched

    def _extend(self, found: Iterable[Problem]) -> None:
        for problem in found:
            self.found.append(problem)
            path = problem.path
            while path and path not in self._touched:
                self._touched.add(path)
                path = parent_path(path)

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Take over the problems of the TemplateError that the body may raise."""
        try:
            yield
        except TemplateError as error:
            self._extend(error.problems)

    def keys(self, spec: Mapping[str, Any], path: str, known: Iterable[str], elsewhere: Mapping[str, str]) -> set[str]:
        """Report unknown keys. Returns the known keys that the misspelt ones were probably meant to be.

        `elsewhere` says of keys that exist in another place where they belong.
        """
        known = tuple(known)
        meant: set[str] = set()
        unknown = [key for key in spec if key not in known]
        for key in unknown[:_MAX_UNKNOWN_KEYS]:
            if key in elsewhere:
                self.add(join_path(path, key), f"unknown key here: {elsewhere[key]}")
                continue
            free = [name for name in known if name not in spec]
            close = difflib.get_close_matches(key.lower(), free, 1, 0.7)
            meant.update(close)
            self.add(join_path(path, key), f"unknown key{did_you_mean(key, free) or _one_of(known)}")
        if len(unknown) > _MAX_UNKNOWN_KEYS:
            self.add(path, f"there are {len(unknown):,} unknown keys, the first of them are listed: remove them")
        return meant

    def boolean(self, spec: Mapping[str, Any], path: str, key: str, default: bool) -> bool:
        """The boolean under `key`, or `default` if it is absent or wrong."""
        value = spec.get(key, default)
        if isinstance(value, bool):
            return value
        self.add(f"{path}.{key}", f"must be true or false, not {describe(value)}{_leave_out(value)}")
        return default

    def literals(self, spec: Mapping[str, Any], path: str, key: str) -> list[str] | None:
        """The literals under `key`, or None if it is absent or wrong."""
        if key not in spec:
            return None
        value, where = spec[key], join_path(path, key)
        if isinstance(value, str):
            items = [(where, value)]
        elif isinstance(value, list):
            items = [(f"{where}[{index}]", item) for index, item in enumerate(value)]
        else:
            self.add(where, f"must be a string or a list of strings, not {describe(value)}{_leave_out(value)}")
            return None
        if not items:
            self.add(where, f"the list is empty: give at least one literal, or leave '{key}' out")
        self._literals += len(items)
        if self._literals > MAX_LITERALS:
            self.add(where, f"too many literals: a template may have {MAX_LITERALS:,} of them in all")
            return None
        good = [item for at, item in items if self._literal(item, at, key)]
        return good if items and len(good) == len(items) else None

    def _literal(self, item: Any, where: str, key: str) -> bool:
        if not isinstance(item, str):
            self.add(where, f"must be a string, not {describe(item)}")
        elif not item:
            self.add(where, f"an empty literal matches everywhere: write the text that '{key}' stands for")
        return isinstance(item, str) and item != ""

    def pattern(
        self, spec: Mapping[str, Any], path: str, key: str, compile_pattern: Callable[[str, str], _T]
    ) -> _T | None:
        """The regex under `key`, compiled, or None if it is absent or wrong."""
        if key not in spec:
            return None
        value, where = spec[key], join_path(path, key)
        if not isinstance(value, str):
            self.add(where, f"must be a regex (a string), not {describe(value)}{_leave_out(value)}")
        elif self.bounded(value, where):
            with self.collect():
                try:
                    return compile_pattern(value, where)
                except regex.error as error:
                    self.add(where, f"not a valid regex: {_regex_fault(error, value)}")
                except TemplateError:
                    raise
                except (RecursionError, OverflowError, MemoryError):
                    self.add(where, "the regex is too complex to compile: nest and repeat less")
                except Exception as error:  # noqa: BLE001 - whatever a regex compiler has for a hostile pattern
                    self.add(where, f"not a valid regex: {error}; correct the pattern")
        return None

    def bounded(self, pattern: str, path: str) -> bool:
        """Whether a regex may be compiled: it is not too long, not too large with its counts written out, and does not recurse."""
        if len(pattern) > MAX_PATTERN_LENGTH:
            self.add(path, f"the regex has {len(pattern):,} characters: use at most {MAX_PATTERN_LENGTH:,}")
            return False
        if recurses(pattern):
            advice = "write the levels that are needed, or use 'nests' for a region in a region"
            self.add(path, f"the regex calls itself, which can take all memory there is: {advice}")
            return False
        size = expanded_size(pattern)
        if size > MAX_PATTERN_SIZE:
            shown = f"{size:,}" if size < _HUGE else "more than a trillion"
            self.add(
                path,
                f"the regex has {shown} items with its counts written out: use at most {MAX_PATTERN_SIZE:,}, repeat with * or +",
            )
            return False
        self._pattern_size += size
        if self._pattern_size > MAX_TEMPLATE_PATTERN_SIZE:
            self.add(
                path,
                f"the regexes of the template up to here have {self._pattern_size:,} items with their counts written out: "
                f"use at most {MAX_TEMPLATE_PATTERN_SIZE:,} in all",
            )
            return False
        return True

    def not_both(self, spec: Mapping[str, Any], path: str, one: str, other: str) -> bool:
        """Report (at the key that comes second) a pair of which only one may be given."""
        if one not in spec or other not in spec:
            return True
        second = [key for key in spec if key in (one, other)][1]
        self.add(join_path(path, second), f"give either '{one}' or '{other}', not both: remove one")
        return False


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`: did you mean 'open'?` if one of `known` is close to `word`, else ''."""
    close = difflib.get_close_matches(word.lower(), list(known), 1, 0.6)
    return f": did you mean '{close[0]}'?" if close else ""


def _one_of(known: Iterable[str]) -> str:
    return f": remove it (known keys: {', '.join(known)})"


def _leave_out(value: object) -> str:
    return "; leave the key out if you don't need it" if value is None else ""


def _regex_fault(error: regex.error, pattern: str) -> str:
    message = str(error.msg)
    if error.pos is None:
        return f"{message}; correct the pattern"
    at = error.pos
    before, after = pattern[max(0, at - _EXCERPT) : at], pattern[at : at + _EXCERPT]
    return (
        f"{message} at character {at} of the pattern, here: {before!r} ▸ {after!r}; correct it or escape literal text"
    )
