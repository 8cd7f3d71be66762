# SPDX-License-Identifier: Apache-2.0
"""Response templates: turn what a chat model generated back into a message dict.

Importing this package changes nothing and imports neither transformers nor torch; each name is loaded when first used.
`enable()` is what adds the methods to tokenizers and processors.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .check import check_template
    from .errors import OutputError, PortabilityWarning, ResponseParsingError, TemplateError
    from .hf import ResponseStreamer, disable, enable, status
    from .hub import PulledTemplate, PushResult, plan_push, pull_template, push_template
    from .library import TemplateEntry, TemplateMatch, find_template, get_template, list_templates
    from .limits import set_search_timeout
    from .parser import ResponseParser, parse_response
    from .push_plan import PushPlan, TemplateExistsError
    from .report import CaseResult, CheckReport
    from .template import ResponseTemplate

__all__ = (
    "CaseResult",
    "CheckReport",
    "OutputError",
    "PortabilityWarning",
    "PulledTemplate",
    "PushPlan",
    "PushResult",
    "ResponseParser",
    "ResponseParsingError",
    "ResponseStreamer",
    "ResponseTemplate",
    "TemplateEntry",
    "TemplateError",
    "TemplateExistsError",
    "TemplateMatch",
    "check_template",
    "disable",
    "enable",
    "find_template",
    "get_template",
    "list_templates",
    "parse_response",
    "plan_push",
    "pull_template",
    "push_template",
    "set_search_timeout",
    "status",
)

# The module each public name lives in. `hf` is the only one that imports transformers, and only when it is used.
_HOMES = {
    "CaseResult": "report",
    "CheckReport": "report",
    "OutputError": "errors",
    "PortabilityWarning": "errors",
    "PulledTemplate": "hub",
    "PushPlan": "push_plan",
    "PushResult": "hub",
    "ResponseParser": "parser",
    "ResponseParsingError": "errors",
    "ResponseStreamer": "hf",
    "ResponseTemplate": "template",
    "TemplateEntry": "library",
    "TemplateError": "errors",
    "TemplateExistsError": "push_plan",
    "TemplateMatch": "library",
    "check_template": "check",
    "disable": "hf",
    "enable": "hf",
    "find_template": "library",
    "get_template": "library",
    "list_templates": "library",
    "parse_response": "parser",
    "plan_push": "hub",
    "pull_template": "hub",
    "push_template": "hub",
    "set_search_timeout": "limits",
    "status": "hf",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
