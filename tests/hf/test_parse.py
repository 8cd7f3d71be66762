# SPDX-License-Identifier: Apache-2.0
"""`tokenizer.parse_response` and `get_response_parser`: every form that generate and apply_chat_template hand out."""

from __future__ import annotations

from collections import UserDict
from typing import Any

import numpy as np
import pytest
from hf.helpers import PROMPT, TEMPLATE, make_tokenizer, needs_torch

import transformers_response_parsing as trp

HELLO, BYE = "Hello there.<|im_end|>", "<think>\nok\n</think>\n\nBye.<|im_end|>"
HELLO_MESSAGE = {"role": "assistant", "content": "Hello there."}
BYE_MESSAGE = {"role": "assistant", "reasoning_content": "ok", "content": "Bye."}


class Counting:
    """An array-like of one dimension that is neither numpy nor torch."""

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids

    def tolist(self) -> list[int]:
        return list(self._ids)


def padded(rows: list[list[int]], pad: int, *, left: bool = False) -> list[list[int]]:
    width = max(map(len, rows))
    return [[pad] * (width - len(row)) + row if left else row + [pad] * (width - len(row)) for row in rows]


def torch_tensor(ids: Any) -> Any:
    import torch

    return torch.tensor(ids)


def one_row(ids: list[int]) -> list[list[int]]:
    return [ids]


FORMS = [
    pytest.param(list, id="list"),
    pytest.param(tuple, id="tuple"),
    pytest.param(np.array, id="numpy"),
    pytest.param(lambda ids: list(np.array(ids)), id="list of numpy integers"),
    pytest.param(torch_tensor, id="torch", marks=needs_torch),
    pytest.param(lambda ids: list(torch_tensor(ids)), id="list of tensors without dimension", marks=needs_torch),
    pytest.param(Counting, id="anything with tolist"),
    pytest.param(lambda ids: {"input_ids": ids}, id="mapping"),
    pytest.param(lambda ids: UserDict(input_ids=ids), id="UserDict"),
]
ROW_FORMS = [
    pytest.param(one_row, id="list of one"),
    pytest.param(lambda ids: np.array([ids]), id="numpy of one row"),
    pytest.param(lambda ids: torch_tensor([ids]), id="torch of one row", marks=needs_torch),
    pytest.param(lambda ids: {"input_ids": [ids]}, id="mapping of one row"),
]


@pytest.mark.parametrize("form", FORMS)
def test_a_single_response_in_any_form_gives_a_dict(tokenizer: Any, form: Any) -> None:
    assert tokenizer.parse_response(form(tokenizer.encode(BYE)), prefix=PROMPT) == BYE_MESSAGE


@pytest.mark.parametrize("form", [*FORMS, *ROW_FORMS])
def test_a_single_prefix_in_any_form_serves_a_single_response(tokenizer: Any, form: Any) -> None:
    prefix = form(tokenizer.encode(PROMPT + "<think>\nw"))
    message = {"role": "assistant", "reasoning_content": "wok", "content": "Bye."}
    assert tokenizer.parse_response("ok</think>Bye.<|im_end|>", prefix=prefix) == message
    parser = tokenizer.get_response_parser(prefix=prefix)
    assert parser.initial_events[0] == {"type": "region_open", "field": "reasoning_content"}
    parser.feed("ok</think>Bye.<|im_end|>")
    assert parser.finalize()[0] == message


@pytest.mark.parametrize("form", ROW_FORMS)
def test_a_batch_of_one_gives_a_list_of_one(tokenizer: Any, form: Any) -> None:
    assert tokenizer.parse_response(form(tokenizer.encode(BYE)), prefix=PROMPT) == [BYE_MESSAGE]


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(lambda rows, pad: rows, id="list of lists"),
        pytest.param(lambda rows, pad: [np.array(row) for row in rows], id="list of arrays"),
        pytest.param(lambda rows, pad: np.array(padded(rows, pad)), id="numpy, padded"),
        pytest.param(lambda rows, pad: torch_tensor(padded(rows, pad)), id="torch, padded", marks=needs_torch),
        pytest.param(lambda rows, pad: {"input_ids": np.array(padded(rows, pad))}, id="mapping, padded"),
        pytest.param(lambda rows, pad: [np.array([row]) for row in rows], id="list of [1, N] arrays"),
    ],
)
def test_a_batch_in_any_form_gives_a_list(tokenizer: Any, batch: Any) -> None:
    responses = batch([tokenizer.encode(HELLO), tokenizer.encode(BYE)], tokenizer.pad_token_id)
    assert tokenizer.parse_response(responses, prefix=PROMPT) == [HELLO_MESSAGE, BYE_MESSAGE]


