# SPDX-License-Identifier: Apache-2.0
"""Memory while streaming, the slowest single feed, long prompts, many streams at once."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from typing import Any

import transformers_response_parsing as trp
from transformers_response_parsing.content import compile_content

from . import formats
from .formats import Template
from .measure import Measured, Row, Settings, Target, clock, memory_of, no_collection, per_call, sweep
from .parsers import native_module, native_template
from .registry import Case
from .texts import fill

__all__ = ["CASES"]


def _makers(template: Template, prefix: str = "") -> dict[str, Callable[[], Any]]:
    """Ways to make a parser: ours, and the native one if there is one."""
    ours = trp.ResponseTemplate.load(template)
    makers: dict[str, Callable[[], Any]] = {"ours": lambda: trp.ResponseParser(ours, prefix=prefix)}
    module = native_module()
    if module is not None:
        theirs = native_template(template)
        makers["native"] = lambda: module.ResponseParser(theirs, prefix=prefix)
    return makers


def _feed_slices(parser: Any, text: str, step: int = 4) -> None:
    """Slices are made on the way, as tokens come, and nobody else keeps them or the events."""
    feed = parser.feed
    for start in range(0, len(text), step):
        feed(text[start : start + step])


def _run_memory(settings: Settings) -> Iterator[Row]:
    size = settings.pick(1_000_000, 60_000, 2_000)
    prose = fill(size)
    kinds: list[tuple[str, Template, str, str, str]] = [
        ("reasoning", formats.SMOLLM3, "<think>", prose, "</think>"),
        ("emoji", formats.SMOLLM3, "<think>", "\N{ROCKET}" + prose, "</think>"),
        ("accents", formats.SMOLLM3, "<think>", "\N{EN DASH}" + prose, "</think>"),
        (
            "argument.json",
            formats.SMOLLM3,
            '<tool_call>{"name": "f", "arguments": {"t": "',
            json.dumps(prose)[1:-1],
            '"}}</tool_call>',
        ),
        (
            "argument.tag",
            formats.QWEN3_CODER,
            "<tool_call><function=f><parameter=t>",
            prose,
            "</parameter></function></tool_call>",
        ),
    ]
    for name, template, lead, body, tail in kinds:
        row = Row(f"memory.{name}", f"bytes for a byte of text, {size:,} characters in fours", "x the text", [])
        of_text = len(body) * _width(body)
        for who, make in _makers(template).items():
            parser = make()
            parser.feed(lead)

            def hold(parser: Any = parser, body: str = body) -> None:
                _feed_slices(parser, body)

            def end(parser: Any = parser, tail: str = tail) -> Any:
                return [*parser.feed(tail), *parser.finalize()[1]]

            _, kept, peak = memory_of(hold)
            row.values[f"{who} kept"] = kept / of_text
            row.values[f"{who} peak while open"] = peak / of_text
            # A second parser, all of it in one trace: what the close adds is part of the peak.
            again = make()
            again.feed(lead)

            def all_of_it(parser: Any = again, hold: Any = hold, end: Any = end) -> Any:
                hold(parser)
                return end(parser)

            row.values[f"{who} peak with the close"] = memory_of(all_of_it)[2] / of_text
        row.targets = [
            Target("kept while open", 1.1, False, row.values["ours kept"]),
            Target("peak", 2.0, False, row.values["ours peak with the close"]),
        ]
        yield row


def _width(text: str) -> int:
    highest = max(text)
    return 1 if highest < "\u0100" else 2 if highest < "\U00010000" else 4


def _run_close(settings: Settings) -> Iterator[Row]:
    """The feed that closes a long body, beside parsing that body alone."""
    sizes = settings.pick(
        (125_000, 250_000, 500_000, 1_000_000), (12_500, 25_000, 50_000, 100_000), (100, 200, 400, 800)
    )
    call = ('{"name": "f", "arguments": {"t": "', '"}}')
    tags = ("<parameter=t>", "</parameter>")
    kinds: list[tuple[str, Template, str, tuple[str, str], str]] = [
        ("json", formats.SMOLLM3, "<tool_call>", call, "</tool_call>"),
        ("tag", formats.QWEN3_CODER, "<tool_call><function=f>", tags, "</function></tool_call>"),
        ("text", formats.SMOLLM3, "<think>", ("", ""), "</think>"),
    ]
    for name, template, lead, (before, after), close in kinds:

        def prepare(size: int, name: str = name, template: Template = template, lead: str = lead) -> Measured:
            body = before + (json.dumps(fill(size))[1:-1] if name == "json" else fill(size)) + after  # noqa: B023
            field = "reasoning_content" if name == "text" else "tool_calls"
            spec = template["fields"][field]
            content = compile_content(spec.get("content", "text"), spec.get("content_args", {}), "body")
            runs = {
                who: _closing(make, lead, body, close)  # noqa: B023
                for who, make in _makers(template).items()
            }
            runs["floor"] = per_call(lambda: content.parse(body), 0.001)[0]
            return Measured(1, runs)

        points = sweep(settings, sizes, prepare)
        row = Row(f"close.{name}", "the one feed that closes a body; floor: parsing that body alone", "us", points)
        row.targets = [Target("exponent", 1.1, False, row.exponent())]
        if name != "text":  # which needs no parsing
            row.targets.insert(0, Target("x the parse of the body", 2.0, False, 1 / points[-1].ratios["floor"]))
        yield row


def _closing(make: Callable[[], Any], lead: str, body: str, close: str) -> Callable[[], float]:
    def run() -> float:
        parser = make()
        parser.feed(lead)
        # Large slices: the native parser would need minutes for a body in tokens, and the close costs the same.
        _feed_slices(parser, body, max(4, len(body) // 200))
        begun = clock()
        parser.feed(close)
        return clock() - begun

    return run


def _run_prefix(settings: Settings) -> Iterator[Row]:
    """A long conversation before the message: what the prefix costs a short call."""
    sizes = settings.pick((1_000, 10_000, 100_000, 1_000_000), (1_000, 4_000, 16_000, 64_000), (100, 200, 400, 800))
    anchored: dict[str, tuple[Any, str]] = {"literal": (formats.SMOLLM3, "<|im_start|>assistant\n")}
    for entry in trp.list_templates():
        prefix = next((example["prefix"] for example in entry.examples if example.get("prefix")), None)
        if prefix is not None and (settings.size == "full" or entry.name == "qwen3"):
            anchored[entry.name] = (entry.response_template, prefix)
    for name, (template, turn) in anchored.items():

        def prepare(size: int, template: Any = template, turn: str = turn) -> Measured:
            prefix = fill(size) + turn
            module = native_module()
            calls = {"ours": lambda: trp.parse_response("Hello!", template, prefix=prefix, on_error="keep")}
            if module is not None and template is formats.SMOLLM3:
                calls["native"] = lambda: module.parse_response("Hello!", template, prefix=prefix)
            calls["floor"] = lambda: trp.parse_response("Hello!", template, prefix=turn, on_error="keep")
            return Measured(1, {who: per_call(call, 0.005)[0] for who, call in calls.items()})

        points = sweep(settings, sizes, prepare)
        row = Row(f"prefix.{name}", "Hello! after a long prefix; floor: after its last turn alone", "us", points)
        literal = name == "literal"
        bound = Target("x the call without the prefix", 1.5, False, 1 / points[-1].ratios["floor"])
        row.targets = [bound] if literal else [Target("exponent", 1.1, False, row.exponent())]
        yield row


def _run_open(settings: Settings) -> Iterator[Row]:
    """Many streams open at once in one process."""
    count = settings.pick(10_000, 500, 5)
    text = fill(800)
    row = Row("open_streams", f"{count:,} open parsers, {len(text)} characters of reasoning fed to each", "", [])
    for who, make in _makers(formats.SMOLLM3).items():

        def open_all(make: Callable[[], Any] = make) -> list[Any]:
            parsers = [make() for _ in range(count)]
            for parser in parsers:
                parser.feed("<think>")
                _feed_slices(parser, text, 8)
            return parsers

        row.values[f"{who}: bytes for a stream"] = memory_of(open_all)[1] / count
        row.values[f"{who}: of these, without any text"] = memory_of(_many(make, count))[1] / count
        with no_collection():
            begun = clock()
            parsers = [make() for _ in range(count)]
            row.values[f"{who}: microseconds to make one"] = (clock() - begun) / count * 1e6
        row.values[f"{who}: microseconds a chunk, round robin"] = _round_robin(parsers)
    yield row


def _many(make: Callable[[], Any], count: int) -> Callable[[], list[Any]]:
    return lambda: [make() for _ in range(count)]


def _round_robin(parsers: list[Any]) -> float:
    for parser in parsers:
        parser.feed("<think>So")
    times = []
    for chunk in (" the", " user", " asks", " for", " the", " weather"):
        begun = clock()
        for parser in parsers:
            parser.feed(chunk)
        times.append((clock() - begun) / len(parsers) * 1e6)
    return statistics.median(times)


CASES = [
    Case("memory", _run_memory),
    Case("close", _run_close),
    Case("prefix", _run_prefix),
    Case("open_streams", _run_open),
]
