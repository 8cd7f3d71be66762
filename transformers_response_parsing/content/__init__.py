# SPDX-License-Identifier: Apache-2.0
"""The content types: what a region's body can be. One module a type, one registry."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from transformers_response_parsing.errors import BodyError, Problem, TemplateError
from transformers_response_parsing.limits import MAX_PARSER_NESTING

from .base import Arguments, Content, EndScanner, did_you_mean
from .json_content import JsonContent
from .json_scanner import JsonScanner
from .json_sequence import JsonSequenceContent
from .kv_lines import KvLinesContent
from .python_calls import PythonCallListContent
from .scalars import BoolContent, FloatContent, IntContent, TextContent
from .written import Written, unwrap
from .xml_elements import XmlElementsContent
from .xml_inline import XmlInlineContent

__all__ = ["CONTENT_TYPES", "BodyError", "Content", "EndScanner", "JsonScanner", "Written", "compile_content", "unwrap"]

_TYPES: tuple[type[Content], ...] = (
    TextContent,
    IntContent,
    FloatContent,
    BoolContent,
    JsonContent,
    JsonSequenceContent,
    XmlInlineContent,
    XmlElementsContent,
    KvLinesContent,
    PythonCallListContent,
)

CONTENT_TYPES: Mapping[str, type[Content]] = MappingProxyType({kind.name: kind for kind in _TYPES})
"""Name in templates -> class, in the order of the documentation."""


def compile_content(name: Any, args: Any, path: str) -> Content:
    """The content type `name` with its arguments, ready to parse.

    Args:
        name: the field's `content`, one of `CONTENT_TYPES`.
        args: the field's `content_args`, a dict or None.
        path: path of the field (`fields.tool_calls`); problems are reported at `<path>.content` and
            `<path>.content_args...`.

    Raises:
        TemplateError: with every problem found.
    """
    problems: list[Problem] = []
    content = _compile(name, args, f"{path}.content", f"{path}.content_args", 0, problems)
    if problems or content is None:
        raise TemplateError(problems)
    return content


def _compile(
    name: Any, args: Any, name_path: str, args_path: str, nesting: int, problems: list[Problem]
) -> Content | None:
    if not isinstance(name, str) or name not in CONTENT_TYPES:
        hint = did_you_mean(name, CONTENT_TYPES) or f"the types are {', '.join(CONTENT_TYPES)}"
        what = "needs the name of a content type" if name is None else f"unknown content type {name!r}"
        problems.append(Problem(name_path, f"{what}; {hint}"))
        return None
    if nesting > MAX_PARSER_NESTING:
        problems.append(Problem(name_path, f"value_parsers nest more than {MAX_PARSER_NESTING} deep"))
        return None
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        problems.append(Problem(args_path, f"must be an object, not {type(args).__name__}"))
        return None

    def nested(inner: Any, inner_args: Any, inner_path: str, inner_args_path: str) -> Content | None:
        found = _compile(inner, inner_args, inner_path, inner_args_path, nesting + 1, problems)
        arguments.extensions.extend(found.extensions if found is not None else ())
        return found

    kind = CONTENT_TYPES[name]
    arguments = Arguments(args, args_path, problems, nested)
    arguments.reject_unknown(kind.arguments, name)
    content = kind(arguments)
    if nesting and content.until_complete:
        problems.append(Problem(f"{args_path}.until_complete", "ends a region: a value inside of one can't have it"))
    if nesting and content.repairs:
        problems.append(
            Problem(f"{args_path}.repair", "is for the body of a region: a value inside of one can't have it")
        )
    content.extensions = (
        *((name_path,) if kind.extension else ()),
        *(f"{args_path}.{key}" for key in args if key in kind.extension_arguments),
        *arguments.extensions,
    )
    return content
