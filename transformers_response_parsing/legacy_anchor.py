# SPDX-License-Identifier: Apache-2.0
"""What comes right before the model's turn in a prompt: a legacy `response_schema` does not say it, but may give it away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .legacy_regex import literals
from .rendering import ChatRenderer, RenderError

__all__ = ["anchor_of_chat_template", "anchor_of_schema"]

_QUESTION, _ANSWER = "What is it?", "It is this."
_THINKING = re.compile(r"\s*<[|/]*[^<>\s]*think[^<>\s]*>")
_CUT = re.compile(r"<[^<>\s]*\Z")
# A marker with the role in it or right behind it, and what goes on with it: the end of a header, a newline.
_TURN = re.compile(
    r"(?:<[^<>\s]*>)?(?:<\|?(?:assistant|CHATBOT_TOKEN)\|?>|\[\|?assistant\|?\]|(?<=>)(?:assistant|model)\b)"
    r"(?:<[^<>\s]*(?:header|message|sep)[^<>\s]*>)?\n*"
)
# Where nothing in a schema names the turn: what ends it, or stands in it, belongs to one way to write turns.
_BY_MARKER = {
    "<|im_end|>": "<|im_start|>assistant\n",
    "<|eot_id|>": "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "<end_of_turn>": "<start_of_turn>model\n",
    "<|END_OF_TURN_TOKEN|>": "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<|START_RESPONSE|>": "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<|channel|>": "<|start|>assistant",
}


def anchor_of_chat_template(chat_template: Any, delimiters: tuple[str, ...]) -> str:
    """What the chat template begins the model's turn with: before an answer it asks for, and before one that it is given.

    Args:
        chat_template: its text, several by name, or a tokenizer.
        delimiters: of the fields; the anchor ends before them.

    Returns:
        The text; "" if it can't be told.
    """
    try:
        renderer = ChatRenderer(chat_template)
        user = [{"role": "user", "content": _QUESTION}]
        asked = renderer.render(user, generation=True)
        answered = renderer.render([*user, {"role": "assistant", "content": _ANSWER}])
    except RenderError:
        return ""
    same = asked[: _length_in_common(asked, answered.partition(_ANSWER)[0])]
    after = same.rfind(_QUESTION) + len(_QUESTION)
    try:
        begins = max(after, _length_in_common(same, renderer.render(user)))
    except RenderError:  # some chat templates can't end with the user's turn
        begins = after
    # Where nothing is added to begin the model's turn, the end of the user's begins it.
    anchor = _without_its_end(same[begins:], delimiters) or _without_its_end(same[after:], delimiters)
    return anchor if anchor.strip() else ""


def _length_in_common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def _without_its_end(anchor: str, delimiters: tuple[str, ...]) -> str:
    """Up to where a field begins or ends (an opened `<think>`), and without a marker that is cut in the middle."""
    for delimiter in delimiters:
        anchor = anchor.partition(delimiter)[0]
    return _CUT.sub("", _THINKING.split(anchor)[0])


def anchor_of_schema(schema: Any) -> tuple[str, str]:
    """What the regexes of a schema give away.

    Returns:
        (the text, the marker in the schema that tells it); ("", "") if there is none.
    """
    texts = [text for pattern in _regexes(schema) for text in literals(pattern)]
    for text in texts:
        turn = _TURN.search(text)
        if turn is not None:
            return turn[0], turn[0]
    for marker, anchor in _BY_MARKER.items():
        if any(marker in text for text in texts):
            return anchor, marker
    return "", ""


def _regexes(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        for key, value in node.items():
            if key in ("x-regex", "x-regex-iterator") and isinstance(value, str):
                yield value
            else:
                yield from _regexes(value)
