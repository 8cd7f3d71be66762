# SPDX-License-Identifier: Apache-2.0
"""The ready-made templates: list them, get one by name or model id, find the one that fits a tokenizer.

Each family is one JSON file of `model_templates/`; they are data, so that other programs can read them too.
"""

from __future__ import annotations

import copy
import difflib
import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ResponseParsingError

_HERE = Path(__file__).resolve().parent
# As installed from a wheel, and as laid out in the source tree (an editable install).
_FOLDERS = (_HERE / "model_templates", _HERE.parent / "model_templates")


@dataclass(frozen=True)
class TemplateEntry:
    """One family of the library.

    Attributes:
        name: the family, which is also the name of its file.
        models: ids of models that use the format; any one of them is a name for `get_template`.
        recognise: `chat_template_sha256` (list of SHA-256 hex digests of the UTF-8 text of chat templates known to fit),
            `contains` (list of strings that a chat template of the family has all of, or list of such lists, of which one
            suffices), and optionally `not_contains` (list of strings of which it has none).
        response_template: the template; a copy of the caller's own.
        examples: dicts with `output` and `message`, and optionally `name`, `prefix`, `tools`, `portable`.
        notes: what a user of the family should know.
        portable_template: where `response_template` uses what only this package reads, one that transformers reads too, if the
            format allows it: the one to push to a model's repository.
    """

    name: str
    models: tuple[str, ...]
    recognise: dict[str, Any]
    response_template: dict[str, Any]
    examples: tuple[dict[str, Any], ...]
    notes: str = ""
    portable_template: dict[str, Any] | None = None


@dataclass(frozen=True)
class TemplateMatch:
    """What `find_template` found.

    Attributes:
        entry: the family.
        response_template: its template.
        reason: why this family, in words.
        proven: True only if the template is known, or was just shown, to invert the chat template. `enable()` uses proven
            ones only.
    """

    entry: TemplateEntry
    response_template: dict[str, Any]
    reason: str
    proven: bool


def list_templates() -> list[TemplateEntry]:
    """All families, sorted by name."""
    return [copy.deepcopy(entry) for entry in _entries().values()]


def get_template(name_or_model_id: str) -> TemplateEntry:
    """The family with this name, or the one that lists this model id; upper and lower case are the same.

    Raises:
        ResponseParsingError: there is none; the message names the closest ones.
    """
    wanted = name_or_model_id.strip().casefold()
    family = _names().get(wanted)
    if family is None:
        close = difflib.get_close_matches(wanted, _names(), n=3, cutoff=0.6)
        spelled = ", ".join(_spelling(name) for name in close)
        hint = f"Did you mean: {spelled}? " if spelled else ""
        msg = f"no ready-made template for {name_or_model_id!r}. {hint}`list_templates()` lists all {len(_entries())} families."
        raise ResponseParsingError(msg)
    return copy.deepcopy(_entries()[family])


def find_template(tokenizer_or_chat_template: Any) -> TemplateMatch | None:
    """The template that fits a tokenizer, a processor, or a chat template (its Jinja text), or None.

    A chat template whose fingerprint a family lists is proven. Else families are recognised by their markers, and one is
    proven that reads back every conversation which the chat template can render (see `check_template`). If none does, the
    best guess is returned with `proven=False`: look at what it gives before you rely on it.
    """
    from .recognise import recognise

    found = recognise(tokenizer_or_chat_template, _entries())
    if found is None:
        return None
    entry = copy.deepcopy(_entries()[found.family])
    return TemplateMatch(entry, copy.deepcopy(entry.response_template), found.reason, found.proven)


def _folder() -> Path:
    for folder in _FOLDERS:
        if folder.is_dir():
            return folder
    msg = f"the folder model_templates was not found beside the package ({_HERE}); the installation is damaged"
    raise ResponseParsingError(msg)


@functools.cache
def _entries() -> dict[str, TemplateEntry]:
    entries = {}
    for path in sorted(_folder().glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        entries[data["name"]] = TemplateEntry(
            name=data["name"],
            models=tuple(data["models"]),
            recognise=data["recognise"],
            response_template=data["response_template"],
            examples=tuple(data["examples"]),
            notes=data.get("notes", ""),
            portable_template=data.get("portable_template"),
        )
    return entries


@functools.cache
def _names() -> dict[str, str]:
    """Case-folded family names and model ids -> family. A family's own name wins over a model id."""
    names = {model.casefold(): entry.name for entry in _entries().values() for model in entry.models}
    names.update({name.casefold(): name for name in _entries()})
    return names


def _spelling(folded: str) -> str:
    entry = _entries()[_names()[folded]]
    return next((model for model in entry.models if model.casefold() == folded), entry.name)
