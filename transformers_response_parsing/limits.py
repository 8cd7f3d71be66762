# SPDX-License-Identifier: Apache-2.0
"""The few fixed limits that keep hostile templates and texts harmless."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "MAX_DEPTH",
    "MAX_FIELDS",
    "MAX_INT_DIGITS",
    "MAX_LITERALS",
    "MAX_PARSER_NESTING",
    "MAX_PATTERN_LENGTH",
    "MAX_PATTERN_SIZE",
    "MAX_TEMPLATE_CHARACTERS",
    "MAX_TEMPLATE_DEPTH",
    "MAX_TEMPLATE_INTEGER_BITS",
    "MAX_TEMPLATE_PATTERN_SIZE",
    "PROBE_SECONDS",
    "SEARCH_TIMEOUT",
    "set_search_timeout",
]

SEARCH_TIMEOUT: float = 5.0
"""Seconds one search with a regex of a template may take. Template regexes come from the Hub."""


def set_search_timeout(seconds: float) -> float:
    """Set how long one search with a regex of a template may take, for the whole process.

    The default of 5 seconds is for programs that would rather wait than fail. A server that parses in its event loop wants
    less: searches that end at all end within milliseconds.

    Args:
        seconds: more than 0.

    Returns:
        What it was before.

    Raises:
        ValueError: it is not a number above 0.
    """
    global SEARCH_TIMEOUT
    given: Any = seconds
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < math.inf:
        raise ValueError(f"the time limit must be a number of seconds above 0, not {seconds!r}")
    before, SEARCH_TIMEOUT = SEARCH_TIMEOUT, float(seconds)
    return before


MAX_DEPTH: int = 200
"""Levels of nesting a parsed JSON value may have: `copy.deepcopy` and `json.dumps` still work on it, at two Python
frames a level, far below the interpreter's default limit of 1,000."""

MAX_INT_DIGITS: int = 4300
"""Digits an integer may have; CPython's own default. Fixed here, because turning a number into text and back is
quadratic in its digits and a program may have lifted the interpreter's limit."""

MAX_PARSER_NESTING: int = 8
"""How deep `value_parser`s of a template may nest."""

# Templates come from the Hub: a hostile one is refused at load, before it costs memory or time. Of 56 drafts for real
# models the largest has 850 characters, 3 fields and a regex of 136 characters.

MAX_TEMPLATE_CHARACTERS: int = 200_000
"""Characters of all strings of a template, keys included, and one for each value."""

MAX_TEMPLATE_DEPTH: int = 40
"""Levels of objects and lists a template may have."""

MAX_TEMPLATE_INTEGER_BITS: int = 1024
"""Size of an integer in `defaults` or `transform`."""

MAX_FIELDS: int = 100
"""Fields of a template."""

MAX_LITERALS: int = 1_000
"""Literals of all fields and the anchor of a template together."""

MAX_PATTERN_LENGTH: int = 5_000
"""Characters of one regex of a template."""

# The `regex` module takes 0.3 to 1 kB for an item.

MAX_PATTERN_SIZE: int = 20_000
"""Items (characters, classes, brackets) of one regex with its counts written out: `a{1000}` has 1,000."""

MAX_TEMPLATE_PATTERN_SIZE: int = 200_000
"""The same of all regexes of a template together."""

PROBE_SECONDS: float = 0.5
"""How long loading a template may try what its regexes match, all of them together, before it does without the warnings."""
