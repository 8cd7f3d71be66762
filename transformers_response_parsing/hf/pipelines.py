# SPDX-License-Identifier: Apache-2.0
"""Pipelines: the answer to a chat comes back parsed, as the last message of `generated_text`.

Everything else keeps its shape: plain prompts, assistant prefills and `return_full_text=False` give text, without special
tokens. Versions that know templates natively leave special tokens in such text once the tokenizer has a template;
so their own method is shown a tokenizer without one, and only whole messages are replaced by what the parser made of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .lookup import library_template, usable_template
from .tokenizer import find_legacy_schema, parse

__all__ = ["make_methods"]


def make_methods(cls: type) -> dict[str, Any]:
    """The methods that replace those of the pipeline class `cls`."""
    methods = {"postprocess": _postprocess(cls), "_sanitize_parameters": _sanitize_parameters(cls)}
    if not _takes_tools(cls, "preprocess") and cls.__name__ == "TextGenerationPipeline":
        methods["preprocess"] = _preprocess(cls)
    return methods


class _Hiding:
    """An object as it is, but for some attributes. Only ever seen by one call, so that other threads notice nothing."""

    def __init__(self, target: Any, **instead: Any) -> None:
        self.__dict__.update(instead, _target=target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def _without_template(pipeline: Any) -> Any:
    """The pipeline as its own method should see it: no response template, no response schema."""
    nothing = {"response_template": None, "response_schema": None}
    tokenizer = _Hiding(_tokenizer(pipeline), **nothing)
    processor = getattr(pipeline, "processor", None)
    if processor is not None:
        processor = _Hiding(processor, tokenizer=tokenizer, **nothing)
    return _Hiding(pipeline, tokenizer=tokenizer, processor=processor)


def _tokenizer(pipeline: Any) -> Any:
    tokenizer = getattr(pipeline, "tokenizer", None)
    return tokenizer if tokenizer is not None else getattr(getattr(pipeline, "processor", None), "tokenizer", None)


def _template(pipeline: Any) -> Any:
    tokenizer = _tokenizer(pipeline)
    if tokenizer is None:
        return None
    template = usable_template(tokenizer)
    if template is None and find_legacy_schema(tokenizer) is None:
        template = library_template(tokenizer, getattr(getattr(pipeline, "processor", None), "chat_template", None))
    return template


def _postprocess(cls: Any) -> Callable[..., Any]:
    original = cls.postprocess
    takes_tools = _takes_tools(cls, "postprocess")

    @functools.wraps(original)
    def postprocess(self: Any, model_outputs: Any, *args: Any, tools: Any = None, **kwargs: Any) -> Any:
        template = _template(self)
        if template is None:
            if takes_tools:
                kwargs["tools"] = tools
            return original(self, model_outputs, *args, **kwargs)
        prompts, sequences, inputs = _rows(model_outputs)
        records = original(_without_template(self), model_outputs, *args, **kwargs)
        if len(records) != len(sequences):
            return records
        for index, (record, sequence) in enumerate(zip(records, sequences, strict=True)):
            messages: Any = getattr(prompts[index % len(prompts)], "messages", None)
            if not _adds_message(record, messages):
                continue
            prompt, generated = _split(sequence, inputs[index % len(inputs)])
            # One malformed call must not cost the user the other results of the run.
            message = parse(_tokenizer(self), [generated], template, prefix=prompt, tools=tools, on_error="keep")[0]
            record["generated_text"] = [*messages, {"role": "assistant", **message}]
        return records

    return postprocess


def _rows(outputs: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Prompts, generated sequences and input ids of a pipeline step; shorter lists repeat over the sequences.

    Text generation hands over one prompt with [1, sequences, length] ids, the others a list of prompts with [sequences, length].
    """
    if not hasattr(outputs, "get") or outputs.get("generated_sequence") is None or outputs.get("input_ids") is None:
        return [], [], []
    sequences, prompts = outputs["generated_sequence"], outputs.get("prompt_text")
    if not hasattr(sequences, "tolist"):
        return [], [], []
    rows = sequences.tolist()
    if getattr(sequences, "ndim", 0) == 3:
        rows = rows[0]
    return (list(prompts) if isinstance(prompts, (list, tuple)) else [prompts]), rows, outputs["input_ids"].tolist()


def _adds_message(record: Any, messages: Any) -> bool:
    """True if the record is the chat and one message more: neither text, nor a prefill that was continued."""
    text = record.get("generated_text") if isinstance(record, dict) else None
    return messages is not None and isinstance(text, list) and len(text) == len(messages) + 1


def _split(sequence: list[int], prompt: list[int]) -> tuple[list[int], list[int]]:
    """The prompt and what follows it. Encoder-decoder models generate without repeating the prompt."""
    if sequence[: len(prompt)] == prompt:
        return prompt, sequence[len(prompt) :]
    return prompt, sequence


def _sanitize_parameters(cls: Any) -> Callable[..., Any]:
    original = cls._sanitize_parameters
    text_only = cls.__name__ == "TextGenerationPipeline"
    pass_on = _takes_tools(cls, "_sanitize_parameters") or not text_only

    @functools.wraps(original)
    def _sanitize_parameters(self: Any, *args: Any, tools: Any = None, **kwargs: Any) -> Any:
        if tools is None:
            return original(self, *args, **kwargs)
        if pass_on:
            kwargs["tools"] = tools
        before, forward, after = original(self, *args, **kwargs)
        return {**before, "tools": tools}, forward, {**after, "tools": tools}

    return _sanitize_parameters


def _preprocess(cls: Any) -> Callable[..., Any]:
    """For versions whose text generation does not take `tools`: they go to the chat template by another way."""
    original = cls.preprocess

    @functools.wraps(original)
    def preprocess(self: Any, prompt_text: Any, *args: Any, tools: Any = None, **kwargs: Any) -> Any:
        if tools is not None and hasattr(prompt_text, "messages"):
            kwargs["tokenizer_encode_kwargs"] = {**(kwargs.get("tokenizer_encode_kwargs") or {}), "tools": tools}
        return original(self, prompt_text, *args, **kwargs)

    return preprocess


def _takes_tools(cls: Any, method: str) -> bool:
    return "tools" in inspect.signature(getattr(cls, method)).parameters
