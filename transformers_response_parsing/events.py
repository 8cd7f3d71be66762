# SPDX-License-Identifier: Apache-2.0
"""The events of a parser, as plain dicts (so that they compare, print and serialise as users expect)."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = ["Event", "RegionChunk", "RegionClose", "RegionMalformed", "RegionOpen"]


class RegionOpen(TypedDict):
    """A region of `field` begins."""

    type: Literal["region_open"]
    field: str


class RegionChunk(TypedDict):
    """More text of the open region. `dirty` False: the text is part of the final value; True: it is the raw body."""

    type: Literal["region_chunk"]
    field: str
    text: str
    dirty: bool


class _RegionClose(TypedDict):
    type: Literal["region_close"]
    field: str
    value: Any


class RegionClose(_RegionClose, total=False):
    """The region ended; `value` is what its body became. `repaired` is there, and True, if only a repair made it readable."""

    repaired: bool


class RegionMalformed(TypedDict):
    """With `on_error="keep"`: the region ended and its body (`raw`, as written) can't be parsed, because of `error`."""

    type: Literal["region_malformed"]
    field: str
    raw: str
    error: str


Event = RegionOpen | RegionChunk | RegionClose | RegionMalformed
