# SPDX-License-Identifier: Apache-2.0
"""Growth for every template of the library, with texts made from its own examples."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import transformers_response_parsing as trp

from .measure import Measured, Point, Row, Settings, Target, Timed, exponent, no_collection, point, stopwatch
from .registry import Case
from .texts import pieces

__all__ = ["CASES", "longer"]

# What ordinary text of a message looks like in an example: words, not markup. It can be written several times over
# without becoming something else.
_WORDS = re.compile(r"[A-Za-z][A-Za-z ,.']{3,}[a-z.]")


class Variant(NamedTuple):
    """One way to make a text of an example longer."""

    name: str
    text: Callable[[int], str]
    prefix: str
    tools: Any


def longer(example: dict[str, Any]) -> list[Variant]:
    """Ways to make an example's output longer: all of it again and again, and each of its texts on its own."""
    output = example["output"]
    prefix, tools = example.get("prefix", ""), example.get("tools")
    found = [Variant("all", lambda size: output * -(-size // len(output)), prefix, tools)] if output else []
    seen = set()
    for value in _texts(example.get("message")):
        match = _WORDS.search(value)
        if match is None or match.group() in seen or match.group() not in output:
            continue
        seen.add(match.group())
        words = match.group()
        before, _, after = output.partition(words)

        def text(size: int, words: str = words, before: str = before, after: str = after) -> str:
            return before + " ".join([words] * (size // (len(words) + 1) + 1)) + after

        found.append(Variant(words[:12], text, prefix, tools))
    return found


def _texts(value: Any) -> Iterator[str]:
    """All strings in a message, but for the names of things."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("role", "name", "type", "id"):
                yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _one_shot(template: trp.ResponseTemplate, variant: Variant, size: int) -> Timed:
    text = variant.text(size)
    return stopwatch(
        lambda: trp.parse_response(text, template, prefix=variant.prefix, tools=variant.tools, on_error="keep")
    )


def _streaming(template: trp.ResponseTemplate, variant: Variant, size: int) -> Timed:
    chunks = pieces(variant.text(size))

    def run() -> None:
        parser = trp.ResponseParser(template, prefix=variant.prefix, tools=variant.tools, on_error="keep")
        for chunk in chunks:
            parser.feed(chunk)
        parser.finalize()

    return stopwatch(run)


_Way = Callable[[trp.ResponseTemplate, Variant, int], Timed]
_WAYS: tuple[tuple[str, _Way], ...] = (("one_shot", _one_shot), ("stream", _streaming))


def _run(settings: Settings) -> Iterator[Row]:
    """For each family and way: the variant that grows most, measured again if it seems to grow too much."""
    first = settings.pick(8_000, 2_000, 100)
    sizes = [first << step for step in range(4)]
    for entry in trp.list_templates():
        if settings.size == "tiny" and entry.name != "qwen3":
            continue
        template = trp.ResponseTemplate.load(entry.response_template)
        variants = [
            (f"{number}/{variant.name}", variant)
            for number, example in enumerate(entry.examples)
            for variant in longer(example)
        ]
        if settings.size != "full":
            variants = variants[:: max(1, len(variants) // 4)]
        for way_name, way in _WAYS:
            yield _worst(f"library.{entry.name}.{way_name}", template, variants, way, sizes, settings)


def _worst(
    name: str,
    template: trp.ResponseTemplate,
    variants: list[tuple[str, Variant]],
    way: _Way,
    sizes: list[int],
    settings: Settings,
) -> Row:
    grown = []
    for label, variant in variants:
        slope = _slope(template, variant, way, sizes, 2)
        if slope > 1.05 and settings.size == "full":
            slope = _slope(template, variant, way, [size * 4 for size in sizes], 5)
        grown.append((slope, label, variant))
    slope, label, variant = max(grown, key=lambda item: item[0])
    if slope > 1.05 and settings.size == "full":
        sizes = [size * 4 for size in sizes]
    points: list[Point] = [
        point(size, Measured(size // 1000 or 1, {"ours": way(template, variant, size)}), settings) for size in sizes
    ]
    row = Row(name, f"the fastest growing of {len(variants)} texts", "us/1,000 chars", points)
    row.targets = [Target("exponent", 1.1, False, row.exponent())]
    row.note = f"example {label}"
    row.values = {"median exponent of all texts": statistics.median(item[0] for item in grown)}
    return row


def _slope(template: trp.ResponseTemplate, variant: Variant, way: _Way, sizes: list[int], rounds: int) -> float:
    runs = [(size, way(template, variant, size)) for size in sizes]
    best: dict[int, float] = {}
    for _ in range(rounds):
        for size, run in runs:
            with no_collection():
                best[size] = min(best.get(size, float("inf")), run())
    return exponent(list(best.items()))


CASES = [Case("library", _run)]
