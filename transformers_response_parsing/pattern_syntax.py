# SPDX-License-Identifier: Apache-2.0
"""From a pattern to a small program for the automaton, for the regular subset of the `regex` module's language.

The standard library's own regex parser gives the syntax tree. `compile_program` returns None for what is not regular or
what the two dialects may read differently; such a pattern is then left to the `regex` module (see `delimiter.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any

import regex

try:  # the module moved in Python 3.11
    import re._constants as sre  # type: ignore[import-not-found,unused-ignore]
    import re._parser as sre_parse  # type: ignore[import-not-found,unused-ignore]
except ImportError:  # pragma: no cover
    import sre_constants as sre  # type: ignore[no-redef,unused-ignore]
    import sre_parse  # type: ignore[no-redef,unused-ignore]

__all__ = [
    "BEGIN",
    "CHAR",
    "END_OF_TEXT",
    "LOOK",
    "LOOK_END",
    "MATCH",
    "PREVIOUS",
    "SPLIT",
    "WORD_EDGE",
    "CharClass",
    "Op",
    "Program",
    "compile_program",
    "looks_back",
    "may_have_sets",
    "parse_pattern",
    "program_outline",
    "reach",
    "repetitions",
    "sre",
    "sre_parse",
]

# The kinds of operation.
CHAR = 0  # (CHAR, class, next): consume one character of the class
SPLIT = 1  # (SPLIT, targets): try the targets in this order
PREVIOUS = 2  # (PREVIOUS, class, negated, next): the character before is (not) of the class
BEGIN = 3  # (BEGIN, next): the text begins here
LOOK = 4  # (LOOK, negated, body, next): what follows does (not) match the body
LOOK_END = 5  # (LOOK_END,): the body of a look-ahead matched
END_OF_TEXT = 6  # (END_OF_TEXT, next): only inside of LOOK bodies
WORD_EDGE = 7  # (WORD_EDGE, negated, next): only inside of LOOK bodies
MATCH = 8  # (MATCH,)

Op = tuple[Any, ...]

_MAX_OPS = 4_000
_FEW = 16
# Both dialects read these alike; anything else in a flag position is left to `regex`.
_PLAIN_FLAGS = re.UNICODE.value | re.DOTALL.value
# POSIX classes and fuzzy counts mean something to `regex` that `re` reads as plain characters.
_OTHER_DIALECT = re.compile(r"\[:|(?:^|[^\\])(?:\\\\)*\{[^}]*[a-z<]|\(\?[|&V]")
# Nested sets and set operations. `re` warns of them, and to silence it would silence other threads.
_SETS = re.compile(r"(?:^|[^\\])(?:\\\\)*\[\^?(?:\[|\]?(?:\\.|[^\]\\])*?(?:--|&&|\|\||~~))", re.DOTALL)
# The name of a group, if it is one: escapes and character classes are passed over.
_GROUP_NAME = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P<(\w+)>", re.DOTALL)
_CATEGORY_SOURCE = {
    sre.CATEGORY_SPACE: r"\s",
    sre.CATEGORY_NOT_SPACE: r"\S",
    sre.CATEGORY_DIGIT: r"\d",
    sre.CATEGORY_NOT_DIGIT: r"\D",
    sre.CATEGORY_WORD: r"\w",
    sre.CATEGORY_NOT_WORD: r"\W",
}


class _UnsupportedError(Exception):
    """The pattern is not in the regular subset."""


@cache
def _category_test(source: str) -> Callable[[str], Any]:
    # The `regex` module's own Unicode tables decide, not the standard library's.
    test: Callable[[str], Any] = regex.compile(source).match
    return test


@dataclass(frozen=True)
class CharClass:
    """A set of characters: the union of single ones, ranges and categories, or its complement."""

    negated: bool
    chars: frozenset[str]
    ranges: tuple[tuple[str, str], ...]
    categories: tuple[str, ...]

    def __contains__(self, char: object) -> bool:
        assert isinstance(char, str)
        inside = (
            char in self.chars
            or any(low <= char <= high for low, high in self.ranges)
            or any(_category_test(category)(char) is not None for category in self.categories)
        )
        return inside is not self.negated

    @property
    def is_single(self) -> bool:
        """Whether it is one certain character."""
        return len(self.chars) == 1 and not (self.negated or self.ranges or self.categories)

    @property
    def source(self) -> str:
        """The members (of the complement, if negated) as the inside of a character class."""
        singles = "".join(re.escape(char) for char in sorted(self.chars))
        spans = "".join(f"{re.escape(low)}-{re.escape(high)}" for low, high in self.ranges)
        return singles + spans + "".join(self.categories)


@dataclass
class Program:
    """Operations for the automaton; `ops[start]` is the first."""

    ops: list[Op] = field(default_factory=list)
    classes: list[CharClass] = field(default_factory=list)
    start: int = 0
    has_looks: bool = False
    word_class: int | None = None
    context_classes: list[int] = field(default_factory=list)
    uses_begin: bool = False

    def class_index(self, char_class: CharClass) -> int:
        """The place of the class in `classes`, where it is put if it is new."""
        if char_class in self.classes:
            return self.classes.index(char_class)
        self.classes.append(char_class)
        return len(self.classes) - 1


WORD = CharClass(False, frozenset(), (), (r"\w",))


def parse_pattern(pattern: str) -> Any | None:
    """The standard library's syntax tree of `pattern`, or None where `regex` may read the pattern differently."""
    if _OTHER_DIALECT.search(pattern) or may_have_sets(pattern):
        return None
    try:
        tree = sre_parse.parse(_with_each_name_once(pattern), re.DOTALL.value)
    except (re.error, RecursionError, OverflowError):
        return None
    return tree if tree.state.flags & ~_PLAIN_FLAGS == 0 else None


