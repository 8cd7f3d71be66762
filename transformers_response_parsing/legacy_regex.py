# SPDX-License-Identifier: Apache-2.0
"""Take the regexes of a legacy `response_schema` apart: what is before a capture, what is captured, what is after it."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Capture", "captures", "delimiter", "is_any_text", "literals"]

_ITEM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(|\)|[^\\\[()]", re.DOTALL)
_QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})[?+]?")
_OPENING = re.compile(r"\((?:\?P<(?P<name>\w+)>|(?P<other>\?[:=!]|\?<[=!]))?")
# White space that may be there: the values are stripped anyway.
_BLANK = re.compile(r"(?:\\s|\\n|\n| |\[ ?\\[ns]\])[*?]\??")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class _Piece(NamedTuple):
    """A part of a sequence: its source without the quantifier, the quantifier, and of a group the opening and the inside."""

    source: str
    quantifier: str
    opening: str
    inside: str
    name: str | None  # "" for a capture without a name, None for what captures nothing


class Capture(NamedTuple):
    """A group that captures. `before` and `after` are the sources of what surrounds it; `name` is "" if it has none."""

    name: str
    before: str
    body: str
    after: str


def captures(pattern: str) -> list[Capture]:
    """The captures of a regex in order, those in an optional group with what is around them in there.

    Raises:
        ValueError: one is where it can't be told what surrounds it (in alternatives, in a repetition).
    """
    if "|" in _without_groups(pattern):
        raise ValueError("it has alternatives")
    found: list[Capture] = []
    before = ""
    for piece in _pieces(pattern):
        if piece.name is not None:
            if piece.quantifier not in ("", "?", "??") or _captures_in(piece.inside):
                raise ValueError(f"the group {piece.source} repeats, or has groups in it")
            found.append(Capture(piece.name, before, piece.inside, ""))
            before = ""
        elif _captures_in(piece.inside):
            if piece.opening != "(?:" or piece.quantifier not in ("", "?"):
                raise ValueError(f"the group {piece.source}{piece.quantifier} is no simple optional group")
            inner = captures(piece.inside)
            inner[0] = inner[0]._replace(before=inner[0].before if piece.quantifier else before + inner[0].before)
            found += inner
            before = ""
        else:
            source = piece.source + piece.quantifier
            before += source
            if found:
                found[-1] = found[-1]._replace(after=found[-1].after + source)
    return found


def delimiter(source: str, key: str) -> tuple[dict[str, object], bool]:
    """A delimiter for a template from what surrounds a capture.

    Args:
        source: a regex. White space that may be there is left out at both ends, and so are `^` and `$`.
        key: "open" or "close".

    Returns:
        (`{key: literal or list of them}`, `{key_pattern: regex}`, or {} if nothing is left; whether it was optional).
    """
    source, optional = _trimmed(source), False
    pieces = _pieces(source)
    if len(pieces) == 1 and pieces[0].opening == "(?:":
        optional = pieces[0].quantifier == "?"
        if pieces[0].quantifier in ("", "?"):
            source = _trimmed(pieces[0].inside)
    branches = [_trimmed(branch) for branch in _branches(source)]
    kept = [branch for branch in branches if branch]
    if not kept:
        return {}, optional
    literals = [_literal(branch) for branch in kept]
    if all(literal is not None for literal in literals):
        return {key: literals[0] if len(literals) == 1 else literals}, optional
    return {f"{key}_pattern": "|".join(kept)}, optional


def is_any_text(body: str) -> bool:
    r"""Whether a capture takes whatever there is: `.*?`, `.+`, `[\s\S]*`."""
    return re.fullmatch(r"(?:\.|\[\\s\\S\]|\[\\S\\s\])[*+]\??", body) is not None


def literals(pattern: str) -> list[str]:
    """The stretches of plain text in a regex, in groups and alternatives too; [] if its brackets don't match."""
    found, text = [], ""
    try:
        pieces = _pieces(pattern)
    except ValueError:
        return []
    for piece in pieces:
        literal = None if piece.opening else _literal(piece.source + piece.quantifier)
        if literal is not None:
            text += literal
            continue
        found += [text, *literals(piece.inside)]
        text = ""
    return [text for text in [*found, text] if text]


def _trimmed(source: str) -> str:
    while True:
        before = source
        source = source.removeprefix("^").removeprefix("\\A")
        if source.endswith("$") and not source.endswith("\\$"):
            source = source[:-1]
        source = source.removesuffix("\\Z")
        for piece, cut in ((_first(source), slice(1, None)), (_last(source), slice(None, -1))):
            if piece and _BLANK.fullmatch(piece):
                source = "".join(part.source + part.quantifier for part in _pieces(source)[cut])
        if source == before:
            return source


def _first(source: str) -> str:
    pieces = _pieces(source)
    return pieces[0].source + pieces[0].quantifier if pieces else ""


def _last(source: str) -> str:
    pieces = _pieces(source)
    return pieces[-1].source + pieces[-1].quantifier if pieces else ""


def _literal(source: str) -> str | None:
    """The text that a regex is, if it is only that."""
    text = ""
    for piece in _pieces(source):
        item = piece.source
        if piece.quantifier or piece.opening or (len(item) == 1 and item in ".^$|"):
            return None
        if len(item) > 1:
            if item[0] != "\\" or (item[1].isalnum() and item[1] not in _ESCAPES):
                return None
            item = _ESCAPES.get(item[1], item[1])
        text += item
    return text


def _branches(source: str) -> list[str]:
    """The alternatives of a regex."""
    branches = [""]
    for piece in _pieces(source):
        if piece.source == "|":
            branches.append("")
        else:
            branches[-1] += piece.source + piece.quantifier
    return branches


def _pieces(pattern: str) -> list[_Piece]:
    """The parts of a regex, groups whole.

    Raises:
        ValueError: its parentheses don't match.
    """
    pieces: list[_Piece] = []
    at = 0
    while at < len(pattern):
        item = _ITEM.match(pattern, at)
        if item is None or item[0] == ")":
            raise ValueError("its brackets don't match")
        end, opening, inside, name = item.end(), "", "", None
        if item[0] == "(":
            end = _end_of_group(pattern, at)
            start = _OPENING.match(pattern, at)
            assert start is not None
            opening, inside = start[0], pattern[start.end() : end - 1]
            name = None if start["other"] else start["name"] or ""
        quantifier = _QUANTIFIER.match(pattern, end)
        source = pattern[at:end]
        at = end if quantifier is None else quantifier.end()
        pieces.append(_Piece(source, pattern[end:at], opening, inside, name))
    return pieces


def _end_of_group(pattern: str, start: int) -> int:
    depth = 0
    for item in _ITEM.finditer(pattern, start):
        depth += {"(": 1, ")": -1}.get(item[0], 0)
        if not depth:
            return item.end()
    raise ValueError("its brackets don't match")


def _captures_in(pattern: str) -> bool:
    return any(piece.name is not None or _captures_in(piece.inside) for piece in _pieces(pattern))


def _without_groups(pattern: str) -> str:
    return "".join(piece.source for piece in _pieces(pattern) if not piece.opening and len(piece.source) == 1)
