# SPDX-License-Identifier: Apache-2.0
"""A tokenizer without a template gets one from the library at first use, if it is proven for its chat template."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hf.helpers import CHAT_TEMPLATE, PROMPT, TEMPLATE, make_tokenizer
from hf.test_processor import make_processor

import transformers_response_parsing as trp
from transformers_response_parsing import library

MESSAGE = {"role": "assistant", "reasoning_content": "a", "content": "b"}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The plugin with a library that proves TEMPLATE for CHAT_TEMPLATE; the list of what it was asked."""
    questions: list[Any] = []

    def find_template(source: Any) -> Any:
        questions.append(source)
        text = source if isinstance(source, str) else source.chat_template
        entry = SimpleNamespace(name="tiny")
        if text == CHAT_TEMPLATE:
            return SimpleNamespace(entry=entry, response_template=TEMPLATE, reason="same text", proven=True)
        if text == "only similar":
            return SimpleNamespace(entry=entry, response_template=TEMPLATE, reason="looks alike", proven=False)
        if text == "breaks":
            raise RuntimeError("a fault in the library")
        return None

    monkeypatch.setattr(library, "find_template", find_template)
    trp.enable(library=True)
    yield questions
    trp.disable()


def parse(tokenizer: Any) -> Any:
    return tokenizer.parse_response("<think>a</think>b<|im_end|>", prefix=PROMPT)


def test_it_is_looked_up_at_first_use_and_becomes_the_tokenizers_own(asked: list[Any], tmp_path: Path) -> None:
    tokenizer = make_tokenizer()
    assert tokenizer.response_template is None
    assert asked == []
    assert parse(tokenizer) == MESSAGE
    assert tokenizer.response_template == TEMPLATE
    tokenizer.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["response_template"] == TEMPLATE


def test_a_streaming_parser_looks_it_up_too(asked: list[Any]) -> None:
    parser = make_tokenizer().get_response_parser(prefix=PROMPT)
    parser.feed("<think>a</think>b")
    assert parser.finalize()[0] == MESSAGE


def test_each_chat_template_is_looked_up_once(asked: list[Any]) -> None:
    for _ in range(3):
        parse(make_tokenizer())
    assert len(asked) == 1
    for _ in range(3):
        with pytest.raises(trp.ResponseParsingError):
            parse(make_tokenizer(chat_template="unknown"))
    assert len(asked) == 2


def test_tokenizers_do_not_share_the_dict(asked: list[Any]) -> None:
    first, second = make_tokenizer(), make_tokenizer()
    parse(first)
    parse(second)
    first.response_template["defaults"]["role"] = "changed"
    assert parse(second) == MESSAGE


def test_the_log_says_which_and_why(asked: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="transformers_response_parsing"):
        parse(make_tokenizer())
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "tiny" in caplog.text
    assert "same text" in caplog.text


@pytest.mark.parametrize("chat_template", ["only similar", "breaks", "unknown", None])
def test_what_is_not_proven_is_not_used(asked: list[Any], chat_template: Any) -> None:
    tokenizer = make_tokenizer(chat_template=chat_template)
    with pytest.raises(trp.ResponseParsingError, match="no response_template"):
        parse(tokenizer)
    assert tokenizer.response_template is None


def test_a_template_of_its_own_is_never_replaced(asked: list[Any]) -> None:
    tokenizer = make_tokenizer()
    tokenizer.response_template = {"start_anchor": "x", "fields": {"text": {}}}
    assert tokenizer.parse_response("a", prefix="") == {"text": "a"}
    assert asked == []


def test_it_can_be_switched_off(asked: list[Any]) -> None:
    trp.enable(library=False)
    with pytest.raises(trp.ResponseParsingError, match="no response_template"):
        parse(make_tokenizer())
    assert asked == []


def test_a_chat_template_that_only_the_processor_has_counts(asked: list[Any]) -> None:
    processor = make_processor(make_tokenizer(chat_template=None), chat_template=CHAT_TEMPLATE)
    assert parse(processor) == MESSAGE
    assert processor.response_template == TEMPLATE


def test_chat_templates_by_name_are_looked_up_as_a_whole(asked: list[Any]) -> None:
    tokenizer = make_tokenizer()
    tokenizer.chat_template = {"default": "x", "tool_use": "y"}
    with pytest.raises(trp.ResponseParsingError, match="no response_template"):
        parse(tokenizer)
    assert asked == [tokenizer]
