# SPDX-License-Identifier: Apache-2.0
"""Delimiters that match nothing, combined with everything: parsing ends, and comes to the same in every cut."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from chunkings import merge, pieces, without_errors

import transformers_response_parsing as trp

EMPTY = ["^", "$", r"\Z", "(?=x)", "x*", "x??", "(?<=x)", "(?<!a)", r"\b", "(?!x)", "(?=<t>)", r"(?=\s*<t>)", ""]
OUTSIDE: list[dict[str, Any] | None] = [
    None,
    {},
    {"close": "x"},
    {"close_pattern": "$"},
    {"close_pattern": "x*"},
    {"close_pattern": "(?=x)", "repeats": True},
]
MORE: list[dict[str, Any]] = [{}, {"repeats": True}, {"nests": True}, {"content": "json"}, {"content": "kv-lines"}]
TEXTS = ["", "x", "a", "ax", "xxax bx", "<t>x<t>", "  x\n<t>a b"]
COMBINATIONS = list(itertools.product(EMPTY, [*EMPTY, "<t>", "x"], OUTSIDE, MORE, TEXTS, [None, "x"]))


def streamed(template: trp.ResponseTemplate, chunks: list[str], end: str | None) -> tuple[Any, Any, str]:
    parser = trp.ResponseParser(template, "", end=end, on_error="keep")
    events = [event for chunk in chunks for event in parser.feed(chunk)]
    message, last = parser.finalize()
    return stripped(message), without_errors(merge(events + last)), "".join(parser.unclaimed)


def stripped(message: dict[str, Any]) -> dict[str, Any]:
    """The message without what was wrong in words: that may depend on the cut."""
    return message if "malformed" not in message else {**message, "malformed": without_errors(message["malformed"])}


@pytest.mark.parametrize("seed", range(12))
def test_every_combination_ends_and_does_not_depend_on_the_cut(seed: int) -> None:
    for opening, closing, outside, more, text, end in random.Random(seed).sample(COMBINATIONS, 150):
        fields = {"r": {"open_pattern": opening, "close_pattern": closing, **more}}
        if outside is not None:
            fields["content"] = outside
        template = trp.ResponseTemplate.load({"start_anchor": "<A>", "fields": fields})
        whole = trp.parse_response(text, template, prefix="", end=end, on_error="keep")
        by_character = streamed(template, list(text), end)
        assert by_character == streamed(template, pieces(text, seed + 1, 3), end), (fields, text, end)
        assert by_character[0] == stripped(whole), (fields, text, end)
