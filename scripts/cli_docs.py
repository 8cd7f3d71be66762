# SPDX-License-Identifier: Apache-2.0
"""Write the reference of the commands into docs/cli.md, from the parsers of the command line.

    python scripts/cli_docs.py          # write it
    python scripts/cli_docs.py --check  # only say whether it is current: exit code 1 if not

Not `--help` itself, whose layout differs between versions of Python.
"""

# ruff: noqa: SLF001 - argparse has no public way to look at a parser
from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from marked_blocks import replaced

from transformers_response_parsing.cli import build_parser

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "cli.md"
_EVERYWHERE = "everywhere"


def reference() -> str:
    """All commands, as Markdown."""
    parser = build_parser()
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    parts = [section(name, command) for name, command in commands.choices.items()]
    return "\n" + "\n".join(parts) + "\n" + everywhere(next(iter(commands.choices.values()))) + "\n"


def section(name: str, command: argparse.ArgumentParser) -> str:
    """One command: what it does, its examples, its arguments."""
    summary, _, details = (command.description or "").partition("\n\n")
    examples = (command.epilog or "").removeprefix("examples:\n")
    lines = [f"### {name}", "", summary, ""]
    lines += ["```bash", *(line[2:] for line in examples.rstrip().splitlines()), "```", ""]
    for paragraph in filter(None, details.split("\n\n")):
        lines += [paragraph, ""]
    groups = [group for group in command._action_groups if group.title != _EVERYWHERE]
    rows = [row for group in groups for row in table_rows(group)]
    lines += ["| argument | |", "|---|---|", *rows, ""]
    return "\n".join(lines)


def everywhere(command: argparse.ArgumentParser) -> str:
    """What every command takes."""
    (group,) = (group for group in command._action_groups if group.title == _EVERYWHERE)
    return "\n".join(["### All commands", "", "| argument | |", "|---|---|", *table_rows(group)])


def table_rows(group: argparse._ArgumentGroup) -> Iterator[str]:
    """A row for each argument of a group."""
    for action in group._group_actions:
        if isinstance(action, argparse._HelpAction):
            continue
        value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
        if action.option_strings:
            spelled = ", ".join(action.option_strings) + (f" {value}" if action.nargs != 0 else "")
        else:
            spelled = f"{value}..." if action.nargs == "+" else f"[{value}]" if action.nargs == "?" else str(value)
        about = (action.help or "").replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{spelled.replace('|', chr(92) + '|')}` | {about} |"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args(argv)
    text = PAGE.read_text(encoding="utf-8")
    current = replaced(text, "commands", reference())
    if current == text:
        return 0
    print(f"{'not current' if arguments.check else 'written'}: {PAGE.relative_to(ROOT)}")
    if not arguments.check:
        PAGE.write_text(current, encoding="utf-8")
    return 1 if arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
