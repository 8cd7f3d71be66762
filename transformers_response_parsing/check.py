# SPDX-License-Identifier: Apache-2.0
"""Prove a response template against a chat template: what the one writes, the other must read back."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from .chat_format import ChatFormat, RenderedTurn
from .conversations import Dialect, note_turn, written_arguments
from .errors import ResponseParsingError
from .own_marks import own_marks
from .parser import ResponseParser
from .rendering import ChatRenderer, RenderError
from .report import CaseResult, CheckReport
from .template import ResponseTemplate

__all__ = ["check_format", "check_template", "reads_turn"]

_REASONING = ("reasoning_content", "reasoning", "thinking")
_NOT_FROM_IDS = "the tokenizer does not give back this text, so it is not tried from token ids"
_KNOWN = ("role", "content", "tool_calls", *_REASONING)


def check_template(tokenizer_or_chat_template: Any, response_template: Any = None) -> CheckReport:
    """Prove a response template by round trip.

    Conversations are rendered with the chat template, each last turn is cut off where generation would start, and parsed,
    whole and in pieces, with and without the token that ends the turn; with a tokenizer also token by token, from ids; then the
    message is rendered again. A case passes if the message is the one that was rendered, and the text comes out the same again.

    Args:
        tokenizer_or_chat_template: a tokenizer, a processor, or the text of a chat template (its tokens are guessed then).
        response_template: dict, JSON text, path or loaded template. Default: the tokenizer's own, else the library's.

    Returns:
        The report; `.ok` is True if every case that the chat template can render passes. `print` it.

    Raises:
        TemplateError: the response template is wrong.
        ResponseParsingError: there is no chat template, or no response template.
    """
    renderer = _renderer(tokenizer_or_chat_template)
    template = ResponseTemplate.load(_template(tokenizer_or_chat_template, response_template))
    return check_format(ChatFormat(renderer), template)


def check_format(
    chat: ChatFormat, template: ResponseTemplate, *, quick: bool = False, only: Container[str] | None = None
) -> CheckReport:
    """`check_template` for a chat template whose turns are rendered already.

    Args:
        chat: the rendered turns.
        template: the response template.
        quick: each reply is cut into pieces in one way only, instead of four, and is not parsed from token ids.
        only: names of the cases to check; default: all.
    """
    seeds = (1,) if quick else (0, 1, 2, 3)
    turns = [turn for turn in chat.turns if only is None or turn.turn.name in only]
    results = tuple(_check(chat, turn, template, seeds, ids=not quick) for turn in turns)
    notes = []
    unspelled = [result.name for result in results if _NOT_FROM_IDS in result.notes]
    if unspelled:
        notes.append(
            f"not tried from token ids, as the tokenizer does not give back their text: {'; '.join(unspelled)}"
        )
    if chat.dialect.reasoning not in ("", "reasoning_content"):
        key = chat.dialect.reasoning
        said = 'blocks {"type": "thinking"} of the content' if key == "blocks" else f"the key {key!r}"
        notes.append(f"the chat template reads reasoning from {said}, not from 'reasoning_content'")
    misread = [] if quick or only is not None else _misread_marks(chat, template)
    if misread:
        notes.append(
            f"a string argument that holds marks of the template's own is read wrong: {', '.join(map(repr, misread))}. A format "
            "without escapes may have no better; else let the closing pattern look ahead at what must follow"
        )
    if chat.dialect.arguments == "json":
        notes.append("the chat template wants the arguments of calls as JSON strings")
    return CheckReport(results, tuple(notes))


def reads_turn(chat: ChatFormat, rendered: RenderedTurn, template: ResponseTemplate) -> bool:
    """Whether a template reads a rendered turn right, in one piece and with its end: the least of what a case asks for."""
    text, end, _ = next(_texts(chat, rendered))
    message, problem = _parse(template, rendered, end, [text])
    return not (problem or _difference(message, _expected(rendered, chat.dialect), rendered))


def _misread_marks(chat: ChatFormat, template: ResponseTemplate) -> list[str]:
    """The marks of a template's calls that a string argument can't hold; not those that end a turn, which no text has."""
    misread = []
    for mark in own_marks(template.source):
        if mark in chat.ends:
            continue
        turn = chat.rendered(note_turn("a mark of its own", f"before {mark} after"))
        if not turn.problem and not reads_turn(chat, turn, template):
            misread.append(mark)
    return misread


def _renderer(source: Any) -> ChatRenderer:
    return source if isinstance(source, ChatRenderer) else ChatRenderer(source)


def _template(source: Any, given: Any) -> Any:
    if given is not None:
        return given
    from .hf.lookup import usable_template
    from .library import find_template

    own = usable_template(source) if hasattr(source, "__dict__") else None
    if own is not None:
        return own
    match = find_template(source)
    if match is None:
        msg = "there is no response template to check: pass one (the tokenizer has none, and the library knows none for it)"
        raise ResponseParsingError(msg)
    return match.response_template


def _check(
    chat: ChatFormat, rendered: RenderedTurn, template: ResponseTemplate, seeds: Sequence[int], *, ids: bool
) -> CaseResult:
    name = rendered.turn.name
    if rendered.problem:
        return CaseResult(name, "not rendered", f"the chat template {rendered.problem}")
    expected = _expected(rendered, chat.dialect)
    message, problem, notes = None, "", rendered.notes
    for text, end, which in _texts(chat, rendered):
        message, problem = _parse(template, rendered, end, [text])
        problem = problem or _difference(message, expected, rendered)
        if not problem:
            problem = _in_pieces(template, rendered, text, end, message, seeds)
        if problem:
            first, newline, excerpt = problem.partition("\n")
            problem = first + which + newline + excerpt
            break
    else:
        if ids:
            problem, note = _from_ids(chat, rendered, template, message)
            notes += (note,) * bool(note)
        if rendered.message is not None:
            problem = problem or _rendered_again(chat, rendered, message or {})
    return CaseResult(
        name,
        "fail" if problem else "pass",
        problem,
        rendered.prompt,
        rendered.reply + rendered.end,
        expected,
        message,
        rendered.options,
        notes,
    )


def _texts(chat: ChatFormat, rendered: RenderedTurn) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The forms in which a reply reaches a parser: (text, end, words about it)."""
    reply, end = rendered.reply, rendered.end
    ends = tuple(token for token in (end, *chat.renderer.end) if token and token not in reply)
    if ends:
        yield reply + (end or ends[0]), ends, ""
    if end:
        yield reply + end, (), f" (with {end!r} at the end, and no end= given)"
    yield reply, (), " (without the token that ends the turn)" if end else ""


