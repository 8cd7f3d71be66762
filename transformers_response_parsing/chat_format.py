# SPDX-License-Identifier: Apache-2.0
"""What a chat template makes of the turns of `conversations`: prompt, and the reply that a model would have generated."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from .conversations import OPENED, TURNS, Dialect, Message, Turn, earlier_messages, turn_message, turn_tools
from .rendering import TURN_ENDS, ChatRenderer, RenderError
from .split import Split, opened_block, split_turn

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
_CLOSER = re.compile(r"</([\w:]*think)>")
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
        tools: what the model may call.
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
    tools: list[dict[str, Any]] | None = None
    options: Mapping[str, Any] | None = None
    ids: bool = False
    notes: tuple[str, ...] = ()
    problem: str = ""


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
        self._quoted = False  # string arguments stand between quotes
        self._escaped = False  # tags of its own are written as HTML entities
        self.ends = tuple(dict.fromkeys((*renderer.end, *TURN_ENDS, *_CALL_ENDS)))
        self._probe()
        rendered = [self._render(turn) for turn in TURNS]
        self.turns = tuple(turn for turn in rendered if not (turn.problem and turn.turn.name == OPENED))

    def rendered(self, turn: Turn) -> RenderedTurn:
        """Another turn than those of `conversations`, rendered or with the reason why not."""
        return self._render(turn)

    # -- finding the dialect out

    def _probe(self) -> None:
        self._probe_text()
        self._probe_calls()
        self._probe_reasoning()

    def _probe_text(self) -> None:
        turn = TURNS[0]
        for system, tools in ((False, False), (False, True), (True, False)):
            self.dialect = replace(self.dialect, system=system, tools=tools)
            try:
                reply = self._split(turn, {}).reply
                break
            except RenderError:
                continue
        else:
            self.dialect = Dialect()
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
        for no_content in ("", None, "absent", "blocks"):
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
        reply = self._split(turn, {}).reply
        if turn.calls[0].name not in reply:
            self.dialect = replace(self.dialect, ids="kimi")
        self._quoted = bool(re.search(r"[\"']Oslo\\?[\"']", reply))
        self._escaped = "&lt;" in reply

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
                    self.renderer.render(
                        messages, tools=turn_tools(turn, self.dialect), generation=generation, options=some
                    )
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
        if turn.name == OPENED:
            return self._opened(turn, options)
        if turn.reasoning and not self.dialect.reasoning:
            raise RenderError("drops reasoning")
        split = self._split(turn, options)
        reply, end = self._without_end(split.reply)
        self._check_complete(turn, reply)
        self._check_distinct(turn, options)
        self._check_closed(turn, split)
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
            turn_tools(turn, self.dialect),
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
        if self._escaped and "&lt;" in reply:
            raise RenderError("writes HTML entities (&lt;) for its own tags, which no model generates")
        at = 0
        for index, call in enumerate(turn.calls):
            found = reply.find(call.name, at)
            if found < 0:
                raise RenderError("renders only the first call" if index else "does not render tool_calls")
            at = found + len(call.name)
            for key, value in call.arguments.items():
                if key not in reply:
                    raise RenderError("does not render the arguments of calls")
                if isinstance(value, str) and not _stands_in(value, reply, self._quoted):
                    raise RenderError("does not escape quotes or line breaks of a quoted string")

    def _check_distinct(self, turn: Turn, options: dict[str, Any]) -> None:
        """Raise RenderError if content beside calls is written just as reasoning would be."""
        if not (turn.content and turn.calls and self.dialect.reasoning) or turn.reasoning:
            return
        other = replace(turn, content="", reasoning=turn.content)
        texts = []
        for said in (turn, other):
            messages, _ = self._renderings(said, self.dialect)[0]
            try:
                texts.append(self.renderer.render(messages, tools=turn_tools(turn, self.dialect), options=options))
            except RenderError:
                return
        if texts[0] == texts[1]:
            raise RenderError("writes content beside calls as reasoning")

    @staticmethod
    def _check_closed(turn: Turn, split: Split) -> None:
        """Raise RenderError if content without reasoning stands where the prompt has opened reasoning: nothing tells them apart."""
        opened = opened_block(split.prompt)
        if turn.content and not turn.reasoning and opened and opened[1] and opened[1] not in split.reply:
            raise RenderError(f"writes content behind {opened[0]!r}, as reasoning that is never closed")

    @property
    def thinks(self) -> bool:
        """The chat template renders, opens or at least knows reasoning between tags."""
        return bool(self.dialect.reasoning or _CLOSER.search(self.renderer.text))

    def _opened(self, turn: Turn, options: dict[str, Any]) -> RenderedTurn:
        """A turn with reasoning where the chat template does not render it, but opens it in the prompt or knows its end."""
        if self.dialect.reasoning:
            raise RenderError("renders reasoning, which the other cases show")
        earlier = earlier_messages(turn, self.dialect)
        tools = turn_tools(turn, self.dialect)
        prompt = self.renderer.render(earlier, tools=tools, generation=True, options=options)
        tags, opened = opened_block(prompt), ""
        if tags is None and (known := _CLOSER.search(self.renderer.text)):
            tags, opened = (f"<{known[1]}>", known[0]), f"<{known[1]}>\n"
        if tags is None or not tags[1] or prompt.rstrip().endswith(tags[1]):
            raise RenderError("neither opens a block for reasoning nor knows one")
        content = replace(turn, name="", reasoning="")
        split = self._split(content, options)
        said, end = self._without_end(split.reply)
        if tags[1] in said or (opened and split.notes):
            raise RenderError("writes a block for reasoning that is none")
        self._check_complete(content, said)
        how = "knows" if opened else "opens reasoning with"
        note = f"the chat template {how} {tags[0]!r} and never renders reasoning: {tags[1]!r} is assumed to end it"
        reply = f"{opened}{turn.reasoning}\n{tags[1]}\n\n{said}"
        return RenderedTurn(turn, prompt, reply, end, None, tuple(earlier), tools, options, notes=(note,))

    def _without_end(self, reply: str) -> tuple[str, str]:
        """The reply without the token that ends the turn, and that token."""
        for text in (reply.removesuffix(self._junk), reply.rstrip()):
            end = max((end for end in self.ends if text.endswith(end)), key=len, default="")
            if end:
                return text.removesuffix(end), end
        return reply, ""

    def _split(self, turn: Turn, options: dict[str, Any], dialect: Dialect | None = None) -> Split:
        dialect = dialect or self.dialect
        (messages, _), (earlier, _) = self._renderings(turn, dialect)
        render, tools = self.renderer.render, turn_tools(turn, dialect)
        whole = render(messages, tools=tools, options=options)
        prompt = render(earlier, tools=tools, options=options, generation=True)
        before = render(earlier, tools=tools, options=options)
        last = str(earlier[-1]["content"])
        said = (turn.reasoning, turn.content, *(call.name for call in turn.calls))
        return split_turn(whole, prompt, before, last, tuple(filter(None, said)), reasons=bool(turn.reasoning))


def _turn(name: str) -> Turn:
    return next(turn for turn in TURNS if turn.name == name)


def _cut_at(turn: Turn, reply: str) -> int:
    """Where the prompt of a prefilled turn ends: within a word of the content, the reasoning, or an argument of a call."""
    text = {"content": turn.content, "reasoning": turn.reasoning, "calls": "Oslo"}[turn.cut]
    return reply.index(text) + len(text) // 2


def _stands_in(value: str, reply: str, quoted: bool) -> bool:
    """Whether a string argument is in the reply; between quotes as JSON or Python escape it (or JSON within JSON)."""
    if not quoted:
        return value in reply
    escaped = json.dumps(value, ensure_ascii=False)[1:-1]
    twice = json.dumps(escaped, ensure_ascii=False)[1:-1]
    # Python chooses its quotes by the text, so what it leaves as it is counts only between them.
    return any(form in reply for form in (escaped, json.dumps(value)[1:-1], repr(value), twice))
