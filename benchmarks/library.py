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
_MOST = 1.1
_WAYS: tuple[tuple[str, _Way], ...] = (("one_shot", _one_shot), ("stream", _streaming))


class _Grown(NamedTuple):
    """How a text of an example grows."""

    slope: float
    sizes: list[int]
    family: str
    label: str
    template: trp.ResponseTemplate
    variant: Variant


def _run(settings: Settings) -> Iterator[Row]:
    """All families; what is drawn and shown point by point is the text that grows most."""
    entries = trp.list_templates()
    if settings.size == "tiny":
        entries = [entry for entry in entries if entry.name == "qwen3"]
    for way_name, way in _WAYS:
        grown = [found for entry in entries for found in _measure(entry, way, settings)]
        worst = max(grown, key=lambda item: item.slope)
        points: list[Point] = [
            point(size, Measured(size // 1000 or 1, {"ours": way(worst.template, worst.variant, size)}), settings)
            for size in worst.sizes
        ]
        row = Row(f"library.{way_name}", "the fastest growing text of the library", "us/1,000 chars", points)
        for item in grown:
            row.details[item.family] = max(item.slope, row.details.get(item.family, 0.0))
        row.targets = [Target("exponent", 1.1, False, max(worst.slope, row.exponent() or 0.0))]
        row.values = {
            "families": len(entries),
            "texts": len(grown),
            "median exponent": statistics.median(item.slope for item in grown),
        }
        above = sorted({item.family for item in grown if item.slope > _MOST})
        row.note = f"{worst.family}, example {worst.label}" + (f"; above {_MOST}: {', '.join(above)}" if above else "")
        yield row


def _measure(entry: trp.TemplateEntry, way: _Way, settings: Settings) -> Iterator[_Grown]:
    first = settings.pick(4_000, 1_000, 100)
    sizes = [first << step for step in range(4)]
    template = trp.ResponseTemplate.load(entry.response_template)
    variants = [
        (f"{number} ({variant.name})", variant)
        for number, example in enumerate(entry.examples)
        for variant in longer(example)
    ]
    variants = variants[: settings.pick(4, 1, 1)]  # all of them take an hour
    for label, variant in variants:
        slope, took = _slope(template, variant, way, sizes, 2)
        measured = sizes
        if slope > 1.05 and settings.size == "full":
            # Small texts mislead: the first use of a template, caches. The larger ones count, if they are to be had.
            measured = [size * 4 for size in sizes] if took < 1.0 else sizes
            slope, _ = _slope(template, variant, way, measured, 5 if took < 1.0 else 2)
        yield _Grown(slope, measured, entry.name, label, template, variant)


def _slope(
    template: trp.ResponseTemplate, variant: Variant, way: _Way, sizes: list[int], rounds: int
) -> tuple[float, float]:
    """Exponent of the best times of some rounds, and seconds for the largest size."""
    runs = [(size, way(template, variant, size)) for size in sizes]
    best: dict[int, float] = {}
    with no_collection():
        for _ in range(rounds):
            for size, run in runs:
                best[size] = min(best.get(size, float("inf")), run())
    return exponent(list(best.items())), best[sizes[-1]]


CASES = [Case("library", _run)]
