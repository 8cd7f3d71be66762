# SPDX-License-Identifier: Apache-2.0
"""Reads what the pages give to type into a shell, and runs it.

A small part of bash, and no more: words with quotes, comments, pipes, `<`, `>`, `&&`, `*`. Everything else is `Unreadable`, so that
no snippet is run otherwise than a reader's shell would.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from command_line import Done

__all__ = ["Command", "Failed", "Program", "Unreadable", "Word", "read", "real", "run"]

Program = Callable[[list[str], bytes, Path], Done]

_TOKEN = re.compile(
    r"(?P<space>(?:[ \t]|\\\n)+)|(?P<comment>(?<![^\s])#[^\n]*)|(?P<operator>\n|&&|\|(?!\|)|<(?!<)|>(?!>))|(?P<word>)"
)
_PIECE = re.compile(
    r"""\$'(?P<ansi>(?:[^'\\]|\\.)*)'|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\`$]|\\["\\$`])*)"|(?P<plain>[^\s'"\\$`&;|<>()*?\[\]{}!#~]|(?<=\S)[#~]|(?P<escape>\\.))|(?P<star>\*)""",
    re.DOTALL | re.VERBOSE,
)
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}


class Unreadable(ValueError):  # noqa: N818
    """A snippet that this reader can't run."""


class Failed(AssertionError):  # noqa: N818
    """A command of a snippet that did not do what the page promises."""


class Word(NamedTuple):
    """A word; `pattern`: it has a `*` that stands for file names."""

    text: str
    pattern: bool = False


class Command(NamedTuple):
    """One program with its arguments, and the files that are its input and its output."""

    words: tuple[Word, ...]
    stdin: str | None = None
    stdout: str | None = None


def read(script: str) -> list[list[Command]]:
    """The pipelines of a script, one after the other.

    Raises:
        Unreadable: there is something in it that is not read here.
    """
    pipelines: list[list[Command]] = []
    pipeline: list[Command] = []
    words: list[Word] = []
    files: dict[str, str] = {}
    at, redirection = 0, ""

    def end_command(what: str) -> None:
        if redirection:
            raise Unreadable(f"a file name must follow {redirection!r}: {script!r}")
        if words:
            pipeline.append(Command(tuple(words), files.get("<"), files.get(">")))
        elif files or pipeline or what in ("|", "&&"):
            raise Unreadable(f"a command is missing before {what!r}: {script!r}")
        words.clear()
        files.clear()

    while at < len(script):
        token = _TOKEN.match(script, at)
        assert token is not None
        at = token.end()
        operator = token["operator"]
        if operator in ("<", ">"):
            redirection = operator
        elif operator == "|":
            end_command("|")
        elif operator:
            end_command(operator)
            if pipeline:
                pipelines.append(pipeline)
                pipeline = []
        elif token["word"] is not None:
            word, at = _word(script, at)
            if redirection:
                files[redirection] = word.text
                redirection = ""
            else:
                words.append(word)
    end_command("the end")
    if not pipeline and script.rstrip().endswith("&&"):
        raise Unreadable(f"a command is missing after '&&': {script!r}")
    return [*pipelines, pipeline] if pipeline else pipelines


def _word(script: str, at: int) -> tuple[Word, int]:
    text, pattern, start = "", False, at
    while piece := _PIECE.match(script, at):
        at = piece.end()
        if piece["ansi"] is not None:
            text += re.sub(r"\\(.)", lambda escape: _ansi(escape[1]), piece["ansi"], flags=re.DOTALL)
        elif piece["single"] is not None:
            text += piece["single"]
        elif piece["double"] is not None:
            text += re.sub(r'\\(["\\$`])', r"\1", piece["double"])
        elif piece["star"]:
            text, pattern = text + "*", True
        else:
            text += piece["plain"][-1]
    if at == start or not re.match(r"\s|[|<>]|&&|\Z", script[at:]):
        line = script[script.rfind("\n", 0, at) + 1 :].partition("\n")[0]
        raise Unreadable(f"not read by tests/shell.py, at {script[at : at + 10]!r}: {line}")
    if re.fullmatch(r"\w+=.*", text, re.DOTALL):
        raise Unreadable(f"variables are not read by tests/shell.py: {text}")
    return Word(text, pattern), at


def _ansi(escape: str) -> str:
    if escape not in _ANSI:
        raise Unreadable(f"the escape \\{escape} is not read by tests/shell.py")
    return _ANSI[escape]


def run(script: str, folder: Path, programs: Mapping[str, Program]) -> str:
    """Run a script in a folder, as with `set -e -o pipefail`: what it writes to stdout.

    Args:
        script: what is typed.
        folder: where.
        programs: the programs there are: what to do with their arguments and their input.

    Raises:
        Unreadable: as in `read`, or a program that is not there.
        Failed: a command that ended with an exit code other than 0.
    """
    written = ""
    for pipeline in read(script):
        data = b""
        for command in pipeline:
            name, *arguments = [text for word in command.words for text in _expanded(word, folder)]
            if name not in programs:
                raise Unreadable(f"nobody runs the program {name!r} here: {script!r}")
            if command.stdin is not None:
                data = (folder / command.stdin).read_bytes()
            done = programs[name](arguments, data, folder)
            if done.code != 0:
                said = f"exit code {done.code}\n{done.out[-2000:]}\n{done.err[-2000:]}"
                raise Failed(f"{' '.join([name, *arguments])}: {said}")
            data = done.out.encode("utf-8")
            if command.stdout is not None:
                (folder / command.stdout).write_bytes(data)
                data = b""
        written += data.decode("utf-8")
    return written


def _expanded(word: Word, folder: Path) -> list[str]:
    if not word.pattern:
        return [word.text]
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(word.text))
    if not found:
        raise Failed(f"no file is called {word.text}")
    return found


def real(*command: str) -> Program:
    """A program of this machine."""

    def program(arguments: list[str], data: bytes, folder: Path) -> Done:
        done = subprocess.run([*command, *arguments], input=data, capture_output=True, cwd=folder, check=False)
        return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return program
