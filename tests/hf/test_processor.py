# SPDX-License-Identifier: Apache-2.0
"""Processors have what their tokenizer has."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hf.helpers import PROMPT, TEMPLATE

import transformers_response_parsing as trp


def make_processor(tokenizer: Any, **options: Any) -> Any:
    """A processor that has nothing but a tokenizer."""
    from transformers.processing_utils import ProcessorMixin

    class TinyProcessor(ProcessorMixin):  # type: ignore[misc]
        attributes = ("tokenizer",)
        tokenizer_class = "PreTrainedTokenizerFast"

        def __init__(self, tokenizer: Any = None, **kwargs: Any) -> None:
            super().__init__(tokenizer, **kwargs)

    return TinyProcessor(tokenizer, **options)


def test_it_parses_with_the_tokenizers_template(tokenizer: Any) -> None:
    processor = make_processor(tokenizer)
    message = {"role": "assistant", "reasoning_content": "a", "content": "b"}
    assert processor.response_template == TEMPLATE
    assert processor.parse_response("<think>a</think>b<|im_end|>", prefix=PROMPT) == message
    assert processor.parse_response([tokenizer.encode("<think>a</think>b")], prefix=PROMPT) == [message]
    parser = processor.get_response_parser(prefix=PROMPT + "<think>")
    parser.feed("a</think>b<|im_end|>")
    assert parser.finalize()[0] == message


def test_setting_its_template_sets_the_tokenizers(tokenizer: Any) -> None:
    processor = make_processor(tokenizer)
    processor.response_template = None
    assert tokenizer.response_template is None
    processor.response_template = TEMPLATE
    assert tokenizer.response_template == TEMPLATE


def test_an_explicit_template_and_all_options_are_passed_on(tokenizer: Any) -> None:
    processor = make_processor(tokenizer)
    other = {"start_anchor": "x", "fields": {"text": {"close": "!"}}}
    assert processor.parse_response("aXb", other, prefix="", end="X") == {"text": "a"}
    assert processor.parse_response("<tool_call>{", prefix="", on_error="keep")["malformed"]
    with pytest.raises(trp.ResponseParsingError, match="prefix"):
        processor.parse_response("a")


def test_it_is_saved_with_the_processor(tokenizer: Any, tmp_path: Path) -> None:
    make_processor(tokenizer).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    assert config["response_template"] == TEMPLATE
    others = [path for path in tmp_path.glob("*.json") if path.name not in ("tokenizer_config.json", "tokenizer.json")]
    assert not any("response_template" in path.read_text(encoding="utf-8") for path in others)


def test_a_deep_copy_carries_it(tokenizer: Any) -> None:
    assert copy.deepcopy(make_processor(tokenizer)).response_template == TEMPLATE


def test_a_processor_without_a_tokenizer_says_so(plugin: None) -> None:
    from transformers.processing_utils import ProcessorMixin

    class Bare(ProcessorMixin):  # type: ignore[misc]
        attributes = ()

        def __init__(self) -> None:
            pass

    with pytest.raises(trp.ResponseParsingError, match="Bare has no tokenizer"):
        Bare().parse_response("a", prefix="")


def test_pickling_the_methods_owner_is_untouched(tokenizer: Any) -> None:
    """A pickled tokenizer needs no plugin to load: what was added lives on the class."""
    data = pickle.dumps(tokenizer)
    assert b"transformers_response_parsing" not in data
