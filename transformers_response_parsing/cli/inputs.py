# SPDX-License-Identifier: Apache-2.0
"""What commands are given: templates, chat templates, texts; by name, file, folder or repository."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from transformers_response_parsing.errors import ResponseParsingError, json_reason
from transformers_response_parsing.json_edit import JsonTextError, read_key, same_json
from transformers_response_parsing.library import TemplateEntry, find_template, get_template, list_templates
from transformers_response_parsing.rendering import chat_templates
from transformers_response_parsing.template import ResponseTemplate

from .connection import look_for_the_hub
from .usage import UsageError

__all__ = [
    "NamedTemplate",
    "NotReachedError",
    "chat_template_of",
    "decoded",
    "library_entry",
    "load_named_template",
    "load_tokenizer",
    "name_of",
    "parsed_json",
    "portable",
    "reach",
    "read_bytes",
    "read_json",
    "read_text",
]

_CONFIG, _CHAT_TEMPLATE = "tokenizer_config.json", "chat_template.jinja"
_STDIN = "-"


class NotReachedError(UsageError):
    """The Hub could not be asked, and the local cache does not have it."""


class NamedTemplate(NamedTuple):
    """A response template and where it is from, in words."""

    template: ResponseTemplate
    origin: str


def read_bytes(name: str) -> bytes:
    """What a file holds, or (`-`) what comes on stdin."""
    if name == _STDIN:
        if sys.stdin.isatty():
            sys.stderr.write("reading from the terminal, up to Ctrl-D\n")
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None


def read_text(name: str) -> str:
    """The text of a file or of stdin, every character of it, line ends included; a byte order mark is none of it."""
    return decoded(read_bytes(name), name_of(name))


def decoded(raw: bytes, what: str) -> str:
    """Bytes as text, without the byte order mark; `what` names them."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{what} is not UTF-8 (byte {error.start})") from None


def name_of(file: str) -> str:
    """What a file is called in a message."""
    return "stdin" if file == _STDIN else file


def read_json(name: str) -> Any:
    """The JSON value in a file or on stdin."""
    return parsed_json(read_text(name), name_of(name))


def parsed_json(text: str, what: str) -> Any:
    """The JSON value that a text is; `what` names it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise UsageError(f"{what} is not valid JSON: {json_reason(error)} at {place}") from None
    except (RecursionError, ValueError) as error:
        raise UsageError(f"{what} can't be read: {error}") from None


def library_entry(name: str) -> TemplateEntry:
    """The family with this name or model."""
    try:
        return get_template(name)
    except ResponseParsingError as error:
        raise UsageError(str(error)) from None


def load_named_template(name: str) -> NamedTemplate:
    """The response template that is meant by a name.

    Args:
        name: a file (a template; a file of the library or a `tokenizer_config.json`, which have one inside; a chat template in
            Jinja, for which the library is asked), a folder, a family, a model id of the library, or a repository.

    Raises:
        UsageError: there is nothing of that name.
        TemplateError: the template is wrong.
        ResponseParsingError: the repository or folder has no response template, and the library none that fits.
    """
    path = Path(name)
    if path.is_dir():
        return _of_repository(name)
    if path.is_file() or path.suffix in {".json", ".jinja"}:
        if path.suffix == ".jinja":
            return _found(read_text(name), name)
        value = read_json(name)
        inner = value.get("response_template") if isinstance(value, dict) else None
        if isinstance(inner, dict):
            return NamedTemplate(ResponseTemplate.load(inner), f"in {name}")
        return NamedTemplate(ResponseTemplate.load(path), f"the file {name}")
    try:
        entry = library_entry(name)
    except UsageError:
        if not _may_be_repository(name):
            raise
        return _of_repository(name)
    return NamedTemplate(ResponseTemplate.load(entry.response_template), f"family {entry.name}")


def portable(named: NamedTemplate) -> ResponseTemplate:
    """The template that transformers reads, too, in place of this one, which is told where it is another.

    Raises:
        ResponseParsingError: only this package reads it, and the library has none in its place.
    """
    template, origin = named
    if not template.extensions:
        return template
    paths = ", ".join(template.extensions)
    # Several families may have the same template; the one that was named comes first.
    for entry in sorted(list_templates(), key=lambda entry: origin != f"family {entry.name}"):
        if entry.portable_template is not None and same_json(entry.response_template, template.source):
            sys.stderr.write(
                f"the portable template of {entry.name} is taken, which does without {paths}; "
                f"`response-template show {entry.name}` tells what that means\n"
            )
            return ResponseTemplate.load(entry.portable_template)
    raise ResponseParsingError(
        f"only this package reads {paths} ({origin}), and the library has no portable template in its place: "
        "write it without, or leave --portable out"
    )


def _of_repository(name: str) -> NamedTemplate:
    """The repository's (or folder's) own template, else the library's for its chat template."""
    config = _file_of(name, _CONFIG)
    try:
        own = None if config is None else read_key(config, "response_template")
    except JsonTextError as error:
        raise ResponseParsingError(f"{name}/{_CONFIG} can't be used: {error}") from None
    if isinstance(own, dict):
        return NamedTemplate(ResponseTemplate.load(own), f"the one in {name}/{_CONFIG}")
    return _found(chat_template_of(name), name)


