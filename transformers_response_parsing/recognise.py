# SPDX-License-Identifier: Apache-2.0
"""Which family a chat template is of: by its fingerprint, or by its markers and then by proof."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import regex

from . import limits
from .chat_format import ChatFormat, RenderedTurn
from .check import check_format, reads_turn
from .errors import ResponseParsingError
from .prose import prose_misread
from .remembered import Remembered
from .rendering import ChatRenderer, chat_templates
from .report import CheckReport
from .template import ResponseTemplate

__all__ = ["Finding", "fingerprint", "markers_of", "recognise"]

_REMEMBERED = 256
# A family whose markers the chat template has not is tried only where it can read these cases, the most telling first.
_FIRST_CASES = ("one call", "reasoning + content", "one call with a string", "content only")
_SHOWN = 3


class Family(Protocol):
    """What is needed of an entry of the library."""

    @property
    def name(self) -> str: ...
    @property
    def models(self) -> tuple[str, ...]: ...
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
    """A family that may fit; `wrong`: why it has no template, `order`: the less, the sooner it is tried."""

    family: Family
    markers: tuple[str, ...]
    template: ResponseTemplate | None
    wrong: str
    order: tuple[Any, ...]


class _Tried(NamedTuple):
    """A candidate and its proof; `doubt`: why it is not proven, "" if it is."""

    candidate: _Candidate
    report: CheckReport
    doubt: str


_found: Remembered[Finding | None] = Remembered(_REMEMBERED)


def recognise(source: Any, families: Mapping[str, Family]) -> Finding | None:
    """The family that fits a tokenizer, a processor or a chat template; None if none seems to.

    A fingerprint that a family lists is trusted. Else the families are candidates whose markers the chat template has, and
    the proof decides: each case that the chat template can render must pass, calls and reasoning must have been shown as far
    as the chat template has them. If no candidate is proven, the other families are tried, too.

    Of several families that can be proven, which are alike in all that the chat template renders, the one is returned that has
    the most telling markers; then the one that takes the least of plain prose (JSON in a fence, a list, code) for calls; then
    the one with the fewest fields that the chat template does not render; then the one that has the most models. They are
    tried in this order, so that the first proof is the answer.

    Answers are remembered by chat template; one that is not known takes a tenth of a second up to two seconds.

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
    return _found.get((*ordered, renderer.end, tuple(families)), lambda: _prove(renderer, ordered, families))


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
    prepared = [_prepared(chat, families[name], markers) for name, markers in marked.items() if markers]
    tried = _try_in_order(chat, prepared)
    if not any(proof.doubt == "" for proof in tried):
        replies = _first_replies(chat)
        rest = (families[name] for name, markers in marked.items() if not markers)
        tried += _try_in_order(
            chat, [_prepared(chat, family, ()) for family in rest if _may_fit(chat, replies, family)]
        )
    best = _best(tried)
    if best is None or (best.doubt and not best.candidate.markers):
        return _by_markers(texts, families, best.doubt if best else "no case passes")
    family, markers, report, doubt = best.candidate.family, best.candidate.markers, best.report, best.doubt
    name = family.name
    how = f"the chat template has the markers of {name}" if markers else f"{name} reads what the chat template writes"
    if doubt:
        others = [other.candidate.family.name for other in tried if other is not best and other.candidate.markers]
        also = f"; also possible: {', '.join(others)}" if others else ""
        return Finding(name, f"{how}, but this is not proven: {doubt}{also}", False)
    unused = _unused(_shown(case.expected or {} for case in report.passed), family.response_template["fields"])
    untried = f", though it does not render {' and '.join(unused)}" if unused else ""
    passed = f"all {len(report.rendered)} conversations that it can render are read back right"
    return Finding(name, f"{how}, and {passed}{untried}", True)


