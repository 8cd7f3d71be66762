# SPDX-License-Identifier: Apache-2.0
"""The live part of `response-template demo`: a model generates, and its output is parsed while it does."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from .cli.console import Console
from .demo_view import EventView
from .errors import ResponseParsingError
from .library import find_template, get_template

__all__ = ["play_model"]


def play_model(
    console: Console,
    model_id: str,
    *,
    prompt: str,
    gguf_file: str | None = None,
    template: str | None = None,
    max_new_tokens: int = 256,
) -> None:
    """Load a model, ask it something and show its answer as it is parsed.

    Raises:
        ImportError: torch (or gguf, for a GGUF file) is not installed.
        ResponseParsingError: the tokenizer has no chat template or no response template that fits.
        OSError: transformers can't find or load the model.
    """
    if importlib.util.find_spec("torch") is None:
        msg = "a live demo needs torch: pip install torch (without --model the demo needs nothing more)"
        raise ImportError(msg)
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from .hf import ResponseStreamer

    options: dict[str, Any] = {} if gguf_file is None else {"gguf_file": gguf_file}
    console.hint(f"loading {model_id} ...")
    tokenizer = AutoTokenizer.from_pretrained(model_id, **options)
    chosen, reason = choose_template(tokenizer, template)
    console.hint(f"response template: {reason}")
    if not getattr(tokenizer, "chat_template", None):
        msg = f"{model_id} has no chat template: is it a chat model?"
        raise ResponseParsingError(msg)
    model = AutoModelForCausalLM.from_pretrained(model_id, **options)
    inputs = tokenizer.apply_chat_template(
        [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
    ).to(model.device)
    view = EventView(console)
    view.legend(chosen["fields"])
    view.title(model_id, "live")
    view.heading(prompt)
    streamer = ResponseStreamer(
        tokenizer, prefix=inputs["input_ids"], response_template=chosen, on_event=view.show, on_error="keep"
    )
    for event in streamer.initial_events:
        view.show(event)
    model.generate(**inputs, streamer=streamer, max_new_tokens=max_new_tokens, do_sample=False)
    view.heading("The message")
    view.message(streamer.message or {})


def choose_template(tokenizer: Any, wanted: str | None) -> tuple[dict[str, Any], str]:
    """The template to use and why: what was asked for, the tokenizer's own, or the family's of its chat template."""
    if wanted is not None:
        if wanted.endswith(".json") or Path(wanted).is_file():
            template: dict[str, Any] = json.loads(Path(wanted).read_text(encoding="utf-8"))
            return template.get("response_template", template), f"the file {wanted}"
        return get_template(wanted).response_template, f"the family {get_template(wanted).name}, as asked for"
    # Without enable(), versions before 5.13 keep it where unknown keys of tokenizer_config.json go.
    settings = getattr(tokenizer, "init_kwargs", {})
    own = getattr(tokenizer, "response_template", None) or settings.get("response_template")
    if own:
        return own, "the tokenizer's own"
    match = find_template(tokenizer)
    if match is None:
        msg = "no response template fits this model's chat template; choose one with --template (a family or a file)"
        raise ResponseParsingError(msg)
    return match.response_template, f"family {match.entry.name}: {match.reason}"
