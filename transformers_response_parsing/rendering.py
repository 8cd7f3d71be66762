# SPDX-License-Identifier: Apache-2.0
"""Chat templates as functions: a conversation in, its text out; from a tokenizer or from the Jinja text alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from .errors import MissingDependencyError, ResponseParsingError

__all__ = ["TURN_ENDS", "ChatRenderer", "RenderError", "chat_templates"]

Message = dict[str, Any]

_CLOCK = re.compile(r"\bstrftime_now\(\s*(?P<quote>['\"])(?P<format>[^'\"\\]*)(?P=quote)\s*\)")

# Tokens that end a turn, the more telling first. A chat template's text does not say which `eos_token` its tokenizer has:
# a tokenizer knows it, for a bare text it is guessed from these.
TURN_ENDS = (
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<|end_of_text|>",
    "<|END_OF_TURN_TOKEN|>",
    "<end_of_turn>",
    "<turn|>",
    "<|role_end|>",
    "<|endofturn|>",
    "[|endofturn|]",
    "<｜end▁of▁sentence｜>",
    "<|end_of_sentence|>",
    "<seed:eos>",
    "<|return|>",
    "<|end|>",
    "<|eos|>",
    "</s>",
    "<eos>",
    "<|endoftext|>",
)
_STARTS = {"<|begin_of_text|>": "<|eot_id|>", "<｜begin▁of▁sentence｜>": "<｜end▁of▁sentence｜>", "<bos>": "<eos>"}


class RenderError(Exception):
    """The chat template can't render a conversation; the message says why, as a clause ("raises …")."""


class ChatRenderer:
    """Renders conversations with a tokenizer's (or processor's) chat template, or with a chat template given as text.

    Args:
        source: a tokenizer, a processor, the text of a chat template, or several texts by name.
        bos_token: for a chat template given as text: what `bos_token` stands for.
        eos_token: the same for `eos_token`; guessed from the text if not given.

    Attributes:
        texts: the Jinja texts by name.
        text: all of them in one.
        end: tokens after which the tokenizer's generations are over; () if the tokenizer is not known.

    Raises:
        ResponseParsingError: there is no chat template.
    """

    def __init__(self, source: Any, *, bos_token: str | None = None, eos_token: str | None = None) -> None:
        self.texts = chat_templates(source)
        if not self.texts:
            msg = "there is no chat template to render conversations with: pass a tokenizer that has one, or its text"
            raise ResponseParsingError(msg)
        self.text = "\n".join(self.texts.values())
        tokenizer = None if isinstance(source, (str, Mapping)) else getattr(source, "tokenizer", source)
        self._tokenizer = tokenizer if hasattr(tokenizer, "apply_chat_template") else None
        self._memory: dict[str, str | RenderError] = {}
        self._moment = datetime.now().astimezone()
        if self._tokenizer is None:
            eos = eos_token or _guess_eos(self.text)
            self._tokens = {"bos_token": _guess_bos(self.text) if bos_token is None else bos_token, "eos_token": eos}
            self.end: tuple[str, ...] = (eos,) if eos else ()
        else:
            from .hf.tokenizer import end_tokens

            self.end = tuple(end_tokens(self._tokenizer))

    def render(
        self,
        messages: Sequence[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        generation: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """The text of a conversation. Remembered: the same question is answered at once.

        Args:
            messages: as for `apply_chat_template`.
            tools: JSON schemas.
            generation: with the beginning of an answer (`add_generation_prompt`).
            options: variables that the chat template reads, `enable_thinking` for example.

        Raises:
            RenderError: the chat template can't.
            MissingDependencyError: jinja2 is not installed, or too old.
        """
        key = json.dumps([messages, bool(tools) and tools, generation, dict(options or {})])
        if key not in self._memory:
            try:
                self._memory[key] = self._render(list(messages), tools, generation, dict(options or {}))
            except ImportError as error:
                msg = f"rendering chat templates needs jinja2 (pip install jinja2): {error}"
                raise MissingDependencyError(msg) from error
            except Exception as error:  # noqa: BLE001 -- a chat template is a program: anything may go wrong in it
                self._memory[key] = RenderError(_reason(error))
        answer = self._memory[key]
        if isinstance(answer, RenderError):
            raise RenderError(str(answer))
        return answer

    def reads(self, name: str) -> bool:
        """Whether the chat template mentions a variable or key of this name."""
        return name in self.text

    def spelled(self, text: str) -> list[str]:
        """The text as a generation brings it: the pieces that the ids of its tokens decode to; [] without a tokenizer.

        Joined, they are not the text where the tokenizer can't give it back.
        """
        if self._tokenizer is None:
            return []
        from .hf.decode import incremental_decoder

        decoder = incremental_decoder(self._tokenizer)
        ids = self._tokenizer.encode(text, add_special_tokens=False)
        return [*(decoder.push([token]) for token in ids), decoder.finish()]

    def _at_once(self, text: str) -> str:
        """The chat template with the clock standing still: prompts of two moments could not be compared."""
        return _CLOCK.sub(lambda call: json.dumps(self._moment.strftime(call["format"]), ensure_ascii=False), text)

    def _render(self, messages: list[Message], tools: Any, generation: bool, options: dict[str, Any]) -> str:
        if self._tokenizer is not None:
            if len(self.texts) == 1 and not isinstance(getattr(self._tokenizer, "chat_template", None), Mapping):
                options["chat_template"] = self._at_once(next(iter(self.texts.values())))
            rendered = self._tokenizer.apply_chat_template(
                messages, tools=tools, tokenize=False, add_generation_prompt=generation, **options
            )
            return str(rendered)
        from transformers.utils.chat_template_utils import render_jinja_template

        text = self.texts.get("tool_use" if tools else "default") or next(iter(self.texts.values()))
        answers = render_jinja_template(
            conversations=[messages],
            tools=tools,
            chat_template=self._at_once(text),
            add_generation_prompt=generation,
            **{**self._tokens, **options},
        )
        return str(answers[0][0])


def chat_templates(source: Any) -> dict[str, str]:
    """The Jinja texts of a tokenizer, a processor, a text or a dict of texts, by name (a single one is "default")."""
    template = source if isinstance(source, (str, Mapping)) else getattr(source, "chat_template", None)
    if template is None and not isinstance(source, str):
        template = getattr(getattr(source, "tokenizer", None), "chat_template", None)
    if isinstance(template, str):
        return {"default": template} if template else {}
    if isinstance(template, Mapping):
        return {str(name): text for name, text in template.items() if isinstance(text, str) and text}
    return {}


def _guess_eos(text: str) -> str:
    """The most telling turn end that the text has; else the one that goes with its first token; else `</s>`."""
    return _first(TURN_ENDS, text) or next((end for start, end in _STARTS.items() if start in text), "</s>")


def _guess_bos(text: str) -> str:
    return _first(_STARTS, text) or ("<s>" if "</s>" in text or "[INST]" in text else "")


def _first(tokens: Iterable[str], text: str) -> str:
    return next((token for token in tokens if token in text), "")


def _reason(error: Exception) -> str:
    words = " ".join(str(error).split())
    return f"raises {type(error).__name__}" + (f": {words[:200]}" if words else "")
