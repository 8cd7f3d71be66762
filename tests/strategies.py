# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies: delimiters with texts that match them, templates, generations that are likely to hit them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import regex
from hypothesis import strategies as st

__all__ = ["ALPHABET", "LITERALS", "Case", "Pattern", "cases", "chunking_names", "literal_cases", "patterns"]

LITERALS = ("<t>", "</t>", "<tt>", "<t", "<u>", "</u>", "|", "||", "ab", "aab", "abab", "\n#", "#", "◁x▷", "</", ">")
ALPHABET = "ab<>/t#| \n1"
FILLERS = (" ", "\n", "a", "b", "x", "1", "<", "</", "\n\n", "é", "👩", '"', "{", "}", "Hi there", "  ")
JSON_BODIES = (
    "1",
    "{}",
    "[]",
    '"s"',
    '{"a": 1}',
    '{"a": "x"}',
    "[1, [2]]",
    "null",
    "true",
    '{"a": {"b": []}}',
    "{x",
    "",
)
# Fields as templates have them for tool calls: groups in either delimiter, and a list of calls in one region.
CALLS: tuple[dict[str, Any], ...] = (
    {
        "open_pattern": r"<t=(?P<n>\w+)>|<u=(?P<n>\w+)>",
        "close_pattern": r"</t(?:=(?P<n>\w))?>|\Z",
        "repeats": True,
        "content": "json",
        "transform": {"type": "function", "function": {"name": "{n}", "arguments": "{content}"}},
    },
    {
        "open_pattern": r"\s*<t=(?P<g>\w+)>\s*",
        "close": "</t>",
        "content": "json",
        "transform_each": True,
        "transform": {"g": "{g}", "k": "{k}"},
    },
)
CALL_EXAMPLES = [
    "<t=a>",
    "<u=bb>",
    "</t>",
    "</t=c>",
    '<t=a>[{"k": 1}]</t>',
    '<u=a>{"k": "</t>"}</t=z>',
    "\n<t=a>\n[]</t>",
]


@dataclass(frozen=True)
class Pattern:
    """A regex and some texts that it matches, at least in some context."""

    text: str
    examples: tuple[str, ...]


@dataclass
class Case:
    """A template, what of the prompt is parsed, and a generation."""

    template: dict[str, Any]
    tail: str
    output: str
    examples: list[str] = field(default_factory=list)

    @property
    def prefix(self) -> str:
        """The prompt: its anchor and what comes after."""
        return f"user<A>{self.tail}"


def _escaped(literal: str) -> str:
    return regex.escape(literal, literal_spaces=True)


