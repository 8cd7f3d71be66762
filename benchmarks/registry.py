# SPDX-License-Identifier: Apache-2.0
"""What can be run, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .measure import Row, Settings

__all__ = ["Case"]


class Case(NamedTuple):
    """Something that gives rows; their names begin with its own."""

    name: str
    run: Callable[[Settings], Iterable[Row]]
