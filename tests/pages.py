# SPDX-License-Identifier: Apache-2.0
"""The Python snippets of a page of documentation."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ROOT", "Snippet", "run_snippet", "snippets"]

ROOT = Path(__file__).resolve().parents[1]
# <!-- transformers --> before a block: it runs with a small tokenizer and a model that writes a fixed answer.
_BLOCK = re.compile(
    r"(<!-- transformers -->\n)?^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


class Snippet(NamedTuple):
    """A block of Python, and what the page says that it prints (None: nothing is said)."""

    needs_transformers: bool
    code: str
    output: str | None


def snippets(page: Path) -> list[Snippet]:
    """All of a page, in order."""
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [Snippet(bool(mark), code, output or None) for mark, code, output in found]


def run_snippet(code: str, name: str, namespace: dict[str, Any]) -> str:
    """Run a block as a reader would who has typed in those before it; what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    return printed.getvalue()
