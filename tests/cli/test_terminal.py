# SPDX-License-Identifier: Apache-2.0
"""In a real terminal: colours, and Ctrl-C."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

COMMAND = shlex.join([sys.executable, "-m", "transformers_response_parsing"])
_PATIENCE = 60.0  # seconds until a test gives up


class Terminal:
    """A tmux session of its own, with a shell in it."""

    def __init__(self, socket: Path) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", os.devnull]
        self._do("new-session", "-d", "-x", "100", "-y", "60", "env PS1='$ ' NO_COLOR= bash --norc --noprofile")

    def _do(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], capture_output=True, text=True, encoding="utf-8", check=True)
        return done.stdout

    def type(self, text: str) -> None:
        """Type a line."""
        self._do("send-keys", "-l", text)
        self._do("send-keys", "Enter")

    def press(self, key: str) -> None:
        """Press a key."""
        self._do("send-keys", key)

    def wait_for(self, text: str) -> str:
        """What is on the screen, with its colours, once this text is there."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            screen = self._do("capture-pane", "-p", "-e")
            if text in re.sub(r"\x1b\[[\d;]*m", "", screen):
                return screen
            time.sleep(0.1)
        pytest.fail(f"{text!r} did not come; there is:\n{self._do('capture-pane', '-p')}")

    def close(self) -> None:
        """End it."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("needs a terminal: apt-get install tmux")
    made = Terminal(tmp_path / "tmux")
    yield made
    made.close()


@pytest.fixture
def output(tmp_path: Path) -> str:
    file = tmp_path / "output.txt"
    file.write_text("<think>\nHm.\n</think>\n\nHello!<|im_end|>", encoding="utf-8")
    return shlex.quote(str(file))


def colour_of(text: str, screen: str) -> tuple[int, bool]:
    """Colour (31 to 36, 39 without) and reversal of the first place where this text is on the screen."""
    shown, states = "", []
    colour, reverse = 39, False
    for part in re.split(r"(\x1b\[[\d;]*m)", screen):
        if not part.startswith("\x1b["):
            shown += part
            states += [(colour, reverse)] * len(part)
            continue
        for code in map(int, part[2:-1].split(";")):
            colour = 39 if code == 0 else code if 30 <= code <= 39 else colour
            reverse = code == 7 or (reverse and code not in (0, 27))
    return states[shown.index(text)]


@pytest.mark.parametrize(
    ("command", "text", "colour"),
    [
        ("explain smollm3", "<think>", (35, True)),  # a delimiter
        ("explain smollm3", "Hm.", (35, False)),
        ("stream smollm3", "  │ Hello!", (32, False)),
    ],
)
def test_colours_in_a_terminal_and_none_where_they_are_not_wanted(
    command: str, text: str, colour: tuple[int, bool], terminal: Terminal, output: str
) -> None:
    terminal.type(f"{COMMAND} {command} {output}; echo code=$?")
    assert colour_of(text, terminal.wait_for("code=0")) == colour
    plainly = (f"NO_COLOR=1 {COMMAND} {command} {output}", f"{COMMAND} {command} {output} --no-color")
    for number, plain in enumerate(plainly):
        terminal.type(f"clear; {plain}; echo end{number}=$?")
        assert colour_of(text.strip(), terminal.wait_for(f"end{number}=0")) == (39, False)


def test_ctrl_c_ends_it_quietly(terminal: Terminal) -> None:
    terminal.type(f"{COMMAND} demo --family smollm3 --speed 0.05; echo code=$?")
    terminal.wait_for("┌ reasoning_content")
    terminal.press("C-c")
    screen = terminal.wait_for("code=130")
    assert "Traceback" not in screen
    assert "KeyboardInterrupt" not in screen


def test_a_text_can_be_typed_in(terminal: Terminal) -> None:
    terminal.type(f"{COMMAND} parse smollm3; echo code=$?")
    terminal.wait_for("reading from the terminal, up to Ctrl-D")
    terminal.type("Hello!<|im_end|>")
    terminal.press("C-d")
    assert '"content": "Hello!"' in terminal.wait_for("code=0")
