# SPDX-License-Identifier: Apache-2.0
"""Runs the command line: in this process, or as a shell does, in another one; bytes in, bytes out."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from transformers_response_parsing.cli import main

__all__ = ["Done", "run", "run_process"]


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str | bytes = b"", cwd: object = None, **environment: str) -> Done:
    """Run `response-template` with these arguments, as a process would, without the time that one takes to start.

    Args:
        arguments: the command, without the name of the program.
        stdin: what is piped into it.
        cwd: folder to run it in.
        environment: variables to set; "" takes one away.
    """
    given = io.TextIOWrapper(io.BytesIO(_bytes(stdin)), encoding="utf-8")
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2))
    streams = mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err)
    with streams, mock.patch.dict(os.environ, _variables(environment), clear=True), _folder(cwd):
        try:
            code = main(list(arguments))
        except SystemExit as stopped:
            code = stopped.code if isinstance(stopped.code, int) else 1
        except Exception:  # noqa: BLE001 -- what Python does with one that nobody catches
            traceback.print_exc()
            code = 1
    return Done(code, *(stream.buffer.getvalue().decode("utf-8") for stream in (out, err)))  # type: ignore[attr-defined]


def run_process(*arguments: str, stdin: str | bytes = b"", cwd: object = None, **environment: str) -> Done:
    """The same in a process of its own: for what belongs to one, its start, its locale, its end."""
    done = subprocess.run(
        [sys.executable, "-m", "transformers_response_parsing", *arguments],
        input=_bytes(stdin),
        capture_output=True,
        env=_variables({"HF_HUB_OFFLINE": "1", **environment}),
        cwd=None if cwd is None else str(cwd),
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8") if isinstance(text, str) else text


def _variables(environment: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in {**os.environ, **environment}.items() if value}


@contextlib.contextmanager
def _folder(path: object) -> Iterator[None]:
    before = Path.cwd()
    try:
        if path is not None:
            os.chdir(str(path))
        yield
    finally:
        os.chdir(before)
