# SPDX-License-Identifier: Apache-2.0
"""What a chat template makes of the turns of `conversations`: prompt, and the reply that a model would have generated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .conversations import TOOLS, TURNS, Dialect, Message, Turn, earlier_messages, turn_message
from .rendering import TURN_ENDS, ChatRenderer, RenderError

__all__ = ["ChatFormat", "RenderedTurn"]

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
# Variables by which chat templates switch thinking on and off.
_ON: tuple[dict[str, Any], ...] = (
    {"enable_thinking": True},
    {"thinking": True},
    {"reasoning": True},
    {"thinking_mode": "thinking"},
    {"force_reasoning": True},
    {"open_thinking": True},
    {"reasoning_effort": "high"},
    {"preserve_thinking": True},
    {"clear_thinking": False},
    {"drop_thinking": False},
    {"truncate_history_thinking": False},
    {"keep_all_reasoning": True},
)
_OFF: tuple[dict[str, Any], ...] = (
    {"enable_thinking": False},
    {"thinking": False},
    {"reasoning": False},
    {"thinking_mode": "chat"},
    {"skip_think": True},
    {"skip_reasoning": True},
    {"reasoning_effort": "none"},
    {"reasoning_effort": "no_think"},
)
# Where a generation may end besides the tokens that end a turn of text.
_CALL_ENDS = ("<|call|>", "<|eom_id|>", "<|eom|>", "<|tool_response>", "<start_function_response>")
_MARKER = re.compile(r"<[^<>\s]+>|\[/?[A-Z_]+\]")
_LAST_TOKEN = re.compile(r"(<[^<>\s]+>|\[[^\[\]\s]+\])\s*\Z")


@dataclass(frozen=True)
class RenderedTurn:
    """A turn as text.

    Attributes:
        turn: what is said.
        prompt: what the model is given, "" if the turn can't be rendered.
        reply: what it generates, without the token that ends its turn.
        end: that token; "" if the chat template writes none.
        message: the turn as a message of the chat template's dialect.
        earlier: the messages before it.
        options: variables given to the chat template.
        ids: the reply has the ids of the calls.
        notes: how prompt and reply were told apart, where that needs saying.
        problem: why it can't be rendered, as a clause; "" if it can.
    """

    turn: Turn
    prompt: str = ""
    reply: str = ""
    end: str = ""
    message: Message | None = None
    earlier: tuple[Message, ...] = ()
    options: Mapping[str, Any] | None = None
    ids: bool = False
    notes: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class _Split:
    prompt: str
    reply: str
    notes: tuple[str, ...] = ()


class ChatFormat:
    """A chat template's dialect, and its rendering of every turn (`turns`).

    Attributes:
        renderer: the chat template.
        dialect: how it wants its messages; found out by trying.
        turns: each turn of `conversations`, rendered or with the reason why not.
        ends: the tokens that end its turns, as far as they are known.
    """

    def __init__(self, renderer: ChatRenderer) -> None:
        self.renderer = renderer
        self.dialect = Dialect()
        self._tail = ""
        self._junk = ""
        self.ends = tuple(dict.fromkeys((*renderer.end, *TURN_ENDS, *_CALL_ENDS)))
        self._probe()
        self.turns = tuple(self._render(turn) for turn in TURNS)

    # -- finding the dialect out

    def _probe(self) -> None:
        self._probe_text()
        self._probe_calls()
        self._probe_reasoning()

    def _probe_text(self) -> None:
        turn = TURNS[0]
        for system in (False, True):
            self.dialect = replace(self.dialect, system=system)
            try:
                reply = self._split(turn, {}).reply
                break
            except RenderError:
                continue
        else:
            self.dialect = replace(self.dialect, system=False)
            return
        if turn.content in reply:
            self._tail = reply[reply.rindex(turn.content) + len(turn.content) :]
            known = [end for end in self.ends if end in self._tail]
            last = _LAST_TOKEN.search(self._tail)
            if not known and last:
                self.ends = (*self.ends, last[1])
                known = [last[1]]
            if known:
                first = min(known, key=self._tail.index)
                self._junk = self._tail[self._tail.index(first) + len(first) :]

    def _probe_calls(self) -> None:
        turn = _turn("one call")
        usable: list[Dialect] = []
        for no_content in ("", None, "absent"):
            for arguments in ("dict", "json"):
                dialect = replace(self.dialect, arguments=arguments, no_content=no_content)
                try:
                    reply = self._split(turn, {}, dialect).reply
                except RenderError:
                    continue
                if "Oslo" not in reply:
                    continue
                usable.append(dialect)
                if "None" not in reply and "{'city'" not in reply and '{\\"city' not in reply:
                    self.dialect = dialect
                    break
            else:
                continue
            break
        else:
            if not usable:
                return
            self.dialect = usable[0]
        try:
            if turn.calls[0].name not in self._split(turn, {}).reply:
                self.dialect = replace(self.dialect, ids="kimi")
        except RenderError:
            pass

    def _probe_reasoning(self) -> None:
        for key in (*_REASONING_KEYS, "blocks"):
            name = "thinking" if key == "blocks" else key
            if not self.renderer.reads(name):
                continue
            dialect = replace(self.dialect, reasoning=key)
            for turn in (_turn("reasoning + content"), _turn("reasoning + call")):
                for options in self._options(turn):
                    try:
                        reply = self._split(turn, options, dialect).reply
                    except RenderError:
                        continue
                    if turn.reasoning in reply and "'type'" not in reply:
                        self.dialect = dialect
                        return

    # -- rendering a turn

    def _render(self, turn: Turn) -> RenderedTurn:
        problem, second_best = "", None
        for options in self._options(turn):
            try:
                rendered = self._rendered(turn, options)
            except RenderError as error:
                problem = problem or str(error)
                continue
            if not rendered.notes:
                return rendered
            second_best = second_best or rendered
        if second_best:
            return second_best
        return RenderedTurn(turn, problem=problem or "has no switch for thinking")

    def _options(self, turn: Turn) -> Iterator[dict[str, Any]]:
        if turn.thinking is not False:
            yield {}
        if turn.thinking is None:
            return
        for options in _ON if turn.thinking else _OFF:
            if all(self.renderer.reads(name) for name in options) and self._changes_something(turn, options):
                yield options

    def _changes_something(self, turn: Turn, options: dict[str, Any]) -> bool:
        for messages, generation in self._renderings(turn, self.dialect):
            try:
                texts = {
                    self.renderer.render(messages, tools=_tools(turn), generation=generation, options=some)
                    for some in ({}, options)
                }
            except RenderError:
                continue
            if len(texts) > 1:
                return True
        return False

    def _renderings(self, turn: Turn, dialect: Dialect) -> list[tuple[list[Message], bool]]:
        earlier = earlier_messages(turn, dialect)
        return [([*earlier, turn_message(turn, dialect)], False), (earlier, True)]

    def _rendered(self, turn: Turn, options: dict[str, Any]) -> RenderedTurn:
        if turn.reasoning and not self.dialect.reasoning:
            raise RenderError("drops reasoning")
        split = self._split(turn, options)
        reply, end = self._without_end(split.reply)
        self._check_complete(turn, reply)
        prompt = split.prompt
        if turn.cut:
            at = _cut_at(turn, reply)
            prompt, reply = prompt + reply[:at], reply[at:]
        ids = bool(turn.calls) and all(
            self.dialect.call_id(call, index) in split.reply for index, call in enumerate(turn.calls)
        )
        message = turn_message(turn, self.dialect)
        return RenderedTurn(
            turn,
            prompt,
            reply,
            end,
            message,
            tuple(earlier_messages(turn, self.dialect)),
            options,
            ids,
            split.notes,
        )

    def _check_complete(self, turn: Turn, reply: str) -> None:
        """Raise RenderError if something of the turn is not in the reply, or not as it was."""
        if turn.content and turn.content not in reply:
            raise RenderError("drops the content beside calls" if turn.calls else "changes the text of the content")
        if turn.reasoning and turn.reasoning not in reply:
            raise RenderError("drops reasoning")
        if "&#34;" in reply or "&#39;" in reply:
            raise RenderError("writes HTML entities (&#34;) for quotes, which no model generates")
        at = 0
        for index, call in enumerate(turn.calls):
            found = reply.find(call.name, at)
            if found < 0:
                raise RenderError("renders only the first call" if index else "does not render tool_calls")
            at = found + len(call.name)
            for key, value in call.arguments.items():
                if key not in reply:
                    raise RenderError("does not render the arguments of calls")
                if isinstance(value, str) and not _stands_in(value, reply):
                    raise RenderError(f"does not write the argument {json.dumps(value)} as it is")

    def _without_end(self, reply: str) -> tuple[str, str]:
        """The reply without the token that ends the turn, and that token."""
        for text in (reply.removesuffix(self._junk), reply.rstrip()):
            end = max((end for end in self.ends if text.endswith(end)), key=len, default="")
            if end:
                return text.removesuffix(end), end
        return reply, ""

    # -- telling prompt and reply apart

    def _split(self, turn: Turn, options: dict[str, Any], dialect: Dialect | None = None) -> _Split:
        dialect = dialect or self.dialect
        (messages, _), (earlier, _) = self._renderings(turn, dialect)
        render, tools = self.renderer.render, _tools(turn)
        whole = render(messages, tools=tools, options=options)
        prompt = render(earlier, tools=tools, options=options, generation=True)
        if whole.startswith(prompt):
            return _Split(prompt, whole[len(prompt) :])
        before = render(earlier, tools=tools, options=options)
        if not whole.startswith(before) or not prompt.startswith(before):
            before = _common(whole, prompt)
            if not before.strip():
                raise RenderError("can't be split: prompt and turn have nothing in common")
        begun, said = prompt[len(before) :], whole[len(before) :]
        header = _common(begun, said)
        extra = begun[len(header) :]
        said = said[len(header) :]
        if not extra.strip():
            return _Split(prompt, said)
        note = f"the prompt ends with {extra!r}, which the turn as rendered has not"
        if turn.reasoning:
            # The prompt leaves no room for reasoning; the turn starts where reasoning does.
            opened = _last_marker_at(header)
            return _Split(before + header[:opened], header[opened:] + said, (f"{note}: left out",))
        if _is_opened(extra):
            return _Split(before + header, said, (f"{note}: left out",))
        return _Split(prompt, said, (note,))


def _turn(name: str) -> Turn:
    return next(turn for turn in TURNS if turn.name == name)


def _tools(turn: Turn) -> list[dict[str, Any]] | None:
    return TOOLS if turn.calls or turn.after_tool else None


def _common(first: str, second: str) -> str:
    """What both begin with; a token that only one of them has is not cut in two."""
    length = next(
        (i for i, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )
    common = first[:length]
    if common in (first, second):
        return common
    for opener, closer in ("<>", "[]"):
        at = common.rfind(opener)
        if at > common.rfind(closer):
            common = common[:at]
    return common


def _is_opened(text: str) -> bool:
    """Whether a prompt's end opens a block and does not close it: `<think>`, but not `<think></think>` nor `</think>`."""
    markers = _MARKER.findall(text)
    return len(markers) == 1 and "/" not in markers[0]


def _last_marker_at(header: str) -> int:
    """Where the marker begins that a header ends with, if there is one before it; else the header's end."""
    markers = list(_MARKER.finditer(header))
    return markers[-1].start() if len(markers) > 1 and not header[markers[-1].end() :].strip() else len(header)


def _cut_at(turn: Turn, reply: str) -> int:
    """Where the prompt of a prefilled turn ends: within a word of the content, the reasoning, or an argument of a call."""
    text = {"content": turn.content, "reasoning": turn.reasoning, "calls": "Oslo"}[turn.cut]
    return reply.index(text) + len(text) // 2


def _stands_in(value: str, reply: str) -> bool:
    """Whether a string argument is in the reply, in one of the ways it may be written."""
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    return any(form in reply for form in (value, escaped, json.dumps(value)[1:-1], repr(value)[1:-1]))
