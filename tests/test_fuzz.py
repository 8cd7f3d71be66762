# SPDX-License-Identifier: Apache-2.0
"""The fuzzer's corpus keeps the invariants, and the fuzzer would notice if one did not hold."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import transformers_response_parsing as trp


@pytest.fixture
def invariants(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent / "fuzz"), *sys.path])
    import invariants

    return invariants


def mutated(seeds: list[bytes], count: int) -> Iterator[bytes]:
    """Pieces of two seeds joined, with a few bytes changed; the same in every run."""
    draw = random.Random(20)
    for _ in range(count):
        one, other = draw.choice(seeds), draw.choice(seeds)
        data = bytearray(one[: draw.randrange(5, len(one) + 5)] + other[draw.randrange(4, len(other) + 1) :])
        for _ in range(draw.randrange(3)):
            data[draw.randrange(2, len(data))] = draw.randrange(256)
        yield bytes(data)


def test_a_part_of_the_corpus_and_mutations_of_it(invariants: Any) -> None:
    seeds = invariants.corpus()
    outcomes = [invariants.check(seed) for seed in [*seeds[::11], *mutated(seeds, 300)]]
    assert {"parsed", "refused", "error"} <= set(outcomes)
    assert outcomes.count("parsed") > 300


def test_a_broken_invariant_is_noticed(invariants: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    case = invariants.encode(0, "Hello")
    invariants.check(case)
    feed = trp.ResponseParser.feed
    monkeypatch.setattr(trp.ResponseParser, "feed", lambda self, text: feed(self, text.replace("l", "L")))
    with pytest.raises(AssertionError, match="streamed"):
        invariants.check(case)
