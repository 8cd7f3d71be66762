# SPDX-License-Identifier: Apache-2.0
"""Decoding token by token gives the text that decoding everything at once gives."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hf.helpers import make_tokenizer

from transformers_response_parsing.hf.byte_level import ByteTable
from transformers_response_parsing.hf.decode import WindowDecoder, incremental_decoder
from transformers_response_parsing.hf.inputs import decode_function, decode_ids
from transformers_response_parsing.hf.token_table import token_table

TEXTS = [
    "plain text",
    "naïve – “quotes” 你好 👩‍🚀🏳️‍🌈 e\u0301",
    '<think>\nhm…</think>\n\n<tool_call>{"a": "é"}</tool_call><|im_end|>',
    "a replacement character \ufffd of the model's own \ufffd\ufffd",
    "  leading and trailing spaces  ",
    "",
]


DECODERS = [incremental_decoder, WindowDecoder]  # the first one looks tokens up where the vocabulary is byte-level


def stream(tokenizer: Any, ids: list[int], sizes: list[int], make: Any = incremental_decoder) -> list[str]:
    decoder = make(tokenizer)
    pieces, at = [], 0
    while at < len(ids):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(decoder.push(ids[at : at + size]))
        at += size
    return [*pieces, decoder.finish()]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("sizes", [[1], [2], [3, 1], [1000]], ids=str)
@pytest.mark.parametrize("make", DECODERS)
def test_any_cut_of_the_tokens_gives_the_same_text(text: str, sizes: list[int], make: Any) -> None:
    tokenizer = make_tokenizer()
    ids = tokenizer.encode(text)
    assert "".join(stream(tokenizer, ids, sizes, make)) == decode_ids(tokenizer, [ids])[0] == text


@pytest.mark.parametrize("make", DECODERS)
def test_a_character_is_held_until_its_last_token(make: Any) -> None:
    tokenizer = make_tokenizer()
    pieces = stream(tokenizer, tokenizer.encode("a👩b"), [1], make)
    assert pieces == ["a", "", "", "", "👩", "b", ""]


@pytest.mark.parametrize("make", DECODERS)
def test_an_unfinished_character_comes_out_at_the_end_as_in_any_decoding(make: Any) -> None:
    tokenizer = make_tokenizer()
    ids = tokenizer.encode("a👩")[:-1]
    assert "".join(stream(tokenizer, ids, [1], make)) == decode_ids(tokenizer, [ids])[0]


def test_a_byte_level_batch_reads_as_the_tokenizer_itself_reads_it() -> None:
    """Special and added tokens, broken bytes and ids beyond the vocabulary included, met before or not."""
    tokenizer = make_tokenizer()
    draw = random.Random(11)
    rows = [draw.choices(range(len(tokenizer) + 5), k=draw.randrange(40)) for _ in range(300)]
    expected = [tokenizer.backend_tokenizer.decode(row, skip_special_tokens=False) for row in rows]
    assert decode_ids(tokenizer, rows) == expected
    assert decode_ids(tokenizer, rows) == expected
    assert ["".join(stream(tokenizer, row, [1])) for row in rows] == expected


def test_tokens_added_later_are_read_too() -> None:
    tokenizer = make_tokenizer()
    new = len(tokenizer)
    assert decode_ids(tokenizer, [[new], [new]]) == ["", ""]
    tokenizer.add_tokens(["<更大>"])
    assert decode_ids(tokenizer, [[new], [new, new]]) == ["<更大>", "<更大><更大>"]


def test_a_tokenizer_has_one_table_for_its_backend() -> None:
    from tokenizers.decoders import Metaspace

    tokenizer = make_tokenizer()
    assert token_table(tokenizer) is token_table(tokenizer)
    assert isinstance(token_table(tokenizer), ByteTable)
    other = make_tokenizer()
    other.backend_tokenizer.decoder = Metaspace()
    assert not isinstance(token_table(other), ByteTable)


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
        assert "\ufffd" in "".join(stream(tokenizer, ids, [1], WindowDecoder))
    assert max(lengths) <= 16
