# SPDX-License-Identifier: Apache-2.0
"""Wrong use of the command line, and how errors are worded there."""

from __future__ import annotations

import re

from transformers_response_parsing.errors import ResponseParsingError

__all__ = ["UsageError", "in_shell_words", "one_line_first"]

# What huggingface_hub begins with when it has more to say.
_HTTP_STATUS = re.compile(r"\d{3} (?:Client|Server) Error\.(?: \(Request ID: .*\))?")


# What errors advise to who writes Python, and what does that here.
_SHELL_WORDS = {
    "pass overwrite=True": "use --overwrite",
    "pass allow_extensions=True": "use --allow-extensions",
    "`find_template(tokenizer)` looks for one in the library": "`response-template find` looks for one in the library",
    "`list_templates()` lists": "`response-template ls` lists",
}


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


def in_shell_words(text: str) -> str:
    """An error with its advice as options and commands instead of arguments and functions."""
    for python, shell in _SHELL_WORDS.items():
        text = text.replace(python, shell)
    return text
