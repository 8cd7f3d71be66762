# SPDX-License-Identifier: Apache-2.0
"""`tokenizer.response_template` goes wherever the tokenizer goes, on every version."""

from __future__ import annotations

import copy
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
from hf.helpers import PROMPT, TEMPLATE, make_tokenizer

import transformers_response_parsing as trp
from transformers_response_parsing.remembered import Remembered


def config_of(folder: Path) -> Any:
    return json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))


def load(folder: Path, **options: Any) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, **options)


@pytest.mark.usefixtures("plugin")
def test_a_plain_tokenizer_has_none() -> None:
    assert make_tokenizer().response_template is None


def test_it_is_saved_loaded_and_saved_again(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path / "a")
    assert config_of(tmp_path / "a")["response_template"] == TEMPLATE
    loaded = load(tmp_path / "a")
    assert loaded.response_template == TEMPLATE
    loaded.save_pretrained(tmp_path / "b")
    again = load(tmp_path / "b")
    assert again.response_template == TEMPLATE
    assert again.parse_response("<think>a</think>b<|im_end|>", prefix=PROMPT) == {
        "role": "assistant",
        "reasoning_content": "a",
        "content": "b",
    }


def test_a_new_value_replaces_the_loaded_one(tokenizer: Any, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path / "a")
    loaded = load(tmp_path / "a")
    other = {**TEMPLATE, "defaults": {"role": "model"}}
    loaded.response_template = other
    loaded.save_pretrained(tmp_path / "b")
    assert load(tmp_path / "b").response_template == other


@pytest.mark.parametrize("how", ["none", "del"])
def test_none_takes_it_away_from_what_is_saved(tokenizer: Any, tmp_path: Path, how: str) -> None:
    tokenizer.save_pretrained(tmp_path / "a")
    loaded = load(tmp_path / "a")
    if how == "none":
        loaded.response_template = None
    else:
        del loaded.response_template
    assert loaded.response_template is None
    loaded.save_pretrained(tmp_path / "b")
    assert "response_template" not in config_of(tmp_path / "b")


def test_from_pretrained_takes_it_as_an_override(tokenizer: Any, tmp_path: Path) -> None:
    other = {**TEMPLATE, "defaults": {"role": "model"}}
    tokenizer.save_pretrained(tmp_path)
    assert load(tmp_path, response_template=other).response_template == other


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))], ids=["copy", "deepcopy", "pickle"]
)
def test_copies_carry_it(tokenizer: Any, tmp_path: Path, copied: Any) -> None:
    twin = copied(tokenizer)
    assert twin.response_template == TEMPLATE
    twin.save_pretrained(tmp_path)
    assert config_of(tmp_path)["response_template"] == TEMPLATE


def test_a_deep_copy_is_independent(tokenizer: Any) -> None:
    twin = copy.deepcopy(tokenizer)
    twin.response_template = None
    assert tokenizer.response_template == TEMPLATE


def test_two_tokenizers_do_not_share_it(tokenizer: Any) -> None:
    assert make_tokenizer().response_template is None


def test_a_value_set_before_enable_is_seen() -> None:
    tokenizer = make_tokenizer()
    tokenizer.response_template = TEMPLATE
    trp.enable(library=False)
    try:
        assert tokenizer.response_template == TEMPLATE
    finally:
        trp.disable()


def test_none_set_before_enable_is_seen() -> None:
    """Also where the template that was loaded is still among the arguments of the tokenizer's constructor."""
    tokenizer = make_tokenizer(response_template=TEMPLATE)
    tokenizer.response_template = None
    trp.enable(library=False)
    try:
        assert tokenizer.response_template is None
    finally:
        trp.disable()


def test_it_stays_with_the_tokenizer_after_disable(tokenizer: Any, tmp_path: Path) -> None:
    trp.disable()
    assert tokenizer.response_template == TEMPLATE
    tokenizer.save_pretrained(tmp_path)
    assert config_of(tmp_path)["response_template"] == TEMPLATE


