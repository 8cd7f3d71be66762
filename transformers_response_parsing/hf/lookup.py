# SPDX-License-Identifier: Apache-2.0
"""Which response template a tokenizer uses: its own, or one that the library proves for its chat template."""

from __future__ import annotations

import copy
import logging
import os
import time
from typing import Any

from transformers_response_parsing.errors import Problem, TemplateError
from transformers_response_parsing.remembered import Remembered

__all__ = ["library_is_on", "library_template", "own_template", "set_library", "store_template", "usable_template"]

_log = logging.getLogger(__name__)
_ATTRIBUTE = "response_template"
_library_on = False
_REMEMBERED = 256
_answers: Remembered[dict[str, Any] | None] = Remembered(_REMEMBERED)  # by chat template: each is looked up once


def set_library(on: bool) -> None:
    """Switch the look-up in the library on or off, and forget earlier answers."""
    global _library_on
    _library_on = on
    _answers.clear()


def library_is_on() -> bool:
    """Whether templates are looked up in the library."""
    return _library_on


def own_template(tokenizer: Any) -> Any:
    """The tokenizer's own response template, set or loaded; None if it has none. Works without the plugin, too."""
    attributes = vars(tokenizer)
    if _ATTRIBUTE in attributes:  # None, too, if that is what was set
        return attributes[_ATTRIBUTE]
    return (attributes.get("init_kwargs") or {}).get(_ATTRIBUTE)


def usable_template(tokenizer: Any) -> Any:
    """The tokenizer's own response template, to parse with; None if it has none.

    Raises:
        TemplateError: it is a string. A string would be taken for the path of a file, and a repository must not choose which
            files (or devices, or network shares) are opened here.
    """
    template = own_template(tokenizer)
    if isinstance(template, (str, os.PathLike)):
        advice = "must be an object (a dict): to use a file, set it to ResponseTemplate.load(path)"
        raise TemplateError([Problem("", f"the response_template of a tokenizer {advice}")])
    return template


def store_template(tokenizer: Any, template: Any) -> None:
    """Make `template` the tokenizer's own (None: take it away), where every version of transformers finds and saves it.

    Versions with native templates read and save the instance's attribute, older ones save `init_kwargs` and know no more.
    """
    init_kwargs = vars(tokenizer).get("init_kwargs")
    vars(tokenizer)[_ATTRIBUTE] = template
    if init_kwargs is not None:
        if template is None:
            init_kwargs.pop(_ATTRIBUTE, None)
        else:
            init_kwargs[_ATTRIBUTE] = template


def library_template(tokenizer: Any, chat_template: Any = None) -> Any:
    """A template from the library that is proven for the tokenizer, which becomes the tokenizer's own; None if there is none.

    `chat_template`: a processor's, for a tokenizer that has none itself.
    """
    if not _library_on:
        return None
    own = getattr(tokenizer, "chat_template", None)
    chat = own or chat_template
    # A tokenizer can carry several chat templates by name.
    key = tuple(sorted(chat.items())) if isinstance(chat, dict) else chat
    if not key or not isinstance(key, (str, tuple)):
        return None
    template = copy.deepcopy(_answers.get(key, lambda: _ask_library(tokenizer if own else chat)))
    if template is None:
        return None
    store_template(tokenizer, template)
    return template


def _ask_library(question: Any) -> dict[str, Any] | None:
    try:
        from transformers_response_parsing.library import find_template
    except ImportError:
        return None
    begin = time.monotonic()
    try:
        match = find_template(question)
    except Exception:  # noqa: BLE001 -- a convenience must not break what the user asked for
        _log.warning("looking for a response template in the library failed", exc_info=True)
        return None
    seconds = time.monotonic() - begin
    if match is None:
        _log.info("the library has no response template for this chat template (looked for %.1f s)", seconds)
        return None
    if not match.proven:
        _log.info("the library's response template was not used, because it is not proven: %s", match.reason)
        return None
    _log.info("using the library's response template %s, found in %.1f s: %s", match.entry.name, seconds, match.reason)
    template = match.response_template
    return dict(getattr(template, "source", template))
