# SPDX-License-Identifier: Apache-2.0
"""SPEC 3 once more, slow and plain: the whole text at hand, one `regex.search` from every position, nothing incremental.

What a parser does with a text, however it is cut, must be what this does with the whole of it. It knows nothing of the
package but the content types, the transforms and the typing of tools, which see one body at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import regex

from transformers_response_parsing.content import compile_content, unwrap
from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.tools import ToolSchemas
from transformers_response_parsing.transform import compile_transform

__all__ = ["Region", "Result", "Span", "parse", "regions", "shaped"]

_NOTHING: tuple[Any, ...] = (None, "", [], {})


class Match(NamedTuple):
    """A delimiter found in the text."""

    start: int
    end: int
    groups: dict[str, str]


class Span(NamedTuple):
    """A piece of the text and what it is: "body", "delimiter", "unclaimed" or "blank" (implicit, white space only)."""

    kind: str
    start: int
    end: int


@dataclass
class Region:
    """One region: the field, the place of its body, the groups of its delimiters, and whether its close was missing."""

    field: str
    start: int
    end: int
    groups: dict[str, str]
    cut_off: bool


@dataclass
class Result:
    """What came of a text: the message, the events (merged, with whole bodies as chunks), the pieces of the text."""

    message: dict[str, Any]
    events: list[dict[str, Any]]
    spans: list[Span]
    unclaimed: str


@dataclass
class _Machine:
    template: Mapping[str, Any]
    text: str
    end_literal: str
    spans: list[Span] = field(default_factory=list)
    found: list[Region] = field(default_factory=list)

    def best(self, watched: Sequence[tuple[str, str]], start: int, *, fresh: bool) -> tuple[str, Match] | None:
        """The field and the delimiter that come first: the earliest, then the longest, then an open before a close."""
        return self.either_view(lambda text: self._best(text, watched, start, fresh=fresh))

    def either_view(self, search: Callable[[str], tuple[str, Match] | None]) -> tuple[str, Match] | None:
        """What is found with a view of the literal that ends the turn, if it begins before that; else without."""
        hit = search(self.text + self.end_literal) if self.end_literal else None
        return hit if hit is not None and hit[1].start < len(self.text) else search(self.text)

    def _best(
        self, text: str, watched: Sequence[tuple[str, str]], start: int, *, fresh: bool
    ) -> tuple[str, Match] | None:
        hits: list[tuple[tuple[int, int, bool, int], str, Match]] = []
        for index, (name, key) in enumerate(watched):
            match = find(text, self.template["fields"][name], key, start, zero_width=fresh)
            if match is not None:
                hits.append(((match.start, match.start - match.end, key == "close", index), name, match))
        return min(hits)[1:] if hits else None

    def run(self) -> None:
        """Walk through the text."""
        fields = self.template["fields"]
        implicit = next((name for name in fields if not {"open", "open_pattern"} & fields[name].keys()), None)
        # Of opens that match the same text, the one of the field whose name sorts first counts.
        watched = [(name, "close" if name == implicit else "open") for name in sorted(fields)]
        position, opened_without_width_at = 0, -1
        while position <= len(self.text):
            hit = self.outside(watched, position, fresh=opened_without_width_at != position)
            if hit is None:
                self.stretch(implicit, position, len(self.text), {}, cut_off=True)
                return
            name, match = hit
            closes = name == implicit
            self.stretch(implicit, position, match.start, match.groups if closes else {}, cut_off=False)
            self.delimiter(match)
            position = min(match.end, len(self.text))  # what runs into the end of the turn takes all there is
            if closes:
                continue
            if match.start == match.end:
                opened_without_width_at = match.start
            close = self.close(name, position)
            end = len(self.text) if close is None else close.start
            groups = {**match.groups, **(close.groups if close else {})}
            self.spans.append(Span("body", position, end))
            self.found.append(Region(name, position, end, groups, close is None))
            if close is None:
                return
            self.delimiter(close)
            position = min(close.end, len(self.text))

    def outside(self, watched: Sequence[tuple[str, str]], position: int, *, fresh: bool) -> tuple[str, Match] | None:
        """The next open, or close of the implicit field. A close without width where nothing is open closes nothing."""
        opens = [pair for pair in watched if pair[1] == "open"]
        closes = [pair for pair in watched if pair[1] == "close"]

        def first(text: str) -> tuple[str, Match] | None:
            closing = self._best(text, closes, position, fresh=False)
            while closing and closing[1].start == closing[1].end and not text[position : closing[1].start].strip():
                closing = self._best(text, closes, closing[1].start, fresh=False)
            hits = [
                (match.start, match.start - match.end, rank, name, match)
                for rank, found in enumerate(
                    (
                        self._best(text, opens, position, fresh=fresh),
                        closing,
                    )
                )
                if found is not None
                for name, match in (found,)
            ]
            return min(hits)[3:] if hits else None

        return self.either_view(first)

    def close(self, name: str, start: int) -> Match | None:
        """The close of a region that begins at `start`; closes inside the strings of a json body are passed over."""
        hit = self.best([(name, "close")], start, fresh=True)
        while hit is not None and self.template["fields"][name].get("content") == "json":
            after = string_after(self.text[start:], hit[1].start - start)
            if after is None:
                break
            hit = self.best([(name, "close")], start + after, fresh=True)
        return None if hit is None else hit[1]

    def delimiter(self, match: Match) -> None:
        self.spans.append(Span("delimiter", match.start, min(match.end, len(self.text))))

    def stretch(self, implicit: str | None, start: int, end: int, groups: dict[str, str], *, cut_off: bool) -> None:
        if start >= end:
            return
        if implicit is None:
            self.spans.append(Span("unclaimed", start, end))
        elif not self.text[start:end].strip():
            self.spans.append(Span("blank", start, end))
        else:
            self.spans.append(Span("body", start, end))
            self.found.append(Region(implicit, start, end, groups, cut_off))


def find(text: str, spec: Mapping[str, Any], key: str, start: int, *, zero_width: bool) -> Match | None:
    """The first match of a field's open or close at or after `start`; `zero_width` False: none without width there."""
    if key in spec:
        literals = [spec[key]] if isinstance(spec[key], str) else spec[key]
        for at in range(start, len(text)):
            hits = [literal for literal in literals if text.startswith(literal, at)]
            if hits:
                return Match(at, at + max(map(len, hits)), {})
        return None
    pattern = spec.get(f"{key}_pattern")
    match = None if pattern is None else regex.compile(pattern, regex.DOTALL).search(text, start)
    if match is None:
        return None
    if not zero_width and match.start() == match.end() == start:
        return find(text, spec, key, start + 1, zero_width=True) if start < len(text) else None
    return Match(
        match.start(), match.end(), {name: value for name, value in match.groupdict().items() if value is not None}
    )


