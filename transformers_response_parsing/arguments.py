# SPDX-License-Identifier: Apache-2.0
"""The arguments of `parse_response` and `ResponseParser`: checked, and made into what the machine works with."""

from __future__ import annotations

import functools
import logging
from typing import Any

from . import limits
from .errors import OutputError, ResponseParsingError
from .literals import LiteralSet
from .template import ResponseTemplate
from .tools import ToolSchemas

__all__ = ["checked_text", "end_literals", "keeps_malformed", "load_template", "load_tools", "message_tail"]

logger = logging.getLogger("transformers_response_parsing")

_PREFIX_NEEDED = (
    "prefix is required: the prompt that the model was given, up to where it began to generate. Chat templates often write "
    "the beginning of the answer themselves (an opened <think>, say), and without it the text can't be read right. If you "
    'are sure that the text is the whole message, pass prefix=""'
)
# Templates whose anchor was not found once: once is enough to say so.
_warned_templates: set[ResponseTemplate] = set()


def load_template(template: Any) -> ResponseTemplate:
    """The compiled template."""
    return template if type(template) is ResponseTemplate else ResponseTemplate.load(template)


def load_tools(tools: Any) -> ToolSchemas | None:
    """The schemas of the tools, if any are given."""
    return None if tools is None else ToolSchemas.load(tools)


def message_tail(template: ResponseTemplate, prefix: Any) -> str:
    """What of the prompt belongs to the message."""
    if prefix is None:
        raise ResponseParsingError(_PREFIX_NEEDED)
    if not isinstance(prefix, str):
        if hasattr(prefix, "__len__") and len(prefix) == 0:
            return ""
        raise ResponseParsingError(
            f"prefix must be text here, not {type(prefix).__name__}: decode token ids with their special tokens, or use the "
            "tokenizer's own parse_response / get_response_parser, which take them"
        )
    if not prefix:
        return ""
    try:
        cut = template.anchor.cut(prefix)
    except TimeoutError:
        anchor = template.anchor
        raise OutputError(
            f"the pattern {anchor.pattern!r} ({anchor.path}) took longer than {limits.SEARCH_TIMEOUT:g} s on the prompt: "
            "write it without nested or adjacent repetitions"
        ) from None
    if cut is not None:
        return prefix[cut:]
    if template not in _warned_templates:
        _warned_templates.add(template)
        logger.warning(
            "the prompt does not contain %s, the %s of the response template, behind which the assistant's message begins. So "
            "the whole prompt is parsed as if it were part of the message. Check that template and prompt belong to the same "
            "model, and that the prompt was made with add_generation_prompt=True",
            template.anchor.shown,
            template.anchor.path,
        )
    return prefix


def end_literals(end: Any) -> LiteralSet | None:
    """The literals after which a generation is over, ready to search for; None if there are none."""
    literals = [end] if isinstance(end, str) else list(end) if isinstance(end, (list, tuple, set, frozenset)) else None
    if literals is None or not all(isinstance(literal, str) for literal in literals):
        raise ResponseParsingError(f"end must be a string or a list of strings, not {end!r}")
    return _literal_set(tuple(literals))


@functools.lru_cache(maxsize=256)
def _literal_set(literals: tuple[str, ...]) -> LiteralSet | None:
    """Compiled once: a server passes the same ones with every request."""
    known = [literal for literal in literals if literal]
    return LiteralSet(known) if known else None


def keeps_malformed(on_error: Any) -> bool:
    """Whether `on_error` says to keep what can't be parsed."""
    if on_error == "raise":
        return False
    if on_error == "keep":
        return True
    raise ResponseParsingError(f'on_error must be "raise" or "keep", not {on_error!r}')


def checked_text(text: Any) -> str:
    """The text as a plain str."""
    if isinstance(text, str):
        return str(text)
    raise ResponseParsingError(f"text must be a str, not {type(text).__name__}: decode token ids and bytes first")
