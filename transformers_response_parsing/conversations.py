# SPDX-License-Identifier: Apache-2.0
"""The conversations that `check_template` renders: what an assistant may say, as messages of a chat template's dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

__all__ = [
    "OPENED",
    "QUESTION",
    "TOOLS",
    "TOOL_RESULT",
    "TURNS",
    "Call",
    "Dialect",
    "Turn",
    "earlier_messages",
    "note_turn",
    "turn_message",
    "turn_tools",
    "written_arguments",
]

Message = dict[str, Any]

QUESTION = "Can I cross the bridge on Friday?"
OPENED = "reasoning in the usual tags + content"
TOOL_RESULT = "Open until Monday."


def _tool(name: str, description: str, required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    described = {key: {**schema, "description": f"The {key}."} for key, schema in properties.items()}
    parameters = {"type": "object", "properties": described, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


_TEXT = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    _tool(
        "find_bridge",
        "Find a bridge.",
        ["city"],
        city=_TEXT,
        days={"type": "integer"},
        height={"type": "number"},
        open={"type": "boolean"},
        filters={"type": "object"},
        tags={"type": "array", "items": _TEXT},
    ),
    _tool("save_note", "Save a note.", ["text"], text=_TEXT, title=_TEXT),
    _tool("list_bridges", "List all bridges.", []),
    _tool("map-tools.look_up", "Look up a place.", ["place"], place=_TEXT),
]


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` is never changed."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Turn:
    """What the assistant says in a case.

    Attributes:
        name: of the case.
        content: "" for none, as the other two.
        after_tool: the turn answers a tool's result, not the user.
        thinking: True: reasoning is switched on where it has a switch; False: it is switched off; None: as by default.
        cut: the prompt ends within the turn's content, reasoning or call ("content", "reasoning", "calls"): prefill.
    """

    name: str
    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()
    after_tool: bool = False
    thinking: bool | None = None
    cut: str = ""


@dataclass(frozen=True)
class Dialect:
    """How a chat template wants its messages.

    Attributes:
        arguments: "dict", or "json": as a JSON string.
        ids: "short": 9 letters and digits, as Mistral's demand; "kimi": `functions.NAME:INDEX`.
        reasoning: the message key for reasoning; "blocks": a block {"type": "thinking"} of a list of content blocks; "" for none.
        no_content: what stands for no content beside calls: "", None, "absent", or "blocks": a list with an empty text.
        system: a system message is needed.
        tools: tools are needed, even where none is called.
    """

    arguments: str = "dict"
    ids: str = "short"
    reasoning: str = ""
    no_content: str | None = ""
    system: bool = False
    tools: bool = False

    def call_id(self, call: Call, index: int) -> str:
        """The id of a turn's call."""
        return f"functions.{call.name}:{index}" if self.ids == "kimi" else f"c4LL{index:05d}"


_BRIDGE = Call("find_bridge", {"city": "Oslo", "days": 3})
_NOTE = Call("save_note", {"text": "Cross on Friday"})
# The call before a tool's result; its index keeps its id apart from those of the turn.
_ASKED, _ASKED_INDEX = Call("find_bridge", {"city": "Bergen"}), 7
_SAY = "The bridge is open on Friday."
_THINK = "The user asks about a bridge, so the calendar matters."
_LONG = (
    "It is **open**:\n\n- on Friday, if 3 < 4 & the wind is calm\n- never on Sunday\n\nSafe travels: drive “slowly” 🌉!"
)
_LONG_THINK = "First, the calendar.\n\nThen: is 3 < 4? Yes, so {it} works [mostly]."


def note_turn(name: str, text: str) -> Turn:
    """A call with a text as its string argument."""
    return Turn(f"hard arguments: {name}", calls=(Call("save_note", {"text": text, "title": "Plan"}),))


_FILTERS = {"kind": "rope", "lanes": [1, 2], "toll": {"free": True, "price": None, "names": ["a", "b"]}}

