# SPDX-License-Identifier: Apache-2.0
"""The snippets of a page of documentation: of Python, and of the shell."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "ShellSnippet", "Snippet", "inline_commands", "run_snippet", "shell_snippets", "snippets"]

ROOT = Path(__file__).resolve().parents[1]
# <!-- transformers --> before a block: it runs with a small tokenizer and a model that writes a fixed answer.
_BLOCK = re.compile(
    r"(<!-- transformers -->\n)?^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
_SHELL_BLOCK = re.compile(
    r"^```(?P<language>bash|console)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_INLINE = re.compile(r"(?<!`)`(response-template [^`\n]+)`(?!`)")
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


class Snippet(NamedTuple):
    """A block of Python, and what the page says that it prints (None: nothing is said)."""

    needs_transformers: bool
    code: str
    output: str | None


def snippets(page: Path) -> list[Snippet]:
    """All of a page, in order."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Snippet(bool(mark), code, output or None) for mark, code, output in found]


class ShellSnippet(NamedTuple):
    """What a page gives to type into a shell, its line on the page, and what the page says that it prints (or None)."""

    line: int
    code: str
    output: str | None


def shell_snippets(page: Path) -> list[ShellSnippet]:
    """All of a page, in order. In a block of `console` what is typed follows `$ `, and what is printed follows that."""
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _SHELL_BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 2
        if block["language"] == "bash":
            found.append(ShellSnippet(line, block["code"], block["output"]))
            continue
        for typed in re.finditer(r"^\$ (.*\n)((?:(?!\$ ).*\n)*)", block["code"], re.MULTILINE):
            at = line + block["code"].count("\n", 0, typed.start())
            found.append(ShellSnippet(at, typed[1], typed[2]))
    return found


def inline_commands(page: Path) -> list[ShellSnippet]:
    """Those of the command line that stand in the text, between backticks."""
    text = _FENCED.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
    return [ShellSnippet(text.count("\n", 0, found.start()) + 1, found[1], None) for found in _INLINE.finditer(text)]


def run_snippet(code: str, name: str, namespace: dict[str, Any]) -> str:
    """Run a block as a reader would who has typed in those before it; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return printed.getvalue()