def test_a_loaded_template_object_is_stored_as_its_dict(tokenizer: Any) -> None:
    tokenizer.response_template = trp.ResponseTemplate.load(TEMPLATE)
    assert tokenizer.response_template == TEMPLATE
    json.dumps(tokenizer.response_template)


def test_a_wrong_template_can_be_set_and_fails_at_first_use(tokenizer: Any) -> None:
    """A tokenizer from the Hub with a wrong template must still load and encode."""
    tokenizer.response_template = {"start_anchor": "x", "fields": {"content": {"clsoe": "y"}}}
    assert tokenizer.encode("Hi")
    with pytest.raises(trp.TemplateError, match=r"fields\.content"):
        tokenizer.parse_response("Hi", prefix="")


def test_a_string_from_a_repository_opens_no_file(tokenizer: Any, tmp_path: Path) -> None:
    """It would be a path, chosen by whoever wrote tokenizer_config.json: a device, a share on the network, a secret."""
    file = tmp_path / "template.json"
    file.write_text(json.dumps(TEMPLATE))
    tokenizer.response_template = str(file)
    tokenizer.save_pretrained(tmp_path / "saved")
    loaded = type(tokenizer).from_pretrained(tmp_path / "saved")
    for use in (lambda: loaded.parse_response("Hi", prefix=""), lambda: loaded.get_response_parser(prefix="")):
        with pytest.raises(trp.TemplateError, match="must be an object"):
            use()
    with pytest.raises(trp.TemplateError, match="must be an object"):
        trp.check_template(loaded)
    tokenizer.response_template = trp.ResponseTemplate.load(file)
    assert tokenizer.parse_response("Hi", prefix="")["content"] == "Hi"


def test_other_tokenizer_attributes_still_work(tokenizer: Any) -> None:
    tokenizer.pad_token = "<|im_end|>"
    assert tokenizer.pad_token_id == tokenizer.eos_token_id
    assert not hasattr(tokenizer, "no_such_attribute")


def saved_with(tokenizer: Any, template: Any, folder: Path) -> list[str]:
    tokenizer.response_template = template
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tokenizer.save_pretrained(folder)
    return [str(w.message) for w in caught if issubclass(w.category, trp.PortabilityWarning)]


@pytest.fixture
def nothing_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers_response_parsing.hf.saving._known", Remembered(9))


@pytest.mark.usefixtures("nothing_told")
def test_saving_a_template_that_needs_this_package_warns_once(tokenizer: Any, tmp_path: Path) -> None:
    entry = trp.get_template("qwen3")
    told = saved_with(tokenizer, entry.response_template, tmp_path)
    assert len(told) == 1
    assert 'save get_template("qwen3").portable_template instead' in told[0]
    assert config_of(tmp_path)["response_template"] == entry.response_template
    assert saved_with(tokenizer, entry.response_template, tmp_path) == []


@pytest.mark.usefixtures("nothing_told")
@pytest.mark.parametrize(
    ("template", "advice"),
    [
        (trp.get_template("llama3").response_template, "the format of llama3 can't be read without them"),
        ({**trp.get_template("qwen3").response_template, "start_anchor_pattern": "<a>"}, "save one without them"),
    ],
)
def test_the_advice_for_other_templates(tokenizer: Any, tmp_path: Path, template: Any, advice: str) -> None:
    (told,) = saved_with(tokenizer, template, tmp_path)
    assert advice in told


@pytest.mark.usefixtures("nothing_told")
@pytest.mark.parametrize("template", [TEMPLATE, trp.get_template("qwen3").portable_template, None, {"fields": 3}])
def test_other_templates_are_saved_in_silence(tokenizer: Any, tmp_path: Path, template: Any) -> None:
    assert saved_with(tokenizer, template, tmp_path) == []
