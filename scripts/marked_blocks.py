# SPDX-License-Identifier: Apache-2.0
"""Blocks of Markdown files that a script writes: what stands between `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

from pathlib import Path

__all__ = ["replaced", "write"]


def replaced(text: str, name: str, block: str) -> str:
    """`text` with the block of this name replaced; ValueError if it has none."""
    begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"there is no block {begin.strip()} … {end}")
    return before + begin + block + end + after


def write(path: Path, name: str, block: str) -> bool:
    """Write the block into the file; whether that changed anything."""
    text = path.read_text(encoding="utf-8")
    current = replaced(text, name, block)
    if current != text:
        path.write_text(current, encoding="utf-8")
    return current != text