def may_have_sets(pattern: str) -> bool:
    """Whether a regex may have what is a nested set or a set operation in some dialects: `[[a]b]`, `[a--b]`."""
    return _SETS.search(pattern) is not None


def _with_each_name_once(pattern: str) -> str:
    """The pattern without the names of groups that had theirs before: `regex` allows `(?P<n>a)|(?P<n>b)`, `re` does not.

    Names are nothing to the automaton; a pattern that refers back to one is not regular anyway.
    """
    seen: set[str] = set()

    def once(found: re.Match[str]) -> str:
        name = found[1]
        if name is None or name not in seen:
            seen.add(name)
            return found[0]
        return "("

    return _GROUP_NAME.sub(once, pattern)


def compile_program(pattern: str) -> Program | None:
    """The program of `pattern`, or None if it is not regular (back-references, long look-behinds, atomic groups…)."""
    return _compiled(pattern, _Compiler())


def program_outline(pattern: str) -> Program | None:
    """The program of a pattern that matches wherever `pattern` does: what is not regular about its looks around is left out.

    None if that is not all that is not regular.
    """
    return _compiled(pattern, _OutlineCompiler())


def _compiled(pattern: str, compiler: _Compiler) -> Program | None:
    tree = parse_pattern(pattern)
    if tree is None:
        return None
    try:
        end = compiler.emit((MATCH,))
        compiler.program.start = compiler.sequence(list(tree), end)
    except (_UnsupportedError, RecursionError):
        return None
    return compiler.program


def char_class(op: Any, argument: Any) -> CharClass | None:
    """The class of characters a one-character node of the syntax tree stands for, or None if it is another node."""
    if op is sre.LITERAL:
        return CharClass(False, frozenset(chr(argument)), (), ())
    if op is sre.NOT_LITERAL:
        return CharClass(True, frozenset(chr(argument)), (), ())
    if op is sre.ANY:  # DOTALL is always on
        return CharClass(True, frozenset(), (), ())
    if op is not sre.IN:
        return None
    negated = False
    chars: set[str] = set()
    ranges: list[tuple[str, str]] = []
    categories: list[str] = []
    for kind, value in argument:
        if kind is sre.NEGATE:
            negated = True
        elif kind is sre.LITERAL:
            chars.add(chr(value))
        elif kind is sre.RANGE:
            ranges.append((chr(value[0]), chr(value[1])))
        elif kind is sre.CATEGORY and value in _CATEGORY_SOURCE:
            categories.append(_CATEGORY_SOURCE[value])
        else:
            return None
    return CharClass(negated, frozenset(chars), tuple(ranges), tuple(categories))