def _parse(
    template: ResponseTemplate, rendered: RenderedTurn, end: tuple[str, ...], pieces: Sequence[str]
) -> tuple[dict[str, Any] | None, str]:
    try:
        parser = ResponseParser(template, rendered.prompt, tools=rendered.tools, end=end or None)
        for piece in pieces:
            parser.feed(piece)
        return parser.finalize()[0], ""
    except ResponseParsingError as error:
        return getattr(error, "partial_message", None), f"can't be parsed: {error}"


def _in_pieces(
    template: ResponseTemplate,
    rendered: RenderedTurn,
    text: str,
    end: tuple[str, ...],
    message: Any,
    seeds: Sequence[int],
) -> str:
    for seed in seeds:
        pieces = _pieces(text, seed)
        again, problem = _parse(template, rendered, end, pieces)
        if problem or again != message:
            return f"fed in pieces, {problem or f'the message is another one: {again!r}'}"
    return ""


def _from_ids(chat: ChatFormat, rendered: RenderedTurn, template: ResponseTemplate, message: Any) -> tuple[str, str]:
    """Parse a reply token by token, as a model generates it, if there is a tokenizer: what is wrong, and a note."""
    text, end, _ = next(_texts(chat, rendered))
    prompt, pieces = (chat.renderer.spelled(part) for part in (rendered.prompt, text))
    if not pieces:
        return "", ""
    if "".join(pieces) != text or "".join(prompt) != rendered.prompt:
        return "", _NOT_FROM_IDS
    again, problem = _parse(template, rendered, end, pieces)
    if problem or again != message:
        return f"from token ids, {problem or f'the message is another one: {again!r}'}", ""
    return "", ""


def _pieces(text: str, seed: int) -> list[str]:
    """Single characters (seed 0), or random pieces."""
    if not seed:
        return list(text)
    rng = random.Random(seed)
    pieces = []
    while text:
        size = rng.randint(1, 12)
        pieces.append(text[:size])
        text = text[size:]
    return pieces


