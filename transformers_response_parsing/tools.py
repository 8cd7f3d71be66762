# SPDX-License-Identifier: Apache-2.0
"""Types the arguments of tool calls from the JSON Schema of the tool that is called.

A schema becomes a `_Node`: a few alternatives without `$ref`, `allOf`, `anyOf` or `oneOf` in them. Nodes are made when a
value first needs them, so recursive schemas end where the data ends, and a tool that is never called costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .content.casts import CASTS, FAILED, decode_container
from .content.written import Written, unwrap
from .errors import ResponseParsingError
from .limits import MAX_DEPTH

__all__ = ["ToolSchemas", "complete_calls"]

Tools = Iterable["dict[str, Any] | Callable[..., Any]"]

_MAX_ALTERNATIVES = 64
_MAX_STEPS = 2000
_TYPES = ("integer", "number", "boolean", "null", "object", "array", "string")


class ToolSchemas:
    """The tools of a request, ready to type calls. Immutable; share it between the parsers of a batch."""

    def __init__(self, functions: Mapping[str, Mapping[str, Any]]) -> None:
        self._functions = functions
        self._compiled: dict[str, _Node] = {}

    @classmethod
    def load(cls, tools: ToolSchemas | Tools | Mapping[str, Any] | Callable[..., Any]) -> ToolSchemas:
        """The schemas of `tools`, in any form `apply_chat_template` takes.

        Args:
            tools: a list (or one) of JSON schemas, as `{"type": "function", "function": {...}}` or bare `{"name": ...,
                "parameters": ...}`, and of Python functions with type hints and docstring, which transformers'
                `get_json_schema` converts. Of tools of the same name the last counts. Never changed.

        Raises:
            ResponseParsingError: `tools` or one of them is something else, or a function can't be converted.
        """
        if isinstance(tools, ToolSchemas):
            return tools
        given: Any = [tools] if isinstance(tools, Mapping) or callable(tools) else tools
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise ResponseParsingError(
                f"tools must be a list of JSON schemas (dicts) and Python functions, not {type(given).__name__}"
            )
        functions: dict[str, Mapping[str, Any]] = {}
        for index, tool in enumerate(given):
            schema: Mapping[str, Any] = tool if isinstance(tool, Mapping) else _convert(tool, index)
            function = schema.get("function")
            if not isinstance(function, Mapping):
                function = schema
            name = function.get("name")
            if isinstance(name, str):
                functions[name] = function
        return cls(functions)

    def type_calls(self, value: Any) -> Any:
        """The value of a region with the arguments of its calls typed.

        Args:
            value: a call (`{"type": "function", "function": {"name": ..., "arguments": ...}}`), a list of such, or
                anything else. May hold `Written` leaves.

        Returns:
            The same with arguments typed by the schema of the tool that is called: what can't be cast, and what no schema
            describes, stays as it was. No `Written` is left. Containers that change are new.
        """
        if type(value) is dict:
            return self._call(value)
        if type(value) is list:
            return [self._call(item) if type(item) is dict else unwrap(item) for item in value]
        return unwrap(value)

    def _call(self, value: dict[str, Any]) -> dict[str, Any]:
        function: Any = value.get("function")
        name = function.get("name") if type(function) is dict else None
        if type(name) is not str or name not in self._functions:
            plain: dict[str, Any] = unwrap(value)
            return plain
        typed = {key: unwrap(entry) for key, entry in function.items() if key != "arguments"}
        arguments = self._arguments(name, function.get("arguments"))
        # The order of the keys is the template's.
        typed = {key: typed.get(key) for key in function} if "arguments" in function else typed
        typed["arguments"] = arguments
        return {key: typed if key == "function" else unwrap(entry) for key, entry in value.items()}

    def _arguments(self, name: str, arguments: Any) -> Any:
        text = arguments
        if type(arguments) is Written:
            text, arguments = arguments.text, arguments.value
        if arguments is None or arguments == "":
            return {}
        if type(arguments) is not dict and type(text) is str:
            decoded = decode_container(text)
            arguments = decoded if type(decoded) is dict else arguments
        if type(arguments) is not dict:
            return unwrap(arguments)
        node = self._compiled.get(name)
        if node is None:
            schema = self._functions[name].get("parameters")
            node = self._compiled[name] = _Compiler(schema).node(schema)
        try:
            return node.type_object(arguments, 0)
        except RecursionError:  # the caller's stack was nearly full
            return unwrap(arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ToolSchemas, (self._functions,))

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolSchemas:
        return self


def complete_calls(value: Any) -> Any:
    """The value of a region, with `"arguments": {}` in each call that has none or null (SPEC 7, difference 9).

    Anything but a call (`{"type": "function", "function": {"name": str, ...}}`) or a list that begins with one is returned
    as it is. Nothing is changed in place.
    """
    if type(value) is list:
        # Looking at the first keeps long lists of other things cheap.
        if value and _is_call(value[0]) and any(map(_lacks_arguments, value)):
            return [_completed(item) if _lacks_arguments(item) else item for item in value]
        return value
    return _completed(value) if _lacks_arguments(value) else value


def _is_call(value: Any) -> bool:
    if type(value) is not dict or value.get("type") != "function":
        return False
    function = value.get("function")
    return type(function) is dict and type(function.get("name")) is str


def _lacks_arguments(value: Any) -> bool:
    if type(value) is not dict or value.get("type") != "function":
        return False
    function = value.get("function")
    return type(function) is dict and function.get("arguments") is None and type(function.get("name")) is str


def _completed(call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": {}}}


def _convert(tool: Any, index: int) -> Mapping[str, Any]:
    """The schema of a Python function."""
    if not callable(tool):
        raise ResponseParsingError(
            f"tools[{index}] must be a JSON schema (a dict) or a Python function, not {type(tool).__name__}"
        )
    try:
        from transformers.utils import get_json_schema
    except ImportError:
        raise ResponseParsingError(
            f"tools[{index}] is a Python function: converting it needs transformers; pass its JSON schema instead"
        ) from None
    try:
        schema: Mapping[str, Any] = get_json_schema(tool)
    except Exception as error:
        name = getattr(tool, "__name__", type(tool).__name__)
        raise ResponseParsingError(f"tools[{index}]: no JSON schema can be made of {name}: {error}") from error
    return schema


class _Alternative:
    """One way to fulfil a schema: types, and the schemas of what is inside."""

    __slots__ = ("additional", "enum", "inferred", "items", "prefix", "properties", "required", "types")

    def __init__(self) -> None:
        self.types: tuple[str, ...] | None = None
        self.inferred = False  # the types follow from other keywords
        self.enum: _Enum | None = None
        self.properties: dict[str, Any] = {}
        self.required: tuple[str, ...] = ()
        self.additional: Any = None
        self.items: Any = None
        self.prefix: tuple[Any, ...] = ()

    def and_(self, other: _Alternative) -> _Alternative | None:
        """Both at once (`allOf`, `$ref` with siblings), or None if nothing can be both."""
        both = _Alternative()
        both.types, both.inferred = self.types, self.inferred
        if self.types is None or (self.inferred and other.types is not None and not other.inferred):
            both.types, both.inferred = other.types, other.inferred
        elif other.types is not None and not other.inferred:
            both.types = tuple(
                kind for kind in self.types if kind in other.types or (kind == "integer" and "number" in other.types)
            )
            if "number" in self.types and "integer" in other.types and "integer" not in both.types:
                both.types += ("integer",)
            if not both.types:
                return None
        both.enum = self.enum or other.enum
        both.properties = dict(self.properties)
        for name, schema in other.properties.items():
            both.properties[name] = {"allOf": [both.properties[name], schema]} if name in both.properties else schema
        both.required = self.required + other.required
        both.additional = other.additional if self.additional is None else self.additional
        both.items = other.items if self.items is None else self.items
        both.prefix = self.prefix or other.prefix
        return both


class _Enum:
    """The values of `enum` or `const`, for quick look-ups; True is not 1."""

    __slots__ = ("keys", "others")

    def __init__(self, values: Sequence[Any]) -> None:
        self.keys: set[tuple[bool, Any]] = set()
        self.others: list[Any] = []
        for value in values:
            try:
                self.keys.add((isinstance(value, bool), value))
            except TypeError:
                self.others.append(value)

    def __contains__(self, value: Any) -> bool:
        try:
            return (isinstance(value, bool), value) in self.keys
        except TypeError:
            return value in self.others


class _Compiler:
    """Makes the nodes of one tool's schema; each schema object becomes one node."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._nodes: dict[int, tuple[Any, _Node]] = {}
        self._steps = 0

    def node(self, schema: Any) -> _Node:
        known = self._nodes.get(id(schema))
        if known is not None:
            return known[1]
        self._steps = 0
        node = _Node(self, self._expand(schema, frozenset(), 0))
        # Keeping the schema keeps its id from being used again.
        self._nodes[id(schema)] = (schema, node)
        return node

    def _expand(self, schema: Any, above: frozenset[int], depth: int) -> list[_Alternative]:
        """The alternatives of a schema; [] for one that only leads back to itself."""
        self._steps += 1
        if id(schema) in above:
            return []
        if type(schema) is not dict or depth > MAX_DEPTH // 4 or self._steps > _MAX_STEPS:
            return [_Alternative()]
        above = above | {id(schema)}
        found = [_flat(schema)]
        if isinstance(schema.get("$ref"), str):
            found = _combine(found, self._expand(self._resolve(schema["$ref"]), above, depth + 1))
        for part in _list(schema.get("allOf")):
            found = _combine(found, self._expand(part, above, depth + 1))
        for keyword in ("anyOf", "oneOf"):
            options = [alt for part in _list(schema.get(keyword)) for alt in self._expand(part, above, depth + 1)]
            found = _combine(found, options[:_MAX_ALTERNATIVES])
        if schema.get("nullable") is True:
            for alternative in found:
                if alternative.types is not None and "null" not in alternative.types:
                    alternative.types += ("null",)
        return found

    def _resolve(self, reference: str) -> Any:
        """The schema a local reference points to, or None."""
        if not reference.startswith("#"):
            return None
        target = self.root
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if type(target) is dict and part in target:
                target = target[part]
            elif type(target) is list and part.isdecimal() and len(part) < 9 and int(part) < len(target):
                target = target[int(part)]
            else:
                return None
        return target


