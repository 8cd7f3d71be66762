# SPDX-License-Identifier: Apache-2.0
"""A pushed template reaches whoever loads the tokenizer, and travels on with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hf.helpers import PROMPT, TEMPLATE
from hub import worker
from hub.server import WRITER, FakeHub, Repo
from hub.worker import Outcome

import transformers_response_parsing as trp

CONFIG = "tokenizer_config.json"
OUTPUT = '<think>Hm.</think>Sure.<tool_call>{"name": "f", "arguments": {"é": 1}}</tool_call><|im_end|>'
MESSAGE = {
    "role": "assistant",
    "reasoning_content": "Hm.",
    "content": "Sure.",
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"é": 1}}}],
}

Call = Callable[..., Outcome]


@pytest.fixture
def repo_id(new_repo: Callable[..., tuple[str, Repo]], tmp_path: Path) -> str:
    """A tiny tokenizer's repository, without a response template."""
    worker.save_tokenizer(str(tmp_path))
    repo_id: str = new_repo(**{path.name.replace(".", "__"): path.read_bytes() for path in tmp_path.iterdir()})[0]
    return repo_id


def test_push_load_parse_push_reload(call: Call, repo_id: str, server: FakeHub) -> None:
    """`from_pretrained` brings the template, `push_to_hub` takes it along, and it is there when that is loaded."""
    assert call(trp.push_template, repo_id, TEMPLATE, token=WRITER, create_pr=False).value.report.ok
    loaded = call(worker.load_and_parse, repo_id, OUTPUT, PROMPT)
    assert loaded.error is None
    assert loaded.value == (TEMPLATE, MESSAGE)

    fork = repo_id.replace("model", "fine-tune")
    server.create(fork)
    reloaded = call(worker.push_and_reload, repo_id, fork, token=WRITER)
    assert reloaded.error is None
    assert reloaded.value == TEMPLATE
    assert json.loads(server.repos[fork].head().files[CONFIG])["response_template"] == TEMPLATE
    assert call(trp.pull_template, fork).value.source == TEMPLATE


def test_a_proposed_template_can_be_tried_before_it_is_merged(call: Call, repo_id: str) -> None:
    """The revision of a pull request loads like any other."""
    call(trp.push_template, repo_id, TEMPLATE, token=WRITER)
    assert call(worker.load_and_parse, repo_id, OUTPUT, PROMPT, revision="refs/pr/1").value == (TEMPLATE, MESSAGE)
    assert call(trp.pull_template, repo_id).error is not None
