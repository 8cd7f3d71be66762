# SPDX-License-Identifier: Apache-2.0
"""What a parser needs to know of a template in its hot paths, worked out once at load."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .content import Content
from .content.json_content import JsonContent
from .content.scalars import TextContent
from .errors import BodyError
from .events import RegionChunk
from .tools import complete_calls
from .watch import Entry, Watch

if TYPE_CHECKING:
    from .field import Field
    from .tools import ToolSchemas

__all__ = ["FieldPlan", "Plan"]


class FieldPlan:
    """A field as the parser sees it.

    Attributes:
        field: the compiled field.
        name: the key of the message it writes.
        watch: its close (and its open, if it nests), or None if it has none. (Of the implicit field: None, see `Plan`.)
        until_complete: it ends where its value is complete.
        chunk: the event of a chunk, to be copied and given its text (quicker than to make one).
        blank_lead: whitespace at the begin of a region is no part of its clean chunks.
        stretched: it collects the stretches of text between other regions into one string (SPEC 7.3).
        collects: several regions make up one value.
        nests: its open inside of its region opens an inner region, which is data.
        reads_anything: a body that is no JSON is text, so that parsing it never fails.
        has_strings: a close inside of an unfinished JSON string is data (SPEC 7.8).
    """

    __slots__ = (
        "_parse",
        "_strips",
        "blank_lead",
        "chunk",
        "collects",
        "field",
        "has_strings",
        "name",
        "nests",
        "reads_anything",
        "stretched",
        "until_complete",
        "watch",
    )

    def __init__(self, field: Field) -> None:
        content = field.content
        self.field = field
        self.name = field.key
        self.chunk: RegionChunk = {"type": "region_chunk", "field": field.key, "text": "", "dirty": content.dirty}
        implicit = field.open is None
        self.nests = field.nests
        self.until_complete = content.until_complete
        self.watch = None
        if field.open is not None and field.close is not None:
            entries = [Entry(field.close, None)]
            self.watch = Watch([*entries, Entry(field.open, field.index)] if self.nests else entries)
        self.blank_lead = content.strips and not content.dirty
        plain = type(content) is TextContent and field.transform is None
        self.stretched = implicit and plain and not field.repeats
        self.collects = self.stretched or field.repeats or field.transform_each
        self.has_strings = self.watch is not None and type(content).scanner is not Content.scanner
        self.reads_anything = isinstance(content, JsonContent) and content.allow_non_json
        self._parse = None if plain else content.parse
        self._strips = content.strips

    def value(self, body: str, groups: Mapping[str, str], tools: ToolSchemas | None, cut_off: bool) -> Any:
        """What a region contributes: its body parsed, transformed, its calls typed and completed.

        Args:
            body: the text between its delimiters.
            groups: the named groups of its delimiters that took part.
            tools: the request's tools, if given.
            cut_off: the region ended without its close.

        Raises:
            BodyError: the body is not what the template says.
        """
        if self._parse is None:
            return body.strip() if self._strips else body
        return self._made(self._parse(body, written=tools is not None, cut_off=cut_off), groups, tools)

    def repaired(self, body: str, groups: Mapping[str, str], tools: ToolSchemas | None, cut_off: bool) -> Any:
        """The same of a body that can't be parsed as it is, where the template asks for a repair. BodyError if there is none."""
        content = self.field.content
        if tools is None or not isinstance(content, JsonContent) or not content.repairs:
            raise BodyError("no repair is asked for")
        return self._made(content.repair(body, cut_off), groups, tools)

    def _made(self, value: Any, groups: Mapping[str, str], tools: ToolSchemas | None) -> Any:
        """What a region contributes, made of its parsed body."""
        field = self.field
        transform = field.transform
        if transform is not None:
            if not field.transform_each:
                value = transform.apply({"content": value, **groups})
            elif not isinstance(value, list):
                raise BodyError(f"transform_each needs a list of objects, and the body is a {_kind(value)}")
            else:
                for element in value:
                    if not isinstance(element, dict):
                        raise BodyError(f"transform_each needs a list of objects, and the list has a {_kind(element)}")
                value = [transform.apply({**groups, **element}) for element in value]
        if tools is not None:
            value = tools.type_calls(value)
        value = complete_calls(value)
        if field.join is not None and not isinstance(value, str):
            raise BodyError(f"'join' needs every match to be a string, and this one is a {_kind(value)}")
        return value


class Plan:
    """A template as the parser sees it.

    Attributes:
        outside: watches while no explicit region is open.
        context: how many characters before a match its patterns look back on at most.
    """

    __slots__ = (
        "by_name",
        "context",
        "defaults",
        "fields",
        "implicit",
        "nested_defaults",
        "outside",
        "required",
    )

    def __init__(self, fields: tuple[Field, ...], implicit: Field | None, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self.nested_defaults = any(isinstance(value, (dict, list)) for value in defaults.values())
        self.required = tuple(field.key for field in fields if not field.optional)
        self.fields = tuple(FieldPlan(field) for field in fields)
        self.implicit = None if implicit is None else self.fields[implicit.index]
        # Of opens that match the same text the one of the first name wins, as in transformers (observed on 5.24).
        by_name = sorted(fields, key=lambda field: field.name)
        entries = [Entry(field.open, field.index) for field in by_name if field.open is not None]
        if implicit is not None and implicit.close is not None:
            entries.append(Entry(implicit.close, None))
        self.outside = Watch(entries)
        self.by_name = {plan.name: plan for plan in self.fields}
        watches = [self.outside, *(plan.watch for plan in self.fields if plan.watch is not None)]
        self.context = max(watch.context for watch in watches)


def _kind(value: object) -> str:
    names = {dict: "object", str: "string", bool: "boolean", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), type(value).__name__)
