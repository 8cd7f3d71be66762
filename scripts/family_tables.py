# SPDX-License-Identifier: Apache-2.0
"""Write the tables of the ready-made templates into README.md and docs/library.md, from model_templates/.

    python scripts/family_tables.py          # write them
    python scripts/family_tables.py --check  # only say whether they are current: exit code 1 if not

A table stands between the lines `<!-- families -->` and `<!-- /families -->`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from marked_blocks import replaced

import transformers_response_parsing as trp


def native_version(entry: trp.TemplateEntry) -> str:
    """Since which transformers its own parser reads the family's template, or its portable one."""
    for template, mark in ((entry.response_template, ""), (entry.portable_template, " (portable)")):
        version = trp.ResponseTemplate.load(template).min_transformers if template else None
        if version:
            return version + mark
    return "–"


def proof(entry: trp.TemplateEntry) -> str:
    """On how many chat templates the round trip was proven."""
    count = len(entry.recognise.get("chat_template_sha256", ()))
    return f"{count} chat template{'s' * (count != 1)}" if count else "examples only"


def short_table() -> str:
    """For the README: a line for each family."""
    lines = ["| family | models | proven on | in transformers |", "|---|---|---|---|"]
    for entry in trp.list_templates():
        more = f" +{len(entry.models) - 1}" if len(entry.models) > 1 else ""
        lines.append(f"| `{entry.name}` | {entry.models[0]}{more} | {proof(entry)} | {native_version(entry)} |")
    return "\n".join(lines) + "\n"


def long_table() -> str:
    """For the docs: all models and the notes."""
    parts = []
    for entry in trp.list_templates():
        fields = ", ".join(f"`{name}`" for name in entry.response_template["fields"])
        parts.append(
            f"### {entry.name}\n\n{entry.notes.strip()}\n\n"
            f"- Fields: {fields}\n- Proven on: {proof(entry)}; {len(entry.examples)} examples of its own\n"
            f"- In transformers' own parser: {native_version(entry)}\n- Models: {', '.join(entry.models)}\n"
        )
    return "\n" + "\n".join(parts) + "\n"


ROOT = Path(__file__).resolve().parents[1]
TABLES: dict[str, Callable[[], str]] = {"README.md": short_table, "docs/library.md": long_table}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    stale = []
    for name, table in TABLES.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        current = replaced(text, "families", table())
        if current != text:
            stale.append(name)
            if not arguments.check:
                path.write_text(current, encoding="utf-8")
    if stale:
        print(("not current: " if arguments.check else "written: ") + ", ".join(stale))
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
