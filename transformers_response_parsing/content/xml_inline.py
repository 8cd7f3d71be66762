# SPDX-License-Identifier: Apache-2.0
"""`xml-inline`: a flat sequence of tags, each an entry of a dict."""

from __future__ import annotations

import re
from typing import Any

import regex

from transformers_response_parsing.errors import BodyError

from .base import Arguments, Content
from .entities import unescape
from .tag_plan import TagFinder
from .values import ValueReader

__all__ = ["XmlInlineContent"]

_NON_SPACE = re.compile(r"\S")
# An escape, a character class, the beginning of a group (with what makes it a look-around), or one character.
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\((?:\?<?[=!])?|.", re.DOTALL)


class XmlInlineContent(Content):
    """`xml-inline`: a dict of what `tag_pattern` finds; text between the tags is ignored.

    Of a repeated key the last wins; with `merge_duplicates` all its values are kept, as a list.

    Of this package only: where a group named `raw` of the `tag_pattern` took part, the value is text, whatever the
    `value_parser`; `unescape` decodes the entities of XML in keys and in values that are not `raw`.
    """

    name = "xml-inline"
    arguments = ("tag_pattern", "value_parser", "merge_duplicates", "unescape")
    extension_arguments = frozenset(("unescape",))

    def __init__(self, args: Arguments) -> None:
        self._merge = args.flag("merge_duplicates", False)
        self._values = ValueReader(args.nested())
        self._unescape = args.flag("unescape", False)
        self._finder = _finder(args)
        self._unfinished = None if self._finder is None else _never_at_the_end(self._finder)

    def parse(self, body: str, *, written: bool = False, cut_off: bool = False) -> dict[str, Any]:
        """The dict.

        With `cut_off`, a tag counts only if its own text ends it: one that the pattern lets the end of the body end was not
        finished. Text that no tag claims (but whitespace) is a BodyError then, and so is, for such a pattern, a body without
        any tag.
        """
        result: dict[str, Any] = {}
        repeated: set[str] = set()
        read, merge, decode = self._values.read, self._merge, self._unescape
        reached = 0
        assert self._finder is not None
        assert self._unfinished is not None
        finder = self._unfinished if cut_off else self._finder
        for start, end, key, text, text_start, raw in finder.find(body):
            if cut_off and (loose := _NON_SPACE.search(body, reached, start)):
                raise BodyError("text outside of the tags of a call that was cut off", loose.start())
            reached = end
            if decode:
                key, text = unescape(key), text if raw else unescape(text)
            try:
                value = text if raw else read(text, written)
            except BodyError as error:
                raise BodyError(f"value of '{key}': {error.reason}", text_start + (error.position or 0)) from None
            if not merge or key not in result:
                result[key] = value
            elif key in repeated:
                result[key].append(value)
            else:
                result[key] = [result[key], value]
                repeated.add(key)
        if cut_off and (loose := _NON_SPACE.search(body, reached)):
            raise BodyError("a tag that was cut off", loose.start())
        if not result and finder is not self._finder:
            raise BodyError("cut off before the first tag")
        return result


def _finder(args: Arguments) -> TagFinder | None:
    """The compiled `tag_pattern`, or None after noting what is wrong with it."""
    pattern = args.values.get("tag_pattern")
    if pattern is None:
        args.problem("tag_pattern", "'xml-inline' needs it: a regex with the named groups 'key' and 'value'")
        return None
    if not isinstance(pattern, str):
        args.problem("tag_pattern", "must be a regex (a string)")
        return None
    try:
        compiled = regex.compile(pattern, regex.DOTALL)
    except (regex.error, RecursionError, OverflowError, ValueError) as error:
        args.problem("tag_pattern", f"no valid regex: {error}")
        return None
    missing = [group for group in ("key", "value") if group not in compiled.groupindex]
    if missing:
        args.problem("tag_pattern", f"needs the named group{'s'[: len(missing) - 1]} {' and '.join(missing)}")
        return None
    if "raw" in compiled.groupindex:
        args.extension("tag_pattern")
    return TagFinder(pattern, compiled)


def _never_at_the_end(finder: TagFinder) -> TagFinder:
    """The finder without alternatives that are the end of the body (the last one of `</p>|$`); look-aheads keep theirs."""
    parts = []
    looks: list[bool] = []  # for each open group: is it, or is it in, a look-around
    for piece in _TOKEN.findall(finder.source):
        if piece.startswith("("):
            looks.append(piece != "(" or bool(looks and looks[-1]))
        elif piece == ")" and looks:
            looks.pop()
        parts.append("(?!)" if piece in (r"\Z", "$") and not (looks and looks[-1]) else piece)
    source = "".join(parts)
    return finder if source == finder.source else TagFinder(source, regex.compile(source, regex.DOTALL))