def _prepared(chat: ChatFormat, family: Family, markers: tuple[str, ...]) -> _Candidate:
    try:
        template = ResponseTemplate.load(family.response_template)
    except ResponseParsingError as error:
        return _Candidate(family, markers, None, f"its template is wrong: {error}", (1,))
    turns = [turn.turn for turn in chat.turns if not turn.problem]
    shown = {"tool_calls" for turn in turns if turn.calls} | {"reasoning_content" for turn in turns if turn.reasoning}
    unused = len(_unused(shown, template.source["fields"]))
    telling = sum(map(len, markers))
    order = (0, -telling, prose_misread(chat, template), unused, -len(family.models), family.name)
    return _Candidate(family, markers, template, "", order)


def _try_in_order(chat: ChatFormat, candidates: Iterable[_Candidate]) -> list[_Tried]:
    """The proofs of the candidates, up to the first that succeeds."""
    tried = []
    for candidate in sorted(candidates, key=lambda candidate: candidate.order):
        if candidate.template is None:
            tried.append(_Tried(candidate, CheckReport(()), candidate.wrong))
            continue
        report = check_format(chat, candidate.template, quick=True)
        doubt = _doubt(chat, report, candidate.template.source["fields"])
        tried.append(_Tried(candidate, report, doubt))
        if not doubt:
            break
    return tried


def _best(tried: list[_Tried]) -> _Tried | None:
    """The proven one; else the one that passes the most cases, of several the one that comes first in the order."""
    return min(
        tried, key=lambda proof: (bool(proof.doubt), -len(proof.report.passed), *proof.candidate.order), default=None
    )


def _first_replies(chat: ChatFormat) -> list[RenderedTurn]:
    """The turns that tell soonest whether a family may fit; none if all of them are plain content."""
    turns = {turn.turn.name: turn for turn in chat.turns if not turn.problem}
    first = [turns[name] for name in _FIRST_CASES if name in turns]
    return first if len(first) > 1 else []


def _may_fit(chat: ChatFormat, replies: list[RenderedTurn], family: Family) -> bool:
    """Whether a family reads the first cases."""
    if not replies or not _opens(replies[0], family.response_template):
        return False
    try:
        template = ResponseTemplate.load(family.response_template)
    except ResponseParsingError:
        return False
    return all(reads_turn(chat, turn, template) for turn in replies)


def _opens(rendered: RenderedTurn, template: Mapping[str, Any]) -> bool:
    """Whether a field that the turn needs can open in it: it costs a tenth of what loading the template does to find out."""
    key = "tool_calls" if rendered.turn.calls else "reasoning_content"
    return any(
        _occurs(field, text)
        for name, field in template.get("fields", {}).items()
        if field.get("into", name) == key
        for text in (rendered.reply, rendered.prompt + rendered.reply)
    )


def _occurs(field: Mapping[str, Any], text: str) -> bool:
    if "open_pattern" in field:
        try:
            return bool(regex.search(field["open_pattern"], text, regex.DOTALL, timeout=limits.SEARCH_TIMEOUT))
        except (regex.error, TimeoutError):
            return False
    literals = field.get("open", "")
    return any(literal in text for literal in ([literals] if isinstance(literals, str) else literals))


def _doubt(chat: ChatFormat, report: CheckReport, fields: Mapping[str, Any]) -> str:
    """Why a report proves nothing, as a clause; "" if it is a proof."""
    if report.failures:
        names = [case.name for case in report.failures]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        verb = "is" if len(names) == 1 else "are"
        return f"of {len(report.rendered)} conversations {len(names)} {verb} read back wrong ({', '.join(names[:_SHOWN])}{more})"
    unused = _unused(_shown(case.expected or {} for case in report.passed), fields)
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


def _shown(messages: Iterable[Mapping[str, Any]]) -> set[str]:
    return {key for message in messages for key in message}


def _unused(shown: set[str], fields: Mapping[str, Any]) -> list[str]:
    """Which fields of a template no case shows, in words; `shown`: the keys of the messages of all cases."""
    unused = []
    if "tool_calls" in fields and "tool_calls" not in shown:
        unused.append("tool calls")
    if set(_REASONING) & set(fields) and "reasoning_content" not in shown:
        unused.append("reasoning")
    return unused
