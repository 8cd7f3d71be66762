# SPDX-License-Identifier: Apache-2.0
"""What tokenizers gain: `response_template`, `parse_response`, `get_response_parser`.

The functions here take any tokenizer and need no patching; the plugin binds them to the classes of transformers.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from transformers_response_parsing.arguments import (
    end_literals,
    keeps_malformed,
    load_template,
    load_tools,
    message_tail,
)
from transformers_response_parsing.errors import OutputError, ResponseParsingError
from transformers_response_parsing.parser import OnError, ResponseParser
from transformers_response_parsing.whole_text import WholeText

from .inputs import read_prefixes, read_texts
from .lookup import library_is_on, library_template, own_template, store_template, usable_template

__all__ = [
    "OWN_TOKENS",
    "ResponseTemplateAttribute",
    "end_tokens",
    "find_legacy_schema",
    "make_methods",
    "make_parser",
    "parse",
    "resolve_template",
]


class _OwnTokens:
    def __repr__(self) -> str:
        return "<its own tokens>"


OWN_TOKENS: Final[Any] = _OwnTokens()
"""Default of `end`: the tokenizer's end-of-sequence and padding tokens."""

_PREFIX_NEEDED = (
    "prefix is required: pass the prompt that the model went on from (text or token ids). Chat templates often write the "
    "beginning of the message themselves, an opening <think> for example, and without it the rest would be taken for "
    'something else. If the response is the whole message, say so with prefix="" or prefix=[]'
)
_NO_LEGACY = (
    "a response_schema, the older way to describe responses, can't be used here: only parse_response of transformers 5.0 to "
    "5.14 understands it"
)


class ResponseTemplateAttribute:
    """`tokenizer.response_template`: a dict (JSON values only) or None, saved as a key of tokenizer_config.json.

    None takes the template away, also from what is saved. Nothing is checked here, so that a tokenizer with a wrong template
    still loads and encodes; the first use raises TemplateError, and `ResponseTemplate.load` checks it at any time.
    A `ResponseTemplate` may be set, too; its dict is stored.
    """

    def __get__(self, tokenizer: Any, owner: type | None = None) -> Any:
        return self if tokenizer is None else own_template(tokenizer)

    def __set__(self, tokenizer: Any, template: Any) -> None:
        source = getattr(template, "source", None)
        store_template(tokenizer, copy.deepcopy(source) if isinstance(source, dict) else template)

    def __delete__(self, tokenizer: Any) -> None:
        store_template(tokenizer, None)


def end_tokens(tokenizer: Any) -> list[str]:
    """The texts of the tokenizer's end-of-sequence and padding tokens, without repetition; those that are set."""
    known = getattr(tokenizer, "special_tokens_map", None)
    texts: dict[str, None] = {}
    for name in ("eos_token", "pad_token"):
        value = known.get(name) if isinstance(known, Mapping) else None
        # Asking for a token that is not set makes older versions log an error, so only properties are asked.
        if value is None and isinstance(inspect.getattr_static(type(tokenizer), name, None), property):
            value = getattr(tokenizer, name)
        for token in value if isinstance(value, (list, tuple)) else [value]:
            if token is not None and str(token):
                texts[str(token)] = None
    return list(texts)


def is_legacy_schema(value: Any) -> bool:
    """True for the `response_schema` of transformers 5.0 to 5.14: a JSON schema, which has none of a template's keys."""
    keys = ("fields", "version", "start_anchor", "start_anchor_pattern")
    return isinstance(value, list) or (
        isinstance(value, dict) and bool(value) and not any(key in value for key in keys)
    )


def find_legacy_schema(tokenizer: Any) -> Any:
    """The tokenizer's `response_schema`, as far as this version of transformers exposes it, or None."""
    return getattr(tokenizer, "response_schema", None)


def resolve_template(tokenizer: Any, explicit: Any = None, *, chat_template: Any = None) -> Any:
    """The response template to parse with: `explicit`, the tokenizer's own, or a proven one of the library.

    `chat_template` is where the library may look if the tokenizer has none, as for most processors.

    Raises:
        ResponseParsingError: there is none; or `explicit` is a legacy schema.
    """
    if is_legacy_schema(explicit):
        raise ResponseParsingError(
            f"this is no response template, it has no key fields. If it is a schema: {_NO_LEGACY}"
        )
    if explicit is not None:
        return explicit
    template = usable_template(tokenizer)
    if template is None:
        template = library_template(tokenizer, chat_template)
    if template is None:
        raise ResponseParsingError(_why_no_template(tokenizer))
    return template


def _why_no_template(tokenizer: Any) -> str:
    schema = (vars(tokenizer).get("init_kwargs") or {}).get("response_schema") or find_legacy_schema(tokenizer)
    if schema:
        why = f"it only has a response_schema; {_NO_LEGACY}"
    elif library_is_on():
        why = "the library has none that is proven for its chat template; find_template(tokenizer) gives the best guess, or None"
    else:
        why = "the library was not asked (enable() does)"
    return f"this tokenizer has no response_template: set it to a dict, or pass one ({why})"


