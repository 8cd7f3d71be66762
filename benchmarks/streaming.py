# SPDX-License-Identifier: Apache-2.0
"""Text chunk by chunk into events."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from . import formats
from .formats import Template
from .measure import Measured, Row, Settings, Target, sweep
from .parsers import floor_stream, stream
from .registry import Case
from .texts import call_text, code, pieces, prose, real_tokens

__all__ = ["CASES"]

_FULL = (2_000, 8_000, 32_000, 128_000)
_SIZES = (_FULL, (500, 1_000, 2_000, 8_000), (20, 40, 80, 160))


class _Stream(NamedTuple):
    """Chunks of `size` tokens for a template, and by how much the issue wants it faster at 2,000, 8,000, 128,000."""

    name: str
    title: str
    template: Template
    chunks: Callable[[int], list[str]]
    ratios: tuple[float, float, float] | None


_OPEN = (8, 9, 50)
_WATCHED = (7, 8, 30)
_PATTERNS = (6, 7, 30)


def _led(lead: str, body: Callable[[int], list[str]]) -> Callable[[int], list[str]]:
    return lambda count: [*pieces(lead), *body(count)]


def _emoji(count: int) -> list[str]:
    return ["<think>", " \N{ROCKET}", *prose(count)]


def _single_characters(count: int) -> list[str]:
    return ["<think>", *"".join(prose(count // 3 + 1))[:count]]


def _json_argument(count: int) -> list[str]:
    text = "".join(prose(count)).replace('"', '\\"').replace("\n", "\\n")
    return ["<tool_call>", *pieces('{"name": "write", "arguments": {"text": "'), *pieces(text)[:count]]


def _tag_argument(count: int) -> list[str]:
    return [*pieces("<tool_call>\n<function=write>\n<parameter=text>\n"), *code(count)]


def _smollm3_calls(count: int) -> list[str]:
    return _calls(count, lambda index: f"<tool_call>{call_text(index)}</tool_call>\n")


def _gpt_oss_call(index: int) -> str:
    header = "<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>"
    return f'{header}{{"city": "Paris {index}", "unit": "celsius", "exact": true}}<|call|>'


def _gpt_oss_long_call(count: int) -> list[str]:
    text = "".join(prose(count)).replace('"', '\\"').replace("\n", "\\n")
    header = "<|channel|>commentary to=functions.write <|constrain|>json<|message|>"
    return [*_special_tokens(header), *pieces('{"text": "'), *pieces(text)[:count]]


def _gemma4_call(index: int) -> str:
    return f'<|tool_call>call:get_weather{{city:<|"|>Paris {index}<|"|>,days:3,exact:true}}<tool_call|>'


def _gemma4_long_call(count: int) -> list[str]:
    return [*_special_tokens('<|tool_call>call:write{text:<|"|>'), *code(count)]


def _calls(count: int, call: Callable[[int], str]) -> list[str]:
    chunks: list[str] = []
    index = 0
    while len(chunks) < count:
        chunks += _special_tokens(call(index))
        index += 1
    return chunks


def _special_tokens(text: str) -> list[str]:
    """Pieces of a text in which what stands between < and > with a bar or a slash inside is one token."""
    found: list[str] = []
    for index, part in enumerate(text.replace("<|", "\0<|").replace("|>", "|>\0").split("\0")):
        if part.startswith("<|") and part.endswith("|>"):
            found.append(part)
        elif part:
            found += pieces(part, index)
    return found


def _real(tokenizer: str, lead: str, body: Callable[[int], list[str]]) -> Callable[[int], list[str]]:
    def chunks(count: int) -> list[str]:
        tokens = real_tokens(tokenizer, body(min(count, 20_000)), count)
        return [*pieces(lead), *(tokens or body(count))]

    return chunks


_IM_THINK = "<think>\n"
_STREAMS = [
    _Stream("reasoning.smollm3", "prose in an open region", formats.SMOLLM3, _led(_IM_THINK, prose), _OPEN),
    _Stream("reasoning.gpt_oss", "the same", formats.GPT_OSS, _led("<|channel|>analysis<|message|>", prose), _OPEN),
    _Stream("reasoning.gemma4", "the same", formats.GEMMA4, _led("<|channel>thought\n", prose), _OPEN),
    _Stream("reasoning.cohere", "the same", formats.COHERE, _led("<|START_THINKING|>", prose), _OPEN),
    _Stream("reasoning.emoji", "the same with one emoji in it", formats.SMOLLM3, _emoji, None),
    _Stream("reasoning.characters", "the same in single characters", formats.SMOLLM3, _single_characters, None),
    _Stream(
        "reasoning.qwen3_tokens",
        "the same, cut by Qwen3's tokenizer",
        formats.SMOLLM3,
        _real("qwen3", _IM_THINK, prose),
        _OPEN,
    ),
    _Stream(
        "reasoning.gpt_oss_tokens",
        "the same, cut by gpt-oss's tokenizer",
        formats.GPT_OSS,
        _real("gptoss", "<|channel|>analysis<|message|>", prose),
        _OPEN,
    ),
    _Stream(
        "explicit_code.gpt_oss",
        "code full of < in a region of its own",
        formats.GPT_OSS,
        _led("<|channel|>final<|message|>", code),
        None,
    ),
    _Stream("code.smollm3", "code full of < in the implicit field", formats.SMOLLM3, _led("Hi", code), _WATCHED),
    _Stream("code.qwen3_coder", "the same", formats.QWEN3_CODER, _led("Hi", code), _WATCHED),
    _Stream("code.gemma4", "the same", formats.GEMMA4, _led("Hi", code), _WATCHED),
    _Stream(
        "code.qwen3_tokens",
        "the same, cut by Qwen3's tokenizer",
        formats.QWEN3_CODER,
        _real("qwen3", "Hi", code),
        _WATCHED,
    ),
    _Stream("patterns.qwen3_5_reasoning", r"\s* leads: reasoning", formats.QWEN3_5, _led(_IM_THINK, prose), _PATTERNS),
    _Stream("patterns.qwen3_5_prose", r"\s* leads: prose", formats.QWEN3_5, _led("Hi", prose), _PATTERNS),
    _Stream("patterns.qwen3_5_code", r"\s* leads: code", formats.QWEN3_5, _led("Hi", code), _PATTERNS),
    _Stream(
        "patterns.inkling_reasoning",
        "[^<]* leads: reasoning",
        formats.INKLING,
        _led("<|content_thinking|>", prose),
        _PATTERNS,
    ),
    _Stream("patterns.inkling_code", "[^<]* leads: code", formats.INKLING, _led("<|content_text|>", code), _PATTERNS),
    _Stream(
        "patterns.gpt_oss_calls", "many short calls", formats.GPT_OSS, lambda n: _calls(n, _gpt_oss_call), _PATTERNS
    ),
    _Stream("patterns.gpt_oss_call", "one long call", formats.GPT_OSS, _gpt_oss_long_call, _PATTERNS),
    _Stream("patterns.gemma4_calls", "many short calls", formats.GEMMA4, lambda n: _calls(n, _gemma4_call), _PATTERNS),
    _Stream("patterns.gemma4_call", "one long call", formats.GEMMA4, _gemma4_long_call, _PATTERNS),
    _Stream("calls.smollm3", "many short JSON calls", formats.SMOLLM3, _smollm3_calls, None),
    _Stream("argument.json", "one JSON string argument", formats.SMOLLM3, _json_argument, None),
    _Stream("argument.tag", "one argument in a tag", formats.QWEN3_CODER, _tag_argument, None),
]


def _run(item: _Stream, settings: Settings) -> Iterator[Row]:
    def prepare(size: int) -> Measured:
        chunks = item.chunks(size)
        # What is left open is never complete, so the end of it is timed only where it parses.
        return Measured(len(chunks), stream(item.template, chunks, finalize=_ends_well(item.name)))

    points = sweep(settings, settings.pick(*_SIZES), prepare)
    row = Row(f"stream.{item.name}", item.title, "us/chunk", points)
    if item.ratios:
        row.targets = [
            Target(f"{size:,} tokens", ratio, True, row.ratio_at(size))
            for size, ratio in zip((2_000, 8_000, 128_000), item.ratios, strict=True)
        ]
    row.targets.append(Target("exponent", 1.1, False, row.exponent()))
    yield row


def _ends_well(name: str) -> bool:
    return not any(part in name for part in ("call", "argument"))


def _run_floor(settings: Settings) -> Iterator[Row]:
    """Plain text in an open region and in the implicit field, beside the floor."""
    kinds: Sequence[tuple[str, str]] = (("region", "<think>"), ("implicit", "Hi"))
    for kind, lead in kinds:
        # No piece of white space alone: the question is what text costs that can't begin anything.
        def prepare(size: int, lead: str = lead) -> Measured:
            chunks = [lead, *prose(size)]
            runs = {**stream(formats.SMOLLM3, chunks, finalize=False), "floor": floor_stream(chunks)}
            return Measured(len(chunks), runs)

        points = sweep(settings, settings.pick((2_000, 8_000, 32_000), (1_000, 2_000), (20, 40)), prepare)
        row = Row(f"stream.floor.{kind}", f"plain text ({kind}) against the floor", "us/chunk", points)
        worst = max((1 / point.ratios["floor"] for point in points), default=None)
        row.targets = [Target("x the floor", 1.7, False, worst)]
        yield row


def _case(item: _Stream) -> Case:
    return Case(f"stream.{item.name}", lambda settings: _run(item, settings))


CASES = [Case("stream.floor", _run_floor), *map(_case, _STREAMS)]
