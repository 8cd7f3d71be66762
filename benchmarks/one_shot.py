# SPDX-License-Identifier: Apache-2.0
"""Whole texts into messages, the template given as a dict; and the inputs on which the native parser is quadratic."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

from . import formats
from .formats import Template
from .measure import Measured, Row, Settings, Target, clock, per_call, sweep
from .parsers import one_shot, stream
from .registry import Case
from .texts import call_text, code, fill, pieces, prose

__all__ = ["CASES"]

_THINK_AND_CALL = "<think>\nI should look up the weather first.\n</think>\n\n<tool_call>%s</tool_call><|im_end|>"


class _Text(NamedTuple):
    """A text of a size, and how much faster the issue wants it."""

    name: str
    title: str
    template: Template
    text: Callable[[int], str]
    sizes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    ratios: dict[int, float]


def _tokens(body: Callable[[int], list[str]], lead: str = "") -> Callable[[int], str]:
    return lambda size: lead + "".join(body(size)) + "<|im_end|>"


def _reasoning(size: int) -> str:
    return f"<think>\n{''.join(prose(size))}\n</think>\n\nDone.<|im_end|>"


def _tag_argument(size: int) -> str:
    return f"<tool_call>\n<function=write>\n<parameter=text>\n{fill(size)}\n</parameter>\n</function>\n</tool_call><|im_end|>"


def _json_argument(size: int) -> str:
    call = json.dumps({"name": "write", "arguments": {"text": fill(size)}})
    return f"<tool_call>{call}</tool_call><|im_end|>"


def _calls(size: int) -> str:
    return "".join(f"<tool_call>{call_text(index)}</tool_call>\n" for index in range(size)) + "<|im_end|>"


def _tag_call(index: int) -> str:
    return f"<tool_call>\n<function=f>\n<parameter=city>\nParis {index}\n</parameter>\n</function>\n</tool_call>\n"


def _tag_calls(size: int) -> str:
    return "".join(map(_tag_call, range(size))) + "<|im_end|>"


_ONE = ((1,), (1,), (1,))
_TOKENS = ((2_000, 8_000, 32_000, 128_000), (500, 1_000, 2_000, 8_000), (20, 40, 80, 160))
_BYTES = ((125_000, 250_000, 500_000, 1_000_000), (25_000, 50_000, 100_000, 200_000), (100, 200, 400, 800))
_CALLS = ((10, 50, 100, 500, 2_000), (5, 10, 50, 100), (1, 2, 3, 4))
_TEXTS = [
    _Text("hello", "Hello!", formats.SMOLLM3, lambda _: "Hello!<|im_end|>", _ONE, {1: 20}),
    _Text("call", "reasoning and a call", formats.SMOLLM3, lambda n: _THINK_AND_CALL % call_text(n), _ONE, {1: 10}),
    _Text("reasoning.smollm3", "reasoning", formats.SMOLLM3, _reasoning, _TOKENS, {2_000: 6, 128_000: 2.5}),
    _Text("reasoning.qwen3_coder", "reasoning", formats.QWEN3_CODER, _reasoning, _TOKENS, {2_000: 6, 128_000: 2.5}),
    _Text("code.smollm3", "code", formats.SMOLLM3, _tokens(code), _TOKENS, {2_000: 6, 128_000: 2.5}),
    _Text("code.qwen3_coder", "code", formats.QWEN3_CODER, _tokens(code), _TOKENS, {2_000: 6, 128_000: 2.5}),
    _Text("argument.tag", "one argument in a tag", formats.QWEN3_CODER, _tag_argument, _BYTES, {1_000_000: 80}),
    _Text("argument.json", "one JSON argument", formats.SMOLLM3, _json_argument, _BYTES, {}),
    _Text("calls.smollm3", "parallel JSON calls", formats.SMOLLM3, _calls, _CALLS, {500: 15}),
    _Text("calls.qwen3_coder", "parallel tag calls", formats.QWEN3_CODER, _tag_calls, _CALLS, {500: 15}),
]


def _run(item: _Text, settings: Settings) -> Iterator[Row]:
    def prepare(size: int) -> Measured:
        text = item.text(size)
        least = settings.pick(0.02, 0.005, 0.0)
        return Measured(1, {who: per_call(call, least)[0] for who, call in one_shot(item.template, text).items()})

    row = Row(f"one_shot.{item.name}", item.title, "us", sweep(settings, settings.pick(*item.sizes), prepare))
    for size, ratio in item.ratios.items():
        what = "ratio" if item.sizes is _ONE else f"at {size:,}"
        row.targets.append(Target(what, ratio, True, row.ratio_at(size)))
    if item.sizes is not _ONE:
        row.targets.append(Target("exponent", 1.1, False, row.exponent()))
    yield row


class _Hard(NamedTuple):
    """An input of a size (in characters, calls, strings) on which the native parser is quadratic or worse."""

    name: str
    title: str
    template: Template
    text: Callable[[int], str]
    streamed: bool
    smallest: int
    doublings: int = 6


def _inkling(body: str) -> str:
    return f"<|content_thinking|>{body}<|end_message|><|message_model|><|content_text|>Done.<|end_message|>"


def _inkling_calls(count: int) -> str:
    call = '<|message_model|>get_weather<|content_invoke_tool_json|>{"name": "f", "args": {"n": %d}}<|end_message|>'
    return "".join(call % index for index in range(count))


def _indented(size: int) -> str:
    return ("        value = 1\n" * (size // 18 + 1))[:size] + "<|im_end|>"


def _gemma4_strings(count: int) -> str:
    strings = ",".join(f'k{index}:<|"|>v<|"|>' for index in range(count))
    return f"<|tool_call>call:f{{{strings}}}<tool_call|><turn|>"


def _unclosed(count: int) -> str:
    return "<tool_call>\n<function=f>\n" + "<parameter=a>" * count + "\n</function>\n</tool_call>"


def _spaces_after_unclosed(count: int) -> str:
    return "<tool_call>\n<function=f>\n<parameter=a>" + " " * count + "\n</function>\n</tool_call>"


_HEADER = "<|channel|>commentary to=functions.x"
_HARD = [
    _Hard("inkling.reasoning", "[^<]* before a literal", formats.INKLING, lambda n: _inkling(fill(n)), False, 2_000),
    _Hard("inkling.calls", "parallel calls", formats.INKLING, _inkling_calls, False, 8),
    _Hard("inkling.headless", "text outside of all", formats.INKLING, fill, True, 16_000),
    _Hard("qwen3_5.prose", r"\s* before a literal", formats.QWEN3_5, lambda n: fill(n) + "<|im_end|>", False, 4_000),
    _Hard("qwen3_5.indented", "indented code", formats.QWEN3_5, _indented, False, 2_000),
    _Hard("qwen3_5.newlines", "newlines", formats.QWEN3_5, lambda n: "Hi" + "\n" * n + "x<|im_end|>", False, 500),
    _Hard("qwen3_5.newlines_stream", "newlines", formats.QWEN3_5, lambda n: "Hi" + "\n" * n + "x", True, 500),
    _Hard("calls.smollm3", "parallel calls", formats.SMOLLM3, _calls, False, 50),
    _Hard("calls.qwen3_coder", "parallel calls", formats.QWEN3_CODER, _tag_calls, False, 50),
    _Hard("gpt_oss.header", "header without <|message|>", formats.GPT_OSS, lambda n: _HEADER + fill(n), True, 32_000),
    _Hard("gpt_oss.headers", "such headers again and again", formats.GPT_OSS, lambda n: _HEADER * n, True, 20),
    _Hard("gemma4.strings", "strings with own delimiters", formats.GEMMA4, _gemma4_strings, False, 125),
    _Hard("tags.unclosed", "<parameter=> never closed", formats.QWEN3_CODER, _unclosed, False, 30),
    _Hard("tags.spaces", "spaces after an unclosed tag", formats.QWEN3_CODER, _spaces_after_unclosed, False, 60),
    _Hard("lookahead.open", "open looks for </think>", formats.LOOKAHEAD, lambda n: fill(n) + "</think>x", True, 1_000),
    _Hard("lookahead.never", "... which never comes", formats.LOOKAHEAD, fill, True, 1_000),
    _Hard(
        "long_stream",
        "reasoning, copied at each chunk",
        formats.SMOLLM3,
        lambda n: "<think>" + fill(n),
        True,
        20_000,
        5,
    ),
]


def _run_hard(item: _Hard, settings: Settings) -> Iterator[Row]:
    doublings = settings.pick(item.doublings, 4, 4)
    first = settings.pick(item.smallest, max(4, item.smallest // 2), 4)

    def prepare(size: int) -> Measured:
        text = item.text(size)
        if item.streamed:
            runs = stream(item.template, pieces(text), finalize=False)
            return Measured(1, runs)
        calls = one_shot(item.template, text)
        return Measured(1, {who: _tolerant(call) for who, call in calls.items()})

    row = Row(
        f"hard.{item.name}",
        f"{item.title} ({'stream' if item.streamed else 'one-shot'})",
        "ms",
        sweep(settings, [first << step for step in range(doublings)], prepare),
    )
    row.targets = [Target("exponent", 1.1, False, row.exponent())]
    yield row


def _tolerant(call: Callable[[], object]) -> Callable[[], float]:
    """A run that takes an error as an answer: some of these texts are no valid messages."""

    def attempt() -> None:
        with contextlib.suppress(ValueError):
            call()

    return per_call(attempt, 0.0)[0]


def _run_load(settings: Settings) -> Iterator[Row]:
    """A short text with a template that the process has not seen before: what its first use costs."""
    templates = {
        "smollm3": formats.SMOLLM3,
        "qwen3_5": formats.QWEN3_5,
        "gpt_oss": formats.GPT_OSS,
        "gemma4": formats.GEMMA4,
        "inkling": formats.INKLING,
    }
    for name, template in templates.items():
        new = (_renamed(template, number) for number in itertools.count())

        def first_use(who: str, new: Iterator[Template] = new) -> float:
            call = one_shot(next(new), "Hello!")[who]
            begun = clock()
            call()
            return clock() - begun

        runs = {who: functools.partial(first_use, who) for who in one_shot(template, "Hello!")}
        points = sweep(settings, [1], lambda _, runs=runs: Measured(1, runs))  # type: ignore[misc]
        yield Row(f"load.{name}", "the first use of a template in a process", "us", points)


def _renamed(template: Template, number: int) -> Template:
    """The same kind of template with delimiters that no cache can know."""
    text = json.dumps(template)
    for word in ("tool_call", "think", "message", "channel", "im_end", "content_"):
        text = text.replace(f"{word}>", f"{word}{number}>").replace(f"{word}|>", f"{word}{number}|>")
        text = text.replace(f"{word}\\\\|>", f"{word}{number}\\\\|>")
    renamed: Template = json.loads(text)
    return renamed


def _case(item: _Text) -> Case:
    return Case(f"one_shot.{item.name}", lambda settings: _run(item, settings))


def _hard_case(item: _Hard) -> Case:
    return Case(f"hard.{item.name}", lambda settings: _run_hard(item, settings))


CASES = [Case("load", _run_load), *map(_case, _TEXTS), *map(_hard_case, _HARD)]