class _Compiler:
    """Builds a program from the back: each method gets the operation that follows and returns its own first one."""

    def __init__(self) -> None:
        self.program = Program()
        self._inside_look = False

    def emit(self, op: Op) -> int:
        ops = self.program.ops
        if len(ops) >= _MAX_OPS:
            raise _UnsupportedError
        ops.append(op)
        return len(ops) - 1

    def sequence(self, nodes: list[Any], following: int) -> int:
        for op, argument in reversed(nodes):
            following = self.node(op, argument, following)
        return following

    def node(self, op: Any, argument: Any, following: int) -> int:
        one = char_class(op, argument)
        if one is not None:
            return self.emit((CHAR, self.program.class_index(one), following))
        if op is sre.BRANCH:
            return self.split(self.sequence(list(branch), following) for branch in argument[1])
        if op is sre.SUBPATTERN:
            _, add_flags, del_flags, body = argument
            if add_flags or del_flags:
                raise _UnsupportedError
            return self.sequence(list(body), following)
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            return self.repeat(argument, op is sre.MAX_REPEAT, following)
        if op in (sre.ASSERT, sre.ASSERT_NOT):
            return self.look(argument, op is sre.ASSERT_NOT, following)
        if op is sre.AT:
            return self.at(argument, following)
        raise _UnsupportedError

    def split(self, targets: Iterable[int]) -> int:
        return self.emit((SPLIT, tuple(targets)))

    def repeat(self, argument: Any, greedy: bool, following: int) -> int:
        low, high, body = argument
        nodes = list(body)
        if high is sre.MAXREPEAT:
            # What an empty turn of a loop means differs between engines: left to the one that is the reference.
            if body.getwidth()[0] == 0:
                raise _UnsupportedError
            loop = self.emit((SPLIT, ()))
            turn = self.sequence(nodes, loop)
            self.program.ops[loop] = (SPLIT, (turn, following) if greedy else (following, turn))
            first = loop
        else:
            if high - low > 1 and body.getwidth()[0] == 0:
                raise _UnsupportedError
            first = following
            for _ in range(high - low):
                turn = self.sequence(nodes, first)
                first = self.split((turn, following) if greedy else (following, turn))
        for _ in range(low):
            first = self.sequence(nodes, first)
        return first

    def look(self, argument: Any, negated: bool, following: int) -> int:
        direction, body = argument
        nodes = list(body)
        if direction < 0:
            one = char_class(*nodes[0]) if len(nodes) == 1 else None
            if one is None:
                raise _UnsupportedError
            index = self.program.class_index(one)
            self.program.context_classes.append(index)
            return self.emit((PREVIOUS, index, negated, following))
        return self.look_ahead(lambda end: self.sequence(nodes, end), negated, following)

    def look_ahead(self, body: Callable[[int], int], negated: bool, following: int) -> int:
        if self._inside_look:
            raise _UnsupportedError
        self._inside_look = True
        self.program.has_looks = True
        try:
            start = body(self.emit((LOOK_END,)))
        finally:
            self._inside_look = False
        return self.emit((LOOK, negated, start, following))

    def at(self, where: Any, following: int) -> int:
        if where in (sre.AT_BEGINNING, sre.AT_BEGINNING_STRING):
            self.program.uses_begin = True
            return self.emit((BEGIN, following))
        if where is sre.AT_END_STRING:
            return self.inside_look(lambda end: self.emit((END_OF_TEXT, end)), following)
        if where is sre.AT_END:  # also before a newline that ends the text
            return self.inside_look(self.end_of_last_line, following)
        if where in (sre.AT_BOUNDARY, sre.AT_NON_BOUNDARY):
            negated = where is sre.AT_NON_BOUNDARY
            index = self.program.class_index(WORD)
            self.program.word_class = index
            self.program.context_classes.append(index)
            return self.inside_look(lambda end: self.emit((WORD_EDGE, negated, end)), following)
        raise _UnsupportedError

    def inside_look(self, body: Callable[[int], int], following: int) -> int:
        """Zero-width conditions on what follows live in look-ahead bodies, which know how to wait for it."""
        return body(following) if self._inside_look else self.look_ahead(body, False, following)

    def end_of_last_line(self, end: int) -> int:
        newline = self.program.class_index(CharClass(False, frozenset("\n"), (), ()))
        at_end = self.emit((END_OF_TEXT, end))
        return self.split((at_end, self.emit((CHAR, newline, at_end))))


