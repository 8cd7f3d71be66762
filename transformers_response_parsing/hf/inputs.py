# SPDX-License-Identifier: Apache-2.0
"""From what `generate` and `apply_chat_template` hand out to texts: strings, token ids, and batches of them."""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from transformers_response_parsing.errors import ResponseParsingError

from .token_table import token_table

__all__ = ["Texts", "decode_function", "decode_ids", "decodes_like_its_backend", "read_prefixes", "read_texts"]

_ACCEPTED = "a string, token ids (a list, or an array or tensor of one dimension), or a batch of those"
_NEGATIVE = "token ids must not be negative (-100, the label that the loss ignores, is no token)"
# Where transformers 4 and 5 define the decoding of tokenizers that have a `tokenizers` backend.
_OWN_DECODE = frozenset({"transformers.tokenization_utils_base"})
_FAST_DECODE = frozenset({"transformers.tokenization_utils_fast", "transformers.tokenization_utils_tokenizers"})


class Texts(NamedTuple):
    """`texts` of one sequence (`batch` False, exactly one text) or of a batch (any number)."""

    texts: list[str]
    batch: bool


def read_texts(tokenizer: Any, value: Any, what: str = "response") -> Texts:
    """Texts of `value`. An empty list is an empty batch; an empty array of one dimension is one empty sequence.

    Raises ResponseParsingError for anything that is neither text nor token ids; `what` names the argument in it.
    """
    items, batch = _items(value, what, empty_is_batch=True)
    return Texts(_decode_items(tokenizer, items), batch)


def read_prefixes(tokenizer: Any, value: Any, count: int, batch: bool) -> list[str]:
    """The prefixes for `count` sequences: one for each, or a single one that serves them all.

    Args:
        tokenizer: decodes token ids.
        value: a prefix or a batch of prefixes; a batch of one serves any number; `""` and `[]` are the empty prefix.
        count: number of responses.
        batch: whether the responses are a batch.

    Raises:
        ResponseParsingError: the numbers of responses and prefixes do not agree.
    """
    items, many = _items(value, "prefix", empty_is_batch=False)
    if many and len(items) not in (1, count):
        responses = f"{count} responses" if batch else "a single response"
        raise ResponseParsingError(
            f"{responses} and {len(items)} prefixes: pass one prefix for each response, or one prefix for all of them"
        )
    return _decode_items(tokenizer, items)


def decode_ids(tokenizer: Any, rows: Sequence[list[int]]) -> list[str]:
    """Texts of rows of token ids, special tokens kept and nothing cleaned up.

    Unless the tokenizer's class has its own way to decode, a batch is looked up token by token where there is a table, and
    else decoded by the fast tokenizer's backend in one call.
    """
    if len(rows) > 1 and decodes_like_its_backend(tokenizer):
        table = token_table(tokenizer)
        if table is not None:
            return [table.decode(row) for row in rows]
        decoded: list[str] = _checked(tokenizer.backend_tokenizer.decode_batch, list(rows), skip_special_tokens=False)
        return decoded
    decode = decode_function(tokenizer)
    return [decode(row) for row in rows]


def decode_function(tokenizer: Any) -> Callable[[list[int]], str]:
    """The shortest way from one row of token ids to its text, special tokens kept and nothing cleaned up."""
    options: dict[str, Any] = {"skip_special_tokens": False}
    if decodes_like_its_backend(tokenizer):
        decode = tokenizer.backend_tokenizer.decode
    else:
        decode = tokenizer.decode
        options["clean_up_tokenization_spaces"] = False
        if _puts_spaces_between_special_tokens(tokenizer):
            options["spaces_between_special_tokens"] = False
    return lambda ids: str(_checked(decode, ids, **options))


def _checked(decode: Callable[..., Any], ids: Any, **options: Any) -> Any:
    try:
        return decode(ids, **options)
    except OverflowError:
        raise ResponseParsingError(_NEGATIVE) from None


