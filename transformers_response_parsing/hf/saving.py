# SPDX-License-Identifier: Apache-2.0
"""Saving a tokenizer whose response template transformers' own parser can't read is told: it fails for others, later."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable
from typing import Any

from transformers_response_parsing.errors import PortabilityWarning, ResponseParsingError
from transformers_response_parsing.remembered import Remembered

from .lookup import own_template

__all__ = ["make_save_pretrained", "warn_if_not_portable"]

_REMEMBERED = 256
_STACK_LEVEL = 3  # save_pretrained's caller
_MOST_SHOWN = 3
_known: Remembered[None] = Remembered(_REMEMBERED)  # by JSON text of the template


def make_save_pretrained(save: Callable[..., Any]) -> Callable[..., Any]:
    """`save_pretrained` (which push_to_hub calls, too) with the warning."""

    @functools.wraps(save)
    def save_pretrained(self: Any, *args: Any, **kwargs: Any) -> Any:
        warn_if_not_portable(own_template(self))
        return save(self, *args, **kwargs)

    return save_pretrained


def warn_if_not_portable(template: Any) -> None:
    """Warn, once for each template, if it has extensions of this package. What is wrong with a template is not said here."""
    if not isinstance(template, dict):
        return
    try:
        key = json.dumps(template)
    except (TypeError, ValueError):  # it can't be saved, which save_pretrained itself will say
        return
    told: list[str] = []
    _known.get(key, lambda: told.append(_warning(template)))
    for text in filter(None, told):
        warnings.warn(text, PortabilityWarning, stacklevel=_STACK_LEVEL)


def _warning(template: dict[str, Any]) -> str:
    from transformers_response_parsing.library import list_templates
    from transformers_response_parsing.template import ResponseTemplate

    try:
        extensions = ResponseTemplate.load(template).extensions
    except ResponseParsingError:
        return ""
    if not extensions:
        return ""
    # Families can have the same template: the one that most people know is named.
    entries = [entry for entry in list_templates() if entry.response_template == template]
    entry = max(entries, key=lambda entry: len(entry.models), default=None)
    if entry is None:
        advice = "save one without them for people who do not use this package (response-template lint shows them all)"
    elif entry.portable_template is None:
        advice = (
            f"the format of {entry.name} can't be read without them: say in the model card that this package is needed"
        )
    else:
        advice = f'for people who do not use it, save get_template("{entry.name}").portable_template instead'
    return (
        "the response template that is saved with this tokenizer has extensions of transformers-response-parsing "
        f"({', '.join(extensions[:_MOST_SHOWN])}{', …' * (len(extensions) > _MOST_SHOWN)}), and without this package pipelines of "
        f"transformers 5.13 and later fail on it: {advice}"
    )
