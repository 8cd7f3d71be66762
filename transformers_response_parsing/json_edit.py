# SPDX-License-Identifier: Apache-2.0
"""Set one key of the object in a JSON text, and leave every other character as it is.

Reading and dumping a file again changes what nobody asked for: order, indentation, line ends, `1e5`, escapes. A maintainer
who gets that as a pull request has to read all of it. Here the text is taken apart only as far as the places of the
top-level members, and written in the style it has.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

__all__ = ["JsonTextError", "read_key", "same_json", "set_key"]

_SPACE = re.compile(r"[ \t\r\n]*")
_BOM = "\ufeff"
_ESCAPED = re.compile(r"\\u(?!00[0-7])")  # of a character beyond ASCII
# Only places matter here. Numbers as written, because an integer of 5,000 digits is an error to Python, and none in JSON.
_PLACES = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


class JsonTextError(ValueError):
    """The text is not a JSON object."""


class _Member(NamedTuple):
    """Where a member of the object is: the key is `text[start:key_end]`, its value `text[value:end]`."""

    key: str
    start: int
    key_end: int
    value: int
    end: int


class _Object(NamedTuple):
    """The top-level object: `text[open]` is its brace, `members` are in order, duplicates included."""

    open: int
    members: tuple[_Member, ...]


def read_key(text: str, key: str, default: Any = None) -> Any:
    """The value of a top-level key (any JSON value), or `default`. Of duplicates the last counts, as JSON readers have it.

    Raises:
        JsonTextError: the text is not a JSON object, or the value can't be read.
    """
    member = _last(_parse(text), key)
    if member is None:
        return default
    try:
        return json.loads(text[member.value : member.end])
    except ValueError as error:  # an integer of thousands of digits
        raise JsonTextError(f"the value of {key!r} can't be read: {error}") from None


def set_key(text: str, key: str, value: Any) -> str:
    """The text with a top-level key set, every character outside of that member unchanged.

    A key that is there gets its value replaced in place (of duplicates the last: it is the one that readers take), a new one
    becomes the last member. Indentation, separators, line ends and the escaping of non-ASCII are those of the text; where
    it shows none, those of transformers' `save_pretrained`: two spaces, and characters as they are.

    Args:
        text: a JSON object, with a byte order mark or without.
        key: the key.
        value: any JSON value. Its keys stay in their order.

    Raises:
        JsonTextError: the text is not a JSON object.
    """
    found = _parse(text)
    style = _Style.of(text, found)
    written = style.dump(value)
    member = _last(found, key)
    if member is not None:
        return text[: member.value] + written + text[member.end :]
    named = f"{style.dump(key)}{style.colon}{written}"
    if found.members:
        end = found.members[-1].end
        return text[:end] + style.comma + named + text[end:]
    # An empty object says little: it is opened up, unless it is already.
    inside = found.open + 1
    after = "" if "\n" in text[inside : text.index("}", inside)] else style.newline
    return text[:inside] + style.newline + style.indent + named + after + text[inside:]


def same_json(one: Any, other: Any) -> bool:
    """Equal as JSON values: the order of keys doesn't count; 1, 1.0 and true are three."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


class _Style(NamedTuple):
    """How a text is written.

    `newline` is "" for a text of one line. `indent` is the whitespace before a member, `unit` what one level adds. `comma`
    and `colon` are all that stands between two members, and between a key and its value.
    """

    newline: str
    indent: str
    unit: str
    comma: str
    colon: str
    ascii_only: bool

    @classmethod
    def of(cls, text: str, found: _Object) -> _Style:
        ascii_only = text.lstrip(_BOM).isascii() and _ESCAPED.search(text) is not None
        if not found.members:
            return cls("\r\n" if "\r\n" in text else "\n", "  ", "  ", ",", ": ", ascii_only)
        first, last = found.members[0], found.members[-1]
        colon = text[last.key_end : last.value]
        if colon.strip(" ") != ":":
            colon = ": "
        if len(found.members) > 1:
            comma = text[found.members[-2].end : last.start]
        else:
            lead = text[found.open + 1 : first.start]
            comma = f",{lead}" if "\n" in lead or not colon.endswith(" ") else ", "
        if "\n" not in comma:
            return cls("", "", "", comma, colon, ascii_only)
        indent = comma.rpartition("\n")[2].partition(",")[0]
        return cls("\r\n" if "\r\n" in comma else "\n", indent, indent or "  ", comma, colon, ascii_only)

    def dump(self, value: Any) -> str:
        """A value as this text would have it."""
        options: dict[str, Any] = {"indent": self.unit, "separators": (",", self.colon)}
        if not self.newline:
            options = {"separators": (f",{self.comma.partition(',')[2]}", self.colon)}
        written = json.dumps(value, ensure_ascii=self.ascii_only, **options)
        if not _encodable(written):  # half a surrogate pair has no other spelling than its escape
            written = json.dumps(value, **options)
        # Strings hold no raw newlines, so these are all of the layout.
        return written.replace("\n", self.newline + self.indent)


def _encodable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _last(found: _Object, key: str) -> _Member | None:
    return next((member for member in reversed(found.members) if member.key == key), None)


def _parse(text: str) -> _Object:
    """Find the members of the object. Raises JsonTextError."""
    start = _skip(text, len(_BOM) if text.startswith(_BOM) else 0)
    if text[start : start + 1] != "{":
        raise JsonTextError(f"it is no JSON object: it must begin with '{{', not {text[start : start + 20]!r}")
    members: list[_Member] = []
    at = _skip(text, start + 1)
    if text[at : at + 1] != "}":
        while True:
            member = _member(text, at)
            members.append(member)
            at = _skip(text, member.end)
            if text[at : at + 1] != ",":
                break
            at = _skip(text, at + 1)
    if text[at : at + 1] != "}":
        raise _wrong(text, at, "expected ',' or '}'")
    end = _skip(text, at + 1)
    if end != len(text):
        raise _wrong(text, end, "there is something after the object")
    return _Object(start, tuple(members))


def _member(text: str, start: int) -> _Member:
    if text[start : start + 1] != '"':
        raise _wrong(text, start, "expected a key in double quotes")
    key, key_end = _value(text, start)
    colon = _skip(text, key_end)
    if text[colon : colon + 1] != ":":
        raise _wrong(text, colon, "expected ':'")
    value = _skip(text, colon + 1)
    return _Member(key, start, key_end, value, _value(text, value)[1])


def _value(text: str, start: int) -> tuple[Any, int]:
    try:
        return _PLACES.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _wrong(text, error.pos, error.msg) from None
    except RecursionError:
        raise _wrong(text, start, "nested too deeply") from None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _wrong(text: str, at: int, what: str) -> JsonTextError:
    line = text.count("\n", 0, at) + 1
    return JsonTextError(f"it is not valid JSON: {what} (line {line}, column {at - text.rfind(chr(10), 0, at)})")
