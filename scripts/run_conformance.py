# SPDX-License-Identifier: Apache-2.0
"""Run the conformance vectors against any program, in any language.

    python scripts/run_conformance.py -- ./my-port
    python scripts/run_conformance.py --only patterns --portable -- node my-port.js
    python scripts/run_conformance.py -- python scripts/conformance_port.py    # this package

The program reads requests and writes answers, each a JSON object in a line (docs/porting.md). Every vector is asked in
several ways of cutting the text. Lists the vectors that fail, with what was expected and what came; the exit code is 0 if
none does, 1 if one does, and 2 if the program can't be started.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from chunkings import NAMES, chunks, merge, without_errors
from vectors import VECTORS, strictly_equal

_OPTIONS = ("template", "prefix", "tools", "end", "on_error")


class PortError(Exception):
    """The program gave no answer."""


class Port:
    """The program, started anew after it failed."""

    def __init__(self, command: Sequence[str], timeout: float) -> None:
        self._command = command
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a request. Raises PortError."""
        process = self._process or self.start()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = self._lines.get(timeout=self._timeout)
        except queue.Empty:
            self.stop()
            raise PortError(f"no answer within {self._timeout:g} s") from None
        except OSError:
            line = ""
        if not line:
            self.stop()
            raise PortError("the program ended")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise PortError(f"the answer is no JSON object: {line.strip()[:200]!r}")
        return answer

    def start(self) -> subprocess.Popen[str]:
        """Start the program. Raises OSError if that is not possible."""
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = self._process = subprocess.Popen(self._command, encoding="utf-8", **pipes)
        lines = self._lines = queue.Queue()

        def read() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        return process

    def stop(self) -> None:
        """End the program."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def fault(vector: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """What is wrong with an answer; "" if nothing is."""
    error = answer.get("error")
    if "error" in vector:
        wanted = vector["error"]
        if not isinstance(error, dict) or error.get("kind") != wanted["kind"]:
            return _told(f"an error of the kind {wanted['kind']!r}", answer)
        if wanted["kind"] == "template":
            if sorted(error.get("paths", [])) != sorted(wanted["paths"]):
                return _told(f"paths {wanted['paths']}", error.get("paths"))
            missing = [word for word in wanted.get("mentions", []) if word not in error.get("text", "")]
            return _told(f"a text that mentions {missing}", error.get("text")) if missing else ""
        keys = [key for key in ("field", "partial_message", "raw") if key in wanted]
        return next(
            (_told(f"{k} {wanted[k]}", error.get(k)) for k in keys if not strictly_equal(error.get(k), wanted[k])), ""
        )
    if error is not None:
        return _told("no error", error)
    found = {
        "message": _without_reasons(answer.get("message") or {}),
        "initial_events": without_errors(merge(answer.get("initial_events") or [])),
        "events": without_errors(merge(answer.get("events") or [])),
        "unclaimed": answer.get("unclaimed", ""),
    }
    expected = {"initial_events": [], **vector}
    keys = [key for key in found if key in expected]
    return next((_told(f"{k} {expected[k]}", found[k]) for k in keys if not strictly_equal(found[k], expected[k])), "")


def _without_reasons(message: Mapping[str, Any]) -> dict[str, Any]:
    if "malformed" not in message:
        return dict(message)
    return {**message, "malformed": without_errors(message["malformed"])}


def _told(expected: str, found: Any) -> str:
    return f"expected  {expected}\n    found     {found}"


def check(port: Port, vector: Mapping[str, Any]) -> str:
    """Ask a vector in each way of cutting it: the first fault, "" if there is none."""
    request = {key: vector[key] for key in _OPTIONS if key in vector}
    for name in NAMES:
        try:
            problem = fault(vector, port.ask({**request, "chunks": chunks(name, vector["output"])}))
        except PortError as error:
            problem = str(error)
        if problem:
            return f"chunks    {name}\n    {problem}"
    return ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask all vectors; 0 if all pass."""
    parser = argparse.ArgumentParser(description="Run the conformance vectors against any program.")
    parser.add_argument("--only", default="", help="vectors whose id contains this")
    parser.add_argument("--portable", action="store_true", help="leave out what only this package has (extensions)")
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for an answer (default: 10)")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND", help="the program and its arguments")
    options = parser.parse_args(arguments)
    chosen = [v for v in VECTORS if options.only in v["id"] and not (options.portable and v["spec"] == "extensions")]
    port = Port(options.command, options.timeout)
    try:
        port.start()
    except OSError as error:
        print(f"can't start {options.command[0]}: {error.strerror}", file=sys.stderr)
        return 2
    failed = 0
    try:
        for vector in chosen:
            problem = check(port, vector)
            if problem:
                failed += 1
                print(f"{vector['id']}: {vector['description']}\n    {problem}")
    finally:
        port.stop()
    print(f"{len(chosen) - failed} of {len(chosen)} vectors pass")
    return 0 if chosen and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
