# SPDX-License-Identifier: Apache-2.0
"""The project's own cases about the ways to call a tokenizer, on Qwen3's tokenizer and the library's template for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hf.helpers import TEMPLATE, has
from hf.test_real_tokenizers import load

import transformers_response_parsing as trp

KINDS = {"api-input-form", "legacy-schema", "template-override", "pad-tokens", "run-on"}
SHARED = Path(__file__).resolve().parents[3] / "shared"
SCHEMA = {
    "type": "object",
    "properties": {"content": {"type": "string", "x-regex": r"(?:</think>\s*)?([^<>]+)<\|im_end\|>"}},
}


def _cases() -> list[Any]:
    files = [SHARED / "cases" / name for name in ("engine.jsonl", "hard.jsonl")]
    lines = [line for file in files if file.is_file() for line in file.read_text(encoding="utf-8").splitlines()]
    cases = [case for case in map(json.loads, lines) if case["kind"] in KINDS and case["family"] == "qwen3"]
    return [pytest.param(case, id=case["id"]) for case in cases] or [pytest.param({}, id="none")]


@pytest.fixture
def qwen3(asset: Callable[[str], Path]) -> Iterator[Any]:
    """Qwen3's tokenizer as it comes, with the library switched on."""
    tokenizer = load(asset("qwen3"))
    trp.enable()
    tokenizer.response_template = None
    yield tokenizer
    tokenizer.response_schema = None
    trp.disable()


def formed(tokenizer: Any, texts: list[str], form: str) -> Any:
    """The texts as the case wants them passed."""
    rows = [list(tokenizer.encode(text, add_special_tokens=False)) for text in texts]
    width = max(map(len, rows))
    square = [row + [tokenizer.pad_token_id] * (width - len(row)) for row in rows]
    if form.startswith("torch") and not has("torch"):
        pytest.skip("needs torch")
    if form.startswith("torch"):
        import torch

        return torch.tensor(square if form == "torch2d" else rows[0])
    return {
        "text": texts[0],
        "list_text": texts,
        "ids_list": rows[0],
        "message_end_ids": rows[0],
        "np1d": np.array(rows[0]),
        "np2d": np.array(square),
        "batch_encoding": {"input_ids": [rows[0]], "attention_mask": [[1] * len(rows[0])]},
        "empty_batch": [],
    }[form]


@pytest.mark.shared
@pytest.mark.assets
@pytest.mark.parametrize("case", _cases())
def test_case(qwen3: Any, case: dict[str, Any]) -> None:
    texts = case["output"] if isinstance(case["output"], list) else [case["output"]]
    expected = case["expected"] if isinstance(case["expected"], list) else [case["expected"]]
    api = case.get("api", {"response": "text", "prefix": "text"})
    if api["response"] == "message_end_ids":
        texts = [text + "<|endoftext|>" * 2 for text in texts]
    schema = TEMPLATE if api.get("explicit_template") else None
    if api.get("legacy_schema"):
        if not has("transformers.utils.chat_parsing_utils"):
            pytest.skip("this version of transformers has no response_schema; the library's template is used")
        qwen3.response_schema = SCHEMA
    batch = api["response"] in ("list_text", "np2d", "torch2d", "empty_batch")
    for index in [0] if batch else range(len(texts)):
        response = formed(qwen3, texts if batch else [texts[index]], api["response"])
        prefixes = [case["prefix"]] * (2 if api["prefix"] in ("np2d", "torch2d") and batch else 1)
        result = qwen3.parse_response(response, schema, prefix=formed(qwen3, prefixes, api["prefix"]))
        if api["response"] == "empty_batch":
            assert result == []
        elif api.get("legacy_schema"):
            assert result == {"content": expected[index]["content"]}
        else:
            assert result == (expected if batch else expected[index])