@st.composite
def patterns(draw: st.DrawFn, *, zero_width: bool = True) -> Pattern:
    """The shapes that real templates use, and random small regexes."""
    one, two = draw(st.sampled_from(LITERALS)), draw(st.sampled_from(LITERALS))
    a, b = _escaped(one), _escaped(two)
    shapes = [
        Pattern(rf"\s*{a}", (one, f" \n{one}")),
        Pattern(rf"{a}\s*", (one, f"{one}\n ")),
        Pattern(rf"\s*{a}\s*", (one, f"\n{one} ")),
        Pattern(rf"{a}(?:{b})?", (one, one + two)),
        Pattern(rf"{a}(?:\s*{b})?", (one, one + two, f"{one}\n{two}")),
        Pattern(rf"{a}|{b}", (one, two)),
        Pattern(rf"{a}|{a}{b}", (one, one + two)),
        Pattern(rf"{a}{b}|{a}", (one, one + two)),
        Pattern(rf"{a}|\Z", (one,)),
        Pattern(rf"{a}|$", (one,)),
        Pattern(rf"(?:{a}|{b})\s*|$", (one, two, f"{one} ")),
        Pattern(rf"{a}(?={b})", (one + two,)),
        Pattern(rf"{a}(?!{b})", (one, one + two)),
        Pattern(rf"{a}\s*(?=[<{{])", (f"{one}<", f"{one} {{")),
        Pattern(rf"{a}.*?{b}", (one + two, f"{one}x\n{two}")),
        Pattern(rf"{a}[^<]*{b}", (one + two, f"{one}x {two}")),
        Pattern(rf"{a}\w+>", (f"{one}ab>",)),
        Pattern(r"#{2,3}", ("##", "###", "####")),
        Pattern(r"(?:ab){1,2}", ("ab", "abab", "ababab")),
        Pattern(r"\bab", ("ab", " ab", "xab")),
        Pattern(r"ab\b", ("ab", "ab ", "abx")),
        Pattern(rf"^{a}", (one,)),
        Pattern(rf"(?<=\n){a}", (f"\n{one}", one)),
        Pattern(rf"(?<!\n){a}", (f"x{one}", f"\n{one}")),
        Pattern(rf"(?<!{b}){a}", (one, two + one)),
        Pattern(rf"(?<={b})\s*{a}", (two + one, f"{two} \n{one}", one)),
        Pattern(rf"(?<={b})(?=\s*{a})", (f"{two} {one}", two + one)),
        Pattern(rf"({a}|{b})\s*\1", (f"{one} {one}", one + two, two + two)),
        Pattern(rf"(?i){a}", (one, one.upper())),
        Pattern(r"(['\"])\1", ("''", '""', "'\"")),
        Pattern(rf"\n(?!\s){a}?", ("\n", f"\n{one}", "\n ")),
    ]
    if zero_width:
        shapes += [Pattern(rf"(?={a})", (one,)), Pattern(rf"{a}|(?={b})", (one, two)), Pattern(rf"(?<={a})", (one,))]
    return draw(st.one_of(st.sampled_from(shapes), _small_patterns()))


@st.composite
def _small_patterns(draw: st.DrawFn) -> Pattern:
    """A sequence of small parts, each with its own example; never empty."""
    parts = draw(st.lists(_parts(), min_size=1, max_size=4))
    head = draw(st.sampled_from("ab<#"))
    text = _escaped(head) + "".join(part for part, _ in parts)
    return Pattern(text, (head + "".join(example for _, example in parts), head))


@st.composite
def _parts(draw: st.DrawFn) -> tuple[str, str]:
    char, other = draw(st.sampled_from(ALPHABET)), draw(st.sampled_from(ALPHABET))
    c, o = _escaped(char), _escaped(other)
    return draw(
        st.sampled_from(
            [
                (c, char),
                (f"{c}?", char),
                (f"{c}*", char * 2),
                (f"{c}+?", char),
                (f"[{c}{o}]", other),
                (f"[^{c}]", "z"),
                (f"(?:{c}|{o})", char),
                (f"(?:{c}{o})*", char + other),
                (f"(?:{c}|{c}{o})", char + other),
                (f"{c}{{1,2}}", char * 2),
                (r"\s*", " "),
                (r"\w", "b"),
                (".", "y"),
                (".*?", "yy"),
            ]
        )
    )


@st.composite
def _delimiter(
    draw: st.DrawFn, spec: dict[str, Any], key: str, *, only_literals: bool, zero_width: bool = True
) -> list[str]:
    """Put an `open` or `close` into a field; return texts that hit it."""
    if only_literals or draw(st.booleans()):
        if draw(st.booleans()):
            literal = draw(st.sampled_from(LITERALS))
            spec[key] = literal
            return [literal]
        literals = draw(st.lists(st.sampled_from(LITERALS), min_size=1, max_size=3, unique=True))
        spec[key] = literals
        return literals
    pattern = draw(patterns(zero_width=zero_width))
    spec[f"{key}_pattern"] = pattern.text
    return list(pattern.examples)


