# SPDX-License-Identifier: Apache-2.0
"""Warnings about templates that load: what other implementations may not run, what is slow, what is probably not meant.

A warning never stops a template. Which regex constructs are not portable is the seed document's list ("portabilidad de
expresiones regulares"), and what the `regex` module adds to the common syntax.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

import regex

from . import limits
from .backtracking import slow_text
from .errors import Problem
from .source import join_path

__all__ = ["pattern_warnings", "slow_patterns", "template_warnings"]

_MOST_SHOWN = 40

_FIELD_NAMES = ("role", "reasoning_content", "content", "tool_calls")
# What other APIs call the same thing.
_OTHER_NAMES = {
    "reasoning_content": "thinking reasoning thought thoughts thinking_content think cot analysis",
    "tool_calls": "tool_call tools function_call function_calls functions calls actions",
    "content": "text answer response final output message",
}
_MEANT = {name: meant for meant, names in _OTHER_NAMES.items() for name in names.split()}

_PORTABLE = "other implementations may not have it"
# One token of a pattern a time, so that escapes and character classes are never read as syntax.
_TOKEN = re.compile(
    r"""
      (?P<back_reference>\\[1-9] | \\g<[^>]*> | \(\?P=\w+\))
    | (?P<regex_only>\\[KGXRmML] | \(\*\w+\) | \(\?\|)
    | \\[pPN]\{[^}]*\} | \\.
    | \[\^?\]?(?:\\.|[^\]\\])*\]
    | \(\?\#[^)]*\)
    | (?P<flags>\(\?[a-zA-Z]+(?:-[a-z]+)?\) | \(\?[a-zA-Z]*-?[a-zA-Z]+:)
    | (?P<open>(?P<look_behind>\(\?<[=!]) | (?P<atomic>\(\?>) | (?P<conditional>\(\?\()
        | (?P<group_name>\(\?<\w+>) | \(\?(?:P<\w+>|[:=!]) | \()
    | (?P<close>\))
    | (?P<possessive>(?:[*+?]|\{\d*,?\d*\})\+)
    | (?P<fuzzy>\{(?:\d+<=?)?[eids](?:<=?\d+|[,}]))
    | (?P<many>[*+]\??|\{\d*,\}\??)
    | (?P<few>\?\??|\{\d*,?\d+\}\??)
    | (?P<or>\|)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_CONSTRUCTS = {
    "look_behind": f"uses look-behind: {_PORTABLE}",
    "back_reference": f"uses a back-reference: {_PORTABLE}, and it is slower than a regular pattern",
    "atomic": f"uses an atomic group: {_PORTABLE}, write (?:…)",
    "possessive": f"uses a possessive quantifier: {_PORTABLE}, leave the last + out",
    "conditional": f"uses a conditional group: {_PORTABLE}, write the two cases as alternatives",
    "fuzzy": "uses fuzzy matching, which only Python's `regex` module has: write {…} as \\{…} if it is meant literally",
    "regex_only": f"uses a construct only Python's `regex` module has: {_PORTABLE}",
    "flags": f"sets flags in the pattern: {_PORTABLE}; DOTALL and Unicode are always on",
    "group_name": "names a group with (?<name>…): write (?P<name>…), which every implementation must read",
}
_NESTED = "repeats a repetition, as in (a+)+: on some texts that takes exponential time, write it with one repetition"


def pattern_warnings(pattern: str) -> tuple[str, ...]:
    """What is not portable or may be slow in a regex that compiles, each sentence once, in order of appearance."""
    found: dict[str, None] = {}
    # A frame for each open group: [atoms in the branch, the only one is repeated without limit, so in any branch].
    stack: list[list[Any]] = [[0, False, False]]
    closed: list[Any] | None = None
    for token in _TOKEN.finditer(pattern):
        found.update((message, None) for kind, message in _CONSTRUCTS.items() if token[kind])
        top = stack[-1]
        if token["open"] or (token["flags"] or "").endswith(":"):
            top[0] += 1
            top[1] = False
            stack.append([0, False, False])
        elif token["close"]:
            closed = stack.pop() if len(stack) > 1 else None
            if closed:
                stack[-1][1] = stack[-1][0] == 1 and (closed[1] or closed[2])
            continue
        elif token["or"]:
            top[2] = top[2] or top[1]
            top[0], top[1] = 0, False
        elif token["many"]:
            if closed and (closed[1] or closed[2]):
                found[_NESTED] = None
            top[1] = top[0] == 1
        elif not token["few"] and not token["possessive"] and not token["fuzzy"]:
            top[0] += 1
            top[1] = False
        closed = None
    return tuple(found)


class _Probes:
    """Tries what the regexes of one template match, for `limits.PROBE_SECONDS` in all; after that, nothing is told of them."""

    def __init__(self) -> None:
        self._left = limits.PROBE_SECONDS

    def can_match_nothing(self, pattern: str) -> bool:
        """Whether a regex matches the empty string in the middle of any text (`$`, `^` and look-aheads do not)."""
        if self._left <= 0:
            return False
        begin = monotonic()
        try:
            compiled = regex.compile(pattern, regex.DOTALL, cache_pattern=False)
            # Between characters that no pattern names.
            match = compiled.match("\ue000\ue001\ue002", 1, timeout=self._left)
        except (TimeoutError, MemoryError):
            return False
        finally:
            self._left -= monotonic() - begin
        return match is not None and match.end() == 1


def template_warnings(template: Mapping[str, Any]) -> Iterator[Problem]:
    """Warnings about a valid template (its source) that concern more than one regex."""
    probes = _Probes()
    yield from _anchor_warnings(template, probes)
    fields: dict[str, dict[str, Any]] = template["fields"]
    if "role" not in fields and "role" not in template.get("defaults", {}):
        message = 'the message gets no role: add {"role": "assistant"}, or it can\'t be appended to a chat as it is'
        yield Problem("defaults", message)
    opened: dict[str, str] = {}
    # At one place and with one length, the field whose name sorts first wins.
    winners: dict[str, str] = {}
    for name in sorted(fields):
        for literal in _literals(fields[name], "open"):
            winners.setdefault(literal, name)
    for name, spec in fields.items():
        path = join_path("fields", name)
        if "into" not in spec:
            yield from _name_warnings(name, path, fields)
        yield from _call_warnings(spec.get("into", name), spec, path)
        yield from _field_pattern_warnings(spec, path, probes)
        for key in ("open", "close"):
            yield from _repeated_literals(spec, path, key)
        yield from _shadowed_opens(name, spec, path, winners)
        opened.update((literal, name) for literal in _literals(spec, "open"))
        transform = spec.get("transform")
        if (
            name == "tool_calls"
            and isinstance(transform, dict)
            and not (spec.get("repeats") or spec.get("transform_each"))
        ):
            yield Problem(path, 'gives one call, not a list, and keeps only the last one: add "repeats": true')
    for name, spec in fields.items():
        if not {"open", "open_pattern"} & spec.keys():
            yield from _shadowed_closes(spec, join_path("fields", name), opened)


def slow_patterns(template: Mapping[str, Any]) -> Iterator[Problem]:
    """Warnings about patterns of a valid template (its source) that a backtracking engine can't end in time."""
    for path, pattern in _patterns(template, ""):
        text = slow_text(pattern)
        if text is not None:
            shown = repr(text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…")
            yield Problem(path, f"backtracks without end on {shown}: let no text match a repetition in two ways")


def _patterns(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """(path, pattern) of every regex of a template."""
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if isinstance(item, str) and (key.endswith("_pattern")):
            yield join_path(path, key), item
        elif key != "defaults" and key != "transform":
            yield from _patterns(item, join_path(path, key))


def _anchor_warnings(template: Mapping[str, Any], probes: _Probes) -> Iterator[Problem]:
    pattern = template.get("start_anchor_pattern")
    if pattern is None:
        yield from _repeated_literals(template, "", "start_anchor")
        return
    for message in pattern_warnings(pattern):
        yield Problem("start_anchor_pattern", message)
    if probes.can_match_nothing(pattern):
        message = "can match nothing, everywhere, so that the whole prefix is cut away: make a part of it obligatory"
        yield Problem("start_anchor_pattern", message)


def _name_warnings(name: str, path: str, fields: Mapping[str, Any]) -> Iterator[Problem]:
    meant = _MEANT.get(name.lower())
    if meant is None and name not in _FIELD_NAMES:
        close = difflib.get_close_matches(name.lower(), _FIELD_NAMES, 1, 0.8)
        meant = close[0] if close else None
    if meant is not None and meant not in fields:
        yield Problem(path, f"chat templates read '{meant}': call the field so, unless the model's own reads '{name}'")


def _call_warnings(key: str, spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Calls that no chat template finds again: what is shaped as a call, under another key of the message than tool_calls."""
    transform = spec.get("transform")
    if key != "tool_calls" and isinstance(transform, dict) and "function" in transform:
        message = (
            f"makes calls, but writes them to '{key}' of the message, which no chat template reads: call the field 'tool_calls', "
            'or, beside a field of that name, add "into": "tool_calls"'
        )
        yield Problem(f"{path}.into" if "into" in spec else path, message)


def _field_pattern_warnings(spec: Mapping[str, Any], path: str, probes: _Probes) -> Iterator[Problem]:
    for key, consequence in (("open_pattern", "opens the region"), ("close_pattern", "closes the region")):
        pattern = spec.get(key)
        if pattern is None:
            continue
        for message in pattern_warnings(pattern):
            yield Problem(f"{path}.{key}", message)
        if probes.can_match_nothing(pattern):
            message = f"can match nothing, so that it {consequence} everywhere: make a part of it obligatory"
            yield Problem(f"{path}.{key}", message)
        if "content" in regex.compile(pattern, cache_pattern=False).groupindex:
            message = "the group named 'content' hides the parsed body from the transform: use another name"
            yield Problem(f"{path}.{key}", message)
    yield from _argument_warnings(spec.get("content_args", {}), f"{path}.content_args")


def _argument_warnings(args: Any, path: str) -> Iterator[Problem]:
    if not isinstance(args, dict):
        return
    if isinstance(args.get("tag_pattern"), str):
        for message in pattern_warnings(args["tag_pattern"]):
            yield Problem(f"{path}.tag_pattern", message)
    nested = args.get("value_parser")
    if isinstance(nested, dict):
        yield from _argument_warnings(nested.get("args"), f"{path}.value_parser.args")


def _literals(spec: Mapping[str, Any], key: str) -> list[str]:
    value = spec.get(key, [])
    return [value] if isinstance(value, str) else list(value)


def _repeated_literals(spec: Mapping[str, Any], path: str, key: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, literal in enumerate(_literals(spec, key)):
        if literal in seen:
            yield Problem(f"{join_path(path, key)}[{index}]", "is there twice: remove one")
        seen.add(literal)


def _shadowed_opens(name: str, spec: Mapping[str, Any], path: str, winners: Mapping[str, str]) -> Iterator[Problem]:
    literals = _literals(spec, "open")
    lost = {index: winners[literal] for index, literal in enumerate(literals) if winners[literal] != name}
    if literals and len(lost) == len(literals):
        others = " and ".join(f"'{other}'" for other in dict.fromkeys(lost.values()))
        message = (
            f"the field is never opened: {others} has the same literal and comes first in the alphabet; change one"
        )
        yield Problem(f"{path}.open", message)
        return
    for index, other in lost.items():
        yield Problem(f"{path}.open[{index}]", f"never matches: '{other}' has the same literal; remove one")


def _shadowed_closes(spec: Mapping[str, Any], path: str, opened: Mapping[str, str]) -> Iterator[Problem]:
    value = spec.get("close")
    for index, literal in enumerate(_literals(spec, "close")):
        if literal in opened:
            where = f"{path}.close" if isinstance(value, str) else f"{path}.close[{index}]"
            yield Problem(
                where, f"never matches: it opens '{opened[literal]}', and an open comes before a close; remove it"
            )