def string_after(body: str, at: int) -> int | None:
    """For a close at `at` of a json body: None if it is one, else where the string that it is data of has ended.

    It is one too where the string does not end, or the JSON does not go on after it.
    """
    if _state(body[:at]) != "string":
        return None
    for end in range(at + 1, len(body) + 1):
        state = _state(body[:end])
        if state == "complete":
            return end
        if state == "broken":
            return None
        if state != "string":
            rest = body[end:].lstrip(" \t\n\r")
            if not rest:
                return None
            upto = len(body) - len(rest) + 1
            return end if _state(body[:upto]) != "broken" else None
    return None


_SCALAR = regex.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|NaN|-?Infinity")
_ESCAPE = regex.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')


def _state(text: str) -> str:
    """What a strict JSON reader knows after `text`: "value" (unfinished), "string" (inside one), "complete", "broken"."""
    stack: list[str] = []
    expect = "value"  # or: first (value or ]), key, first-key (key or }), colon, more (comma or the end)
    at = 0
    while at < len(text):
        char = text[at]
        if char in " \t\n\r":
            at += 1
        elif expect == "done":
            return "broken"
        elif char == '"' and expect in ("value", "first", "key", "first-key"):
            end = _string_end(text, at)
            if end in (-1, -2):
                return "string" if end == -1 else "broken"
            at = end
            expect = "colon" if expect in ("key", "first-key") else _after(stack)
        elif expect in ("value", "first") and char in "{[":
            stack.append(char)
            expect = "first-key" if char == "{" else "first"
            at += 1
        elif char in "}]" and expect in ("more", "first" if char == "]" else "first-key"):
            if not stack or stack.pop() != {"}": "{", "]": "["}[char]:
                return "broken"
            expect = _after(stack)
            at += 1
        elif char == "," and expect == "more":
            expect = "key" if stack[-1] == "{" else "value"
            at += 1
        elif char == ":" and expect == "colon":
            expect = "value"
            at += 1
        elif expect in ("value", "first"):
            match = _SCALAR.match(text, at, partial=True)
            if not match or match.end() == at:
                return "broken"
            if match.partial or match.end() == len(text):
                return "value" if match.end() == len(text) else "broken"
            expect = _after(stack)
            at = match.end()
        else:
            return "broken"
    return "complete" if expect == "done" else "value"


def _after(stack: Sequence[str]) -> str:
    return "more" if stack else "done"


def _string_end(text: str, start: int) -> int:
    """Where the string that begins at `start` has ended; -1: not yet; -2: it can't be a string."""
    at = start + 1
    while at < len(text):
        if text[at] == '"':
            return at + 1
        if text[at] == "\\":
            match = _ESCAPE.match(text, at, partial=True)
            if not match:
                return -2
            at = match.end()
        else:
            at += 1
    return -1


