# SPDX-License-Identifier: Apache-2.0
"""Named, reproducible ways of cutting a text into chunks, and what makes event sequences comparable.

A chunking is named by a short string, so that a failure can be repeated from its test id:

- `whole`: one chunk;
- `chars`: one character a chunk;
- `size:N`: N characters a chunk;
- `seeded:SEED:MAX`: pieces of 1 to MAX characters, from the generator described in conformance/README.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["NAMES", "chunks", "merge", "pieces", "without_errors"]

NAMES = ("whole", "chars", "size:3", "seeded:1:4", "seeded:2:9", "seeded:3:25")

_MULTIPLIER = 1103515245
_INCREMENT = 12345
_MODULUS = 2**31


def chunks(name: str, text: str) -> list[str]:
    """`text` cut in the way that `name` says. The chunks joined are `text`, none is empty."""
    kind, *numbers = name.split(":")
    if kind == "whole":
        return [text] if text else []
    if kind == "chars":
        return list(text)
    if kind == "size":
        size = int(numbers[0])
        return [text[start : start + size] for start in range(0, len(text), size)]
    if kind == "seeded":
        return pieces(text, int(numbers[0]), int(numbers[1]))
    raise ValueError(f"no chunking is called {name!r}")


def pieces(text: str, seed: int, longest: int) -> list[str]:
    """`text` in pieces of 1 to `longest` characters, the same for the same seed in every language."""
    found, start = [], 0
    for number in _numbers(seed):
        if start >= len(text):
            break
        size = 1 + number % longest
        found.append(text[start : start + size])
        start += size
    return found


def _numbers(seed: int) -> Iterator[int]:
    state = seed
    while True:
        state = (state * _MULTIPLIER + _INCREMENT) % _MODULUS
        yield state // 65536


def merge(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events with adjacent chunks made one: what is left does not depend on how the text was cut."""
    merged: list[dict[str, Any]] = []
    for event in events:
        last = merged[-1] if merged else None
        if last and event["type"] == last["type"] == "region_chunk" and event["field"] == last["field"]:
            last["text"] += event["text"]
        else:
            merged.append(dict(event))
    return merged


def without_errors(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The events without the wording of faults, which every implementation chooses for itself."""
    return [{key: value for key, value in event.items() if key != "error"} for event in events]