TURNS: tuple[Turn, ...] = (
    Turn("content only", _SAY),
    Turn("content of several lines", _LONG),
    Turn("reasoning + content", _SAY, _THINK, thinking=True),
    Turn("reasoning of several lines + content", _LONG, _LONG_THINK, thinking=True),
    Turn("one call", calls=(_BRIDGE,)),
    Turn("one call with a string", calls=(_NOTE,)),
    Turn("parallel calls", calls=(_BRIDGE, _NOTE)),
    Turn("the same call twice", calls=(_BRIDGE, replace(_BRIDGE, arguments={"city": "Rome", "days": 14}))),
    Turn("call + content", "Let me look that up.", calls=(_BRIDGE,)),
    Turn("reasoning + call", "", _THINK, (_BRIDGE,), thinking=True),
    Turn("reasoning + content + parallel calls", "Let me look that up.", _THINK, (_BRIDGE, _NOTE), thinking=True),
    Turn("call without arguments", calls=(Call("list_bridges", {}),)),
    Turn("call of a dotted name", calls=(Call("map-tools.look_up", {"place": "Oslo"}),)),
    note_turn("quotes", 'She said "it\'s open", then left a \\ and C:\\new'),
    note_turn("newlines", "def f(x):\n    if x:\n\n        return 1\n\treturn 2"),
    note_turn("< and >", "if a < b > c && d: <b>x</b> <br/>"),
    note_turn("</tool_call>", "before </tool_call> after"),
    note_turn("</parameter>", "before </parameter> after"),
    note_turn("brackets", 'a {"b": [1, 2]} c }] f(x="y") [z]'),
    note_turn("unicode", "naïve 日本語 🌉 e\u0301 עברית"),
    note_turn("numbers as strings", "1.50"),
    note_turn("a truth value as a string", "true"),
    Turn(
        "hard arguments: numbers and truth values",
        calls=(Call("find_bridge", {"city": "Oslo", "days": -3, "height": 12.5, "open": True}),),
    ),
    Turn(
        "hard arguments: nested",
        calls=(Call("find_bridge", {"city": "Oslo", "filters": _FILTERS, "tags": ["x y", 'q"'], "open": False}),),
    ),
    Turn("hard arguments: empty", calls=(Call("find_bridge", {"city": "", "filters": {}, "tags": []}),)),
    Turn("thinking off: content", _SAY, thinking=False),
    Turn("thinking off: call", calls=(_BRIDGE,), thinking=False),
    Turn("after a tool result: content", _SAY, after_tool=True),
    Turn("after a tool result: call", calls=(_NOTE,), after_tool=True),
    Turn(OPENED, _SAY, _THINK, thinking=True),
    Turn("prefill: content begun", _SAY, cut="content"),
    Turn("prefill: reasoning begun", _SAY, _THINK, thinking=True, cut="reasoning"),
    Turn("prefill: call begun", calls=(_BRIDGE,), cut="calls"),
)


def turn_message(turn: Turn, dialect: Dialect, first: int = 0) -> Message:
    """The turn as a message for the chat template; its calls are counted from `first`."""
    message: Message = {"role": "assistant"}
    if dialect.reasoning == "blocks" and turn.reasoning:
        message["content"] = [{"type": "thinking", "thinking": turn.reasoning}]
        message["content"] += [{"type": "text", "text": turn.content}] if turn.content else []
    elif turn.content:
        message["content"] = turn.content
    elif dialect.no_content == "blocks":
        message["content"] = [{"type": "text", "text": ""}]
    elif dialect.no_content != "absent":
        message["content"] = dialect.no_content
    if turn.reasoning and dialect.reasoning not in ("", "blocks"):
        message[dialect.reasoning] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [
            {
                "type": "function",
                "id": dialect.call_id(call, index),
                "function": {"name": call.name, "arguments": written_arguments(call.arguments, dialect)},
            }
            for index, call in enumerate(turn.calls, first)
        ]
    return message


def written_arguments(arguments: Any, dialect: Dialect) -> Any:
    """Arguments as the chat template wants them."""
    return json.dumps(arguments, ensure_ascii=False) if dialect.arguments == "json" else arguments


def turn_tools(turn: Turn, dialect: Dialect) -> list[dict[str, Any]] | None:
    """The tools given with a turn."""
    return TOOLS if turn.calls or turn.after_tool or dialect.tools else None


def earlier_messages(turn: Turn, dialect: Dialect) -> list[Message]:
    """What comes before the turn."""
    messages: list[Message] = [{"role": "system", "content": "You help travellers."}] if dialect.system else []
    messages.append({"role": "user", "content": QUESTION})
    if turn.after_tool:
        asked = turn_message(Turn("", calls=(_ASKED,)), dialect, _ASKED_INDEX)
        result = {"role": "tool", "name": _ASKED.name, "content": TOOL_RESULT}
        messages += [asked, {**result, "tool_call_id": dialect.call_id(_ASKED, _ASKED_INDEX)}]
    return messages
