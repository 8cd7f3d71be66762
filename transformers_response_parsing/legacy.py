# SPDX-License-Identifier: Apache-2.0
"""From a legacy `response_schema` (transformers 5.0 to 5.12) to a response template, as far as it can be done.

A schema is a JSON Schema of the message whose nodes say how to get their value out of the text: `x-regex` (a capture, or named
ones for the properties), `x-regex-iterator` (all captures, as a list), `x-regex-key-value`, `x-parser` and `x-parser-args`. A
template is another thing, a description of the text, so what fits no template is told, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .errors import Problem, ResponseParsingError
from .legacy_anchor import anchor_of_chat_template, anchor_of_schema
from .legacy_regex import Capture, captures, delimiter, is_any_text
from .legacy_transform import TransformError, read_transform
from .source import join_path

__all__ = ["Conversion", "convert_schema"]

_KNOWN = {"x-regex", "x-regex-iterator", "x-regex-key-value", "x-parser", "x-parser-args"}
_SCALARS = {"integer": "int", "number": "float", "boolean": "bool"}


class Conversion(NamedTuple):
    """A template made of a schema.

    Attributes:
        template: the template (dict); without `start_anchor` if none was given, and none could be told.
        problems: what could not be converted, with its path in the schema.
        notes: what reads otherwise than with the schema.
    """

    template: dict[str, Any]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def convert_schema(schema: Any, start_anchor: str | None = None, *, chat_template: Any = None) -> Conversion:
    """Convert a schema.

    Args:
        schema: the value of `response_schema`.
        start_anchor: what comes right before the model's turn in a prompt. A schema does not say it: if it is not given, it is
            taken from the chat template, else from markers in the schema, and a note says so.
        chat_template: the text of the model's chat template, several by name, or its tokenizer.

    Raises:
        ResponseParsingError: it is no such schema.
    """
    if not isinstance(schema, Mapping) or not isinstance(schema.get("properties"), Mapping):
        msg = 'this is no response_schema: it must be an object with "properties", those of the message'
        raise ResponseParsingError(msg)
    return _Converter().convert(schema, start_anchor, chat_template)


class _UnconvertibleError(Exception):
    """A node can't be converted; the message says why."""


