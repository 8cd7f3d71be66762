# SPDX-License-Identifier: Apache-2.0
"""A value together with the text the model wrote for it.

A content type guesses: `1.50` becomes a float. The schema of a tool may know better, but only from the text. While tools
are given, guessed leaves travel as `Written` from the content type to the schema typing, and never further.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Written", "unwrap"]


class Written(NamedTuple):
    """A parsed value and the text it was parsed from.

    Attributes:
        value: what the content type made of the text.
        text: the text as the model wrote it, before any `value_parser`.
        encoded: the text is the JSON of a number, so it can be nothing else; else it may be the raw text of a string.
    """

    value: Any
    text: str
    encoded: bool = False


_CONTAINERS = (dict, list, Written)


def unwrap(value: Any) -> Any:
    """`value` with every `Written` in it, at any depth, replaced by its `.value`.

    Containers without a `Written` inside are returned as they are (no copy); others are rebuilt. Nesting is bounded by
    the content types (`limits.MAX_DEPTH`), so plain recursion is safe.
    """
    kind = type(value)
    if kind is Written:
        return unwrap(value.value)
    if kind is dict:
        for item in value.values():
            if type(item) in _CONTAINERS and unwrap(item) is not item:
                return {key: unwrap(entry) for key, entry in value.items()}
        return value
    if kind is list:
        for item in value:
            if type(item) in _CONTAINERS and unwrap(item) is not item:
                return [unwrap(entry) for entry in value]
    return value
