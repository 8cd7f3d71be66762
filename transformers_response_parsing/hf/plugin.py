# SPDX-License-Identifier: Apache-2.0
"""`enable()`, `disable()`, `status()`: give the classes of transformers their new methods, and take them back.

Base classes are patched, so that tokenizers made earlier gain the methods, too: at once where their module is imported,
else right after the program imports it. To import them here would cost seconds, and in some versions bring in torch.
What to patch is decided by what the classes have, never by version numbers.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from . import lookup, mistral, pipelines, processor, saving
from . import tokenizer as tokenizer_part
from .patching import Ledger, PostImportHook

__all__ = ["PluginStatus", "disable", "enable", "status"]

_MISTRAL = ("MistralCommonTokenizer", "MistralCommonBackend")
_PIPELINES = {
    "transformers.pipelines.text_generation": "TextGenerationPipeline",
    "transformers.pipelines.image_text_to_text": "ImageTextToTextPipeline",
    "transformers.pipelines.any_to_any": "AnyToAnyPipeline",
}
_LEGACY_PARSER = "transformers.utils.chat_parsing_utils"  # only in versions that can parse with a response_schema

_ledger = Ledger()
_hook = PostImportHook()
_lock = threading.RLock()
_enabled = False
_library = False


@dataclass(frozen=True)
class PluginStatus:
    """What the plugin has done; `str()` of it is a readable summary.

    Attributes:
        enabled: whether the methods are there.
        library: whether tokenizers without a template of their own get a proven one from the library at first use.
        patched: `Class.attribute` of everything replaced or added, in order.
        waiting: modules that are patched when they are imported.
        left: after `disable()`: attributes that were not restored, because something else had replaced them since.
    """

    enabled: bool
    library: bool
    patched: tuple[str, ...]
    waiting: tuple[str, ...]
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"response parsing is {'enabled' if self.enabled else 'disabled'}"]
        if self.enabled:
            lines.append(f"templates from the library: {'yes, if proven' if self.library else 'no'}")
        for title, names in (("patched", self.patched), ("when imported", self.waiting), ("not restored", self.left)):
            if names:
                lines.append(f"{title}: {', '.join(names)}")
        return "\n".join(lines)


def enable(library: bool = True) -> PluginStatus:
    """Give tokenizers and processors their response-parsing methods. Calling it again only changes `library`.

    Args:
        library: give a tokenizer without a response template one from the library, at first use, if its chat template is
            one that the template is proven for. It then is the tokenizer's own and saved with it.

    Returns:
        What was done.

    Raises:
        ImportError: transformers is not installed.
    """
    global _enabled, _library
    with _lock:
        if not _enabled:
            _patch_all()
            _enabled = True
        if library != _library:
            _library = library
            lookup.set_library(library)
        return status()


def disable() -> PluginStatus:
    """Take everything back: each class is exactly as it was before `enable()`. Templates that were set stay set."""
    global _enabled, _library
    with _lock:
        _hook.remove()
        left = tuple(map(str, _ledger.undo()))
        _enabled = _library = False
        lookup.set_library(False)
        return PluginStatus(False, False, (), (), left)


def status() -> PluginStatus:
    """What is in force now."""
    return PluginStatus(_enabled, _library, tuple(map(str, _ledger.patches)), tuple(_hook.waiting))


def _patch_all() -> None:
    if not _exists("transformers"):
        msg = (
            "enable() adds methods to the tokenizers of transformers, which is not installed: pip install transformers"
        )
        raise ImportError(msg, name="transformers")
    try:
        for name, patch in _TARGETS.items():
            if _exists(name):
                _hook.when_imported(name, patch)
    except BaseException:
        _hook.remove()
        _ledger.undo()
        raise


def _exists(module: str) -> bool:
    """Whether transformers has the module. find_spec(module) would import the packages above it, and with them torch."""
    package, *rest = module.split(".")
    spec = importlib.util.find_spec(package)
    folders = (spec.submodule_search_locations if spec is not None else None) or ()
    return any(not rest or Path(folder, *rest).with_suffix(".py").is_file() for folder in folders)


def _patch_base(module: ModuleType) -> None:
    cls = module.PreTrainedTokenizerBase
    _patch_tokenizer(cls)
    _ledger.set(cls, "save_pretrained", saving.make_save_pretrained(cls.save_pretrained))


def _patch_tokenizer(cls: type) -> None:
    legacy = getattr(cls, "parse_response", None) if _exists(_LEGACY_PARSER) else None
    _ledger.set(cls, "response_template", tokenizer_part.ResponseTemplateAttribute())
    for name, method in tokenizer_part.make_methods(legacy).items():
        _ledger.set(cls, name, _as_method_of(cls, method))


def _patch_processors(module: ModuleType) -> None:
    for name, method in processor.METHODS.items():
        _ledger.set(module.ProcessorMixin, name, method)


def _patch_mistral(module: ModuleType) -> None:
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    for name in _MISTRAL:
        cls = getattr(module, name, None)
        if not isinstance(cls, type) or cls.__name__ != name:  # an alias of the other name is patched once
            continue
        if not issubclass(cls, PreTrainedTokenizerBase):
            _patch_tokenizer(cls)
        for method_name, method in mistral.make_methods(cls).items():
            _ledger.set(cls, method_name, method)


def _patch_pipeline(module: ModuleType) -> None:
    cls = getattr(module, _PIPELINES[module.__name__])
    for name, method in pipelines.make_methods(cls).items():
        _ledger.set(cls, name, method)


def _as_method_of(cls: type, function: Any) -> Any:
    function.__qualname__ = f"{cls.__qualname__}.{function.__name__}"
    return function


_TARGETS: dict[str, Callable[[ModuleType], None]] = {
    "transformers.tokenization_utils_base": _patch_base,
    "transformers.processing_utils": _patch_processors,
    "transformers.tokenization_mistral_common": _patch_mistral,
    **dict.fromkeys(_PIPELINES, _patch_pipeline),
}
