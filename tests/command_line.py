# SPDX-License-Identifier: Apache-2.0
"""Runs the command line as a shell does: another process, bytes in, bytes out."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

__all__ = ["Done", "run"]


class Done(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str | bytes = b"", cwd: object = None, **environment: str) -> Done:
    """Run `response-template` with these arguments; a variable of the environment that is "" is taken away."""
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "-m", "transformers_response_parsing", *arguments],
        input=stdin.encode("utf-8") if isinstance(stdin, str) else stdin,
        capture_output=True,
        env={name: value for name, value in variables.items() if value},
        cwd=None if cwd is None else str(cwd),
        check=False,
    )
    return Done(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))