def _flat(schema: dict[str, Any]) -> _Alternative:
    """What the schema says itself, without the schemas it refers to."""
    result = _Alternative()
    kinds = schema.get("type")
    names = [kinds] if isinstance(kinds, str) else _list(kinds)
    known = tuple(dict.fromkeys(kind for kind in names if isinstance(kind, str) and kind in _TYPES))
    if known:
        result.types = known
    properties = schema.get("properties")
    if type(properties) is dict:
        result.properties = properties
    result.required = tuple(name for name in _list(schema.get("required")) if isinstance(name, str))
    result.additional = schema.get("additionalProperties")
    if type(schema.get("items")) is list:  # the old spelling of prefixItems
        result.prefix, result.items = tuple(schema["items"]), schema.get("additionalItems")
    else:
        result.prefix, result.items = tuple(_list(schema.get("prefixItems"))), schema.get("items")
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if type(values) is list and values:
        result.enum = _Enum(values)
    if kinds is None:
        result.types = _implied(result, values if result.enum else None)
        result.inferred = result.types is not None
    return result


def _implied(alternative: _Alternative, values: Any) -> tuple[str, ...] | None:
    """The types a schema without `type` can only mean."""
    if values:
        return tuple(dict.fromkeys(_type_of(value) for value in values))
    if alternative.properties or type(alternative.additional) is dict:
        return ("object",)
    if alternative.prefix or type(alternative.items) is dict:
        return ("array",)
    return None


