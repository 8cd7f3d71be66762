# SPDX-License-Identifier: Apache-2.0
"""How large a regex is once its counts are written out, and whether it calls itself: known before it is compiled.

Regex compilers write `a{1000}` out a thousand times, and `(a)+` as `(a)(a)*`, so that thirty of them in each other are a billion:
a pattern of twenty characters can take all memory there is. What can't be read for certain here (verbose mode, set operations)
is taken for the larger of its readings.
"""

from __future__ import annotations

import re

__all__ = ["expanded_size", "recurses"]

# What verbose mode passes over, within a count too: `(?x)a{1 0}` is `a{10}`. Elsewhere such a text is no count; to take it for
# one does no harm.
_BLANK = r"(?:\s|\#[^\n]*(?:\n|\Z))*"
_DIGITS = r"(?:[0-9]|\s|\#[^\n]*(?:\n|\Z))*"
_COUNT = rf"\{{(?P<low>{_DIGITS})(?P<comma>,(?P<high>{_DIGITS}))?\}}"
_CALL = rf"\({_BLANK}\?{_BLANK}(?:R|[+-]?{_BLANK}[0-9]|&|P{_BLANK}[>&])"
_CHARACTER_CLASS = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_COUNTS = re.compile(rf"\\.|{_COUNT}", re.DOTALL)
_TWICE = re.compile(rf"\\.|(?P<twice>\){_BLANK}\+)", re.DOTALL)
_CALLS = re.compile(rf"\\.|(?P<call>{_CALL})", re.DOTALL)
_PLAIN_CALLS = re.compile(rf"\\.|{_CHARACTER_CLASS}|(?P<call>{_CALL})", re.DOTALL)
_TOKEN = re.compile(
    rf"{_COUNT}|(?P<open>\()|(?P<close>\))|(?P<quantifier>[*+?][+?]?)|\\.|{_CHARACTER_CLASS}|.", re.DOTALL
)
# Flags that change what brackets, spaces and # are; comments; a bracket in a class, which may be a POSIX class or a nested set.
_UNCERTAIN = re.compile(r"\(\?[a-zA-Z0-9-]*[xV]|\(\?#|\[(?:\\.|[^\]\\])*\[", re.DOTALL)
_LONGEST_COUNT = 18  # digits; of more, what they say does not matter


def expanded_size(pattern: str) -> int:
    """The items (characters, classes, brackets) of a regex with its counts written out; never less than what a compiler makes of it."""
    if _UNCERTAIN.search(pattern):
        size = len(pattern)
        for count in _COUNTS.finditer(pattern):  # as if each were in the other
            size *= _times(count)
        return size << sum(token["twice"] is not None for token in _TWICE.finditer(pattern))
    return _structured_size(pattern)


def recurses(pattern: str) -> bool:
    """Whether a regex calls itself or a group of it: (?R), (?1), (?&name), (?P>name)."""
    tokens = _CALLS if _UNCERTAIN.search(pattern) else _PLAIN_CALLS
    return any(token["call"] for token in tokens.finditer(pattern))


def _structured_size(pattern: str) -> int:
    outer: list[int] = []  # of each open group: the size before it
    size, last = 0, 0  # of the group so far, and of what a count would repeat
    for token in _TOKEN.finditer(pattern):
        if token["low"] is not None:
            size += last * (_times(token) - 1)
            last *= _times(token)
        elif token["open"]:
            outer.append(size)
            size, last = 1, 1
        elif token["close"] and outer:
            last = size + 1
            size = outer.pop() + last
        elif token["quantifier"]:
            size += 1
            if token["quantifier"][0] == "+":
                size += last
                last *= 2
        else:
            size, last = size + 1, 1
    return size + sum(outer)


def _times(count: re.Match[str]) -> int:
    """How often a count repeats, at least once; an open end is one repetition more."""
    if count["low"] is None:  # an escape
        return 1
    low, high = _number(count["low"]), _number(count["high"] or "")
    return max(1, high, low + (count["comma"] is not None and not high))


def _number(text: str) -> int:
    digits = "".join(re.findall("[0-9]", re.sub(r"#[^\n]*", "", text))).lstrip("0")
    return int(digits[:_LONGEST_COUNT] or "0")
