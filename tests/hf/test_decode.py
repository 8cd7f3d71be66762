# SPDX-License-Identifier: Apache-2.0
"""Decoding token by token gives the text that decoding everything at once gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hf.helpers import make_tokenizer

from transformers_response_parsing.hf.decode import IncrementalDecoder
from transformers_response_parsing.hf.inputs import decode_function, decode_ids

TEXTS = [
    "plain text",
    "naïve – “quotes” 你好 👩‍🚀🏳️‍🌈 e\u0301",
    '<think>\nhm…</think>\n\n<tool_call>{"a": "é"}</tool_call><|im_end|>',
    "a replacement character \ufffd of the model's own \ufffd\ufffd",
    "  leading and trailing spaces  ",
    "",
]


def stream(tokenizer: Any, ids: list[int], sizes: list[int]) -> list[str]:
    decoder = IncrementalDecoder(tokenizer)
    pieces, at = [], 0
    while at < len(ids):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(decoder.push(ids[at : at + size]))
        at += size
    return [*pieces, decoder.finish()]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sizes", [[1], [2], [3, 1], [1000]], ids=str)
def test_any_cut_of_the_tokens_gives_the_same_text(text: str, sizes: list[int]) -> None:
    tokenizer = make_tokenizer()
    ids = tokenizer.encode(text)
    assert "".join(stream(tokenizer, ids, sizes)) == decode_ids(tokenizer, [ids])[0] == text


def test_a_character_is_held_until_its_last_token() -> None:
    tokenizer = make_tokenizer()
    pieces = stream(tokenizer, tokenizer.encode("a👩b"), [1])
    assert pieces == ["a", "", "", "", "👩", "b", ""]


def test_an_unfinished_character_comes_out_at_the_end_as_in_any_decoding() -> None:
    tokenizer = make_tokenizer()
    ids = tokenizer.encode("a👩")[:-1]
    assert "".join(stream(tokenizer, ids, [1])) == decode_ids(tokenizer, [ids])[0]


def test_each_step_decodes_a_bounded_window_even_of_invalid_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cost of a token must not grow with what came before it."""
    lengths = [0]

    def watched(tokenizer: Any) -> Any:
        decode = decode_function(tokenizer)

        def watching(ids: list[int]) -> str:
            lengths.append(len(ids))
            return decode(ids)

        return watching

    monkeypatch.setattr("transformers_response_parsing.hf.decode.decode_function", watched)
    tokenizer = make_tokenizer()
    random_ids = random.Random(7).choices(range(256), k=400)
    continuation_bytes = [tokenizer.encode("👩")[1]] * 400
    for ids in (random_ids, continuation_bytes):
        assert "\ufffd" in "".join(stream(tokenizer, ids, [1]))
    assert max(lengths) <= 16
