# SPDX-License-Identifier: Apache-2.0
"""Tiny tokenizers made in memory, so that most tests of the plugin need no download and no torch."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

ASSISTANT = "<|im_start|>assistant\n"
PROMPT = f"<|im_start|>user\nHi<|im_end|>\n{ASSISTANT}"

CHAT_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}"
    "{% if not (continue_final_message is defined and continue_final_message and loop.last) %}<|im_end|>\n{% endif %}"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# The format of the chat template above, with reasoning and tool calls as most models write them.
TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": ASSISTANT,
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close": "<|im_end|>"},
    },
}


def has(*modules: str) -> bool:
    """Whether all these modules are installed."""
    return all(importlib.util.find_spec(name) is not None for name in modules)


needs_torch = pytest.mark.skipif(not has("torch"), reason="needs torch")


def byte_backend(**special: str) -> Any:
    """A `tokenizers` tokenizer with one token for each byte: every character beyond ASCII is spread over several tokens."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = {letter: index for index, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    texts = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *special.values())
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in texts])
    return tokenizer


def make_tokenizer(**options: Any) -> Any:
    """A new byte-level tokenizer with a ChatML chat template; `options` override its constructor's arguments."""
    from transformers import PreTrainedTokenizerFast

    defaults = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "chat_template": CHAT_TEMPLATE}
    return PreTrainedTokenizerFast(tokenizer_object=byte_backend(), **{**defaults, **options})
