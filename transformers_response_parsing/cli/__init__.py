# SPDX-License-Identifier: Apache-2.0
"""The command line: `response-template`, also `python -m transformers_response_parsing` and `hf response-template`.

A thin shell. Each command is a module with `register(add)`; this one reads the arguments, calls the command and turns errors
into exit codes:

- 0: all right;
- 1: something was found wrong: text that can't be parsed, a template with problems, a proof that fails, nothing that fits;
- 2: used wrongly, or it could not be done: a file or a repository that is not there, no network, a package that is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from transformers_response_parsing.errors import ResponseParsingError
from transformers_response_parsing.hub_file import package_version

from . import check, convert, demo, explain, find, lint, ls, parse, pull, push, show, stream
from .usage import UsageError, in_shell_words, one_line_first

__all__ = ["build_parser", "main"]

_COMMANDS: tuple[Any, ...] = (demo, ls, show, find, parse, stream, explain, lint, check, push, pull, convert)
_CLIENTS = {"huggingface_hub", "httpx", "httpx2", "requests"}  # of the Hub, old and new
_INTERRUPTED, _PIPE_CLOSED = 130, 141  # as shells report SIGINT and SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments; default: those of the process.

    Returns:
        The exit code. As argparse does, `--help` and unreadable arguments raise SystemExit instead.
    """
    _speak_utf8()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # that there is no PyTorch, for example
    debug = True
    try:
        arguments = build_parser().parse_args(argv)
        debug = arguments.debug
        code = int(arguments.run(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read us has gone, `head` for example; Python's own flush at exit must not complain, either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _PIPE_CLOSED
    except Exception as error:
        if debug or not _is_foreseen(error):
            raise
        sys.stderr.write(f"error: {in_shell_words(one_line_first(error))}\n")
        found_wrong = isinstance(error, ResponseParsingError) and not isinstance(
            error, (UsageError, OSError, ImportError)
        )
        return 1 if found_wrong else 2
    return code


def _is_foreseen(error: Exception) -> bool:
    """Whether its words say enough: ours, the system's, those of the Hub's client. Anything else is a bug, with a traceback."""
    client = type(error).__module__.partition(".")[0] in _CLIENTS
    return client or isinstance(error, (ResponseParsingError, OSError, ImportError))


def _speak_utf8() -> None:
    """Models write every script there is, whatever the locale; what is no character at all is written as its escape."""
    for file in (sys.stdout, sys.stderr):
        reconfigure = getattr(file, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    common = argparse.ArgumentParser(add_help=False)
    everywhere = common.add_argument_group("everywhere")
    everywhere.add_argument("--json", action="store_true", help="JSON for programs on stdout")
    everywhere.add_argument(
        "--no-color", action="store_true", help="no colours (nor with NO_COLOR set, nor into a file)"
    )
    everywhere.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser = argparse.ArgumentParser(
        prog="response-template",
        description="Turn what a chat model generated into a message, with a response template.",
        epilog="`response-template COMMAND --help` shows what a command does, with examples.\n\n"
        "exit codes: 0 all right, 1 something was found wrong, 2 used wrongly or could not be done",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {package_version() or 'not installed'}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(
        name: str, run: Callable[[argparse.Namespace], int], *, summary: str, examples: str, details: str = ""
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            parents=[common],
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.\n\n{details}".rstrip(),
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.set_defaults(run=run)
        return command

    for command in _COMMANDS:
        command.register(add)
    return parser
