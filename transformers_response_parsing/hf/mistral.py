# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of mistral-common: they load and save nothing but their own file, so the template is read and written here.

The key stands in tokenizer_config.json next to tekken.json, as for every other tokenizer.
"""

from __future__ import annotations

import functools
import json
import logging
from pathlib import Path
from typing import Any

from .lookup import own_template, store_template
from .saving import warn_if_not_portable

__all__ = ["make_methods"]

_log = logging.getLogger(__name__)
_FILE = "tokenizer_config.json"
_KEY = "response_template"
# AutoTokenizer passes these on once there is a tokenizer_config.json, and transformers 4.57 then refuses to load.
_OPTIONS_OF_AUTO = ("_from_auto", "_commit_hash")
_HUB_OPTIONS = ("cache_dir", "force_download", "local_files_only", "token", "revision")


def make_methods(cls: type) -> dict[str, Any]:
    """`from_pretrained` and `save_pretrained` for `cls` that carry the response template along."""
    load = vars(cls)["from_pretrained"].__func__
    save = vars(cls)["save_pretrained"]

    @functools.wraps(load)
    def from_pretrained(cls: type, pretrained_model_name_or_path: Any, *args: Any, **kwargs: Any) -> Any:
        given = _KEY in kwargs
        template = kwargs.pop(_KEY, None)
        for name in _OPTIONS_OF_AUTO:
            kwargs.pop(name, None)
        tokenizer = load(cls, pretrained_model_name_or_path, *args, **kwargs)
        if not given:
            template = _read(pretrained_model_name_or_path, kwargs)
        if template is not None:
            store_template(tokenizer, template)
        return tokenizer

    @functools.wraps(save)
    def save_pretrained(self: Any, save_directory: Any, *args: Any, **kwargs: Any) -> Any:
        warn_if_not_portable(own_template(self))
        # Before the tokenizer's own file, so that push_to_hub=True finds it.
        written = _write(Path(save_directory), own_template(self))
        saved = save(self, save_directory, *args, **kwargs)
        return (*saved, str(written)) if written is not None and isinstance(saved, tuple) else saved

    return {"from_pretrained": classmethod(from_pretrained), "save_pretrained": save_pretrained}


def _read(name_or_path: Any, options: dict[str, Any]) -> Any:
    path: Any = Path(name_or_path, _FILE)
    if not path.parent.is_dir():
        from transformers.utils.hub import cached_file

        hub_options = {name: options[name] for name in _HUB_OPTIONS if name in options}
        try:
            path = cached_file(name_or_path, _FILE, _raise_exceptions_for_missing_entries=False, **hub_options)
        except OSError:  # no such file, or offline: the tokenizer itself is loaded
            return None
    if path is None or not Path(path).is_file():
        return None
    try:
        config = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError:
        _log.warning("%s is not valid JSON; it was not searched for a response template", path)
        return None
    return config.get(_KEY) if isinstance(config, dict) else None


def _write(folder: Path, template: Any) -> Path | None:
    """Set (or with None: remove) the key in the folder's tokenizer_config.json; the path if there is such a file then."""
    path = folder / _FILE
    config = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if template is None and _KEY not in config:
        return None
    if template is None:
        del config[_KEY]
    else:
        config[_KEY] = template
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(config, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
