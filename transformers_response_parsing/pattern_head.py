# SPDX-License-Identifier: Apache-2.0
"""How the matches of a pattern begin: what lets most of a text pass without the automaton."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from .literals import LiteralSet
from .pattern_syntax import (
    BEGIN,
    CHAR,
    END_OF_TEXT,
    LOOK,
    LOOK_END,
    MATCH,
    PREVIOUS,
    SPLIT,
    WORD_EDGE,
    CharClass,
    Program,
)

__all__ = ["Head", "only_at_begin", "pattern_head"]

_MAX_LISTED = 64
_MAX_LITERAL = 64


@dataclass(frozen=True)
class Head:
    """Every match begins with any number of characters out of `skipped`, then one of `literals`.

    Where a text has none of the literals, nor the beginning of one at its end, and does not end with one of `skipped`, no
    match has begun in it. `exact`: the pattern's alternatives begin with just that, those of `led` with `[skipped]*` and
    the literal, the others with the literal; so what looks like the beginning of a match really may be one. `sure`: so it is
    also at the begin and at the end of a text.
    """

    literals: LiteralSet
    skipped: str
    led: frozenset[str]
    exact: bool
    sure: bool

    @property
    def first(self) -> str:
        """The character that all literals begin with, or "" (which every text has)."""
        return self.literals.first


def pattern_head(program: Program) -> Head | None:
    """The head of the program's pattern, or None if it has none that helps."""
    cuts = [
        (char, cut) for char in [*sorted(_single_characters(program)), ""] if (cut := _cut(program, char)) and cut.ops
    ]
    if not cuts:
        return None
    # Few words should end with what is skipped; then, one character is quicker to look for than several.
    _, cut = min(cuts, key=lambda one: (any(map(str.isalnum, one[1].skipped)), not one[0], len(one[1].skipped)))
    led: set[int] = set()
    plain = _is_plain(program, program.start, cut, led)
    literals = LiteralSet(_literal(program, pc) for pc in cut.ops)
    with_lead = frozenset(_literal(program, pc) for pc in led)
    # Where a text has the literal of one alternative and of another, the lead must mean the same to both.
    without = [_literal(program, pc) for pc in cut.ops - led]
    exact = plain and not any(one.startswith(other) or other.startswith(one) for one in with_lead for other in without)
    return Head(literals, "".join(sorted(cut.skipped)), with_lead, exact, not cut.edges)


def only_at_begin(program: Program) -> bool:
    """Whether the pattern can match nowhere but at the begin of the text (`^…`)."""
    stack, seen = [program.start], set[int]()
    while stack:
        pc = stack.pop()
        if pc in seen:
            continue
        seen.add(pc)
        op = program.ops[pc]
        if op[0] == SPLIT:
            stack += op[1]
        elif op[0] in (LOOK, PREVIOUS):
            stack.append(op[3])
        elif op[0] != BEGIN:
            return False
    return True


@dataclass
class _Cut:
    """Operations that read one certain character, one of which every match passes; and what may be read before.

    `edges`: but for matches at the begin or end of a text.
    """

    ops: set[int]
    skipped: set[str]
    edges: bool = False


def _single_characters(program: Program) -> set[str]:
    found: set[str] = set()
    for op in program.ops:
        if op[0] == CHAR:
            one = program.classes[op[1]]
            if one.is_single:
                found |= one.chars
    return found


def _cut(program: Program, char: str) -> _Cut | None:
    """Where threads read `char` for the first time; None if a match can do without, or too much may come before.

    "" is for the first certain character on each way, whatever it is.
    """
    cut = _Cut(set(), set())
    return cut if _explore(program, program.start, char, cut) else None


def _explore(program: Program, start: int, char: str, cut: _Cut) -> bool:
    """Follow all ways from `start` up to `char`. False if one of them arrives without it."""
    ops, stack, seen = program.ops, [start], set[int]()
    while stack:
        pc = stack.pop()
        if pc in seen:
            continue
        seen.add(pc)
        op = ops[pc]
        kind = op[0]
        if kind in (MATCH, LOOK_END):
            return False
        if kind == SPLIT:
            stack += op[1]
        elif kind == CHAR:
            one = program.classes[op[1]]
            if one.is_single and (not char or char in one.chars):
                cut.ops.add(pc)
                continue
            members = _members(one)
            if members is None or (char and char in members):
                return False
            cut.skipped |= members
            stack.append(op[2])
        elif kind == LOOK:
            ahead = _Cut(set(), set())
            # A thread lives no longer than what it has to see ahead.
            if not op[1] and _explore(program, op[2], char, ahead):
                cut.ops |= ahead.ops
                cut.skipped |= ahead.skipped
                cut.edges |= ahead.edges
            else:
                stack.append(op[3])
        elif kind in (PREVIOUS, WORD_EDGE):
            stack.append(op[-1])
        elif kind in (BEGIN, END_OF_TEXT):  # those two never hold where more text comes
            cut.edges = True
        else:
            return False
    return True


def _literal(program: Program, pc: int) -> str:
    """The characters that are read one after the other from an operation on."""
    text = ""
    while len(text) < _MAX_LITERAL and program.ops[pc][0] == CHAR:
        one = program.classes[program.ops[pc][1]]
        if not one.is_single:
            break
        text += next(iter(one.chars))
        pc = program.ops[pc][2]
    return text


def _is_plain(program: Program, pc: int, cut: _Cut, led: set[int]) -> bool:
    """Whether all ways from `pc` begin with a literal, or `[skipped]*` and a literal, which is added to `led` then."""
    op = program.ops[pc]
    if op[0] == CHAR:
        return pc in cut.ops
    if op[0] == LOOK:
        return not op[1] and _is_plain(program, op[2], cut, led)
    if op[0] != SPLIT:
        return False
    turn, following = op[1][0], op[1][-1]
    first = program.ops[turn]
    if len(op[1]) == 2 and first[0] == CHAR and first[2] == pc:
        if following not in cut.ops or _members(program.classes[first[1]]) != cut.skipped:
            return False
        led.add(following)
        return True
    return all(_is_plain(program, target, cut, led) for target in op[1])


def _members(one: CharClass) -> set[str] | None:
    """The characters of a class, or None if they are too many to list."""
    if one.negated or any(category != r"\s" for category in one.categories):
        return None
    chars = set(one.chars)
    for low, high in one.ranges:
        if ord(high) - ord(low) >= _MAX_LISTED:
            return None
        chars |= {chr(code) for code in range(ord(low), ord(high) + 1)}
    return chars | _white_space() if one.categories else chars


@cache
def _white_space() -> frozenset[str]:
    r"""The characters `\s` of the `regex` module matches: Unicode's White_Space, all of it below U+3001."""
    space = CharClass(False, frozenset(), (), (r"\s",))
    return frozenset(char for char in map(chr, range(0x3001)) if char in space)
