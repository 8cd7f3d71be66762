# SPDX-License-Identifier: Apache-2.0
"""A real, small model, end to end: generate, stream, prefill, pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hf.helpers import TEMPLATE, has
from hf.test_streamer import summary

import transformers_response_parsing as trp

pytestmark = [
    pytest.mark.assets,
    pytest.mark.model,
    pytest.mark.skipif(not has("torch", "gguf", "accelerate"), reason="needs torch, gguf and accelerate"),
    pytest.mark.usefixtures("plugin"),
]

CHAT = [{"role": "user", "content": "What is the capital of France? Answer in one sentence."}]
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="module")
def smollm(asset: Callable[[str], Path]) -> tuple[Any, Any]:
    """The model and its tokenizer."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = asset("smollm2")
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=GGUF)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=GGUF).to(torch.float32).eval()
    return model, tokenizer


@pytest.fixture
def model(smollm: tuple[Any, Any]) -> Any:
    return smollm[0]


@pytest.fixture
def tokenizer(smollm: tuple[Any, Any], plugin: None) -> Any:
    tokenizer = smollm[1]
    tokenizer.pad_token = tokenizer.eos_token  # the file names none, and older versions do not guess
    tokenizer.response_template = TEMPLATE
    return tokenizer


def prompt_of(tokenizer: Any, prefill: str = "") -> Any:
    """The prompt as generate takes it, with the beginning of the answer written already."""
    text = tokenizer.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True) + prefill
    return tokenizer(text, return_tensors="pt", add_special_tokens=False)


OPTIONS: dict[str, Any] = {"max_new_tokens": 24, "do_sample": False}


def test_what_generate_returns_is_parsed(model: Any, tokenizer: Any) -> None:
    inputs = prompt_of(tokenizer)
    outputs = model.generate(**inputs, **OPTIONS)
    new = outputs[:, inputs["input_ids"].shape[1] :]
    message = tokenizer.parse_response(new[0], prefix=inputs["input_ids"])
    assert message["role"] == "assistant"
    assert "Paris" in message["content"]
    assert "<|im_end|>" not in message["content"]
    assert tokenizer.parse_response(new, prefix=inputs) == [message]


@pytest.mark.parametrize(
    ("prefill", "field"),
    [("", None), ("<think>\n", "reasoning_content"), ("Sure, ", "content")],
    ids=["none", "think", "sure"],
)
def test_streaming_gives_what_parsing_at_once_gives(
    model: Any, tokenizer: Any, prefill: str, field: str | None
) -> None:
    inputs = prompt_of(tokenizer, prefill)
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=inputs["input_ids"], on_event=events.append)
    outputs = model.generate(**inputs, **OPTIONS, streamer=streamer)
    new = outputs[0, inputs["input_ids"].shape[1] :]
    parser = tokenizer.get_response_parser(prefix=inputs["input_ids"])
    expected = parser.feed(tokenizer.decode(new))
    message, rest = parser.finalize()
    assert summary(events) == summary(expected + rest)
    assert streamer.message == message == tokenizer.parse_response(new, prefix=inputs["input_ids"])
    opened = [event["field"] for event in streamer.initial_events if event["type"] == "region_open"]
    assert opened == ([] if field is None else [field])
    if prefill == "Sure, ":
        assert message["content"].startswith("Sure, ")


def test_streaming_to_another_thread(model: Any, tokenizer: Any) -> None:
    inputs = prompt_of(tokenizer)
    streamer = trp.ResponseStreamer(tokenizer, prefix=inputs["input_ids"], timeout=120)
    streamer.start(model.generate, **inputs, **OPTIONS)
    text = "".join(event["text"] for event in streamer if event["type"] == "region_chunk")
    assert streamer.message is not None
    assert text.rstrip() == streamer.message["content"]


def test_a_batch_padded_on_the_left(model: Any, tokenizer: Any) -> None:
    texts = [
        tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True)
        for text in ("Hi", "What is the capital of France? Answer in one sentence.")
    ]
    inputs = tokenizer(texts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False)
    outputs = model.generate(**inputs, **OPTIONS)[:, inputs["input_ids"].shape[1] :]
    messages = tokenizer.parse_response(outputs, prefix=inputs)
    assert len(messages) == 2
    assert "Paris" in messages[1]["content"]
    assert all("<|" not in message["content"] for message in messages)


def test_assisted_generation_puts_several_tokens_at_once(model: Any, tokenizer: Any) -> None:
    inputs = prompt_of(tokenizer)
    sizes = []

    class Watched(trp.ResponseStreamer):
        def put(self, value: Any) -> None:
            sizes.append(value.numel())
            super().put(value)

    streamer = Watched(tokenizer, prefix=inputs["input_ids"])
    model.generate(**inputs, **OPTIONS, prompt_lookup_num_tokens=3, streamer=streamer)
    plain = model.generate(**inputs, **OPTIONS)[0, inputs["input_ids"].shape[1] :]
    assert sizes[0] == inputs["input_ids"].shape[1]
    assert streamer.message == tokenizer.parse_response(plain, prefix=inputs)


def test_more_than_one_sequence_is_refused(model: Any, tokenizer: Any) -> None:
    inputs = prompt_of(tokenizer)
    streamer = trp.ResponseStreamer(tokenizer, prefix=inputs["input_ids"])
    batch = {name: value.repeat(2, 1) for name, value in inputs.items()}
    with pytest.raises(ValueError, match="one sequence"):
        model.generate(**batch, **OPTIONS, streamer=streamer)


def test_the_pipeline_gives_the_parsed_message(model: Any, tokenizer: Any) -> None:
    from transformers import pipeline

    pipe = pipeline("text-generation", model=model, tokenizer=tokenizer)
    chat = pipe(CHAT, **OPTIONS)[0]["generated_text"]
    assert chat[:-1] == CHAT
    assert chat[-1]["role"] == "assistant"
    assert "Paris" in chat[-1]["content"]