class _OutlineCompiler(_Compiler):
    """Leaves out looks around that are not regular."""

    def look(self, argument: Any, negated: bool, following: int) -> int:
        if self._inside_look:  # without this one, the look it is in might match less
            return super().look(argument, negated, following)
        try:
            return super().look(argument, negated, following)
        except _UnsupportedError:
            return following


def looks_back(program: Program) -> bool:
    """Whether what is before a match can matter to it.

    A word edge behind its first character asks only of the match.
    """
    stack, seen = [program.start], set[int]()
    while stack:
        pc = stack.pop()
        if pc in seen:
            continue
        seen.add(pc)
        op = program.ops[pc]
        if op[0] in (PREVIOUS, WORD_EDGE):
            return True
        if op[0] == SPLIT:
            stack += op[1]
        elif op[0] == LOOK:
            stack += op[2:]
        elif op[0] in (BEGIN, END_OF_TEXT):
            stack.append(op[1])
    return False


def reach(tree: Any) -> tuple[float, float]:
    """How many characters (after, before) the start of a match a pattern can look at, `math.inf` if without bound."""
    try:
        return _reach(list(tree))
    except RecursionError:
        return inf, inf


def _reach(nodes: list[Any]) -> tuple[float, float]:
    # Everything is counted as if it came one after the other: too much at times, never too little.
    after = before = 0.0
    for op, argument in nodes:
        ahead, back = _node_reach(op, argument)
        after += ahead
        before = max(before, back)
    return after, before


def _node_reach(op: Any, argument: Any) -> tuple[float, float]:
    if char_class(op, argument) is not None:
        return 1, 0
    if op is sre.AT:
        return 2, 1  # $ looks at a newline and whether anything follows it, \b at a character on each side
    if op is sre.BRANCH:
        parts = [_reach(list(branch)) for branch in argument[1]]
        return max(ahead for ahead, _ in parts), max(back for _, back in parts)
    if op is sre.SUBPATTERN:
        return _reach(list(argument[3])) if not argument[1] and not argument[2] else (inf, inf)
    if op in (sre.ASSERT, sre.ASSERT_NOT):
        ahead, back = _reach(list(argument[1]))
        return (0, ahead + back) if argument[0] < 0 else (ahead, back)
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT) or op is getattr(sre, "POSSESSIVE_REPEAT", None):
        ahead, back = _reach(list(argument[2]))
        times = inf if argument[1] is sre.MAXREPEAT else argument[1]
        return (ahead * times if ahead else 0), back
    if op is getattr(sre, "ATOMIC_GROUP", None):
        return _reach(list(argument))
    return inf, inf  # back-references, conditionals


def repetitions(nodes: Any) -> float:
    """How many repetitions without limit may work against each other when the nodes are matched from one place.

    That is the power of the text's length that bounds the steps; `math.inf` if they are too involved to tell.
    """
    total, settled = 0.0, False
    nodes = list(nodes)
    for index, (op, argument) in enumerate(nodes):
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            _, most, repeated = argument
            if _is_one_character(repeated):
                if most is sre.MAXREPEAT or most > _FEW:
                    # What can end in one way only is tried in one way only: such repetitions add up, but don't multiply.
                    if _ends_before(repeated, nodes[index + 1 : index + 2]):
                        settled = True
                    else:
                        total += 1
            else:
                total += repetitions(repeated) if most == 1 else inf
        elif op is sre.SUBPATTERN:
            total += repetitions(argument[3])
        elif op is sre.BRANCH:
            total += max(map(repetitions, argument[1]))
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            total += repetitions(argument[1])
        elif char_class(op, argument) is None and op is not sre.AT:
            return inf
    return total + settled


def _ends_before(repeated: Any, following: Any) -> bool:
    """Whether a repeated character is never what has to follow the repetition."""
    if len(following) != 1 or following[0][0] is not sre.LITERAL:
        return False
    nodes = list(repeated)
    op, argument = nodes[0]
    if op is sre.SUBPATTERN:
        return _ends_before(argument[3], following)
    one = char_class(op, argument)
    return one is not None and chr(following[0][1]) not in one


def _is_one_character(nodes: Any) -> bool:
    nodes = list(nodes)
    if len(nodes) != 1:
        return False
    op, argument = nodes[0]
    if op is sre.SUBPATTERN and not argument[1] and not argument[2]:
        return _is_one_character(argument[3])
    return char_class(op, argument) is not None
