# SPDX-License-Identifier: Apache-2.0
"""The marks of a response template, as text that a model may have to write as data."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["own_marks"]

_ESCAPE = re.compile(r"\\([^\w\s])")
# A tag, or a token between bars, that stands as such in a pattern.
_MARK = re.compile(r"</?\w[\w:.-]*>|<[|｜]/?[^<>|｜\s]+[|｜]>|\[/?[A-Z_]{3,}\]")
_GROUP = re.compile(r"\(\?P?<\w+>")  # the name of a group looks like a tag


def own_marks(template: Mapping[str, Any]) -> tuple[str, ...]:
    """The literals of a template's fields for calls, and the tags and tokens in their patterns, each once.

    Args:
        template: a valid template's source.
    """
    fields = [field for name, field in template["fields"].items() if field.get("into", name) == "tool_calls"]
    return tuple(dict.fromkeys(mark.strip() for field in fields for mark in _marks(field) if mark.strip()))


def _marks(spec: Mapping[str, Any]) -> Iterator[str]:
    for key in ("open", "close"):
        value = spec.get(key, [])
        yield from [value] if isinstance(value, str) else value
    for key in ("open_pattern", "close_pattern", "tag_pattern"):
        yield from _MARK.findall(_ESCAPE.sub(r"\1", _GROUP.sub("(", spec.get(key, ""))))
    arguments = spec.get("content_args", {})
    if isinstance(arguments, dict) and arguments:
        yield from _marks(arguments)
