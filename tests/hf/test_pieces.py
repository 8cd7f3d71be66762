# SPDX-License-Identifier: Apache-2.0
"""Vocabularies of pieces of text: looked up, token by token, ids read as the tokenizer itself reads all of them at once."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.hf.decode import PieceDecoder, WindowDecoder, incremental_decoder
from transformers_response_parsing.hf.inputs import decode_ids
from transformers_response_parsing.hf.pieces import PieceTable
from transformers_response_parsing.hf.token_table import token_table

BYTES = [f"<0x{byte:02X}>" for byte in range(0x100)]
PIECES = [
    *("a", "b1", "▁", "▁▁", "▁a", "a▁b", "▁b▁", "é", "▁你", "😀", " ", "  x", "\n", "\ufffd", "\u0301", ""),
    *("##c", "##", "##.", ".", "n't", "</w>", "a</w>", "<0x4g>", "<0x4>", "<0xe9>"),
]


def sentence_piece(*more: Any) -> Any:
    from tokenizers import decoders

    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), *more])


def looked_up() -> dict[str, Any]:
    """Decoders of the kinds for which there is a table."""
    from tokenizers import decoders

    return {
        "gemma": sentence_piece(),
        "llama": sentence_piece(decoders.Strip(" ", 1, 0)),
        "strips two": sentence_piece(decoders.Strip(" ", 2, 0)),
        "strips letters": sentence_piece(decoders.Strip("a", 3, 0)),
        "nested": decoders.Sequence([decoders.Sequence([decoders.Replace("▁", " ")]), decoders.ByteFallback()]),
        "metaspace": decoders.Metaspace(),
        "metaspace, never": decoders.Metaspace(prepend_scheme="never"),
        "metaspace and bytes": decoders.Sequence([decoders.Metaspace(), decoders.ByteFallback(), decoders.Fuse()]),
        "word pieces": decoders.WordPiece(),
        "word pieces as they are": decoders.WordPiece(cleanup=False),
        "fuse": decoders.Fuse(),
        "none": None,
    }


class Backwards:
    """A decoder written in Python."""

    def decode_chain(self, tokens: list[str]) -> list[str]:
        return tokens[::-1]


def others() -> dict[str, Any]:
    """Decoders that look at what is around a token."""
    from tokenizers import Regex, decoders

    return {
        "ends of words": decoders.BPEDecoder(),
        "ctc": decoders.CTC(),
        "across tokens": decoders.Sequence([decoders.Fuse(), decoders.Replace(Regex("a+"), "a")]),
        "strips the end": sentence_piece(decoders.Strip("a", 0, 1)),
        "own class": decoders.Decoder.custom(Backwards()),
    }


DECODERS = {**looked_up(), **others()}


@cache
def tokenizer_of(kind: str) -> Any:
    from tokenizers import AddedToken, Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocabulary = {text: index for index, text in enumerate([*PIECES, *BYTES])}
    vocabulary["the last"] = len(vocabulary) + 3  # three ids are no tokens
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="a"))
    backend.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken(" <l>", lstrip=True, special=True)])
    backend.add_tokens([AddedToken("▁<r> ", rstrip=True), AddedToken("a b")])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, clean_up_tokenization_spaces=True)
    if DECODERS[kind] is not None:
        tokenizer.backend_tokenizer.decoder = DECODERS[kind]
    return tokenizer


def own(tokenizer: Any, ids: list[int]) -> str:
    return str(tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=False))


def streamed(tokenizer: Any, ids: list[int], cuts: list[int]) -> str:
    decoder, pieces, at = incremental_decoder(tokenizer), [], 0
    while at < len(ids):
        size = cuts[len(pieces) % len(cuts)]
        pieces.append(decoder.push(ids[at : at + size]))
        at += size
    return "".join([*pieces, decoder.finish()])


def spelled(text: str) -> list[int]:
    return [len(PIECES) + byte for byte in text.encode()]


SIZE = len(PIECES) + len(BYTES) + 12
IDS = st.lists(
    st.one_of(
        st.integers(0, SIZE).map(lambda token: [token]),
        st.integers(0, len(PIECES) - 1).map(lambda token: [token]),
        st.integers(len(PIECES), len(PIECES) + 0xFF).map(lambda token: [token]),
        st.sampled_from([spelled(text) for text in ("é", "👩‍🚀", "\n", " ", "  a", "你好")]),
    ),
    max_size=12,
).map(lambda runs: [token for run in runs for token in run])


@pytest.mark.parametrize("kind", looked_up())
@given(rows=st.lists(IDS, min_size=2, max_size=4), cuts=st.lists(st.integers(1, 3), min_size=1, max_size=3))
def test_any_ids_read_as_the_tokenizer_itself_reads_them(kind: str, rows: list[list[int]], cuts: list[int]) -> None:
    tokenizer = tokenizer_of(kind)
    assert isinstance(token_table(tokenizer), PieceTable)
    expected = [own(tokenizer, row) for row in rows]
    assert decode_ids(tokenizer, rows) == expected
    assert [streamed(tokenizer, row, cuts) for row in rows] == expected


def corners() -> list[list[int]]:
    """Rows of ids in which the beginning, or what parts two bytes, matters."""
    space, space_a, empty = PIECES.index("▁"), PIECES.index("▁a"), PIECES.index("")
    first, second = spelled("é")
    nothing, special = len(PIECES) + len(BYTES), SIZE - 2
    return [
        [space, space, space, space_a],
        [0, 0, 0, 0, 0],
        [empty, space, space_a, space_a],
        [nothing, space_a, space_a],
        [*spelled("  "), space, space_a],
        [*spelled("aaaa"), 0],
        [*spelled("▁a"), space_a],
        [special, space_a, special],
        [first, empty, second],
        [first, nothing, second],
        [first, second, empty, first],
    ]


@pytest.mark.parametrize("kind", looked_up())
@pytest.mark.parametrize("row", corners(), ids=str)
def test_corners_read_as_the_tokenizer_itself_reads_them(kind: str, row: list[int]) -> None:
    tokenizer = tokenizer_of(kind)
    assert decode_ids(tokenizer, [row, row]) == [own(tokenizer, row)] * 2
    assert streamed(tokenizer, row, [1]) == streamed(tokenizer, row, [2]) == own(tokenizer, row)


@pytest.mark.parametrize("kind", others())
def test_what_depends_on_its_neighbours_is_not_looked_up(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    assert token_table(tokenizer) is None
    assert isinstance(incremental_decoder(tokenizer), WindowDecoder)
    rows = [[0, 1], [0, 0, 2, 7]]
    assert decode_ids(tokenizer, rows) == [own(tokenizer, row) for row in rows]


def test_a_table_that_reads_something_else_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PieceTable, "strip", lambda self, text, most: text)
    tokenizer = tokenizer_of.__wrapped__("llama")
    assert token_table(tokenizer) is None
    row = [2, 4, *spelled("é")]
    assert decode_ids(tokenizer, [row, row]) == [own(tokenizer, row)] * 2


def test_broken_bytes_read_as_one_mark_each_whatever_they_are_cut_into() -> None:
    """Valid characters among them, too: the tokenizer reads all bytes up to the next text at once."""
    tokenizer = tokenizer_of("gemma")
    row = [0, *spelled("é\n👩")[:-1], 0]
    assert own(tokenizer, row) == "a" + "\ufffd" * 6 + "a"
    assert streamed(tokenizer, row, [1]) == own(tokenizer, row)


def test_text_comes_out_with_its_token_and_bytes_with_the_next_one() -> None:
    decoder = incremental_decoder(tokenizer_of("gemma"))
    assert isinstance(decoder, PieceDecoder)
    a, space_a = PIECES.index("a"), PIECES.index("▁a")
    assert [decoder.push([token]) for token in [a, *spelled("é"), space_a, *spelled("\n")]] == ["a", "", "", "é a", ""]
    assert decoder.finish() == "\n"


def test_tokens_added_later_are_read_too() -> None:
    tokenizer = tokenizer_of.__wrapped__("llama")
    new = max(tokenizer.get_vocab().values()) + 1
    assert decode_ids(tokenizer, [[new], [0, new]]) == ["", "a"]
    tokenizer.add_tokens(["<更大>"])
    assert decode_ids(tokenizer, [[new], [0, new]]) == ["<更大>", "a<更大>"]
    assert streamed(tokenizer, [0, new], [1]) == "a<更大>"