def _content(draw: st.DrawFn, spec: dict[str, Any]) -> None:
    kind = draw(st.sampled_from(["text", "text", "text", "json", "json", "int", "bool", "kv-lines", "lenient"]))
    if kind == "text":
        if draw(st.booleans()):
            spec["content_args"] = {"strip": draw(st.booleans())}
    elif kind == "lenient":
        spec.update(content="json", content_args={"allow_non_json": True})
    else:
        spec["content"] = kind


@st.composite
def cases(draw: st.DrawFn, *, only_literals: bool = False, only_text: bool = False, zero_width: bool = True) -> Case:
    """A template of one to four fields and a text made of its delimiters, halves of them, and other text."""
    fields: dict[str, dict[str, Any]] = {}
    examples: list[str] = []
    for name in draw(st.sampled_from([("r",), ("r",), ("r", "u"), ("r", "u", "w")])):
        if not only_literals and draw(st.integers(0, 4)) == 0:
            fields[name] = draw(st.sampled_from(CALLS))
            examples += CALL_EXAMPLES
            continue
        spec: dict[str, Any] = {}
        examples += draw(_delimiter(spec, "open", only_literals=only_literals, zero_width=zero_width))
        if draw(st.integers(0, 7)):
            examples += draw(_delimiter(spec, "close", only_literals=only_literals, zero_width=zero_width))
        _rest(draw, spec, only_text)
        fields[name] = spec
    if draw(st.integers(0, 3)):
        spec = {}
        if draw(st.booleans()):
            examples += draw(_delimiter(spec, "close", only_literals=only_literals, zero_width=zero_width))
        _rest(draw, spec, only_text)
        spec.pop("transform", None)
        fields["content"] = spec
    template: dict[str, Any] = {"start_anchor": "<A>", "fields": fields}
    if draw(st.booleans()):
        template["defaults"] = draw(st.sampled_from([{"role": "assistant"}, {"role": "assistant", "other": None}]))
    bodies = JSON_BODIES if any(spec.get("content") == "json" for spec in fields.values()) else ("1", "a: b")
    pieces = st.one_of(
        *[st.sampled_from(examples)] * 4,
        st.sampled_from(FILLERS),
        st.sampled_from(bodies),
        st.sampled_from(examples).flatmap(lambda text: st.integers(0, len(text)).map(lambda size: text[:size])),
        st.text(ALPHABET, max_size=4),
        *(
            [st.sampled_from(examples).map(lambda text: json.dumps({"k": f"x{text}y"}))]
            if "json" in str(fields)
            else []
        ),
    )
    text = "".join(draw(st.lists(pieces, min_size=1, max_size=14)))
    border = draw(st.integers(0, len(text))) if draw(st.booleans()) else 0
    if "<A>" in text[:border]:
        border = 0
    return Case(template, text[:border], text[border:], examples)


def _rest(draw: st.DrawFn, spec: dict[str, Any], only_text: bool) -> None:
    if only_text:
        spec["content_args"] = {"strip": False}
        return
    _content(draw, spec)
    choice = draw(st.integers(0, 5))
    if choice == 0:
        spec["repeats"] = True
    elif choice == 1 and spec.get("content", "text") == "text":
        spec.update(repeats=True, join=draw(st.sampled_from(["", "\n", "+"])))
    elif choice == 2:
        spec["transform"] = draw(
            st.sampled_from(["{content}", {"type": "function", "function": "{content}"}, ["{content}", 1]])
        )


def literal_cases() -> st.SearchStrategy[Case]:
    """Cases whose delimiters are all literals and whose bodies are all text as written."""
    return cases(only_literals=True, only_text=True)


def chunking_names() -> st.SearchStrategy[str]:
    """Names of chunkings, for `chunkings.chunks`."""
    seeded = st.tuples(st.integers(1, 10_000), st.integers(1, 12)).map(lambda pair: f"seeded:{pair[0]}:{pair[1]}")
    return st.one_of(st.just("chars"), st.just("whole"), seeded)
