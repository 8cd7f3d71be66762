# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of real models: parsing what they decode gives the same as parsing the text, and so does streaming."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hf.helpers import TEMPLATE, has
from hf.test_streamer import summary

import transformers_response_parsing as trp
from transformers_response_parsing.hf.decode import incremental_decoder
from transformers_response_parsing.hf.inputs import decode_ids

pytestmark = [pytest.mark.assets, pytest.mark.usefixtures("plugin")]


class Model(NamedTuple):
    """A tokenizer, a template for it, and a generation with what it means."""

    template: dict[str, Any]
    prompt: str
    output: str
    message: dict[str, Any]


def template(anchor: str, **fields: Any) -> dict[str, Any]:
    return {"defaults": {"role": "assistant"}, "start_anchor": anchor, "fields": fields}


DEEPSEEK = template(
    "<｜Assistant｜>",
    reasoning_content={"open": "<think>", "close": "</think>"},
    content={"close": "<｜end▁of▁sentence｜>"},
)
ANSWER = "Naïve – “quotes” 你好 👩‍🚀\n\n```py\nif x:\n    y  =  1\n```"
CALL = {"type": "function", "function": {"name": "f", "arguments": {"city": "Zürich", "days": 2}}}

MODELS = {
    "qwen3": Model(
        TEMPLATE,
        "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
        f"<think>\nhm…\n</think>\n\n{ANSWER}\n<tool_call>\n"
        '{"name": "f", "arguments": {"city": "Zürich", "days": 2}}\n</tool_call><|im_end|><|endoftext|><|endoftext|>',
        {"role": "assistant", "reasoning_content": "hm…", "content": ANSWER, "tool_calls": [CALL]},
    ),
    "gptoss": Model(
        template(
            "<|start|>assistant",
            reasoning_content={"open": "<|channel|>analysis<|message|>", "close": "<|end|>"},
            content={"open": "<|channel|>final<|message|>", "close": "<|return|>"},
        ),
        "<|start|>user<|message|>Hi<|end|><|start|>assistant",
        f"<|channel|>analysis<|message|>hm…<|end|><|start|>assistant<|channel|>final<|message|>{ANSWER}<|return|>",
        {"role": "assistant", "reasoning_content": "hm…", "content": ANSWER},
    ),
    "gemma3": Model(
        template("<start_of_turn>model\n", content={"close": "<end_of_turn>"}),
        "<bos><start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n",
        f"{ANSWER}<end_of_turn><pad><pad>",
        {"role": "assistant", "content": ANSWER},
    ),
    "llama3_1": Model(
        template("<|start_header_id|>assistant<|end_header_id|>\n\n", content={"close": ["<|eot_id|>", "<|eom_id|>"]}),
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        f"{ANSWER}<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nrun on",
        {"role": "assistant", "content": ANSWER},
    ),
    "llama2": Model(
        template("[/INST]", content={"close": "</s>"}),
        "[INST] Hi [/INST]",
        f"{ANSWER}</s>",
        {"role": "assistant", "content": ANSWER},
    ),
    "deepseek_v3": Model(
        DEEPSEEK,
        "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜><think>\n",
        f"hm…\n</think>\n\n{ANSWER}<｜end▁of▁sentence｜>",
        {"role": "assistant", "reasoning_content": "hm…", "content": ANSWER},
    ),
    "deepseek": Model(
        DEEPSEEK,
        "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜>",
        f"<think>hm…</think>{ANSWER}<｜end▁of▁sentence｜>",
        {"role": "assistant", "reasoning_content": "hm…", "content": ANSWER},
    ),
}


@cache
def load(folder: Path) -> Any:
    """The folder's tokenizer; loading a large vocabulary takes seconds, so the tests share it."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture(params=MODELS)
def case(request: pytest.FixtureRequest, asset: Callable[[str], Path]) -> tuple[Any, Model]:
    """The tokenizer, with the template set, and its model's case."""
    tokenizer, model = load(asset(request.param)), MODELS[request.param]
    if tokenizer.decode(encode(tokenizer, model.output), skip_special_tokens=False) != model.output:
        # Some 5.x load a file that says LlamaTokenizer as what it is not, and lose all spaces.
        pytest.skip(f"this version of transformers does not load {request.param}'s tokenizer correctly")
    tokenizer.response_template = model.template
    return tokenizer, model


def encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def test_ids_in_every_form_parse_as_the_text_does(case: tuple[Any, Model]) -> None:
    tokenizer, model = case
    assert tokenizer.parse_response(model.output, prefix=model.prompt) == model.message
    ids, prompt = encode(tokenizer, model.output), encode(tokenizer, model.prompt)
    assert tokenizer.decode(prompt, skip_special_tokens=False) == model.prompt
    one = [(ids, prompt), (np.array(ids), np.array(prompt)), (np.array(ids), {"input_ids": [prompt]})]
    batch = [([ids], prompt), (np.array([ids, ids]), np.array([prompt])), ({"input_ids": [ids]}, [model.prompt])]
    if has("torch"):
        import torch

        one.append((torch.tensor(ids), torch.tensor([prompt])))
        batch.append((torch.tensor([ids, ids]), torch.tensor([prompt, prompt])))
    for response, prefix in one:
        assert tokenizer.parse_response(response, prefix=prefix) == model.message
    for response, prefix in batch:
        messages = tokenizer.parse_response(response, prefix=prefix)
        assert messages == [model.message] * len(messages)
        assert messages


def test_streaming_the_ids_gives_the_same_events_and_message(case: tuple[Any, Model]) -> None:
    tokenizer, model = case
    ids, prompt = encode(tokenizer, model.output), encode(tokenizer, model.prompt)
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=prompt, on_event=events.append)
    streamer.put([prompt])
    for token in ids:
        streamer.put([token])
    streamer.end()
    parser = tokenizer.get_response_parser(prefix=prompt)
    initial = parser.initial_events
    expected = parser.feed(model.output)
    message, rest = parser.finalize()
    assert streamer.initial_events == initial
    assert streamer.message == message == model.message
    assert summary(events) == summary(expected + rest)


def test_saving_and_loading_keeps_the_template(case: tuple[Any, Model], tmp_path: Path) -> None:
    tokenizer, model = case
    tokenizer.save_pretrained(tmp_path)
    loaded = load(tmp_path)
    assert loaded.response_template == model.template
    assert loaded.parse_response(encode(loaded, model.output), prefix=model.prompt) == model.message


def test_decoding_by_tokens_is_decoding_at_once(case: tuple[Any, Model]) -> None:
    """Also for texts that the tokenizer spells with bytes, and for tokens in random order."""
    tokenizer, model = case
    texts = [model.output, "𓀀𓂀 ꙮ ﷽ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 a\u0301\u0302", "  two  spaces\n\n\tand tabs ", "日本語のテキスト、한국어 텍스트"]
    rows = [encode(tokenizer, text) for text in texts]
    for ids in rows:
        decoder = incremental_decoder(tokenizer)
        assert "".join([decoder.push([token]) for token in ids]) + decoder.finish() == decode_ids(tokenizer, [ids])[0]
    # In tokens of random order bytes are often invalid.
    shuffled = random.Random(3).choices(range(1000, 50_000), k=2000) + random.Random(4).choices(range(600), k=2000)
    decoder = incremental_decoder(tokenizer)
    streamed = "".join([decoder.push([token]) for token in shuffled]) + decoder.finish()
    assert streamed == decode_ids(tokenizer, [shuffled])[0]


def test_a_batch_of_any_ids_reads_as_the_tokenizer_itself_reads_it(case: tuple[Any, Model]) -> None:
    tokenizer, _ = case
    draw = random.Random(5)
    size = len(tokenizer)
    rows = [draw.choices(range(size if draw.random() < 0.5 else 300), k=draw.randrange(60)) for _ in range(400)]
    assert decode_ids(tokenizer, rows) == [decode_ids(tokenizer, [row])[0] for row in rows]