def regions(
    template: Mapping[str, Any], tail: str, generation: str, end: Sequence[str] = ()
) -> tuple[list[Region], list[Span]]:
    """The regions of `tail` (the prefix after its anchor) and `generation`, and what every character is."""
    text = tail + generation
    found = [(at, -len(literal)) for literal in end for at in [text.find(literal, len(tail))] if at >= 0]
    stop, size = min(found, default=(len(text), 0))
    machine = _Machine(template, text[:stop], text[stop : stop - size])
    machine.run()
    return machine.found, machine.spans


def parse(
    template: Mapping[str, Any],
    tail: str,
    generation: str,
    *,
    tools: Sequence[Any] | None = None,
    end: Sequence[str] = (),
) -> Result:
    """Parse as with `on_error="keep"`; the faults have no wording."""
    fields = template["fields"]
    text = tail + generation
    found, spans = regions(template, tail, generation, end)
    schemas = ToolSchemas.load(tools) if tools else None
    message: dict[str, Any] = _copy(template.get("defaults", {}))
    defaults = set(message)
    malformed: list[dict[str, Any]] = []
    events: list[dict[str, Any]] = []
    stretches: dict[str, str] = {}
    matched: set[str] = set()
    for region in found:
        spec, name = fields[region.field], region.field
        content = compile_content(spec.get("content", "text"), spec.get("content_args", {}), name)
        raw = text[region.start : region.end]
        implicit = not {"open", "open_pattern"} & spec.keys()
        # Text of the implicit field that is one value however many stretches it has.
        flowing = implicit and content.name == "text" and not spec.get("repeats") and "transform" not in spec
        shown = raw if content.dirty or not content.strips or (flowing and name in stretches) else raw.lstrip()
        events.append({"type": "region_open", "field": name})
        if shown:
            events.append({"type": "region_chunk", "field": name, "text": shown, "dirty": content.dirty})
        try:
            value = _value(spec, content, raw, region, schemas)
            if "join" in spec and not isinstance(value, str):
                raise BodyError("not a string")
        except BodyError:
            events.append({"type": "region_malformed", "field": name, "raw": raw})
            malformed.append({"field": name, "raw": raw})
            continue
        events.append({"type": "region_close", "field": name, "value": _copy(value)})
        if flowing:
            stretches[name] = stretches.get(name, "") + raw
            message[name] = content.parse(stretches[name])
        elif "join" in spec:
            message[name] = spec["join"].join([message[name], value]) if name in message else value
        elif spec.get("transform_each"):
            before = message.get(name) if spec.get("repeats") or name in matched else None
            message[name] = [*(before or []), *value]
        elif spec.get("repeats"):
            message[name] = [*(message.get(name) or []), value]
        else:
            message[name] = value
        matched.add(name)
    message = {key: value for key, value in message.items() if key in defaults or not _nothing(value)}
    if malformed:
        message["malformed"] = malformed
    unclaimed = "".join(text[span.start : span.end] for span in spans if span.kind in ("unclaimed", "blank"))
    return Result(message, events, spans, unclaimed)


def _value(spec: Mapping[str, Any], content: Any, raw: str, region: Region, schemas: ToolSchemas | None) -> Any:
    """What the body of a region becomes; raises BodyError."""
    return _with_arguments(shaped(spec, content, raw, region, schemas))


def shaped(spec: Mapping[str, Any], content: Any, raw: str, region: Region, schemas: ToolSchemas | None) -> Any:
    """The body parsed, transformed and typed; raises BodyError."""
    value = content.parse(raw, written=schemas is not None, cut_off=region.cut_off)
    if "transform" in spec:
        each = bool(spec.get("transform_each"))
        transform = compile_transform(spec["transform"], "transform", each=each, groups=frozenset(region.groups))
        if not each:
            value = transform.apply({"content": value, **region.groups})
        elif not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise BodyError("not a list of dicts")
        else:
            value = [transform.apply({**region.groups, **item}) for item in value]
    return schemas.type_calls(value) if schemas is not None else unwrap(value)


def _with_arguments(value: Any) -> Any:
    """The value with empty arguments in each call that has none (difference 9)."""
    if isinstance(value, list) and value and _is_call(value[0]):
        return [_with_arguments(item) if _is_call(item) else item for item in value]
    if not _is_call(value) or value["function"].get("arguments") is not None:
        return value
    return {**value, "function": {**value["function"], "arguments": {}}}


def _is_call(value: Any) -> bool:
    if not isinstance(value, dict) or value.get("type") != "function" or not isinstance(value.get("function"), dict):
        return False
    return isinstance(value["function"].get("name"), str)


def _nothing(value: Any) -> bool:
    return not isinstance(value, (bool, int, float)) and value in _NOTHING


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copy(item) for item in value]
    return value