def test_a_batch_may_mix_texts_and_ids(tokenizer: Any) -> None:
    responses = [HELLO, tokenizer.encode(BYE), HELLO]
    assert tokenizer.parse_response(responses, prefix=PROMPT) == [HELLO_MESSAGE, BYE_MESSAGE, HELLO_MESSAGE]


def test_each_response_of_a_batch_can_have_its_own_prefix(tokenizer: Any) -> None:
    prefixes = [PROMPT, PROMPT + "<think>"]
    messages = tokenizer.parse_response(["a<|im_end|>", "b</think>c"], prefix=prefixes)
    assert messages[0] == {"role": "assistant", "content": "a"}
    assert messages[1] == {"role": "assistant", "reasoning_content": "b", "content": "c"}


def test_one_prefix_serves_a_whole_batch(tokenizer: Any) -> None:
    messages = tokenizer.parse_response(["a</think>b", "c", "d</think>e"], prefix=PROMPT + "<think>")
    assert [message.get("reasoning_content") for message in messages] == ["a", "c", "d"]
    assert [message.get("content") for message in messages] == ["b", None, "e"]


def test_the_prompt_of_a_batch_is_searched_once(tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers_response_parsing import arguments
    from transformers_response_parsing.hf import tokenizer as plugin_part

    searched = []

    def counting(template: Any, prefix: Any) -> str:
        searched.append(prefix)
        return arguments.message_tail(template, prefix)

    monkeypatch.setattr(plugin_part, "message_tail", counting)
    assert tokenizer.parse_response([HELLO, BYE, HELLO], prefix=PROMPT)[1] == BYE_MESSAGE
    begun = PROMPT + "<think>"
    assert tokenizer.parse_response(["a</think>b", "c"], prefix=begun)[1]["reasoning_content"] == "c"
    assert searched == [PROMPT, begun]


@needs_torch
def test_the_prompt_tensor_of_one_row_serves_several_returned_sequences(tokenizer: Any) -> None:
    prompt = torch_tensor([tokenizer.encode(PROMPT)])
    responses = torch_tensor(padded([tokenizer.encode(HELLO), tokenizer.encode(BYE)], tokenizer.pad_token_id))
    assert tokenizer.parse_response(responses, prefix=prompt) == [HELLO_MESSAGE, BYE_MESSAGE]


def test_a_batch_encoding_from_the_tokenizer_itself_is_a_prefix(tokenizer: Any) -> None:
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Hi"}], add_generation_prompt=True, return_dict=True, tokenize=True
    )
    assert tokenizer.decode(prompt["input_ids"]) == PROMPT
    assert tokenizer.parse_response(BYE, prefix=prompt) == BYE_MESSAGE


def test_padding_that_the_attention_mask_marks_is_no_part_of_a_prefix(tokenizer: Any) -> None:
    """Prompts padded on the right would otherwise put padding into the message."""
    rows = [tokenizer.encode(PROMPT), tokenizer.encode(PROMPT + "<think>")]
    width = max(map(len, rows))
    prompts = {
        "input_ids": padded(rows, tokenizer.pad_token_id),
        "attention_mask": [[1] * len(row) + [0] * (width - len(row)) for row in rows],
    }
    messages = tokenizer.parse_response(["a", "b</think>c"], prefix=prompts)
    assert messages[0] == {"role": "assistant", "content": "a"}
    assert messages[1] == {"role": "assistant", "reasoning_content": "b", "content": "c"}


@pytest.mark.parametrize("mask", [[1], [[1, 1]], 7, [[1], [1]]], ids=str)
def test_a_mask_of_another_shape_is_an_error(tokenizer: Any, mask: Any) -> None:
    with pytest.raises(trp.ResponseParsingError):
        tokenizer.parse_response("a", prefix={"input_ids": [[1, 2], [3]], "attention_mask": mask})


