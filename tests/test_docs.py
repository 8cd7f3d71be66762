# SPDX-License-Identifier: Apache-2.0
"""Every Python snippet of the README and of docs/ runs, and prints what the page says it prints."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pages import ROOT, run_snippet, snippets

import transformers_response_parsing as trp

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Those whose snippets ask the Hub run where there is one: tests/hub.
OFFLINE = [page for page in PAGES if page.name != "hub.md"]


def test_snippets_are_found() -> None:
    """A change of style that hid the snippets from this test would be a test that can't fail."""
    assert sum(len(snippets(page)) for page in PAGES) >= 15


@pytest.mark.parametrize("page", OFFLINE, ids=lambda page: page.name)
def test_snippets_run_and_print_what_the_page_says(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The snippets of a page, one after the other, as a reader would type them in."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    with stand_ins(monkeypatch):
        for snippet in snippets(page):
            # Without torch, numpy arrays take the place of tensors.
            code = snippet.code.replace('return_tensors="pt"', 'return_tensors="np"')
            printed = run_snippet(code, page.name, namespace)
            if snippet.output is not None:
                assert printed == snippet.output


@contextlib.contextmanager
def stand_ins(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`AutoTokenizer` and `AutoModelForCausalLM` that need no download; the plugin is off again afterwards."""
    import transformers

    tokenizer = small_tokenizer()
    monkeypatch.setattr(transformers, "AutoTokenizer", Loader(lambda: tokenizer))
    monkeypatch.setattr(transformers, "AutoModelForCausalLM", Loader(lambda: FixedModel(tokenizer)))
    try:
        yield
    finally:
        trp.disable()


class Loader:
    def __init__(self, make: Any) -> None:
        self.make = make

    def from_pretrained(self, name: str) -> Any:
        return self.make()


class FixedModel:
    """Writes the same answer to everything."""

    answer = "<think>\nA greeting.\n</think>\n\nHello!<|im_end|>"

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def generate(self, input_ids: Any, streamer: Any = None, **options: Any) -> Any:
        import numpy as np

        answer = self.tokenizer(self.answer, add_special_tokens=False)["input_ids"]
        if streamer is not None:
            streamer.put(input_ids)
            for token in answer:
                streamer.put(np.array([token]))
            streamer.end()
        return np.concatenate([input_ids, [answer]], axis=1)


def small_tokenizer() -> Any:
    """One token a byte, the markers of ChatML, and a chat template like SmolLM3's."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in ("<|im_start|>", "<|im_end|>")])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|im_end|>")
    fast.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    return fast


def test_links_lead_somewhere() -> None:
    """Links between the pages, and into the repository."""
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_ci_runs_the_readme_s_test_command() -> None:
    """.ci/run reads the command from the README, and finds the right one."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with_pytest = [line for line in readme.splitlines() if "python -m pytest" in line]
    assert with_pytest == ["python -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest"]
    assert "grep -m 1 -- 'python -m pytest' README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readme_s_first_screen_is_true() -> None:
    """The raw output and the message at the top belong together."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    output = re.search(r"```text\n(.*?)\n```", readme, re.DOTALL)
    message = re.search(r"```json\n(.*?)\n```", readme, re.DOTALL)
    assert output is not None
    assert message is not None
    template = trp.get_template("smollm3").response_template
    assert trp.parse_response(output[1], template, prefix="") == json.loads(message[1])


def test_every_public_name_is_in_the_api_page() -> None:
    api = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert [name for name in trp.__all__ if f"`{name}" not in api] == []
