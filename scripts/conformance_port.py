# SPDX-License-Identifier: Apache-2.0
"""This package behind the protocol of run_conformance.py: an example for ports to other languages.

Requests come one a line on stdin, answers go one a line to stdout; both are JSON objects. See docs/porting.md.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import transformers_response_parsing as trp


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Parse what a request holds: its message and events, or its error."""
    events = []
    try:
        parser = trp.ResponseParser(
            request["template"],
            request["prefix"],
            tools=request.get("tools"),
            end=request.get("end"),
            on_error=request.get("on_error", "raise"),
        )
        for chunk in request["chunks"]:
            events += parser.feed(chunk)
        message, last = parser.finalize()
    except trp.TemplateError as error:
        return {
            "error": {"kind": "template", "paths": [problem.path for problem in error.problems], "text": str(error)}
        }
    except trp.OutputError as error:
        found = {"field": error.field, "raw": error.raw, "partial_message": error.partial_message}
        return {"error": {"kind": "output", **found}}
    return {
        "message": message,
        "initial_events": parser.initial_events,
        "events": events + last,
        "unclaimed": "".join(parser.unclaimed),
    }


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
