# SPDX-License-Identifier: Apache-2.0
"""`tokenizer_config.json` of a model repository or a local folder: read it, and write it in a folder."""

from __future__ import annotations

import os
import secrets
import shutil
from importlib.metadata import PackageNotFoundError, version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from .errors import ResponseParsingError
from .json_edit import JsonTextError, read_key

__all__ = [
    "CONFIG",
    "KEY",
    "ConfigFile",
    "FolderNotFoundError",
    "hub_api",
    "package_version",
    "place",
    "read_config",
    "template_in",
    "write_local",
]

CONFIG = "tokenizer_config.json"
KEY = "response_template"
_US = "transformers-response-parsing"


class FolderNotFoundError(ResponseParsingError, FileNotFoundError):
    """What can only be meant as a folder is not there."""


class ConfigFile(NamedTuple):
    """The file as it was found.

    `repo_id` is the repository or the folder (`local`), `commit` the commit it was read at (None for a folder), `text` its
    text with the byte order mark and line ends that it has, or None if there is no such file.
    """

    repo_id: str
    local: bool
    commit: str | None
    text: str | None

    @property
    def place(self) -> str:
        """The file, for messages."""
        return place(self.repo_id, self.commit)


def place(repo_id: str, commit: str | None) -> str:
    """The file, for messages: `org/model/tokenizer_config.json at 1a2b3c4`."""
    return f"{repo_id}/{CONFIG}" + (f" at {commit[:7]}" if commit else "")


def hub_api(token: str | bool | None) -> Any:
    """A `huggingface_hub.HfApi` that says who asks."""
    from huggingface_hub import HfApi

    return HfApi(token=token, library_name=_US, library_version=package_version())


def package_version() -> str | None:
    """The version of this package; None if it is only importable, not installed."""
    try:
        return version(_US)
    except PackageNotFoundError:
        return None


def read_config(
    repo_id: str | PathLike[str], *, revision: str | None, token: str | bool | None, missing_ok: bool = False
) -> ConfigFile:
    """Read the file.

    Args:
        repo_id: `org/name`, or a folder; a folder that exists comes first, and so does anything that looks like one.
        revision: branch, tag or commit; None for the default branch.
        token: for the Hub.
        missing_ok: a repository without the file is no error, `text` is None then. (In a folder it never is.)

    Raises:
        FolderNotFoundError: no such folder.
        ResponseParsingError: a revision of a folder, or the file is not UTF-8.
        huggingface_hub.errors: as they come.
    """
    name = os.fspath(repo_id)
    if Path(name).is_dir():
        if revision is not None:
            raise ResponseParsingError(f"{name!r} is a local folder, which has no revisions: leave 'revision' out")
        path = Path(name) / CONFIG
        return ConfigFile(name, True, None, _decoded(path.read_bytes(), name) if path.exists() else None)
    if not isinstance(repo_id, str) or name.startswith((".", "~", os.sep)) or name.count("/") > 1:
        raise FolderNotFoundError(f"there is no folder {name!r}, and it can't be the id of a repository (org/name)")
    return _from_hub(name, revision, token, missing_ok)


def _from_hub(repo_id: str, revision: str | None, token: str | bool | None, missing_ok: bool) -> ConfigFile:
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    api = hub_api(token)
    commit = None
    if missing_ok:
        # The file may not be there to tell the commit, and a push must know which one it builds on.
        commit = api.model_info(repo_id, revision=revision).sha
    try:
        path = Path(api.hf_hub_download(repo_id, CONFIG, revision=commit or revision))
    except LocalEntryNotFoundError:  # the Hub was not asked
        raise
    except EntryNotFoundError:
        if not missing_ok:
            raise
        return ConfigFile(repo_id, False, commit, None)
    # The folder in the cache is named by the commit; so this works offline, too.
    return ConfigFile(repo_id, False, commit or path.parent.name, _decoded(path.read_bytes(), repo_id))


def template_in(file: ConfigFile) -> Any:
    """The response template in the file (any JSON value), or None.

    Raises:
        ResponseParsingError: the file is no JSON object.
    """
    if file.text is None:
        return None
    try:
        return read_key(file.text, KEY)
    except JsonTextError as error:
        raise ResponseParsingError(f"{file.place} can't be used: {error}") from None


def write_local(folder: str, text: str) -> Path:
    """Write the file in a folder, whole or not at all; permissions stay. A link is replaced, not what it points to.

    (In the Hub's cache the files of a snapshot are links to blobs that other snapshots share.)
    """
    path = Path(folder) / CONFIG
    beside = path.with_name(f".{CONFIG}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("xb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return path


def _decoded(raw: bytes, repo_id: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ResponseParsingError(f"{repo_id}/{CONFIG} is not UTF-8 (byte {error.start})") from None
