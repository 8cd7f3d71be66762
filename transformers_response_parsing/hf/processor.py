# SPDX-License-Identifier: Apache-2.0
"""What processors gain: the response template and the methods of their tokenizer."""

from __future__ import annotations

from typing import Any

from transformers_response_parsing.errors import ResponseParsingError
from transformers_response_parsing.parser import OnError

from .lookup import library_template, own_template
from .tokenizer import OWN_TOKENS, find_legacy_schema

__all__ = ["METHODS", "processor_tokenizer"]


def processor_tokenizer(processor: Any) -> Any:
    """The processor's tokenizer. Raises ResponseParsingError if it has none."""
    tokenizer = getattr(processor, "tokenizer", None)
    if tokenizer is None:
        raise ResponseParsingError(
            f"{type(processor).__name__} has no tokenizer, so there is nothing to parse responses with"
        )
    return tokenizer


def _ready_tokenizer(processor: Any, template: Any) -> Any:
    """The tokenizer, with a template from the library where only the processor has the chat template."""
    tokenizer = processor_tokenizer(processor)
    if template is None and own_template(tokenizer) is None and find_legacy_schema(tokenizer) is None:
        library_template(tokenizer, getattr(processor, "chat_template", None))
    return tokenizer


def _get_template(self: Any) -> Any:
    return processor_tokenizer(self).response_template


def _set_template(self: Any, template: Any) -> None:
    processor_tokenizer(self).response_template = template


def parse_response(
    self: Any,
    response: Any,
    schema: Any = None,
    *,
    prefix: Any = None,
    tools: Any = None,
    end: Any = OWN_TOKENS,
    on_error: OnError = "raise",
) -> Any:
    """The tokenizer's `parse_response`."""
    tokenizer = _ready_tokenizer(self, schema)
    return tokenizer.parse_response(response, schema, prefix=prefix, tools=tools, end=end, on_error=on_error)


def get_response_parser(
    self: Any,
    response_template: Any = None,
    *,
    prefix: Any = None,
    tools: Any = None,
    end: Any = OWN_TOKENS,
    on_error: OnError = "raise",
) -> Any:
    """The tokenizer's `get_response_parser`."""
    tokenizer = _ready_tokenizer(self, response_template)
    return tokenizer.get_response_parser(response_template, prefix=prefix, tools=tools, end=end, on_error=on_error)


METHODS: dict[str, Any] = {
    "response_template": property(_get_template, _set_template, doc="The tokenizer's response template."),
    "parse_response": parse_response,
    "get_response_parser": get_response_parser,
}
