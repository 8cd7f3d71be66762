# SPDX-License-Identifier: Apache-2.0
"""Threads share templates, parsers move between processes, and the core talks to nobody."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest
from chunkings import merge, pieces

import transformers_response_parsing as trp

FAMILIES = ("qwen3", "qwen3_5", "gptoss", "gemma4", "deepseek_v31", "mistral", "kimi_k2", "glm5")
CASES = [
    (entry.response_template, example.get("prefix", ""), example["output"])
    for entry in map(trp.get_template, FAMILIES)
    for example in entry.examples[:6]
]


def go_on(pickled: bytes, text: str) -> tuple[dict[str, Any], list[Any]]:
    """In another process: the rest of a generation."""
    parser = pickle.loads(pickled)
    events = parser.feed(text)
    message, last = parser.finalize()
    return message, events + last


def streamed(case: tuple[Any, str, str], seed: int = 3) -> tuple[dict[str, Any], list[Any]]:
    template, prefix, output = case
    parser = trp.ResponseParser(template, prefix, on_error="keep")
    events = list(parser.initial_events)
    for piece in pieces(output, seed, 9):
        events += parser.feed(piece)
    message, last = parser.finalize()
    return message, merge(events + last)


def test_threads_share_templates() -> None:
    """Their automata are built while they are used, by all threads at once."""
    alone = [streamed(case) for case in CASES]
    fresh = [(copy.deepcopy(template), prefix, output) for template, prefix, output in CASES]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(streamed, fresh * 6, range(1, 6 * len(fresh) + 1)))
    assert together == alone * 6


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_parser_goes_on_in_another_process(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system can't {method}")
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        for template, prefix, output in CASES[::5]:
            half = len(output) // 2
            parser = trp.ResponseParser(template, prefix, on_error="keep")
            first = [*parser.initial_events, *parser.feed(output[:half])]
            message, rest = pool.submit(go_on, pickle.dumps(parser), output[half:]).result()
            assert (message, merge(first + rest)) == streamed((template, prefix, output))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system can't fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_goes_on_with_its_own_copy() -> None:
    template, prefix, output = CASES[1]
    parser = trp.ResponseParser(template, prefix, on_error="keep")
    first = [*parser.initial_events, *parser.feed(output[:7])]
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, pickle.dumps(go_on(pickle.dumps(parser), output[7:])))
        os._exit(0)
    os.waitpid(child, 0)
    message, rest = pickle.loads(os.read(reader, 1 << 20))
    assert (message, merge(first + rest)) == streamed(CASES[1])
    assert parser.finalize()[0] != message  # the parent's was not fed


def test_copies_go_different_ways() -> None:
    """Speculative decoding: the draft is thrown away, and the stream goes on from before it."""
    template, prefix, output = CASES[2]
    parser = trp.ResponseParser(template, prefix, on_error="keep")
    events = list(parser.initial_events)
    for piece in pieces(output, 2, 9):
        draft = copy.deepcopy(parser)
        draft.feed("<tool_call> not what comes")
        events += parser.feed(piece)
    message, last = parser.finalize()
    assert (message, merge(events + last)) == streamed(CASES[2])


def test_the_core_uses_no_network_and_starts_no_process() -> None:
    """An audit hook ends the process at the first attempt; loading, parsing and the library's files need none."""
    code = """
import sys
def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "urllib.", "http.", "ctypes.dlopen")):
        raise SystemExit(f"{event} {arguments}")
import transformers_response_parsing as trp
trp.ResponseParser, trp.list_templates
sys.addaudithook(watch)
for entry in trp.list_templates():
    for example in entry.examples[:2]:
        trp.parse_response(example["output"], entry.response_template, prefix=example.get("prefix", ""), on_error="keep")
        parser = trp.ResponseParser(entry.response_template, example.get("prefix", ""), on_error="keep")
        parser.feed(example["output"]); parser.finalize()
print("done", "transformers" in sys.modules, "huggingface_hub" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done False False\n", done.stdout + done.stderr


def test_a_copy_made_after_an_error_at_the_end_literal_does_not_end_twice() -> None:
    """Each end would look for a match of nothing at the end of the text again."""
    tail = {"open_pattern": r"\Z", "repeats": True}
    source = {"start_anchor": "<A>", "fields": {"n": {"open": "<n>", "close": "</n>", "content": "int"}, "tail": tail}}
    outcomes = []
    for copied in (lambda parser: parser, copy.deepcopy, lambda parser: pickle.loads(pickle.dumps(parser))):
        parser = trp.ResponseParser(source, "", end="<e>")
        with pytest.raises(trp.OutputError):
            parser.feed("<n>x<e>more")
        outcomes.append(copied(parser).finalize())
    assert outcomes[1:] == outcomes[:1] * 2