@pytest.mark.parametrize("empty", [[], (), np.zeros((0, 5), dtype=int)], ids=["list", "tuple", "numpy"])
def test_an_empty_batch_gives_an_empty_list(tokenizer: Any, empty: Any) -> None:
    assert tokenizer.parse_response(empty, prefix=PROMPT) == []


def test_an_array_without_elements_is_one_sequence_without_tokens(tokenizer: Any) -> None:
    assert tokenizer.parse_response(np.array([], dtype=int), prefix=PROMPT) == {"role": "assistant"}


@pytest.mark.parametrize("nothing", ["", [], np.array([], dtype=int)], ids=["text", "list", "numpy"])
def test_an_empty_prefix_opts_out(tokenizer: Any, nothing: Any) -> None:
    assert tokenizer.parse_response(HELLO, prefix=nothing) == HELLO_MESSAGE
    assert tokenizer.parse_response([HELLO, BYE], prefix=nothing) == [HELLO_MESSAGE, BYE_MESSAGE]
    assert tokenizer.get_response_parser(prefix=nothing).initial_events == []


@pytest.mark.parametrize("response", [HELLO, [HELLO], []])
def test_omitting_the_prefix_is_an_error_that_says_how_to_opt_out(tokenizer: Any, response: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match=r'prefix=""'):
        tokenizer.parse_response(response)
    with pytest.raises(ValueError, match=r'prefix=""'):
        tokenizer.get_response_parser()


@pytest.mark.parametrize(
    ("responses", "prefixes", "text"),
    [
        (["a", "b", "c"], ["p", "q"], "3 responses and 2 prefixes"),
        ("a", ["p", "q"], "a single response and 2 prefixes"),
        ([], ["p", "q"], "0 responses and 2 prefixes"),
    ],
)
def test_numbers_that_do_not_agree_are_an_error(tokenizer: Any, responses: Any, prefixes: Any, text: str) -> None:
    with pytest.raises(trp.ResponseParsingError, match=text):
        tokenizer.parse_response(responses, prefix=prefixes)


@pytest.mark.parametrize(
    "wrong",
    [None, 3, 1.5, b"bytes", [1.5, 2.5], [True, False], [1, "a"], ["a", 1], [[["a"]]], {"ids": [1]}, object(), [None]],
    ids=repr,
)
def test_what_is_neither_text_nor_ids_is_an_error_of_ours(tokenizer: Any, wrong: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match="response"):
        tokenizer.parse_response(wrong, prefix="")


def test_negative_ids_are_an_error_that_explains_them(tokenizer: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match="-100"):
        tokenizer.parse_response([-100, 5], prefix="")


@pytest.mark.parametrize("as_ids", [False, True], ids=["text", "ids"])
def test_padding_and_a_run_on_next_turn_are_no_part_of_the_message(tokenizer: Any, as_ids: bool) -> None:
    """The tokenizer's end-of-sequence and padding tokens end the generation."""
    for text in (
        "The answer is 4.<|im_end|>\n<|im_start|>user\nAnd 3+3?<|im_end|>\n<|im_start|>assistant\n6<|im_end|>",
        "The answer is 4.<|endoftext|><|endoftext|>",
    ):
        response = tokenizer.encode(text) if as_ids else text
        assert tokenizer.parse_response(response, prefix=PROMPT) == {"role": "assistant", "content": "The answer is 4."}


def test_end_can_be_switched_off_or_given(tokenizer: Any) -> None:
    for off in (None, []):
        message = tokenizer.parse_response("a<|endoftext|>b", prefix=PROMPT, end=off)
        assert message["content"] == "a<|endoftext|>b"
    assert tokenizer.parse_response("aXb", prefix=PROMPT, end="X")["content"] == "a"
    assert tokenizer.parse_response("aXbY", prefix=PROMPT, end=["Y", "X"])["content"] == "a"


