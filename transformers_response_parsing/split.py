# SPDX-License-Identifier: Apache-2.0
"""Where a rendered turn begins: the model's reply is what follows the prompt, though few chat templates write both alike."""

from __future__ import annotations

import re
from typing import NamedTuple

from .rendering import RenderError

__all__ = ["Split", "opened_block", "split_turn"]

_MARKER = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
_PIECE = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]|[^\s<\[]+|\S")
# What a prompt may end with besides the header of the turn: an empty block, a closing tag alone, or an opened block (a tag, or
# a line of prose).
_BLOCK = re.compile(r"(<[^<>\s/]+>|\[[A-Z_]+\])[^<\[]*(<[^<>\s]+>|\[/[A-Z_]+\])\s*\Z")
_CLOSING = re.compile(r"<[^<>\s]?/[^<>\s]+>\s*\Z")
_OPENING = re.compile(r"(?:<[^<>\s/]+>|\[[A-Z_]+\])\s*\Z|(?<=\n)[^<>\n]+\n\Z")
_SHORTEST_WORD = 5  # of letters that tell a header from other text
_THINKING = re.compile(r"<\|?[^<>\s/]*think[^<>\s/]*\|?>\s*\Z|\[THINK\]\s*\Z", re.IGNORECASE)


class Split(NamedTuple):
    """A prompt, the reply to it, and notes about what did not fit together."""

    prompt: str
    reply: str
    notes: tuple[str, ...] = ()


def split_turn(whole: str, prompt: str, before: str, last: str, said: tuple[str, ...], *, reasons: bool) -> Split:
    """Cut a rendered conversation where the generation of its last turn would start.

    Args:
        whole: the conversation with the turn.
        prompt: the conversation without it, with the beginning of an answer.
        before: the conversation without it.
        last: the text of the last message before the turn.
        said: texts of the turn.
        reasons: the turn has reasoning.

    Raises:
        RenderError: the turn can't be found.
    """
    if whole.startswith(prompt):
        return Split(prompt, whole[len(prompt) :])
    if last not in prompt:
        raise RenderError("does not render the message before the turn")
    at, its = prompt.rfind(last), whole.find(last, max(0, _common_length(prompt, whole) - len(last)))
    its = its if its >= 0 else whole.rfind(last)
    if its >= 0:
        header, rest = prompt[at + len(last) :], whole[its + len(last) :]
        begun = prompt[len(before) :] if prompt.startswith(before) else header
        own = min((rest.find(text) for text in said if text in rest), default=len(rest))
        found = _find(prompt, header, begun, rest, own, reasons)
        if found is not None:
            return found
    if whole.startswith(before) and prompt.startswith(before):
        begun = prompt[len(before) :]
        marker = _MARKER.match(begun)
        if marker and not _THINKING.search(marker[0]) and whole.startswith(marker[0], len(before)):
            raise RenderError("begins the turn otherwise than its prompt")
        notes = (f"the prompt ends with {begun!r}, which the turn as rendered has not",) if begun.strip() else ()
        return Split(prompt, whole[len(before) :], notes)
    raise RenderError("does not render the turn so that it follows from a prompt")


def opened_block(prompt: str) -> tuple[str, str] | None:
    """The tag by which a prompt opens the model's reasoning, and the one that will close it; None if it does not."""
    found = _THINKING.search(prompt)
    if found is None:
        return None
    tag = found[0].strip()
    if "START" in tag:
        return tag, tag.replace("START", "END")
    return tag, f"{tag[0]}/{tag[1:]}" if "|" not in tag else ""


def _find(prompt: str, header: str, begun: str, rest: str, own: int, reasons: bool) -> Split | None:
    """The split by the header.

    `header` is what stands in the prompt behind the last message; `begun` is its part that begins the answer; `rest` is what
    stands in the rendered turn behind the last message; its own text begins at `own`.
    """
    end = _header_end(header, rest, own)
    if end is not None:
        return Split(prompt, rest[end:], ("the turn as rendered begins a little differently from the prompt",))
    for closed, extra in ((True, _closed_block(header)), (False, _opened_block(header))):
        # A header must be left: what a prompt begins an answer with is not a block of its own. (Some chat templates begin an
        # answer even where none is asked for, so that it can't be told from what is before.)
        thinks = closed or _THINKING.search(extra) or extra.endswith("\n")
        if not extra or not (begun[: max(0, len(begun) - len(extra))].strip() or (not begun and thinks)):
            continue
        end = _header_end(header[: len(header) - len(extra)], rest, own)
        if end is None:
            continue
        note = f"the prompt ends with {extra!r}, which the turn as rendered has not"
        # An answer without reasoning can't follow where reasoning has begun, nor reasoning where it is over already.
        if reasons == closed:
            return Split(prompt[: len(prompt) - len(extra)], rest[end:], (f"{note}: left out",))
        return Split(prompt, rest[end:], (note,))
    # The prompt has begun the answer with words that this turn has not: they are left out.
    shared = _common_length(header, rest[:own])
    extra = header[shared:].lstrip()
    markers = [marker.end() for marker in _MARKER.finditer(header)]
    if extra and markers and markers[-1] <= shared:
        note = f"the prompt ends with {extra!r}, which the turn as rendered has not: left out"
        return Split(prompt[: len(prompt) - len(extra)], rest[shared:], (note,))
    return None


def _closed_block(header: str) -> str:
    """The empty block, or the closing tag alone, that a header ends with; "" if there is none."""
    block = _BLOCK.search(header)
    if block and _name(block[1]) == _name(block[2]):
        return block[0]
    closing = _CLOSING.search(header)
    return closing[0] if closing else ""


def _opened_block(header: str) -> str:
    opening = _OPENING.search(header)
    return opening[0] if opening else ""


def _name(marker: str) -> str:
    """What an opening and a closing marker have in common."""
    return re.sub(r"[<>|/\[\]]|START_?|END_?", "", marker)


def _header_end(header: str, rest: str, own: int) -> int | None:
    """Where the header, or the longest end of it that can be found, ends in the rendered turn; white space may differ."""
    pieces = list(_PIECE.finditer(header))
    trailing = header[len(header.rstrip()) :]
    for start, piece in enumerate(pieces):
        # A role's name alone, without the marker that it follows, may stand anywhere.
        adjacent = piece.start() > 0 and not header[piece.start() - 1].isspace()
        if start and not _MARKER.fullmatch(piece[0]) and (adjacent or len(piece[0]) < _SHORTEST_WORD):
            continue
        found = re.search(r"\s*".join(re.escape(piece[0]) for piece in pieces[start:]), rest[:own])
        if found and (start or not rest[: found.start()].strip()):
            end = found.end()
            return end + _common_length(trailing, rest[end:own])
    return None


def _common_length(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
