# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: ARG002 - every node has the same signature
"""`transform`: puts the parsed body and the groups of the delimiters into the shape the message needs.

Compiled once at load into nested closures; applying one builds the result and looks up the placeholders, nothing else.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import BodyError, Problem, TemplateError
from .limits import MAX_DEPTH

__all__ = ["Transform", "compile_transform", "placeholder_paths"]

_PATH = r"\w+(?:\.\w+)*"
_PLACEHOLDER = re.compile(rf"\{{({_PATH})\}}")
# A placeholder with alternatives, of which the last may be a constant; an extension of this package.
_ALTERNATIVES = re.compile(rf'\{{({_PATH}(?:\|{_PATH})*)(?:\|(\{{\}}|\[\]|""|))?\}}')
_CONSTANTS: dict[str, Any] = {"{}": {}, "[]": [], '""': "", "null": None}
# What can only be meant as one: a path and a bar, within braces.
_NEARLY = re.compile(rf"\{{\s*{_PATH}\s*\|.*\}}", re.DOTALL)


def placeholder_paths(text: str) -> tuple[str, ...]:
    """The paths of which the placeholder `text` takes the first that resolves; () if it is none."""
    found = _parts(text)
    return () if found is None else found[0]


def _parts(text: str) -> tuple[tuple[str, ...], str | None] | None:
    """The paths of a placeholder and what is after them (None: nothing, "": an empty alternative); None if it is none."""
    match = _ALTERNATIVES.fullmatch(text)
    if match is None:
        return None
    paths, constant = match[1].split("|"), match[2]
    if constant is None and len(paths) > 1 and paths[-1] == "null":
        constant = paths.pop()
    return tuple(paths), constant


class _Lookup:
    """A placeholder: a variable, then keys to descend by."""

    __slots__ = ("keys", "name", "text")

    def __init__(self, path: str) -> None:
        self.name, *keys = path.split(".")
        self.keys = tuple(keys)
        self.text = f"{{{path}}}"

    def apply(self, variables: Mapping[str, Any]) -> Any:
        try:
            value = variables[self.name]
        except KeyError:
            there = ", ".join(map(str, variables)) or "none"
            raise BodyError(f"transform: nothing to put in for {self.text}; there is: {there}") from None
        for key in self.keys:
            if type(value) is not dict:
                raise BodyError(f"transform: {self.text}: no key '{key}', the value is no object")
            if key not in value:
                raise BodyError(f"transform: {self.text}: the object has no key '{key}'")
            value = value[key]
        return value


class _First:
    """Alternatives: the first that resolves."""

    __slots__ = ("lookups", "otherwise", "text")

    def __init__(self, lookups: Iterable[_Lookup], otherwise: Any, text: str) -> None:
        self.lookups = tuple(lookups)
        self.otherwise = otherwise  # a node, or None
        self.text = text

    def apply(self, variables: Mapping[str, Any]) -> Any:
        for lookup in self.lookups:
            try:
                return lookup.apply(variables)
            except BodyError:
                continue
        if self.otherwise is None:
            there = ", ".join(map(str, variables)) or "none"
            raise BodyError(f"transform: nothing to put in for {self.text}; there is: {there}")
        return self.otherwise.apply(variables)


class _LeaveOut:
    """The empty last alternative: the entry it stands for is not there at all."""

    def apply(self, variables: Mapping[str, Any]) -> Any:
        return self


class _Object:
    """A dict to build; entries that hold no placeholder at any depth are rebuilt too, so that nothing is shared."""

    __slots__ = ("entries", "optional", "start")

    def __init__(self, entries: Iterable[tuple[str, Any]]) -> None:
        nodes = dict(entries)
        # What never changes is copied in one go, in its place among the keys; the entries are what is filled in.
        self.start = {key: node.value if type(node) is _Constant else None for key, node in nodes.items()}
        self.entries = tuple((key, node.apply) for key, node in nodes.items() if type(node) is not _Constant)
        self.optional = any(type(node) is _First and type(node.otherwise) is _LeaveOut for node in nodes.values())

    def apply(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        built = self.start.copy()
        for key, apply in self.entries:
            built[key] = apply(variables)
        if self.optional:
            return {key: value for key, value in built.items() if type(value) is not _LeaveOut}
        return built


class _Array:
    __slots__ = ("items",)

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = tuple(items)

    def apply(self, variables: Mapping[str, Any]) -> list[Any]:
        return [node.apply(variables) for node in self.items]


class _Constant:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def apply(self, variables: Mapping[str, Any]) -> Any:
        return self.value


class Transform:
    """A compiled `transform`: immutable, picklable, shared by parsers.

    Attributes:
        dotted: a placeholder has a dotted path (`{content.args}`), which transformers reads from 5.16 on.
        names: the variables it uses.
        extensions: paths of the placeholders that only this package reads: those with alternatives.
    """

    def __init__(self, root: Any, names: frozenset[str], dotted: bool, extensions: tuple[str, ...] = ()) -> None:
        self._root = root
        self.names = names
        self.dotted = dotted
        self.extensions = extensions

    def apply(self, variables: Mapping[str, Any]) -> Any:
        """The result with each placeholder replaced by its value, type kept.

        Dicts and lists of the template are made anew each time; the variables' values are put in as they are.

        Raises:
            BodyError: a variable or a path does not resolve.
        """
        return self._root.apply(variables)


def compile_transform(spec: Any, path: str, *, each: bool, groups: Iterable[str]) -> Transform:
    """Compile a `transform`.

    Args:
        spec: the transform of the template: a dict, a list or a str, nested as wanted. Placeholders in the keys of dicts
            are literals.
        path: its path (`fields.tool_calls.transform`).
        each: `transform_each` is set: the variables are the keys of each element, which are not known here.
        groups: names of the named groups of the field's delimiters.

    Raises:
        TemplateError: text mixed with a placeholder, a variable nothing can supply, a wrong type; all problems at once.
    """
    known = frozenset(groups) if each else frozenset(groups) | {"content"}
    compiler = _Compiler(None if each else known)
    if not isinstance(spec, (dict, list, str)):
        raise TemplateError([Problem(path, f"must be an object, a list or a string, not {type(spec).__name__}")])
    root = compiler.compile(spec, path, 0)
    if compiler.problems:
        raise TemplateError(compiler.problems)
    return Transform(root, frozenset(compiler.names), compiler.dotted, tuple(compiler.extensions))


class _Compiler:
    def __init__(self, known: frozenset[str] | None) -> None:
        self.known = known
        self.problems: list[Problem] = []
        self.names: set[str] = set()
        self.dotted = False
        self.extensions: list[str] = []

    def compile(self, spec: Any, path: str, depth: int, entry: bool = False) -> Any:
        if depth > MAX_DEPTH:
            self.problems.append(Problem(path, f"nests more than {MAX_DEPTH} levels deep"))
            return _Constant(None)
        if isinstance(spec, dict):
            for key in spec:
                if not isinstance(key, str):
                    self.problems.append(Problem(path, f"the key {key!r} must be a string"))
            return _Object((key, self.compile(value, f"{path}.{key}", depth + 1, True)) for key, value in spec.items())
        if isinstance(spec, list):
            return _Array(self.compile(value, f"{path}[{index}]", depth + 1) for index, value in enumerate(spec))
        if isinstance(spec, str):
            return self.string(spec, path, entry)
        if spec is None or isinstance(spec, (bool, int, float)):
            return _Constant(spec)
        self.problems.append(Problem(path, f"must be a JSON value, not {type(spec).__name__}"))
        return _Constant(None)

    def string(self, spec: str, path: str, entry: bool) -> Any:
        parts = _parts(spec)
        if parts is None:
            if inner := _PLACEHOLDER.search(spec) or _ALTERNATIVES.search(spec):
                what = "alternatives" if "|" in inner[0] else "placeholder"
                message = f"{spec!r} mixes text with the {what} {inner[0]}; a placeholder must be the whole string"
                self.problems.append(Problem(path, message))
            elif _NEARLY.fullmatch(spec):
                message = (
                    f"{spec!r} is no placeholder: its alternatives are paths without spaces, and the last may be one of "
                    '{}, [], null and "", or empty'
                )
                self.problems.append(Problem(path, message))
            return _Constant(spec)
        lookups, constant = [self.lookup(name, path) for name in parts[0]], parts[1]
        if len(lookups) == 1 and constant is None:
            return lookups[0]
        self.extensions.append(path)
        if constant == "":
            if not entry:
                message = f"{spec!r} can leave out an entry of an object; here it would leave nothing: give a constant"
                self.problems.append(Problem(path, message))
            return _First(lookups, _LeaveOut(), spec)
        return _First(lookups, None if constant is None else self.compile(_CONSTANTS[constant], path, 0), spec)

    def lookup(self, name: str, path: str) -> _Lookup:
        lookup = _Lookup(name)
        if self.known is not None and lookup.name not in self.known:
            close = difflib.get_close_matches(lookup.name, sorted(self.known), n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there is: {', '.join(sorted(self.known))}"
            self.problems.append(Problem(path, f"nothing supplies {lookup.text}; {hint}"))
        self.names.add(lookup.name)
        self.dotted = self.dotted or bool(lookup.keys)
        return lookup
