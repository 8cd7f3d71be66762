# SPDX-License-Identifier: Apache-2.0
"""What is installed, what importing does, and that metadata and code say the same."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

import transformers_response_parsing as trp

ROOT = Path(__file__).resolve().parents[1]
CORE = ("errors", "events", "template", "delimiter", "automaton", "parser", "content", "transform", "tools")


def in_a_new_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_loads_nothing_heavy_and_patches_nothing() -> None:
    """Importing, and using the core and the library, needs neither transformers nor torch nor the Hub's client."""
    code = """
import sys
import transformers_response_parsing as trp
template = trp.get_template("qwen3").response_template
trp.parse_response("Hi<|im_end|>", template, prefix="")
trp.ResponseTemplate.load(template)
trp.find_template("x")
print([name for name in ("transformers", "torch", "numpy", "tokenizers", "huggingface_hub") if name in sys.modules])
"""
    assert in_a_new_process(code) == "[]"


@pytest.mark.parametrize("module", CORE)
def test_the_core_imports_only_the_standard_library_and_regex(module: str) -> None:
    """Each part of the core alone, so that none hides behind another."""
    code = f"""
import sys
import transformers_response_parsing.{module}
ours = "transformers_response_parsing"
outer = ("hf", "library", "cli", "demo", "hub", "check", "infer")
print(sorted(
    name for name in sys.modules
    if (name.partition(".")[0] not in sys.stdlib_module_names | {{ours, "regex", "_regex", "_regex_core", "sitecustomize"}}
        and not name.startswith(("_", "a1_", "distutils")))
    or name.startswith(f"{{ours}}.") and name.split(".")[1] in outer
))
"""
    assert in_a_new_process(code) == "[]"


def test_every_public_name_is_there() -> None:
    assert [name for name in trp.__all__ if not hasattr(trp, name)] == []
    assert set(trp.__all__) <= set(dir(trp))
    assert list(trp.__all__) == sorted(trp.__all__)


def test_public_names_are_those_of_their_modules() -> None:
    """A star import gives them all, and an unknown name is an ordinary AttributeError."""
    names: dict[str, object] = {}
    exec("from transformers_response_parsing import *", names)
    assert set(trp.__all__) <= set(names)
    with pytest.raises(AttributeError, match="has no attribute 'parse_respones'"):
        trp.parse_respones  # noqa: B018


def test_data_files_are_beside_the_code() -> None:
    package = resources.files("transformers_response_parsing")
    for name in ("py.typed", "response_template.schema.json", "demo_recordings.json"):
        assert package.joinpath(name).is_file()


def test_templates_are_found_beside_the_package_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """From a wheel they are inside the package, from the source tree beside it."""
    from transformers_response_parsing import library

    installed, source = tmp_path / "package" / "model_templates", tmp_path / "model_templates"
    source.mkdir()
    monkeypatch.setattr(library, "_FOLDERS", (installed, source))
    assert library._folder() == source
    installed.mkdir(parents=True)
    assert library._folder() == installed


def test_a_damaged_installation_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from transformers_response_parsing import library

    monkeypatch.setattr(library, "_FOLDERS", (tmp_path / "a", tmp_path / "b"))
    with pytest.raises(trp.ResponseParsingError, match="the installation is damaged"):
        library._folder()


@pytest.fixture
def metadata() -> importlib.metadata.PackageMetadata:
    try:
        return importlib.metadata.metadata("transformers-response-parsing")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, only importable")


def test_metadata_names_three_dependencies(metadata: importlib.metadata.PackageMetadata) -> None:
    """No torch: whoever has a model has it."""
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = sorted(re.split(r"[ <>=!~]", line)[0].replace("_", "-") for line in required)
    assert names == ["huggingface-hub", "regex", "transformers"]
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "Apache-2.0"


def test_both_commands_are_installed(metadata: importlib.metadata.PackageMetadata) -> None:
    installed = importlib.metadata.entry_points(group="console_scripts")
    ours = [script for script in installed if script.module.startswith("transformers_response_parsing.")]
    assert sorted(script.name for script in ours) == ["hf-response-template", "response-template"]
    assert all(callable(script.load()) for script in ours)


def test_the_changelog_has_the_version_or_is_about_it(metadata: importlib.metadata.PackageMetadata) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{metadata['Version']}]" in changelog or "## [Unreleased]" in changelog


def test_every_source_file_has_its_licence_line() -> None:
    files = [*(ROOT / "transformers_response_parsing").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    lacking = [
        file.name for file in files if not file.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier")
    ]
    assert [name for name in lacking if name != "__init__.py"] == []
