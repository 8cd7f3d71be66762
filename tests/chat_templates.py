# SPDX-License-Identifier: Apache-2.0
"""Small chat templates in the shapes of real ones, and a right response template for each."""

from __future__ import annotations

import copy
from typing import Any

CHATML_JSON = """\
{%- if tools %}<|im_start|>system
Tools: {{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "assistant" %}<|im_start|>assistant
{%- if message.reasoning_content %}
<think>
{{ message.reasoning_content }}
</think>

{%- endif %}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == "tool" %}<|im_start|>user
<tool_response>{{ message.content }}</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}
{%- endif %}"""

CHATML_XML = """\
{%- if tools %}<|im_start|>system
Tools: {{ tools | tojson }}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls %}
<tool_call>
<function={{ call.function.name }}>
{%- for key, value in call.function.arguments | items %}
<parameter={{ key }}>
{{ value if value is string else value | tojson }}
</parameter>
{%- endfor %}
</function>
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

# One call at most, as the whole message; another token ends a call's turn.
HEADERS = """\
{{ bos_token }}
{%- if tools %}<|start_header_id|>system<|end_header_id|>

Tools: {{ tools | tojson }}<|eot_id|>
{%- endif %}
{%- for message in messages %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{% if message.tool_calls %}
{%- if message.tool_calls | length > 1 %}{{ raise_exception("one call at a time") }}{% endif %}
{%- set call = message.tool_calls[0].function %}{"name": "{{ call.name }}", "parameters": {{ call.arguments | tojson }}}<|eom_id|>
{%- else %}{{ message.content }}<|eot_id|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""

# No generation prompt, ids of nine characters, arguments of either kind.
BRACKETS = """\
{{ bos_token }}
{%- for message in messages %}
{%- if message.role == "user" %}
{%- if tools and loop.last %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}[INST]{{ message.content }}[/INST]
{%- elif message.role == "tool" %}[TOOL_RESULTS]{{ message.content }}[/TOOL_RESULTS]
{%- elif message.tool_calls %}{{ message.content }}[TOOL_CALLS][
{%- for call in message.tool_calls %}
{%- if call.id | length != 9 %}{{ raise_exception("ids have 9 characters") }}{% endif %}
{%- if not loop.first %}, {% endif %}{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}, "id": "{{ call.id }}"}
{%- endfor %}]{{ eos_token }}
{%- else %}{{ message.content }}{{ eos_token }}
{%- endif %}
{%- endfor %}"""

# The prompt opens reasoning, and no message shows it.
OPENED = """\
{%- for message in messages %}
{%- if message.role == "user" %}<|User|>{{ message.content }}
{%- else %}<|Assistant|>{{ message.content.split("</think>")[-1] }}<|end|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|Assistant|><think>
{% endif %}"""

_CALL = {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}

TEMPLATES: dict[str, dict[str, Any]] = {
    CHATML_JSON: {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "tool_calls": {
                "open": "<tool_call>",
                "close": "</tool_call>",
                "repeats": True,
                "content": "json",
                "transform": _CALL,
            },
            "content": {"close": "<|im_end|>"},
        },
    },
    CHATML_XML: {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|im_start|>assistant\n",
        "fields": {
            "tool_calls": {
                "open_pattern": r"<tool_call>\s*<function=(?P<name>[^>\n]+)>",
                "close_pattern": r"</function>\s*</tool_call>",
                "repeats": True,
                "content": "xml-inline",
                "content_args": {
                    "tag_pattern": r"<parameter=(?P<key>[^>\n]+)>\n(?P<value>.*?)\n</parameter>(?=\s*(?:<parameter=|\Z))"
                },
                "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
            },
            "content": {"close": "<|im_end|>"},
        },
    },
    HEADERS: {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "fields": {
            "tool_calls": {
                "open_pattern": r'(?=\{"name":)',
                "close": ["<|eom_id|>", "<|eot_id|>"],
                "repeats": True,
                "content": "json",
                "transform": {
                    "type": "function",
                    "function": {"name": "{content.name}", "arguments": "{content.parameters}"},
                },
            },
            "content": {"close": ["<|eot_id|>", "<|eom_id|>"]},
        },
    },
    BRACKETS: {
        "defaults": {"role": "assistant"},
        "start_anchor": ["[/INST]", "[/TOOL_RESULTS]"],
        "fields": {
            "tool_calls": {
                "open": "[TOOL_CALLS]",
                "close": "</s>",
                "content": "json",
                "transform_each": True,
                "transform": {
                    "type": "function",
                    "id": "{id}",
                    "function": {"name": "{name}", "arguments": "{arguments}"},
                },
            },
            "content": {"close": "</s>"},
        },
    },
    OPENED: {
        "defaults": {"role": "assistant"},
        "start_anchor": "<|Assistant|>",
        "fields": {
            "reasoning_content": {"open": "<think>", "close": "</think>"},
            "content": {"close": "<|end|>"},
        },
    },
}


def right_template(chat_template: str) -> dict[str, Any]:
    """A fresh copy of the response template that inverts one of the chat templates."""
    return copy.deepcopy(TEMPLATES[chat_template])
