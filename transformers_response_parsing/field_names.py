# SPDX-License-Identifier: Apache-2.0
"""Other names for the fields of a template.

A template of this package's library writes reasoning to `reasoning_content`, as transformers' documentation has it. The
parsers of vLLM 0.33 and SGLang 0.5.23 that run response templates know three fields: `thinking`, `content`, `tool_calls`.
"""

from __future__ import annotations

from typing import Any

from .errors import ResponseParsingError

__all__ = ["FIELD_NAMES", "with_field_names"]

# What may be asked for -> what is called otherwise then.
FIELD_NAMES = {"thinking": {"reasoning_content": "thinking"}}


def with_field_names(template: dict[str, Any], field_names: str) -> dict[str, Any]:
    """A copy of a template (plain JSON data, valid) with its fields named otherwise.

    Whatever names a key of the message is renamed: the keys of `fields` and `defaults`, and what `into` says.

    Args:
        template: the template.
        field_names: "thinking": `reasoning_content` becomes `thinking`.

    Raises:
        ResponseParsingError: `field_names` is unknown, or the template has a field of the new name as well.
    """
    names = FIELD_NAMES.get(field_names)
    if names is None:
        known = ", ".join(map(repr, FIELD_NAMES))
        raise ResponseParsingError(f"field_names is {field_names!r}: use {known}, or None for the names as they are")
    fields, defaults = template["fields"], template.get("defaults", {})
    taken = {*fields, *defaults}
    for old, new in names.items():
        if old in taken and new in taken:
            raise ResponseParsingError(f"'{old}' can't be called '{new}': the template has a '{new}' already")
    renamed = {**template, "fields": {names.get(name, name): _renamed(field, names) for name, field in fields.items()}}
    if defaults:
        renamed["defaults"] = {names.get(name, name): value for name, value in defaults.items()}
    return renamed


def _renamed(field: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {**field, "into": names.get(field["into"], field["into"])} if "into" in field else field
