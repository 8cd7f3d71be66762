# SPDX-License-Identifier: Apache-2.0
"""The page of `response-template explain --html`: a replay of a stream, in one file that needs no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

from transformers_response_parsing.template import ResponseTemplate

from .reasons import Verdict
from .trace import Trace

__all__ = ["replay_page"]

_DATA = '"the data of the page"'
# Nothing in the data may end the script element or begin a comment in it.
_UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}


def replay_page(found: Trace, why: Sequence[Verdict], anchor: str, template: ResponseTemplate) -> str:
    """The page as HTML.

    Args:
        found: what happened.
        why: of every delimiter.
        anchor: a sentence about the prompt.
        template: the template, whose fields get a colour each.
    """
    data: dict[str, Any] = {
        "text": found.text,
        "generated": found.generated,
        "steps": found.steps,
        "spans": [list(span) for span in found.spans],
        "events": [list(event) for event in found.events],
        "message": found.message,
        "problem": found.problem,
        "anchor": anchor,
        "verdicts": [verdict._asdict() for verdict in why],
        "fields": [field.name for field in template.fields],
        "keys": {field.key: field.name for field in reversed(template.fields)},
    }
    page = resources.files("transformers_response_parsing.cli").joinpath("page.html").read_text(encoding="utf-8")
    return page.replace(_DATA, json.dumps(data).translate(_UNSAFE))
