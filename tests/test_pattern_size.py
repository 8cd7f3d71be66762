# SPDX-License-Identifier: Apache-2.0
"""How large a regex is with its counts written out. What is refused for it: test_limits.py."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformers_response_parsing as trp
from transformers_response_parsing.pattern_size import expanded_size
from transformers_response_parsing.pattern_syntax import parse_pattern, sre

ITEMS = st.sampled_from(["a", ".", "[a{9}]", "[^]{3}]", r"\{7}", r"\s", "é", "{x}", "{,", "()"])
COUNTS = st.sampled_from(["", "", "*", "+", "?", "+?", "*?", "{2}", "{0,3}", "{2,}", "{,3}", "{1,2}?"])
PATTERNS = st.recursive(
    st.builds(str.__add__, ITEMS, COUNTS),
    lambda inner: st.builds(
        "{0}{1}){2}".format,
        st.sampled_from(["(", "(?:", "(?P<n>", "(?=", "a|(b|"]),
        st.lists(inner, min_size=1, max_size=3).map("".join),
        COUNTS,
    ),
    max_leaves=8,
)


def written_out(nodes: Any) -> int:
    """The items of a pattern as the standard library reads it, each count written out."""
    size = 0
    for op, argument in nodes:
        if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
            low, high, body = argument
            size += written_out(body) * max(
                1, low + 1 if high is sre.MAXREPEAT and low else high if high is not sre.MAXREPEAT else 1
            )
        elif op is sre.SUBPATTERN:
            size += written_out(argument[3])
        elif op is sre.BRANCH:
            size += sum(map(written_out, argument[1]))
        elif op in (sre.ASSERT, sre.ASSERT_NOT):
            size += written_out(argument[1])
        else:
            size += 1
    return size


@given(PATTERNS)
def test_nothing_is_larger_than_it_is_said_to_be(pattern: str) -> None:
    try:
        tree = parse_pattern(pattern)
    except Exception:  # noqa: BLE001 - two groups of one name, a count of nothing
        return
    if tree is not None:
        assert expanded_size(pattern) >= written_out(tree)


@pytest.mark.parametrize(
    ("pattern", "size"),
    [
        ("abc", 3),
        ("a{1000}", 1_000),
        ("a{1000}b", 1_001),
        ("a{,7}", 7),
        ("a{7,}", 8),
        (r"a\{1000}", 7),
        ("[a{1000}]", 1),
        ("(a)+", 7),
        ("(a*)*", 5),
    ],
)
def test_sizes(pattern: str, size: int) -> None:
    assert expanded_size(pattern) == size


@pytest.mark.parametrize("plus", [")+", ")++", ")+?", "){1,}"])
@pytest.mark.parametrize("flags", ["", "(?x)", "(?V1)[[a]--[b]]"])
def test_a_group_that_is_there_at_least_once_is_written_out_twice(plus: str, flags: str) -> None:
    """Thirty of them in each other took 3 GB and six seconds at load."""
    pattern = flags + "(" * 30 + "a" + plus * 30
    with pytest.raises(trp.TemplateError, match="with its counts written out"):
        trp.ResponseTemplate.load({"start_anchor": "<A>", "fields": {"r": {"open_pattern": pattern, "close": ">"}}})


def test_verbose_mode_passes_over_what_is_between() -> None:
    assert expanded_size("(?x)" + "(" * 30 + "a" + ") # plus\n+" * 30) > 2**30
