# SPDX-License-Identifier: Apache-2.0
"""Wrong use of the command line, and how errors are worded there."""

from __future__ import annotations

import re

from transformers_response_parsing.errors import ResponseParsingError

__all__ = ["UsageError", "one_line_first"]

# What huggingface_hub begins with when it has more to say.
_HTTP_STATUS = re.compile(r"\d{3} (?:Client|Server) Error\.(?: \(Request ID: .*\))?")


class UsageError(ResponseParsingError):
    """The arguments can't be used as they are."""


def one_line_first(error: Exception) -> str:
    """The error in words: what is wrong in the first line; what more there is to it is indented below."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if len(lines) > 1 and _HTTP_STATUS.fullmatch(lines[0].strip()):
        del lines[0]
    first, *more = lines
    indent = "" if all(line.startswith("  ") for line in more) else "  "
    return "\n".join([first, *(indent + line for line in more)])
