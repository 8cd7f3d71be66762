# SPDX-License-Identifier: Apache-2.0
"""The text of a pull request: what the template is, what was shown about it, and what was not."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from .errors import ResponseParsingError
from .hub_file import CONFIG, hub_api, package_version
from .json_edit import read_key, same_json
from .library import list_templates
from .push_plan import PushPlan
from .report import CheckReport
from .template import ResponseTemplate

__all__ = ["Proof", "describe", "prove"]

_CHAT_TEMPLATE = "chat_template.jinja"
_MAX_TABLE = 20_000  # characters; the Hub takes no texts of any length


class Proof(NamedTuple):
    """What `check_template` said, and with what it was asked; `report` is None where it could not be."""

    report: CheckReport | None
    means: str


def prove(plan: PushPlan, token: str | bool | None) -> Proof:
    """Check the template against the repository's own chat template, with its tokenizer if that can be loaded.

    The template is checked as it was given: what its fields are called changes nothing that it reads, and chat templates
    know few names. No code of the repository is run.
    """
    from .check import check_template

    source, means = _tokenizer(plan, token)
    if source is None:
        return Proof(None, means)
    try:
        return Proof(check_template(source, plan.given), means)
    except ResponseParsingError as error:
        return Proof(None, f"it can't be checked: {error}")
    except Exception as error:  # noqa: BLE001 - chat templates are programs, and may do anything
        return Proof(None, f"the check failed ({type(error).__name__})")


def _tokenizer(plan: PushPlan, token: str | bool | None) -> tuple[Any, str]:
    """A tokenizer, or the text of a chat template, or None; and words about it."""
    try:
        from transformers import AutoTokenizer

        options = {"revision": plan.commit, "token": token, "trust_remote_code": False}
        tokenizer = AutoTokenizer.from_pretrained(plan.repo_id, **options)
    except Exception as error:  # noqa: BLE001 - whatever keeps a tokenizer from loading, the push does not depend on it
        why = f"the tokenizer could not be loaded ({type(error).__name__})"
    else:
        if getattr(tokenizer, "chat_template", None):
            return tokenizer, "with the tokenizer of this repository"
        return None, "the tokenizer of this repository has no chat template to check it against"
    text = _chat_template(plan, token)
    if text is None:
        return None, f"{why}, and there is no chat template to check it against"
    return text, f"with the chat template of this repository alone: {why}"


def _chat_template(plan: PushPlan, token: str | bool | None) -> str | None:
    """The text of the chat template, without a tokenizer: from its own file, as newer repositories have it, or from the config."""
    from huggingface_hub.errors import EntryNotFoundError

    try:
        path = hub_api(token).hf_hub_download(plan.repo_id, _CHAT_TEMPLATE, revision=plan.commit)
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except (EntryNotFoundError, OSError):
        found = None if plan.before is None else read_key(plan.before, "chat_template")
        return found if isinstance(found, str) and found else None


def describe(plan: PushPlan, proof: Proof) -> str:
    """The description of the pull request or commit, in Markdown."""
    template = ResponseTemplate.load(plan.template)
    return "\n\n".join([_what(plan), f"{_needs(template)} {_origin(plan)}", *_shown(proof), _by()]) + "\n"


def _what(plan: PushPlan) -> str:
    does = "Adds a" if plan.existing is None else "Replaces the"
    file = f"Nothing else changes in `{CONFIG}`."
    if plan.before is None:
        file = (
            f"This creates `{CONFIG}`. If the repository has only Mistral's `tekken.json`: with that file there, "
            "`AutoTokenizer` of transformers 4.57 does not load it; 5.0 and newer do."
        )
    return (
        f"{does} response template, the inverse of the chat template: with it, `tokenizer.parse_response` turns what the "
        f"model generated into a message with {_fields(plan.template)}. {file}"
    )


def _fields(template: dict[str, Any]) -> str:
    names = dict.fromkeys(f"`{field.get('into', name)}`" for name, field in template["fields"].items())
    *rest, last = names
    return f"{', '.join(rest)} and {last}" if rest else last


def _needs(template: ResponseTemplate) -> str:
    if template.min_transformers is not None:
        return f"It needs transformers {template.min_transformers} or newer."
    return (
        "It needs the package `transformers-response-parsing`. **The parser in transformers itself (5.13 and newer) does not "
        f"read** {', '.join(f'`{path}`' for path in template.extensions)}: its `parse_response` and its chat pipelines fail."
    )


def _origin(plan: PushPlan) -> str:
    renamed = "" if plan.given == plan.template else ", with its fields renamed for serving engines"
    families = [f"`{entry.name}`" for entry in list_templates() if same_json(entry.response_template, plan.given)]
    if not families:
        return f"It was given by hand{renamed}."
    return f"It is the template {', '.join(families)} of the library of transformers-response-parsing{renamed}."


def _shown(proof: Proof) -> list[str]:
    if proof.report is None:
        return [f"**Not checked**: {proof.means}."]
    table = str(proof.report)
    if len(table) > _MAX_TABLE:
        table = f"{table[:_MAX_TABLE]}\n… ({len(table)} characters)"
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", table)), default=0))
    said = "**Checked**" if proof.report.ok else "**Checked, and not everything passes**"
    how = (
        f"{said}, {proof.means}: conversations are rendered with the chat template, the reply is parsed, whole and in "
        "pieces, and must be the message that was rendered; rendered again, it must give the same text."
    )
    return [how, f"{fence}text\n{table}\n{fence}"]


def _by() -> str:
    return " ".join(filter(None, ("Made with transformers-response-parsing", package_version()))) + "."