class _Converter:
    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._notes: list[Problem] = []

    def convert(self, schema: Mapping[str, Any], start_anchor: str | None, chat_template: Any) -> Conversion:
        defaults: dict[str, Any] = {}
        fields: dict[str, Any] = {}
        named = self._named(schema)
        for name, node in schema["properties"].items():
            path = join_path("properties", name)
            if not isinstance(node, Mapping):
                self._problems.append(Problem(path, "is no object"))
            elif "const" in node:
                defaults[name] = node["const"]
            else:
                self._report_unknown(node, path)
                try:
                    fields[name] = self._field(node, path, named.get(name))
                except (_UnconvertibleError, TransformError, ValueError) as error:
                    self._problems.append(Problem(path, f"can't be converted: {error}"))
        self._only_one_implicit(fields)
        template: dict[str, Any] = {"defaults": defaults} if defaults else {}
        anchor = self._proposed_anchor(schema, fields, chat_template) if start_anchor is None else start_anchor
        if anchor:
            template["start_anchor"] = anchor
        template["fields"] = fields
        return Conversion(template, tuple(self._problems), tuple(self._notes))

    def _proposed_anchor(self, schema: Mapping[str, Any], fields: Mapping[str, Any], chat_template: Any) -> str:
        """What comes before the model's turn, as far as it can be told; a note says by what, a problem that it can't be."""
        by, anchor = "the chat template begins the model's turn with it", ""
        if chat_template:
            found = [field[key] for field in fields.values() for key in ("open", "close") if key in field]
            literals = (literal for each in found for literal in ([each] if isinstance(each, str) else each))
            anchor = anchor_of_chat_template(chat_template, tuple(literals))
        if not anchor:
            anchor, marker = anchor_of_schema(schema)
            by = f"{marker!r} in the schema lets expect it"
        if anchor:
            message = f"{anchor!r} is proposed, since {by}: look whether prompts end like that before the model's turn"
            self._notes.append(Problem("start_anchor", message))
        else:
            message = (
                "is missing: a schema does not say what comes right before the model's turn in a prompt. The end of "
                "tokenizer.apply_chat_template(chat, add_generation_prompt=True, tokenize=False) shows it"
            )
            self._problems.append(Problem("start_anchor", message))
        return anchor

    def _named(self, schema: Mapping[str, Any]) -> dict[str, Capture]:
        """The captures of the schema's own regex, by the property they are for."""
        self._report_unknown(schema, "")
        if "x-regex" not in schema:
            return {}
        try:
            found = captures(str(schema["x-regex"]))
        except ValueError as error:
            self._problems.append(Problem("x-regex", f"can't be converted: {error}"))
            return {}
        if any(not capture.name for capture in found):
            self._problems.append(Problem("x-regex", "has a group without a name, which is for no property"))
        return {capture.name: capture for capture in found}

    def _report_unknown(self, node: Mapping[str, Any], path: str) -> None:
        for key in node:
            if key.startswith("x-") and key not in _KNOWN:
                self._problems.append(Problem(join_path(path, key), "is not known"))

    def _only_one_implicit(self, fields: dict[str, Any]) -> None:
        """Of several fields without a beginning of their own only one can be: `content`, else the last."""
        implicit = [name for name, field in fields.items() if not {"open", "open_pattern"} & field.keys()]
        for name in sorted(implicit, key=lambda name: name == "content")[:-1]:
            message = (
                "can't be converted: nothing says where it begins, and only one field can take the text that is left"
            )
            self._problems.append(Problem(join_path("properties", name), message))
            del fields[name]

    # -- one field ----------------------------------------------------------------------------------------------------

    def _field(self, node: Mapping[str, Any], path: str, capture: Capture | None) -> dict[str, Any]:
        key = next((key for key in ("x-regex-iterator", "x-regex") if key in node), None)
        if key is not None:
            if not isinstance(node[key], str):
                raise _UnconvertibleError(f"its {key} is no string")
            found = captures(node[key])
            if len(found) != 1:
                raise _UnconvertibleError(f"its regex has {len(found) or 'no'} groups, and one of them is the value")
            capture = found[0]
        if capture is None:
            raise _UnconvertibleError("no regex says where it is in the text")
        repeats = key == "x-regex-iterator"
        field = self._delimiters(capture, path)
        if node.get("type") == "array":
            item = node.get("items")
            if not isinstance(item, Mapping):
                item = {}
            if self._is_tag_call(item):
                return self._tag_calls(field, item, repeats)
            self._body(capture, path)
            return field | self._list(node, item, repeats)
        self._body(capture, path)
        return field | self._value(node)

    def _delimiters(self, capture: Capture, path: str) -> dict[str, Any]:
        field, optional = delimiter(capture.before, "open")
        if optional:
            message = "begins also without its first delimiter: that is read if the prompt, which wrote it, is given as prefix"
            self._notes.append(Problem(path, message))
        closed, _ = delimiter(capture.after, "close")
        return field | closed

    def _body(self, capture: Capture, path: str) -> None:
        if not is_any_text(capture.body) and not re.fullmatch(r"\(\?:.*\)[*+]\??", capture.body):
            self._notes.append(Problem(path, f"takes any text, not only what {capture.body!r} matches"))

    def _value(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """What makes a value of the body: for one that is no list."""
        parser, args = node.get("x-parser"), dict(node.get("x-parser-args") or {})
        if parser is None:
            content = _SCALARS.get(str(node.get("type")))
            return {"content": content} if content else {}
        return self._parsed(parser, args) | self._transform(args, each_allowed=False)

    def _parsed(self, parser: Any, args: Mapping[str, Any]) -> dict[str, Any]:
        if parser != "json":
            raise _UnconvertibleError(f"its parser {parser!r} has no counterpart here")
        unknown = args.keys() - {"transform", "allow_non_json"}
        if unknown:
            raise _UnconvertibleError(f"the argument {min(unknown)!r} of its parser has no counterpart here")
        content: dict[str, Any] = {"content": "json"}
        if args.get("allow_non_json"):
            content["content_args"] = {"allow_non_json": True}
        return content

    def _transform(self, args: Mapping[str, Any], *, each_allowed: bool) -> dict[str, Any]:
        if not args.get("transform"):
            return {}
        read = read_transform(args["transform"])
        if read.each:
            if not each_allowed:
                raise _UnconvertibleError("its transform makes a list, and it is none")
            return {"transform_each": True, "transform": read.shape}
        return {"transform": read.shape}

    # -- lists --------------------------------------------------------------------------------------------------------

    def _list(self, node: Mapping[str, Any], item: Mapping[str, Any], repeats: bool) -> dict[str, Any]:
        """A list whose text is JSON: each element on its own (an iterator), or all of it."""
        if repeats:
            return {"repeats": True} | (self._value(item) or self._value({"type": item.get("type")}))
        parser, args = node.get("x-parser"), dict(node.get("x-parser-args") or {})
        if parser is None:
            raise _UnconvertibleError("nothing says how a list is made of its text")
        parsed = self._parsed(parser, args)
        transform = str(args.get("transform") or "").strip()
        if transform.startswith("[") and not transform.startswith(("[*]", "[]")):
            # A list of one: with `repeats` the field is a list anyway.
            read = read_transform(transform.removeprefix("[").removesuffix("]"))
            return {"repeats": True} | parsed | {"transform": read.shape}
        return parsed | self._transform(args, each_allowed=True)

    @staticmethod
    def _is_tag_call(item: Any) -> bool:
        """Whether the items are calls whose name has a regex of its own."""
        try:
            return "x-regex" in item["properties"]["function"]["properties"]["name"]
        except (KeyError, TypeError):
            return False

    def _tag_calls(self, field: dict[str, Any], item: Mapping[str, Any], repeats: bool) -> dict[str, Any]:
        """Calls with the name in a header, then the arguments as JSON or as tags."""
        if not repeats:
            raise _UnconvertibleError("only x-regex-iterator tells one call from the next")
        function = item["properties"]["function"]["properties"]
        name = captures(function["name"]["x-regex"])
        if len(name) != 1:
            raise _UnconvertibleError("the regex of the name must have one group")
        arguments = function.get("arguments", {})
        head = _pattern(field.pop("open", None)) or str(field.pop("open_pattern", ""))
        header = f"{head}\\s*{name[0].before.removeprefix('^')}(?P<name>{name[0].body}){name[0].after}"
        made: dict[str, Any] = {"repeats": True}
        if "x-regex-key-value" in arguments:
            made["content"] = "xml-inline"
            made["content_args"] = {"tag_pattern": arguments["x-regex-key-value"]}
            values = arguments.get("additionalProperties")
            if isinstance(values, Mapping) and values.get("x-parser") == "json":
                made["content_args"]["value_parser"] = {"name": "json", "args": dict(values.get("x-parser-args") or {})}
        elif "x-parser" in arguments:
            made |= self._value(arguments)
            if "x-regex" in arguments:
                inner = captures(arguments["x-regex"])
                if len(inner) != 1:
                    raise _UnconvertibleError("the regex of the arguments must have one group")
                header += f".*?{inner[0].before}" if inner[0].before else ""
        else:
            raise _UnconvertibleError("nothing says how the arguments are made of their text")
        call: dict[str, Any] = {"function": {"name": "{name}", "arguments": made.pop("transform", "{content}")}}
        constants = {key: value["const"] for key, value in item["properties"].items() if "const" in value}
        return {"open_pattern": header} | field | made | {"transform": constants | call}


def _pattern(literal: Any) -> str:
    """A regex for a literal, or for one of several."""
    if literal is None:
        return ""
    if isinstance(literal, str):
        return re.escape(literal)
    return f"(?:{'|'.join(map(re.escape, literal))})"