def decodes_like_its_backend(tokenizer: Any) -> bool:
    """True if no subclass changes how a fast tokenizer's ids become text."""
    if not hasattr(getattr(tokenizer, "backend_tokenizer", None), "decode_batch"):
        return False
    return _home_of(tokenizer, "decode") in _OWN_DECODE and _home_of(tokenizer, "_decode") in _FAST_DECODE


def _home_of(tokenizer: Any, name: str) -> str:
    return next((cls.__module__ for cls in type(tokenizer).__mro__ if name in vars(cls)), "")


def _puts_spaces_between_special_tokens(tokenizer: Any) -> bool:
    # Tokenizers written in Python do so unless told not to; it is not what the model wrote.
    decode = getattr(type(tokenizer), "_decode", None)
    return decode is not None and "spaces_between_special_tokens" in inspect.signature(decode).parameters


def _decode_items(tokenizer: Any, items: list[str | list[int]]) -> list[str]:
    rows = [item for item in items if not isinstance(item, str)]
    decoded = iter(decode_ids(tokenizer, rows) if rows else ())
    return [item if isinstance(item, str) else next(decoded) for item in items]


def _items(value: Any, what: str, *, empty_is_batch: bool) -> tuple[list[str | list[int]], bool]:
    plain = _plain(value, what)
    if isinstance(plain, str):
        return [plain], False
    if not plain:
        rows = getattr(value, "ndim", 0)
        batch = rows == 2 or (rows == 0 and empty_is_batch)
        return ([], True) if batch else ([[]], False)
    if _is_id(plain[0]):
        return [_ids(plain, what)], False
    return [_item(element, f"{what}[{index}]") for index, element in enumerate(plain)], True


def _item(value: Any, what: str) -> str | list[int]:
    plain = _plain(value, what)
    # [1, N] is what generate returns for one prompt, so a list of those is a batch like any other.
    if isinstance(plain, list) and len(plain) == 1 and not _is_id(plain[0]):
        plain = _plain(plain[0], what)
    return plain if isinstance(plain, str) else _ids(plain, what)


def _plain(value: Any, what: str) -> str | list[Any]:
    """`value` as a string or a list, with padding left out where a mapping carries an attention mask."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        if "input_ids" not in value:
            keys = ", ".join(sorted(map(str, value))) or "none"
            raise ResponseParsingError(f"{what}: a mapping must have the key input_ids (its keys: {keys})")
        ids = _plain(value["input_ids"], what)
        mask = value.get("attention_mask")
        return ids if mask is None or isinstance(ids, str) else _unpadded(ids, _plain(mask, what))
    if hasattr(value, "tolist"):
        value = value.tolist()
        if isinstance(value, (str, list)):
            return value
    if isinstance(value, (list, tuple)):
        return list(value)
    raise ResponseParsingError(f"{what} must be {_ACCEPTED}, not {type(value).__name__}")


def _unpadded(ids: list[Any], mask: Any) -> list[Any]:
    """The ids that the mask marks, row by row if they are a batch."""
    try:
        if ids and isinstance(ids[0], (list, tuple)):
            return [_unpadded(row, row_mask) for row, row_mask in zip(ids, mask, strict=True)]
        return [token for token, seen in zip(ids, mask, strict=True) if seen]
    except (TypeError, ValueError):
        raise ResponseParsingError("attention_mask does not have the shape of input_ids") from None


def _is_id(value: Any) -> bool:
    return isinstance(value, int) or (hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0)


def _ids(values: list[Any], what: str) -> list[int]:
    try:
        # Looks at each of them, and is much quicker than a loop.
        packed = array("Q", values)
    except OverflowError:
        raise ResponseParsingError(f"{what}: {_NEGATIVE}") from None
    except TypeError:
        packed = None
    if packed is None or any(isinstance(value, bool) for value in values[:1]):
        raise ResponseParsingError(f"{what}: token ids must be integers, all of them; {what} must be {_ACCEPTED}")
    return values if all(type(value) is int for value in values[:1]) else packed.tolist()
