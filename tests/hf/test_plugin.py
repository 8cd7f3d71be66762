# SPDX-License-Identifier: Apache-2.0
"""enable() and disable(): explicit, cheap, idempotent, and taken back exactly."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hf.helpers import make_tokenizer

import transformers_response_parsing as trp
from transformers_response_parsing.hf.patching import Ledger, PostImportHook

NAMES = ("response_template", "parse_response", "get_response_parser")


@pytest.fixture(autouse=True)
def _disabled_afterwards() -> Iterator[None]:
    yield
    trp.disable()


def run(code: str) -> str:
    """What a new Python prints."""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def base_class() -> Any:
    from transformers.tokenization_utils_base import PreTrainedTokenizerBase

    return PreTrainedTokenizerBase


def test_importing_the_package_imports_neither_transformers_nor_torch() -> None:
    code = (
        "import sys, transformers_response_parsing as trp, transformers_response_parsing.hf\n"
        "print(sorted({'transformers', 'torch', 'huggingface_hub'} & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_enable_imports_neither_transformers_nor_torch() -> None:
    """So that a program may call it first thing."""
    code = (
        "import sys, transformers_response_parsing as trp\n"
        "trp.enable()\n"
        "print(sorted({'transformers', 'torch'} & set(sys.modules)))"
    )
    assert run(code) == "[]"


def test_enable_brings_in_nothing_that_transformers_would_not() -> None:
    """Processors and pipelines stay unimported until the program wants them."""
    code = (
        "import sys, transformers.tokenization_utils_base, transformers_response_parsing as trp\n"
        "before = set(sys.modules)\n"
        "trp.enable()\n"
        "print(sorted(name for name in set(sys.modules) - before if name.startswith(('transformers.', 'torch'))))"
    )
    assert run(code) == "[]"


def test_enable_before_the_import_of_transformers_patches_what_is_imported_later() -> None:
    code = (
        "import transformers_response_parsing as trp\n"
        "trp.enable(library=False)\n"
        "from transformers import PreTrainedTokenizerFast\n"
        "from transformers.processing_utils import ProcessorMixin\n"
        "print('ResponseTemplateAttribute' in repr(vars(PreTrainedTokenizerFast.__mro__[1])['response_template']),\n"
        "      ProcessorMixin.get_response_parser.__module__, 'transformers.processing_utils' in trp.status().waiting)"
    )
    assert run(code) == "True transformers_response_parsing.hf.processor False"


def test_enable_reports_what_it_did() -> None:
    base_class()
    report = trp.enable()
    assert report.enabled
    assert report.library
    assert "PreTrainedTokenizerBase.parse_response" in report.patched
    assert "PreTrainedTokenizerBase.parse_response" in str(report)
    assert report == trp.status()


def test_enabling_twice_patches_once_and_changes_only_the_library_switch() -> None:
    base_class()
    first = trp.enable()
    second = trp.enable(library=False)
    assert second.patched == first.patched
    assert not second.library


def test_disable_restores_every_attribute_that_was_there() -> None:
    """What a class had itself is back, and what it only inherited is not left on it."""
    from transformers.processing_utils import ProcessorMixin

    classes = (base_class(), ProcessorMixin)
    before = [dict(vars(cls)) for cls in classes]
    trp.enable()
    assert [dict(vars(cls)) for cls in classes] != before
    trp.disable()
    assert [dict(vars(cls)) for cls in classes] == before
    assert not any(isinstance(finder, PostImportHook) for finder in sys.meta_path)


def test_disable_twice_is_harmless() -> None:
    trp.enable()
    trp.disable()
    assert not trp.disable().enabled
    assert str(trp.status()) == "response parsing is disabled"


def test_enabling_again_after_disabling_works() -> None:
    trp.enable()
    trp.disable()
    trp.enable()
    assert all(name in vars(base_class()) for name in NAMES)


def test_a_tokenizer_made_before_enable_gains_the_methods() -> None:
    tokenizer = make_tokenizer()
    trp.enable(library=False)
    assert tokenizer.response_template is None
    assert callable(tokenizer.get_response_parser)


def test_the_methods_have_the_same_signature_on_every_version() -> None:
    trp.enable(library=False)
    parameters = list(inspect.signature(base_class().parse_response).parameters)
    assert parameters == ["self", "response", "schema", "prefix", "tools", "end", "on_error"]
    parameters = list(inspect.signature(base_class().get_response_parser).parameters)
    assert parameters == ["self", "response_template", "prefix", "tools", "end", "on_error"]


def test_without_transformers_enable_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "transformers" else real(name, *rest)
    )
    with pytest.raises(ImportError, match="pip install transformers"):
        trp.enable()
    assert not trp.status().enabled


class Parent:
    def greet(self) -> str:
        return "parent"


class Child(Parent):
    pass


def test_the_ledger_undoes_in_reverse_order_and_does_not_copy_inherited_attributes() -> None:
    ledger = Ledger()
    ledger.set(Child, "greet", lambda self: "first")
    ledger.set(Child, "greet", lambda self: "second")
    assert Child().greet() == "second"
    assert ledger.undo() == []
    assert "greet" not in vars(Child)
    assert Child().greet() == "parent"


def test_the_ledger_leaves_alone_what_somebody_else_has_replaced_since() -> None:
    """Taking theirs away would be worse than leaving ours below it; the report names it."""
    ledger = Ledger()
    ledger.set(Child, "greet", lambda self: "ours")
    ours = Child.greet
    Child.greet = lambda self: f"theirs over {ours(self)}"  # type: ignore[method-assign]
    assert [str(patch) for patch in ledger.undo()] == ["Child.greet"]
    assert Child().greet() == "theirs over ours"
    del Child.greet


def test_the_hook_fires_once_and_leaves_no_trace_on_the_module(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trp_hooked.py").write_text("VALUE = 1\n\n\ndef f():\n    return VALUE\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen: list[Any] = []
    hook = PostImportHook()
    hook.when_imported("trp_hooked", seen.append)
    import trp_hooked  # type: ignore[import-not-found]

    assert seen == [trp_hooked]
    assert hook not in sys.meta_path
    assert "_FiringLoader" not in repr(trp_hooked.__spec__.loader)
    assert inspect.getsource(trp_hooked.f).startswith("def f()")
    hook.when_imported("trp_hooked", seen.append)
    assert seen == [trp_hooked, trp_hooked]
    del sys.modules["trp_hooked"]


def test_a_module_that_fails_to_import_is_patched_when_it_is_imported_again(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "trp_failing.py"
    file.write_text("raise RuntimeError('not yet')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    seen: list[Any] = []
    hook = PostImportHook()
    hook.when_imported("trp_failing", seen.append)
    with pytest.raises(RuntimeError, match="not yet"):
        import trp_failing  # type: ignore[import-not-found]
    assert seen == []
    file.write_text("VALUE = 'now it works'\n")
    import trp_failing

    assert seen == [trp_failing]
    hook.remove()
    del sys.modules["trp_failing"]
