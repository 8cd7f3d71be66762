# SPDX-License-Identifier: Apache-2.0
"""Calls in the process that takes the server on loopback for the Hub."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from hub.server import READER, WRITER
from hub.worker import Outcome, run


@pytest.fixture
def call(process: ProcessPoolExecutor) -> Callable[..., Outcome]:
    """Call a function in that process: its `Outcome`, which never holds a token."""

    def call(function: Callable[..., Any], *arguments: Any, **options: Any) -> Outcome:
        outcome = process.submit(run, function, arguments, options).result()
        for token in (READER, WRITER):
            assert token not in repr(outcome)
            assert token not in outcome.said
        return outcome

    return call
