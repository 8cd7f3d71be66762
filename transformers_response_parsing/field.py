# SPDX-License-Identifier: Apache-2.0
"""One field of a template: its validation, and the compiled form that the parser works with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .checks import Problems
from .content import CONTENT_TYPES, Content, compile_content
from .delimiter import Delimiter, literal_delimiter, pattern_delimiter
from .source import describe, join_path
from .transform import Transform, compile_transform, placeholder_paths

__all__ = ["FIELD_KEYS", "Field", "compile_field"]

FIELD_KEYS = (
    "open",
    "open_pattern",
    "close",
    "close_pattern",
    "repeats",
    "join",
    "optional",
    "content",
    "content_args",
    "transform",
    "transform_each",
    "nests",
    "into",
)
_EXTENSIONS = ("nests", "into")
_OPENS = {"open", "open_pattern"}
_ELSEWHERE = {
    argument: "it is an argument of the content type, put it into 'content_args'"
    for kind in CONTENT_TYPES.values()
    for argument in kind.arguments
}
_ELSEWHERE |= dict.fromkeys(
    ("defaults", "start_anchor", "start_anchor_pattern"), "it belongs at the top of the template"
)

# What is known at load about the value of each content type. json, and types registered later, may be anything.
_CALLS = "a list of calls"
_LIST = "a list"
_VALUE_KINDS = {
    "text": "a string",
    "int": "a number",
    "float": "a number",
    "bool": "true or false",
    "xml-inline": "a dict",
    "xml-elements": "a dict",
    "kv-lines": "a dict",
    "json-sequence": _LIST,
    "python-call-list": _CALLS,
}


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A compiled field. `index` is its position in the template.

    `open` None makes it the implicit field; `close` None lets it run to the end of the generation. `join` is the
    separator, or None where the matches are not to be joined. With `nests` an open inside of the region opens an inner one,
    whose close is data. `key` is the key of the message it writes: its name, or what `into` says. `extensions` are the paths
    of what only this package reads.
    """

    name: str
    index: int
    open: Delimiter | None
    close: Delimiter | None
    repeats: bool
    join: str | None
    optional: bool
    content: Content
    transform: Transform | None
    transform_each: bool
    key: str
    nests: bool = False
    extensions: tuple[str, ...] = ()


@dataclass(slots=True)
class CompiledField:
    """What validation found out about a field: `field` is None if something is wrong with it."""

    field: Field | None
    implicit: bool


def compile_field(name: str, index: int, spec: Any, path: str, problems: Problems) -> CompiledField:
    """Validate and compile one field; everything wrong with it goes to `problems`."""
    before = len(problems.found)
    if not isinstance(spec, dict):
        problems.add(path, f'a field must be an object like {{"open": …, "close": …}}, not {describe(spec)}')
        return CompiledField(None, False)
    meant = problems.keys(spec, path, FIELD_KEYS, _ELSEWHERE)
    implicit = not (_OPENS & (spec.keys() | meant))

    open_delimiter = _delimiter(spec, path, "open", problems)
    close_delimiter = _delimiter(spec, path, "close", problems)
    delimiters = [d for d in (open_delimiter, close_delimiter) if d is not None]
    groups = frozenset[str]().union(*(d.groups for d in delimiters))
    groups_known = not any(problems.has(f"{path}.{key}") for key in ("open_pattern", "close_pattern"))

    repeats = problems.boolean(spec, path, "repeats", False)
    optional = problems.boolean(spec, path, "optional", True)
    each = problems.boolean(spec, path, "transform_each", False)
    content = None if "content" in meant else _content(spec, path, problems)
    kind = None if content is None else _VALUE_KINDS.get(content.name)
    each_known = not problems.has(f"{path}.transform_each")
    transform = _transform(spec, path, problems, each, groups if groups_known and each_known else None)
    if "transform" not in spec and "transform" not in meant:
        for key, delimiter in (("open_pattern", open_delimiter), ("close_pattern", close_delimiter)):
            if key in spec and delimiter is not None and delimiter.groups:
                _unused_groups(path, key, delimiter.groups, problems)
        if each:
            message = "needs a 'transform' to apply to each element: add one, or remove transform_each"
            problems.add(f"{path}.transform_each", message)
    if each and kind not in (None, _CALLS, _LIST):
        _no_list(path, kind, problems)
    if groups_known and each_known and (groups or kind is not None):
        _check_placeholders(spec.get("transform"), f"{path}.transform", each, groups, kind, problems)
    join = _join(spec, path, repeats or "repeats" in meant or problems.has(f"{path}.repeats"), problems)
    if join is not None and (never := _never_a_string(spec, each, kind)):
        problems.add(f"{path}.join", f"every match must give a string, and here {never}: remove 'join' to get a list")

    closed = bool({"close", "close_pattern"} & (spec.keys() | meant))
    nests = problems.boolean(spec, path, "nests", False)
    if nests and (implicit or not closed):
        problems.add(f"{path}.nests", "needs an 'open' and a 'close': add what is missing, or remove 'nests'")
    if content is not None and content.until_complete and (implicit or closed):
        advice = "add an 'open'" if implicit else "remove its close, or until_complete"
        message = f"the field must have an 'open' and no 'close', as the region ends with its value: {advice}"
        problems.add(f"{path}.content_args.until_complete", message)

    into = spec.get("into", "")
    if "into" in spec and (not isinstance(into, str) or not into):
        problems.add(f"{path}.into", f"must be the key of the message that the field writes, not {describe(into)}")

    if len(problems.found) > before or content is None:
        return CompiledField(None, implicit)
    extensions = (
        *(f"{path}.{key}" for key in _EXTENSIONS if key in spec),
        *content.extensions,
        *(() if transform is None else transform.extensions),
    )
    return CompiledField(
        Field(
            name,
            index,
            open_delimiter,
            close_delimiter,
            repeats,
            join,
            optional,
            content,
            transform,
            each,
            into or name,
            nests=nests,
            extensions=extensions,
        ),
        implicit,
    )


