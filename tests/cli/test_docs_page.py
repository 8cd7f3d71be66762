# SPDX-License-Identifier: Apache-2.0
"""docs/cli.md is what the parsers say, and its examples are commands that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from transformers_response_parsing.cli import build_parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_reference_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "cli_docs.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), f"{done.stderr}\nrun: python scripts/cli_docs.py"


def commands(page: Path) -> list[str]:
    """All in blocks for bash, without what stands around them: what is piped into them and out of them, and remarks."""
    blocks = re.findall(r"^```bash\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    lines = [line.partition(" #")[0].partition(" > ")[0] for block in blocks for line in block.splitlines()]
    parts = [part for line in lines for part in re.split(r" \| ", line)]
    return [part for part in parts if part.startswith("response-template ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_the_pages_can_be_typed(page: Path) -> None:
    """They are read by the parser as they stand."""
    for command in commands(page):
        arguments = build_parser().parse_args(shlex.split(command)[1:])
        assert callable(arguments.run), command


def test_there_are_commands_on_the_pages() -> None:
    """A change of style that hid them would make the test above one that can't fail."""
    assert len(commands(ROOT / "docs" / "cli.md")) >= 40
