# SPDX-License-Identifier: Apache-2.0
"""The search for patterns in pieces of text: exactly what `regex` finds in the whole text, as early as it is certain."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.delimiter import Pattern
from transformers_response_parsing.literals import LiteralSet
from transformers_response_parsing.text_buffer import TextBuffer

ALPHABET = "ab<> \n/x"
LITERALS = st.text(ALPHABET, min_size=1, max_size=4).map(regex.escape)
CLASSES = st.sampled_from([r"\s", r"\w", ".", "[^<]", "[ab]", r"[^\s>]", r"\d", "[a-x]", r"\W", r"[\s\S]"])
CONDITIONS = st.sampled_from([r"\b", "^", "$", r"\Z", r"\B", "(?<=a)", r"(?<!\s)", r"\A"])
COUNTS = st.sampled_from(["?", "*", "+", "??", "*?", "+?", "{1,2}", "{2}", "{0,3}?"])


def compose(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Sequences, alternatives, repetitions and look-aheads of smaller patterns."""
    group = inner.map("(?:{})".format)
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map("|".join).map("(?:{})".format),
        st.tuples(group, COUNTS).map("".join),
        st.tuples(CLASSES, COUNTS).map("".join),
        inner.map("(?={})".format),
        inner.map("(?!{})".format),
        inner.map("(?P<name>{})".format),
    )


def compiles(pattern: str) -> bool:
    try:
        # (Its cache, once full, draws random numbers, which Hypothesis does not allow here.)
        regex.compile(pattern, regex.DOTALL, cache_pattern=False)
    except regex.error:
        return False
    return True


PATTERNS = st.recursive(st.one_of(LITERALS, CLASSES, CONDITIONS), compose, max_leaves=8).filter(compiles)
TEXTS = st.text(ALPHABET, max_size=14)


@st.composite
def cut_texts(draw: st.DrawFn) -> list[str]:
    """A text in pieces."""
    text = draw(TEXTS)
    cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=5))})
    return [text[start:stop] for start, stop in pairwise(cuts)]


@given(PATTERNS, cut_texts(), st.integers(0, 3))
def test_the_match_of_the_whole_text_is_found_in_pieces(pattern: str, pieces: list[str], skip: int) -> None:
    """What is found is the match in the whole text; it never starts before `hold`; and what is found early stays true."""
    text = "".join(pieces)
    start = min(skip, len(text))
    expected = regex.compile(pattern, regex.DOTALL).search(text, start)
    search = Pattern(pattern, "fields.x.open_pattern").search()
    search.reset(start, text[:start] or None)
    at = 0
    for piece in pieces:
        if at + len(piece) > start and search.found is None:
            search.scan(text[: at + len(piece)], max(at, start), 0)
            saved = search.save()
            search = Pattern(pattern, "").search()
            search.restore(saved)
            assert expected is None or search.hold <= expected.start()
            assert search.found is None or (expected is not None and search.found == expected.span())
        at += len(piece)
    search.finish()
    assert search.found == (None if expected is None else expected.span())


@pytest.mark.parametrize(
    ("pattern", "read", "found"),
    [
        ("</x>(?:</xs>)?", "a</x>", None),
        ("</x>(?:</xs>)?", "a</x>b", (1, 5)),
        ("</x>(?:</xs>)?", "a</x></xs>", (1, 10)),
        (r"X|\Z", "aX", (1, 2)),
        ("X|$", "a\n", None),
        (r"<a>\s*", "<a> \n", None),
        (r"<a>\s*", "<a> \nb", (0, 5)),
        ("a(?=b)", "a", None),
        ("a(?=b)", "ab", (0, 1)),
        ("a(?!b)", "a", None),
        ("a(?!b)", "ac", (0, 1)),
        ("<a>.*?<b>", "<a>....", None),
        ("<a>.*?<b>", "<a>..<b>", (0, 8)),
    ],
)
def test_a_match_is_certain_once_no_text_can_change_it(pattern: str, read: str, found: tuple[int, int] | None) -> None:
    """Optional tails, ends of the text and look-aheads wait for what decides them, and not longer."""
    search = Pattern(pattern, "").search()
    search.reset(0, None)
    search.scan(read, 0, 0)
    assert search.found == found


@pytest.mark.parametrize(
    ("pattern", "read", "hold"),
    [
        (r"\s*<tool>", "abc  ", 3),
        (r"\s*<tool>", "abc  <to", 3),
        (r"\s*<tool>", "abc  <b", 7),
        ("</think>|(?=\\s*<tool>)", "abc </", 4),
        ("[^<]*<t>", "abc", 0),
        (r"\n?<t>", "a\n\n", 2),
        ("(?<!a)<t>", "a<", 2),
        ("(?<!a)<t>", "b<", 1),
    ],
)
def test_only_what_may_begin_a_match_is_held(pattern: str, read: str, hold: int) -> None:
    """`hold` is the earliest place where a match may still begin."""
    search = Pattern(pattern, "").search()
    search.reset(0, None)
    search.scan(read, 0, 0)
    assert search.hold == hold


@pytest.mark.parametrize("pattern", [r"(a+)\1b", "(?<=ab)<t>", "(?>a*)b", "(?i)<T>", r"\p{Lu}<t>"])
def test_what_is_not_regular_is_exact_too(pattern: str) -> None:
    """Patterns the automaton does not read are searched with `regex`, decided when nothing can change them."""
    text = "xaaaab<t>ab<t>A<t><T>aab"
    expected = regex.search(pattern, text, regex.DOTALL)
    for size in (1, 2, 5, len(text)):
        search = Pattern(pattern, "").search()
        search.reset(0, None)
        for at in range(0, len(text), size):
            if search.found is None:
                search.scan(text[at : at + size], 0, at)
        search.finish()
        assert expected is not None
        assert search.found == expected.span()


def reference_find(literals: list[str], text: str, index: int, final: bool) -> tuple[int, int]:
    """`LiteralSet.find` in the plainest way."""
    for start in range(index, len(text)):
        rest = text[start:]
        if not final and any(literal != rest and literal.startswith(rest) for literal in literals):
            return start, -1
        whole = [literal for literal in literals if rest.startswith(literal)]
        if whole:
            return start, start + max(map(len, whole))
    return len(text), -1


@given(
    st.lists(st.text("ab<", min_size=1, max_size=4), min_size=1, max_size=4), st.text("ab<", max_size=9), st.booleans()
)
def test_the_earliest_and_longest_literal_counts(literals: list[str], text: str, final: bool) -> None:
    """Also where one literal is the beginning of another, and where the text ends inside of one."""
    found = LiteralSet(literals)
    for index in range(len(text) + 1):
        assert found.find(text, index, final) == reference_find(literals, text, index, final)


@given(st.lists(st.text("abc", min_size=1, max_size=4), max_size=6), st.data())
def test_a_buffer_gives_back_what_was_put_in(pieces: list[str], data: st.DataObject) -> None:
    """Positions are those of the whole text, whatever was dropped."""
    buffer = TextBuffer()
    text = ""
    dropped = 0
    for piece in pieces:
        buffer.append(piece)
        text += piece
        dropped = max(dropped, data.draw(st.integers(0, len(text))))
        buffer.drop(dropped)
        start = data.draw(st.integers(dropped, len(text)))
        stop = data.draw(st.integers(start, len(text)))
        assert buffer.slice(start, stop) == text[start:stop]
        held, base = buffer.text_from(start)
        assert held[start - base :] == text[start:]
    assert buffer.end == len(text)
