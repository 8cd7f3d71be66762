# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common: streams, exit codes, errors, encodings, `--help`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from command_line import run, run_process

from transformers_response_parsing import demo
from transformers_response_parsing.cli import build_parser, main
from transformers_response_parsing.cli.usage import one_line_first

COMMANDS = list(
    next(action for action in build_parser()._actions if action.dest == "==SUPPRESS==" or action.choices).choices
)


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["demo", "--speed", "fast"], ["demo", "--speed", "0"], ["show"]]
)
def test_wrong_use_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "usage: response-template" in capsys.readouterr().err


def test_an_error_is_one_line_on_stderr_and_debug_shows_the_traceback() -> None:
    done = run("show", "no-such-family")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: no ready-made template for 'no-such-family'. ")
    assert done.err.count("\n") == 1
    done = run_process("show", "no-such-family", "--debug")
    assert done.code == 1  # Python's own
    assert "Traceback" in done.err


def test_ctrl_c_exits_quietly(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "play_recordings", interrupt)
    assert main(["demo"]) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("module", ["transformers_response_parsing.cli", "transformers_response_parsing.parser"])
def test_ctrl_c_while_it_starts_is_quiet_too(module: str) -> None:
    """Loading the package takes a moment; a SIGINT comes while this module of it is imported."""
    program = f"""
import os, runpy, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what a shell runs in the background
sys.meta_path.insert(0, Interrupt())
sys.argv = ["response-template", "ls"]
runpy.run_module("transformers_response_parsing", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")  # which shells report as 130


def test_a_reader_that_goes_away_is_no_error() -> None:
    """`response-template demo | head -1` prints one line and no traceback."""
    command = f'set -o pipefail; "{sys.executable}" -m transformers_response_parsing demo | head -1'
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stdout.count("\n") == 1
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_of_this_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    assert shown.count(f"  response-template {command}") >= 2
    assert "--json" in shown


def test_help_leads_to_that_of_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = capsys.readouterr().out
    assert "COMMAND --help" in shown
    assert all(f"    {command} " in shown for command in COMMANDS)


def test_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith("response-template ")


def test_output_is_utf_8_whatever_the_locale() -> None:
    done = run_process("show", "deepseek_v31", LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    assert "<｜" in done.out


def test_errors_of_the_hub_are_told_from_their_first_telling_line() -> None:
    """The status line with its request id says less than what follows."""
    error = OSError("404 Client Error. (Request ID: Root=1-2;3)\n\nRepository Not Found for url: x.\nPlease log in.")
    assert one_line_first(error) == "Repository Not Found for url: x.\n  Please log in."
    assert one_line_first(FileNotFoundError(2, "No such file or directory", "a.json")) == (
        "a.json: No such file or directory"
    )
    assert one_line_first(ValueError()) == "ValueError"


def test_a_repository_that_can_t_be_reached_exits_with_2() -> None:
    done = run("find", "some-org/some-model")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


@pytest.mark.parametrize("arguments", [("ls",), ("show", "qwen3"), ("demo", "--family", "gptoss")])
def test_json_is_json_and_alone_on_stdout(arguments: tuple[str, ...]) -> None:
    done = run_process(*arguments, "--json")
    assert done.code == 0, done.err
    json.loads(done.out)
    assert done.err == ""


@pytest.mark.parametrize("package", ["requests", "httpx", "httpx2"])
def test_the_hub_s_client_of_every_version_fails_without_a_traceback(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """huggingface_hub 0.36 uses requests, 1.x httpx, 2.x httpx2; their errors of a connection come through it as they are."""
    kind = type("ConnectError", (Exception,), {"__module__": f"{package}._exceptions"})

    def fail(*arguments: Any, **options: Any) -> None:
        raise kind("[Errno 111] Connection refused")

    monkeypatch.setattr("transformers_response_parsing.cli.pull.pull_template", fail)
    done = run("pull", "org/model")
    assert (done.code, done.out, done.err) == (2, "", "error: [Errno 111] Connection refused\n")
