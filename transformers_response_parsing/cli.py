# SPDX-License-Identifier: Apache-2.0
"""The command line: `response-template`, also `python -m transformers_response_parsing` and `hf response-template`.

A thin shell. Each group of commands is a module with `register(add)`; this one reads the arguments, calls the command and
turns errors into exit codes: 0 all right, 1 something was found wrong, 2 used wrongly.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import cli_demo
from .errors import ResponseParsingError

__all__ = ["UsageError", "build_parser", "main"]

_GROUPS: tuple[Any, ...] = (cli_demo,)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments; default: those of the process.

    Returns:
        The exit code. As argparse does, `--help` and unreadable arguments raise SystemExit instead.
    """
    arguments = build_parser().parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read us has gone, `head` for example; Python's own flush at exit must not complain, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ResponseParsingError, OSError, ImportError) as error:
        if arguments.debug:
            raise
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1


class UsageError(ResponseParsingError):
    """The arguments can't be used as they are."""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--no-color", action="store_true", help="no colours (nor with NO_COLOR set, nor into a file)")
    common.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser = argparse.ArgumentParser(
        prog="response-template",
        description="Turn what a chat model generated into a message, with a response template.",
        epilog="`response-template COMMAND --help` shows what a command does, with examples.",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(
        name: str, run: Callable[[argparse.Namespace], int], *, summary: str, examples: str
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            parents=[common],
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        return command

    for group in _GROUPS:
        group.register(add)
    return parser
