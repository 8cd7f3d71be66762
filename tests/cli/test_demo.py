# SPDX-License-Identifier: Apache-2.0
"""`response-template demo`: the recordings, live, and how events look in a terminal."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import run, run_process

from transformers_response_parsing import demo
from transformers_response_parsing.cli import main
from transformers_response_parsing.cli.console import Console
from transformers_response_parsing.demo import play_recordings, recordings, token_pieces
from transformers_response_parsing.demo_live import choose_template
from transformers_response_parsing.demo_view import EventView
from transformers_response_parsing.errors import ResponseParsingError
from transformers_response_parsing.library import get_template

ESCAPE = "\x1b["


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_demo_shows_all_four_families_and_exits_with_0() -> None:
    """Results on stdout, the hint on stderr, and no colours into a pipe."""
    done = run("demo")
    assert done.code == 0, done.err
    for title in ("SmolLM3", "Qwen3.5", "gpt-oss", "Cohere"):
        assert title in done.out
    assert "┌ reasoning_content" in done.out
    assert ESCAPE not in done.out
    assert "--model" not in done.out
    assert "response-template demo --model" in done.err


def test_demo_of_one_family_ends_with_its_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--family", "qwen3_5", "--no-delay"]) == 0
    message = json.loads(capsys.readouterr().out.split("The message\n")[1])
    first, second = message["tool_calls"]
    assert first["function"]["arguments"] == {"city": "Oslo", "zip": "0150", "days": 3}
    assert second["function"]["name"] == "run_code"


def test_recordings_as_json_are_one_a_line() -> None:
    done = run("demo", "--json", "--family", "gptoss")
    assert (done.code, done.err) == (0, "")
    assert [json.loads(line)["family"] for line in done.out.splitlines()] == ["gptoss"]
    assert run("demo", "--json", "--model", "x").code == 2


def test_unknown_recording_is_an_error_that_names_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--family", "llama9"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "error: no recording of 'llama9'; there are: smollm3, qwen3_5, gptoss, cohere\n"


def test_live_demo_without_torch_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from transformers_response_parsing import demo_live

    monkeypatch.setattr(demo_live.importlib.util, "find_spec", lambda name: None)
    assert main(["demo", "--model", "some/model"]) == 2
    assert "pip install torch" in capsys.readouterr().err


ASSETS = Path(os.environ.get("TRP_TEST_ASSETS") or Path.home() / ".cache" / "transformers-response-parsing")


@pytest.mark.model
def test_live_demo_with_a_model() -> None:
    """A real model's answer, parsed while it writes; the message is what was streamed."""
    for module in ("torch", "gguf", "accelerate"):
        pytest.importorskip(module)
    folder = ASSETS / "smollm2"
    if not folder.is_dir():
        pytest.skip("needs the model that scripts/fetch_test_assets.py fetches")
    gguf = next(folder.glob("*.gguf")).name
    done = run_process(
        *("demo", "--model", str(folder), "--gguf-file", gguf, "--template", "qwen3"),
        *("--prompt", "Say hello.", "--max-new-tokens", "12"),
    )
    assert done.code == 0, done.err
    assert "response template: the family qwen3, as asked for" in done.err
    streamed, _, message = done.out.partition("The message\n")
    content = json.loads(message)["content"]
    assert content
    shown = "".join(line.removeprefix("  │ ") for line in streamed.splitlines() if line.startswith("  │ "))
    assert shown == content.replace("\n", "")


class SmallTokenizer:
    """What choose_template reads of a tokenizer."""

    def __init__(self, chat_template: str = "", **init_kwargs: Any) -> None:
        self.chat_template = chat_template
        self.init_kwargs = init_kwargs


