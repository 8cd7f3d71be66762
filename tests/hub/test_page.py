# SPDX-License-Identifier: Apache-2.0
"""The snippets of docs/hub.md, run against the Hub on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from hf.helpers import CHAT_TEMPLATE
from hub import worker
from hub.server import WRITER, FakeHub
from hub.worker import Outcome
from pages import ROOT, snippets

# As the page shows it.
CONFIG = """{
  "tokenizer_class": "PreTrainedTokenizerFast",
  "eos_token": "<|im_end|>",
  "model_max_length": 1000000000000000019884624838656
}
"""
CONTENT_ONLY = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {"content": {"close": "<|im_end|>"}},
}


def test_the_page_says_what_happens(call: Callable[..., Outcome], server: FakeHub, tmp_path: Path) -> None:
    """Every snippet runs, logged in as somebody with write access, and prints what the page says."""
    worker.save_tokenizer(str(tmp_path))
    tokenizer = (tmp_path / "tokenizer.json").read_bytes()
    files = {"tokenizer_config__json": CONFIG.encode(), "tokenizer__json": tokenizer}
    repo = server.create("org/model", **files, chat_template__jinja=CHAT_TEMPLATE.encode())
    other = {"response_template": CONTENT_ONLY}
    server.create("org/other-model", tokenizer_config__json=json.dumps(other).encode())
    folder = tmp_path / "reader"
    folder.mkdir()

    done = call(worker.run_page, "hub.md", str(folder), WRITER)

    assert done.error is None, done.error
    expected = snippets(ROOT / "docs" / "hub.md")
    assert len(expected) >= 6
    for printed, snippet in zip(done.value, expected, strict=True):
        assert printed.replace(server.endpoint, "https://huggingface.co") == (snippet.output or printed)
    assert "**Checked**, with the tokenizer of this repository" in repo.head("refs/pr/1").description
