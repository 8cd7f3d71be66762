# SPDX-License-Identifier: Apache-2.0
"""Does a regex backtrack without end? It is tried on texts that are made to make it.

This package reads regular patterns with an automaton, which does not backtrack. But other implementations of response
templates give the same patterns to a backtracking engine, and so does this one with what is not regular.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import regex

from .pattern_syntax import may_have_sets, sre, sre_parse

__all__ = ["slow_text"]

# What is exponential takes minutes on this many repetitions; what is cubic takes a few milliseconds.
_REPETITIONS = 32
_LIMIT = 0.1  # seconds
_MOST_TEXTS = 64
_NOT_IT = "\ue000"  # a character of the private use area: no pattern asks for it
_OF_CATEGORY = {
    sre.CATEGORY_SPACE: " ",
    sre.CATEGORY_NOT_SPACE: "x",
    sre.CATEGORY_DIGIT: "1",
    sre.CATEGORY_NOT_DIGIT: "x",
    sre.CATEGORY_WORD: "a",
    sre.CATEGORY_NOT_WORD: "-",
}


def slow_text(pattern: str) -> str | None:
    """A short text on which a search for the pattern does not end in time, or None if none was found.

    For each repetition without limit, the text leads up to it, fills it many times over, does not go on as the pattern
    wants, and only then has what the pattern would need (engines look ahead for that). Patterns of the `regex` module that `re` can't read are not tried.
    """
    if may_have_sets(pattern):
        return None
    try:
        tree = sre_parse.parse(pattern, re.DOTALL)
        compiled = regex.compile(pattern, regex.DOTALL)
    except (re.error, regex.error, RecursionError, OverflowError):
        return None
    whole = _sample(tree)
    for lead, filling in islice(_repetitions("", tree), _MOST_TEXTS):
        text = lead + filling * _REPETITIONS + _NOT_IT + whole[len(lead) :]
        try:
            compiled.search(text, timeout=_LIMIT)
        except TimeoutError:
            return text
    return None


def _repetitions(lead: str, items: Any) -> Iterator[tuple[str, str]]:
    """(a text that leads up to it, a text that fills it once) for each repetition without limit, at any depth."""
    for kind, argument in items:
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            _, most, body = argument
            if most == sre.MAXREPEAT:
                yield from ((lead, filling) for filling in _samples(body) if filling)
            yield from _repetitions(lead, body)
        elif kind is sre.SUBPATTERN:
            yield from _repetitions(lead, argument[3])
        elif kind is sre.BRANCH:
            for branch in argument[1]:
                yield from _repetitions(lead, branch)
        elif kind in (sre.ASSERT, sre.ASSERT_NOT):
            yield from _repetitions(lead, argument[1])
        lead += _sample([(kind, argument)])


def _samples(items: Any) -> list[str]:
    """Texts that the items match: one, or where they are alternatives one for each."""
    if len(items) == 1:
        kind, argument = items[0]
        if kind is sre.SUBPATTERN:
            return _samples(argument[3])
        if kind is sre.BRANCH:
            return [text for branch in argument[1] for text in _samples(branch)]
        if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and not argument[0]:
            return _samples(argument[2])
    return [_sample(items)]


def _sample(items: Any) -> str:
    """A text that the items match, nearly always."""
    parts = []
    for kind, argument in items:
        if kind is sre.LITERAL:
            parts.append(chr(argument))
        elif kind is sre.NOT_LITERAL:
            parts.append("x" if argument != ord("x") else "y")
        elif kind is sre.ANY:
            parts.append("x")
        elif kind is sre.IN:
            parts.append(_member(argument))
        elif kind is sre.BRANCH:
            parts.append(_sample(argument[1][0]))
        elif kind is sre.SUBPATTERN:
            parts.append(_sample(argument[3]))
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            parts.append(_sample(argument[2]) * min(argument[0], 3))
    return "".join(parts)


def _member(members: Any) -> str:
    """A character of the class."""
    if members[0][0] is sre.NEGATE:
        excluded = re.compile("|".join(re.escape(_member([member])) for member in members[1:]))
        return next(char for char in "xay1- \n\x00" if not excluded.fullmatch(char))
    kind, argument = members[0]
    if kind is sre.RANGE:
        return chr(argument[0])
    return _OF_CATEGORY[argument] if kind is sre.CATEGORY else chr(argument)