def _combine(left: list[_Alternative], right: list[_Alternative]) -> list[_Alternative]:
    """Every pair of both that can be, at most `_MAX_ALTERNATIVES`; `left` if there is none."""
    pairs = (one.and_(other) for one in left for other in right)
    found: list[_Alternative] = []
    for pair in pairs:
        if pair is not None:
            found.append(pair)
            if len(found) == _MAX_ALTERNATIVES:
                break
    return found or left


class _Node:
    """A schema ready to type values. Nothing here raises (but RecursionError on a full stack)."""

    __slots__ = ("_compiler", "alternatives", "has_string", "order")

    def __init__(self, compiler: _Compiler, alternatives: list[_Alternative]) -> None:
        self._compiler = compiler
        self.alternatives = alternatives
        # Every type but "string", in the order of the schema: any text is a string, so that is what is left.
        self.order = [(kind, alt) for alt in alternatives for kind in alt.types or () if kind != "string"]
        self.has_string = any("string" in (alt.types or ()) for alt in alternatives)

    def type_value(self, value: Any, depth: int) -> Any:
        """`value` typed, or unwrapped as it is."""
        kind = type(value)
        if kind is str:
            typed = self._text(value, depth)
            return value if typed is FAILED else typed
        if kind is Written:
            return self._written(value, depth)
        if kind is dict:
            return self.type_object(value, depth)
        if kind is list:
            return self._array(value, depth)
        if kind is float and value.is_integer() and self._only_integers():
            return int(value)
        return value

    def _written(self, value: Written, depth: int) -> Any:
        if value.encoded:
            kinds = {kind for kind, _ in self.order}
            if self.has_string and not kinds & {"integer", "number"}:
                return value.text
            return self.type_value(value.value, depth)
        if not self.order and not self.has_string:
            return unwrap(value.value)
        typed = self._text(value.text, depth)
        if typed is not FAILED:
            return typed
        return value.text if self.has_string else self.type_value(value.value, depth)

    def _text(self, text: str, depth: int) -> Any:
        """The text as the first type it can be, or `FAILED`."""
        if any(alt.enum is not None and text in alt.enum for alt in self.alternatives):
            return text
        for kind, alternative in self.order:
            typed = CASTS[kind](text) if kind in CASTS else self._decoded(kind, text, depth)
            if typed is None and self.has_string and text.strip() not in ("null", "None"):
                continue  # any other spelling may be meant as text
            if typed is FAILED or (alternative.inferred and alternative.enum and typed not in alternative.enum):
                continue
            return typed
        return FAILED

    def _decoded(self, kind: str, text: str, depth: int) -> Any:
        """The object or array the text encodes, typed inside."""
        if depth > MAX_DEPTH:
            return FAILED
        # Where a string is allowed too, what is no JSON is that string.
        value = decode_container(text, strict=self.has_string)
        if kind == "object" and type(value) is dict:
            return self.type_object(value, depth)
        if kind == "array" and type(value) is list:
            return self._array(value, depth)
        return FAILED

    def type_object(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        """`value` with each entry typed that the schema describes."""
        alternative = self._best(value)
        if alternative is None or depth > MAX_DEPTH:
            plain: dict[str, Any] = unwrap(value)
            return plain
        result = {}
        for key, entry in value.items():
            schema = alternative.properties.get(key, alternative.additional)
            if type(schema) is dict:
                result[key] = self._compiler.node(schema).type_value(entry, depth + 1)
            else:
                result[key] = unwrap(entry)
        return result

    def _best(self, value: dict[str, Any]) -> _Alternative | None:
        """The alternative for objects that fits `value` best; the first of equals."""
        objects = [alt for alt in self.alternatives if alt.types is None or "object" in alt.types]
        if len(objects) < 2:
            return objects[0] if objects else None
        return max(objects, key=lambda alt: self._fit(alt, value))

    def _fit(self, alternative: _Alternative, value: dict[str, Any]) -> tuple[bool, bool, int]:
        tags = True
        for name, schema in alternative.properties.items():
            if name in value and type(schema) is dict and ("const" in schema or "enum" in schema):
                enum = _flat(schema).enum
                tags = tags and (enum is None or unwrap(value[name]) in enum)
        return (
            tags,
            all(name in value for name in alternative.required),
            sum(key in alternative.properties for key in value),
        )

    def _array(self, value: list[Any], depth: int) -> list[Any]:
        arrays = [alt for alt in self.alternatives if alt.types is None or "array" in alt.types]
        if not arrays or depth > MAX_DEPTH:
            plain: list[Any] = unwrap(value)
            return plain
        prefix, items = arrays[0].prefix, arrays[0].items
        result = []
        for index, entry in enumerate(value):
            schema = prefix[index] if index < len(prefix) else items
            if type(schema) is dict:
                result.append(self._compiler.node(schema).type_value(entry, depth + 1))
            else:
                result.append(unwrap(entry))
        return result

    def _only_integers(self) -> bool:
        kinds = {kind for kind, _ in self.order}
        return "integer" in kinds and "number" not in kinds


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    kinds = {int: "integer", float: "number", str: "string", dict: "object", list: "array"}
    return kinds.get(type(value), "null")


def _list(value: Any) -> list[Any]:
    return value if type(value) is list else []
