# SPDX-License-Identifier: Apache-2.0
"""ResponseStreamer: what `generate` does with a streamer, played by hand; no model and no torch needed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hf.helpers import PROMPT, TEMPLATE, make_tokenizer
from hf.test_processor import make_processor

import transformers_response_parsing as trp

OUTPUT = (
    '<think>\nhm… 👩‍🚀</think>\n\nHello 你好\n<tool_call>{"name": "f", "arguments": {"a": "é"}}</tool_call><|im_end|>'
)


def generate(tokenizer: Any, streamer: Any, output: str = OUTPUT, sizes: tuple[int, ...] = (1,)) -> None:
    """As model.generate does it: the prompt first, in two dimensions, then new tokens, in one."""
    streamer.put(np.array([tokenizer.encode(PROMPT)]))
    ids = tokenizer.encode(output)
    at = step = 0
    while at < len(ids):
        size = sizes[step % len(sizes)]
        streamer.put(np.array(ids[at : at + size]))
        at, step = at + size, step + 1
    streamer.end()


def summary(events: list[Any]) -> list[Any]:
    """Events with the chunks of a region joined, so that cuts do not matter."""
    result: list[Any] = []
    for event in events:
        if event["type"] == "region_chunk" and result and result[-1]["type"] == "region_chunk":
            result[-1] = {**result[-1], "text": result[-1]["text"] + event["text"]}
        else:
            result.append(dict(event))
    return result


@pytest.mark.parametrize("sizes", [(1,), (2, 5), (1000,)], ids=str)
def test_its_events_and_message_are_those_of_the_text_as_a_whole(tokenizer: Any, sizes: tuple[int, ...]) -> None:
    """Also when generate puts several tokens at once, as with assisted generation."""
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_event=events.append)
    assert streamer.message is None
    generate(tokenizer, streamer, sizes=sizes)
    parser = tokenizer.get_response_parser(prefix=PROMPT)
    expected = parser.feed(OUTPUT)
    message, rest = parser.finalize()
    assert streamer.message == message == tokenizer.parse_response(OUTPUT, prefix=PROMPT)
    assert summary(events) == summary(expected + rest)


def test_no_chunk_holds_half_a_character(tokenizer: Any) -> None:
    events: list[Any] = []
    generate(tokenizer, trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_event=events.append))
    assert not any("\ufffd" in event.get("text", "") for event in events)


def test_text_comes_out_as_soon_as_its_token_is_there(tokenizer: Any) -> None:
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_event=events.append)
    streamer.put(np.array([tokenizer.encode(PROMPT)]))
    for token in tokenizer.encode("Hey"):
        streamer.put(np.array([token]))
    assert [event.get("text") for event in events] == [None, "H", "e", "y"]


@pytest.mark.parametrize(("prefill", "field"), [("<think>\n", "reasoning_content"), ("Sure, ", "content")])
def test_what_the_prompt_wrote_of_the_message_is_in_the_initial_events(
    tokenizer: Any, prefill: str, field: str
) -> None:
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=tokenizer.encode(PROMPT + prefill), on_event=events.append)
    assert streamer.initial_events[0] == {"type": "region_open", "field": field}
    generate(tokenizer, streamer, "yes<|im_end|>")
    assert streamer.message is not None
    assert streamer.message[field] == (prefill.replace("<think>\n", "") + "yes")
    assert not any(event["type"] == "region_open" for event in events)


def test_another_thread_can_iterate(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=60)
    thread = threading.Thread(target=generate, args=(tokenizer, streamer))
    thread.start()
    events = list(streamer)
    thread.join()
    assert streamer.message is not None
    assert next(event["value"] for event in events if event["type"] == "region_close") == "hm… 👩‍🚀"
    assert list(streamer) == []


def test_start_runs_generate_in_a_thread(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=60)
    thread = streamer.start(lambda *, streamer: generate(tokenizer, streamer))
    assert any(event["type"] == "region_close" for event in streamer)
    thread.join()
    assert streamer.message is not None


def test_an_error_of_generate_reaches_the_iteration(tokenizer: Any) -> None:
    def failing(*, streamer: Any) -> None:
        streamer.put(np.array([[1, 2]]))
        streamer.put(np.array(tokenizer.encode("Hi")))
        raise RuntimeError("out of memory")

    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=60)
    streamer.start(failing)
    iteration = iter(streamer)
    assert [next(iteration)["type"] for _ in range(2)] == ["region_open", "region_chunk"]
    with pytest.raises(RuntimeError, match="out of memory"):
        next(iteration)
    with pytest.raises(RuntimeError, match="out of memory"):
        list(streamer)


@pytest.mark.parametrize(
    "output", ["Hi.<tool_call>{broken</tool_call> more", 'Hi.<tool_call>{"name": "f", "argu'], ids=["broken", "cut off"]
)
@pytest.mark.parametrize("sizes", [(1,), (1000,)], ids=str)
def test_a_call_that_cant_be_parsed_does_not_end_generate(tokenizer: Any, output: str, sizes: tuple[int, ...]) -> None:
    """What was generated is not lost. Who asks for the message, or iterates, gets the error, behind all events before it."""
    events: list[Any] = []
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_event=events.append, timeout=60)
    generate(tokenizer, streamer, output, sizes)
    for _ in range(2):
        with pytest.raises(trp.OutputError) as caught:
            _ = streamer.message
        assert caught.value.partial_message["content"] == "Hi."
    iterated = []
    with pytest.raises(trp.OutputError, match="no valid JSON"):
        iterated += list(streamer)
    assert [event["type"] for event in summary(events)][:5] == [
        "region_open", "region_chunk", "region_close", "region_open", "region_chunk",
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="new ResponseStreamer"):
        streamer.put(np.array([1]))


def test_an_error_in_start_reaches_the_iteration_behind_its_events(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=60)
    thread = streamer.start(
        lambda streamer: generate(tokenizer, streamer, "Hi.<tool_call>{broken</tool_call> more", (1000,))
    )
    seen: list[str] = []
    with pytest.raises(trp.OutputError):
        seen.extend(event["type"] for event in streamer)
    assert seen[:3] == ["region_open", "region_chunk", "region_close"]
    thread.join()


def test_on_error_keep_goes_on(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_error="keep")
    generate(tokenizer, streamer, "<tool_call>{broken</tool_call>more<|im_end|>")
    assert streamer.message is not None
    assert streamer.message["content"] == "more"


def test_an_error_of_the_callback_ends_generate(tokenizer: Any) -> None:
    def fail(event: Any) -> None:
        raise KeyError("in the callback")

    with pytest.raises(KeyError, match="in the callback"):
        generate(tokenizer, trp.ResponseStreamer(tokenizer, prefix=PROMPT, on_event=fail))


def test_more_than_one_sequence_is_refused(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=60)
    with pytest.raises(ValueError, match="follows one sequence, but 2 are generated"):
        streamer.put(np.array([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="follows one sequence"):
        list(streamer)
    with pytest.raises(ValueError, match="prefixes"):
        trp.ResponseStreamer(tokenizer, prefix=[PROMPT, PROMPT])


def test_it_serves_one_generation_only(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT)
    generate(tokenizer, streamer)
    with pytest.raises(RuntimeError, match="new ResponseStreamer"):
        generate(tokenizer, streamer)


def test_waiting_too_long_is_a_timeout(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, timeout=0.01)
    with pytest.raises(TimeoutError):
        next(iter(streamer))


def test_the_prefix_is_required(tokenizer: Any) -> None:
    with pytest.raises(trp.ResponseParsingError, match=r'prefix=""'):
        trp.ResponseStreamer(tokenizer)


def test_it_needs_no_enable_and_takes_a_template_or_a_processor(tokenizer: Any) -> None:
    trp.disable()
    plain = make_tokenizer()
    streamer = trp.ResponseStreamer(plain, prefix=PROMPT, response_template=TEMPLATE)
    generate(plain, streamer)
    assert streamer.message is not None
    processor_streamer = trp.ResponseStreamer(make_processor(tokenizer), prefix=PROMPT)
    generate(tokenizer, processor_streamer)
    assert processor_streamer.message == streamer.message


def test_the_run_on_next_turn_is_no_part_of_the_message(tokenizer: Any) -> None:
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT)
    generate(tokenizer, streamer, "4<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>")
    assert streamer.message == {"role": "assistant", "content": "4"}


def test_tools_type_the_arguments(tokenizer: Any) -> None:
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]
    streamer = trp.ResponseStreamer(tokenizer, prefix=PROMPT, tools=tools)
    generate(tokenizer, streamer, '<tool_call>{"name": "f", "arguments": {"n": "3"}}</tool_call><|im_end|>')
    assert streamer.message is not None
    assert streamer.message["tool_calls"][0]["function"]["arguments"] == {"n": 3}
