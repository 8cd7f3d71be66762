# SPDX-License-Identifier: Apache-2.0
"""Patterns that are not regular: what waits for more text, and what does not."""

from __future__ import annotations

import pytest
import regex
from hypothesis import assume, given
from hypothesis import strategies as st

import transformers_response_parsing as trp
from transformers_response_parsing.pattern_syntax import parse_pattern
from transformers_response_parsing.window_search import WindowSearch, edge_of

CHARACTERS = st.sampled_from(["a", "b", r"\n", r"\s", "[ab]", "[^a]", ".", r"\w"])
REPEATED = st.builds("".join, st.tuples(CHARACTERS, st.sampled_from(["", "*", "+", "?", "*?", "+?", "{1,2}"])))


def _grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    wrapped = st.builds(
        str.format, st.sampled_from(["({})?", "(?:{})", "(?={})", "(?!{})", "(?<={})", "(?<!{})", "({}|b)"]), parts
    )
    return st.builds("".join, st.lists(st.one_of(parts, wrapped), min_size=1, max_size=3))


PATTERNS = st.recursive(st.one_of(REPEATED, st.just(r"\A")), _grown, max_leaves=6)
TEXTS = st.text("abc\n ", max_size=8)


@given(PATTERNS, TEXTS, TEXTS)
def test_what_comes_before_the_edge_depends_on_nothing_that_follows(pattern: str, text: str, more: str) -> None:
    """The first match of a text, where it starts before the edge, is the first match of any longer text."""
    try:
        compiled = regex.compile(pattern, regex.DOTALL)
    except regex.error:
        assume(False)
    tree = parse_pattern(pattern)
    edge = None if tree is None else edge_of(pattern, tree)
    assume(edge is not None)
    found = edge.search(text, partial=True)
    end = len(text) if found is None else found.start()

    def first(text: str) -> tuple[int, int] | None:
        match = compiled.search(text)
        return match.span() if match is not None and match.start() < end else None

    assert first(text) == first(text + more)


@pytest.mark.parametrize("pattern", ["(?:ab)*c", r"(a)\1\Z", r"a\b", "(?<=ab)$", r"(?<=b\n).*?a", "(?i:a)(?<=ba)"])
def test_where_a_partial_match_may_not_be_told_there_is_no_edge(pattern: str) -> None:
    """Repeated groups, ends, word edges, lazy repetitions beside look-behinds."""
    tree = parse_pattern(pattern)
    assert tree is not None
    assert edge_of(pattern, tree) is None


def _shown(template: trp.ResponseTemplate, *chunks: str) -> list[str]:
    """The text of the chunks after each feed."""
    parser = trp.ResponseParser(template, prefix="")
    return ["".join(e["text"] for e in parser.feed(chunk) if e["type"] == "region_chunk") for chunk in chunks]


def test_text_does_not_wait_for_a_match_that_has_not_begun() -> None:
    """A look-behind of several characters, before a repetition without limit."""
    fields = {"r": {"open_pattern": r"(?<=\)\])\s*```", "close": "."}, "content": {}}
    template = trp.ResponseTemplate.load({"start_anchor": "<A>", "fields": fields})
    assert _shown(template, "one", " [f(x)] two", " [f(x)]", " \n", "three") == [
        "one",
        " [f(x)] two",
        " [f(x)]",
        "",
        " \nthree",
    ]


def test_a_close_is_certain_where_nothing_can_change_it() -> None:
    """It need not wait for the end of the text."""
    fields = {"r": {"open": "<", "close_pattern": r"(?<=\)\])(?=[ \t]*\n)"}, "content": {}}
    parser = trp.ResponseParser({"start_anchor": "<A>", "fields": fields}, prefix="")
    assert parser.feed("<[f()]  ") == [
        {"type": "region_open", "field": "r"},
        {"type": "region_chunk", "field": "r", "text": "[f()]", "dirty": False},
    ]
    assert parser.feed("\n") == [{"type": "region_close", "field": "r", "value": "[f()]"}]


def test_a_search_goes_on_where_it_was() -> None:
    """Saved and restored at each place of the text."""
    pattern, text = r"(?<=ab)\s*c", "ab  d ab \n c"
    compiled, tree = regex.compile(pattern), parse_pattern(pattern)

    def begun() -> WindowSearch:
        return WindowSearch(compiled, float("inf"), 2, edge_of(pattern, tree))

    search = begun()
    search.reset(0, None)
    for index in range(len(text)):
        search.scan(text[: index + 1], index, 0)
        copy = begun()
        copy.restore(search.save())
        assert (copy.hold, copy.found) == (search.hold, search.found)
        search = copy
    search.finish()
    assert search.found == (8, 12)


@given(PATTERNS, st.text("abc\n ", max_size=12))
def test_pieces_are_certain_as_far_as_the_whole(pattern: str, text: str) -> None:
    """Also where it is looked first whether what waited waits still."""
    compiled, edge = regex.compile(pattern, regex.DOTALL), edge_of(pattern, parse_pattern(pattern))
    assume(edge is not None)
    pieces = WindowSearch(compiled, float("inf"), 99, edge)
    pieces.reset(0, None)
    for end in range(1, len(text) + 1):
        whole = WindowSearch(compiled, float("inf"), 99, edge)
        whole.reset(0, None)
        whole.scan(text[:end], 0, 0)
        pieces.scan(text[:end], end - 1, 0)
        assert (pieces.hold, pieces.found) == (whole.hold, whole.found)


def test_a_match_that_goes_on_to_the_end_is_looked_at_where_it_begins() -> None:
    """A search would try each later place that may begin one to its end: 0.4 s for 16,000 characters of Gemma 3."""
    pattern = r"(?<=ab)c|(?:<e>).*"
    real, asked = edge_of(pattern, parse_pattern(pattern)), []

    class Edge:
        def match(self, *arguments: object, **options: object) -> object:
            asked.append("match")
            return real.match(*arguments, **options)

        def search(self, *arguments: object, **options: object) -> object:
            asked.append("search")
            return real.search(*arguments, **options)

    search = WindowSearch(regex.compile(pattern, regex.DOTALL), float("inf"), 2, Edge())
    search.reset(0, None)
    text = "x" + "<e>" * 20
    search.scan(text[:4], 0, 0)
    assert asked == ["search"]
    for end in range(5, len(text)):
        search.scan(text[:end], end - 1, 0)
    assert search.hold == 1
    assert set(asked[1:]) == {"match"}
