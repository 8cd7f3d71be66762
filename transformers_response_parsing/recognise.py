# SPDX-License-Identifier: Apache-2.0
"""Which family a chat template is of: by its fingerprint, or by its markers and then by proof."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from .chat_format import ChatFormat
from .check import check_format
from .errors import ResponseParsingError
from .rendering import ChatRenderer, chat_templates
from .report import CheckReport
from .template import ResponseTemplate

__all__ = ["Finding", "fingerprint", "markers_of", "recognise"]

_REMEMBERED = 256
# A family whose markers the chat template has not is tried only where it can read these cases.
_FIRST_CASES = ("one call", "one call with a string", "reasoning + content", "content only")
_SHOWN = 3


class Family(Protocol):
    """What is needed of an entry of the library."""

    @property
    def name(self) -> str: ...
    @property
    def recognise(self) -> Mapping[str, Any]: ...
    @property
    def response_template(self) -> dict[str, Any]: ...


class Finding(NamedTuple):
    """The family found, why, and whether its template is proven to invert the chat template."""

    family: str
    reason: str
    proven: bool


class _Candidate(NamedTuple):
    family: Family
    markers: tuple[str, ...]
    report: CheckReport
    doubt: str  # why it is not proven, "" if it is

    def rank(self) -> tuple[Any, ...]:
        """The better, the greater; the same for equally good candidates of another name."""
        passed = len(self.report.passed)
        fields = self.family.response_template["fields"]
        return (not self.doubt, passed, sum(map(len, self.markers)), -len(_unused(self.report, fields)))


_found: dict[Any, Finding | None] = {}


def recognise(source: Any, families: Mapping[str, Family]) -> Finding | None:
    """The family that fits a tokenizer, a processor or a chat template; None if none seems to.

    A fingerprint that a family lists is trusted. Else the families are candidates whose markers the chat template has, and
    the proof decides: each case that the chat template can render must pass, calls and reasoning must have been shown as far
    as the chat template has them. Among several proven ones the one with the most telling markers is returned; they are
    alike in all that can be rendered. If no candidate is proven, the other families are tried, too.

    Answers are remembered by chat template.

    Args:
        source: as for `find_template`.
        families: by name.
    """
    texts = source.texts if isinstance(source, ChatRenderer) else chat_templates(source)
    # The one for tools first: it is the one that shows the format of calls.
    ordered = [texts[name] for name in sorted(texts, key=lambda name: {"tool_use": 0, "default": 1}.get(name, 2))]
    for text in ordered:
        digest = fingerprint(text)
        known = (f.name for f in families.values() if digest in f.recognise.get("chat_template_sha256", ()))
        name = next(known, None)
        if name is not None:
            return Finding(name, f"the chat template is one that {name} is known to fit (SHA-256 {digest[:12]}…)", True)
    # What is no Jinja has nothing to render, nor to recognise but the markers.
    if not any("{%" in text or "{{" in text for text in ordered):
        return _by_markers(ordered, families, "it can't be rendered")
    renderer = source if isinstance(source, ChatRenderer) else ChatRenderer(source)
    key = (*ordered, renderer.end, tuple(families))
    if key not in _found:
        if len(_found) >= _REMEMBERED:
            _found.clear()
        _found[key] = _prove(renderer, ordered, families)
    return _found[key]


def fingerprint(text: str) -> str:
    """SHA-256 of a chat template's UTF-8 text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def markers_of(texts: Iterable[str], markers: Mapping[str, Any]) -> tuple[str, ...]:
    """The markers by which one of the texts is recognised; () if none is.

    Args:
        texts: chat templates.
        markers: `contains`: a list of strings that must all occur, or a list of such lists, of which one suffices;
            `not_contains`: a list of strings none of which may occur.
    """
    contains = markers.get("contains", ())
    alternatives = [contains] if all(isinstance(item, str) for item in contains) else contains
    found = [
        tuple(alternative)
        for text in texts
        for alternative in alternatives
        if alternative
        and all(marker in text for marker in alternative)
        and not any(marker in text for marker in markers.get("not_contains", ()))
    ]
    return max(found, key=lambda item: sum(map(len, item)), default=())


def _by_markers(texts: list[str], families: Mapping[str, Family], why: str) -> Finding | None:
    """The best guess, for a chat template that can't be rendered."""
    marked = {family.name: markers_of(texts, family.recognise) for family in families.values()}
    marked = {name: markers for name, markers in marked.items() if markers}
    if not marked:
        return None
    name = max(marked, key=lambda name: (sum(map(len, marked[name])), name))
    others = [other for other in marked if other != name]
    also = f"; also possible: {', '.join(others)}" if others else ""
    said = ", ".join(map(repr, marked[name]))
    return Finding(
        name, f"the chat template has the markers of {name} ({said}), but this is not proven: {why}{also}", False
    )


