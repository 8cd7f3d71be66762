# SPDX-License-Identifier: Apache-2.0
"""mistral-common tokenizers read and write only tekken.json; the template travels in the file beside it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hf.helpers import has

import transformers_response_parsing as trp

pytestmark = [
    pytest.mark.skipif(not has("mistral_common"), reason="needs mistral-common"),
    pytest.mark.usefixtures("plugin"),
]

TEMPLATE: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "[/INST]",
    "fields": {
        "tool_calls": {
            "open_pattern": r"\[TOOL_CALLS\](?P<name>\w+)\[ARGS\]",
            "close_pattern": r"(?=\[TOOL_CALLS\]|</s>)|\Z",
            "repeats": True,
            "content": "json",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}},
        },
        "content": {"close": "</s>"},
    },
}


@pytest.fixture(scope="module")
def tekken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a real tekken.json, which the mistral-common package brings along."""
    import mistral_common

    folder = tmp_path_factory.mktemp("tekken")
    source = sorted(Path(mistral_common.__file__).parent.glob("data/tekken_*.json"))
    if not source:
        pytest.skip("this mistral-common brings no tekken.json")
    shutil.copy(source[-1], folder / "tekken.json")
    return folder


def tokenizer_class() -> Any:
    from transformers import tokenization_mistral_common as module

    return getattr(module, "MistralCommonBackend", None) or module.MistralCommonTokenizer


def with_template(tekken: Path, folder: Path) -> Path:
    shutil.copytree(tekken, folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"other": 1, "response_template": TEMPLATE}))
    return folder


def test_auto_tokenizer_finds_it_too(tekken: Path, tmp_path: Path) -> None:
    """Transformers 4.57 by itself can't load such a folder: AutoTokenizer passes options that the class refuses."""
    from transformers import AutoTokenizer

    folder = with_template(tekken, tmp_path / "in")
    (folder / "config.json").write_text('{"model_type": "mistral"}')
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert isinstance(tokenizer, tokenizer_class())
    assert tokenizer.response_template == TEMPLATE


def test_it_is_read_from_the_file_beside_and_parses(tekken: Path, tmp_path: Path) -> None:
    tokenizer = tokenizer_class().from_pretrained(with_template(tekken, tmp_path / "in"))
    assert tokenizer.response_template == TEMPLATE
    prompt = tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=True)
    response = [
        *tokenizer.encode("Hello 你好", add_special_tokens=False),
        tokenizer.eos_token_id,
        tokenizer.pad_token_id,
    ]
    message = {"role": "assistant", "content": "Hello 你好"}
    assert tokenizer.parse_response(response, prefix=prompt) == message
    assert tokenizer.parse_response([response, "a</s>"], prefix=prompt) == [
        message,
        {"role": "assistant", "content": "a"},
    ]
    call = tokenizer.parse_response('[TOOL_CALLS]f[ARGS]{"a": 1}</s>', prefix=prompt)["tool_calls"][0]
    assert call["function"] == {"name": "f", "arguments": {"a": 1}}


def test_a_streamer_follows_it(tekken: Path) -> None:
    tokenizer = tokenizer_class().from_pretrained(tekken, response_template=TEMPLATE)
    streamer = trp.ResponseStreamer(tokenizer, prefix="[INST]Hi[/INST]")
    streamer.put([1, 2, 3])
    for token in [*tokenizer.encode("naïve 👩‍🚀", add_special_tokens=False), tokenizer.eos_token_id]:
        streamer.put([token])
    streamer.end()
    assert streamer.message == {"role": "assistant", "content": "naïve 👩‍🚀"}


def test_it_is_saved_and_loaded_again(tekken: Path, tmp_path: Path) -> None:
    tokenizer = tokenizer_class().from_pretrained(tekken)
    assert tokenizer.response_template is None
    tokenizer.response_template = TEMPLATE
    saved = tokenizer.save_pretrained(tmp_path / "out")
    assert {Path(name).name for name in saved} == {"tekken.json", "tokenizer_config.json"}
    assert tokenizer_class().from_pretrained(tmp_path / "out").response_template == TEMPLATE


def test_without_a_template_no_file_is_written(tekken: Path, tmp_path: Path) -> None:
    tokenizer_class().from_pretrained(tekken).save_pretrained(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tekken.json"]


def test_other_keys_of_the_file_survive(tekken: Path, tmp_path: Path) -> None:
    folder = with_template(tekken, tmp_path / "out")
    (folder / "tekken.json").unlink()  # older versions can't save over the file that they were loaded from
    tokenizer_class().from_pretrained(tekken).save_pretrained(folder)
    assert json.loads((folder / "tokenizer_config.json").read_text()) == {"other": 1}


def test_a_broken_file_beside_does_not_stop_the_tokenizer_from_loading(tekken: Path, tmp_path: Path) -> None:
    shutil.copytree(tekken, tmp_path / "in")
    (tmp_path / "in" / "tokenizer_config.json").write_text("{not json")
    assert tokenizer_class().from_pretrained(tmp_path / "in").response_template is None


def test_disable_gives_the_class_back(tekken: Path) -> None:
    cls = tokenizer_class()
    trp.disable()
    before = dict(vars(cls))
    trp.enable(library=False)
    assert dict(vars(cls)) != before
    trp.disable()
    assert dict(vars(cls)) == before
