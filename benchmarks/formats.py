# SPDX-License-Identifier: Apache-2.0
"""Response templates to measure with: one for each kind of delimiter and body that costs something of its own.

They are written as most template authors would write them, in the language that both parsers understand, and are not the
ones of the library (whose growth is measured in `library.py`).
"""

from __future__ import annotations

from typing import Any

__all__ = ["COHERE", "GEMMA4", "GPT_OSS", "INKLING", "LOOKAHEAD", "QWEN3_5", "QWEN3_CODER", "SMOLLM3", "Template"]

Template = dict[str, Any]

_CHATML: Template = {"defaults": {"role": "assistant"}, "start_anchor": "<|im_start|>assistant\n"}
_NAMED_CALL = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
_TAGS = {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\s*(?P<value>.*?)\s*</parameter>"}

# Only literals; content is implicit, so three delimiters are watched in it.
SMOLLM3: Template = {
    **_CHATML,
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

# A pattern with whitespace inside, arguments in tags.
QWEN3_CODER: Template = {
    **_CHATML,
    "fields": {
        "reasoning_content": {"open": "<think>", "close": "</think>"},
        "tool_calls": {
            "open_pattern": r"<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>",
            "repeats": True,
            "content": "xml-inline",
            "content_args": _TAGS,
            "transform": _NAMED_CALL,
        },
        "content": {"close": "<|im_end|>"},
    },
}

# Every delimiter of the implicit field begins with optional whitespace.
QWEN3_5: Template = {
    **_CHATML,
    "fields": {
        "reasoning_content": {"open_pattern": r"\s*<think>", "close_pattern": r"</think>|(?=\s*<tool_call>)"},
        "tool_calls": {
            "open_pattern": r"\s*<tool_call>\s*<function=(?P<name>[^>\n]+)>",
            "close_pattern": r"</function>\s*</tool_call>\s*",
            "repeats": True,
            "content": "xml-inline",
            "content_args": {"tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\n?(?P<value>.*?)\n?</parameter>"},
            "transform": _NAMED_CALL,
        },
        "content": {"close_pattern": r"\s*<\|im_end\|>\s*"},
    },
}

# An optional part and a run of anything but "<" in front of the literal that decides.
INKLING: Template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|message_model|>",
    "fields": {
        "reasoning_content": {
            "open_pattern": r"(?:<\|message_model\|>)?[^<]*<\|content_thinking\|>",
            "close": "<|end_message|>",
            "repeats": True,
            "join": "\n",
        },
        "tool_calls": {
            "open_pattern": r"(?:<\|message_model\|>)?[^<]*<\|content_invoke_tool_json\|>",
            "close": "<|end_message|>",
            "repeats": True,
            "content": "json",
            "transform": {
                "type": "function",
                "function": {"name": "{content.name}", "arguments": "{content.args}"},
            },
        },
        "content": {
            "open_pattern": r"(?:<\|message_model\|>)?[^<]*<\|content_text\|>",
            "close": "<|end_message|>",
            "repeats": True,
            "join": "\n",
        },
    },
}

# Headers with a name in the middle; closes that are one of several literals.
GPT_OSS: Template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|start|>assistant",
    "fields": {
        "reasoning_content": {
            "open_pattern": r"(?:<\|start\|>assistant)?<\|channel\|>analysis<\|message\|>",
            "close": ["<|end|>", "<|return|>"],
            "repeats": True,
            "join": "\n",
        },
        "tool_calls": {
            "open_pattern": r"(?:<\|start\|>assistant)?<\|channel\|>commentary to=functions\.(?P<name>[\w.-]+)"
            r".*?<\|message\|>",
            "close": ["<|call|>", "<|end|>"],
            "repeats": True,
            "content": "json",
            "transform": _NAMED_CALL,
        },
        "content": {
            "open_pattern": r"(?:<\|start\|>assistant)?<\|channel\|>(?:final|commentary)<\|message\|>",
            "close": ["<|return|>", "<|end|>"],
            "repeats": True,
            "join": "\n",
        },
    },
}

# Unquoted keys, strings between tokens.
GEMMA4: Template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|turn>model\n",
    "fields": {
        "reasoning_content": {"open": "<|channel>thought\n", "close": "<channel|>"},
        "tool_calls": {
            "open_pattern": r"<\|tool_call>call:(?P<name>[\w.-]+)",
            "close": "<tool_call|>",
            "repeats": True,
            "content": "json",
            "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
            "transform": _NAMED_CALL,
        },
        "content": {"close": "<turn|>"},
    },
}

# All calls are one JSON array; content has delimiters of its own.
COHERE: Template = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|CHATBOT_TOKEN|>",
    "fields": {
        "reasoning_content": {"open": "<|START_THINKING|>", "close": "<|END_THINKING|>"},
        "tool_calls": {
            "open": "<|START_ACTION|>",
            "close": "<|END_ACTION|>",
            "content": "json",
            "transform_each": True,
            "transform": {
                "type": "function",
                "id": "{tool_call_id}",
                "function": {"name": "{tool_name}", "arguments": "{parameters}"},
            },
        },
        "content": {"open": ["<|START_RESPONSE|>", "<|START_TEXT|>"], "close": ["<|END_RESPONSE|>", "<|END_TEXT|>"]},
    },
}

# An open that needs to see the end of the reasoning before it can be told.
LOOKAHEAD: Template = {
    **_CHATML,
    "fields": {
        "reasoning_content": {"open_pattern": r"(?=[\s\S]*?</think>)", "close": "</think>"},
        "content": {"close": "<|im_end|>"},
    },
}