def _prove(renderer: ChatRenderer, texts: list[str], families: Mapping[str, Family]) -> Finding | None:
    marked = {family.name: markers_of(texts, family.recognise) for family in families.values()}
    chat = ChatFormat(renderer)
    if not any(not turn.problem for turn in chat.turns):
        why = next(iter(chat.turns)).problem
        return _by_markers(texts, families, f"the chat template {why}")
    candidates = [_candidate(chat, families[name], markers) for name, markers in marked.items() if markers]
    if not any(candidate.doubt == "" for candidate in candidates):
        rest = [families[name] for name, markers in marked.items() if not markers]
        candidates += [_candidate(chat, family, ()) for family in rest if _may_fit(chat, family)]
    best = max(candidates, key=lambda candidate: (*candidate.rank(), candidate.family.name), default=None)
    if best is None or (best.doubt and not best.markers):
        return _by_markers(texts, families, best.doubt if best else "no case passes")
    name, report = best.family.name, best.report
    how = (
        f"the chat template has the markers of {name}"
        if best.markers
        else f"{name} reads what the chat template writes"
    )
    if best.doubt:
        others = [other.family.name for other in candidates if other is not best and other.markers]
        also = f"; also possible: {', '.join(others)}" if others else ""
        return Finding(name, f"{how}, but this is not proven: {best.doubt}{also}", False)
    alike = [other.family.name for other in candidates if other is not best and not other.doubt]
    also = f"; {', '.join(alike)} would do as well" if alike else ""
    unused = _unused(report, best.family.response_template["fields"])
    untried = f", though it does not render {' and '.join(unused)}" if unused else ""
    passed = f"all {len(report.rendered)} conversations that it can render are read back right"
    return Finding(name, f"{how}, and {passed}{untried}{also}", True)


def _candidate(chat: ChatFormat, family: Family, markers: tuple[str, ...]) -> _Candidate:
    try:
        template = ResponseTemplate.load(family.response_template)
    except ResponseParsingError as error:
        return _Candidate(family, markers, CheckReport(()), f"its template is wrong: {error}")
    report = check_format(chat, template, quick=True)
    return _Candidate(family, markers, report, _doubt(chat, report, template.source["fields"]))


def _may_fit(chat: ChatFormat, family: Family) -> bool:
    """Whether a family reads the first cases, of which one must be more than plain content."""
    try:
        template = ResponseTemplate.load(family.response_template)
    except ResponseParsingError:
        return False
    report = check_format(chat, template, quick=True, only=_FIRST_CASES)
    return report.ok and len(report.passed) > 1


def _doubt(chat: ChatFormat, report: CheckReport, fields: Mapping[str, Any]) -> str:
    """Why a report proves nothing, as a clause; "" if it is a proof."""
    if report.failures:
        names = [case.name for case in report.failures]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        verb = "is" if len(names) == 1 else "are"
        return f"of {len(report.rendered)} conversations {len(names)} {verb} read back wrong ({', '.join(names[:_SHOWN])}{more})"
    unused = _unused(report, fields)
    has_tools = chat.renderer.reads("tools")
    if has_tools and ("tool calls" in unused or "tool_calls" not in fields):
        return "the chat template knows tools but does not render calls"
    if (
        len(report.passed) == 0
        or set(unused) >= {"tool calls", "reasoning"}
        or not {"tool_calls", *_REASONING} & {*fields}
    ):
        return "the chat template renders neither reasoning nor calls, so that nothing tells"
    if not any((case.expected or {}).get("content") for case in report.passed):
        return "the chat template renders no content"
    if chat.thinks and not set(_REASONING) & set(fields):
        return "the chat template knows reasoning, which the response template does not"
    return ""


_REASONING = ("reasoning_content", "reasoning", "thinking")


def _unused(report: CheckReport, fields: Mapping[str, Any]) -> list[str]:
    """Which fields of a template no passed case shows, in words."""
    shown = {key for case in report.passed for key in (case.expected or {})}
    unused = []
    if "tool_calls" in fields and "tool_calls" not in shown:
        unused.append("tool calls")
    if set(_REASONING) & set(fields) and "reasoning_content" not in shown:
        unused.append("reasoning")
    return unused
