# SPDX-License-Identifier: Apache-2.0
"""A hint where a template very likely is not the model's: it finds nothing in a text that has a format."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from transformers_response_parsing.library import list_templates
from transformers_response_parsing.template import ResponseTemplate

__all__ = ["doubt"]

_LEAST = 5  # characters of a delimiter that tells something
_MOST_NAMED = 3


def doubt(template: ResponseTemplate, text: str, message: Mapping[str, Any]) -> str:
    """Why the template may not be the one of the model that wrote this, or "".

    Either no field has anything of the text, or all of the text went to the field without an open as it is, and
    delimiters of families of the library are in it.
    """
    said = text.strip()
    found = [field.key for field in template.fields if field.key in message]
    if not said or "malformed" in message:
        return ""
    why = ""
    if not found:
        why = "the template finds nothing in the text"
    elif len(found) == 1 and template.implicit is not None and message[found[0]] == said:
        marks = sorted((mark for mark in _delimiters() if mark in said), key=lambda mark: (-len(mark), mark))
        if marks:
            more = ", ..." if len(marks) > _MOST_NAMED else ""
            why = (
                f"nothing in the text is a delimiter of the template, but it has {', '.join(marks[:_MOST_NAMED])}{more}"
            )
    if not why:
        return ""
    return f"{why}: it may be another model's; `response-template find REPO_OR_DIR_OR_JINJA` says which template fits"


@functools.cache
def _delimiters() -> frozenset[str]:
    """How regions of the library's families are opened and closed, where that is a fixed text."""
    marks = set()
    for entry in list_templates():
        for field in entry.response_template["fields"].values():
            for key in ("open", "close"):
                value = field.get(key, [])
                marks |= {literal.strip() for literal in ([value] if isinstance(value, str) else value)}
    return frozenset(mark for mark in marks if len(mark) >= _LEAST and "\n" not in mark)