def parse(
    tokenizer: Any,
    response: Any,
    template: Any,
    *,
    prefix: Any,
    tools: Any = None,
    end: Any = OWN_TOKENS,
    on_error: OnError = "raise",
) -> Any:
    """Parse one response or a batch with `template`; what the tokenizer's `parse_response` does once it has a template."""
    if prefix is None:
        raise ResponseParsingError(_PREFIX_NEEDED)
    texts, batch = read_texts(tokenizer, response)
    prefixes = read_prefixes(tokenizer, prefix, len(texts), batch)
    # Once for the whole batch; and so even an empty one finds out that its template or its arguments are wrong.
    template, schemas, keeps = load_template(template), load_tools(tools), keeps_malformed(on_error)
    end = end_tokens(tokenizer) if end is OWN_TOKENS else end
    ender = end_literals(end) if end else None
    tails = [message_tail(template, prompt) for prompt in prefixes]
    messages = []
    for index, text in enumerate(texts):
        tail = tails[index if len(tails) > 1 else 0]
        try:
            messages.append(WholeText(template, tail, text, schemas, ender, keeps).message())
        except OutputError as error:
            error.item = index if batch else None
            raise
    return messages if batch else messages[0]


def make_parser(
    tokenizer: Any,
    template: Any,
    *,
    prefix: Any,
    tools: Any = None,
    end: Any = OWN_TOKENS,
    on_error: OnError = "raise",
) -> ResponseParser:
    """A streaming parser for one sequence whose prompt is `prefix` (anything `parse` takes for a single sequence)."""
    if prefix is None:
        raise ResponseParsingError(_PREFIX_NEEDED)
    prompt = read_prefixes(tokenizer, prefix, 1, batch=False)
    if not prompt:
        raise ResponseParsingError("prefix is an empty batch: a parser needs the prompt of one sequence")
    end = end_tokens(tokenizer) if end is OWN_TOKENS else end
    return ResponseParser(template, prompt[0], tools=tools, end=end or None, on_error=on_error)


def make_methods(legacy: Callable[..., Any] | None) -> dict[str, Callable[..., Any]]:
    """The methods for a tokenizer class.

    `legacy` is the class's own `parse_response` where it can parse with a `response_schema`; it keeps that job.
    """

    def parse_response(  # noqa: D417 -- self
        self: Any,
        response: Any,
        schema: Any = None,
        *,
        prefix: Any = None,
        tools: Any = None,
        end: Any = OWN_TOKENS,
        on_error: OnError = "raise",
    ) -> Any:
        """Turn what the model generated into a message dict, or a batch of it into a list of them.

        Args:
            response: text; token ids (list, or array or tensor of one dimension); or a batch of those (list, array of two
                dimensions, any mapping with `input_ids`). Token ids are decoded with their special tokens.
            schema: response template to use instead of the tokenizer's own (dict, JSON text, path or ResponseTemplate);
                or a `response_schema`, on the versions of transformers that know it.
            prefix: the prompt, in any of the same forms; one prompt serves a whole batch. Required: `""` or `[]` says that
                `response` is the whole message.
            tools: what `apply_chat_template` was given; types the arguments of tool calls.
            end: text or texts after which the generation is over. Default: the tokenizer's end-of-sequence and padding
                tokens, so that padding and a run-on next turn are no part of the message; None or [] for no such text.
            on_error: "raise", or "keep" to go on and list what can't be parsed under the message's key `malformed`.

        Returns:
            A dict for a single response, a list of dicts for a batch (of one, too).

        Raises:
            OutputError: a response can't be parsed; `item` is its index in the batch.
            TemplateError: the response template is wrong.
            ResponseParsingError: there is no response template, or the arguments do not fit together.
        """
        if legacy is not None:
            if is_legacy_schema(schema):
                return legacy(self, response, schema)
            if schema is None and own_template(self) is None and find_legacy_schema(self) is not None:
                return legacy(self, response)
        template = resolve_template(self, schema)
        return parse(self, response, template, prefix=prefix, tools=tools, end=end, on_error=on_error)

    def get_response_parser(
        self: Any,
        response_template: Any = None,
        *,
        prefix: Any = None,
        tools: Any = None,
        end: Any = OWN_TOKENS,
        on_error: OnError = "raise",
    ) -> Any:
        """A `ResponseParser` for one sequence, to feed with text while the model writes it.

        The arguments are those of `parse_response`. What the prompt has written of the message is in `initial_events`.
        """
        template = resolve_template(self, response_template)
        return make_parser(self, template, prefix=prefix, tools=tools, end=end, on_error=on_error)

    return {"parse_response": parse_response, "get_response_parser": get_response_parser}