def _expected(rendered: RenderedTurn, dialect: Dialect) -> dict[str, Any]:
    turn = rendered.turn
    message: dict[str, Any] = {"role": "assistant"}
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.content:
        message["content"] = turn.content
    if turn.calls:
        message["tool_calls"] = [
            {
                "type": "function",
                **({"id": dialect.call_id(call, index)} if rendered.ids else {}),
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for index, call in enumerate(turn.calls)
        ]
    return message


def _difference(message: Mapping[str, Any] | None, expected: Mapping[str, Any], rendered: RenderedTurn) -> str:
    """What is wrong with a message, in words; "" if it is the expected one."""
    message = message or {}
    reasoning = next((message[key] for key in _REASONING if message.get(key)), "")
    for key, value in (("content", message.get("content")), ("reasoning_content", reasoning)):
        if (value or "") != expected.get(key, ""):
            return f"{key} is {_brief(value)}, not {_brief(expected.get(key))}"
    calls = message.get("tool_calls") or []
    problem = _call_difference(calls, expected.get("tool_calls", []), rendered)
    if problem:
        return problem
    extra = [key for key in message if key not in _KNOWN and message[key] not in (None, "", [], {})]
    if extra:
        return f"the message has {', '.join(map(repr, extra))}, which no chat template reads"
    if message.get("role") != "assistant":
        return 'the message has no role: the template lacks "defaults": {"role": "assistant"}'
    return ""


def _call_difference(calls: Any, expected: Sequence[Mapping[str, Any]], rendered: RenderedTurn) -> str:
    if not isinstance(calls, list) or len(calls) != len(expected):
        number = len(calls) if isinstance(calls, list) else 1
        return f"there {'is' if number == 1 else 'are'} {number or 'no'} tool call{'s'[number == 1 :]}, not {len(expected)}"
    for index, (call, right) in enumerate(zip(calls, expected, strict=True)):
        where = f"tool_calls[{index}]"
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return f"{where} is {_brief(call)}, which has no 'function'"
        if call.get("type") != "function":
            return f"{where}.type is {_brief(call.get('type'))}, not 'function'"
        for key in ("name", "arguments"):
            if not _same(function.get(key), right["function"][key]):
                return f"{where}.function.{key} is {_brief(function.get(key))}, not {_brief(right['function'][key])}"
        if "id" in right and call.get("id") != right["id"]:
            return f"{where}.id is {_brief(call.get('id'))}, not {right['id']!r}, though the model wrote it"
        if call.get("id") is not None and str(call["id"]) not in rendered.prompt + rendered.reply:
            return f"{where}.id is {_brief(call['id'])}, which the model did not write"
    return ""


def _same(first: Any, second: Any) -> bool:
    """Equal as JSON values: 1, 1.0 and true are three."""
    if type(first) is not type(second):
        return False
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(_same(value, second[key]) for key, value in first.items())
    if isinstance(first, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return bool(first == second)


def _brief(value: Any) -> str:
    if value is None:
        return "missing"
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:160]}…"


def _rendered_again(chat: ChatFormat, rendered: RenderedTurn, message: Mapping[str, Any]) -> str:
    """Whether the chat template makes the same text of the message; "" if it does."""
    # Newer versions of transformers pass reasoning on under all three names; that must not hide that the others lose it.
    for key in _REASONING[1:]:
        if message.get(key) and not re.search(rf"\b{key}\b", chat.renderer.text):
            return f"rendered again, {key!r} is lost: the chat template does not read it; name the field 'reasoning_content'"
    options = rendered.options
    original = rendered.message or {}
    whole = chat.renderer.render([*rendered.earlier, original], tools=rendered.tools, options=options)
    problem = ""
    for keys in ({}, {"content": original.get("content")}):
        back = {**keys, **_adapted(message, original, chat.dialect)}
        try:
            again = chat.renderer.render([*rendered.earlier, back], tools=rendered.tools, options=options)
        except RenderError as error:
            problem = problem or f"rendered again, the chat template {error}"
            continue
        if again == whole:
            return ""
        problem = problem or f"rendered again, the text is another one: {_first_difference(whole, again)}"
    return problem


def _adapted(message: Mapping[str, Any], original: Mapping[str, Any], dialect: Dialect) -> dict[str, Any]:
    """The message in the chat template's dialect: ids it demands, arguments and reasoning where it reads them."""
    back = dict(message)
    if "tool_calls" in back:
        back["tool_calls"] = [
            {
                **call,
                "id": call.get("id") or its.get("id"),
                "function": {
                    **call["function"],
                    "arguments": written_arguments(call["function"]["arguments"], dialect),
                },
            }
            for call, its in zip(back["tool_calls"], original["tool_calls"], strict=True)
        ]
    if "reasoning_content" in back and dialect.reasoning == "blocks":
        text = back.pop("reasoning_content")
        rest = [{"type": "text", "text": back["content"]}] if back.get("content") else []
        back["content"] = [{"type": "thinking", "thinking": text}, *rest]
    elif "reasoning_content" in back and dialect.reasoning:
        back[dialect.reasoning] = back.pop("reasoning_content")
    return back


def _first_difference(first: str, second: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    start = max(0, at - 20)
    return f"{json.dumps(second[start : at + 60], ensure_ascii=False)} where it was {json.dumps(first[start : at + 60], ensure_ascii=False)}"