def test_live_demo_uses_the_tokenizer_s_template_or_its_family_s_or_what_is_asked_for(tmp_path: Path) -> None:
    own = {"start_anchor": "<a>", "fields": {"content": {}}}
    assert choose_template(SmallTokenizer(response_template=own), None) == (own, "the tokenizer's own")
    harmony = "<|start|>assistant<|channel|><|message|>"
    assert choose_template(SmallTokenizer(harmony), None)[1].startswith("family gptoss: ")
    assert choose_template(SmallTokenizer(harmony), "cohere")[0] == get_template("cohere").response_template
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"response_template": own}), encoding="utf-8")
    assert choose_template(SmallTokenizer(harmony), str(file))[0] == own
    with pytest.raises(ResponseParsingError, match="--template"):
        choose_template(SmallTokenizer("{{ messages }}"), None)


@pytest.mark.parametrize(
    ("environment", "colored"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": ""}, True)],
)
def test_colours_on_a_terminal_only_and_not_against_the_environment(
    environment: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Console(out=Terminal()).color is colored
    assert Console(out=io.StringIO()).color is False
    assert Console(out=Terminal(), color=False).color is False


def test_each_field_has_its_colour_in_the_stream_and_in_the_message() -> None:
    """The legend tells which; without colours the same text is there."""
    colored, plain = io.StringIO(), io.StringIO()
    play_recordings(Console(out=colored, err=io.StringIO(), color=True), family="smollm3")
    play_recordings(Console(out=plain, err=io.StringIO()), family="smollm3")
    text = colored.getvalue()
    assert f"{ESCAPE}35m■ reasoning_content" in text
    assert f"{ESCAPE}35m  │ " in text
    assert f'{ESCAPE}35m    "reasoning_content"' in text
    assert f'{ESCAPE}36m    "tool_calls"' in text
    without = "".join(part.partition("m")[2] if index else part for index, part in enumerate(text.split(ESCAPE)))
    assert without == plain.getvalue()


def test_a_malformed_region_is_shown_as_such() -> None:
    out = io.StringIO()
    view = EventView(Console(out=out))
    view.show({"type": "region_open", "field": "tool_calls"})
    view.show({"type": "region_chunk", "field": "tool_calls", "text": '{"na', "dirty": True})
    view.show({"type": "region_malformed", "field": "tool_calls", "raw": '{"na', "error": "no valid JSON"})
    assert out.getvalue().splitlines() == ["  ┌ tool_calls", '  │ {"na', "  └ ✗ no valid JSON"]


def test_long_lines_are_wrapped_inside_their_region() -> None:
    out = io.StringIO()
    view = EventView(Console(out=out))
    for text in ("a" * 50, "b" * 50):
        view.show({"type": "region_chunk", "field": "content", "text": text, "dirty": False})
    lines = out.getvalue().splitlines()
    assert [line[:4] for line in lines] == ["  │ "] * len(lines)
    assert "".join(line[4:] for line in lines) == "a" * 50 + "b" * 50
    assert max(map(len, lines)) <= 80


def test_pieces_of_a_recording_make_up_its_output() -> None:
    for recording in recordings():
        pieces = token_pieces(recording["output"])
        assert "".join(pieces) == recording["output"]
        assert max(map(len, pieces)) <= 25


def test_recordings_use_every_field_of_their_family() -> None:
    """A demo of a family that never shows one of its regions would be half a demo."""
    for recording in recordings():
        fields = get_template(recording["family"]).response_template["fields"]
        out = io.StringIO()
        play_recordings(Console(out=out, err=io.StringIO()), family=recording["family"])
        assert "┌ tool_calls" in out.getvalue()
        assert "┌ reasoning_content" in out.getvalue()
        assert len(fields) == 3


def test_delay_follows_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(demo.time, "sleep", waits.append)
    play_recordings(Console(out=io.StringIO(), err=io.StringIO()), speed=1.0)
    normal = sum(waits)
    waits.clear()
    play_recordings(Console(out=io.StringIO(), err=io.StringIO()), speed=4.0)
    assert sum(waits) == pytest.approx(normal / 4)
    assert 8 <= normal <= 22