@pytest.mark.usefixtures("plugin")
def test_end_tokens_that_are_not_set_are_left_out() -> None:
    from transformers_response_parsing.hf.tokenizer import end_tokens

    assert end_tokens(make_tokenizer()) == ["<|im_end|>", "<|endoftext|>"]
    assert end_tokens(make_tokenizer(pad_token="<|im_end|>")) == ["<|im_end|>"]
    assert end_tokens(make_tokenizer(pad_token=None)) == ["<|im_end|>"]
    assert end_tokens(make_tokenizer(pad_token=None, eos_token=None)) == []


def test_an_explicit_template_wins_over_the_tokenizers_own(tokenizer: Any) -> None:
    other = {"defaults": {"role": "bot"}, "start_anchor": "x", "fields": {"text": {}}}
    assert tokenizer.parse_response("Hi", other, prefix="") == {"role": "bot", "text": "Hi"}
    assert tokenizer.parse_response(["Hi"], other, prefix="") == [{"role": "bot", "text": "Hi"}]
    assert tokenizer.parse_response("Hi", schema=trp.ResponseTemplate.load(other), prefix="")["text"] == "Hi"
    for parser in (
        tokenizer.get_response_parser(other, prefix=""),
        tokenizer.get_response_parser(response_template=other, prefix=""),
    ):
        parser.feed("Hi")
        assert parser.finalize()[0] == {"role": "bot", "text": "Hi"}
    assert tokenizer.response_template == TEMPLATE


CALL = '<tool_call>{"name": "add", "arguments": {"n": "3"}}</tool_call>'
TOOLS = [{"name": "add", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]


def test_tools_type_the_arguments(tokenizer: Any) -> None:
    call = tokenizer.parse_response(CALL, prefix="", tools=TOOLS)["tool_calls"][0]
    assert call["function"]["arguments"] == {"n": 3}
    parser = tokenizer.get_response_parser(prefix="", tools=TOOLS)
    closes = [event for event in parser.feed(CALL) if event["type"] == "region_close"]
    assert closes[0]["value"]["function"]["arguments"] == {"n": 3}


def test_the_error_of_a_batch_says_which_item(tokenizer: Any) -> None:
    with pytest.raises(trp.OutputError, match="item 1 of the batch") as caught:
        tokenizer.parse_response(["fine", "<tool_call>{broken</tool_call>"], prefix=PROMPT)
    assert caught.value.item == 1
    assert caught.value.field == "tool_calls"
    with pytest.raises(trp.OutputError) as caught:
        tokenizer.parse_response("<tool_call>{broken</tool_call>", prefix=PROMPT)
    assert caught.value.item is None


def test_on_error_keep_lists_what_can_not_be_parsed(tokenizer: Any) -> None:
    message = tokenizer.parse_response("a<tool_call>{broken</tool_call>", prefix=PROMPT, on_error="keep")
    assert message["content"] == "a"
    assert message["malformed"][0]["raw"] == "{broken"


@pytest.mark.usefixtures("plugin")
def test_a_tokenizer_without_a_template_says_what_to_do() -> None:
    tokenizer = make_tokenizer()
    for call in (tokenizer.parse_response, lambda text, **options: tokenizer.get_response_parser(**options)):
        with pytest.raises(trp.ResponseParsingError, match="response_template"):
            call("Hi", prefix="")


def test_special_tokens_are_kept_and_characters_survive(tokenizer: Any) -> None:
    text = "naïve 👩‍🚀 你好 <|im_start|> "
    assert tokenizer.parse_response(tokenizer.encode(text), prefix="")["content"] == text.strip()


@pytest.mark.usefixtures("plugin")
def test_a_tokenizer_written_in_python_adds_no_spaces_around_special_tokens(tmp_path: Any) -> None:
    """Such tokenizers decode `<|im_start|>assistant` with a space in it unless told not to."""
    from transformers import ByT5Tokenizer

    tokenizer = ByT5Tokenizer(additional_special_tokens=["<|im_start|>", "<|im_end|>"], extra_ids=0)
    tokenizer.response_template = TEMPLATE
    ids = tokenizer.encode(PROMPT + "<think>", add_special_tokens=False)
    message = tokenizer.parse_response(tokenizer.encode("a</think>b<|im_end|>", add_special_tokens=False), prefix=ids)
    assert message == {"role": "assistant", "reasoning_content": "a", "content": "b"}
