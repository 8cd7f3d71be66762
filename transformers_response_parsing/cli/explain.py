# SPDX-License-Identifier: Apache-2.0
"""`response-template explain`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .console import Console
from .generation import Request, add_arguments
from .page import replay_page
from .reasons import Verdict, anchor_verdict, verdicts
from .trace import Span, Trace, trace

__all__ = ["register"]

_EXAMPLES = """\
  response-template explain qwen3 output.txt
  response-template explain template.json output.txt --prefix-file prompt.txt
  response-template explain gptoss output.txt --html replay.html    # a page with a slider
  response-template explain ./my-model ids.json --ids --tokenizer ./my-model"""
_DETAILS = """\
In colour: each field has one; delimiters are set off, what no field claims is red. Then, for each delimiter of the template, where
it matched, or why it did not. --html writes one page (a file of its own, nothing is loaded from anywhere) that replays the stream
character by character.

Exit code 1 if something could not be parsed."""
_COLORS = ("magenta", "cyan", "green", "yellow", "blue")
_KNOWN = {"reasoning_content": "magenta", "tool_calls": "cyan", "content": "green"}
_MAX_STEPS = 20_000


def register(add: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the command."""
    command = add(
        "explain",
        _run,
        summary="show which characters of an output are delimiter, region or unclaimed, and why",
        examples=_EXAMPLES,
        details=_DETAILS,
    )
    add_arguments(command, on_error=False)
    command.add_argument("--html", metavar="FILE", help="write the page there")


def _run(arguments: argparse.Namespace) -> int:
    console = Console.of(arguments)
    request = Request(arguments, console)
    generation = request.generation()
    text = request.text(generation)
    step = max(1, -(-len(text) // _MAX_STEPS))
    options = {"prefix": request.prefix, "tools": request.tools, "end": request.end}
    found = trace(request.template, text, piece=step if arguments.html else max(1, len(text)), **options)
    why = verdicts(request.template, found)
    anchor = anchor_verdict(request.template, request.prefix)
    if arguments.html:
        page = replay_page(found, why, anchor, request.template)
        Path(arguments.html).write_text(page, encoding="utf-8", newline="\n")
        console.hint(f"written: {arguments.html}")
    if arguments.json:
        console.json(_as_json(found, why, anchor))
    else:
        _show(console, found, why, anchor)
    console.hint_if(request.doubt(generation, found.message))
    return 1 if found.problem or "malformed" in found.message else 0


def _show(console: Console, found: Trace, why: list[Verdict], anchor: str) -> None:
    names = dict.fromkeys(verdict.field for verdict in why)
    others = iter(color for color in _COLORS * 20 if color not in _KNOWN.values())
    colors = {name: _KNOWN.get(name) or next(others) for name in names}
    pieces = found.pieces()
    if console.color:
        legend = [console.style(f"■ {name}", color) for name, color in colors.items()]
        marks = [console.style("delimiter", "bold", "reverse"), console.style("unclaimed", "red", "underline")]
        console.line("   ".join([*legend, *marks]))
        console.line()
        for piece in pieces:
            _paint(console, found.text[piece.start : piece.stop], _styles(piece, colors))
        console.line()
        console.line()
    console.line("Characters", "bold")
    for piece in pieces:
        place = f"{piece.start}-{piece.stop}"
        what = {"open": "opens", "close": "closes", "region": "in"}.get(piece.kind, piece.kind)
        named = f"{what} {piece.field}" if piece.field else what
        room = max(20, console.width - 42) if console.interactive else 120
        shown = _cut(json.dumps(found.text[piece.start : piece.stop], ensure_ascii=False), room)
        console.write(f"  {place:>13}  ", "dim")
        console.line(f"{named:<24}  {shown}", *_styles(piece, colors)[-1:])
    _show_verdicts(console, why, anchor, colors)
    console.line()
    console.line("The message", "bold")
    console.json(found.message)
    for entry in found.message.get("malformed", ()):
        console.line(f"{entry['field']} can't be parsed: {entry['error']}", "red")
    if found.problem:
        console.line(found.problem, "red")


def _show_verdicts(console: Console, why: list[Verdict], anchor: str, colors: dict[str, str]) -> None:
    console.line()
    console.line("Delimiters", "bold")
    console.line(f"  prompt: {anchor}")
    field = None
    for verdict in why:
        if verdict.field != field:
            field = verdict.field
            console.line(f"  {field}", colors[field])
        places = ", ".join(f"{start}-{stop}" for start, stop in verdict.matches[:8])
        more = f" and {len(verdict.matches) - 8} more" if len(verdict.matches) > 8 else ""
        if not verdict.delimiter:
            console.line(f"    {verdict.key:<5}  {verdict.reasons[0]}", "dim")
            continue
        said = f"matched at {places}{more}" if verdict.matches else "no match"
        console.line(f"    {verdict.key:<5}  {_cut(verdict.delimiter, 100)}  {said}")
        for reason in verdict.reasons:
            console.line(f"           {reason}", *([] if verdict.matches else ["yellow"]))


def _styles(piece: Span, colors: dict[str, str]) -> list[str]:
    if piece.kind == "after the end":
        return ["dim"]
    if piece.field is None:
        return ["underline", "red"]
    color = colors[piece.field]
    return [color] if piece.kind == "region" else ["bold", "reverse", color]


def _paint(console: Console, text: str, styles: list[str]) -> None:
    """Line by line: a terminal paints the rest of a line in the style that is on at its end."""
    first, *lines = text.replace("\r", "").split("\n")
    console.write(first, *styles)
    for line in lines:
        # In what is set off, a newline would not be seen.
        console.write("⏎\n" if "reverse" in styles else "\n", *styles[-1:])
        console.write(line, *styles)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _as_json(found: Trace, why: list[Verdict], anchor: str) -> dict[str, Any]:
    keys = ("start", "stop", "kind", "field")
    return {
        "text": found.text,
        "generated": found.generated,
        "characters": [dict(zip(keys, piece, strict=False)) for piece in found.pieces()],
        "prompt": anchor,
        "delimiters": [verdict._asdict() for verdict in why],
        "message": found.message,
        "problem": found.problem or None,
    }
