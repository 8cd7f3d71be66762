# SPDX-License-Identifier: Apache-2.0
"""What a response template makes of plain answers in which calls are only shown: content, or calls that nobody made."""

from __future__ import annotations

from .chat_format import ChatFormat
from .errors import ResponseParsingError
from .parser import parse_response
from .template import ResponseTemplate

__all__ = ["PROSE", "prose_misread"]

_CALL = '{"name": "find_bridge", "arguments": {"city": "Oslo"}}'
# Answers as models write them to people. None has a tag or token by which a model would make a call of its own.
PROSE: tuple[str, ...] = (
    f"Send this to the server:\n\n```json\n{_CALL}\n```\n\nIt answers at once.",
    f"```json\n{_CALL}\n```",
    f"```\n[{_CALL}]\n```",
    f"The line was {_CALL}, as you can see.",
    f"{_CALL} is what it wrote.",
    f"Both are in the list:\n\n[{_CALL}, {_CALL}]\n\nas you see.",
    f"[{_CALL}]\n\nThat was the list.",
    'In Python: [find_bridge(city="Oslo"), list_bridges()] is a list of two.',
    '[find_bridge(city="Oslo")] is a list of one.',
    'Action: find_bridge\nAction Input: {"city": "Oslo"}',
    "- one\n- two [2]\n\n```python\nfor x in [1, 2]:\n    print(f'{x}')\n```",
    '<p class="a">Hello <b>you</b></p>\n\n```xml\n<city name="Oslo"/>\n```',
)


def prose_misread(chat: ChatFormat, template: ResponseTemplate) -> int:
    """How many of the plain answers of `PROSE` a response template does not read as content, in turns of a chat template.

    0 if the chat template can't render a turn that is content only.
    """
    turn = next((turn for turn in chat.turns if not turn.problem and turn.turn.content and not turn.turn.calls), None)
    if turn is None or turn.turn.reasoning:
        return 0
    misread = 0
    for text in PROSE:
        reply = turn.reply.replace(turn.turn.content, text) + turn.end
        try:
            message = parse_response(reply, template, prefix=turn.prompt, end=[turn.end] if turn.end else None)
        except ResponseParsingError:
            misread += 1
        else:
            misread += {key for key, value in message.items() if value} != {"role", "content"} or message[
                "content"
            ] != text
    return misread
