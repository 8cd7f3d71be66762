# SPDX-License-Identifier: Apache-2.0
"""Pipelines on a model that is made up, and whose generate() writes what the test wants it to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hf.helpers import make_tokenizer, needs_torch
from hf.test_processor import make_processor

import transformers_response_parsing as trp

pytestmark = needs_torch

CHAT = [{"role": "user", "content": "Hi"}]
OUTPUT = '<think>hm</think>\n\nHello<tool_call>{"name": "f", "arguments": {"n": "3"}}</tool_call><|im_end|>'
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "F.",
            "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}},
        },
    }
]
CALL = {"type": "function", "function": {"name": "f", "arguments": {"n": "3"}}}
TYPED_CALL = {"type": "function", "function": {"name": "f", "arguments": {"n": 3}}}
MESSAGE = {"role": "assistant", "reasoning_content": "hm", "content": "Hello", "tool_calls": [CALL]}


def scripted_model(tokenizer: Any, *outputs: str) -> Any:
    """A real model class whose `generate` answers each prompt with `outputs`, padded to one length."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1
    )
    model = LlamaForCausalLM(config)

    def generate(input_ids: Any = None, **kwargs: Any) -> Any:
        model.asked = kwargs
        rows = [tokenizer.encode(output) for output in outputs]
        width = max(map(len, rows))
        new = torch.tensor([row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows])
        prompts = input_ids.repeat_interleave(len(rows), dim=0)
        return torch.cat([prompts, new.repeat(len(input_ids), 1)], dim=1)

    model.generate = generate
    return model


@pytest.fixture
def pipe(tokenizer: Any) -> Callable[..., Any]:
    """Makes a text-generation pipeline whose model writes the given outputs."""
    from transformers import pipeline

    def make(*outputs: str, tokenizer: Any = tokenizer) -> Any:
        return pipeline("text-generation", model=scripted_model(tokenizer, *outputs), tokenizer=tokenizer, device="cpu")

    return make


def test_a_chat_gets_the_parsed_message_as_its_last_one(pipe: Any) -> None:
    assert pipe(OUTPUT)(CHAT) == [{"generated_text": [*CHAT, MESSAGE]}]


def test_several_chats_and_several_answers_each(pipe: Any) -> None:
    results = pipe(OUTPUT, "short<|im_end|>")([CHAT, CHAT], num_return_sequences=2)
    short = {"role": "assistant", "content": "short"}
    assert [[record["generated_text"][-1] for record in records] for records in results] == [[MESSAGE, short]] * 2


def test_tools_reach_the_chat_template_and_type_the_arguments(pipe: Any, tokenizer: Any) -> None:
    tokenizer.chat_template = "{% if tools %}TOOLS{{ tools | length }}{% endif %}" + tokenizer.chat_template
    pipeline = pipe(OUTPUT)
    prompts = []
    generate = pipeline.model.generate

    def watched(input_ids: Any = None, **kwargs: Any) -> Any:
        prompts.append(tokenizer.decode(input_ids[0]))
        assert "tools" not in kwargs
        return generate(input_ids=input_ids, **kwargs)

    pipeline.model.generate = watched
    message = pipeline(CHAT, tools=TOOLS)[0]["generated_text"][-1]
    assert message["tool_calls"] == [TYPED_CALL]
    assert prompts[0].startswith("TOOLS1")


def test_a_plain_prompt_gives_text_without_special_tokens(pipe: Any) -> None:
    assert pipe("there<|im_end|>")("Hello ") == [{"generated_text": "Hello there"}]
    assert pipe("there<|im_end|>")("Hello ", return_full_text=False) == [{"generated_text": "there"}]


def test_a_prefill_is_continued_without_special_tokens(pipe: Any) -> None:
    prefill = [*CHAT, {"role": "assistant", "content": "Sure, "}]
    expected = [{"generated_text": [*CHAT, {"role": "assistant", "content": "Sure, yes"}]}]
    assert pipe("yes<|im_end|>")(prefill) == expected
    assert pipe("yes<|im_end|>")(prefill, continue_final_message=True) == expected