def _found(chat_template: Any, name: str) -> NamedTemplate:
    match = find_template(chat_template)
    if match is None:
        msg = f"the library has no response template that fits {name}: name one (`response-template ls`) or write one"
        raise ResponseParsingError(msg)
    doubt = "" if match.proven else ", NOT PROVEN"
    return NamedTemplate(
        ResponseTemplate.load(match.response_template), f"family {match.entry.name}{doubt}: {match.reason}"
    )


def chat_template_of(name: str) -> str | dict[str, str]:
    """The chat template in a file (its Jinja text, or a `tokenizer_config.json`), a folder or a repository.

    Returns:
        The text; a dict of texts by name if there are several.

    Raises:
        UsageError: there is no such file, and it can't be a repository.
        ResponseParsingError: there is no chat template.
    """
    path = Path(name)
    jinja: str | None = None
    if path.is_dir() or (_may_be_repository(name) and not path.is_file()):
        jinja, config = _file_of(name, _CHAT_TEMPLATE), _file_of(name, _CONFIG)
    elif path.suffix == ".json":
        config = read_text(name)
    else:
        return read_text(name)
    if jinja:
        return jinja
    texts = _in_config(parsed_json(config, f"{name}: {_CONFIG}")) if config else {}
    if not texts:
        raise ResponseParsingError(f"{name} has no chat template")
    return texts["default"] if list(texts) == ["default"] else texts


def _in_config(config: Any) -> dict[str, str]:
    value = config.get("chat_template") if isinstance(config, Mapping) else None
    if isinstance(value, list):  # several, as older versions saved them
        value = {item["name"]: item["template"] for item in value if isinstance(item, dict) and "template" in item}
    return {} if value is None else chat_templates(value)


def _file_of(name: str, file: str) -> str | None:
    """The text of a file of a folder or repository; None if there is no such file."""
    if Path(name).is_dir():
        path = Path(name) / file
        return read_text(str(path)) if path.is_file() else None
    look_for_the_hub()
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    from transformers_response_parsing.hub_file import hub_api

    try:
        return read_text(hub_api(None).hf_hub_download(name, file))
    except LocalEntryNotFoundError as error:
        what = f"the repository {name!r} is not in the local cache, and the Hub was not reached"
        raise NotReachedError(f"{what}: check the name and the connection") from error
    except EntryNotFoundError:
        return None


def reach(repo: str, revision: str | None, *, write: bool) -> None:
    """Before a repository or folder is read or written: see that it may have revisions, and that there is a connection.

    Raises:
        UsageError: it is a file; a revision of a folder; or it is to be written, and there is no connection.
    """
    if Path(repo).is_file():
        raise UsageError(f"{repo} is a file: name the folder that has it, or a repository (org/name)")
    if not Path(repo).is_dir():
        if _may_be_repository(repo):
            look_for_the_hub(needed=write)
    elif revision is not None:
        raise UsageError(f"{repo} is a folder, which has no revisions: leave --revision out")


def _may_be_repository(name: str) -> bool:
    """Whether it reads like `org/name`; what does not is meant as a family or a file."""
    owner, slash, rest = name.partition("/")
    return bool(slash and owner and rest) and "/" not in rest and not name.startswith((".", "~", "/"))


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a repository or folder. No code of a repository is run.

    Raises:
        UsageError: it can't be loaded.
    """
    if not Path(name).exists():
        look_for_the_hub()
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        first = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise UsageError(f"the tokenizer of {name} can't be loaded: {first}") from error
