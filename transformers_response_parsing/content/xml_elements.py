# SPDX-License-Identifier: Apache-2.0
"""`xml-elements`: nested elements, whose names are the keys."""

from __future__ import annotations

import re
from typing import Any

from transformers_response_parsing.errors import BodyError
from transformers_response_parsing.limits import MAX_DEPTH

from .base import Arguments, Content
from .entities import unescape
from .values import ValueReader
from .written import Written

__all__ = ["XmlElementsContent"]

_NON_SPACE = re.compile(r"\S")
# The run of a name never holds a "<", so that no text is looked at from two places.
_TAG = r"<(?P<end>/?)(?P<name>[^<>\s/](?:[^<>\n]*[^<>\s/])?)(?P<empty>/?)>"
_TEXT_LEVELS = 8
"""Levels at which elements with elements inside keep their text for the schema: a copy for each level."""


class XmlElementsContent(Content):
    """`xml-elements`: a dict of elements `<key>value</key>`. transformers has no such type.

    An element is a dict where there is nothing but elements in it, a list where they all have the name `item`, else text,
    exactly as written (or what `value_parser` makes of it), tags included that are part of the text. `<key/>` is an empty
    text. Of a repeated key the last wins. Outside of the elements there may be white space only.

    `tag_prefix` is a text that stands before the `<` of every tag; without it, it is no tag. `unescape` decodes the
    entities of XML in keys and texts.
    """

    name = "xml-elements"
    arguments = ("tag_prefix", "item", "value_parser", "unescape")
    extension = True

    def __init__(self, args: Arguments) -> None:
        prefix = args.text("tag_prefix", "") if "tag_prefix" in args.values else ""
        self._tag = re.compile(re.escape(prefix) + _TAG)
        self._item = args.text("item", "item")
        self._values = ValueReader(args.nested())
        self._unescape = args.flag("unescape", False)

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> dict[str, Any]:
        """The dict.

        With `cut_off`, always a BodyError: nothing in the elements tells whether all that were meant are there.
        """
        if cut_off:
            raise BodyError("the text ended before the elements did", len(body))
        root = self._read(body)
        try:
            return {self._text(child.name): self._value(body, child, written, 0) for child in root.children}
        except RecursionError:  # the caller's stack was nearly full
            raise BodyError("nested too deep for the space left on the stack") from None

    def _read(self, body: str) -> _Element:
        """The elements in the body, as the children of one that is the body; linear in it."""
        root = _Element("", 0, 0)
        stack = [root]
        levels: dict[str, list[int]] = {}  # name -> where in the stack the open elements of this name are
        for match in self._tag.finditer(body):
            end, name, empty = match.groups()
            if not end:
                element = _Element(name, match.start(), match.end())
                if empty:
                    element.stop = element.start
                    stack[-1].add(element, body, match.end())
                else:
                    levels.setdefault(name, []).append(len(stack))
                    stack.append(element)
            elif not empty and levels.get(name):
                level = levels[name].pop()
                element = stack[level]
                if level + 1 < len(stack):
                    element.is_text(stack[level + 1].begin)  # what was opened in it and never closed is text
                    for lost in stack[level + 1 :]:
                        levels[lost.name].pop()
                del stack[level:]
                element.finish(body, match.start())
                stack[-1].add(element, body, match.end())
        if len(stack) > 1:
            raise BodyError(f"the element '{stack[1].name[:40]}' is never closed", stack[1].begin)
        root.finish(body, len(body))
        if root.loose < 0 and not root.children and (loose := _NON_SPACE.search(body)):
            root.loose = loose.start()
        if root.loose >= 0:
            raise BodyError("text outside of the elements", root.loose)
        if root.depth > MAX_DEPTH:
            raise BodyError(f"elements nested more than {MAX_DEPTH} levels deep")
        return root

    def _value(self, body: str, element: _Element, written: bool, level: int) -> Any:
        children = element.children
        if not children:
            text = self._text(body[element.start : element.stop])
            try:
                return self._values.read(text, written)
            except BodyError as error:
                place = 0 if self._unescape else error.position or 0
                raise BodyError(f"value of '{element.name}': {error.reason}", element.start + place) from None
        value: Any
        if all(child.name == self._item for child in children):
            value = [self._value(body, child, written, level + 1) for child in children]
        else:
            value = {self._text(child.name): self._value(body, child, written, level + 1) for child in children}
        if written and level < _TEXT_LEVELS:
            # A schema may know that it is a text, which happens to look like elements.
            return Written(value, self._text(body[element.start : element.stop]))
        return value

    def _text(self, text: str) -> str:
        return unescape(text) if self._unescape else text


class _Element:
    """An element: where its tag begins, where what is in it starts and stops, the elements in it if it is no text."""

    __slots__ = ("begin", "children", "depth", "loose", "name", "reached", "start", "stop")

    def __init__(self, name: str, begin: int, start: int) -> None:
        self.name = name
        self.begin = begin
        self.start = self.reached = start
        self.stop = -1
        self.children: list[_Element] = []
        self.loose = -1  # where in it text is that belongs to no element in it: then all is text
        self.depth = 0

    def add(self, child: _Element, body: str, end: int) -> None:
        """An element in it is complete, and ends at `end`."""
        if self.loose < 0:
            if loose := _NON_SPACE.search(body, self.reached, child.begin):
                self.is_text(loose.start())
            else:
                self.children.append(child)
                self.depth = max(self.depth, child.depth + 1)
        self.reached = end

    def is_text(self, loose: int) -> None:
        """All of it is text, as the one at `loose` is."""
        self.loose, self.depth = loose, 0
        self.children = []

    def finish(self, body: str, stop: int) -> None:
        """It ends at `stop`."""
        self.stop = stop
        if self.children and (loose := _NON_SPACE.search(body, self.reached, stop)):
            self.is_text(loose.start())