def test_only_the_new_text_is_text(pipe: Any) -> None:
    assert pipe("<think>a</think>b<|im_end|>")(CHAT, return_full_text=False) == [
        {"generated_text": "<think>a</think>b"}
    ]


def test_special_tokens_are_kept_in_text_if_asked_for(pipe: Any) -> None:
    result = pipe("there<|im_end|>")("Hello ", return_full_text=False, skip_special_tokens=False)
    assert result == [{"generated_text": "there<|im_end|>"}]


def test_token_ids_are_left_alone(pipe: Any, tokenizer: Any) -> None:
    record = pipe("yes<|im_end|>")(CHAT, return_tensors=True)[0]
    assert record["generated_token_ids"][-4:] == tokenizer.encode("yes<|im_end|>")


def test_one_malformed_call_does_not_cost_the_other_results(pipe: Any) -> None:
    results = pipe("fine<|im_end|>", "<tool_call>{broken</tool_call>")(CHAT, num_return_sequences=2)
    last = [record["generated_text"][-1] for record in results]
    assert last[0] == {"role": "assistant", "content": "fine"}
    assert last[1]["malformed"][0]["raw"] == "{broken"


def test_without_a_template_the_result_is_the_one_of_transformers(pipe: Any) -> None:
    bare = make_tokenizer()
    pipeline = pipe("<think>a</think>b<|im_end|>", tokenizer=bare)
    ours = [pipeline(CHAT), pipeline("Hello "), pipeline(CHAT, return_full_text=False)]
    trp.disable()
    assert ours == [pipeline(CHAT), pipeline("Hello "), pipeline(CHAT, return_full_text=False)]
    assert ours[0] == [{"generated_text": [*CHAT, {"role": "assistant", "content": "<think>a</think>b"}]}]


def test_disable_gives_the_pipeline_class_back(pipe: Any) -> None:
    from transformers import TextGenerationPipeline

    trp.disable()
    before = dict(vars(TextGenerationPipeline))
    trp.enable(library=False)
    assert dict(vars(TextGenerationPipeline)) != before
    trp.disable()
    assert dict(vars(TextGenerationPipeline)) == before


def multimodal(name: str, tokenizer: Any, *outputs: str) -> Any:
    pytest.importorskip("PIL")
    transformers = pytest.importorskip("transformers")
    cls = getattr(transformers, name, None)
    if cls is None:
        pytest.skip(f"this version of transformers has no {name}")
    processor = make_processor(tokenizer, chat_template=tokenizer.chat_template)
    return cls(model=scripted_model(tokenizer, *outputs), processor=processor, device="cpu")


@pytest.mark.parametrize("name", ["ImageTextToTextPipeline", "AnyToAnyPipeline"])
def test_multimodal_chats_are_parsed_in_the_same_way(tokenizer: Any, name: str) -> None:
    tokenizer.chat_template = tokenizer.chat_template.replace("m['content']", "m['content'][0]['text']")
    chat = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    pipeline = multimodal(name, tokenizer, OUTPUT)
    assert pipeline(text=chat)[0]["generated_text"] == [*chat, MESSAGE]
    prefill = [*chat, {"role": "assistant", "content": [{"type": "text", "text": "Sure, "}]}]
    pipeline = multimodal(name, tokenizer, "yes<|im_end|>")
    assert pipeline(text=prefill)[0]["generated_text"][-1]["content"] == [{"type": "text", "text": "Sure, yes"}]


@pytest.mark.parametrize("name", ["ImageTextToTextPipeline", "AnyToAnyPipeline"])
def test_multimodal_pipelines_type_the_arguments_too(tokenizer: Any, name: str) -> None:
    tokenizer.chat_template = tokenizer.chat_template.replace("m['content']", "m['content'][0]['text']")
    chat = [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]
    message = multimodal(name, tokenizer, OUTPUT)(text=chat, tools=TOOLS)[0]["generated_text"][-1]
    assert message["tool_calls"] == [TYPED_CALL]
