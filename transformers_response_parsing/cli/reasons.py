# SPDX-License-Identifier: Apache-2.0
"""Why each delimiter of a template matched in a text, or did not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from transformers_response_parsing.delimiter import Delimiter, Literals, Pattern
from transformers_response_parsing.field import Field
from transformers_response_parsing.template import ResponseTemplate

from .trace import Span, Trace, spans_of

__all__ = ["Verdict", "anchor_verdict", "verdicts"]

_MOST = 3  # places that are named of one delimiter
_TIMEOUT = 1.0
_MAX_NEAR = 100_000  # characters of a text in which near misses are looked for


class Verdict(NamedTuple):
    """A delimiter and what became of it.

    Attributes:
        field: the field in the template.
        key: "open" or "close".
        delimiter: how the template spells it; "" if it has none.
        matches: (start, stop) of each match.
        reasons: sentences: why it did not match, or not in all the places where it stands.
    """

    field: str
    key: str
    delimiter: str
    matches: tuple[tuple[int, int], ...]
    reasons: tuple[str, ...]


def anchor_verdict(template: ResponseTemplate, prefix: str) -> str:
    """What became of the prompt, in a sentence."""
    if not prefix:
        return "no prompt was given: the text is taken for the whole message"
    cut = template.anchor.cut(prefix)
    if cut is None:
        return "the anchor is not in the prompt: all of the prompt is taken for a part of the message"
    rest = prefix[cut:]
    tail = f"{rest!r} follows it and belongs to the message" if rest else "nothing follows it"
    return f"the anchor ends at character {cut} of the prompt; {tail}"


def verdicts(template: ResponseTemplate, trace: Trace) -> list[Verdict]:
    """Of every delimiter, in the order of the template."""
    owners = trace.pieces()
    outside = _outside(template, trace, owners)
    found = []
    for field in template.fields:
        for key, delimiter in (("open", field.open), ("close", field.close)):
            matches = tuple((span.start, span.stop) for span in spans_of(trace, field.name, key))
            if delimiter is None:
                found.append(Verdict(field.name, key, "", matches, (_without(field, key),)))
                continue
            reasons = [*_reasons(delimiter, field, key, trace, owners, matches)]
            if matches and key == "open":
                reasons += filter(None, [_near_miss(delimiter, outside, least=4)])
            found.append(Verdict(field.name, key, _spelled(delimiter), matches, tuple(reasons)))
    return found


def _outside(template: ResponseTemplate, trace: Trace, owners: list[Span]) -> str:
    """The text with all that is in a delimiter or in a region of its own blotted out: where another one might have been."""
    free = {None, None if template.implicit is None else template.implicit.name}
    parts = []
    for piece in owners:
        is_free = piece.kind in {"region", "unclaimed"} and piece.field in free
        parts.append(trace.text[piece.start : piece.stop] if is_free else "\0" * (piece.stop - piece.start))
    return "".join(parts)


def _without(field: Field, key: str) -> str:
    if key == "open":
        return "it has none: text that no other field claims is its own"
    if field.content.until_complete:
        return "it has none: the region ends where its value is complete"
    return "it has none: the region goes on to the end"


def _spelled(delimiter: Delimiter) -> str:
    if isinstance(delimiter, Pattern):
        return f"/{delimiter.pattern}/"
    assert isinstance(delimiter, Literals)
    return " or ".join(map(repr, delimiter.literals))


def _reasons(
    delimiter: Delimiter, field: Field, key: str, trace: Trace, owners: list[Span], matches: tuple[tuple[int, int], ...]
) -> Iterator[str]:
    """Why not: first the places where it stands and was not taken, else how near the text comes to it."""
    taken = {start for start, _ in matches}
    text = trace.text
    found = [place for place in _occurrences(delimiter, text) if place[0] not in taken and place[0] < len(text)]
    places = [place for place in found if place[0] < place[1]] or ([] if matches else found)
    for start, stop in places[:_MOST]:
        owner = next((piece for piece in owners if piece.start <= start < piece.stop), None)
        what = (
            _quoted(text[start:stop]) if start < stop else f"an empty match before {_quoted(text[start : start + 12])}"
        )
        yield f"{what} at {start} {_why_not_taken(owner, field, key)}"
    if len(places) > _MOST:
        yield f"and {len(places) - _MOST} more places like that"
    if not matches and not places:
        yield _near_miss(delimiter, text)


def _why_not_taken(owner: Span | None, field: Field, key: str) -> str:
    if owner is None or owner.kind == "unclaimed":
        return "is outside of all regions" + (", where nothing is closed" if key == "close" else "")
    if owner.kind == "after the end":
        return "comes after the end of the generation"
    place = {"open": "part of what opens", "close": "part of what closes"}.get(owner.kind, "inside of")
    if key == "close" and owner.field != field.name:
        return f"is {place} {owner.field}; {field.name} is not open there"
    if owner.kind != "region":
        return f"is {place} {owner.field}, which comes first or is longer"
    if owner.field == field.name:
        return f"is data: it is inside of {field.name} itself" + (", in a JSON string" if key == "close" else "")
    return f"is inside of {owner.field}, where only what closes that is looked for"


def _occurrences(delimiter: Delimiter, text: str) -> Iterator[tuple[int, int]]:
    if isinstance(delimiter, Pattern):
        try:
            yield from (match.span() for match in delimiter.compiled.finditer(text, timeout=_TIMEOUT))
        except (TimeoutError, MemoryError):
            return
        return
    assert isinstance(delimiter, Literals)
    for literal in delimiter.literals:
        at = text.find(literal)
        while at >= 0:
            yield at, at + len(literal)
            at = text.find(literal, at + 1)


def _near_miss(delimiter: Delimiter, text: str, least: int = 0) -> str:
    """The longest piece of the text that begins like the delimiter; "" if it has fewer characters than `least`."""
    if len(text) > _MAX_NEAR:
        return "it is not in the text"
    start, length = (
        _longest_of_pattern(delimiter, text) if isinstance(delimiter, Pattern) else _longest(delimiter, text)
    )
    piece = text[start : start + length]
    if least and ("\0" in piece or len(piece.strip()) < least):
        return ""
    if len(piece.strip()) < 2:
        return "nothing in the text begins like it"
    if start + length == len(text):
        return f"the text ends in the middle of it: {_quoted(piece)} at {start}"
    return f"nearest: {_quoted(piece)} at {start}, but then came {_quoted(text[start + length : start + length + 12].partition(chr(0))[0])}"


def _longest(delimiter: Any, text: str) -> tuple[int, int]:
    best = (0, 0)
    for literal in delimiter.literals:
        for length in range(len(literal) - 1, best[1], -1):
            at = text.find(literal[:length])
            if at >= 0:
                best = (at, length)
                break
    return best


def _longest_of_pattern(pattern: Pattern, text: str) -> tuple[int, int]:
    best, size = (0, 0), len(text)

    def viable(at: int, length: int) -> bool:
        """Whether this piece may be the beginning of a match. If it may, so may what it begins with."""
        return pattern.compiled.match(text, at, at + length, partial=True, timeout=_TIMEOUT) is not None

    try:
        for at in range(size):
            if at + best[1] + 1 > size:
                break
            if text[at].isspace() or not viable(at, best[1] + 1):
                continue
            low, high = best[1] + 1, size - at
            while low < high:
                middle = (low + high + 1) // 2
                low, high = (middle, high) if viable(at, middle) else (low, middle - 1)
            best = (at, low)
    except (TimeoutError, MemoryError):
        pass
    return best


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
