# SPDX-License-Identifier: Apache-2.0
"""One execution of the fuzzer: bytes become a template, a prompt's end, a text, tools and cuts; then the invariants are checked.

The bytes: a kind, a number of a template, a choice of tools and end, a seed of the cuts, and UTF-8 text. Kind 255: the text begins
with a template as JSON, up to a NUL. So a mutation of the text stays a mutation of the text.
"""

from __future__ import annotations

import copy
import functools
import json
import pickle
from typing import Any

import chunkings
from vectors import VECTORS

import transformers_response_parsing as trp

__all__ = ["MOST_CHARACTERS", "check", "corpus", "encode"]

MOST_CHARACTERS = 4_000
_OWN_TEMPLATE = 255
_TOOLS: list[Any] = [
    None,
    [],
    [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {
        "a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": ["array", "null"], "items": {"$ref": "#/$defs/n"}}},
        "$defs": {"n": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/n"}]}}}}}],
    [{"name": "get_time", "parameters": {"properties": {"city": {"enum": ["1", 2, None]}, "x": {"type": "object"}}}}],
]  # fmt: skip
_ENDS: list[Any] = [None, "<|im_end|>", ["<e>", "</s>", "<eos>"], ["<|end|>", "<|endoftext|>"]]


@functools.cache
def _templates() -> list[dict[str, Any]]:
    """Those of the vectors that load, and the library's."""
    found: dict[str, dict[str, Any]] = {}
    for vector in VECTORS:
        if (vector.get("error") or {}).get("kind") != "template":
            found[json.dumps(vector["template"])] = vector["template"]
    return [*found.values(), *(entry.response_template for entry in trp.list_templates())]


def encode(number: int, text: str, options: int = 0, seed: int = 1) -> bytes:
    """The bytes of a case with the template of this number."""
    return bytes([number >> 8, number & 255, options & 255, seed & 255]) + text.encode("utf-8", "surrogatepass")


def corpus() -> list[bytes]:
    """A case for each conformance vector, and for each example of the library."""
    numbers = {json.dumps(template): number for number, template in enumerate(_templates())}
    seeds = []
    for vector in VECTORS:
        number = numbers.get(json.dumps(vector["template"]))
        if number is not None:
            seeds.append(encode(number, vector["output"], 2 if vector.get("tools") else 0))
        source = json.dumps(vector["template"]) + "\0" + vector["output"]
        seeds.append(bytes([_OWN_TEMPLATE, 0, 0, 1]) + source.encode("utf-8", "surrogatepass"))
    for entry in trp.list_templates():
        number = numbers[json.dumps(entry.response_template)]
        seeds += [encode(number, example["output"], 4 * index) for index, example in enumerate(entry.examples)]
    return [seed for seed in seeds if len(seed) < MOST_CHARACTERS]


def check(data: bytes) -> str:
    """Run one case; an AssertionError, or any error that is not ours, is a finding. Returns what came of it."""
    if len(data) < 4:
        return "too short"
    text = data[4:].decode("utf-8", "surrogateescape")[:MOST_CHARACTERS]
    source: Any
    if data[0] == _OWN_TEMPLATE:
        source, _, text = text.partition("\0")
        if not source.lstrip().startswith("{"):
            return "refused"  # a path, by which the fuzzer would read files
    else:
        source = _templates()[(data[0] << 8 | data[1]) % len(_templates())]
    try:
        template = trp.ResponseTemplate.load(source)
    except trp.TemplateError:
        return "refused"
    tools, end = _TOOLS[data[2] & 3], _ENDS[data[2] >> 2 & 3]
    on_error = "raise" if data[2] & 16 else "keep"
    prefix = "" if not data[2] & 32 else text[: len(text) // 3]
    text = text[len(prefix) :]
    options: dict[str, Any] = {"prefix": prefix, "tools": tools, "end": end, "on_error": on_error}
    whole = _whole(template, text, options)
    streamed = _streamed(template, text, options, data[3])
    if isinstance(streamed, trp.OutputError) and "took longer" in streamed.reason:
        return "error"  # at another place, or with "keep" not at all, as it may be quicker at once
    if isinstance(whole, trp.OutputError) or isinstance(streamed, trp.OutputError):
        assert _fault(whole) == _fault(streamed), f"at once {whole!r}, streamed {streamed!r}"
        return "error"
    message, events, unclaimed = streamed
    assert _same(message, whole), f"streamed {message!r}, at once {whole!r}"
    again = _streamed(template, text, options, 0)
    assert not isinstance(again, trp.OutputError), f"an error by character only: {again!r}"
    assert _same(again[1], events), f"by character {again[1]!r}, in pieces {events!r}"
    assert again[2] == unclaimed
    json.dumps(message, allow_nan=False)
    return "parsed"


def _fault(result: Any) -> Any:
    """Where an error is; None if it is none."""
    if not isinstance(result, trp.OutputError):
        return None
    return type(result).__name__, result.field, result.offset, result.raw


def _whole(template: Any, text: str, options: dict[str, Any]) -> dict[str, Any] | trp.OutputError:
    try:
        return trp.parse_response(text, template, **options)
    except trp.OutputError as error:
        return error


def _streamed(template: Any, text: str, options: dict[str, Any], seed: int) -> tuple[Any, Any, str] | trp.OutputError:
    """The message, the merged events, and the unclaimed text, or the first error; the parser is copied and pickled on the way."""
    pieces = list(text) if not seed else chunkings.pieces(text, seed, 1 + seed % 40)
    failed: trp.OutputError | None = None
    events: list[Any] = []
    try:
        parser = trp.ResponseParser(template, **options)
    except trp.OutputError as error:
        return error
    events += parser.initial_events
    for number, piece in enumerate(pieces):
        if number == len(pieces) // 2:
            parser = copy.deepcopy(parser) if seed & 1 else pickle.loads(pickle.dumps(parser))
        try:
            events += parser.feed(piece)
        except trp.OutputError as error:
            failed = failed or error
            events += error.events
    try:
        message, last = parser.finalize()
    except trp.OutputError as error:
        return failed or error
    if failed:
        return failed
    return message, chunkings.without_errors(chunkings.merge(events + last)), "".join(parser.unclaimed)


def _same(one: Any, other: Any) -> bool:
    def plain(value: Any) -> str:
        return json.dumps(value, sort_keys=True)

    if isinstance(one, dict) and "malformed" in one:
        one = {**one, "malformed": chunkings.without_errors(one["malformed"])}
    if isinstance(other, dict) and "malformed" in other:
        other = {**other, "malformed": chunkings.without_errors(other["malformed"])}
    return plain(one) == plain(other)
