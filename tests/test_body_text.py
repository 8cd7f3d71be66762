# SPDX-License-Identifier: Apache-2.0
"""The text of a region is the same however it came, and however much of it is asked for."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from transformers_response_parsing.body_text import MANY, BodyText

PIECES = st.lists(st.text("ab\N{ROCKET}", min_size=1, max_size=3), max_size=40)


@given(PIECES, st.integers(1, 200), st.data())
def test_it_is_its_pieces(pieces: list[str], times: int, data: st.DataObject) -> None:
    """Length, value and any part, in whatever order they are asked for."""
    whole, body = "", BodyText()
    for _ in range(times):
        for piece in pieces:
            body.append(piece)
        whole += "".join(pieces)
        if data.draw(st.integers(0, 20)) == 0:
            start = data.draw(st.integers(0, len(whole)))
            stop = data.draw(st.integers(start, len(whole)))
            assert body.part(start, stop) == whole[start:stop]
            assert body.length == len(whole)
    assert body.value() == whole
    assert body.length == len(whole)
    body.append("x")
    assert body.value() == whole + "x"


def test_it_holds_the_text_about_once() -> None:
    body = BodyText()
    for number in range(100_000):
        body.append(f"{number % 1_000:03} ")
    held = sum(map(sys.getsizeof, [*body._blocks, *body.pieces]))
    assert len(body.pieces) <= MANY
    assert held < 1.05 * body.length
