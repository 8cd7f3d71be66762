# SPDX-License-Identifier: Apache-2.0
"""The proof by round trip with tokenizers of real models: replies are rendered, tokenized, and parsed from their ids."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hf.test_real_tokenizers import load

from transformers_response_parsing import check_template, find_template, get_template

pytestmark = pytest.mark.assets

SHIPPED = {"qwen3": "qwen3", "gemma3": "gemma3", "llama3_1": "llama3", "deepseek_v3": "deepseek_r1"}
# Chat templates of the collection, for tokenizers whose package has none, or one that renders no calls.
COLLECTED = {
    "qwen3": ("Qwen-Qwen3-0.6B@a55ee1.jinja", "qwen3"),
    "gptoss": ("openai-gpt-oss-120b.jinja", "gptoss"),
    "gemma3": ("typhoon-ai-typhoon2.1-gemma3-4b.jinja", "gemma3"),
    "llama3_1": ("meta-llama-Llama-3.1-8B-Instruct.jinja", "llama3"),
    "deepseek_v3": ("deepseek-ai-DeepSeek-V3.1.jinja", "deepseek_v31"),
    "deepseek": ("deepseek-ai-DeepSeek-V4~2.jinja", "deepseek_v4"),
}
# Texts that a tokenizer writes otherwise than it was given: Qwen's composes `e` and an accent to one character.
RESPELLED = {"qwen3": {"hard arguments: unicode"}}


def prove(name: str, tokenizer: Any, family: str) -> set[str]:
    """The names of the cases that pass, all of which were parsed from ids."""
    if tokenizer.decode(tokenizer.encode("a b", add_special_tokens=False)) != "a b":
        pytest.skip(f"this version of transformers does not load {name}'s tokenizer correctly")
    report = check_template(tokenizer, get_template(family).response_template)
    assert report.ok, str(report)
    not_from_ids = {case.name for case in report.passed if any("token ids" in note for note in case.notes)}
    assert not_from_ids <= RESPELLED.get(name, set())
    return {case.name for case in report.passed}


@pytest.mark.parametrize("name", SHIPPED)
def test_with_the_chat_template_that_the_package_ships(name: str, asset: Callable[[str], Path]) -> None:
    assert "content only" in prove(name, load(asset(name)), SHIPPED[name])


@pytest.mark.shared
@pytest.mark.parametrize("name", COLLECTED)
def test_with_a_chat_template_of_the_collection(
    name: str, asset: Callable[[str], Path], shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, family = COLLECTED[name]
    tokenizer = load(asset(name))
    text = (shared / "facts" / "chat_templates" / file).read_text(encoding="utf-8")
    monkeypatch.setattr(tokenizer, "chat_template", text)
    match = find_template(tokenizer)
    assert match is not None
    assert (match.entry.name, match.proven) == (family, True)
    assert {"content only", "one call"} <= prove(name, tokenizer, family)