def _delimiter(spec: Mapping[str, Any], path: str, key: str, problems: Problems) -> Delimiter | None:
    single = problems.not_both(spec, path, key, f"{key}_pattern")
    literals = problems.literals(spec, path, key)
    pattern = problems.pattern(spec, path, f"{key}_pattern", pattern_delimiter)
    if literals is None or not single:
        return pattern
    with problems.collect():
        return literal_delimiter(literals, f"{path}.{key}")
    return None


def _content(spec: Mapping[str, Any], path: str, problems: Problems) -> Content | None:
    name, args = spec.get("content", "text"), spec.get("content_args", {})
    good = True
    if not isinstance(name, str):
        problems.add(f"{path}.content", f"must be the name of a content type (a string), not {describe(name)}")
        good = False
    if not isinstance(args, dict):
        advice = "; leave the key out if there are none" if args is None else ""
        problems.add(f"{path}.content_args", f"must be an object of arguments, not {describe(args)}{advice}")
        good = False
    if good and _bounded(args, f"{path}.content_args", problems):
        with problems.collect():
            return compile_content(name, args, path)
    return None


def _bounded(args: Any, path: str, problems: Problems) -> bool:
    """Whether no tag_pattern, nested ones included, is longer than a regex may be."""
    while isinstance(args, dict):
        pattern = args.get("tag_pattern")
        if isinstance(pattern, str) and not problems.bounded(pattern, f"{path}.tag_pattern"):
            return False
        nested = args.get("value_parser")
        args, path = nested.get("args") if isinstance(nested, dict) else None, f"{path}.value_parser.args"
    return True


def _transform(
    spec: Mapping[str, Any], path: str, problems: Problems, each: bool, groups: frozenset[str] | None
) -> Transform | None:
    if "transform" not in spec:
        return None
    value, where = spec["transform"], f"{path}.transform"
    if not isinstance(value, (dict, list, str)):
        advice = "; leave the key out to keep the parsed body as it is" if value is None else ""
        problems.add(where, f"must be an object, a list or a string, not {describe(value)}{advice}")
        return None
    with problems.collect():
        # Where the variables are not known (a broken regex), "no such variable" would only be a consequence: with
        # each=True every name is allowed.
        return compile_transform(value, where, each=each or groups is None, groups=groups or frozenset())
    return None


def _unused_groups(path: str, key: str, groups: frozenset[str], problems: Problems) -> None:
    names = ", ".join(f"'{name}'" for name in sorted(groups))
    verb = "groups" if len(groups) > 1 else "group"
    message = (
        f"the named {verb} {names} can only be used by a 'transform', and the field has none: "
        "add a 'transform' or write (?:…) instead of (?P<…>…)"
    )
    problems.add(f"{path}.{key}", message)


def _no_list(path: str, kind: str | None, problems: Problems) -> None:
    message = (
        f"needs a content type that gives a list of dicts ('json', 'json-sequence' or 'python-call-list'), and this one gives {kind}: "
        "change 'content' or remove transform_each"
    )
    problems.add(f"{path}.transform_each", message)


def _check_placeholders(
    transform: Any, path: str, each: bool, groups: frozenset[str], kind: str | None, problems: Problems
) -> None:
    """Find the placeholders that can never resolve with the kind of value that the content type gives."""
    for where, root, dotted in _placeholders(transform, path):
        if problems.has(where):
            continue
        if root in groups:
            # With transform_each, a key of the element comes before a group of the same name.
            if dotted and not each:
                problems.add(where, f"'{root}' is a named group, that is a string: it has no keys, remove '{dotted}'")
        elif each and kind == _CALLS and root not in ("name", "arguments"):
            problems.add(where, f"'{root}' is not there: use 'name' or 'arguments', which each element has")
        elif dotted and not each and root == "content" and kind not in (None, "a dict"):
            problems.add(where, f"'content' is {kind} here: it has no keys, remove '{dotted}' or change 'content'")


def _placeholders(value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, str):
        for name in placeholder_paths(value):
            root, dot, keys = name.partition(".")
            yield path, root, dot + keys
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _placeholders(item, join_path(path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _placeholders(item, f"{path}[{index}]")


def _join(spec: Mapping[str, Any], path: str, repeats: bool, problems: Problems) -> str | None:
    if "join" not in spec:
        return None
    value, where = spec["join"], f"{path}.join"
    if not isinstance(value, str):
        advice = "; leave the key out to get a list" if value is None else ""
        problems.add(where, f"must be the separator (a string), not {describe(value)}{advice}")
        return None
    if not repeats:
        problems.add(where, "needs \"repeats\": true: add it, or remove 'join'")
    return value


def _never_a_string(spec: Mapping[str, Any], each: bool, kind: str | None) -> str:
    """Why the value of a region can't be a string, or '' if it can be."""
    if each:
        return "transform_each gives a list"
    transform = spec.get("transform", "{content}")
    if isinstance(transform, (dict, list)):
        return f"the transform gives a {type(transform).__name__}"
    if transform == "{content}" and kind not in (None, "a string"):
        return f"the content type '{spec['content']}' gives {kind}"
    return ""
